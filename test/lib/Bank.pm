#
# Bank.pm: transfers between accounts in an ordinary table, two wide tables and two families of
# one of them.
#
# Invariants: the sum of all accounts is constant in every statement and within a REPEATABLE READ
# transaction.  Each transfer inserts a row into a journal (a wide table), and in every statement
# each balance is the opening balance plus the journal's transfers.  Clients record the
# acknowledged transfers; after a crash all of them are in the journal, and at most one more of
# each client.
#
package Bank;
use strict;
use warnings;
use Server;

my $accounts = 40;				# 0-9 heap, 10-19 bank_one, 20-29 x of bank_two, 30-39 y
my $opening = 1000;
my $batch = 1500;
my $total = $accounts * $opening;

my $balances = "SELECT id AS acct, v FROM bank_heap UNION ALL SELECT id, v FROM bank_one
 UNION ALL SELECT 20 + 3 * a + b, x FROM bank_two UNION ALL SELECT 30 + 3 * a + b, y FROM bank_two";
my $total_sql = "(SELECT sum(v) FROM bank_heap) + (SELECT sum(v) FROM bank_one) + (SELECT sum(x) + sum(y) FROM bank_two)";
# the number of accounts whose balance differs from the journal
my $mismatches = "(WITH moved AS (SELECT acct, sum(m)::bigint AS m FROM (SELECT src AS acct, -amount AS m FROM bank_log
 UNION ALL SELECT dst, amount FROM bank_log) l GROUP BY acct)
SELECT count(*) FROM bank_base b LEFT JOIN moved USING (acct) FULL JOIN ($balances) n USING (acct)
 WHERE b.v + coalesce(moved.m, 0) IS DISTINCT FROM n.v)";

sub new
{
	my ($class, $clients) = @_;
	return bless { clients => $clients, next => 1, acks => 0, reads => 0, retries => 0 }, $class;
}

sub setup
{
	return <<"SQL";
CREATE TABLE bank_heap (id int PRIMARY KEY, v bigint);
CREATE FOREIGN TABLE bank_one (id int, v bigint, note text OPTIONS (column 'n:note'))
  SERVER widetable OPTIONS (key 'id', families '{"d": {}, "n": {"versions": 2}}');
CREATE FOREIGN TABLE bank_two (a int, b int, x bigint OPTIONS (column 'x:v', encoding 'counter'),
  y bigint OPTIONS (column 'y:v', encoding 'counter'))
  SERVER widetable OPTIONS (key 'a, b desc', salt_buckets '3', families '{"x": {}, "y": {"compression": "none"}}');
CREATE FOREIGN TABLE bank_log (client int, n int, src int, dst int, amount int)
  SERVER widetable OPTIONS (key 'client, n');
CREATE TABLE bank_base (acct int PRIMARY KEY, v bigint);
INSERT INTO bank_heap SELECT g, $opening FROM generate_series(0, 9) g;
INSERT INTO bank_one SELECT g, $opening FROM generate_series(10, 19) g;
INSERT INTO bank_two SELECT g / 3, g % 3, $opening, $opening FROM generate_series(0, 9) g;
INSERT INTO bank_base SELECT g, $opening FROM generate_series(0, @{[$accounts - 1]}) g;
SQL
}

# ---------------------------------------------------------------- transfers

# table, column and condition of an account
sub account
{
	my ($n) = @_;
	return ('bank_heap', 'v', "id = $n") if $n < 10;
	return ('bank_one', 'v', "id = $n") if $n < 20;
	my $i = $n % 10;
	return ('bank_two', $n < 30 ? 'x' : 'y', sprintf 'a = %d AND b = %d', int($i / 3), $i % 3);
}

sub change
{
	my ($n, $amount, $how) = @_;
	my ($table, $col, $where) = account($n);
	# read under a row lock, written as a constant: if the lock is released too early, a change is
	# lost
	return "SELECT $col AS v$n FROM $table WHERE $where FOR UPDATE \\gset\nUPDATE $table SET $col = :v$n + ($amount) WHERE $where;\n" if $how == 1;
	# the same, but read by the next statement after the locking one
	return "SELECT 1 FROM $table WHERE $where FOR UPDATE;\nSELECT $col AS v$n FROM $table WHERE $where \\gset\nUPDATE $table SET $col = :v$n + ($amount) WHERE $where;\n" if $how == 4;
	return sprintf "SELECT widetable.increment('bank_two', ROW(%d, %d), '%s', %d);\n", int($n % 10 / 3), $n % 10 % 3, $col, $amount if $how == 2 && $n >= 20;
	return "UPDATE $table SET $col = $col + ($amount), note = repeat('n', abs($amount)) WHERE $where;\n" if $how == 3 && $table eq 'bank_one';
	return "UPDATE $table SET $col = $col + ($amount) WHERE $where;\n";
}

