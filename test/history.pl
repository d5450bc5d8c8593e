#
# history.pl: random transactions on wide and ordinary tables from several sessions
# at a time; what they have read and written must be explained by an order of the
# transactions that their isolation level allows.  Run by ./test/check.
#
# The values are lists, and all that a transaction does to one is to append an
# element that nobody else appends.  So a list that somebody has read tells whose
# writes he has seen, and in which order, and the lists at the end tell the order of
# all versions (Adya's graphs, as Elle recovers them).  There are lists in a wide
# table, in an ordinary one, and pairs: a row in both that gets the same elements.
#
# Nodes are the committed transactions; in READ COMMITTED also each statement that
# reads, because it has a snapshot of its own.  Edges:
#
#   ww  wrote the version before        wr  wrote what was read
#   rw  read the version before         rt  had ended before the other began
#
# Looked for:
#   G0, G1c      a cycle of ww, wr and rt
#   G-single     a cycle with exactly one rw: a snapshot that is none, lost updates
#                (in READ COMMITTED: of the statement)
#   G1a, G1b     something read that was rolled back, or that was not the last
#   lost         an element that was committed and is not there
#   internal     own writes not seen, or a snapshot that changes
#   pairs        wide and ordinary row differ in one statement
# Cycles with two rw edges next to each other (write skew) are allowed.
#
#   SECONDS_=300 ./test/check history    longer (default 15)
#   SEED=7                               the same scripts again (not the same course)
#
# Meanwhile memtables are flushed, files compacted, and sessions held at places of
# the commit and of the snapshot.
#
# CRASH=1: at the end the server is killed, all processes at once, while commits wait
# for the disk for longer than usual.  Then what was acknowledged is there, what was
# not is there wholly or not at all, and whatever somebody has read is, but for the
# writes of sessions with synchronous_commit = off that nothing durable came after.
#
# Only perl-base's modules are used.  Needs: BIN PGHOST PGUSER (lib.sh), for CRASH PGDATA.
#
use strict;
use warnings;
use POSIX ();

$| = 1;
my $seconds = $ENV{SECONDS_} || 15;
my $seed = defined $ENV{SEED} ? $ENV{SEED} : time() ^ $$;
my $clients = $ENV{CLIENTS} || 8;
my $generations = $seconds + 60;	# of keys, one for each second: lists stay short
my $transactions = 1000 * $seconds;	# of a client, at most
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

# One statement of transaction $t, on the keys of the generation that psql's g is; $n counts its elements.
sub statement
{
	my ($t, $n) = @_;
	my $e = "$t.$$n";
	my $k = "(:'g' || 'l" . (1 + int rand $keys) . "')";
	my $p = "(:'g' || 'p" . (1 + int rand $keys) . "')";
	my $what = rand;
	my $ws = "SELECT 'w' || k, v FROM hist_w";
	my $hs = "SELECT 'h' || k, v FROM hist_h";
	# reads: several lists of one kind, of both, pairs, the same joined
	return "\\echo #S\n$ws WHERE k = $k;" if $what < 0.06;
	return "\\echo #S\n$ws WHERE k >= :'g' || 'l' AND k < :'g' || 'm' UNION ALL $hs WHERE k >= :'g' || 'l' AND k < :'g' || 'm';" if $what < 0.20;
	return "\\echo #S\n$hs WHERE k LIKE :'g' || 'p%' UNION ALL $ws WHERE k LIKE :'g' || 'p%';" if $what < 0.28;
	return "\\echo #S\nSELECT 'w' || k, w.v, 'h' || k, h.v FROM hist_w w JOIN hist_h h USING (k) WHERE k IN ($k, $p);" if $what < 0.36;
	return "\\echo #S\nWITH a AS MATERIALIZED ($hs WHERE k = $k), b AS MATERIALIZED ($ws WHERE k = $p) TABLE a UNION ALL TABLE b;" if $what < 0.42;
	# reads of the newest version, under lock
	return "\\echo #L\n$ws WHERE k = $k FOR UPDATE;" if $what < 0.47;
	$$n++;
	# appends: by functions, by UPDATE in the scan, through a join, in ordinary tables
	return "\\echo #A $e\nSELECT 'w' || $k, widetable.append('hist_w', $k, 'v', '$e,'::text);" if $what < 0.57;
	return "\\echo #A $e\nUPDATE hist_w SET v = v || '$e,' WHERE k = $k RETURNING 'w' || k, v;" if $what < 0.67;
	return "\\echo #A $e\nUPDATE hist_w w SET v = w.v || '$e,' FROM (VALUES ($k)) x (k) WHERE w.k = x.k RETURNING 'w' || w.k, v;" if $what < 0.71;
	return "\\echo #A $e\nUPDATE hist_h SET v = v || '$e,' WHERE k = $k RETURNING 'h' || k, v;" if $what < 0.84;
	# pairs: the wide row first, so that its lock orders both
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
			$s .= "SAVEPOINT s;\n\\echo #P\n" . statement($t, \$n) . "\n";
			$s .= rand() < 0.5 ? "\\echo #U\nROLLBACK TO s;\nRELEASE s;\n" : "RELEASE s;\n";
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

# where half of the sessions are held for a moment now and then (fdw/stop.c): the windows in which things go wrong are short
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
# files and versions come and go meanwhile, and transactions that have nothing to do with it
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
	system("'$bin/pg_ctl' -D '$ENV{PGDATA}' -l '$ENV{PGDATA}/server.log' -w -t 120 start >/dev/null 2>&1 </dev/null") == 0 or die "the server does not start\n";
	psql("ALTER SYSTEM RESET ALL;\nSELECT pg_reload_conf();\n");
}
else { psql("INSERT INTO hist_stop VALUES (1);"); }
waitpid $_, 0 for @pids;
@pids = ();

