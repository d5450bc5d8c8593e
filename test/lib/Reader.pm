#
# Reader.pm: the readers of standby_history.pl: each compares wide and ordinary rows, and writes down
# which lists it has read.
#
# Lines of a reader's file:
#   R SESSION NODE KIND POSITION KEY:DIGEST...          lists; up to the position everything must be there
#   P SESSION NODE KIND POSITION BATCH:ROWS:ROWS...     batches: rows that are there, rows that it has
#   V, N, E                                            as above
#
package Reader;
use strict;
use warnings;
use Server;
use Wire;
use Prefix;
use Client;

sub run
{
	my ($log, $name, $node, $long) = @_;
	my $session = 0;
	my @settings = rand() < 0.4 ? map { "SET $_ = 0" } qw(parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size) : ();
	my $k = { log => $log };
	while (!stopped())
	{
		# a reader without a node goes where the primary is
		my ($on, $sockets) = $node ? @$node{qw(name sockets)} : @{ (map_now())[0] };
		my $c = $k->{c} = enter($log, $name, $sockets, @settings) or next;
		@$k{qw(node session lost)} = ($on, ++$session, 0);
		while (!stopped() && !$k->{lost})
		{
			my $bound = bound($k);
			next unless defined $bound;
			if ($long && rand() < 0.5) { long_read($k, $bound); }
			else { any(\&statement, \&statement, \&statement, \&transaction, \&transaction, \&batches, \&whole)->($k, $bound); }
		}
		continue { nap(rand 0.01); }
		$c->close;
	}
}

# Runs a statement.  Returns the rows, or undef after an error; then the transaction is over.
sub get
{
	my ($k, $sql) = @_;
	my $r = $k->{c}->query($sql);
	return $r->{rows} if $r->{code} eq '' && !$r->{lost};
	complain($k->{log}, $r, $sql);
	$k->{lost} = $r->{lost};
	$k->{c}->query('ROLLBACK') if !$r->{lost} && $k->{c}{status} ne 'I';
	return undef;
}

# What was committed up to this position of the log must be seen by the next statement.
sub bound
{
	my ($k) = @_;
	my $r = get($k, 'SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END, pg_is_in_recovery()');
	return undef unless $r;
	# On the primary a commit whose record is there need not be visible; it is when more has followed.
	# Behind what is flushed positions come again after a crash.
	return Prefix::position($r->[0][0]) - ($r->[0][1] eq 't' ? 0 : 1);
}

# Returns the condition for the rows of one to three generations up to now.
sub range
{
	my $g = generation();
	my $from = $g - int rand 3;
	return sprintf "k >= '%03d' AND k < '%03d'", $from < 0 ? 0 : $from, $g + 1;
}

# the row of a key, for messages: lists are long
sub short
{
	my ($row) = @_;
	my ($list, $n) = $row ? @$row : ('nothing', '');
	my $l = $list =~ tr/,//;
	return ($l > 12 ? "$l elements ... " . substr($list, -40) : $list) . " $n";
}

# Reads the lists of both tables in one statement.  Returns { key => [list, counter] } of the wide and
# of the ordinary table, or nothing after an error.
sub lists
{
	my ($k, $range) = @_;
	my $w = "SELECT 'w' AS s, k, v, n FROM hw WHERE $range";
	my $o = "SELECT 'o' AS s, k, v, n FROM ho WHERE $range";
	my @q = (
		"$w UNION ALL $o",
		"WITH o AS MATERIALIZED ($o), w AS MATERIALIZED ($w) TABLE o UNION ALL TABLE w",
		"SELECT x.s, k, x.v, x.n FROM ho o JOIN hw w USING (k) CROSS JOIN LATERAL (VALUES ('o', o.v, o.n), ('w', w.v, w.n)) x (s, v, n) WHERE $range",
		"SELECT s, k, x.v, x.n FROM ho CROSS JOIN LATERAL (SELECT 'w', w.v, w.n FROM hw w WHERE w.k = ho.k UNION ALL SELECT 'o', ho.v, ho.n) x (s, v, n) WHERE $range",
		"SELECT s, k, x.v, 0 FROM ho CROSS JOIN LATERAL (SELECT 'w', convert_from(value, 'UTF8') FROM widetable.cells('hw', k) WHERE qualifier = 'v' UNION ALL SELECT 'o', ho.v) x (s, v) WHERE $range",
	);
	my $rows = get($k, any(@q)) or return;
	my %r = (w => {}, o => {});
	$r{ $_->[0] }{ $_->[1] } = [map { defined $_ ? $_ : 'NULL' } @$_[2, 3]] for @$rows;
	my ($lists, $ordinary) = @r{qw(w o)};
	for my $key (sort keys %$ordinary)
	{
		my @both = map { $_->{$key} ? join ' ', @{ $_->{$key} } : 'nothing' } $lists, $ordinary;
		next if $both[0] eq $both[1];
		print { $k->{log} } "V in one statement on $k->{node} the wide row of $key is ", short($lists->{$key}), ', the ordinary one is ', short($ordinary->{$key}), "\n";
	}
	for my $key (grep { /p/ && !$ordinary->{$_} } sort keys %$lists) { print { $k->{log} } "V on $k->{node} the ordinary row of $key is missing\n"; }
	return ($lists, $ordinary);
}

