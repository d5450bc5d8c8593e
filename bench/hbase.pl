#!/usr/bin/perl
# hbase.pl: the parts that ./bench/hbase measures.  The settings come from there, in the environment.
use strict;
use warnings;
use Bench qw(:all);
use IPC::Open2;

my ($rows, $rounds, $seconds) = @ENV{qw(BENCH_ROWS BENCH_ROUNDS BENCH_SECONDS)};
my @clients = split ' ', $ENV{BENCH_CLIENTS};
my $cpus = `nproc` + 0;
my $bad = 0;
$| = 1;
open(my $tsv, '>>', $ENV{BENCH_TSV}) or die;
$tsv->autoflush(1);
print $tsv "table\tpart\tclients\tround\tsql\tjava\tunit\n";

# ------------------------------------------------------------------ the two sides

my ($from_java, $to_java);
my $java_pid = open2($from_java, $to_java, 'sh', '-c', 'exec bash "$1" run "$2" 2>"$3"', 'sh', $ENV{BENCH_CLUSTER},
	"$ENV{BENCH_TOP}/bench/hbase.d/Client.java", "$ENV{BENCH_WORK}/log/java");
$to_java->autoflush(1);

# Returns the rate, and what was counted.
sub java
{
	my ($work, $table, $clients, $secs) = @_;
	print $to_java "$work $table $rows $clients $secs\n";
	my $answer = readline $from_java;
	defined $answer or die "the Java client has ended\n";
	die "$work: $answer" if $answer =~ /^failed/;
	return split ' ', $answer;
}

# Runs a statement with n clients again and again.  Returns how often a second.
sub pgbench
{
	my ($sql, $clients, $secs) = @_;
	my $file = "$ENV{BENCH_WORK}/script.sql";
	open(my $f, '>', $file) or die;
	print $f $sql;
	close $f;
	my $j = $clients < $cpus ? $clients : $cpus;
	my $out = `$ENV{BIN}/pgbench -n -M prepared -c $clients -j $j -T $secs -f $file 2>&1`;
	die $out unless $out =~ /^tps = ([\d.]+)/m && $out !~ /ERROR|aborted/;
	return $1;
}

my $session = session();
# Returns the rate of a statement about so many rows, and its answer.
sub timed
{
	my ($n, $sql) = @_;
	my ($line) = ask($session, $sql);
	return ($n / ($session->{ms} / 1000), $line);
}

sub set_up
{
	my ($table, $versions) = @_;
	my $columns = 'k text COLLATE "C", ' .
		join(', ', map { "$_ bigint OPTIONS (encoding 'counter')" } 'a', 'n') . ", b text, x bigint OPTIONS (column 'e:x', encoding 'counter')";
	my $split = join ', ', map { sprintf '"k%08d"', $rows / 4 * $_ } 1 .. 3;
	ask($session, qq(CREATE FOREIGN TABLE $table ($columns) SERVER hb OPTIONS (key 'k', versions '$versions', families '{"d": {}, "e": {}}', split_at '[$split]');));
	ask($session, "INSERT INTO $table (k, a, b, n, x) SELECT 'k' || lpad(i::text, 8, '0'), i, 'text of row ' || i, i % 1000, i * 7 FROM generate_series(0, $rows - 1) i;");
	ask($session, "SELECT widetable.flush('$table');");
	ask($session, "SELECT widetable.compact('$table');");
	ask($session, "SELECT widetable.table_size('$table');");
	ask($session, "ANALYZE $table;");
}

# ------------------------------------------------------------------------ parts

my $key = "\\set i random(0, $rows - 1)\n";
my $k = "'k' || lpad(:i::text, 8, '0')";
# the work of a client, each time about so many rows
sub often { my ($sql, $per) = @_; return sub { return ($per || 1) * pgbench($sql, $_[1], $seconds) } }

# name, for how many clients (0: once each round), unit, SQL, the work of Client.java, goal
my @part = (
	['get', 1, 'rows/s', sub { my $t = shift; often("${key}SELECT * FROM $t WHERE k = $k;\n") }, 'get', {1 => 1.5, 8 => 1}],
	['increment', 1, 'rows/s', sub { my $t = shift; often("${key}SELECT widetable.increment('$t', $k, 'n');\n") }, 'increment', {1 => 1.5, 8 => 1}],
	['increment-hot', 1, 'rows/s', sub { my $t = shift; often("SELECT widetable.increment('$t', 'k00000007', 'n');\n") }, 'hot', {}],
	['limit-10', 1, 'scans/s', sub { my $t = shift; often("${key}SELECT * FROM $t WHERE k >= $k ORDER BY k LIMIT 10;\n") }, 'limit', {}],
	['put-1000', 1, 'rows/s', sub { my $t = shift;
		often("\\set i random(0, 9999) * 1000\nINSERT INTO $t (k, a, b, n, x) SELECT 'k' || lpad(i::text, 8, '0'), i, 'text of row ' || i, i % 1000, i * 7 FROM generate_series(:i, :i + 999) i;\n", 1000) }, 'put', {1 => 1, 8 => 1}, 'other'],
	['put-all', 0, 'rows/s', sub { my $t = shift; sub { timed($rows, "INSERT INTO $t (k, a, b, n, x) SELECT 'k' || lpad(i::text, 8, '0'), i, 'text of row ' || i, i % 1000, i * 7 FROM generate_series(0, $rows - 1) i;") } }, 'mutator', {0 => 1}, 'other'],
	['lookups-1000', 1, 'rows/s', sub { my $t = shift;
		often("SELECT sum(a) FROM (SELECT 'k' || lpad((random() * ($rows - 1))::int::text, 8, '0') k FROM generate_series(1, 1000) OFFSET 0) o JOIN $t USING (k);\n", 1000) }, 'lookups', {}],
	['scan-count', 0, 'rows/s', sub { my $t = shift; sub { timed($rows, "SELECT count(*) FROM $t;") } }, 'count', {0 => 1}],
	['scan-sum', 0, 'rows/s', sub { my $t = shift; sub { timed($rows, "SELECT sum(a) + sum(x) FROM $t;") } }, 'sum', {0 => 1}],
	['scan-sum-1', 0, 'rows/s', sub { my $t = shift; sub { timed($rows, "SELECT sum(a) FROM $t;") } }, 'sum1', {0 => 1}],
	['scan-whole', 0, 'rows/s', sub { my $t = shift; sub { timed($rows, "SELECT sum(a) + sum(n) + sum(x) + 0 * sum(length(b)) FROM $t;") } }, 'whole', {0 => 1}],
);

