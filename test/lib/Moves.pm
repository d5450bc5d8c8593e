#
# Moves.pm: a table with indexes and roll-ups whose rows are moved, and an ordinary one with the same rows.
#
# Each transaction inserts rows, changes indexed columns, moves rows to another key, deletes them, or
# does several of that, some of it rolled back to a savepoint, in both tables.  Indexes: with covered
# columns, on a map, unique.  Roll-ups: with many groups that come and go, and with one group that all
# clients change.  Invariants: at any time, and after a crash, verify() finds no difference between the
# table and its indexes and roll-ups; queries through indexes return what they return without, and what
# the ordinary table says; roll-ups have the aggregates of the ordinary table.
#
package Moves;
use strict;
use warnings;
use Server;

my $keys = 60;
my $batch = 600;

sub new
{
	my ($class, $clients) = @_;
	return bless { clients => $clients, from => [(1) x ($clients + 1)], acks => 0, reads => 0, rounds => 0 }, $class;
}

sub setup
{
	return <<'SQL';
CREATE FOREIGN TABLE moves (c int, k int, place text, n int, tags jsonb OPTIONS (family 't'))
  SERVER widetable OPTIONS (key 'c, k', families '{"d": {}, "t": {}}');
CREATE FOREIGN TABLE moves_place (place text COLLATE "C", n int, c int, k int) SERVER widetable OPTIONS (index_of 'moves', key 'place, c desc');
CREATE FOREIGN TABLE moves_tag (tag text OPTIONS (qualifier_of 'tags') COLLATE "C", val text OPTIONS (value_of 'tags') COLLATE "C", c int, k int)
  SERVER widetable OPTIONS (index_of 'moves', key 'tag, val');
CREATE FOREIGN TABLE moves_n (n int, c int, k int) SERVER widetable OPTIONS (index_of 'moves', key 'n, c', unique 'true');
CREATE FOREIGN TABLE moves_groups (place text COLLATE "C", tag text OPTIONS (expr 'tags ->> ''q1''') COLLATE "C", rows bigint OPTIONS (aggregate 'count(*)'),
  tagged bigint OPTIONS (aggregate 'count(tags)'), total bigint OPTIONS (aggregate 'sum(n)'))
  SERVER widetable OPTIONS (rollup_of 'moves', key 'place, tag desc');
CREATE FOREIGN TABLE moves_total (one boolean OPTIONS (expr 'true'), rows bigint OPTIONS (aggregate 'count(*)'), total double precision OPTIONS (aggregate 'sum(n)'),
  places bigint OPTIONS (aggregate 'hll(place)')) SERVER widetable OPTIONS (rollup_of 'moves', key 'one');
CREATE TABLE moves_plain (c int, k int, place text, n int, tags jsonb, PRIMARY KEY (c, k));
SQL
}

# the same change of both tables
sub both { my ($s) = @_; return join '', map { (my $one = $s) =~ s/TABLE/$_/; "$one;\n" } qw(moves moves_plain); }

# Changes of client $c; n is different in all rows of a client.
sub change
{
	my ($c, $t, $i) = @_;
	my $kind = pick(6, $c, $t, 10 * $i);
	my ($k, $other) = map { pick($keys, $c, $t, 10 * $i + $_) } 1, 2;
	my ($place, $tag) = ('p' . pick(9, $c, $t, 10 * $i + 3), 'q' . pick(4, $c, $t, 10 * $i + 4));
	my $n = 10 * $t + $i;
	my $row = "SELECT $c, $k, '$place', $n, '{\"$tag\": \"$place\", \"all\": \"x\"}'::jsonb WHERE NOT EXISTS (SELECT FROM moves_plain WHERE c = $c AND k = $k)";
	# the ordinary table decides for both, so it comes last
	return both("INSERT INTO TABLE $row") if $kind == 0;
	return both("UPDATE TABLE SET place = '$place', n = $n WHERE c = $c AND k = $k") if $kind == 1;
	return both("UPDATE TABLE SET place = " . ($k % 3 ? "place || 'x'" : 'NULL') . ", tags = " . ($k % 4 ? "'{\"$tag\": \"$place\"}'" : 'NULL') . " WHERE c = $c AND k BETWEEN $k AND $k + 5") if $kind == 2;
	return both("UPDATE TABLE SET k = $other, n = $n WHERE c = $c AND k = $k AND NOT EXISTS (SELECT FROM moves_plain WHERE c = $c AND k = $other)") if $kind == 3;
	return both("DELETE FROM TABLE WHERE c = $c AND place = '$place'") if $kind == 4;
	return both("DELETE FROM TABLE WHERE c = $c AND k = $k") . both("INSERT INTO TABLE $row");
}

