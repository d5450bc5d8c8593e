#
# Chain.pm: chains of commits with different values of synchronous_commit.
#
# Client C commits 1, 2, 3, ..., most in a wide table only, some in an ordinary table too, and some
# of them large.  Invariants after a crash: with synchronous_commit = off the last commits may be
# missing, but N is there only if N-1 is; with local and on all acknowledged commits are there.
# Each row also contains the last commit of every client that its transaction saw; these are there
# as well, because a transaction commits after what it has seen.
#
package Chain;
use strict;
use warnings;
use Server;

my @modes = qw(off off local on);
my $batch = 2500;

sub new
{
	my ($class) = @_;
	return bless { base => [(0) x (@modes + 1)], acks => 0, lost => 0, kept => 0 }, $class;
}

sub setup
{
	return <<"SQL";
CREATE FOREIGN TABLE chain (client int, n int, part int, saw int[], pad text OPTIONS (column 'x:pad'))
  SERVER widetable OPTIONS (key 'client, n, part', families '{"d": {}, "x": {}}');
CREATE TABLE chain_heap (client int, n int, PRIMARY KEY (client, n));
SQL
}

sub parts { my ($c, $n) = @_; return $n % 150 == 50 ? 200 : $n % 15 == 3 ? 10 : 1; }
sub mixed { my ($c, $n) = @_; return pick(3, $c, $n, 40) == 0 ? 1 : 0; }

sub link_sql
{
	my ($c, $n) = @_;
	my $saw = 'ARRAY[' . join(', ', map { "coalesce((SELECT max(n) FROM chain WHERE client = $_), 0)" } 1 .. @modes) . ']';
	my $parts = parts($c, $n);
	my $wide = $parts == 1 ? "INSERT INTO chain SELECT $c, $n, 1, $saw, 'p';\n"
	  : "INSERT INTO chain SELECT $c, $n, g, CASE g WHEN 1 THEN $saw END, repeat(md5(g::text), 128) FROM generate_series(1, $parts) g;\n";
	return $wide unless mixed($c, $n);
	my $heap = "INSERT INTO chain_heap VALUES ($c, $n);\n";
	return "BEGIN;\n" . ($n % 2 ? $wide . $heap : $heap . $wide) . "COMMIT;\n";
}

sub begin
{
	my ($self) = @_;
	for my $c (1 .. @modes)
	{
		my $from = $self->{base}[$c] + 1;
		spawn("chain$c", 1, "SET synchronous_commit = $modes[$c - 1];\n" . join '', map { link_sql($c, $_) . "\\echo a $_\n" } $from .. $from + $batch);
	}
}

sub check
{
	my ($self, $how) = @_;
	my (@why, %parts, %heap, %saw, @end);
	my ($rc, $out, $err) = psql("SELECT 'w', client, n, count(*), max(array_to_string(saw, ' ')) FROM chain GROUP BY client, n ORDER BY client, n;\n"
		. "SELECT 'h', client, n FROM chain_heap;\n");
	return "reading the chains: $err" if $rc;
	for (split /\n/, $out)
	{
		my ($t, $c, $n, $parts, $saw) = split /\|/;
		if ($t eq 'h') { $heap{"$c/$n"} = 1; next; }
		$parts{$c}{$n} = $parts;
		$saw{"$c/$n"} = $saw;
	}
	for my $c (1 .. @modes)
	{
		push @why, complaints("chain$c");
		my $base = $self->{base}[$c];
		my $acked = $base;
		for (output("chain$c") =~ /^a (\d+)$/mg) { $acked = $_; $self->{acks}++; }
		my @there = sort { $a <=> $b } keys %{ $parts{$c} || {} };
		my $end = @there ? $there[-1] : $base;
		for my $n ($base + 1 .. $end)
		{
			my $has = $parts{$c}{$n};
			if (!$has) { push @why, "chain $c ($modes[$c - 1]): $n is missing, although $end is there"; next; }
			push @why, "chain $c: $n has $has parts of " . parts($c, $n) if $has != parts($c, $n);
			push @why, "chain $c: $n is in " . (mixed($c, $n) ? 'the wide table only' : 'both tables') if mixed($c, $n) != (delete $heap{"$c/$n"} || 0);
		}
		push @why, "chain $c ($modes[$c - 1]): ends with $end, $acked was acknowledged" if $end < $acked && ($modes[$c - 1] ne 'off' || $how eq 'fast stop');
		push @why, "chain $c: ends with $end, the last acknowledged one is $acked" if $end > $acked + 1;
		$self->{lost} += $acked - $end if $end < $acked;
		$self->{kept}++ if $end > $acked;
		$end[$c] = $end;
	}
	push @why, map { "chain: $_ is in the ordinary table only" } sort keys %heap;
	for my $k (sort keys %saw)
	{
		my @s = split / /, $saw{$k} || '';
		for my $c (1 .. @modes) { push @why, "chain: $k saw $s[$c - 1] of $c, which ends with $end[$c]" if ($s[$c - 1] || 0) > $end[$c]; }
	}
	return @why if @why;
	$self->{base} = [@end];
	$self->{base}[0] = 0;
	($rc, $out, $err) = psql("DELETE FROM chain;\nTRUNCATE chain_heap;\n");
	return $rc ? "cleaning the chains: $err" : ();
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} chained commits without a gap; $self->{lost} with synchronous_commit off were lost at the end, $self->{kept} in doubt were committed";
}

1;