sub measure
{
	my ($versions, $part, $clients) = @_;
	my ($name, undef, $unit, $sql, $work, $goal, $other) = @$part;
	my $table = ($other ? 'puts_' : 'bench_') . $versions;
	my $run = $sql->($table);
	my (@ratio, @sql, @java);
	# both sides are warm, and the server for both kinds of requests
	java($work, $table, $clients || 1, 1);
	$run->($table, $clients);
	for my $round (1 .. $rounds)
	{
		my ($s, $said) = $run->($table, $clients);
		my ($j, $result) = java($work, $table, $clients || 1, $seconds);
		if (defined $said && $said =~ /^\d+$/ && $said ne $result) { print "$name: SQL says $said, Java $result\n"; $bad = 1 }
		print $tsv join("\t", $versions, $name, $clients, $round, (map { sprintf '%.0f', $_ } $s, $j), $unit), "\n";
		push @ratio, $s / $j;
		push @sql, $s;
		push @java, $j;
	}
	my $g = $goal->{$clients};
	printf "%-6s %-14s %2s %10.0f %10.0f %-8s %6.2f %s\n", $versions, $name, $clients || '', median(@sql), median(@java), $unit, median(@ratio),
		defined $g ? median(@ratio) >= $g ? ">= $g" : "goal $g" : '';
}

my @wanted = @ARGV;
sub wanted { my $n = shift; return !@wanted || grep { $n eq $_ || index($n, "$_-") == 0 } @wanted }
printf "%-6s %-14s %2s %10s %10s %-8s %6s\n", 'table', 'part', 'n', 'SQL', 'Java', '', 'ratio';
for my $versions (split ' ', $ENV{BENCH_TABLES})
{
	set_up("bench_$versions", $versions);
	set_up("puts_$versions", $versions) if grep { $_->[6] && wanted($_->[0]) } @part;
	for my $p (grep { wanted($_->[0]) } @part)
	{
		measure($versions, $p, $_) for $p->[1] ? @clients : 0;
	}
	joins("bench_$versions") if wanted('join');
	moves("bench_$versions") if wanted('move');
}

# 10,000 lookups of a join, many keys a call against one by one
sub joins
{
	my $t = shift;
	my (@ratio, @fast);
	ask($session, "DROP TABLE IF EXISTS o; CREATE TABLE o AS SELECT 'k' || lpad(((i * 7919) % $rows)::text, 8, '0') k FROM generate_series(1, 10000) i; ANALYZE o;");
	ask($session, 'SET enable_hashjoin = off; SET enable_mergejoin = off; SET max_parallel_workers_per_gather = 0;');
	for (1 .. $rounds)
	{
		my ($fast, $a) = timed(10000, "SELECT sum(a) FROM o JOIN $t USING (k);");
		ask($session, 'SET widetable.enable_lookup_ahead = off;');
		my ($slow, $b) = timed(10000, "SELECT sum(a) FROM o JOIN $t USING (k);");
		ask($session, 'RESET widetable.enable_lookup_ahead;');
		$bad = 1 if $a ne $b;
		push @ratio, $fast / $slow;
		push @fast, $fast;
	}
	ask($session, 'RESET ALL;');
	printf "%-21s    %10.0f            lookups/s, %.1f times as many as one by one %s\n", 'join of 10,000', median(@fast), median(@ratio), median(@ratio) >= 5 ? '>= 5' : 'goal 5';
}

# all cells, to the embedded engine and back
sub moves
{
	my $t = shift;
	my $columns = 'key bytea, family text COLLATE "C", qualifier bytea, ts timestamptz, value bytea';
	my $cells = 4 * $rows;
	ask($session, "CREATE FOREIGN TABLE there ($columns) SERVER hb OPTIONS (table_name '$t', key 'key', layout 'cells');");
	ask($session, qq(CREATE FOREIGN TABLE there_again ($columns) SERVER hb OPTIONS (table_name 'again', key 'key', layout 'cells', families '{"d": {}, "e": {}}');));
	my (@in, @out);
	for (1 .. $rounds)
	{
		ask($session, qq(CREATE FOREIGN TABLE here ($columns) SERVER widetable OPTIONS (key 'key', layout 'cells', families '{"d": {}, "e": {}}');));
		push @in, (timed($cells, 'INSERT INTO here SELECT * FROM there;'))[0];
		my ($n) = ask($session, 'SELECT count(*) FROM here;');
		if ($n != $cells) { print "move: $n cells of $cells\n"; $bad = 1 }
		push @out, (timed($cells, "INSERT INTO there_again SELECT key, family, qualifier, date_trunc('milliseconds', ts), value FROM here;"))[0];
		ask($session, 'DROP FOREIGN TABLE here;');
	}
	printf "%-21s    %10.0f            cells/s from HBase, %.0f to HBase; goal 200000 on four cores\n", 'move', median(@in), median(@out);
}

leave($session);
close $to_java;
waitpid $java_pid, 0;
exit $bad;
