#
# soak.pl: runs a mixed load for a long time, with a crash every few minutes.  Invariants: the
# memory of the worker and of the sessions, the shared segment, the number of files, the disk space,
# the kept WAL and the duration of commits stay bounded, and the clients read what was acknowledged.
# Run by ./test/soak.
#
# The clients (lib/Users.pm) write visits with a time to live, counters, wide rows that are
# overwritten, a queue, and imports larger than half a memtable; others do point and range reads,
# full scans, and hold old snapshots.  They compare what they read with what was acknowledged.
#
# The output has a line for each minute and a table at the end.  The first quarter of the time is
# warm-up; of the rest, the second half is compared with the first.  Memory is compared within the
# lifetime of each process.
#
# Settings: MINUTES (60), KILL_EVERY (seconds between crashes), LONGEST (limit for a commit in
# seconds, 20), OUT (a file for the table), SEED, SOAK_TTL (seconds, 60).
# Uses modules of perl-base only.  Needs: BIN PGDATA PGHOST PGUSER (lib.sh).
#
use strict;
use warnings;
use POSIX ();
BEGIN { my ($d) = __FILE__ =~ m{^(.*)/}; unshift @INC, (defined $d ? $d : '.') . '/lib'; }
use Server;
use Session;
use Users;

$| = 1;
my $minutes = $ENV{MINUTES} || 60;
my $every   = $ENV{KILL_EVERY} || ($minutes < 20 ? 120 : 360);
my $limit   = $ENV{LONGEST} || 20;
my $seed    = $ENV{SEED} || (time() ^ $$);
my $sample_every = 5;
srand($seed);
my @bad;						# messages of all failures
my @kids;

sub fail { my (@why) = @_; push @bad, @why; print "not ok - $_\n" for @why; return; }

print "# soak: $minutes minutes, a crash every $every seconds, seed $seed\n";
Server::begin('soak');
$SIG{INT} = $SIG{TERM} = sub { kill 'KILL', @kids; exit 1 };
my ($rc, $out, $err) = psql("SET client_min_messages = warning;\nCREATE EXTENSION IF NOT EXISTS widetable;\n" . Users::setup());
if ($rc) { print "not ok - the tables can be created\n$err"; exit 1; }

# -------------------------------------------------------------------- clients

sub stopping { return -e "$dir/stop"; }

sub client
{
	my ($class, $n) = @_;
	my $name = lc($class) . $n;
	my $pid = fork;
	die "fork: $!" unless defined $pid;
	if ($pid) { push @kids, $pid; return; }
	$SIG{INT} = $SIG{TERM} = 'DEFAULT';
	srand($seed + $n);
	my $me = $class->new($name, $n);
	my $ended = 0;
	while (!$ended)
	{
		my $s = Session->open($name);
		if (!$s) { nap(0.3); next; }
		my $why = $me->verify($s);
		if ($why) { Session::tell_parent($name, "B $_") for splice @$why, 0, 10; }
		while ($s->{pid})
		{
			if (stopping()) { $ended = defined $me->verify($s); last; }
			last unless $me->step($s);
		}
		$s->close;
	}
	$_ = undef for $Server::dir;	# the parent removes the directory
	POSIX::_exit(0);
}

# reads what the clients have written to their files since the last call
my %read;
sub hear
{
	my %heard = (n => 0, longest => 0, what => '');
	for my $f (glob "$dir/*.log")
	{
		open my $h, '<', $f or next;
		seek $h, $read{$f} || 0, 0;
		while (my $line = <$h>)
		{
			last if $line !~ /\n$/;
			$read{$f} = tell $h;
			if ($line =~ /^B (.*)/) { my ($name) = $f =~ m{([^/]+)\.log$}; fail("$name: $1"); }
			next unless $line =~ /^S (\d+) (\d+) (\S+) (.*)/;
			my ($n, $longest, $what) = ($2, $3, $4);
			$heard{reads} += $n, next if $what =~ /reads|scans/;
			$heard{n} += $n;
			@heard{qw(longest what)} = ($longest, $what) if $longest > $heard{longest};
		}
	}
	return \%heard;
}

# -------------------------------------------------------------------- samples

sub kilobytes_of
{
	my ($pid) = @_;
	return slurp("/proc/$pid/smaps_rollup") =~ /^Anonymous:\s+(\d+)/m ? $1 : undef;
}

# Returns the number of files that a process has open; adds the sizes of the store's removed ones to
# %$gone.
sub descriptors_of
{
	my ($pid, $gone) = @_;
	opendir my $d, "/proc/$pid/fd" or return 0;
	my @fd = grep { /^\d/ } readdir $d;
	for (@fd)
	{
		next unless (readlink("/proc/$pid/fd/$_") || '') =~ m{/widetable/.* \(deleted\)$};
		my @s = stat "/proc/$pid/fd/$_" or next;
		$gone->{"$s[0] $s[1]"} = $s[7];
	}
	return scalar @fd;
}

sub tree_size
{
	my ($path) = @_;
	my ($n, $bytes) = (0, 0);
	opendir my $d, $path or return (0, 0);
	for (grep { !/^\./ } readdir $d) { my @s = stat "$path/$_" or next; next if -d _; $n++; $bytes += $s[7]; }
	return ($n, $bytes);
}

