#
# history.pl: concurrent sessions run random transactions on wide and ordinary tables.  The
# invariant: everything they have read and written can be explained by an order of the
# transactions that their isolation levels allow.  Run by ./test/check.
#
# The values are lists.  A transaction changes a list only by appending an element that no
# other statement appends.  So a list that was read shows which writes were visible and in
# which order, and the lists at the end show the order of all versions (Adya's dependency
# graphs, recovered as Elle does).  There are lists in a wide table and in an ordinary one,
# and pairs: a row in both tables to which the same elements are appended.
#
# The nodes of the graph are the committed transactions; in READ COMMITTED also each statement
# that reads, because it has its own snapshot.  Edges from A to B:
#
#   ww  A wrote the version before B's      wr  B read a version that A wrote
#   rw  A read the version before B's       rt  A ended before B began
#
# Violations:
#   G0, G1c      a cycle of ww, wr and rt
#   G-single     a cycle with exactly one rw: an inconsistent snapshot or a lost update
#                (in READ COMMITTED: within one statement)
#   G1a, G1b     a read of a rolled back version, or of one that its writer overwrote later
#   lost         a committed element that is missing at the end
#   internal     a transaction does not see its own writes, or its snapshot changes
#   pairs        the wide and the ordinary row of a pair differ in one statement
# Cycles with two adjacent rw edges (write skew) are allowed.
#
# Meanwhile memtables are flushed, files are compacted, and half of the sessions are held at
# random stop points of the commit and of taking a snapshot.
#
# CRASH=1: at the end all server processes are killed at once, while commits wait for the disk
# longer than usual.  Then every acknowledged transaction must be there, every other one wholly or
# not at all, and everything that was read; except for writes of sessions with
# synchronous_commit = off that no durable commit followed.
#
#   SECONDS_=300 ./test/check history    duration of the load in seconds (default 15)
#   SEED=7                               generates the same scripts again; the interleaving differs
#   CLIENTS=8                            number of sessions
#
# Uses modules of perl-base only.  Needs: BIN PGHOST PGUSER (lib.sh), for CRASH also PGDATA.
#
use strict;
use warnings;
use POSIX ();

$| = 1;
my $seconds = $ENV{SECONDS_} || 15;
my $seed = defined $ENV{SEED} ? $ENV{SEED} : time() ^ $$;
my $clients = $ENV{CLIENTS} || 8;
my $generations = $seconds + 60;	# each second has its own keys, so that lists stay short
my $transactions = 1000 * $seconds;	# upper limit for one client
my $keys = 4;
my $crash = $ENV{CRASH};
my $bin = $ENV{BIN} or die "run this by ./test/check history\n";
my $db = $ENV{PGDATABASE} || 'postgres';
my $dir = ($ENV{TMPDIR} || '/tmp') . "/widetable-history.$$";
mkdir $dir or die "$dir: $!";
my @pids;
$SIG{INT} = $SIG{TERM} = sub { exit 1 };
END { my $rc = $?; kill 'TERM', @pids if @pids; system('rm', '-rf', $dir) if defined $dir && !$ENV{KEEP}; $? = $rc; }
srand($seed);
print "# history: $clients sessions, $seconds s, seed $seed\n";

sub slurp { my ($f) = @_; open my $h, '<', $f or die "$f: $!"; local $/; my $s = <$h>; return defined $s ? $s : ''; }
sub spit { my ($f, $s) = @_; open my $h, '>', $f or die "$f: $!"; print $h $s; close $h or die "$f: $!"; }
sub psql
{
	my ($sql) = @_;
	spit("$dir/q.sql", $sql);
	my $rc = system("'$bin/psql' -XqAt -v ON_ERROR_STOP=1 -d $db -f '$dir/q.sql' >'$dir/q.out' 2>&1");
	my $out = slurp("$dir/q.out");
	die "psql failed: $out" if $rc;
	return $out;
}
sub any { return $_[int rand @_]; }

