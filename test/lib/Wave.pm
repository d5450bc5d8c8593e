#
# Wave.pm: transactions that change every row of a wide table.
#
# Invariant: every reader, also the first one after a crash, sees all rows before or all rows after
# a change, although the change takes some time.
#
package Wave;
use strict;
use warnings;
use Server;

my $rows = 1500;
my $batch = 500;

sub new { return bless { at => 0, acks => 0, reads => 0 }, $_[0]; }

sub setup
{
	return <<"SQL";
CREATE FOREIGN TABLE wave (k int, v int, w int OPTIONS (column 'x:w')) SERVER widetable OPTIONS (key 'k', families '{"d": {}, "x": {}}');
INSERT INTO wave SELECT g, 0, 0 FROM generate_series(1, $rows) g;
SQL
}

my $look = "SELECT concat_ws(' ', 'w', count(*), min(v), max(v), min(w), max(w)) FROM wave";

sub begin
{
	my ($self) = @_;
	my $next = $self->{at} + 1;
	spawn('wave', 1, join '', map {
		($_ % 2 ? "UPDATE wave SET v = $_, w = $_;\n" : "INSERT INTO wave SELECT g, $_, $_ FROM generate_series(1, $rows) g;\n")
		  . ($_ % 5 ? '' : "BEGIN;\nDELETE FROM wave WHERE k > 700;\nSAVEPOINT s;\nUPDATE wave SET v = -1;\nROLLBACK;\n") . "\\echo a $_\n" } $next .. $next + $batch);
	# reads of all rows and of every other row, each in one statement
	spawn('surfer', 1, join '', map { $_ % 2 ? "$look;\n" : "$look WHERE k % 2 = 0;\n" } 1 .. 2000);
}

# true if a read does not show a single state
sub odd
{
	my ($line) = @_;
	my ($n, @v) = split / /, $line;
	return ($n != $rows && $n != $rows / 2) || grep { $_ != $v[0] } @v;
}

sub check
{
	my ($self) = @_;
	my @why = (complaints('wave'), complaints('surfer'));
	for (output('surfer') =~ /^w (.*)$/mg)
	{
		$self->{reads}++;
		push @why, "a reader saw a part of a change: $_" if odd($_);
	}
	my $now = value($look);
	return (@why, 'the rows of wave cannot be read') unless defined $now;
	my $last = $self->{at};
	for (output('wave') =~ /^a (\d+)$/mg) { $last = $_; $self->{acks}++; }
	my ($v) = $now =~ /^w $rows (-?\d+)/;
	return (@why, "all rows: $now, the last acknowledged change is $last") if !defined $v || odd(substr $now, 2) || ($v != $last && $v != $last + 1);
	$self->{at} = $v;
	return @why;
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} changes of all rows, none seen in part in $self->{reads} reads";
}

1;