my %life;						# pid => [name, first seen, kB after 45 s, last kB, most descriptors, last seen]
my @columns = qw(second writes longest worker_kb sessions_kb descriptors segment_mb memtable_mb cache_mb files disk_mb listed_mb gone_mb wal_mb slot_mb stall_ms running_s);
my @samples;
my $start = time();

sub sample
{
	my ($rc, $out, $err) = psql("SELECT concat_ws(' ', coalesce(worker_pid, 0), segment_bytes, memtable_bytes, cache_bytes, files, file_bytes, round(stall_ms), commits) FROM widetable.pg_stat_widetable;
SELECT coalesce(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), restart_lsn), 0)::bigint FROM pg_replication_slots WHERE slot_name = 'widetable';
SELECT coalesce(round(extract(epoch FROM max(clock_timestamp() - started)))::int, 0) FROM widetable.pg_stat_widetable_compactions WHERE ended IS NULL;
SELECT pid || ' ' || application_name FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid();");
	my $heard = hear();
	return $heard if $rc;
	my ($first, $slot, $running, @backends) = split /\n/, $out;
	my ($worker, $segment, $memtable, $cache, $files, $listed, $stall) = split / /, $first;
	my %s = (second => time() - $start, writes => $heard->{n} / $sample_every, longest => $heard->{longest}, what => $heard->{what},
		segment_mb => $segment / 1e6, memtable_mb => $memtable / 1e6, cache_mb => $cache / 1e6, listed_mb => $listed / 1e6,
		slot_mb => $slot / 1e6, stall_ms => $stall, running_s => $running, worker_kb => 0, sessions_kb => 0, descriptors => 0);
	(@s{qw(files disk_mb)}) = tree_size(Server::store_dir());
	(undef, $s{wal_mb}) = tree_size("$data/pg_wal");
	$_ /= 1e6 for @s{qw(disk_mb wal_mb)};
	my %gone;
	for ("$worker worker", @backends)
	{
		my ($pid, $name) = split / /;
		my $kb = kilobytes_of($pid);
		next unless defined $kb && $name ne 'check';
		my $fd = descriptors_of($pid, \%gone);
		my $l = $life{$pid} ||= [$name, time(), undef, 0, 0, 0];
		$l->[2] = $kb if !defined $l->[2] && time() - $l->[1] >= 45;
		@$l[3, 5] = ($kb, time());
		$l->[4] = $fd if $fd > $l->[4];
		my $k = $name eq 'worker' ? 'worker_kb' : 'sessions_kb';
		$s{$k} = $kb if $kb > $s{$k};
		$s{descriptors} = $fd if $fd > $s{descriptors};
	}
	$s{gone_mb} = 0;
	$s{gone_mb} += $_ / 1e6 for values %gone;
	push @samples, \%s;
	return $heard;
}

# ---------------------------------------------------------------------- kills

my @how = ('backend', 'postmaster', 'worker', 'immediate stop', 'fast stop');
my $kills = 0;

sub crash
{
	my $how = $how[$kills++ % @how];
	my $begun = Session::now();
	if ($how eq 'postmaster') { kill_all(); start() or fail('the server did not start'); }
	elsif ($how =~ /^(\S+) stop/) { my $why = stop($1); fail($why) if $why ne ''; start() or fail('the server did not start'); }
	else
	{
		my $pid = value($how eq 'worker' ? 'SELECT worker_pid FROM widetable.pg_stat_widetable'
			: "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1");
		if ($pid && $pid =~ /^\d+$/ && ((proc($pid))[1] || 0) == postmaster()) { kill 'KILL', $pid; }
		else { fail("no $how to kill"); }
		nap(0.2);
	}
	my $n;
	for (1 .. 300) { last if defined($n = value('SELECT count(*) FROM widetable.pg_stat_widetable_files')); nap(0.1); }
	fail("the server did not come back after: $how") unless defined $n;
	my $took = sprintf '%.1f', Session::now() - $begun;
	print "# soak: killed: $how; back after $took s\n";
	my ($rc, $out, $err) = psql('SELECT object, problem FROM widetable.verify()');
	fail("verify: $err$out") if $rc || $out ne '';
}

# ----------------------------------------------------------------------- main

my @classes = Users::all();
client($classes[$_ - 1], $_) for 1 .. @classes;
my $end = $start + $minutes * 60;
my ($next_kill, $next_line, $m) = ($start + $every, $start + 60, 0);
while (time() < $end && @bad < 20)
{
	my $t = time();
	sample();
	if (time() >= $next_line)
	{
		$m++;
		$next_line += 60;
		my @last = grep { $_->{second} > time() - $start - 60 } @samples;
		if (@last)
		{
			my ($n, $longest, $what) = (0, 0, '');
			for (@last) { $n += $_->{writes} / @last; ($longest, $what) = @$_{qw(longest what)} if $_->{longest} > $longest; }
			my $s = $last[-1];
			printf "# soak: %d min: %.0f writes/s, longest %.2f s (%s); worker %.1f MB, sessions %.1f MB, %d descriptors; %d files, %.0f MB on disk; WAL %.0f MB (%.0f MB for the slot); cache %.0f MB\n",
			  $m, $n, $longest, $what, $s->{worker_kb} / 1e3, $s->{sessions_kb} / 1e3, @$s{qw(descriptors files disk_mb wal_mb slot_mb cache_mb)};
		}
	}
	if (time() >= $next_kill && $end - time() > 30) { crash(); $next_kill = time() + $every; }
	nap(0.2) while time() < $t + $sample_every;
}

