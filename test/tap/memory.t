# memory: the memory of a session stays bounded, however much it reads and however often it
# executes.  Measured is the private memory of the process (RssAnon); shared memory does not count.
# Takes about 10 seconds.
. "${0%/*}/common.sh"
[ -r /proc/self/status ] || { echo "ok - skipped: no /proc"; exit 0; }

new_cluster 'widetable.memtable_size = 4MB'
cat >"$T/memory.pl" <<'PERL'
use strict;
use warnings;
use IO::Socket::UNIX;
use Time::HiRes qw(sleep);
my $port = $ENV{PGPORT} || 5432;
sub put { my ($s, $type, $body) = @_; syswrite $s, $type . pack('N', length($body) + 4) . $body; }
sub take { my ($s, $n, $b) = (@_, ''); while (length $b < $n) { sysread($s, $b, $n - length $b, length $b) or die "the server closed the connection\n"; } return $b; }
sub upto
{
	my ($s, $want) = @_;
	my ($value, $error);
	for (;;)
	{
		my ($type, $len) = unpack 'aN', take($s, 5);
		my $body = $len > 4 ? take($s, $len - 4) : '';
		($error) = $body =~ /\0M([^\0]*)/ if $type eq 'E';
		$value = unpack 'x6 A*', $body if $type eq 'D';
		next if $type ne $want;
		die "$error\n" if $error;
		return $value;
	}
}
sub query { my ($s, $q) = @_; put($s, 'Q', "$q\0"); return upto($s, 'Z'); }
sub used { open my $f, '<', "/proc/$_[0]/status" or return 0; while (<$f>) { return $1 / 1024 if /^RssAnon:\s+(\d+)/ } return 0; }

while (my $line = <STDIN>)
{
	chomp $line;
	my ($name, $limit, $times, $before, $statement) = split / \|\|\| /, $line;
	my $s = IO::Socket::UNIX->new(Peer => "$ENV{PGHOST}/.s.PGSQL.$port") or die "no connection: $!\n";
	put($s, '', pack('N', 196608) . "user\0$ENV{PGUSER}\0database\0$ENV{PGDATABASE}\0\0");
	upto($s, 'Z');
	my $pid = query($s, 'SELECT pg_backend_pid()');
	query($s, $_) for 'SET jit = off', 'SELECT count(*) FROM w WHERE k = 1', split / ; /, $before;
	# fills the caches of the session
	query($s, $statement) if $times > 1;
	my ($start, $peak) = (used($pid), 0);
	pipe(my $r, my $w);
	if (!(my $kid = fork))
	{
		close $r;
		my $end = 0;
		local $SIG{TERM} = sub { $end = 1 };
		while (!$end) { my $u = used($pid); $peak = $u if $u > $peak; sleep 0.01; }
		syswrite $w, "$peak\n";
		require POSIX;
		POSIX::_exit(0);
	}
	else
	{
		close $w;
		query($s, $statement) for 1 .. $times;
		kill 'TERM', $kid;
		$peak = <$r>;
		waitpid $kid, 0;
	}
	printf "%sok - memory: %s%s\n", $peak - $start < $limit ? '' : 'not ', $name,
		$peak - $start < $limit ? '' : sprintf(' (%.1f MB)', $peak - $start);
	put($s, 'X', '');
}
PERL
large_tables
q "CREATE TYPE mood AS ENUM ('sad', 'ok')" 'CREATE TYPE day AS (d date, good boolean)' \
	"CREATE FOREIGN TABLE a (k int, moods mood[], days day[]) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO a SELECT 1, array_agg('ok'::mood), NULL FROM generate_series(1, 300000)" \
	"INSERT INTO a SELECT 2, NULL, array_agg(ROW('2024-01-01', true)::day) FROM generate_series(1, 100000)" >"$T/made" || cat "$T/made"

