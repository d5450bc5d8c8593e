#
# Sums.pm: families with a merge operator, to which clients add without locks.
#
# Each transaction adds 1 to n and 2 to m of some rows, and appends the client's number and its own,
# 8 characters, to l.  Invariants: m = 2 n, and l has 8 n characters, for every reader.  In each l the
# transactions of a client come in their order.
# After a crash a sum is at least its old value plus what was acknowledged, and at most that plus
# what is in doubt: nothing is lost, nothing counts twice.  The row of its own that each client
# deletes and begins anew has its last value.  An ordinary table in the same transactions agrees.
#
package Sums;
use strict;
use warnings;
use Server;

my $names = 30;
my $batch = 1500;

sub new
{
	my ($class, $clients) = @_;
	return bless { clients => $clients, base => {}, own => {}, from => [(1) x ($clients + 1)], acks => 0, reads => 0 }, $class;
}

sub setup
{
	return <<"SQL";
CREATE FOREIGN TABLE sums (name text COLLATE "C", n bigint OPTIONS (column 'c:n'), m bigint OPTIONS (column 'd:m'), l text OPTIONS (column 'l:l'))
  SERVER widetable OPTIONS (key 'name', families '{"c": {"merge": "sum"}, "d": {"merge": "sum", "versions": 3}, "l": {"merge": "append"}}');
CREATE TABLE sums_plain (name text, n int);
SQL
}

# transactions of client $c: the kind, the rows, and what each adds to n (nothing if rolled back)
sub kind { my ($c, $t) = @_; return pick(10, $c, $t, 40); }

sub names_of
{
	my ($c, $t) = @_;
	my %n = map { 'r' . pick($names, $c, $t, 50 + $_) => 1 } 1 .. 3;
	return sort keys %n;
}

sub adds
{
	my ($c, $t) = @_;
	my $k = kind($c, $t);
	return ('hot' => 1) if $k < 4 || $k == 6;
	return map { ($_ => 1) } names_of($c, $t) if $k < 6;
	return ('hot' => 1, (names_of($c, $t))[0] => 1) if $k == 7;
	return ();
}

sub sql
{
	my ($c, $t) = @_;
	my $k = kind($c, $t);
	my @n = names_of($c, $t);
	my $l = sprintf '%02d%06d', $c, $t;
	my $add = "INSERT INTO sums VALUES ('%s', 1, 2, '$l');\n";
	return sprintf $add, 'hot' if $k < 4;
	return "BEGIN;\n" . join('', map { sprintf($add, $_) . "INSERT INTO sums_plain VALUES ('$_', 1);\n" } @n) . "COMMIT;\n" if $k < 6;
	return "SELECT widetable.add('sums', 'hot', 'n', 1), widetable.add('sums', 'hot', 'd:m', 2), widetable.add('sums', 'hot', 'l', '$l');\n" if $k == 6;
	return "BEGIN;\n" . sprintf($add, 'hot') . "SAVEPOINT s;\nINSERT INTO sums VALUES ('hot', 1000, 2000, 'undone'), ('$n[0]', 1000, 2000, 'undone');\nROLLBACK TO s;\n"
	  . sprintf($add, $n[0]) . "INSERT INTO sums_plain VALUES ('$n[0]', 1);\nCOMMIT;\n" if $k == 7;
	return "BEGIN;\nINSERT INTO sums VALUES ('hot', 1000, 2000, 'undone');\nROLLBACK;\n" if $k == 8;
	return "BEGIN;\nDELETE FROM sums WHERE name = 'own$c';\nINSERT INTO sums VALUES ('own$c', $t, 2 * $t, '$l'), ('own$c', 1, 2, '');\nCOMMIT;\n";
}

sub begin
{
	my ($self) = @_;
	for my $c (1 .. $self->{clients})
	{
		my $from = $self->{from}[$c];
		spawn("sums$c", 1, join '', map { sql($c, $_) . "\\echo a $_\n" } $from .. $from + $batch);
	}
	# what this client has seen must survive the crash
	spawn('adder', 1, "SELECT 's ' || n || ' ' || m FROM sums WHERE name = 'hot';\nSELECT 'w ' || name FROM sums WHERE m <> 2 * n OR length(l) <> CASE WHEN name LIKE 'own%' THEN 8 ELSE 8 * n END;\nSELECT pg_sleep(0.002);\n" x 2000);
}

