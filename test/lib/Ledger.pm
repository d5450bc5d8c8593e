#
# Ledger.pm: a load whose state after every transaction is known.
#
# (C, N) alone determines what transaction N of client C does.  Invariants: after a crash the
# client's rows in all tables together are exactly those after N or those after N + 1, where N is
# the last acknowledged transaction: no acknowledged one is lost, and the one in doubt is there
# wholly or not at all, in wide and ordinary tables alike.  Rolled back transactions and savepoints
# are never visible.  During the load a reader compares wide and ordinary tables in single
# statements.
#
package Ledger;
use strict;
use warnings;
use Server;

my $slots = 60;
my $batch = 3000;				# transactions in one script

my @kinds = (qw(book book book solo solo solo1 acct acct savepoint abort hot hot mix forget move));

sub new
{
	my ($class, $clients) = @_;
	return bless { clients => $clients, at => [(0) x ($clients + 1)], state => [map { {} } 0 .. $clients],
		acks => 0, doubts => 0, kept => 0, reads => 0 }, $class;
}

# --------------------------------------------------------- the transactions

sub kind { my ($c, $t) = @_; return $t % 40 == 0 ? 'bulk' : $kinds[pick(scalar @kinds, $c, $t, 1)]; }
sub slot { my ($c, $t, $k) = @_; return pick($slots, $c, $t, 10 + $k); }

# The number of rows of transaction $t.  Every other bulk is larger than half a memtable, so that
# its commit writes files.
sub parts
{
	my ($c, $t) = @_;
	return kind($c, $t) ne 'bulk' ? 1 + pick(3, $c, $t, 2) : $t % 80 ? 60 : 260;
}

# changes the state of client $c from before transaction $t to after it
sub apply
{
	my ($s, $c, $t) = @_;
	my $k = kind($c, $t);
	my ($a, $b, $d) = map { slot($c, $t, $_) } 1 .. 3;
	if ($k eq 'book' || $k eq 'bulk') { $s->{"b/$t"} = parts($c, $t); }
	elsif ($k eq 'solo')
	{
		$s->{"s/$a"} = $t;
		$s->{"s/$b"} = $t if exists $s->{"s/$b"};
		delete $s->{"s/$d"};
	}
	elsif ($k eq 'solo1') { $s->{"s/$_"} = $t for $a, $b, $d; }
	elsif ($k eq 'acct' || $k eq 'savepoint')
	{
		$s->{"a/$a"} = $t;
		$s->{"a/$b"} = $t if exists $s->{"a/$b"};
		delete $s->{"a/$d"};
	}
	elsif ($k eq 'hot') { $s->{'hot'}++; }
	elsif ($k eq 'mix') { $s->{'mix'}++; }
	elsif ($k eq 'forget')
	{
		for (keys %$s) { delete $s->{$_} if m{^b/(\d+)$} && $1 < $t - 300; }
	}
	elsif ($k eq 'move')
	{
		# an UPDATE of the key in both tables
		if (exists $s->{"a/$a"} && !exists $s->{"a/$b"}) { $s->{"a/$b"} = delete $s->{"a/$a"}; }
	}
}