sub transfer
{
	my ($c, $n) = @_;
	my $wide_only = rand() < 0.6;
	my ($src, $dst) = map { int($wide_only ? 10 + rand(30) : rand(40)) } 1 .. 2;
	$dst = $src >= 20 ? 20 + ($src + 10) % 20 : ($src + 1) % 10 + ($src < 10 ? 0 : 10) if $src == $dst || rand() < 0.1;
	my $amount = 1 + int rand 50;
	my $log = "INSERT INTO bank_log VALUES ($c, $n, $src, $dst, $amount);\n";
	my ($out, $in) = (change($src, -$amount, int rand 6), change($dst, $amount, int rand 6));
	# usually in the order of the accounts; the others may deadlock
	my @steps = $src < $dst || rand() < 0.05 ? ($out, $in) : ($in, $out);
	my $kind = int rand 12;
	if ($kind == 0 && $src >= 20 && $dst >= 20 && $src % 10 == $dst % 10)
	{
		my ($from, $to) = $src < 30 ? ('x', 'y') : ('y', 'x');
		@steps = sprintf "SELECT widetable.increment('bank_two', ROW(%d, %d), '{\"%s:v\": %d, \"%s:v\": %d}'::jsonb);\n",
		  int($src % 10 / 3), $src % 10 % 3, $from, -$amount, $to, $amount;
	}
	if ($kind == 1)
	{
		@steps = ("SAVEPOINT s;\n", change($src, 1000000, 0), "INSERT INTO bank_log VALUES ($c, $n, 0, 0, 0);\n", "ROLLBACK TO s;\n", @steps);
	}
	splice @steps, 1, 0, sprintf "SELECT pg_sleep(%.4f);\n", rand 0.02 if rand() < 0.1;
	if (rand() < 0.5) { push @steps, $log; } else { unshift @steps, $log; }
	my $begin = 'BEGIN' . (' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE', ('') x 9)[rand 12] . ";\n";
	# SERIALIZABLE transactions fail at commit, after their changes are in WAL
	unshift @steps, "SELECT sum(v) FROM bank_heap;\n" if $begin =~ /SERIALIZABLE/;
	return join '', $begin, @steps, "ROLLBACK;\n" if $kind == 2;
	return join '', "\\set ok 0\n", $begin, @steps, "SELECT 1 AS ok \\gset\nCOMMIT;\n\\if :ERROR\n\\elif :ok\n\\echo a $n\n\\endif\n";
}

sub begin
{
	my ($self) = @_;
	my $first = $self->{next};
	# default values, because a failed transaction reads nothing
	my $unread = join '', map { "\\set v$_ 0\n" } 0 .. $accounts - 1;
	$self->{next} += $batch;
	for my $c (1 .. $self->{clients}) { spawn("bank$c", 0, "SET deadlock_timeout = '20ms';\n" . $unread . join '', map { transfer($c, $_) } $first .. $first + $batch - 1); }
	spawn('teller', 1, join '', map { "SELECT 't ' || $total_sql;\n" . ($_ % 10 == 0 ? "SELECT 'm ' || $mismatches;\n" : '') } 1 .. 400);
	my @parts = ('SELECT sum(v) AS h FROM bank_heap \gset', 'SELECT sum(v) AS o FROM bank_one \gset', 'SELECT sum(x) AS x FROM bank_two \gset',
		'SELECT sum(y) AS y FROM bank_two \gset');
	my $auditor = "SELECT count(*) FROM bank_one;\n";	# loads the library
	for my $n (1 .. 200)
	{
		my @order = sort { rand() <=> 0.5 } @parts;
		my $pause = sprintf "SELECT pg_sleep(%.3f);\n", rand 0.05;
		$auditor .= "BEGIN ISOLATION LEVEL REPEATABLE READ;\n" . join($pause, map { "$_\n" } @order)
		  . "SELECT 't ' || :h + :o + :x + :y;\nSELECT 't ' || $total_sql;\n" . ($n % 5 ? '' : "SELECT 'm ' || $mismatches;\n") . "COMMIT;\n";
	}
	spawn('auditor', 1, $auditor);
}

# ------------------------------------------------------------------- checks

sub check
{
	my ($self) = @_;
	my @why;
	for my $who ('teller', 'auditor')
	{
		push @why, complaints($who);
		my $out = output($who);
		for ($out =~ /^t (-?\d+)$/mg) { $self->{reads}++; push @why, "$who: the sum of all accounts is $_, expected $total" if $_ != $total; }
		for ($out =~ /^m (\d+)$/mg) { push @why, "$who: $_ accounts differ from the journal" if $_ != 0; }
	}
	my ($rc, $out, $err) = psql("SELECT 't ' || $total_sql;\nSELECT 'm ' || $mismatches;\nSELECT 'l ' || client || ' ' || n FROM bank_log;\n");
	return (@why, "reading the bank: $err") if $rc;
	push @why, "the sum of all accounts is $1, expected $total" if $out !~ /^t (-?\d+)$/m || $1 != $total;
	push @why, "$1 accounts differ from the journal" if $out !~ /^m (\d+)$/m || $1 != 0;
	my %log;
	$log{$1}{$2} = 1 while $out =~ /^l (\d+) (\d+)$/mg;
	for my $c (1 .. $self->{clients})
	{
		push @why, complaints("bank$c", qr/deadlock detected|could not serialize access|current transaction is aborted/);
		$self->{retries} += () = slurp("$dir/bank$c.err") =~ /(deadlock detected|could not serialize)/g;
		my $last = 0;
		for my $n (output("bank$c") =~ /^a (\d+)$/mg)
		{
			$self->{acks}++;
			$last = $n;
			push @why, "transfer $n of client $c is lost" unless delete $log{$c}{$n};
		}
		my @more = sort { $a <=> $b } keys %{ $log{$c} || {} };
		push @why, "client $c has unacknowledged transfers @more, the last acknowledged one is $last" if @more > 1 || (@more && $more[0] < $last);
	}
	return @why if @why;
	# empties the journal
	($rc, $out, $err) = psql("BEGIN;\nUPDATE bank_base b SET v = n.v FROM ($balances) n WHERE n.acct = b.acct AND n.v <> b.v;\nDELETE FROM bank_log;\nCOMMIT;\n");
	return $rc ? "emptying the journal: $err" : ();
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} transfers, $self->{retries} deadlocks and conflicts, the sum is correct in $self->{reads} reads";
}

1;
