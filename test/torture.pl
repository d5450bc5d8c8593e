#
# torture.pl: kill the server under load, again and again; compare what is left
# with what was promised.  Run by ./test/torture and ./test/check.
#
# Each client is one psql that runs transactions 1, 2, 3, ... in order and
# writes "a N" to a file outside the server when the commit of N came back.
# What transaction N of client C does follows from (C, N) alone, so this program
# knows every state.  After the crash a client's rows, in all tables together,
# must be exactly those after N or those after N + 1, N being the last
# acknowledged: nothing acknowledged is lost, and the one in doubt is there
# wholly or not at all, in wide and in ordinary tables alike.  Rolled back work
# (transactions, savepoints) must never be seen.  Meanwhile a reader compares
# wide and ordinary tables in single statements: they must agree always.
#
# Only perl-base's modules are used.  Needs: BIN PGDATA PGHOST PGUSER (lib.sh).
#
use strict;
use warnings;
use POSIX ();

$| = 1;
my $rounds  = $ENV{ROUNDS}  || 50;
my $clients = $ENV{CLIENTS} || 4;
my $seed    = $ENV{SEED}    || (time() ^ $$);
my $slots   = 60;
my $batch   = 4000;				# transactions written into one script
my ($bin, $data) = @ENV{qw(BIN PGDATA)};
my $dir = "$data/../torture.$$";
$dir = ($ENV{TMPDIR} || '/tmp') . "/widetable-torture.$$" unless mkdir $dir;
mkdir $dir unless -d $dir;
srand($seed);
my $failed = 0;
my @children;
$SIG{INT} = $SIG{TERM} = sub { stop_children(); exit 1 };
END { my $rc = $?; system('rm', '-rf', $dir) if defined $dir; $? = $rc; }

# ------------------------------------------------------------------ helpers

sub nap { select undef, undef, undef, $_[0]; }

sub slurp { my ($f) = @_; open my $h, '<', $f or return ''; local $/; my $s = <$h>; return defined $s ? $s : ''; }

sub spit { my ($f, $s) = @_; open my $h, '>', $f or die "$f: $!"; print $h $s; close $h or die "$f: $!"; }

# runs psql on a script; returns (exit status, output, messages)
sub psql
{
	my ($sql, $app) = @_;
	spit("$dir/q.sql", $sql);
	local $ENV{PGAPPNAME} = $app || 'check';
	my $rc = system("'$bin/psql' -XqAt -v ON_ERROR_STOP=1 -f '$dir/q.sql' >'$dir/q.out' 2>'$dir/q.err'");
	return ($rc, slurp("$dir/q.out"), slurp("$dir/q.err"));
}

sub value
{
	my ($sql) = @_;
	my ($rc, $out, $err) = psql($sql);
	return undef if $rc;
	chomp $out;
	return $out;
}

sub spawn
{
	my ($name, $stop) = @_;
	my $pid = fork;
	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		$SIG{INT} = $SIG{TERM} = 'DEFAULT';
		$ENV{PGAPPNAME} = $name;
		open STDIN,  '<', '/dev/null';
		open STDOUT, '>', "$dir/$name.out";
		open STDERR, '>', "$dir/$name.err";
		{ exec "$bin/psql", '-XqAt', '-v', "ON_ERROR_STOP=$stop", '-f', "$dir/$name.sql" };
		POSIX::_exit(127);
	}
	push @children, $pid;
}

# all psql of this round; those that hang are ended, which is a failure
sub wait_children
{
	my ($limit) = @_;
	my $end = time() + $limit;
	my $hung = 0;
	for my $pid (@children)
	{
		my $r;
		while (($r = waitpid($pid, POSIX::WNOHANG())) == 0 && time() < $end) { nap(0.05); }
		if ($r == 0) { $hung++; kill 'KILL', $pid; waitpid($pid, 0); }
	}
	@children = ();
	return $hung;
}

sub stop_children { kill 'KILL', $_ for @children; waitpid($_, 0) for @children; @children = (); }

