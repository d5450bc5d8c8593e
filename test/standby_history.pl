#
# standby_history.pl: random transactions on a primary server, random reads on its standbys, and one
# fault in each round.  Everything that was read must be explained by snapshots that PostgreSQL's
# standbys can have, and wide and ordinary rows must agree in every statement.  The brother of
# history.pl; run by ./test/check standby_history.  A round takes 20 to 35 seconds.
#
# Each round has a new primary with one or two streaming standbys.  There are lists in a wide table
# (hw) and in an ordinary one (ho).  A transaction has a number, which it appends to some lists:
# to both rows of a pair, or to rows that only the wide table has.  It also adds to counters,
# undoes parts by savepoints, or as a whole.  Large batches of rows go by COPY to another wide table
# (bw) and another ordinary one (bo) in one transaction, become sorted files at commit, are deleted,
# or truncated; columns are added to both tables, and options of families change.
#
# The readers read both tables in one statement or in a REPEATABLE READ transaction: lists by joins,
# unions, functions and parallel plans, batches by aggregates.  lib/Prefix.pm says what the lists
# must be like.  Besides:
#
#   - the two rows of a pair are equal, and so are both tables of batches, in each statement
#   - a REPEATABLE READ transaction and its cursors see one snapshot, also while the fault happens:
#     one reader of each standby keeps a cursor open until the fault is over
#   - with synchronous_commit = remote_apply a transaction that is acknowledged is in the next
#     statement on each standby
#   - standbys answer while replay is paused, and while there is no primary
#   - after a promotion the first write works, also in a session from before; what the standby had
#     received is there, with remote_apply or after a clean stop everything
#   - the errors that sessions get are those that PostgreSQL has for ordinary tables: conflicts of
#     locks and snapshots with recovery, serialization, connections that end with their server
#   - at the end all servers have the same rows, and verify() finds no problem on any
#
# Settings: ROUNDS (4), SEED, LOAD_SECONDS (duration of the load without the fault, 14), FAULT (one
# fault for all rounds), CONF (an additional line of configuration), KEEP=1 (the directory is left in place).
# Uses modules of perl-base only.  Needs: BIN PGDATA (lib.sh).
#
use strict;
use warnings;
my $here;
BEGIN { ($here) = __FILE__ =~ m{^(.*)/}; $here = '.' unless defined $here; unshift @INC, "$here/lib"; }
use POSIX ();
use Server;
use Wire;
use Prefix;
use Client;
use Writer;
use Reader;

$| = 1;
my $rounds = $ENV{ROUNDS} || 4;
my $seed = defined $ENV{SEED} ? $ENV{SEED} : (time() ^ $$) & 0xffffff;
my $seconds = $ENV{LOAD_SECONDS} || 14;
# each second has its own keys, so that lists stay short
%load = (generations => 60, pairs => 4, alone => 2);
my $bin = $Server::bin;

# fault => [number of standbys it needs, 0: one or two; it is of the primary; it is repeated; sub]
my %fault = (
	none        => [0, 0, 0, sub { }],
	pause       => [0, 0, 1, \&pause],
	walreceiver => [0, 0, 1, \&end_walreceiver],
	restart     => [0, 0, 0, \&restart_standby],
	keeper      => [0, 0, 0, sub { end_process($_[0], 'widetable keeper'); }],
	worker      => [0, 0, 0, sub { end_process($_[0], 'widetable worker'); }],
	backend     => [0, 1, 0, \&kill_backend],
	postmaster  => [0, 1, 0, \&restart_primary],
	promotion   => [1, 1, 0, \&promote],
	switchover  => [0, 1, 0, \&promote],
	switch      => [2, 1, 0, \&promote],
);
die "unknown fault: $ENV{FAULT}\n" if defined $ENV{FAULT} && !$fault{ $ENV{FAULT} };

my ($primary, @standbys, $how, $about, @why, @children, %node, $switched, $lossy);