sub sql
{
	my ($c, $t) = @_;
	my $some = join '', map { change($c, $t, $_) } 1 .. 1 + pick(3, $c, $t, 1);
	my $how = pick(8, $c, $t, 2);
	return "BEGIN;\n${some}ROLLBACK;\n" if $how == 0;
	return "BEGIN;\n${some}SAVEPOINT s;\n" . change($c, $t, 7) . "ROLLBACK TO s;\n" . change($c, $t, 8) . "COMMIT;\n" if $how < 3;
	return "BEGIN;\n${some}COMMIT;\n";
}

my @queries = ("SELECT concat_ws(' ', count(*), sum(n), min(k)) FROM moves WHERE place = 'p3'",
	"SELECT concat_ws(' ', count(*), sum(n), min(k)) FROM moves WHERE tags ->> 'q1' = 'p4'",
	"SELECT concat_ws(' ', count(*), sum(n)) FROM moves WHERE place > 'p' AND n > 500",
	"SELECT string_agg(c || ' ' || k, ',' ORDER BY c, k) FROM moves WHERE tags ->> 'all' = 'x' AND k < 9",
	"SELECT max(n) FROM moves WHERE n BETWEEN 100 AND 3000");
# all queries with the setting
sub look { my ($setting, $name) = @_; return "SET LOCAL widetable.enable_index = $setting;\n" . join '', map { "SELECT '$name ' || coalesce(($_)::text, '');\n" } @queries; }

# queries with the same rows
my @same = ([ 'TABLE moves', 'TABLE moves_plain' ],
	[ 'TABLE moves_groups', "SELECT place, tags ->> 'q1', count(*), count(tags), sum(n)::bigint FROM moves_plain GROUP BY 1, 2" ],
	[ 'SELECT rows, total FROM moves_total', 'SELECT count(*), sum(n) FROM moves_plain HAVING count(*) > 0' ]);

my $differences = "SELECT concat_ws(': ', 'd ' || v.object, v.problem) FROM widetable.verify('moves') v;\n";
# a snapshot: the queries in both ways, and the index as a whole
my $snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ;\n" . look('on', 'i') . look('off', 't') . $differences . "COMMIT;\n\\echo =\n";

sub begin
{
	my ($self) = @_;
	for my $c (1 .. $self->{clients})
	{
		my $from = $self->{from}[$c];
		spawn("moves$c", 1, join '', map { sql($c, $_) . "\\echo a $_\n" } $from .. $from + $batch);
	}
	spawn('movers', 1, $snapshot x 300);
}

# the differences that a reader has seen in the output of snapshots
sub differences
{
	my ($self, $out) = @_;
	my @why;
	for my $one (split /^=\n/m, $out)
	{
		my (%by, @found);
		for (split /\n/, $one)
		{
			push @{ $by{$1} }, $2 if /^([it]) (.*)/;
			push @found, $1 if /^d (.*)/;
		}
		push @why, map { "verify() of moves: $_" } @found;
		my @t = @{ $by{t} || [] };
		# the last snapshot may have been cut off
		next if @t < @queries;
		$self->{reads}++;
		for my $q (0 .. $#queries) { push @why, "through an index $by{i}[$q], without $t[$q]: $queries[$q]" if $by{i}[$q] ne $t[$q]; }
	}
	return @why;
}

sub check
{
	my ($self) = @_;
	my @why = map { complaints($_) } map({ "moves$_" } 1 .. $self->{clients}), 'movers';
	push @why, $self->differences(output('movers'));
	for my $c (1 .. $self->{clients})
	{
		my $last = $self->{from}[$c] - 1;
		for (output("moves$c") =~ /^a (\d+)$/mg) { $last = $_; $self->{acks}++; }
		$self->{from}[$c] = $last + 2;
	}
	my ($rc, $out, $err) = psql($snapshot);
	return (@why, "reading moves: $err") if $rc;
	push @why, $self->differences($out);
	for my $same (@same)
	{
		for my $by ("$same->[0] EXCEPT $same->[1]", "$same->[1] EXCEPT $same->[0]")
		{
			($rc, $out, $err) = psql("SELECT r.* FROM ($by) r LIMIT 10;\n");
			push @why, map { "$by: $_" } split /\n/, $rc ? $err : $out;
		}
	}
	my $rows = value("SELECT (SELECT count(*) FROM moves_place) - (SELECT count(place) FROM moves_plain), (SELECT count(*) FROM moves_n) - (SELECT count(*) FROM moves_plain)");
	push @why, "rows of the indexes minus those of the table: " . (defined $rows ? $rows : 'no answer') unless defined $rows && $rows eq '0|0';
	return @why;
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} changes of rows with indexes and roll-ups, $self->{reads} snapshots are the same through indexes and without";
}

1;