# (state, parent) of a process, from /proc: there may be no ps
sub proc
{
	my ($pid) = @_;
	my $s = slurp("/proc/$pid/stat");
	return unless $s =~ /\) (\S) (\d+) /s;
	return ($1, $2);
}

sub alive { my ($st) = proc($_[0]); return defined $st && $st ne 'Z'; }

sub postmaster { my ($pid) = slurp("$data/postmaster.pid") =~ /^(\d+)/; return $pid; }

sub children_of
{
	my ($parent) = @_;
	my @r;
	opendir my $d, '/proc' or die "/proc: $!";
	for my $pid (grep { /^\d+$/ } readdir $d)
	{
		my ($st, $pp) = proc($pid);
		push @r, $pid if defined $pp && $pp == $parent && $st ne 'Z';
	}
	return @r;
}

sub start
{
	for my $try (1 .. 5)
	{
		return 1 if system("'$bin/pg_ctl' -D '$data' -l '$data/server.log' -w -t 120 start >'$dir/ctl.out' 2>&1 </dev/null") == 0;
		nap(0.5);
	}
	print slurp("$dir/ctl.out");
	return 0;
}

sub wait_ready
{
	my $end = time() + 90;
	while (time() < $end) { return 1 if defined value('SELECT 1'); nap(0.1); }
	return 0;
}

# --------------------------------------------------------- the transactions

# a number below $n that follows from the arguments alone
sub pick
{
	my ($n, @v) = @_;
	my $x = 2166136261;
	for my $v (@v) { for my $b ($v & 255, ($v >> 8) & 255, ($v >> 16) & 255) { $x = (($x ^ $b) * 16777619) & 0xffffffff; } }
	$x ^= $x >> 15;
	$x = ($x * 2246822519) & 0xffffffff;
	$x ^= $x >> 13;
	return $x % $n;
}

my @kinds = (qw(book book book solo solo solo1 acct acct savepoint abort hot hot mix forget move));

sub kind { my ($c, $t) = @_; return $t % 40 == 0 ? 'bulk' : $kinds[pick(scalar @kinds, $c, $t, 1)]; }
sub slot { my ($c, $t, $k) = @_; return pick($slots, $c, $t, 10 + $k); }

sub parts
{
	my ($c, $t) = @_;
	return kind($c, $t) eq 'bulk' ? 60 : 1 + pick(3, $c, $t, 2);
}

# the state of client $c after transaction $t, given the one before it
sub apply
{
	my ($s, $c, $t) = @_;
	my $k = kind($c, $t);
	my ($a, $b, $d) = map { slot($c, $t, $_) } 1 .. 3;
	if ($k eq 'book' || $k eq 'bulk') { $s->{"b/$t"} = parts($c, $t); }
	elsif ($k eq 'solo')
	{
		$s->{"s/$a"} = $t;
		$s->{"s/$b"} = $t if exists $s->{"s/$b"};
		delete $s->{"s/$d"};
	}
	elsif ($k eq 'solo1') { $s->{"s/$_"} = $t for $a, $b, $d; }
	elsif ($k eq 'acct' || $k eq 'savepoint')
	{
		$s->{"a/$a"} = $t;
		$s->{"a/$b"} = $t if exists $s->{"a/$b"};
		delete $s->{"a/$d"};
	}
	elsif ($k eq 'hot') { $s->{'hot'}++; }
	elsif ($k eq 'mix') { $s->{'mix'}++; }
	elsif ($k eq 'forget')
	{
		for (keys %$s) { delete $s->{$_} if m{^b/(\d+)$} && $1 < $t - 300; }
	}
	elsif ($k eq 'move')
	{
		# a row changes its key, in both tables
		if (exists $s->{"a/$a"} && !exists $s->{"a/$b"}) { $s->{"a/$b"} = delete $s->{"a/$a"}; }
	}
}