spit("$dir/stop", '');
my $patience = time() + 100;
for my $pid (@kids)
{
	my $r;
	while (($r = waitpid($pid, POSIX::WNOHANG())) == 0 && time() < $patience) { nap(0.1); }
	next if $r != 0;
	fail('a client hangs; sessions:' . Server::sessions());
	kill 'KILL', @kids;
	last;
}
hear();
for my $f (glob "$dir/*.err") { my ($name) = $f =~ m{([^/]+)\.err$}; my @c = complaints($name, qr/PANIC:  .*(the shared memory of widetable is damaged|the store is out of order until it is recovered)/); fail(splice @c, 0, 5); }

# ------------------------------------------------------------------ afterwards

($rc, $out, $err) = psql('SELECT object, problem FROM widetable.verify()');
fail("verify: $err$out") if $rc || $out ne '';
my (undef, $before) = tree_size(Server::store_dir());
defined value('SELECT widetable.flush(); SELECT widetable.compact(); CHECKPOINT; CHECKPOINT;') or fail('the last compaction failed');
my @left = litter(30);
fail(splice @left, 0, 10) if @left;
my ($files, $after) = tree_size(Server::store_dir());
my $slot = value("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), restart_lsn)::bigint FROM pg_replication_slots WHERE slot_name = 'widetable'");
fail("after a flush the slot keeps $slot bytes of WAL") if !defined $slot || $slot > 64e6;
printf "# soak: %.1f MB on disk at the end of the load, %.1f MB in %d files after a compaction\n", $before / 1e6, $after / 1e6, $files;

# mean of a column over some samples
sub mean { my ($k, @s) = @_; my $sum = 0; $sum += $_->{$k} for @s; return @s ? $sum / @s : 0; }

my $warm = $minutes * 60 / 4;
$warm = 2 * $Users::ttl if $warm < 2 * $Users::ttl && $minutes * 60 > 4 * $Users::ttl;
my @rest = grep { $_->{second} >= $warm } @samples;
my @a = @rest[0 .. int(@rest / 2) - 1];
my @b = @rest[int(@rest / 2) .. $#rest];
# the second half may be as large as the first times a factor plus a constant
my %bound = (segment_mb => [1.01, 1], files => [1.3, 10], disk_mb => [1.3, 10], wal_mb => [1.3, 80], slot_mb => [1.5, 48], gone_mb => [1.3, 4], cache_mb => [1.3, 30]);
for my $k (sort keys %bound)
{
	my ($x, $y) = (mean($k, @a), mean($k, @b));
	my $line = sprintf '%s: %.1f in the first half, %.1f in the second', $k, $x, $y;
	if ($y > $x * $bound{$k}[0] + $bound{$k}[1]) { fail($line); } else { print "ok - $line\n"; }
}
my $worst = 0;
for my $pid (sort { $a <=> $b } keys %life)
{
	my ($name, $begun, $early, $last, $descriptors, $seen) = @{ $life{$pid} };
	# a process keeps at most 256 sorted files open
	fail("$name ($pid) had $descriptors files open") if $descriptors > 320;
	next if !defined $early || $seen - $begun < 90;
	my $more = $last - $early;
	$worst = $more if $more > $worst;
	fail(sprintf '%s (%d): %d kB after 45 s, %d kB after %d s', $name, $pid, $early, $last, $seen - $begun) if $last > $early * 1.4 + 8000;
}
print "ok - no process grew by more than $worst kB\n" if $worst < 100000;
my ($longest) = sort { $b->{longest} <=> $a->{longest} } @samples;
if ($longest->{longest} > $limit) { fail(sprintf 'the longest commit took %.1f s (%s)', @$longest{qw(longest what)}); }
else { printf "ok - the longest commit took %.2f s (%s)\n", @$longest{qw(longest what)}; }
my ($stuck) = sort { $b->{running_s} <=> $a->{running_s} } @samples;
if ($stuck->{running_s} > 60) { fail("a flush or compaction ran for $stuck->{running_s} s"); } else { print "ok - no flush or compaction ran for more than $stuck->{running_s} s\n"; }
printf "ok - %d kills, %.0f writes a second in the first half, %.0f in the second\n", $kills, mean('writes', @a), mean('writes', @b);

my $table = join("\t", @columns) . "\n" . join '', map { my $s = $_; join("\t", map { $s->{$_} == int $s->{$_} ? $s->{$_} : sprintf '%.2f', $s->{$_} } @columns) . "\n" } @samples;
if ($ENV{OUT}) { spit($ENV{OUT}, $table); } else { print $table; }
exit(@bad ? 1 : 0);