sub report
{
	my ($k, $kind, $bound, $lists) = @_;
	print { $k->{log} } join(' ', 'R', $k->{session}, $k->{node}, $kind, $bound, map { "$_:" . Prefix::digest($lists->{$_}[0]) } sort keys %$lists), "\n";
}

sub statement
{
	my ($k, $bound) = @_;
	my ($w) = lists($k, range()) or return;
	report($k, 'statements', $bound, $w);
}

# compares two reads of one snapshot, which may have other keys or no counters
sub same
{
	my ($k, $what, $a, $b) = @_;
	for my $key (grep { $b->{$_} } sort keys %$a)
	{
		my ($x, $y) = ($a->{$key}, $b->{$key});
		next if $x->[0] eq $y->[0] && ($x->[1] eq $y->[1] || $x->[1] eq '0' || $y->[1] eq '0');
		print { $k->{log} } "V in one snapshot on $k->{node}, $what: $key was ", short($x), ', then ', short($y), "\n";
	}
}

sub transaction
{
	my ($k, $bound) = @_;
	my $range = range();
	get($k, 'BEGIN ISOLATION LEVEL REPEATABLE READ' . any('', ' READ ONLY')) or return;
	my %all;
	for (1 .. 2 + int rand 3)
	{
		my ($w) = lists($k, any($range, $range, range())) or return;
		same($k, 'statements of a transaction', \%all, $w);
		%all = (%$w, %all);
		nap(rand 0.05);
	}
	get($k, 'COMMIT') or return;
	report($k, 'transactions', $bound, \%all);
}

# a transaction with cursors that stays open until a fault is over
sub long_read
{
	my ($k, $bound) = @_;
	my $range = range();
	my $done = faults_done();
	get($k, 'BEGIN ISOLATION LEVEL REPEATABLE READ') or return;
	my ($w, $o) = lists($k, $range) or return;
	report($k, 'transactions', $bound, $w);
	get($k, "DECLARE cw CURSOR FOR SELECT k, v, n FROM hw WHERE $range" . any('', ' ORDER BY k', ' ORDER BY k DESC')) or return;
	get($k, "DECLARE co CURSOR FOR SELECT k, v, n FROM ho WHERE $range") or return;
	my @rows;
	for (qw(cw co)) { push @rows, @{ get($k, "FETCH 2 FROM $_") or return }; }
	for (1 .. 50) { last if stopped() || faults_done() > $done; nap(0.1); }
	for (qw(cw co)) { push @rows, @{ get($k, "FETCH ALL FROM $_") or return }; }
	my %n;
	for (@rows) { $n{ $_->[0] }++; same($k, 'cursors', $w, { $_->[0] => [@$_[1, 2]] }); }
	for (sort keys %$w) { my $want = $o->{$_} || /p/ ? 2 : 1; print { $k->{log} } "V the cursors on $k->{node} returned $_ ", $n{$_} || 0, " times\n" if ($n{$_} || 0) != $want; }
	my ($again) = lists($k, $range) or return;
	same($k, 'before and after', $w, $again);
	get($k, 'COMMIT') or return;
	print { $k->{log} } 'N cursors', faults_done() > $done ? ' across a fault' : '', "\n";
}

sub batches
{
	my ($k, $bound) = @_;
	if (rand() < 0.2)
	{
		# the lock on bo is a gate: TRUNCATE and ALTER take it before that on bw
		my $r = get($k, "SELECT * FROM (SELECT * FROM bo EXCEPT ALL SELECT * FROM bw) x UNION ALL SELECT * FROM (SELECT * FROM bw EXCEPT ALL SELECT * FROM bo) y LIMIT 3") or return;
		print { $k->{log} } "V in one statement on $k->{node} one table of batches has the row @{[ map { defined $_ ? $_ : 'NULL' } @$_[0, 1, 2] ]}, the other one has not\n" for @$r;
		print { $k->{log} } "N batches compared\n";
		return;
	}
	my $r = get($k, 'SELECT b, o.n, w.n, o.x, w.x FROM (SELECT b, count(*) AS n, sum(x * i + length(pad)) AS x FROM bo GROUP BY b) o ' .
		'FULL JOIN (SELECT b, count(*) AS n, sum(x * i + length(pad)) AS x FROM bw GROUP BY b) w USING (b)') or return;
	for (@$r)
	{
		my ($b, @f) = map { defined $_ ? $_ : 'nothing' } @$_;
		print { $k->{log} } "V in one statement on $k->{node} batch $b has $f[0] ordinary rows ($f[2]) and $f[1] wide rows ($f[3])\n" if $f[0] ne $f[1] || $f[2] ne $f[3];
	}
	print { $k->{log} } join(' ', 'P', $k->{session}, $k->{node}, 'batches', $bound, map { my $n = defined $_->[2] ? $_->[2] : 0; "$_->[0]:$n:" . batch_size($_->[0]) } grep { $_->[0] > 0 } @$r), "\n";
}

# all rows of the pairs
sub whole
{
	my ($k, $bound) = @_;
	my $md5 = "md5(string_agg(k || ':' || v || n, ' ' ORDER BY k))";
	my $r = get($k, "SELECT (SELECT $md5 FROM hw WHERE k LIKE '___p%'), (SELECT $md5 FROM ho)") or return;
	print { $k->{log} } "V in one statement on $k->{node} the wide rows are not the ordinary ones\n" if $r->[0][0] ne $r->[0][1];
	print { $k->{log} } "N whole tables compared\n";
}

1;
