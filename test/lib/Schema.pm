#
# Schema.pm: a table that is created, altered, truncated and dropped continually.
#
# As in Ledger.pm, N and the state before it determine what transaction N does.  Invariant: after a
# crash the table (its existence, rows and additional family) is as after the last acknowledged
# transaction or the next one.
#
package Schema;
use strict;
use warnings;
use Server;

my $batch = 1500;
my $slots = 500;
my @kinds = (qw(fill fill fill big erase erase truncate truncfill truncback drop remake dropback options options extra rename passing));

sub new { return bless { at => 0, state => { exists => 0 }, acks => 0, tables => 0, reads => 0 }, $_[0]; }

sub setup { return "CREATE TABLE ddl_at (n int);\nINSERT INTO ddl_at VALUES (0);\n"; }

sub kind { my ($s, $t) = @_; return $s->{exists} ? $kinds[pick(scalar @kinds, $t, 50)] : 'make'; }

sub range
{
	my ($t, $k) = @_;
	my $from = pick($slots, $t, 51);
	my $n = $k eq 'erase' ? 150 : $k eq 'big' ? 350 : 1 + pick(40, $t, 52);
	return ($from, $from + $n - 1);
}

my $make = "CREATE FOREIGN TABLE %s (k int, v int, pad text) SERVER widetable OPTIONS (key 'k', families '{\"d\": {}}');\n";

sub apply
{
	my ($s, $t) = @_;
	my $k = kind($s, $t);
	my ($from, $to) = range($t, $k);
	if ($k =~ /^(make|drop|remake)$/) { %$s = (exists => $k ne 'drop', rows => {}, extra => 0); }
	if ($k =~ /^trunc(ate|fill)$/) { $s->{rows} = {}; }
	if ($k eq 'extra')
	{
		$s->{extra} = !$s->{extra};
		for (keys %{ $s->{rows} })
		{
			$s->{rows}{$_} =~ s/\+//;
			$s->{rows}{$_} .= '+' if $s->{extra} && $_ % 5 == 0;
		}
	}
	if ($k =~ /^(fill|big|truncfill|remake|dropback)$/) { $s->{rows}{$_} = $t . ($s->{extra} ? '+' : '') for $from .. $to; }
	if ($k eq 'erase') { delete $s->{rows}{$_} for $from .. $to; }
}

sub sql
{
	my ($s, $t) = @_;
	my $k = kind($s, $t);
	my ($from, $to) = range($t, $k);
	my $extra = $s->{extra} && $k ne 'remake' ? ", 'x' || g" : '';
	my $fill = "INSERT INTO ddl_t SELECT g, $t, repeat(md5(g::text), " . ($k eq 'big' ? 90 : 5) . ")$extra FROM generate_series($from, $to) g;\n";
	my $at = $t % 2 ? "UPDATE ddl_at SET n = $t;\n" : '';
	my $made = sprintf $make, 'ddl_t';
	return $made if $k eq 'make';
	return "BEGIN;\n$fill${at}COMMIT;\n" if $k eq 'fill' || $k eq 'big';
	return "BEGIN;\n${at}DELETE FROM ddl_t WHERE k BETWEEN $from AND $to;\nCOMMIT;\n" if $k eq 'erase';
	return "TRUNCATE ddl_t;\n" if $k eq 'truncate';
	return "BEGIN;\nINSERT INTO ddl_t VALUES (-1, -1);\nTRUNCATE ddl_t;\n${fill}COMMIT;\n" if $k eq 'truncfill';
	return "BEGIN;\n${fill}TRUNCATE ddl_t;\n${fill}ROLLBACK;\n" if $k eq 'truncback';
	return "DROP FOREIGN TABLE ddl_t;\n" if $k eq 'drop';
	return "BEGIN;\nDROP FOREIGN TABLE ddl_t;\n$made$fill${at}COMMIT;\n" if $k eq 'remake';
	return "BEGIN;\nSAVEPOINT a;\n${fill}DROP FOREIGN TABLE ddl_t;\n${made}ROLLBACK TO a;\n$fill${at}COMMIT;\n" if $k eq 'dropback';
	if ($k eq 'options')
	{
		my @o = ('"compression": "none"', '"compression": "zstd:3"', '"bloom": "none"', '"bloom": "rowcol"', '"block_size": 4096', '"block_size": 16384',
			'"versions": 1', '"versions": 2');
		# a family records at most eight changes of versions until it is compacted: one more is an
		# error
		return "\\set ON_ERROR_STOP 0\nALTER FOREIGN TABLE ddl_t OPTIONS (SET families '{\"d\": {" . $o[pick(scalar @o, $t, 53)]
		  . "}}');\n\\set ON_ERROR_STOP 1\n" . (pick(6, $t, 54) ? '' : "SELECT widetable.compact('ddl_t');\n");
	}
	return "ALTER FOREIGN TABLE ddl_t DROP COLUMN extra, OPTIONS (SET families '{\"d\": {}, \"e\": null}');\n" if $k eq 'extra' && $s->{extra};
	return "BEGIN;\nALTER FOREIGN TABLE ddl_t OPTIONS (SET families '{\"d\": {}, \"e\": {\"versions\": 3}}'), ADD COLUMN extra text OPTIONS (column 'e:x');
UPDATE ddl_t SET extra = 'x' || k WHERE k % 5 = 0;\nCOMMIT;\n" if $k eq 'extra';
	return "ALTER FOREIGN TABLE ddl_t RENAME TO ddl_u;\nALTER FOREIGN TABLE ddl_u RENAME TO ddl_t;\n" if $k eq 'rename';
	my $other = sprintf $make, 'ddl_p';
	return "${other}INSERT INTO ddl_p SELECT g, g, repeat(md5(g::text), 60) FROM generate_series(1, 400) g;\nDROP FOREIGN TABLE ddl_p;\n" if $k eq 'passing';
	die $k;
}