sub sql
{
	my ($c, $t) = @_;
	my $k = kind($c, $t);
	my ($a, $b, $d) = map { slot($c, $t, $_) } 1 .. 3;
	my $id = $c * 1000000000 + $t;
	my $pad = "repeat(md5('$c:$t'), 8)";
	my $ghost = -$id;
	my $acct = "INSERT INTO acct_heap VALUES ($c, $a, $t) ON CONFLICT (client, slot) DO UPDATE SET v = $t;
INSERT INTO acct_wide VALUES ($c, $a, $t);
UPDATE acct_wide SET v = $t WHERE client = $c AND slot = $b;
UPDATE acct_heap SET v = $t WHERE client = $c AND slot = $b;
DELETE FROM acct_heap WHERE client = $c AND slot = $d;
DELETE FROM acct_wide WHERE client = $c AND slot = $d;
";
	if ($k eq 'book' || $k eq 'bulk')
	{
		my $n = parts($c, $t);
		my $wide = "INSERT INTO book_wide SELECT $id, g, md5($id || ':' || g), repeat(md5($id || '-' || g), 1 + ((g * 37 + $t) % 240)) FROM generate_series(1, $n) g;\n";
		my $heap = "INSERT INTO book_heap SELECT $id, g, md5($id || ':' || g) FROM generate_series(1, $n) g;\n";
		return "BEGIN;\n" . ($t % 2 ? $wide . $heap : $heap . $wide) . "COMMIT;\n";
	}
	if ($k eq 'solo')
	{
		return "BEGIN;
INSERT INTO solo VALUES ($c, $a, $t, $pad);
UPDATE solo SET v = $t, pad = $pad WHERE client = $c AND slot = $b;
DELETE FROM solo WHERE client = $c AND slot = $d;
COMMIT;
";
	}
	if ($k eq 'solo1')
	{
		my %once = map { $_ => 1 } $a, $b, $d;
		return "INSERT INTO solo VALUES " . join(', ', map { "($c, $_, $t, $pad)" } sort keys %once) . ";\n";
	}
	return "BEGIN;\n${acct}COMMIT;\n" if $k eq 'acct';
	return "BEGIN;
SAVEPOINT one;
INSERT INTO acct_wide VALUES ($c, $slots + $a, -1);
INSERT INTO acct_heap VALUES ($c, $slots + $a, -1);
DELETE FROM acct_wide WHERE client = $c;
ROLLBACK TO one;
${acct}COMMIT;
" if $k eq 'savepoint';
	return "BEGIN;
INSERT INTO book_wide VALUES ($ghost, 1, 'ghost', repeat('g', 5000));
INSERT INTO book_heap VALUES ($ghost, 1, 'ghost');
DELETE FROM solo WHERE client = $c;
INSERT INTO solo VALUES ($c, $slots + $a, -1, 'ghost');
ROLLBACK;
" if $k eq 'abort';
	return "SELECT widetable.increment('cnt', 'hot', '{\"c:n\": 1, \"k:$c\": 1}'::jsonb);\n" if $k eq 'hot';
	return "BEGIN;
UPDATE cnt_heap SET n = n + 1 WHERE name = 'c$c';
SELECT widetable.increment('cnt', 'c$c', 'c:n');
COMMIT;
" if $k eq 'mix';
	if ($k eq 'forget')
	{
		my ($lo, $hi) = ($c * 1000000000, $id - 300);
		return "BEGIN;
DELETE FROM book_wide WHERE id >= $lo AND id < $hi;
DELETE FROM book_heap WHERE id >= $lo AND id < $hi;
COMMIT;
";
	}
	return "BEGIN;
UPDATE acct_heap SET slot = $b WHERE client = $c AND slot = $a AND NOT EXISTS (SELECT FROM acct_heap WHERE client = $c AND slot = $b);
UPDATE acct_wide SET slot = $b WHERE client = $c AND slot = $a AND NOT EXISTS (SELECT FROM acct_wide WHERE client = $c AND slot = $b);
COMMIT;
" if $k eq 'move';
	die $k;
}