sub check
{
	my ($self) = @_;
	my ($rc, $out, $err) = psql("SELECT 'c ' || name || ' ' || n || ' ' || m || ' ' || l FROM sums;\n"
		. "SELECT 'p ' || name || ' ' || sum(n) FROM sums_plain GROUP BY name;\nSELECT 't ' || count(*) || ' ' || sum(n) FROM sums;\n");
	return "reading the sums: $err" if $rc;
	my (%now, %twice, %plain, %least, %most, %log, @why);
	while ($out =~ /^c (\S+) (-?\d+) (-?\d+) (\d*)$/mg) { @now{$1} = $2; $twice{$1} = $3; $log{$1} = $4; }
	$plain{$1} = $2 while $out =~ /^p (\S+) (\d+)$/mg;
	%least = %{ $self->{base} };
	for my $c (1 .. $self->{clients})
	{
		push @why, complaints("sums$c");
		my $last = $self->{from}[$c] - 1;
		for (output("sums$c") =~ /^a (\d+)$/mg)
		{
			$last = $_;
			$self->{acks}++;
			my %a = adds($c, $last);
			$least{$_} += $a{$_} for keys %a;
			$self->{own}{$c} = $last if kind($c, $last) == 9;
		}
		my %in_doubt = adds($c, $last + 1);
		$most{$_} += $in_doubt{$_} for keys %in_doubt;
		my @own = defined $self->{own}{$c} ? $self->{own}{$c} + 1 : 0;
		push @own, $last + 2 if kind($c, $last + 1) == 9;
		my $own = $now{"own$c"} || 0;
		push @why, "own$c is $own, expected " . join(' or ', @own) unless grep { $_ == $own } @own;
		$self->{own}{$c} = $own - 1 if $own;
		$self->{from}[$c] = $last + 2;
	}
	for my $k (grep { !/^own/ } sort keys %{ { %least, %most, %now } })
	{
		my ($v, $lo) = ($now{$k} || 0, $least{$k} || 0);
		my $hi = $lo + ($most{$k} || 0);
		push @why, "the sum of $k is $v, expected $lo" . ($hi > $lo ? " to $hi" : '') if $v < $lo || $v > $hi;
		push @why, "the sum of $k is $v, and in the ordinary table " . ($plain{$k} || 0) if $k ne 'hot' && $v != ($plain{$k} || 0);
	}
	for (sort keys %now) { push @why, "$_ has n = $now{$_} and m = $twice{$_}" if $twice{$_} != 2 * $now{$_}; }
	push @why, map { out_of_order($_, $now{$_}, $log{$_}) } sort keys %now;
	push @why, complaints('adder');
	my $seen = 0;
	for (output('adder') =~ /^s (\d+) /mg)
	{
		$self->{reads}++;
		push @why, "the sum of hot was $_ after $seen" if $_ < $seen;
		$seen = $_;
	}
	push @why, "a reader saw $seen in hot, now it is " . ($now{hot} || 0) if $seen > ($now{hot} || 0);
	push @why, "a reader saw m <> 2 n, or another number in l, in $1" if output('adder') =~ /^w (\S+)$/m;
	$self->{base} = { map { ($_ => $now{$_}) } grep { !/^own/ } keys %now };
	return @why;
}

# Returns what is wrong with l of a row.
sub out_of_order
{
	my ($name, $n, $l) = @_;
	my (%last, @why);
	my $want = $name =~ /^own/ ? 8 : 8 * $n;

	push @why, "l of $name has " . length($l) . " characters, expected $want" if length($l) != $want;
	while ($l =~ /(\d\d)(\d{6})/g)
	{
		push @why, "in l of $name client $1 appended $2 behind $last{$1}" if exists $last{$1} && $2 <= $last{$1};
		$last{$1} = $2;
	}
	return @why > 3 ? @why[0 .. 2] : @why;
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} transactions that add, no value lost or counted twice in $self->{reads} reads";
}

1;
