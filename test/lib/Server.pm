#
# Server.pm: the private cluster of torture.pl and soak.pl: running psql, clients in the background,
# starting, stopping and killing the server, and checking its directory.
#
# Uses modules of perl-base only.  Needs: BIN PGDATA PGHOST PGUSER (lib.sh).
#
package Server;
use strict;
use warnings;
use Cwd qw(abs_path);
use POSIX ();
use Exporter ();
our @ISA = ('Exporter');
our @EXPORT = qw(nap slurp spit psql value spawn wait_children stop_children output complaints proc alive postmaster children_of
	start stop kill_all wait_ready store_dir litter pick $dir $data);

our ($bin, $data) = @ENV{qw(BIN PGDATA)};
our $dir;						# directory of the clients' scripts and outputs
our $lost = qr/^(?!)/;			# additional messages that clients may get in this round
my @children;

# creates the directory, outside the server, for scripts and acknowledgements
sub begin
{
	my ($name) = @_;
	die "run this by ./test/$name\n" unless defined $bin && defined $data;
	$dir = "$data/../$name.$$";
	$dir = ($ENV{TMPDIR} || '/tmp') . "/widetable-$name.$$" unless mkdir $dir;
	mkdir $dir unless -d $dir;
	$SIG{INT} = $SIG{TERM} = sub { stop_children(); exit 1 };
}

END { my $rc = $?; system('rm', '-rf', $dir) if defined $dir; $? = $rc; }

sub nap { select undef, undef, undef, $_[0]; }

sub slurp { my ($f) = @_; open my $h, '<', $f or return ''; local $/; my $s = <$h>; return defined $s ? $s : ''; }

sub spit { my ($f, $s) = @_; open my $h, '>', $f or die "$f: $!"; print $h $s; close $h or die "$f: $!"; }

# a pseudo-random number below $n, determined by the arguments
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

# -------------------------------------------------------------------- clients

# runs psql on a script; returns (exit status, output, messages)
sub psql
{
	my ($sql, $app) = @_;
	spit("$dir/q.sql", $sql);
	local $ENV{PGAPPNAME} = $app || 'check';
	my $rc = system("timeout -k 5 100 '$bin/psql' -XqAt -v ON_ERROR_STOP=1 -f '$dir/q.sql' >'$dir/q.out' 2>'$dir/q.err'");
	return ($rc, slurp("$dir/q.out"), $rc >> 8 == 124 ? "took more than 100 s: $sql" . sessions() : slurp("$dir/q.err"));
}

# the list of sessions, for messages about timeouts
sub sessions
{
	return "\n" . `PGCONNECT_TIMEOUT=5 timeout 10 '$bin/psql' -XqAtc "SELECT pid, backend_type, application_name, wait_event_type, wait_event, state,
	left(query, 120) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type IN ('client backend', 'widetable worker')" 2>&1`;
}

sub value
{
	my ($sql) = @_;
	my ($rc, $out, $err) = psql($sql);
	return undef if $rc;
	chomp $out;
	return $out;
}

# starts a psql in the background that runs a script; with $stop it ends at the first error
sub spawn
{
	my ($name, $stop, $sql) = @_;
	spit("$dir/$name.sql", $sql);
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
	return $pid;
}

sub output { return slurp("$dir/$_[0].out"); }

# the errors of a client, except for lost connections and those that $lost or $allowed match
sub complaints
{
	my ($name, $allowed) = @_;
	return map { "$name: $_" }
	  grep { !/terminating connection|the database system is|could not connect|server closed|connection to server|postmaster exited during/ && !/$lost/
		  && !(defined $allowed && /$allowed/) }
	  grep { /ERROR|FATAL|PANIC/ } split /\n/, slurp("$dir/$name.err");
}

# Waits up to $limit seconds for the background clients and kills the others.  Returns '' or a
# message about them.
sub wait_children
{
	my ($limit) = @_;
	my $end = time() + $limit;
	my @hung;
	for my $pid (@children)
	{
		my $r;
		while (($r = waitpid($pid, POSIX::WNOHANG())) == 0 && time() < $end) { nap(0.02); }
		push @hung, $pid if $r == 0;
	}
	my $why = @hung ? @hung . ' clients hang; sessions:' . sessions() : '';
	stop_children();
	return $why;
}