# ------------------------------------------------------------------ the load

psql(<<SQL);
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS widetable;
DROP TABLE IF EXISTS hist_h, hist_stop;
DROP FOREIGN TABLE IF EXISTS hist_w;
CREATE TABLE hist_stop (x int);
CREATE TABLE hist_h (k text PRIMARY KEY, v text);
CREATE FOREIGN TABLE hist_w (k text COLLATE "C", v text, other text OPTIONS (column 'g:other')) SERVER widetable;
INSERT INTO hist_h SELECT g || kind || n, '' FROM generate_series(0, $generations - 1) g, unnest(ARRAY['l', 'p']) kind, generate_series(1, $keys) n;
INSERT INTO hist_w SELECT k, '' FROM hist_h;
SQL

psql("ALTER SYSTEM SET fsync = on;\nALTER SYSTEM SET commit_delay = 5000;\nALTER SYSTEM SET commit_siblings = 0;\nSELECT pg_reload_conf();\n") if $crash;

my $began = time();
my %iso;			# transaction => isolation level

# Returns a random statement of transaction $t on the keys of the generation in the psql variable g.
# $$n counts the elements that the transaction appends.
sub statement
{
	my ($t, $n) = @_;
	my $e = "$t.$$n";
	my $k = "(:'g' || 'l" . (1 + int rand $keys) . "')";
	my $p = "(:'g' || 'p" . (1 + int rand $keys) . "')";
	my $what = rand;
	my $ws = "SELECT 'w' || k, v FROM hist_w";
	my $hs = "SELECT 'h' || k, v FROM hist_h";
	# reads: lists of one table, of both tables, pairs, pairs by a join
	return "\\echo #S\n$ws WHERE k = $k;" if $what < 0.06;
	return "\\echo #S\n$ws WHERE k >= :'g' || 'l' AND k < :'g' || 'm' UNION ALL $hs WHERE k >= :'g' || 'l' AND k < :'g' || 'm';" if $what < 0.20;
	return "\\echo #S\n$hs WHERE k LIKE :'g' || 'p%' UNION ALL $ws WHERE k LIKE :'g' || 'p%';" if $what < 0.28;
	return "\\echo #S\nSELECT 'w' || k, w.v, 'h' || k, h.v FROM hist_w w JOIN hist_h h USING (k) WHERE k IN ($k, $p);" if $what < 0.36;
	return "\\echo #S\nWITH a AS MATERIALIZED ($hs WHERE k = $k), b AS MATERIALIZED ($ws WHERE k = $p) TABLE a UNION ALL TABLE b;" if $what < 0.42;
	# reads of the newest version under a row lock
	return "\\echo #L\n$ws WHERE k = $k FOR UPDATE;" if $what < 0.47;
	$$n++;
	# appends: by a function, by UPDATE in the scan, by UPDATE with a join, in the ordinary table
	return "\\echo #A $e\nSELECT 'w' || $k, widetable.append('hist_w', $k, 'v', '$e,'::text);" if $what < 0.57;
	return "\\echo #A $e\nUPDATE hist_w SET v = v || '$e,' WHERE k = $k RETURNING 'w' || k, v;" if $what < 0.67;
	return "\\echo #A $e\nUPDATE hist_w w SET v = w.v || '$e,' FROM (VALUES ($k)) x (k) WHERE w.k = x.k RETURNING 'w' || w.k, v;" if $what < 0.71;
	return "\\echo #A $e\nUPDATE hist_h SET v = v || '$e,' WHERE k = $k RETURNING 'h' || k, v;" if $what < 0.84;
	# pairs: the wide row first, so that its row lock orders both writes
	return "\\echo #A $e\nUPDATE hist_w SET v = v || '$e,' WHERE k = $p RETURNING 'w' || k, v;\n\\echo #A $e\nUPDATE hist_h SET v = v || '$e,' WHERE k = $p RETURNING 'h' || k, v;";
}

