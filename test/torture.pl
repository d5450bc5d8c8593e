#
# torture.pl: kills the server under load, repeatedly, and compares what is left with what was
# acknowledged.  Run by ./test/torture and ./test/check.  A round takes about 5 seconds.
#
# The clients are psql processes that run prepared scripts and record acknowledged commits outside
# the server.  Several loads run at the same time, each with its own tables and its own invariants;
# see the head of each file:
#
#   lib/Ledger.pm   every state is known; wide and ordinary tables agree
#   lib/Bank.pm     transfers: the sum is constant for every reader
#   lib/Tally.pm    counters: no increment is lost, no value is returned twice
#   lib/Sums.pm     values that are added without locks: none is lost, none counts twice
#   lib/Moves.pm    a table whose rows are moved: its indexes and roll-ups agree with it
#   lib/Claims.pm   work items: each is claimed once
#   lib/Chain.pm    synchronous_commit off and local: no gap, causes before effects
#   lib/Schema.pm   CREATE, ALTER, TRUNCATE, DROP
#   lib/Expire.pm   time to live
#   lib/Wave.pm     changes of all rows of a table: visible as a whole
#
# Another session flushes, compacts and checkpoints meanwhile.  After each crash every load checks
# its tables, widetable.verify() finds no problem, and the store's directory contains exactly the
# listed files.
#
# The kinds of kill: the postmaster and all its children, a backend, the worker, another process; an
# immediate or a fast stop; or a process that kills itself at one of the engine's injection points
# (host/kill), between two steps of a protocol.  In a quarter of the restarts the server is killed
# again during recovery.
#
# Settings: ROUNDS (200), SEED, LOAD_SECONDS (maximum duration of the load before the kill, 2),
# LOADS (names of the loads to run), HOW (one kind of kill for all rounds), CONF (an additional line
# of configuration).
# Uses modules of perl-base only.  Needs: BIN PGDATA PGHOST PGUSER (lib.sh).
#
use strict;
use warnings;
my $here;
BEGIN { ($here) = __FILE__ =~ m{^(.*)/}; $here = '.' unless defined $here; unshift @INC, "$here/lib"; }
use Server;
use Ledger;
use Bank;
use Tally;
use Sums;
use Moves;
use Claims;
use Chain;
use Schema;
use Expire;
use Wave;

$| = 1;
my $rounds  = $ENV{ROUNDS}  || 200;
my $seconds = $ENV{LOAD_SECONDS} || 2;
my $seed    = $ENV{SEED}    || (time() ^ $$);
srand($seed);
my %make = (ledger => sub { Ledger->new(4) }, bank => sub { Bank->new(3) }, tally => sub { Tally->new(3) }, sums => sub { Sums->new(3) }, moves => sub { Moves->new(3) }, claims => sub { Claims->new(4) },
	chain => sub { Chain->new }, schema => sub { Schema->new }, expire => sub { Expire->new },
	wave => sub { Wave->new });
my @loads = map { $make{$_} ? $make{$_}->() : die "unknown load: $_\n" } split / /, $ENV{LOADS} || 'ledger bank tally sums moves claims chain schema expire wave';
my @how = defined $ENV{HOW} ? $ENV{HOW} : ('postmaster', 'backend', 'point', 'worker', 'immediate stop', 'point', 'backend', 'postmaster', 'other process', 'worker',
	'point', 'backend', 'fast stop');
# injection points: name, and the highest number of times that a process may reach it before it is killed
my @points = (['prepare-logged', 60], ['finish-logged', 60], ['finish-applied', 60], ['publish', 60], ['flush-files', 2], ['flush-manifest', 2],
	['compact-files', 3], ['compact-manifest', 3], ['manifest-append', 6], ['manifest-sync', 6], ['manifest-switch', 1], ['sst-written', 6],
	['sst-synced', 6], ['sst-renamed', 6], ['container-added', 20], ['remove-unlink', 8], ['recover-replayed', 1], ['recover-finished', 2]);