# title ||| limit in MB ||| executions ||| preparation, separated by ; ||| statement
perl "$T/memory.pl" >"$T/out" 2>&1 <<'STATEMENTS'
all rows ||| 4 ||| 1 ||| SELECT 1 ||| SELECT count(s || v) FROM w
a wide row, cell by cell ||| 4 ||| 1 ||| SELECT 1 ||| SELECT count(value) FROM rc WHERE value <> 'x'
a wide row, its existence only ||| 4 ||| 1 ||| SELECT 1 ||| SELECT count(*) FROM r
a wide row as a map ||| 200 ||| 1 ||| SELECT 1 ||| SELECT m IS NULL FROM r
100000 rescans ||| 10 ||| 1 ||| SET enable_hashjoin = off ; SET enable_mergejoin = off ||| SELECT count(w.s) FROM generate_series(1, 100000) g, LATERAL (SELECT s FROM w WHERE k = g AND v > g - 1000 OFFSET 0) w
100000 subqueries ||| 10 ||| 1 ||| SELECT 1 ||| SELECT count((SELECT max(v) FROM p WHERE a = g)) FROM generate_series(1, 100000) g
10000 executions ||| 2 ||| 10000 ||| PREPARE q AS SELECT * FROM w WHERE k = 77 ||| EXECUTE q
10000 statements ||| 2 ||| 10000 ||| SELECT 1 ||| SELECT s FROM w WHERE k = 1234 AND v >= 0
10000 statements of a function ||| 2 ||| 3 ||| SELECT 1 ||| DO $$DECLARE x text; BEGIN FOR i IN 1..10000 LOOP EXECUTE 'SELECT s FROM w WHERE k = ' || i INTO x; END LOOP; END$$
10000 calls of get() ||| 2 ||| 10000 ||| SELECT 1 ||| SELECT widetable.get('w', 5)
get() of an array of 300000 values of an enum ||| 60 ||| 1 ||| SELECT 1 ||| SELECT length(widetable.get('a', 1)::text)
get() of an array of 100000 composites ||| 120 ||| 1 ||| SELECT 1 ||| SELECT length(widetable.get('a', 2)::text)
2000 transactions that write ||| 2 ||| 2000 ||| SET synchronous_commit = off ||| UPDATE w SET v = v WHERE k = 7
10000 errors in scans ||| 4 ||| 1 ||| SELECT 1 ||| DO $$BEGIN FOR i IN 1..10000 LOOP BEGIN PERFORM 1 / (v - v) FROM w WHERE k = i; EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END$$
100000 groups ||| 4 ||| 1 ||| SELECT 1 ||| SELECT sum(c) FROM (SELECT a, count(*) AS c FROM p GROUP BY a OFFSET 0) x
a loose scan of 100000 groups ||| 4 ||| 1 ||| SELECT 1 ||| SELECT sum(c) FROM (SELECT a, max(b) AS c FROM p GROUP BY a OFFSET 0) x
locks of 400000 rows ||| 4 ||| 1 ||| BEGIN ||| SELECT count(*) FROM (SELECT k FROM w FOR UPDATE) x
UPDATE of 400000 rows: the write batch ||| 60 ||| 1 ||| BEGIN ||| UPDATE w SET v = v + 1
500000 keys ||| 150 ||| 1 ||| SET work_mem = '1GB' ||| SELECT count(*) FROM w WHERE k = ANY (ARRAY(SELECT g FROM generate_series(1, 500000) g))
500000 ranges of keys ||| 150 ||| 1 ||| SET work_mem = '1GB' ||| SELECT count(*) FROM p WHERE a = ANY (ARRAY(SELECT g FROM generate_series(1, 500000) g))
500000 values of a cell ||| 150 ||| 1 ||| SET work_mem = '1GB' ||| SELECT count(*) FROM w WHERE v = ANY (ARRAY(SELECT g FROM generate_series(1000, 500000) g))
STATEMENTS
cat "$T/out"
is "$(grep -c '^ok\|^not ok' "$T/out")" 21 "every statement of the list was tried"
grep -q '^not ok' "$T/out" && BAD=1

# EXPLAIN reads no data block: a later scan finds no block in the cache
set_conf 'widetable.workers = 0'
stop; start
q 'EXPLAIN SELECT * FROM w WHERE k BETWEEN 5000 AND 5100' 'EXPLAIN SELECT * FROM w WHERE v = 3' \
	'EXPLAIN SELECT v, count(*) FROM w WHERE k > 300000 GROUP BY v' 'EXPLAIN UPDATE w SET v = 1 WHERE k = 9' >/dev/null
like "$(q 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) SELECT count(*) FROM w WHERE k BETWEEN 5000 AND 5100')" \
	'Blocks: [1-9][0-9]* read, 0 cached' "EXPLAIN reads no data block"
finish
