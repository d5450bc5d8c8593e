#
# Expire.pm: cells with a time to live.
#
# Invariants: before and after a crash no read returns an expired cell; cells with a long time to
# live and cells without one stay.
#
package Expire;
use strict;
use warnings;
use Server;

my $batch = 2500;

sub new { return bless { from => 1, acks => 0, reads => 0 }, $_[0]; }

sub setup
{
	return <<"SQL";
CREATE FOREIGN TABLE brief (k int, brief int OPTIONS (column 's:v'), at timestamptz OPTIONS (timestamp_of 's:v'),
  own int OPTIONS (column 'd:own'), own_at timestamptz OPTIONS (timestamp_of 'd:own'), long int OPTIONS (column 'l:v'), pad text)
  SERVER widetable OPTIONS (key 'k', families '{"d": {}, "s": {"ttl": "1 second", "compaction": "window:1 second"}, "l": {"ttl": "1 day"}}');
SQL
}

my $odd = "SELECT 'e ' || count(*) FROM brief WHERE at < now() - interval '1 second' OR own_at < now() - interval '0.5 second';\n";

sub begin
{
	my ($self) = @_;
	my $text = '';
	for my $t ($self->{from} .. $self->{from} + $batch)
	{
		$text .= "BEGIN;\nINSERT INTO brief (k, brief, long, pad) VALUES ($t, $t, $t, repeat('p', @{[$t % 300 + 1]}));\n"
		  . ($t % 3 ? '' : "SELECT widetable.put('brief', $t, 'd:own', $t, ttl => '0.5 second');\n") . "COMMIT;\n\\echo a $t\n" . ($t % 50 ? '' : $odd);
	}
	spawn('brief', 1, $text);
}

sub check
{
	my ($self) = @_;
	my @why = complaints('brief');
	my ($rc, $out, $err) = psql($odd . "SELECT 'k ' || k FROM brief WHERE long = k AND length(pad) = k % 300 + 1;\nSELECT 'n ' || count(*) FROM brief;\n");
	return "reading expiring rows: $err" if $rc;
	my $text = output('brief');
	for (($text . $out) =~ /^e (\d+)$/mg) { $self->{reads}++; push @why, "$_ rows show an expired cell" if $_ != 0; }
	my %there = map { $_ => 1 } $out =~ /^k (\d+)$/mg;
	my ($n) = $out =~ /^n (\d+)$/m;
	my $last = $self->{from} - 1;
	for ($text =~ /^a (\d+)$/mg) { $last = $_; $self->{acks}++; push @why, "row $_ with cells that expire is lost" unless $there{$_}; }
	push @why, "$n rows are there, " . scalar(keys %there) . " of them complete" if $n != keys %there;
	push @why, map { "row $_ with cells that expire is there, the last acknowledged one is $last" } grep { $_ > $last + 1 || $_ < $self->{from} } sort keys %there;
	return @why if @why;
	$self->{from} = $last + 2;
	($rc, $out, $err) = psql("DELETE FROM brief;\n");
	return $rc ? "cleaning expiring rows: $err" : ();
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} rows with cells that expire, no expired cell in $self->{reads} reads";
}

1;