my $failed = 0;
my $twice = 0;

print "# torture: $rounds rounds, seed $seed\n";
spit("$data/torture.conf", '');
spit("$data/postgresql.conf", slurp("$data/postgresql.conf") . "include 'torture.conf'\n") unless slurp("$data/postgresql.conf") =~ /torture\.conf/;
Server::begin('torture');
# the library that kills; a subdirectory of $dir survives the rounds
my $killer = "$dir/kill/widetable_kill.so";
mkdir "$dir/kill";
if (system("$here/host/kill/build", "$dir/kill")) { print "not ok - widetable_kill builds\n"; exit 1; }
my ($rc, $out, $err) = psql(join '', "SET client_min_messages = warning;\nCREATE EXTENSION IF NOT EXISTS widetable;\n", map { $_->setup } @loads);
if ($rc) { print "not ok - the tables can be created\n$err"; exit 1; }

# --------------------------------------------------------------------- parts

# random settings for the next start: with and without preloading, memtable size, no worker; with
# the library that kills, which is loaded before widetable, or without
sub vary
{
	my ($round, $kills) = @_;
	my $conf = "shared_preload_libraries = '" . join(',', ($kills ? $killer : ()), ($round % 2 ? 'widetable' : ())) . "'\n";
	$conf .= "widetable.memtable_size = '" . (1, 1, 2, 4)[rand 4] . "MB'\n";
	$conf .= "widetable.workers = 0\n" if $round % 9 == 8;
	$conf .= "max_parallel_workers_per_gather = 0\n" if rand() < 0.5;
	# commits wait longer for the disk: row locks that they release before, and what they show, can
	# be seen
	$conf .= "fsync = on\ncommit_delay = 3000\ncommit_siblings = 0\n" if rand() < 0.3;
	$conf .= "$ENV{CONF}\n" if defined $ENV{CONF};
	spit("$data/torture.conf", $conf);
}

sub maintain
{
	my $s = '';
	for (1 .. 100)
	{
		my @what = ('SELECT widetable.flush();', 'CHECKPOINT;', 'SELECT widetable.compact(major => false);', 'SELECT widetable.compact();',
			'SELECT pg_switch_wal();', 'VACUUM;');
		$s .= sprintf "SELECT pg_sleep(%.3f);\n%s\n", rand(0.4), $what[int rand @what];
	}
	spawn('maintenance', 0, $s);
	# an old snapshot keeps files and versions
	spawn('long', 0, join '', map { sprintf "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM widetable.pg_stat_widetable_files;\nSELECT pg_sleep(%.3f);\nCOMMIT;\n", rand 1.5 } 1 .. 10);
}

# returns (true if the server must be started, error messages)
sub do_kill
{
	my ($how) = @_;
	my $pm = postmaster();
	if ($how eq 'postmaster') { kill_all(); return 1; }
	if ($how =~ /^(immediate|fast) stop$/) { my $why = stop($1); return (1, $why ne '' ? $why : ()); }
	my $victim;
	if ($how eq 'backend')
	{
		$victim = value("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1");
	}
	elsif ($how eq 'worker') { $victim = value('SELECT worker_pid FROM widetable.pg_stat_widetable'); }
	if ($how eq 'other process' || ($how eq 'worker' && defined $victim && $victim eq ''))
	{
		my @kids = children_of($pm);
		$victim = $kids[int rand @kids];
	}
	return (0, "no $how to kill") unless $victim && $victim =~ /^\d+$/ && $victim > 1 && ((proc($victim))[1] || 0) == $pm;
	kill 'KILL', $victim;
	return 0;
}

# the number of processes killed, by the server log from byte $from on
sub deaths
{
	my ($from) = @_;
	open my $h, '<', "$data/server.log" or return 0;
	seek $h, $from, 0;
	my $n = 0;
	while (<$h>) { $n++ if /terminated by signal 9/; }
	return $n;
}