sub stop_children { kill 'KILL', $_ for @children; waitpid($_, 0) for @children; @children = (); }

# ------------------------------------------------------------------ processes

# (state, parent) of a process, from /proc, because ps may be missing
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

# kills the postmaster and all its children at once, as a power failure does
sub kill_all
{
	my $pm = postmaster();
	return unless defined $pm;
	my @kids = children_of($pm);
	kill 'KILL', $pm;
	kill 'KILL', @kids;
	for (1 .. 400)
	{
		my @late = at_home();
		return unless @late || grep { alive($_) } $pm, @kids;
		kill 'KILL', @late;
		nap(0.025);
	}
}

# The processes whose working directory is the data directory: these include a child that was forked
# while the list of children was read.
sub at_home
{
	my $home = abs_path($data);
	opendir my $d, '/proc' or die "/proc: $!";
	return grep { (readlink("/proc/$_/cwd") || '') eq $home } grep { /^\d+$/ } readdir $d;
}

# ------------------------------------------------------------- start and stop

sub start
{
	my (@env) = @_;
	for my $try (1 .. 5)
	{
		return 1 if system("env @env '$bin/pg_ctl' -D '$data' -l '$data/server.log' -w -t 120 start >'$dir/ctl.out' 2>&1 </dev/null") == 0;
		nap(0.5);
	}
	print map { "#   $_\n" } split(/\n/, slurp("$dir/ctl.out")), grep { defined } (split /\n/, slurp("$data/server.log"))[-20 .. -1];
	return 0;
}

# returns '' or an error message
sub stop
{
	my ($mode) = @_;
	return '' if system("'$bin/pg_ctl' -D '$data' -m $mode -w -t 60 stop >'$dir/ctl.out' 2>&1 </dev/null") == 0;
	return "$mode stop: " . slurp("$dir/ctl.out");
}

sub wait_ready
{
	my $end = time() + 90;
	while (time() < $end) { return 1 if defined value('SELECT 1'); nap(0.1); }
	return 0;
}

# ---------------------------------------------------------------------- files

sub store_dir { return "$data/widetable"; }

# Returns a list of differences between the store's directory and the files it should contain:
# sorted files that no family lists, temporary files, old manifests, and missing files.  Running
# flushes and compactions have files that are not listed yet or wait for removal, so this polls
# until there is no difference or $limit seconds have passed.  Without a worker, compact() removes
# the files.
sub litter
{
	my ($limit) = @_;
	my $end = time() + $limit;
	my @wrong;
	do
	{
		@wrong = litter_now();
		return if !@wrong;
		nap(0.1);
		value('SELECT widetable.compact(major => false) WHERE (SELECT worker_pid FROM widetable.pg_stat_widetable) IS NULL');
	} while (time() < $end);
	return @wrong;
}

sub litter_now
{
	my $listed = value('SELECT DISTINCT container FROM widetable.pg_stat_widetable_files');
	return ('the files cannot be listed') unless defined $listed;
	# the view shows those of its database
	my $all = value('SELECT containers FROM widetable.pg_stat_widetable');
	my $n = () = $listed =~ /\d+/g;
	my %there;
	opendir my $d, store_dir() or return (store_dir() . ": $!");
	$there{$_} = 1 for grep { !/^\.\.?$/ } readdir $d;
	my ($manifest) = slurp(store_dir() . '/CURRENT') =~ /(manifest-[0-9a-f]+)/;
	my %ok = map { $_ => 1 } 'CURRENT', defined $manifest ? ($manifest, "$manifest.copy") : ();
	for my $f (split /\n/, $listed) { $ok{ sprintf '%08x.sst', $f } = 1; }
	my $where = $n < $all ? value("SELECT string_agg(coalesce(datname, 'dropped ' || datid) || ': ' || tables || ' tables, ' || files || ' files', '; ') FROM widetable.pg_stat_widetable_databases") : '';
	return (($n < $all ? "$all files, $n of them in this database ($where)" : ()), map({ "$_ is left over" } grep { !$ok{$_} } sort keys %there), map({ "$_ is missing" } grep { !$there{$_} } sort keys %ok));
}

1;