use constant END_TIME => "SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint AS t \\gset\n\\echo #E :t\n";

sub transaction
{
	my ($t) = @_;
	my $n = 1;
	$iso{$t} = any('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
	my $s = "SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint AS t, EXISTS (SELECT FROM hist_stop) AS stop, extract(epoch FROM clock_timestamp())::int - $began AS g \\gset\n" .
		"\\if :stop\n\\q\n\\endif\n\\echo #B $t :t\n";
	if (rand() < 0.5)
	{
		my $one;
		do { $n = 1; $one = statement($t, \$n); } while ($one =~ /#A.*#A/s);
		$iso{$t} = 'READ COMMITTED';
		return $s . "$one\n\\echo #C\n" . END_TIME;
	}
	$s .= "BEGIN ISOLATION LEVEL $iso{$t};\n";
	for (1 .. 1 + int rand 5)
	{
		if (rand() < 0.1)
		{
			# a name of its own: after a failure ROLLBACK TO would find an older one of the same name
			my $name = "s$_";
			$s .= "SAVEPOINT $name;\n\\echo #P\n" . statement($t, \$n) . "\n";
			$s .= rand() < 0.5 ? "\\echo #U\nROLLBACK TO $name;\nRELEASE $name;\n" : "RELEASE $name;\n";
		}
		else { $s .= statement($t, \$n) . "\n"; }
	}
	$s .= rand() < 0.08 ? "ROLLBACK;\n" : "COMMIT;\n";
	return $s . END_TIME;
}

sub start
{
	my ($name, $script) = @_;
	spit("$dir/$name.sql", $script);
	my $pid = fork;
	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		$SIG{INT} = $SIG{TERM} = 'DEFAULT';
		open STDOUT, '>', "$dir/$name.out";
		open STDERR, '>&', \*STDOUT;
		exec("$bin/psql", '-XAt', '-d', $db, '-f', "$dir/$name.sql") or POSIX::_exit(127);
	}
	push @pids, $pid;
}

# Half of the sessions are held at these stop points (fdw/stop.c) for some milliseconds now and
# then, because the windows for races are short.
my @places = qw(commit-prepared commit-recorded finish-appended finish-applied commit-applied commit-unlocked commit-durable commit-published
	snapshot-begin snapshot-waited snapshot-numbered snapshot-taken row-locked);

for my $c (1 .. $clients)
{
	my $s = "SET deadlock_timeout = '20ms';\n\\set VERBOSITY sqlstate\nSET synchronous_commit = " . ($c % 3 == 0 ? 'off' : 'on') . ";\n";
	$s .= "SET widetable.enable_direct_modify = off;\n" if $c % 4 == 0;
	$s .= "SET widetable.stop_at = '" . join(', ', @places) . "';\n" if $c % 2;
	$s .= "SELECT 1 FROM hist_w LIMIT 0;\n";
	$s .= transaction("$c/$_") for 1 .. $transactions;
	start("client$c", $s);
}
# concurrently: flushes, compactions and checkpoints, locks that hold sessions, and unrelated
# transactions
start('maintenance', join '', map { "SELECT pg_sleep(0.1), EXISTS (SELECT FROM hist_stop) AS stop \\gset\n\\if :stop\n\\q\n\\endif\n" . any('SELECT widetable.flush();',
	"SELECT widetable.compact('hist_w');", "SELECT widetable.compact('hist_w', major => false);", 'CHECKPOINT;', 'VACUUM hist_h;') . "\n" } 1 .. 20 * $seconds);
start("delay$_", join '', map { "SELECT EXISTS (SELECT FROM hist_stop) AS stop \\gset\n\\if :stop\n\\q\n\\endif\nSELECT pg_sleep(0.02);\n" . join '', map {
	"SELECT pg_advisory_lock(2003395685, hashtext('$_'));\nSELECT pg_sleep(0.006);\nSELECT pg_advisory_unlock_all();\n" } any(@places), any(@places, ('snapshot-begin') x 8) } 1 .. 20 * $seconds) for 1 .. 3;
start('noise', join '', map { "SELECT EXISTS (SELECT FROM hist_stop) AS stop \\gset\n\\if :stop\n\\q\n\\endif\nBEGIN;\nSELECT txid_current();\nCOMMIT;\n" } 1 .. 20000);
select(undef, undef, undef, $seconds);
if ($crash)
{
	my ($pm) = slurp("$ENV{PGDATA}/postmaster.pid") =~ /^(\d+)/;
	my @all = ($pm);
	for my $f (glob '/proc/[0-9]*/stat')
	{
		open my $h, '<', $f or next;
		push @all, $1 if (<$h> || '') =~ /^(\d+) \(.*\) \S (\d+)/ && $2 == $pm;
	}
	kill 'KILL', @all;
	waitpid $_, 0 for @pids;
	@pids = ();
	select(undef, undef, undef, 0.1) while grep { kill 0, $_ } @all;
	system("'$bin/pg_ctl' -D '$ENV{PGDATA}' -l '$ENV{PGDATA}/server.log' -w -t 120 start >/dev/null 2>&1 </dev/null") == 0 or die "the server did not start\n";
	psql("ALTER SYSTEM RESET ALL;\nSELECT pg_reload_conf();\n");
}
else { psql("INSERT INTO hist_stop VALUES (1);"); }
waitpid $_, 0 for @pids;
@pids = ();

# ------------------------------------------------------- reading the outputs

my $bad = 0;
sub wrong
{
	my ($kind, $text) = @_;
	print "not ok - $kind: $text\n" if $bad < 20;
	$bad++;
}

my %tx;			# id => {iso, begin, end, committed, reads => [[statement, key, [elements], kind]], writes => {key => [elements]}, dead => {element => 1}}
my %count = (committed => 0, 'rolled back' => 0, reads => 0, appends => 0);
my (%errors, %by);		# by: element => transaction

for my $c (1 .. $clients)
{
	my ($t, $kind, $element, $statement, $failed, @undo) = (undef, '', '', 0, 0);
	for my $line (split /\n/, slurp("$dir/client$c.out"))
	{
		if ($line =~ /^#B (\S+) (\d+)$/)
		{
			$t = $tx{$1} = {id => $1, iso => $iso{$1}, begin => $2, reads => [], writes => {}, dead => {}, committed => 0};
			($kind, $failed, @undo) = ('', 0);
		}
		elsif (!$t) { next; }
		elsif ($line =~ /^#E (\d+)$/) { $t->{end} = $1; undef $t; }
		elsif ($line eq '#S' || $line eq '#L') { $kind = substr $line, 1; $statement++; }
		elsif ($line =~ /^#A (\S+)$/) { ($kind, $element) = ('A', $1); $statement++; $by{$element} = $t; }
		elsif ($line eq '#P') { @undo = (); }
		elsif ($line eq '#U')
		{
			for my $u (@undo) { pop @{$t->{writes}{$u->[0]}}; $t->{dead}{$u->[1]} = 1; }
			@undo = ();
			$kind = '';
		}
		elsif ($line eq 'COMMIT' || ($line eq '#C' && !$failed)) { $t->{committed} = 1; }
		elsif ($line eq 'ROLLBACK' && $kind ne '') { $kind = ''; }
		elsif ($line =~ /ERROR: *(\w+)/) { $errors{$1}++; $failed = 1; }
		elsif ($line =~ /^[wh]\d/)
		{
			my @f = split /\|/, $line, -1;
			while (my ($key, $list) = splice @f, 0, 2)
			{
				my @l = split /,/, $list;
				push @{$t->{reads}}, [$statement, $key, \@l, $kind];
				$count{reads}++;
				next unless $kind eq 'A';
				$count{appends}++;
				wrong('internal', "$t->{id} appended $element to $key, and the statement returned $list") unless @l && $l[-1] eq $element;
				push @{$t->{writes}{$key}}, $element;
				push @undo, [$key, $element];
			}
		}
	}
}
for my $t (values %tx)
{
	# only a crash can end a session in a transaction
	wrong('harness', "the session of $t->{id} ended in the transaction") unless defined $t->{end} || $crash;
	$count{$t->{committed} ? 'committed' : 'rolled back'}++ if defined $t->{end};
}

# ----------------------------------------------------------- lists and reads

my %final;			# key => [elements]
for (split /\n/, psql("SELECT 'w' || k, v FROM hist_w UNION ALL SELECT 'h' || k, v FROM hist_h;"))
{
	my ($key, $list) = split /\|/, $_, -1;
	$final{$key} = [split /,/, $list];
}

# True for transactions of sessions with synchronous_commit = off, whose commits a crash may lose.
sub weak { my ($t) = @_; return $crash && (split m{/}, $t->{id})[0] % 3 == 0; }
my $lost = 0;
if ($crash)
{
	my %there = map { $_ => 1 } map { @$_ } values %final;
	my %wrote;		# id => elements not rolled back to a savepoint
	for my $e (keys %by) { push @{$wrote{$by{$e}{id}}}, $e unless $by{$e}{dead}{$e}; }
	for my $t (values %tx)
	{
		next if defined $t->{end} && !($t->{committed} && weak($t));
		my @is = grep { $there{$_} } @{$wrote{$t->{id}} || []};
		my @known = map { @$_ } values %{$t->{writes}};
		wrong('torn', "of $t->{id} @is survived, but not " . join(' ', grep { !$there{$_} } @known)) if @is && grep { !$there{$_} } @known;
		$count{'in doubt'}++ unless defined $t->{end};
		$lost++ if @known && !@is && $t->{committed};
		$t->{committed} = @is || (defined $t->{end} && !@known) ? 1 : 0;
	}
}
my %at;				# key => {element => its position, from 1}
for my $key (keys %final)
{
	my $i = 0;
	for my $e (@{$final{$key}})
	{
		wrong('twice', "$e occurs twice in $key") if $at{$key}{$e};
		$at{$key}{$e} = ++$i;
		wrong('G1a', "$key contains $e, which was rolled back") if !$by{$e} || !$by{$e}{committed} || $by{$e}{dead}{$e};
	}
}
for my $t (values %tx)
{
	next unless $t->{committed};
	for my $key (keys %{$t->{writes}})
	{
		for my $e (@{$t->{writes}{$key}}) { wrong('lost', "$e of $t->{id} is not in $key") unless $at{$key}{$e}; }
	}
}

# Compares a read with the final order.  Returns the number of elements before the transaction's own
# ones (undef if they differ from the final list), and the number of its own elements at the end.
sub place
{
	my ($t, $r) = @_;
	my ($key, @l) = ($r->[1], @{$r->[2]});
	my $own = 0;
	while (@l && $by{$l[-1]} && $by{$l[-1]} == $t) { pop @l; $own++; }
	# lost in the crash, as allowed for synchronous_commit = off
	while ($crash && @l && $by{$l[-1]} && weak($by{$l[-1]}) && !$at{$key}{$l[-1]}) { pop @l; }
	for my $i (0 .. $#l)
	{
		my $f = $final{$key}[$i];
		if (!defined $f || $f ne $l[$i])
		{
			my $w = $by{$l[$i]};
			wrong(!$w || !$w->{committed} || $w->{dead}{$l[$i]} ? 'G1a' : 'order', "$t->{id} read $key as " . join(',', @l) . ', the final list begins with ' .
				join(',', @{$final{$key}}[0 .. ($#l < $#{$final{$key}} ? $#l : $#{$final{$key}})]));
			return (undef, $own);
		}
	}
	return (scalar @l, $own);
}

# ------------------------------------------------------------------ the graph

my (@name, %node, @dep, @rw);	# dep: all edges except rw
sub node { my ($n) = @_; return $node{$n} if defined $node{$n}; push @name, $n; return $node{$n} = $#name; }
sub edge { my ($from, $to, $why) = @_; $dep[$from]{$to} = $why if $from != $to && !defined $dep[$from]{$to}; }

for my $t (values %tx)
{
	my $rc = $t->{iso} eq 'READ COMMITTED';
	my (%seen, %mine, %pair);
	for my $r (@{$t->{reads}})
	{
		my ($statement, $key, $list, $kind) = @$r;
		# an append in doubt: the list before it need not be durable
		next if $kind eq 'A' && !$t->{committed} && !defined $t->{end};
		my ($p, $own) = place($t, $r);
		next unless defined $p;
		# the last element of another transaction must be the last one it wrote there
		if ($p > 0)
		{
			my $w = $by{$final{$key}[$p - 1]};
			wrong('G1b', "$t->{id} read $key up to $final{$key}[$p - 1] of $w->{id}, which wrote a later element") if $w != $t && $w->{writes}{$key}[-1] ne $final{$key}[$p - 1];
		}
		$mine{$key}++ if $kind eq 'A';
		wrong('internal', "$t->{id} read $key with $own of its own elements") if ($mine{$key} || 0) > 0 && $own == 0 && !%{$t->{dead}};
		if (!$rc)
		{
			wrong('internal', "$t->{id} read $key up to position $seen{$key} and up to $p in one snapshot") if defined $seen{$key} && $seen{$key} != $p;
			$seen{$key} = $p;
		}
		else
		{
			wrong('internal', "$t->{id} read $key up to position $seen{$key} and later only up to $p") if defined $seen{$key} && $seen{$key} > $p;
			$seen{$key} = $p;
		}
		if ($kind eq 'S' && $key =~ /^([wh])(\d+p\d)$/)
		{
			my $text = join ',', @$list;
			my $other = $pair{"$statement $2"};
			wrong('pairs', "$t->{id} read $2 as $text and as $other in one statement") if defined $other && $other ne $text && !%{$t->{dead}};
			$pair{"$statement $2"} = $text;
		}
		# the node of the snapshot: the statement or the transaction
		next if $rc && $kind ne 'S';
		next if !$rc && !$t->{committed} && $kind ne 'S';
		my $n = node($rc || !$t->{committed} ? "$t->{id} statement $statement" : $t->{id});
		edge(node($by{$final{$key}[$p - 1]}{id}), $n, "wr $key $final{$key}[$p - 1]") if $p > 0;
		my $next = $final{$key}[$p];
		push @rw, [$n, node($by{$next}{id}), "rw $key before $next"] if $own == 0 && defined $next && $by{$next} != $t;
	}
}
for my $key (keys %final)
{
	for my $i (1 .. $#{$final{$key}})
	{
		my ($e, $f) = @{$final{$key}}[$i - 1, $i];
		edge(node($by{$e}{id}), node($by{$f}{id}), "ww $key $e") if $by{$e} && $by{$f};
	}
}

# Real time: a chain of nodes, one for each end of a transaction, replaces the edges from every
# transaction to every later one.
my @ended = sort { $a->[0] <=> $b->[0] } map { my $t = $_; my ($id) = split / /, $t; [$tx{$id}{end} || 9e18, $node{$t}] } keys %node;
my @nodes = map { my $t = $_; my ($id) = split / /, $t; [$tx{$id}{begin}, $node{$t}] } keys %node;
my @moment = map { node("moment $_") } 0 .. $#ended;
for my $i (0 .. $#ended)
{
	edge($ended[$i][1], $moment[$i], 'rt');
	edge($moment[$i - 1], $moment[$i], 'rt') if $i > 0;
}
{
	my $i = -1;
	for my $b (sort { $a->[0] <=> $b->[0] } @nodes)
	{
		$i++ while $i < $#ended && $ended[$i + 1][0] < $b->[0];
		edge($moment[$i], $b->[1], 'rt') if $i >= 0;
	}
}

# topological sort; the nodes that cannot be sorted contain a cycle
my (@in, @rank, @todo);
$in[$_] = 0 for 0 .. $#name;
for my $from (0 .. $#name) { $in[$_]++ for keys %{$dep[$from]}; }
@todo = grep { $in[$_] == 0 } 0 .. $#name;
my $ranked = 0;
while (@todo)
{
	my $n = shift @todo;
	$rank[$n] = $ranked++;
	for (keys %{$dep[$n]}) { push @todo, $_ if --$in[$_] == 0; }
}

# Returns the shortest path between two nodes over edges other than rw, or undef.
sub way
{
	my ($from, $to) = @_;
	my %back = ($from => undef);
	my @q = ($from);
	while (@q)
	{
		my $n = shift @q;
		for (keys %{$dep[$n]})
		{
			next if exists $back{$_} || (defined $rank[$to] && defined $rank[$_] && $rank[$_] > $rank[$to]);
			$back{$_} = $n;
			push @q, $_;
			next unless $_ == $to;
			my @w;
			for (my $m = $to; defined $back{$m}; $m = $back{$m}) { unshift @w, "$name[$back{$m}] -($dep[$back{$m}]{$m})-> $name[$m]"; }
			return join '; ', grep { !/moment.*moment/ } @w;
		}
	}
	return undef;
}

if ($ranked < @name)
{
	my ($n) = grep { !defined $rank[$_] } 0 .. $#name;
	# following the remaining edges leads into a cycle
	my %been;
	while (!$been{$n}++) { ($n) = grep { !defined $rank[$_] } keys %{$dep[$n]} or last; last unless defined $n; }
	my $shown = 0;
	for my $next (defined $n ? grep { !defined $rank[$_] } keys %{$dep[$n]} : ())
	{
		my $w = way($next, $n);
		next unless defined $w;
		wrong($w =~ /-\(wr/ || $dep[$n]{$next} =~ /^wr/ ? 'G1c' : 'G0', "$name[$n] -($dep[$n]{$next})-> $name[$next]; $w");
		$shown++;
		last;
	}
	wrong('G1c', 'a cycle without rw edges') unless $shown;
}
else
{
	for my $e (@rw)
	{
		my ($from, $to, $why) = @$e;
		next if $rank[$to] > $rank[$from];
		my $w = way($to, $from);
		wrong('G-single', "$name[$from] -($why)-> $name[$to]; $w") if defined $w;
	}
}

# --------------------------------------------------------------------- result

printf "# %d committed, %d rolled back (%s), %d lists read, %d appends, %d nodes, %d rw edges\n", $count{committed}, $count{'rolled back'},
	join(', ', map { "$_: $errors{$_}" } sort keys %errors) || 'no errors', $count{reads}, $count{appends}, scalar @name, scalar @rw;
print "# killed: $lost asynchronous commits are lost, ", $count{'in doubt'} || 0, " transactions were in doubt\n" if $crash;
my %expected = ('40001' => 1, '40P01' => 1, '25P02' => 1, '3B001' => 1);
my @other = grep { !$expected{$_} } keys %errors;
print "not ok - unexpected errors: @other\n" if @other;
my $few = $count{committed} < 20 * $seconds;
print "not ok - only $count{committed} transactions committed\n" if $few;
print "not ok - $bad violations\n" if $bad;
print "ok - the history has no G0, G1 or G-single anomaly and no lost element, and pairs agree\n" unless $bad || @other || $few;
if (!$bad) { psql('DROP TABLE hist_h, hist_stop; DROP FOREIGN TABLE hist_w;'); }
exit($bad || @other || $few ? 1 : 0);
