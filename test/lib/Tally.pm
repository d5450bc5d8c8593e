#
# Tally.pm: counters, a hot one and many others.
#
# Each client records the values that its committed increments returned.  Invariants after a crash:
# a counter is at least its old value plus the acknowledged increments, and at most that plus those
# in doubt.  No value was returned twice, the values of a client increase, and no session saw a
# value that the crash lost.
#
package Tally;
use strict;
use warnings;
use Server;

my $names = 50;
my $batch = 1500;

sub new
{
	my ($class, $clients) = @_;
	return bless { clients => $clients, base => {}, from => [(1) x ($clients + 1)], acks => 0, values => 0, seen => 0 }, $class;
}

sub setup
{
	return <<"SQL";
CREATE FOREIGN TABLE tally (name text COLLATE "C", n bigint OPTIONS (column 'c:n', encoding 'counter'),
  m bigint OPTIONS (column 'k:m', encoding 'counter'))
  SERVER widetable OPTIONS (key 'name', families '{"c": {}, "k": {"versions": 2}}');
CREATE TABLE tally_seen (v bigint);
SQL
}

# transactions of client $c: the kind, the counters, and what each adds to them (nothing if rolled
# back)
sub kind { my ($c, $t) = @_; return pick(10, $c, $t, 20); }

sub names_of
{
	my ($c, $t) = @_;
	my %n = map { 'r' . pick($names, $c, $t, 30 + $_) => 1 } 1 .. 3;
	return sort keys %n;
}

sub adds
{
	my ($c, $t) = @_;
	my $k = kind($c, $t);
	return ('hot/n' => 1) if $k < 4;
	return map { ("$_/n" => 1) } names_of($c, $t) if $k < 7;
	return map { ("$_/n" => 1, "$_/m" => 2) } (names_of($c, $t))[0] if $k == 7;
	return ('hot/n' => 1, map { ("$_/m" => 5) } names_of($c, $t)) if $k == 8;
	return ();
}

sub sql
{
	my ($c, $t) = @_;
	my $k = kind($c, $t);
	my @n = names_of($c, $t);
	my $inc = "SELECT widetable.increment('tally', '%s', '%s') AS v%d \\gset\n";
	return sprintf($inc, 'hot', 'c:n', 1) . "\\echo v $t hot :v1\n" if $k < 3;
	# an UPDATE does not create the row
	return "UPDATE tally SET n = n + 1 WHERE name = 'hot' RETURNING n AS v1 \\gset\n\\echo v $t hot :v1\n" if $k == 3;
	if ($k < 7)
	{
		my $i = 0;
		my $s = join '', map { sprintf $inc, $_, 'n', ++$i } @n;
		$i = 0;
		return "BEGIN;\n$s" . ($k == 6 ? "INSERT INTO tally_seen SELECT n FROM tally WHERE name = 'hot';\n" : '') . "COMMIT;\n"
		  . join '', map { "\\echo v $t $_ :v" . ++$i . "\n" } @n;
	}
	return "SELECT widetable.increment('tally', '$n[0]', '{\"c:n\": 1, \"m\": 2}'::jsonb) ->> 'c:n' AS v1 \\gset\n\\echo v $t $n[0] :v1\n" if $k == 7;
	return "BEGIN;\nUPDATE tally SET n = n + 1 WHERE name = 'hot' RETURNING n AS v1 \\gset\n"
	  . join('', map { "SELECT widetable.increment('tally', '$_', 'm', 5);\n" } @n) . "COMMIT;\n\\echo v $t hot :v1\n" if $k == 8;
	return "BEGIN;\n" . sprintf($inc, 'hot', 'n', 1) . "UPDATE tally SET m = m + 100 WHERE name = '$n[0]';\nROLLBACK;\n";
}

sub begin
{
	my ($self) = @_;
	for my $c (1 .. $self->{clients})
	{
		my $from = $self->{from}[$c];
		spawn("tally$c", 1, join '', map { sql($c, $_) . "\\echo a $_\n" } $from .. $from + $batch);
	}
	# a value that this client has seen must survive the crash
	spawn('watcher', 1, "SELECT 's ' || n FROM tally WHERE name = 'hot';\nSELECT pg_sleep(0.002);\n" x 3000);
}

sub check
{
	my ($self) = @_;
	my ($rc, $out, $err) = psql("SELECT 'c ' || name || '/n ' || n FROM tally WHERE n IS NOT NULL;\n"
		. "SELECT 'c ' || name || '/m ' || m FROM tally WHERE m IS NOT NULL;\nSELECT 's ' || max(v) FROM tally_seen;\nTRUNCATE tally_seen;\n");
	return "reading the counters: $err" if $rc;
	my (%now, %least, %most, %returned, @why);
	$now{$1} = $2 while $out =~ /^c (\S+) (-?\d+)$/mg;
	my $base = $self->{base};
	%least = %$base;
	for my $c (1 .. $self->{clients})
	{
		push @why, complaints("tally$c");
		my $text = output("tally$c");
		my $last = $self->{from}[$c] - 1;
		for ($text =~ /^a (\d+)$/mg)
		{
			$last = $_;
			$self->{acks}++;
			my %a = adds($c, $last);
			$least{$_} += $a{$_} for keys %a;
		}
		my %in_doubt = adds($c, $last + 1);
		$most{$_} += $in_doubt{$_} for keys %in_doubt;
		$self->{from}[$c] = $last + 2;
		my %before;
		while ($text =~ /^v (\d+) (\S+) (\S+)$/mg)
		{
			my ($t, $name, $v) = ($1, $2, $3);
			$self->{values}++;
			push @why, "$name: $v was returned to $c in $t and to $returned{$name}{$v}" if exists $returned{$name}{$v};
			$returned{$name}{$v} = "$c in $t";
			push @why, "$name: $v was returned to $c in $t after $before{$name}" if $v <= ($before{$name} || $base->{"$name/n"} || 0);
			$before{$name} = $v;
			push @why, "$name: $v was returned to $c in $t, now it is " . ($now{"$name/n"} || 'nothing') if $v > ($now{"$name/n"} || 0);
		}
	}
	for my $k (sort keys %{ { %least, %most, %now } })
	{
		my ($v, $lo) = ($now{$k} || 0, $least{$k} || 0);
		my $hi = $lo + ($most{$k} || 0);
		push @why, "counter $k is $v, expected $lo" . ($hi > $lo ? " to $hi" : '') if $v < $lo || $v > $hi;
	}
	push @why, complaints('watcher');
	my $seen = 0;
	for (output('watcher') =~ /^s (\d+)$/mg)
	{
		$self->{seen}++;
		push @why, "the watcher saw $_ in the hot counter after $seen" if $_ < $seen;
		$seen = $_;
	}
	push @why, "the watcher saw $seen in the hot counter, now it is " . ($now{'hot/n'} || 'nothing') if $seen > ($now{'hot/n'} || 0);
	push @why, "a committed transaction saw $1 in the hot counter, now it is " . ($now{'hot/n'} || 'nothing') if $out =~ /^s (\d+)$/m && $1 > ($now{'hot/n'} || 0);
	$self->{base} = \%now;
	return @why;
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} increments, $self->{values} returned values, none twice; $self->{seen} reads of the hot counter";
}

1;
