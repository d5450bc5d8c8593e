#!/usr/bin/perl
# scale.pl: how costs grow with a table.  Started by ./bench/run, which passes the settings in the
# environment.  A wide table and an ordinary one are loaded in order of arrival, 100,000 visits at a
# time.  Whenever they have four times as many rows as before, their costs are measured:
#
#   load       visits a second since the last time, without the wait for background work
#   rest       seconds until no background work is left
#   bytes      on disk for a visit
#   files      sorted files
#   get        microseconds in the server: a column of a visit, by its key
#   visits     the same: the visits of a visitor, about 26
#   scan       nanoseconds for a row: count(*) and sum of a column, serial
#   plan       milliseconds: EXPLAIN of a get, in a new session and again
#
# What a visit looks like is determined by its number; visits.sql has the same columns.
use strict;
use warnings;
use integer;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(min);
use Bench qw(:all);

my $most = $ENV{BENCH_SCALE};
my $chunk = min(100_000, $most);
my %table = (wide => 'scale_wide', cols => 'scale_cols');
my $wrong = 0;

sub out { open(my $f, '>>', $ENV{BENCH_TSV}) or die; print {$f} join("\t", @_), "\n"; close $f; }

my $s = session();
ask($s, <<'SQL');
CREATE FOREIGN TABLE scale_wide (visitor bigint, at timestamptz, url text, referer text, agent text, status int, bytes bigint)
    SERVER widetable OPTIONS (key 'visitor, at desc', families '{"p": {}}');
CREATE TABLE scale_cols (visitor bigint, at timestamptz, url text, referer text, agent text, status int, bytes bigint, PRIMARY KEY (visitor, at));
CREATE FUNCTION visits(a bigint, b bigint, visitors bigint)
    RETURNS TABLE (visitor bigint, at timestamptz, url text, referer text, agent text, status int, bytes bigint) LANGUAGE sql AS $$
SELECT (hashint8(i)::bigint + 2147483648) % visitors, timestamptz '2026-01-01 00:00+00' + i * interval '1 second', '/page/' || i * 7919 % 5000,
       'http://ref.example/' || i * 31 % 700, 'Mozilla/5.0 (X11; Linux x86_64; rv:' || i % 40 || '.0) Gecko/20100101 Firefox/' || i % 90,
       (200 + i % 3)::int, i * 48271 % 100000
FROM generate_series(a, b) i $$;
-- microseconds of the statement, which contains r, a number below m
CREATE FUNCTION cost(statement text, n int, m bigint, OUT us float8) LANGUAGE plpgsql AS $$
DECLARE began timestamptz;
BEGIN
    EXECUTE format('CREATE OR REPLACE FUNCTION repeated(n int, m bigint) RETURNS void LANGUAGE plpgsql AS $f$
        DECLARE x record; r bigint; BEGIN FOR i IN 1..n LOOP r := (i::bigint * 7919 * 48271 + n) %% m; %s; END LOOP; END $f$', statement);
    PERFORM repeated(n / 4, m);
    began := clock_timestamp();
    PERFORM repeated(n, m);
    us := extract(epoch FROM clock_timestamp() - began) * 1e6 / n;
END $$;
SET max_parallel_workers_per_gather = 0;
SQL

my ($rows, $next) = (0, min($most, $chunk > $most / 64 ? $chunk : $most / 64 / $chunk * $chunk));
my $visitors = $most / 26 + 1;
print "| visits | table | load | rest | bytes | files | get | visits | scan | plan, new session | plan |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
while (1)
{
	my %ms;
	for my $t (sort keys %table)
	{
		for (my $i = $rows; $i < $next; $i += $chunk)
		{
			ask($s, sprintf "INSERT INTO $table{$t} SELECT * FROM visits(%d, %d, %d);", $i, min($next, $i + $chunk) - 1, $visitors);
			$ms{$t} += $s->{ms};
		}
	}
	my $added = $next - $rows;
	$rows = $next;
	for my $t (qw(wide cols))
	{
		no integer;
		my ($name, $wait, $files, %v) = ($table{$t}, 0, '');
		if ($t eq 'wide')
		{
			# at rest: three looks a second apart without anything under way
			for (my $quiet = 0; $quiet < 3 && $wait < 600; $wait++)
			{
				select undef, undef, undef, 1;
				$quiet = once("SELECT (SELECT count(*) FROM widetable.pg_stat_widetable_compactions WHERE state = 'running')
					+ (SELECT memtables_waiting FROM widetable.pg_stat_widetable);") eq '0' ? $quiet + 1 : 0;
			}
			$wait -= 3;
			($files) = ask($s, "SELECT count(*) FROM widetable.pg_stat_widetable_files WHERE table_name = 'public.scale_wide';");
			($v{bytes}) = ask($s, "SELECT widetable.table_size('scale_wide');");
		}
		else
		{
			ask($s, "VACUUM ANALYZE scale_cols;");
			($v{bytes}) = ask($s, "SELECT pg_total_relation_size('scale_cols');");
		}
		my $fresh = session();
		ask($fresh, "EXPLAIN SELECT url FROM $name WHERE visitor = 1 AND at = '2026-01-01';");
		$v{first} = $fresh->{ms};
		ask($fresh, "EXPLAIN SELECT url FROM $name WHERE visitor = 2 AND at = '2026-01-01';");
		$v{plan} = $fresh->{ms};
		leave($fresh);
		my $at = "timestamptz ''2026-01-01 00:00+00'' + r * interval ''1 second''";
		my $who = "(hashint8(r)::bigint + 2147483648) % $visitors";
		($v{get}) = median(map { ask($s, "SELECT us FROM cost('SELECT url INTO x FROM $name WHERE visitor = $who AND at = $at', 5000, $rows);") } 1 .. 3);
		($v{visits}) = median(map { ask($s, "SELECT us FROM cost('SELECT count(url), sum(bytes) INTO x FROM $name WHERE visitor = r', 1000, $visitors);") } 1 .. 3);
		my @sums;
		$v{scan} = median(map { push @sums, ask($s, "SELECT count(*), sum(bytes) FROM $name;"); $s->{ms} } 1 .. 3);
		my ($n) = split /\t/, $sums[0];
		if ($n != $rows) { $wrong++; print "WRONG: $name has $n rows, not $rows\n" }
		printf "| %d | %s | %.0fk/s | %s | %.0f | %s | %.1f us | %.0f us | %.0f ns | %.1f ms | %.2f ms |\n", $rows, $t eq 'wide' ? 'wide' : 'ordinary',
			$added / $ms{$t}, $t eq 'wide' ? "$wait s" : '', $v{bytes} / $rows, $files, $v{get}, $v{visits}, $v{scan} * 1e6 / $rows, $v{first}, $v{plan};
		out('scale', $t, $rows, $_, $v{$_}) for sort keys %v;
		out('scale', $t, $rows, 'load', $added / $ms{$t} * 1000);
	}
	last if $rows >= $most;
	$next = min($most, $rows * 4);
}
leave($s);
exit($wrong ? 1 : 0);