# ---------------------------------------------------------------- the record

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
				wrong('internal', "$t->{id} appended $element to $key and got $list") unless @l && $l[-1] eq $element;
				push @{$t->{writes}{$key}}, $element;
				push @undo, [$key, $element];
			}
		}
	}
}
for my $t (values %tx)
{
	# the session did not come to its end: that must not happen here
	wrong('harness', "$t->{id} has no end") unless defined $t->{end} || $crash;
	$count{$t->{committed} ? 'committed' : 'rolled back'}++ if defined $t->{end};
}

# ----------------------------------------------------------- lists and reads

my %final;			# key => [elements]
for (split /\n/, psql("SELECT 'w' || k, v FROM hist_w UNION ALL SELECT 'h' || k, v FROM hist_h;"))
{
	my ($key, $list) = split /\|/, $_, -1;
	$final{$key} = [split /,/, $list];
}

# Sessions that do not wait for the disk; what the crash has taken of them, and what of the others was not acknowledged.
sub weak { my ($t) = @_; return $crash && (split m{/}, $t->{id})[0] % 3 == 0; }
my $lost = 0;
if ($crash)
{
	my %there = map { $_ => 1 } map { @$_ } values %final;
	my %wrote;		# id => the elements that it has not undone
	for my $e (keys %by) { push @{$wrote{$by{$e}{id}}}, $e unless $by{$e}{dead}{$e}; }
	for my $t (values %tx)
	{
		next if defined $t->{end} && !($t->{committed} && weak($t));
		my @is = grep { $there{$_} } @{$wrote{$t->{id}} || []};
		my @known = map { @$_ } values %{$t->{writes}};
		wrong('torn', "of $t->{id} there is @is, but not " . join(' ', grep { !$there{$_} } @known)) if @is && grep { !$there{$_} } @known;
		$count{'in doubt'}++ unless defined $t->{end};
		$lost++ if @known && !@is && $t->{committed};
		$t->{committed} = @is || (defined $t->{end} && !@known) ? 1 : 0;
	}
}
my %at;				# key => {element => its place, from 1}
for my $key (keys %final)
{
	my $i = 0;
	for my $e (@{$final{$key}})
	{
		wrong('twice', "$e in $key") if $at{$key}{$e};
		$at{$key}{$e} = ++$i;
		wrong('G1a', "$key keeps $e, which was rolled back") if !$by{$e} || !$by{$e}{committed} || $by{$e}{dead}{$e};
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

# How far does the read go in the final order, without what the transaction has written itself?
# (place, own elements at its end)
sub place
{
	my ($t, $r) = @_;
	my ($key, @l) = ($r->[1], @{$r->[2]});
	my $own = 0;
	while (@l && $by{$l[-1]} && $by{$l[-1]} == $t) { pop @l; $own++; }
	# nothing durable came after these
	while ($crash && @l && $by{$l[-1]} && weak($by{$l[-1]}) && !$at{$key}{$l[-1]}) { pop @l; }
	for my $i (0 .. $#l)
	{
		my $f = $final{$key}[$i];
		if (!defined $f || $f ne $l[$i])
		{
			my $w = $by{$l[$i]};
			wrong(!$w || !$w->{committed} || $w->{dead}{$l[$i]} ? 'G1a' : 'order', "$t->{id} has read $key as " . join(',', @l) . ', at the end it begins with ' .
				join(',', @{$final{$key}}[0 .. ($#l < $#{$final{$key}} ? $#l : $#{$final{$key}})]));
			return (undef, $own);
		}
	}
	return (scalar @l, $own);
}

# ------------------------------------------------------------------ the graph

my (@name, %node, @dep, @rw);	# dep: edges but rw
sub node { my ($n) = @_; return $node{$n} if defined $node{$n}; push @name, $n; return $node{$n} = $#name; }
sub edge { my ($from, $to, $why) = @_; $dep[$from]{$to} = $why if $from != $to && !defined $dep[$from]{$to}; }

for my $t (values %tx)
{
	my $rc = $t->{iso} eq 'READ COMMITTED';
	my (%seen, %mine, %pair);
	for my $r (@{$t->{reads}})
	{
		my ($statement, $key, $list, $kind) = @$r;
		# it has appended to what need not be durable before itself
		next if $kind eq 'A' && !$t->{committed} && !defined $t->{end};
		my ($p, $own) = place($t, $r);
		next unless defined $p;
		# the last element of the others is the last that they have written there
		if ($p > 0)
		{
			my $w = $by{$final{$key}[$p - 1]};
			wrong('G1b', "$t->{id} has read $key up to $final{$key}[$p - 1], of $w->{id}, which wrote more") if $w != $t && $w->{writes}{$key}[-1] ne $final{$key}[$p - 1];
		}
		$mine{$key}++ if $kind eq 'A';
		wrong('internal', "$t->{id} has read $key with $own of its own elements") if ($mine{$key} || 0) > 0 && $own == 0 && !%{$t->{dead}};
		if (!$rc)
		{
			wrong('internal', "$t->{id} has read $key up to $seen{$key} and up to $p") if defined $seen{$key} && $seen{$key} != $p;
			$seen{$key} = $p;
		}
		else
		{
			wrong('internal', "$t->{id} has read $key up to $seen{$key}, and then up to $p only") if defined $seen{$key} && $seen{$key} > $p;
			$seen{$key} = $p;
		}
		if ($kind eq 'S' && $key =~ /^([wh])(\d+p\d)$/)
		{
			my $text = join ',', @$list;
			my $other = $pair{"$statement $2"};
			wrong('pairs', "$t->{id} has read $2 as $text and as $other") if defined $other && $other ne $text && !%{$t->{dead}};
			$pair{"$statement $2"} = $text;
		}
		# snapshots: of the statement, or of the transaction
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

# time: a chain of moments at which something had ended
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

# order them; what cannot be ordered is a cycle
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

# The shortest way from one to the other over edges that are no rw.
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
	# go on along what is left: that comes to a cycle
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
print "# killed: $lost commits that were not waited for are lost, ", $count{'in doubt'} || 0, " were in doubt\n" if $crash;
my %expected = ('40001' => 1, '40P01' => 1, '25P02' => 1, '3B001' => 1);
my @other = grep { !$expected{$_} } keys %errors;
print "not ok - unexpected errors: @other\n" if @other;
my $few = $count{committed} < 20 * $seconds;
print "not ok - only $count{committed} transactions\n" if $few;
print "not ok - $bad violations\n" if $bad;
print "ok - the histories can be explained: no G0, G1, G-single, no lost element, pairs agree\n" unless $bad || @other || $few;
if (!$bad) { psql('DROP TABLE hist_h, hist_stop; DROP FOREIGN TABLE hist_w;'); }
exit($bad || @other || $few ? 1 : 0);