Server::begin('standby_history');
my $base = $dir;
my $failed = 0;
srand($seed);
print "# standby_history: $rounds rounds, seed $seed\n";
$SIG{INT} = $SIG{TERM} = sub { exit 1 };
END
{
	my $rc = $?;
	if (defined $base)
	{
		stop_clients();
		stop_node($_, 'immediate') for values %node;
		print "# left in place: $base\n" if $ENV{KEEP};
		$dir = $ENV{KEEP} ? undef : $base;		# Server.pm removes it
	}
	$? = $rc;
}

sub append { my ($f, $s) = @_; open my $h, '>>', $f or die "$f: $!"; print $h $s; close $h or die "$f: $!"; }

# -------------------------------------------------------------------- servers

sub run { my ($what) = @_; system("$what >'$base/run.out' 2>&1 </dev/null") == 0 or die "$what: " . slurp("$base/run.out"); }

sub make_template
{
	run("'$bin/initdb' -D '$base/template' -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync");
	append("$base/template/postgresql.conf", <<CONF);
listen_addresses = ''
fsync = off
shared_buffers = 16MB
max_connections = 60
max_worker_processes = 16
log_line_prefix = '%m [%p] %b %a '
shared_preload_libraries = 'widetable'
widetable.memtable_size = '1MB'
widetable.cache_size = '8MB'
wal_keep_size = '1GB'
max_wal_size = '64MB'
checkpoint_timeout = '30s'
wal_retrieve_retry_interval = '100ms'
deadlock_timeout = '50ms'
CONF
	append("$base/template/postgresql.conf", "$ENV{CONF}\n") if defined $ENV{CONF};
}

sub new_node
{
	my ($name, @conf) = @_;
	my $n = $node{$name} = { name => $name, data => "$dir/$name", sockets => "$dir/$name.s" };
	mkdir $n->{sockets};
	append("$n->{data}/postgresql.conf", join '', map { "$_\n" } "unix_socket_directories = '$n->{sockets}'", @conf);
	chmod 0700, $n->{data};
	start_node($n);
	return $n;
}

sub start_node { my ($n) = @_; local $Server::data = $n->{data}; start() or die "the $n->{name} server does not start\n"; }
sub stop_node
{
	my ($n, $mode) = @_;
	local $Server::data = $n->{data};
	return alive(postmaster() || 0) ? stop($mode) : '';
}

sub kill_node { my ($n) = @_; local $Server::data = $n->{data}; kill_all(); }

# a session of this process; waits for a server that starts
sub session
{
	my ($n) = @_;
	for (1 .. 900)
	{
		my $s = Wire->open($n->{sockets}, 'check');
		return $s if $s;
		die "$n->{name}: @$Wire::why\n" unless $Wire::why->[0] =~ /^(57P03|)$/;
		nap(0.1);
	}
	die "$n->{name} does not accept connections: @$Wire::why\n";
}

# the first value; a conflict with recovery, as any session of a standby may have one, is not one
sub ask
{
	my ($n, $sql) = @_;
	for (1 .. 40)
	{
		my $s = session($n);
		my $v = eval { $s->value($sql) };
		my $why = $@;
		$s->close;
		return $v if $why eq '';
		die $why unless $why =~ /: 40001 /;
		nap(0.25);
	}
	die "$n->{name}: $sql meets a conflict with recovery each time\n";
}

# waits until the query returns 't'
sub await
{
	my ($n, $what, $sql) = @_;
	for (1 .. 1200) { return if (eval { ask($n, $sql) } || '') eq 't'; nap(0.05); }
	die "$n->{name}: $what takes more than 60 s" . ($@ ? ": $@" : '') . "\n";
}

# the standby has replayed what the primary has written
sub await_replay
{
	my ($n) = @_;
	my $lsn = ask($primary, 'SELECT pg_current_wal_insert_lsn()');
	# one more record: at the border of a page the position is behind the header of the next one
	ask($primary, 'SELECT txid_current()');
	await($n, "replay up to $lsn", "SELECT pg_last_wal_replay_lsn() >= '$lsn'");
}

# tells the clients where to write, and which standbys have each acknowledged transaction
sub publish
{
	spit("$dir/map.new", join "\n", "$primary->{name} $primary->{sockets}", $load{sync} eq 'remote_apply' && !defined $switched ? map { "$_->{name} $_->{sockets}" } @standbys : ());
	rename "$dir/map.new", "$dir/map";
}