sub sql
{
	my ($c, $t) = @_;
	my $k = kind($c, $t);
	my ($a, $b, $d) = map { slot($c, $t, $_) } 1 .. 3;
	my $id = $c * 1000000000 + $t;
	my $pad = "repeat(md5('$c:$t'), 8)";
	my $ghost = -$id;
	my $acct = "INSERT INTO acct_heap VALUES ($c, $a, $t) ON CONFLICT (client, slot) DO UPDATE SET v = $t;
INSERT INTO acct_wide VALUES ($c, $a, $t);
UPDATE acct_wide SET v = $t WHERE client = $c AND slot = $b;
UPDATE acct_heap SET v = $t WHERE client = $c AND slot = $b;
DELETE FROM acct_heap WHERE client = $c AND slot = $d;
DELETE FROM acct_wide WHERE client = $c AND slot = $d;
";
	if ($k eq 'book' || $k eq 'bulk')
	{
		my $n = parts($c, $t);
		my $wide = "INSERT INTO book_wide SELECT $id, g, md5($id || ':' || g), repeat(md5($id || '-' || g), 1 + ((g * 37 + $t) % 240)) FROM generate_series(1, $n) g;\n";
		my $heap = "INSERT INTO book_heap SELECT $id, g, md5($id || ':' || g) FROM generate_series(1, $n) g;\n";
		return "BEGIN;\n" . ($t % 2 ? $wide . $heap : $heap . $wide) . "COMMIT;\n";
	}
	if ($k eq 'solo')
	{
		return "BEGIN;
INSERT INTO solo VALUES ($c, $a, $t, $pad);
UPDATE solo SET v = $t, pad = $pad WHERE client = $c AND slot = $b;
DELETE FROM solo WHERE client = $c AND slot = $d;
COMMIT;
";
	}
	if ($k eq 'solo1')
	{
		my %once = map { $_ => 1 } $a, $b, $d;
		return "INSERT INTO solo VALUES " . join(', ', map { "($c, $_, $t, $pad)" } sort keys %once) . ";\n";
	}
	return "BEGIN;\n${acct}COMMIT;\n" if $k eq 'acct';
	return "BEGIN;
SAVEPOINT one;
INSERT INTO acct_wide VALUES ($c, $slots + $a, -1);
INSERT INTO acct_heap VALUES ($c, $slots + $a, -1);
DELETE FROM acct_wide WHERE client = $c;
ROLLBACK TO one;
${acct}COMMIT;
" if $k eq 'savepoint';
	return "BEGIN;
INSERT INTO book_wide VALUES ($ghost, 1, 'ghost', repeat('g', 5000));
INSERT INTO book_heap VALUES ($ghost, 1, 'ghost');
DELETE FROM solo WHERE client = $c;
INSERT INTO solo VALUES ($c, $slots + $a, -1, 'ghost');
ROLLBACK;
" if $k eq 'abort';
	return "SELECT widetable.increment('cnt', 'hot', '{\"c:n\": 1, \"k:$c\": 1}'::jsonb);\n" if $k eq 'hot';
	return "BEGIN;
UPDATE cnt_heap SET n = n + 1 WHERE name = 'c$c';
SELECT widetable.increment('cnt', 'c$c', 'c:n');
COMMIT;
" if $k eq 'mix';
	if ($k eq 'forget')
	{
		my ($lo, $hi) = ($c * 1000000000, $id - 300);
		return "BEGIN;
DELETE FROM book_wide WHERE id >= $lo AND id < $hi;
DELETE FROM book_heap WHERE id >= $lo AND id < $hi;
COMMIT;
";
	}
	return "BEGIN;
UPDATE acct_heap SET slot = $b WHERE client = $c AND slot = $a AND NOT EXISTS (SELECT FROM acct_heap WHERE client = $c AND slot = $b);
UPDATE acct_wide SET slot = $b WHERE client = $c AND slot = $a AND NOT EXISTS (SELECT FROM acct_wide WHERE client = $c AND slot = $b);
COMMIT;
" if $k eq 'move';
	die $k;
}

# ------------------------------------------------------------------- states

sub setup
{
	my ($self) = @_;
	my $n = $self->{clients};
	my $counters = join ', ', map { "('c$_', 0)" } 1 .. $n;
	my $cols = join ', ', map { "n$_ bigint OPTIONS (column 'k:$_', encoding 'counter')" } 1 .. $n;
	return <<"SQL";
CREATE TABLE book_heap (id bigint, part int, h text, PRIMARY KEY (id, part));
CREATE FOREIGN TABLE book_wide (id bigint, part int, h text, body text OPTIONS (column 'b:body'))
  SERVER widetable OPTIONS (key 'id, part', families '{"d": {}, "b": {"compression": "none", "bloom": "rowcol"}}');
CREATE TABLE acct_heap (client int, slot int, v int, PRIMARY KEY (client, slot));
CREATE FOREIGN TABLE acct_wide (client int, slot int, v int)
  SERVER widetable OPTIONS (key 'client, slot', families '{"d": {"versions": 3}}');
CREATE FOREIGN TABLE solo (client int, slot int, v int, pad text OPTIONS (column 'x:pad'))
  SERVER widetable OPTIONS (key 'client, slot desc', families '{"d": {}, "x": {"versions": 2}}');
CREATE FOREIGN TABLE cnt (name text COLLATE "C", n bigint OPTIONS (column 'c:n', encoding 'counter'), $cols)
  SERVER widetable OPTIONS (key 'name', families '{"c": {}, "k": {}}');
CREATE TABLE cnt_heap (name text PRIMARY KEY, n bigint);
INSERT INTO cnt_heap VALUES $counters;
SQL
}

# A query for the state on the server: lines "client|key|value"; b/, a/ and mix appear once from the
# wide tables (w:) and once from the ordinary ones (h:).
sub state_sql
{
	my ($self) = @_;
	my $hot = join ', ', map { "('$_', n$_)" } 1 .. $self->{clients};
	return q{
SELECT concat_ws('|', client, 's/' || slot, v || CASE WHEN pad = repeat(md5(client || ':' || v), 8) THEN '' ELSE ' bad' END) FROM solo
UNION ALL
SELECT concat_ws('|', client, 'w:a/' || slot, v) FROM acct_wide
UNION ALL
SELECT concat_ws('|', client, 'h:a/' || slot, v) FROM acct_heap
UNION ALL
SELECT concat_ws('|', id / 1000000000, 'w:b/' || id % 1000000000, count(*) ||
	CASE WHEN bool_and(h = md5(id || ':' || part)
		AND body = repeat(md5(id || '-' || part), (1 + ((part * 37 + id % 1000000000) % 240))::int)) THEN '' ELSE ' bad' END)
FROM book_wide GROUP BY id
UNION ALL
SELECT concat_ws('|', id / 1000000000, 'h:b/' || id % 1000000000, count(*)) FROM book_heap GROUP BY id
UNION ALL
SELECT concat_ws('|', substr(name, 2), 'w:mix', n) FROM cnt WHERE name LIKE 'c%'
UNION ALL
SELECT concat_ws('|', substr(name, 2), 'h:mix', n) FROM cnt_heap WHERE n > 0;
} . "SELECT concat_ws('|', key, 'hot', value) FROM cnt, LATERAL (VALUES $hot) l(key, value) WHERE name = 'hot' AND value IS NOT NULL;\n";
}

