# portal: a parallel statement uses the value of widetable.as_of at the start of the executor
# (Bind), even if the setting changes before the statement runs (Execute).  psql cannot separate the
# two, so the script uses the wire protocol.
. "${0%/*}/common.sh"

new_cluster
cat >"$T/portal.pl" <<'PERL'
use strict;
use warnings;
use IO::Socket::UNIX;
my $port = $ENV{PGPORT} || 5432;
my $s = IO::Socket::UNIX->new(Peer => "$ENV{PGHOST}/.s.PGSQL.$port") or die "no connection: $!\n";
sub put { my ($type, $body) = @_; syswrite $s, $type . pack('N', length($body) + 4) . $body; }
sub take { my ($n, $b) = (@_, ''); while (length $b < $n) { sysread($s, $b, $n - length $b, length $b) or die "the server closed the connection\n"; } return $b; }
# reads messages up to one of this type; returns the first column of the rows among them
sub upto
{
	my @rows;
	for (;;)
	{
		my ($type, $len) = unpack 'aN', take(5);
		my $body = $len > 4 ? take($len - 4) : '';
		die "error: $body\n" if $type eq 'E';
		push @rows, unpack 'x6 A*', $body if $type eq 'D';
		return @rows if $type eq $_[0];
	}
}
sub query { put('Q', "$_[0]\0"); return upto('Z'); }
put('', pack('N', 196608) . "user\0$ENV{PGUSER}\0database\0$ENV{PGDATABASE}\0\0");
upto('Z');
query($_) for 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0', 'SET min_parallel_table_scan_size = 0',
	'SET cpu_tuple_cost = 1', 'SET parallel_leader_participation = off', 'BEGIN';
print "parallel plan\n" if grep /Parallel Foreign Scan/, query('EXPLAIN SELECT sum(v) + bit_xor(0) FROM w');
for my $between ('SELECT 1', "SET widetable.as_of = '2000-01-01'")
{
	put('P', "\0SELECT sum(v) + bit_xor(0) FROM w\0\0\0");
	put('B', "p\0\0" . pack('nnn', 0, 0, 0));
	put('H', '');
	upto('2');
	query($between);
	put('E', "p\0" . pack('N', 0));
	put('C', "Pp\0");
	put('S', '');
	print join(',', upto('Z')), "\n";
}
PERL
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v int) SERVER widetable OPTIONS (key 'k')" \
	'INSERT INTO w SELECT g, g FROM generate_series(1, 3000) g' >/dev/null
is "$(perl "$T/portal.pl" 2>&1)" "parallel plan
4501500
4501500" "a portal reads as of its Bind, with and without workers"
finish