sub make_cluster
{
	my ($standbys) = @_;
	%node = ();
	run("cp -a '$base/template' '$dir/main'");
	$primary = new_node('main');
	my $s = session($primary);
	$s->rows($_) for split /;\n/, <<SQL;
CREATE EXTENSION widetable;
CREATE TABLE ho (k text COLLATE "C" PRIMARY KEY, v text, n bigint);
CREATE FOREIGN TABLE hw (k text COLLATE "C", v text, n bigint OPTIONS (column 'g:n', encoding 'counter')) SERVER widetable OPTIONS (families '{"f": {}, "g": {}}');
CREATE TABLE bo (b int, i int, x bigint, pad text, PRIMARY KEY (b, i));
CREATE FOREIGN TABLE bw (b int, i int, x bigint, pad text) SERVER widetable OPTIONS (key 'b, i');
INSERT INTO ho SELECT to_char(g, 'FM000') || 'p' || p, '', 0 FROM generate_series(0, $load{generations} - 1) g, generate_series(1, $load{pairs}) p;
INSERT INTO hw SELECT k, v, n FROM ho;
INSERT INTO hw SELECT to_char(g, 'FM000') || 'w' || p, '', 0 FROM generate_series(0, $load{generations} - 1) g, generate_series(1, $load{alone}) p;
SQL
	my $delay = any('300ms', '3s', '-1');
	# with neither, each record of a cleanup may wait for a reader that begins just before it
	my $feedback = $delay eq '-1' ? 'on' : any('on', 'on', 'off');
	@standbys = ();
	for my $name ('one', 'two')
	{
		last if @standbys == $standbys;
		run("'$bin/pg_basebackup' -h '$primary->{sockets}' -U postgres -D '$dir/$name' -c fast --no-sync");
		spit("$dir/$name/standby.signal", '');
		push @standbys, new_node($name, follow($primary, $name), "max_standby_streaming_delay = $delay", "hot_standby_feedback = $feedback");
	}
	if ($load{sync} eq 'remote_apply')
	{
		$s->rows("ALTER SYSTEM SET synchronous_standby_names = '$standbys (" . join(', ', map { $_->{name} } @standbys) . ")'");
		$s->rows('SELECT pg_reload_conf()');
	}
	$s->close;
	publish();
	return "$standbys standbys, synchronous_commit $load{sync}, feedback $feedback, conflicts wait $delay";
}

sub follow { my ($n, $name) = @_; return "primary_conninfo = 'host=$n->{sockets} user=postgres application_name=$name'"; }

# -------------------------------------------------------------------- clients

sub client
{
	my ($name, $code) = @_;
	my $seed = int rand 2**30;
	my $pid = fork;
	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		$SIG{INT} = $SIG{TERM} = 'DEFAULT';
		srand $seed;
		open my $log, '>', "$dir/$name.log" or POSIX::_exit(1);
		select((select($log), $| = 1)[0]);
		eval { $code->($log); 1 } or print $log "V it ended: $@";
		POSIX::_exit(0);
	}
	push @children, $pid;
}

sub stop_clients { kill 'KILL', $_ for @children; waitpid $_, 0 for @children; @children = (); }

# --------------------------------------------------------------------- faults

# a new session reads both tables on the server now
sub probe
{
	my ($n, $when) = @_;
	my $s = session($n);
	my $sql = "SELECT (SELECT count(*) FROM hw WHERE k LIKE '___p%'), (SELECT count(*) FROM ho), (SELECT count(*) FROM hw w JOIN ho o USING (k) WHERE w.v <> o.v OR w.n <> o.n)";
	my $r;
	# replay holds the locks of a transaction that it has read a part of, as for ordinary tables
	if ($s->value("SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation IN ('hw'::regclass, 'ho'::regclass)"))
	{
		$s->close;
		return;
	}
	$s->rows("SET lock_timeout = '5s'");
	# a conflict with recovery, as any session may have one; while replay is behind, one after the other
	for (1 .. 40) { $r = $s->query($sql); last unless $r->{code} =~ /^40/; nap(0.25); }
	# or it has read that part since
	return if $r->{code} eq '55P03';
	push @why, "$when $n->{name} does not answer: $r->{code} $r->{message}" if $r->{code} ne '' || $r->{lost};
	if ($r->{hangs})
	{
		push @why, map { "  $_" } state_of($n->{sockets});
		return;
	}
	my $all = $load{generations} * $load{pairs};
	push @why, "$when $n->{name} has @{ $r->{rows}[0] } (wide rows, ordinary rows, different ones)" if @{ $r->{rows} } && "@{ $r->{rows}[0] }" ne "$all $all 0";
	my $h = $s->query('SELECT * FROM widetable.pg_stat_widetable_health');
	push @why, "$when the view of the health of $n->{name}: $h->{code} $h->{message}" if $h->{code} ne '' || $h->{lost};
	$s->close;
}