# the same state as the server has it: "client|key|value" lines; b/, a/ and mix
# once from the wide tables (w:) and once from the ordinary ones (h:)
my $state_sql = q{
SELECT concat_ws('|', client, 's/' || slot, v || CASE WHEN pad = repeat(md5(client || ':' || v), 8) THEN '' ELSE ' bad' END) FROM solo
UNION ALL
SELECT concat_ws('|', client, 'w:a/' || slot, v) FROM acct_wide
UNION ALL
SELECT concat_ws('|', client, 'h:a/' || slot, v) FROM acct_heap
UNION ALL
SELECT concat_ws('|', id / 1000000000, 'w:b/' || id % 1000000000, count(*) ||
	CASE WHEN bool_and(h = md5(id || ':' || part)
		AND body = repeat(md5(id || '-' || part), (1 + ((part * 37 + id % 1000000000) % 240))::int)) THEN '' ELSE ' bad' END)
FROM book_wide GROUP BY id
UNION ALL
SELECT concat_ws('|', id / 1000000000, 'h:b/' || id % 1000000000, count(*)) FROM book_heap GROUP BY id
UNION ALL
SELECT concat_ws('|', substr(name, 2), 'w:mix', n) FROM cnt WHERE name LIKE 'c%'
UNION ALL
SELECT concat_ws('|', substr(name, 2), 'h:mix', n) FROM cnt_heap WHERE n > 0;
};

sub expected
{
	my ($s) = @_;
	my %r;
	for my $k (keys %$s)
	{
		if ($k =~ m{^(a/|b/|mix)}) { $r{"w:$k"} = $s->{$k}; $r{"h:$k"} = $s->{$k}; }
		else { $r{$k} = $s->{$k}; }
	}
	return \%r;
}

sub differences
{
	my ($want, $got) = @_;
	my @d;
	for my $k (sort keys %$want)
	{
		push @d, "$k: " . (defined $got->{$k} ? $got->{$k} : 'missing') . ", expected $want->{$k}"
		  unless defined $got->{$k} && $got->{$k} eq $want->{$k};
	}
	for my $k (sort keys %$got) { push @d, "$k: $got->{$k}, expected nothing" unless exists $want->{$k}; }
	return @d;
}

# -------------------------------------------------------------------- set up

print "# torture: $rounds rounds, $clients clients, seed $seed\n";
my $counters = join ', ', map { "('c$_', 0)" } 1 .. $clients;
my $cols = join ', ', map { "n$_ bigint OPTIONS (column 'k:$_', encoding 'counter')" } 1 .. $clients;
my ($rc, $out, $err) = psql(<<"SQL");
CREATE EXTENSION IF NOT EXISTS widetable;
CREATE TABLE book_heap (id bigint, part int, h text, PRIMARY KEY (id, part));
CREATE FOREIGN TABLE book_wide (id bigint, part int, h text, body text OPTIONS (column 'b:body'))
  SERVER widetable OPTIONS (key 'id, part', families '{"d": {}, "b": {"compression": "none", "bloom": "rowcol"}}');
CREATE TABLE acct_heap (client int, slot int, v int, PRIMARY KEY (client, slot));
CREATE FOREIGN TABLE acct_wide (client int, slot int, v int)
  SERVER widetable OPTIONS (key 'client, slot', families '{"d": {"versions": 3}}');
CREATE FOREIGN TABLE solo (client int, slot int, v int, pad text OPTIONS (column 'x:pad'))
  SERVER widetable OPTIONS (key 'client, slot desc', families '{"d": {}, "x": {"versions": 2}}');
CREATE FOREIGN TABLE cnt (name text COLLATE "C", n bigint OPTIONS (column 'c:n', encoding 'counter'), $cols)
  SERVER widetable OPTIONS (key 'name', families '{"c": {}, "k": {}}');
CREATE TABLE cnt_heap (name text PRIMARY KEY, n bigint);
INSERT INTO cnt_heap VALUES $counters;
SQL
if ($rc) { print "not ok - set up\n$err"; exit 1; }

my $hot = join ', ', map { "('$_', n$_)" } 1 .. $clients;
$state_sql .= "SELECT concat_ws('|', key, 'hot', value) FROM cnt, LATERAL (VALUES $hot) l(key, value) WHERE name = 'hot' AND value IS NOT NULL;\n";

