#
# Claims.pm: work items that several workers claim, each at most once.
#
# The workers claim items in four ways: check_and_mutate, UPDATE with a condition, a queue with SKIP
# LOCKED, and DELETE ... RETURNING into an ordinary table.  They record the acknowledged claims.
# Invariants after a crash: each recorded item belongs to the worker that recorded it, no two
# workers recorded the same item, and the unrecorded items of a worker come from at most one
# transaction.
#
package Claims;
use strict;
use warnings;
use Server;

my @ways = qw(check update queue delete check queue);
my $items = 1500;
my $grow = 200;					# items of one transaction of the producer

sub new
{
	my ($class, $clients) = @_;
	return bless { clients => $clients, first => 1, claims => 0, refused => 0 }, $class;
}

sub setup
{
	return <<"SQL";
CREATE FOREIGN TABLE work (id int, owner text OPTIONS (column 'm:owner'), body text OPTIONS (column 'p:body'))
  SERVER widetable OPTIONS (key 'id', families '{"p": {}, "m": {"bloom": "rowcol"}}');
CREATE TABLE work_done (id int PRIMARY KEY, owner text);
SQL
}

sub fill { my ($from, $n) = @_; return sprintf "INSERT INTO work SELECT g, NULL, repeat('b', g %% 200) || 'x' FROM generate_series(%d, %d) g;\n", $from, $from + $n - 1; }

sub claim
{
	my ($w, $id) = @_;
	my $way = $ways[($w - 1) % @ways];
	# a claim that is rolled back
	return "BEGIN;\nUPDATE work SET owner = 'nobody' WHERE id = $id AND owner IS NULL;\nROLLBACK;\n" if rand() < 0.05;
	return "SELECT CASE WHEN widetable.check_and_mutate('work', $id, 'm:owner', 'is null', NULL, '[{\"put\": {\"m:owner\": \"w$w\"}}]') THEN 'c $id' ELSE 'no' END;\n"
	  if $way eq 'check';
	return "UPDATE work SET owner = 'w$w' WHERE id = $id AND owner IS NULL RETURNING 'c ' || id;\n" if $way eq 'update';
	return "UPDATE work SET owner = 'w$w' WHERE id = ANY (ARRAY(SELECT id FROM work WHERE owner IS NULL ORDER BY id LIMIT 5 FOR UPDATE SKIP LOCKED)) RETURNING 'c ' || id;\n"
	  if $way eq 'queue';
	return "WITH d AS (DELETE FROM work WHERE id = $id AND owner IS NULL RETURNING id) INSERT INTO work_done SELECT id, 'w$w' FROM d RETURNING 'c ' || id;\n";
}

sub begin
{
	my ($self) = @_;
	my $first = $self->{first};
	my ($rc, $out, $err) = psql(fill($first, $items));
	die "work: $err" if $rc;
	my $added = 40;
	$self->{first} = $first + $items + $added * $grow;
	spawn('producer', 1, join '', map { "SELECT pg_sleep(0.05);\n" . fill($first + $items + $_ * $grow, $grow) . "\\echo p " . ($first + $items + $_ * $grow) . "\n" } 0 .. $added - 1);
	for my $w (1 .. $self->{clients})
	{
		my @ids = map { $first + int rand $items * ($_ > 1000 ? 2 : 1) } 1 .. 3000;
		# check_and_mutate would create a missing row: only items that exist and that no worker
		# deletes
		@ids = map { $first + ($_ - $first) % $items } @ids if $ways[($w - 1) % @ways] eq 'check';
		@ids = grep { $_ % 3 } @ids if $ways[($w - 1) % @ways] eq 'check';
		@ids = grep { $_ % 3 == 0 } @ids if $ways[($w - 1) % @ways] eq 'delete';
		spawn("work$w", 1, join '', map { claim($w, $_) } @ids);
	}
}

sub check
{
	my ($self) = @_;
	my (%owner, %mine, %by, @why);
	my ($rc, $out, $err) = psql("SELECT id || ' ' || coalesce(owner, '-') || CASE WHEN body IS DISTINCT FROM repeat('b', id % 200) || 'x' THEN ' bad' ELSE '' END FROM work;\nSELECT id || ' ' || owner FROM work_done;\n");
	return "reading the work: $err" if $rc;
	for (split /\n/, $out)
	{
		my ($id, $o, $bad) = split / /;
		push @why, "item $id is in both tables" if exists $owner{$id};
		push @why, "item $id has lost its body" if $bad;
		$owner{$id} = $o;
		$by{$o}{$id} = 1;
	}
	push @why, "rolled back claims are visible" if $by{'nobody'};
	for my $w (1 .. $self->{clients})
	{
		push @why, complaints("work$w");
		my $text = output("work$w");
		$self->{refused} += () = $text =~ /^no$/mg;
		for my $id ($text =~ /^c (\d+)$/mg)
		{
			$self->{claims}++;
			push @why, "item $id was claimed by w$w and by w$mine{$id}" if exists $mine{$id};
			$mine{$id} = $w;
			push @why, "item $id was claimed by w$w, now its owner is " . ($owner{$id} || 'missing') unless ($owner{$id} || '') eq "w$w";
			delete $by{"w$w"}{$id};
		}
		my @more = sort { $a <=> $b } keys %{ $by{"w$w"} || {} };
		push @why, "w$w has unacknowledged items: @more" if @more > ($ways[($w - 1) % @ways] eq 'queue' ? 5 : 1);
	}
	push @why, complaints('producer');
	for my $p (output('producer') =~ /^p (\d+)$/mg)
	{
		my @lost = grep { !exists $owner{$_} } $p .. $p + $grow - 1;
		push @why, "items of the producer are lost: @lost[0 .. ($#lost < 9 ? $#lost : 9)]" if @lost;
	}
	return @why if @why;
	($rc, $out, $err) = psql("DELETE FROM work;\nTRUNCATE work_done;\n");
	return $rc ? "cleaning the work: $err" : ();
}

sub summary
{
	my ($self) = @_;
	return "$self->{claims} claims, $self->{refused} refused, no item claimed twice";
}

1;