sub pause
{
	my ($n) = @_;
	ask($n, 'SELECT pg_wal_replay_pause()');
	await($n, 'the pause', "SELECT pg_get_wal_replay_pause_state() = 'paused'");
	my $at = ask($n, 'SELECT pg_last_wal_replay_lsn()');
	probe($n, 'paused,');
	nap(0.5 + rand 1);
	probe($n, 'still paused,');
	my $now = ask($n, 'SELECT pg_last_wal_replay_lsn()');
	push @why, "$n->{name} was paused at $at, and is at $now" if $at ne $now;
	ask($n, 'SELECT pg_wal_replay_resume()');
}

sub end_walreceiver
{
	my ($n) = @_;
	await($n, 'streaming', 'SELECT count(*) = 1 FROM pg_stat_wal_receiver WHERE pid IS NOT NULL');
	my $pid = ask($n, 'SELECT pid FROM pg_stat_wal_receiver');
	end_one($n, 'TERM', $pid) if $pid;
	probe($n, 'the walreceiver was ended,');
}

# sends a signal to a process of this server
sub end_one
{
	my ($n, $signal, $pid) = @_;
	local $Server::data = $n->{data};
	kill $signal, $pid if ((proc($pid))[1] || 0) == postmaster();
}

sub end_process
{
	my ($n, $type) = @_;
	my $sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = '$type'";
	await($n, "a process $type", "SELECT EXISTS ($sql)");
	my $pid = ask($n, $sql);
	my $signal = any('KILL', 'TERM');
	$how .= " ($signal)";
	end_one($n, $signal, $pid);
	await($n, "another process $type", "SELECT EXISTS ($sql AND pid <> $pid)");
	probe($n, "the $type was ended,");
}

sub restart_standby
{
	my ($n) = @_;
	if (rand() < 0.3) { kill_node($n); } else { stop_node($n, 'immediate'); }
	nap(rand 1);
	start_node($n);
	probe($n, 'started again,');
}

sub kill_backend
{
	my $pid = ask($primary, "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'writer%' ORDER BY random() LIMIT 1");
	end_one($primary, 'KILL', $pid) if $pid;
	probe($_, 'the primary recovers from a crash,') for @standbys;
	await($primary, 'recovery', 'SELECT true');
}

sub restart_primary
{
	if (rand() < 0.6) { kill_node($primary); } else { stop_node($primary, 'immediate'); }
	probe($_, 'there is no primary,') for @standbys;
	start_node($primary);
}