sub begin
{
	my ($self) = @_;
	my %s = %{ $self->{state} };
	$s{rows} = { %{ $s{rows} || {} } };
	# completes steps of several statements that the crash interrupted
	my $text = "ALTER FOREIGN TABLE IF EXISTS ddl_u RENAME TO ddl_t;\nDROP FOREIGN TABLE IF EXISTS ddl_p;\n";
	for my $t ($self->{at} + 1 .. $self->{at} + $batch)
	{
		$text .= sql(\%s, $t) . "\\echo a $t\n";
		apply(\%s, $t);
	}
	spawn('schema', 1, "SET client_min_messages = warning;\n$text");
	spawn('onlooker', 0, "SELECT 'n ' || count(*) FROM ddl_t WHERE pad = '' OR v IS NULL;\nSELECT pg_sleep(0.01);\n" x 1000);
}

sub check
{
	my ($self) = @_;
	my ($rc, $out, $err) = psql("SELECT to_regclass('ddl_t') IS NULL AND to_regclass('ddl_u') IS NOT NULL AS u \\gset
\\if :u
ALTER FOREIGN TABLE ddl_u RENAME TO ddl_t;
\\endif
SELECT to_regclass('ddl_t') IS NOT NULL AS t, EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('ddl_t') AND attname = 'extra') AS x \\gset
\\echo t :t :x
\\if :x
SELECT 'r ' || k || ' ' || v || CASE WHEN extra = 'x' || k THEN '+' ELSE coalesce(extra, '') END FROM ddl_t;
\\elif :t
SELECT 'r ' || k || ' ' || v FROM ddl_t;
\\endif
");
	return "the changing table cannot be read: $err" if $rc;
	my %got;
	$got{$1} = $2 while $out =~ /^r (-?\d+) (.*)$/mg;
	$out =~ /^t (\S) (\S)$/m or return "no answer about the changing table: $out";
	@got{qw(exists extra)} = ($1 eq 't' ? 1 : 0, $2 eq 't' ? 1 : 0);
	my @why = (complaints('schema', qr/too many changes of family/), complaints('onlooker', qr/does not exist|could not open relation/));
	for (output('onlooker') =~ /^n (\d+)$/mg) { $self->{reads}++; push @why, "the changing table showed $_ rows without a value" if $_ != 0; }
	for (output('schema') =~ /^a (\d+)$/mg)
	{
		while ($self->{at} < $_) { apply($self->{state}, ++$self->{at}); $self->{acks}++; }
	}
	my $last = $self->{at};
	my @d = differences($self->{state}, \%got);
	return @why if @d == 0;
	my %next = %{ $self->{state} };
	$next{rows} = { %{ $next{rows} || {} } };
	apply(\%next, $last + 1);
	my @n = differences(\%next, \%got);
	if (@n == 0) { $self->{state} = \%next; $self->{at}++; return @why; }
	push @why, "the changing table after $last, then " . kind($self->{state}, $last + 1);
	splice @d, 8 if @d > 8;
	splice @n, 8 if @n > 8;
	return (@why, map({ "  without " . ($last + 1) . ": $_" } @d), map({ "  with " . ($last + 1) . ": $_" } @n));
}

sub differences
{
	my ($s, $got) = @_;
	my %want = (%{ $s->{rows} || {} }, exists => $s->{exists} ? 1 : 0, extra => $s->{extra} ? 1 : 0);
	my @d;
	for my $k (sort keys %{ { %want, %$got } })
	{
		my ($w, $g) = map { defined $_->{$k} ? $_->{$k} : 'nothing' } \%want, $got;
		push @d, "$k: $g, expected $w" if $w ne $g;
	}
	return @d;
}

sub summary
{
	my ($self) = @_;
	return "$self->{acks} changes of a table and its definition, none lost";
}

1;