my @at    = (0) x ($clients + 1);			# last transaction known to be there
my @state = map { {} } 0 .. $clients;
my ($acks, $doubts, $kept, $reads) = (0, 0, 0, 0);
my @how = ('postmaster', 'backend', 'worker', 'immediate stop', 'backend', 'postmaster', 'other process', 'worker', 'backend', 'fast stop');

# -------------------------------------------------------------------- rounds

ROUND:
for my $round (1 .. $rounds)
{
	my $how = $how[($round - 1) % @how];
	my @why;

	for my $c (1 .. $clients)
	{
		my $s = '';
		for my $t ($at[$c] + 1 .. $at[$c] + $batch) { $s .= sql($c, $t) . "\\echo a $t\n"; }
		spit("$dir/load$c.sql", $s);
		spawn("load$c", 1);
	}
	my $s = '';
	for (1 .. 100)
	{
		my @what = ('SELECT widetable.flush();', 'CHECKPOINT;', 'SELECT widetable.compact(major => false);', 'SELECT widetable.compact();',
			"SELECT widetable.flush('solo');", 'SELECT pg_switch_wal();');
		$s .= sprintf "SELECT pg_sleep(%.3f);\n%s\n", rand(0.4), $what[int rand @what];
	}
	spit("$dir/chaos.sql", $s);
	spawn('chaos', 0);
	$s = "(SELECT client, slot, v FROM %s EXCEPT ALL SELECT client, slot, v FROM %s)";
	spit("$dir/reader.sql", join '', ("SELECT 'r ' || count(*) FROM (" . sprintf($s, 'acct_wide', 'acct_heap') . " UNION ALL "
		. sprintf($s, 'acct_heap', 'acct_wide') . ") d;\n"
		. "SELECT 'r ' || (SELECT count(*) FROM book_heap) - (SELECT count(*) FROM book_wide);\n") x 400);
	spawn('reader', 0);

	nap(0.4 + rand 1.8);

	my $pm = postmaster();
	my $needs_start = 1;
	# a process killed inside the engine: others may find that out, and say so, before the postmaster tells them
	my $lost = $how =~ /backend|worker|process/ ? qr/PANIC:  the shared memory of widetable is damaged/ : qr/^(?!)/;
	if ($how eq 'postmaster')
	{
		my @kids = children_of($pm);
		kill 'KILL', $pm;
		kill 'KILL', @kids;
		for (1 .. 200) { last unless grep { alive($_) } $pm, @kids; nap(0.05); }
	}
	elsif ($how eq 'immediate stop' || $how eq 'fast stop')
	{
		my ($mode) = $how =~ /^(\S+)/;
		system("'$bin/pg_ctl' -D '$data' -m $mode -w -t 60 stop >'$dir/ctl.out' 2>&1 </dev/null") == 0
		  or push @why, "$how: " . slurp("$dir/ctl.out");
	}
	else
	{
		my $victim;
		if ($how eq 'backend')
		{
			$victim = value("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'load%' ORDER BY random() LIMIT 1");
		}
		elsif ($how eq 'worker') { $victim = value('SELECT worker_pid FROM widetable.pg_stat_widetable'); }
		else
		{
			my @kids = children_of($pm);
			$victim = $kids[int rand @kids];
		}
		if ($victim && $victim =~ /^\d+$/ && $victim > 1 && (proc($victim))[1] == $pm) { kill 'KILL', $victim; }
		else { push @why, "no $how to kill"; }
		$needs_start = 0;
	}

	my $hung = wait_children(60);
	push @why, "$hung clients hang" if $hung;
	if ($needs_start ? !start() : !wait_ready()) { push @why, 'the server does not come back'; }

	# ------------------------------------------------------------- compare
	my ($round_acks, $round_doubts) = (0, 0);
	my %got;
	if (!@why)
	{
		my ($rc, $out, $err) = psql($state_sql);
		push @why, "reading back: $err" if $rc;
		for (split /\n/, $out)
		{
			my ($c, $k, $v) = split /\|/, $_, 3;
			$c = 0 if $c !~ /^\d+$/ || $c > $clients;
			push @why, "twice: $_" if exists $got{$c}{$k};
			$got{$c}{$k} = $v;
		}
		push @why, map { "of nobody: $_ = $got{0}{$_}" } keys %{ $got{0} || {} };
	}
	if (!@why)
	{
		for my $c (1 .. $clients)
		{
			my $errors = slurp("$dir/load$c.err");
			# a client may only fail by losing the server
			for my $line (grep { /ERROR|FATAL|PANIC/ } split /\n/, $errors)
			{
				push @why, "client $c: $line"
				  unless $line =~ /terminating connection|the database system is|could not connect|server closed|connection to server/ || $line =~ $lost;
			}
			my $last = $at[$c];
			for (slurp("$dir/load$c.out") =~ /^a (\d+)$/mg) { $last = $_; $round_acks++; }
			while ($at[$c] < $last) { apply($state[$c], $c, ++$at[$c]); }
			my @d = differences(expected($state[$c]), $got{$c} || {});
			my %next = %{ $state[$c] };
			apply(\%next, $c, $last + 1);
			my @n = differences(expected(\%next), $got{$c} || {});
			$round_doubts++;
			if (@d == 0) { next; }
			if (@n == 0) { $kept++; $state[$c] = \%next; $at[$c]++; next; }
			push @why, "client $c, after $last (" . kind($c, $last) . ", then " . kind($c, $last + 1) . "): " . scalar(@d) . " differences";
			splice @d, 8 if @d > 8;
			splice @n, 8 if @n > 8;
			push @why, map({ "  without " . ($last + 1) . ": $_" } @d), map({ "  with " . ($last + 1) . ": $_" } @n);
		}
		for (slurp("$dir/reader.out") =~ /^r (-?\d+)$/mg)
		{
			$reads++;
			push @why, "the reader saw $_ rows of difference between wide and ordinary tables" if $_ != 0;
		}
		for my $line (grep { /ERROR|PANIC/ } split /\n/, slurp("$dir/reader.err") . slurp("$dir/chaos.err"))
		{
			push @why, "reader or maintenance: $line" unless $line =~ /terminating connection|the database system is/ || $line =~ $lost;
		}
		# the shared counter, and every row again by its key
		my $sum = 0;
		$sum += $state[$_]{'hot'} || 0 for 1 .. $clients;
		my $n = value("SELECT coalesce((SELECT n FROM cnt WHERE name = 'hot'), 0)");
		push @why, "the hot counter is " . (defined $n ? $n : 'unreadable') . ", expected $sum" unless defined $n && $n == $sum;
		$n = value("SELECT count(*) FROM acct_heap h WHERE NOT EXISTS (SELECT FROM acct_wide w WHERE w.client = h.client AND w.slot = h.slot AND w.v = h.v)");
		push @why, "by key: " . (defined $n ? "$n rows are missing" : 'unreadable') unless defined $n && $n eq '0';
		($rc, $out, $err) = psql('SELECT object, problem FROM widetable.verify()');
		push @why, "verify: $err$out" if $rc || $out ne '';
	}
	$acks += $round_acks;
	$doubts += $round_doubts;
	if (@why)
	{
		print "not ok $round - round $round: $how\n";
		splice @why, 40 if @why > 40;
		print "#   $_\n" for map { split /\n/ } @why;
		$failed = 1;
		# what follows would only repeat it
		last ROUND;
	}
	print "ok $round - killed: $how; $round_acks commits acknowledged and found\n";
	print "# torture: $round of $rounds rounds, $acks commits\n" if $round % 10 == 0;
}

print "# torture: $acks acknowledged commits, none lost; $doubts in doubt, of which $kept committed wholly; $reads consistent reads\n" unless $failed;
my $st = value("SELECT format('%s flushes, %s compactions, %s files since the last restart', flushes, compactions, files) FROM widetable.pg_stat_widetable");
print "# torture: $st\n" if defined $st;
exit $failed;