# Ends the primary.  The standby that has received most becomes the new one, another one follows it.
sub promote
{
	my @receivers = map { ask($_, 'SELECT pid FROM pg_stat_wal_receiver') } @standbys;
	my @before = map { session($_) } @standbys;
	if ($how eq 'switchover') { stop_node($primary, 'fast'); }
	else { kill_node($primary); $lossy = $load{sync} ne 'remote_apply'; }
	probe($_, 'there is no primary,') for @standbys;
	# until they have written what they had received
	for my $pid (grep { $_ } @receivers) { nap(0.05) while alive($pid); }
	my @got = map { Prefix::position($_->value('SELECT pg_last_wal_receive_lsn()')) } @before;
	my $best = @got > 1 && $got[1] > $got[0] ? 1 : 0;
	my $n = $standbys[$best];
	run("'$bin/pg_ctl' -D '$n->{data}' -w -t 60 promote");
	my $s = $before[$best];
	for my $one ($s, session($n))
	{
		my $b = -$one->{pid};
		for ('BEGIN', "INSERT INTO bo (b, i) VALUES ($b, 1)", "INSERT INTO bw (b, i) VALUES ($b, 1)", 'COMMIT')
		{
			my $r = $one->query($_);
			push @why, 'the first write of ' . ($one == $s ? 'a session from before the promotion' : 'a new session') . ": $r->{code} $r->{message}" if $r->{code} ne '' || $r->{lost};
		}
	}
	probe($n, 'promoted,');
	$primary = $n;
	($switched) = map { /^\d+\t(\S+)/ ? Prefix::position($1) : () } reverse split /\n/, slurp("$n->{data}/pg_wal/00000002.history");
	push @why, "$n->{name} has no history of its timeline" unless defined $switched;
	@standbys = grep { $_ != $n } @standbys;
	for (@standbys)
	{
		append("$_->{data}/postgresql.conf", follow($n, $_->{name}) . "\n");
		ask($_, 'SELECT pg_reload_conf()');
		probe($_, 'it follows another one,');
	}
	publish();
}

# --------------------------------------------------------------------- rounds

# starts the clients, and waits until each reader has read something
sub start_clients
{
	$load{began} = time();
	my $writers = 4 + int rand 3;
	my @names;
	my $start = sub { my ($name, @who) = @_; push @names, $name; client($name, sub { Reader::run($_[0], $name, @who); }); };
	for my $n (@standbys) { $start->("$n->{name}-$_", $n, $_ == 1) for 1 .. 2 + int rand 2; }
	$start->('primary-1');
	for my $id (1 .. $writers) { client("writer$id", sub { Writer::run($_[0], $id); }); }
	for my $name (@names)
	{
		my $tries = 0;
		while ((my $log = slurp("$dir/$name.log")) !~ /^[RPN] /m)
		{
			die "$name reads nothing: " . substr($log, 0, 1000) . "\n" if $tries++ > 1000 || ($log =~ s/^V/V/mg || 0) > 20;
			nap(0.1);
		}
	}
	return (\@names, [map { "writer$_" } 1 .. $writers]);
}

sub end_clients
{
	spit("$dir/stop", '');
	my $end = time() + $Wire::limit + 20;
	for my $pid (@children)
	{
		my $r;
		while (($r = waitpid $pid, POSIX::WNOHANG()) == 0 && time() < $end) { nap(0.02); }
		push @why, 'a client does not end' if $r == 0;
	}
	stop_clients();
}