sub expected
{
	my ($s) = @_;
	my %r;
	for my $k (keys %$s)
	{
		if ($k =~ m{^(a/|b/|mix)}) { $r{"w:$k"} = $s->{$k}; $r{"h:$k"} = $s->{$k}; }
		else { $r{$k} = $s->{$k}; }
	}
	return \%r;
}

sub differences
{
	my ($want, $got) = @_;
	my @d;
	for my $k (sort keys %$want)
	{
		push @d, "$k: " . (defined $got->{$k} ? $got->{$k} : 'missing') . ", expected $want->{$k}"
		  unless defined $got->{$k} && $got->{$k} eq $want->{$k};
	}
	for my $k (sort keys %$got) { push @d, "$k: $got->{$k}, expected nothing" unless exists $want->{$k}; }
	return @d;
}

# ------------------------------------------------------------------- rounds

sub begin
{
	my ($self) = @_;
	for my $c (1 .. $self->{clients})
	{
		my $at = $self->{at}[$c];
		spawn("load$c", 1, join '', map { sql($c, $_) . "\\echo a $_\n" } $at + 1 .. $at + $batch);
	}
	my $diff = "(SELECT client, slot, v FROM %s EXCEPT ALL SELECT client, slot, v FROM %s)";
	spawn('reader', 0, join '', ("SELECT 'r ' || count(*) FROM (" . sprintf($diff, 'acct_wide', 'acct_heap') . " UNION ALL "
		. sprintf($diff, 'acct_heap', 'acct_wide') . ") d;\n"
		. "SELECT 'r ' || (SELECT count(*) FROM book_heap) - (SELECT count(*) FROM book_wide);\n") x 400);
}

sub check
{
	my ($self) = @_;
	my ($n, %got, @why) = ($self->{clients});
	my ($rc, $out, $err) = psql($self->state_sql);
	return "reading back: $err" if $rc;
	for (split /\n/, $out)
	{
		my ($c, $k, $v) = split /\|/, $_, 3;
		$c = 0 if $c !~ /^\d+$/ || $c > $n;
		push @why, "read twice: $_" if exists $got{$c}{$k};
		$got{$c}{$k} = $v;
	}
	push @why, map { "of no client: $_ = $got{0}{$_}" } keys %{ $got{0} || {} };
	push @why, $self->check_client($_, $got{$_} || {}) for 1 .. $n;
	push @why, map { complaints("load$_") } 1 .. $n;
	push @why, complaints('reader');
	for (output('reader') =~ /^r (-?\d+)$/mg)
	{
		$self->{reads}++;
		push @why, "the reader saw a difference of $_ rows between wide and ordinary tables" if $_ != 0;
	}
	# the shared counter, and every row by its key
	my $sum = 0;
	$sum += $self->{state}[$_]{'hot'} || 0 for 1 .. $n;
	my $v = value("SELECT coalesce((SELECT n FROM cnt WHERE name = 'hot'), 0)");
	push @why, "the hot counter is " . (defined $v ? $v : 'unreadable') . ", expected $sum" unless defined $v && $v == $sum;
	$v = value("SELECT count(*) FROM acct_heap h WHERE NOT EXISTS (SELECT FROM acct_wide w WHERE w.client = h.client AND w.slot = h.slot AND w.v = h.v)");
	push @why, "lookups by key: " . (defined $v ? "$v rows are missing" : 'unreadable') unless defined $v && $v eq '0';
	return @why;
}

sub check_client
{
	my ($self, $c, $got) = @_;
	my ($at, $state) = ($self->{at}, $self->{state});
	my $last = $at->[$c];
	for (output("load$c") =~ /^a (\d+)$/mg) { $last = $_; $self->{acks}++; }
	while ($at->[$c] < $last) { apply($state->[$c], $c, ++$at->[$c]); }
	my @d = differences(expected($state->[$c]), $got);
	$self->{doubts}++;
	return if @d == 0;
	my %next = %{ $state->[$c] };
	apply(\%next, $c, $last + 1);
	my @n = differences(expected(\%next), $got);
	if (@n == 0) { $self->{kept}++; $state->[$c] = \%next; $at->[$c]++; return; }
	my $why = "client $c, after $last (" . kind($c, $last) . ", then " . kind($c, $last + 1) . "): " . scalar(@d) . " differences";
	splice @d, 8 if @d > 8;
	splice @n, 8 if @n > 8;
	return ($why, map({ "  without " . ($last + 1) . ": $_" } @d), map({ "  with " . ($last + 1) . ": $_" } @n));
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} acknowledged commits, none lost; $self->{doubts} in doubt, $self->{kept} of them committed; $self->{reads} consistent reads";
}

1;