# starts the server; in a quarter of the calls it is killed once or twice during recovery
sub restart
{
	my $times = rand() < 0.25 ? 1 + int rand 2 : 0;
	for (1 .. $times)
	{
		system("'$Server::bin/pg_ctl' -D '$data' -l '$data/server.log' -W start >'$dir/ctl.out' 2>&1 </dev/null");
		# a reader makes the server open the store
		spawn("early$_", 0, "SELECT count(*) FROM widetable.pg_stat_widetable_files;\n") for 1 .. 2;
		nap(rand 0.5);
		spawn("early$_", 0, "SELECT count(*) FROM widetable.pg_stat_widetable_files;\n") for 3 .. 4;
		nap(rand 0.3);
		kill_all();
		Server::wait_children(30);
		$twice++;
	}
	return start();
}

# --------------------------------------------------------------------- rounds

my %deaths;						# by injection point
my $aimed = 0;					# rounds with one
for my $round (1 .. $rounds)
{
	my $how = $how[($round - 1) % @how];
	my ($name, $point) = ($how);
	my @why;

	if ($how eq 'point')
	{
		$point = $points[int rand @points];
		$name = "$point->[0]:" . (1 + int rand $point->[1]);
		push @why, grep { $_ ne '' } stop('fast');
		vary($round, 1);
		$aimed++;
		push @why, 'the server did not start' unless start("WIDE_KILL_POINT=$name");
	}
	# A process may be killed inside the engine.  Other processes may detect that, and report it,
	# before the postmaster terminates them.
	$Server::lost = $how eq 'fast stop' ? qr/^(?!)/ : qr/PANIC:  .*(the shared memory of widetable is damaged|the store is out of order until it is recovered)/;
	my $log = -s "$data/server.log";
	my $begun = 1;
	unlink glob "$dir/*";
	for my $l (@loads)
	{
		$begun = eval { $l->begin; 1 };
		last unless $begun;
	}
	# with an injection point the server may be down before all loads have started
	push @why, "the load did not start: $@" if !$begun && !$point;
	maintain();
	nap(0.4 + rand($seconds - 0.4));

	my $needs_start = 1;
	if ($point)
	{
		for (1 .. 20) { last if deaths($log); nap(0.1); }
		$deaths{ $point->[0] } += deaths($log) ? 1 : 0;
		kill_all();
	}
	else { ($needs_start, my @w) = do_kill($how); push @why, @w; }
	my $hung = wait_children(60);
	push @why, $hung if $hung ne '';
	if ($needs_start) { vary($round); }
	if ($needs_start ? !restart() : !wait_ready()) { push @why, 'the server did not come back'; }

	if (!@why)
	{
		push @why, $_->check($how) for @loads;
		push @why, complaints('maintenance'), complaints('long');
		($rc, $out, $err) = psql('SELECT object, problem FROM widetable.verify()');
		push @why, "verify: $err$out" if $rc || $out ne '';
		push @why, litter(20);
	}
	if (@why)
	{
		print "not ok $round - every load is consistent after: $name\n";
		splice @why, 60 if @why > 60;
		print "#   $_\n" for map { split /\n/ } @why;
		$failed = 1;
		# later rounds would report the same
		last;
	}
	print "ok $round - every load is consistent after: $name\n";
	print "# torture: $round of $rounds rounds\n" if $round % 10 == 0;
}

print "# torture: ", $_->summary, "\n" for $failed ? () : @loads;
# a point may be passed too rarely in one round, but not in all
if ($aimed >= 4 && !grep { $_ } values %deaths) { print "not ok - processes die at injection points\n"; $failed = 1; }
print "# torture: killed at ", join(', ', map { "$_ $deaths{$_}" } sort keys %deaths), "\n" if %deaths;
print "# torture: killed $twice times during recovery\n" if $twice;
my $st = value("SELECT format('%s flushes, %s compactions, %s files since the last restart', flushes, compactions, files) FROM widetable.pg_stat_widetable");
print "# torture: $st\n" if defined $st;
exit $failed;