# everything is the same on all servers
sub compare
{
	await_replay($_) for @standbys;
	my %lists;
	my @states;
	for my $n ($primary, @standbys)
	{
		my $s = session($n);
		my $columns = 'b, i, x, pad';
		my %sum = map { $_->[0] => $_->[1] } (map { [$_, $s->value("SELECT md5(string_agg(k || ':' || v || ' ' || n, ',' ORDER BY k)) FROM $_ WHERE k LIKE '___p%'")] } qw(hw ho)),
			(map { [$_, $s->value("SELECT count(*) || ' ' || md5(string_agg(concat_ws(' ', $columns), ',' ORDER BY b, i)) FROM $_") // 'empty'] } qw(bw bo));
		push @why, "at the end on $n->{name} hw is not ho" if $sum{hw} ne $sum{ho};
		push @why, "at the end on $n->{name} bw is $sum{bw}, bo is $sum{bo}" if $sum{bw} ne $sum{bo};
		my @lists = $s->rows('SELECT k, v FROM hw ORDER BY k');
		push @states, join "\n", (map { "@$_" } @lists), map { $sum{$_} } sort keys %sum;
		push @why, "at the end $n->{name} has other rows than $primary->{name}" if $states[-1] ne $states[0];
		%lists = map { @$_ } @lists if $n == $primary;
		push @why, map { "verify() on $n->{name}: " . join ' ', map { defined $_ ? $_ : '' } @$_ } $s->rows('SELECT * FROM widetable.verify()');
		$s->close;
	}
	return \%lists;
}

# what the servers' logs must not have
sub read_logs
{
	my @r;
	for my $n (values %node)
	{
		my @l = grep { /PANIC|TRAP|terminated by signal|was terminated by exception/ } split /\n/, slurp("$n->{data}/server.log");
		@l = grep { !/terminated by signal 9/ && !/PANIC: .*the shared memory of widetable is damaged/ && !/terminated by signal 6/ } @l if $load{may_panic};
		push @r, map { "the log of $n->{name}: $_" } @l;
	}
	return @r;
}

sub play
{
	my ($standbys, $of_primary, $repeated, $do) = @{ $fault{$how} };
	my $crash = $of_primary && $how ne 'switchover';
	$load{sync} = any('remote_apply', 'remote_apply', 'on', $crash ? 'on' : 'off');
	$load{may_panic} = $how =~ /^(keeper|worker|backend)$/;
	$load{may_end} = $crash || $how eq 'restart' || $load{may_panic};
	($switched, $lossy, @why) = (undef, 0);
	$about = make_cluster($standbys || 1 + int rand 2);
	my ($readers, $writers) = start_clients();
	nap($seconds / 3);
	my $end = time() + $seconds / 3;
	do
	{
		$do->($of_primary ? () : any(@standbys));
		append("$dir/faults", '.');
		nap(0.5 + rand 1);
	} while ($repeated && !@why && time() < $end);
	nap($seconds * 2 / 3 - ($repeated ? $seconds / 3 : 0));
	end_clients();
	my $lists = compare();
	my $check = Prefix->new(lists => $lists, old => 'main', switched => $switched, lossy => $lossy);
	$check->add_writer($_, split /\n/, slurp("$dir/$_.log")) for @$writers;
	$check->finish_writers;
	$check->check_reader($_, $lossy ? 'main' : undef, split /\n/, slurp("$dir/$_.log")) for @$readers;
	push @why, $check->problems;
	my $c = $check->{count};
	# a round in which nobody reads or writes tests nothing
	for my $kind ('committed', map { ("statements of $_", "transactions of $_") } grep { $_ ne 'main' } keys %node) { push @why, "there were no $kind" unless $c->{$kind}; }
	return join(', ', map { "$c->{$_} $_" } sort keys %$c) . '; errors: ' . join(', ', map { "$check->{errors}{$_} $_" } sort keys %{ $check->{errors} || {} });
}

my @order = map { $_->[1] } sort { $a->[0] <=> $b->[0] } map { [rand, $_] } sort keys %fault;
make_template();
for my $round (1 .. $rounds)
{
	$how = defined $ENV{FAULT} ? $ENV{FAULT} : $order[($round - 1) % @order];
	$dir = "$base/$round";
	mkdir $dir or die "$dir: $!";
	my $counts;
	$about = 'the servers did not start';
	eval { $counts = play(); 1 } or push @why, "the round broke off: $@";
	stop_clients();
	for my $n (values %node) { my $e = stop_node($n, @why ? 'immediate' : 'fast'); push @why, "$n->{name}: $e" if $e ne ''; }
	push @why, read_logs();
	print "# $about\n";
	print "# $counts\n" if defined $counts;
	# an answer that does not come: what the clients have seen before
	push @why, grep { /^V/ } map { split /\n/, slurp($_) } glob "$dir/*.log" unless defined $counts;
	print @why ? 'not ok' : 'ok', " $round - standbys answer as PostgreSQL's do: $how\n";
	if (@why)
	{
		chomp @why;
		print "#   $_\n" for splice @why, 0, 20;
		print '#   and ', scalar @why, " more\n" if @why;
		print "# SEED=$seed ROUNDS=$round repeats the choices up to this round\n";
		for my $n (values %node)
		{
			my @l = grep { /WARNING|PANIC|TRAP|terminated by signal|:  widetable: / } split /\n/, slurp("$n->{data}/server.log");
			print map { "#   $n->{name}: $_\n" } @l > 12 ? @l[-12 .. -1] : @l;
		}
		$failed = 1;
	}
	system('rm', '-rf', $dir) unless $ENV{KEEP} && $failed;
	%node = ();
	# a broken round leaves its files, and the later ones would report the same
	last if $failed && $ENV{KEEP};
}
exit $failed;
