#
# oracle.pl: runs the same random statements on wide tables and on ordinary copies of them.  The
# invariant: the results are equal.  Run by ./test/check.
#
# A round creates two or three tables with random keys, encodings, families and rows, each of them
# twice: in schema w as a foreign table of widetable, in schema h as an ordinary table.  Then random
# statements (joins, aggregates, subqueries, prepared statements with custom and generic plans,
# changes that are rolled back) run in both schemas under random planner settings; only search_path
# differs.  Some wide tables have columns in a family with a merge operator, whose values are added
# up from several inserts.  Half of the tables may have rows of NULLs, and some have no column beside the key.
#
# In two thirds of the rounds the wide tables have indexes and roll-ups, some made before the rows and
# some after them.  There rows are also changed by INSERT and by functions, moved, and deleted and
# inserted again before the statements run, and widetable.verify() must find no difference between a
# table and its indexes and roll-ups: after these changes, at the end of the round, and within each
# transaction that is rolled back.
#
# For each roll-up in schema w there is a view in schema h, which aggregates the ordinary table.
# Statements read both, as they read tables, and both are compared at the times named above.  Sums are
# zero in a roll-up and NULL in the view when their values have gone, so these are compared as zero.
# Minima and maxima, and sums that may be NaN, are of tables whose rows are only inserted.  Counts of
# distinct values are estimates, and count values that have gone: they are compared with a tolerance.
#
# A difference is printed with its statement and settings.  An error in one of the two schemas only
# is a difference too, except for errors that depend on the order of evaluation (division by zero,
# overflow).
#
#   QUERIES=100000 ./test/check oracle      number of statements (default 3000; 100000 take 10 minutes)
#   SEED=7 ROUND=3 ./test/check oracle      repeats one round of that seed
#   OUT=DIR                                 writes a script with tables and statement of each difference
#   HBASE_NODES=HOST:PORT,...               the wide tables are tables of HBase, some of them in several
#                                           regions, and answers to scans have few rows in some rounds.
#                                           What test/hbase.d/differences lists is not compared
#
# Uses modules of perl-base only.  Needs: BIN PGHOST PGUSER (lib.sh).
#
use strict;
use warnings;

$| = 1;
my $total = $ENV{QUERIES} || 3000;
my $seed = defined $ENV{SEED} ? $ENV{SEED} : 20240501;
my $only = $ENV{ROUND};
my $per_round = 150;
my $nodes = $ENV{HBASE_NODES};
my $bin = $ENV{BIN} or die "run this by ./test/check oracle\n";
my $dir = ($ENV{TMPDIR} || '/tmp') . "/widetable-oracle.$$";
mkdir $dir or die "$dir: $!";
$SIG{INT} = $SIG{TERM} = sub { exit 1 };
END { my $rc = $?; system('rm', '-rf', $dir) if defined $dir && !$ENV{KEEP}; $? = $rc; }

sub slurp { my ($f) = @_; open my $h, '<', $f or return ''; local $/; my $s = <$h>; return defined $s ? $s : ''; }
sub spit { my ($f, $s) = @_; open my $h, '>', $f or die "$f: $!"; print $h $s; close $h or die "$f: $!"; }

sub psql
{
	my ($db, $sql, @opts) = @_;
	spit("$dir/q.sql", $sql);
	my $rc = system("'$bin/psql' -XqAt -P null=NULL @opts -d $db -f '$dir/q.sql' >'$dir/q.out' 2>&1");
	return ($rc, slurp("$dir/q.out"));
}

# -------------------------------------------------------------------- HBase

# [number, regular expression] of the statements that are not compared there; the first one that the
# statement matches is counted
my (@left_out, %left_out);

sub read_differences
{
	(my $here = $0) =~ s{[^/]*$}{};
	my $n;
	for (split /\n/, slurp("${here}hbase.d/differences"))
	{
		$n = $1 if /^(\d+)\s/;
		push @left_out, [ $n, qr/$1/ ] if m{^\s+oracle\s+/(.*)/$};
	}
}

sub is_left_out { my ($sql) = @_; for (@left_out) { return ++$left_out{ $_->[0] } if $sql =~ $_->[1]; } return 0; }

# drops the tables of HBase that the foreign tables of schema w show
my $drop_tables = !$nodes ? '' : <<'END';
SELECT widetable.drop_remote(ftrelid::regclass) FROM pg_foreign_table JOIN pg_class ON oid = ftrelid WHERE relnamespace = to_regnamespace('w');
END

# ------------------------------------------------------------ random choices

sub any { return $_[ int rand @_ ]; }
sub chance { return rand() < $_[0]; }
sub shuffled { my @a = @_; my @b; push @b, splice @a, int rand @a, 1 while @a; return @b; }
sub some { my ($n, @a) = @_; @a = shuffled(@a); return @a[ 0 .. ($n < @a ? $n : @a) - 1 ]; }

# ------------------------------------------------------------------- schema

# For each type a generator of SQL literals.  The values are few, so that rows match in joins.
my %values = (
	int4 => sub { return any(-3 .. 12, 100, -2147483648, 2147483647); },
	int8 => sub { return any(-3 .. 12, 1000, -9223372036854775807, 9223372036854775807); },
	int2 => sub { return any(-2 .. 8); },
	oid => sub { return any(0 .. 8, 4294967295); },
	varchar => sub { return quote(any('', 'a', 'ab', 'abc', 'B', 'b', 'ba', "\x{c3}\x{a4}")); },
	name => sub { return quote(any('a', 'ab', 'abc', 'B', 'b', 'ba', 'zz')); },
	bpchar => sub { return quote(any('', 'a', 'ab', 'a ', 'abc', 'B', 'ba')); },
	mood => sub { return quote(any('sad', 'ok', 'happy')) . '::public.mood'; },
	timestamp => sub { return quote(any('2024-01-01', '2024-01-01 00:00:01', '2024-02-29 12:00', '1969-12-31 23:59:59.5', 'infinity')) . '::timestamp'; },
	time => sub { return quote(any('00:00', '00:00:00.000001', '12:00', '23:59:59', '24:00')) . '::time'; },
	interval => sub { return quote(any('0', '1 day', '2 hours', '1 mon', '31 days', '-1 day', '1 us')) . '::interval'; },
	inet => sub { return quote(any('10.0.0.1', '10.0.0.0/8', '10.0.0.1/8', '::1', '192.168.0.1', '10.0.0.0/24')) . '::inet'; },
	float4 => sub { return any('0', '1', '1.5', '-2.25', '0.1', "'NaN'", "'Infinity'"); },
	_int4 => sub { return quote(any('{}', '{1}', '{1,2}', '{1,NULL}', '{2}', '{NULL}')) . '::int4[]'; },
	jsonb => sub { return quote(any('{}', '{"a": "x"}', '{"a": "x", "b": "1"}', '{"b": "1"}', '[1]', '"s"', '1', 'null')) . '::jsonb'; },
	map => sub { return any('NULL', map({ quote($_) . '::jsonb' } '{"a": "x"}', '{"a": "x", "b": "1"}', '{"b": "1"}', '{"b": "2", "c d": ""}', '{"a": "y"}', '{"": "e"}')); },
	text => sub { return quote(any('', 'a', 'b', 'ab', 'abc', 'abd', 'a b', 'B', 'ba', 'x_y', 'x%y', "\x{c3}\x{a4}", 'zz', 'z\\')); },
	bool => sub { return any('true', 'false'); },
	numeric => sub { return any('0', '1', '1.5', '0.75', '-2', '3.25', '10', '100', "'NaN'", '-0.001'); },
	float8 => sub { return any('0', '1', '1.5', '-2.25', '3', '8', "'NaN'", "'Infinity'", "'-Infinity'"); },
	timestamptz => sub { return quote(any('2024-01-01', '2024-01-01 00:00:01', '2024-02-29 12:00', '1969-12-31 23:59:59.5', '2030-01-01', 'infinity', '-infinity') . '') . '::timestamptz'; },
	date => sub { return quote(any('2024-01-01', '2024-01-02', '2024-02-29', '1969-07-20', '2030-01-01')) . '::date'; },
	uuid => sub { return quote(any(map { "00000000-0000-0000-0000-00000000000$_" } 0 .. 5)) . '::uuid'; },
	bytea => sub { return quote(any('\x', '\x00', '\x0001', '\x61', '\x6162', '\xff', '\xff00')) . '::bytea'; },
);
my @key_types = qw(int4 int4 int8 text text text bool numeric timestamptz date uuid bytea float8 int2 varchar name oid timestamp time inet float4 mood);
my @value_types = qw(int4 int4 int8 text text numeric timestamptz timestamptz float8 bool date varchar name bpchar timestamp time interval inet float4 oid uuid bytea mood _int4 jsonb);
my %declared = (varchar => 'varchar(5)', bpchar => 'char(4)', mood => 'public.mood', _int4 => 'int4[]', map => 'jsonb');
# types without sum, min and max
my $no_extremes = qr/^(uuid|bytea|jsonb|map)$/;

sub declared { my ($type) = @_; return $declared{$type} || $type; }

sub quote { my ($s) = @_; my $e = $s =~ /\\/ && $s !~ /^\\x/ ? 'E' : ''; $s =~ s/'/''/g; $s =~ s/\\/\\\\/g if $e; return "$e'$s'"; }

my @tables;
my @rollups;					# of these tables, in the form of tables

# a table or roll-up to read
sub source { return @rollups && chance(0.25) ? any(@rollups) : any(@tables); }

# The types that a key column can have.
my %key_type = map { ($_ => 1) } @key_types;

# The columns that a search is about: those of the table's key, or of the key of one of its indexes.
# They are unique together.
sub search_columns
{
	my ($t) = @_;
	my @key = grep { $_->{key} } @{ $t->{columns} };
	my @x = $t->{indexes} ? @{ $t->{indexes} } : ();
	return @x && chance(0.6) ? @{ any(@x)->{search} } : @key;
}

# Returns a random index of a table: the statement that makes it (NAME is its name, TABLE that of the
# table), the columns of its key that the table has, and when it is made.
sub make_index
{
	my ($t) = @_;
	my @columns = @{ $t->{columns} };
	my @base = grep { $_->{key} } @columns;
	my ($map) = grep { $_->{type} eq 'map' } @columns;
	my (%x, @ddl, @key, @search, %in_key);
	my $names = $map && chance(0.5) ? 1 + int rand 2 : 0;
	my @parts = some($names ? int rand 2 : any(1, 1, 1, 2, 2, 3), grep { !$_->{sum} && $key_type{ $_->{type} } } @columns);

	$x{map} = $map if $names;
	$in_key{ $_->{name} } = 1 for @parts;
	my @all = map { [ $_->{name}, $_ ] } @parts;
	push @all, [ 'tag' ], $names > 1 ? [ 'entry' ] : () if $names;
	@all = shuffled(@all) if chance(0.4);
	for (@all)
	{
		my ($name, $c) = @$_;
		my $text = !$c || $c->{type} =~ /^(text|varchar)$/;
		my @opt;
		push @opt, $name eq 'tag' ? "qualifier_of 'm'" : "value_of 'm'" unless $c;
		# a name of its own
		my $column = $c && chance(0.15) ? "of_$name" : $name;
		push @opt, "column_of '$name'" if $column ne $name;
		push @opt, "encoding '" . any('decimal', 'hex') . "'" if $c && $c->{type} =~ /^int[248]/ && chance(0.1);
		push @opt, "encoding 'reverse'" if $c && $c->{positive} && $c->{type} =~ /^(int8|timestamptz|timestamp)$/ && chance(0.3);
		push @opt, "delimiter '|'" if $text && chance(0.1);
		push @ddl, "$column " . ($c ? declared($c->{type}) : 'text') . (@opt ? ' OPTIONS (' . join(', ', @opt) . ')' : '') . ($text && chance(0.5) ? ' COLLATE "C"' : '');
		push @key, $column . (chance(0.3) ? ' desc' : '');
		push @search, $c if $c;
	}
	my $unique = !$names && !(grep { !$in_key{ $_->{name} } } @base) && chance(0.5);
	# the rest of the table's key, and covered columns
	for my $c (@columns)
	{
		next if $in_key{ $c->{name} } || $c->{sum} || $c->{type} eq 'map' || (!$c->{key} && chance(0.6));
		push @search, $c if $c->{key};
		my $encoding = !$c->{key} && $key_type{ $c->{type} } && chance(0.2) && $c->{type} !~ /^(text|mood)$/ ? " OPTIONS (encoding 'ordered')" : '';
		push @ddl, "$c->{name} " . declared($c->{type}) . $encoding;
	}
	$x{search} = \@search;
	$x{when} = any('before', 'between', 'after');
	$x{ddl} = "CREATE FOREIGN TABLE w.NAME (" . join(', ', shuffled(@ddl)) . ") SERVER widetable OPTIONS (index_of 'w.TABLE', key '" . join(', ', @key) . "'" .
	  ($unique ? ", unique 'true'" : '') . ($t->{immutable} && $t->{immutable} eq 'index' ? ", immutable 'true'" : '') . ");\n";
	return \%x;
}

# Returns the statements that make the table's indexes and roll-ups of that time.
sub derived_ddl
{
	my ($t, $when) = @_;
	my $sql = '';
	for my $of ($t->{partitions} ? @{ $t->{partitions} } : $t->{name})
	{
		for my $kind ([ 'x', $t->{indexes} ], [ 'r', $t->{rollups} ])
		{
			my $i = 0;
			for my $d (@{ $kind->[1] || [] })
			{
				my $name = "${of}_$kind->[0]" . ++$i;
				next if $d->{when} ne $when;
				(my $ddl = $d->{ddl}) =~ s/NAME/$name/;
				$ddl =~ s/w\.TABLE/w.$of/;
				$sql .= $ddl;
			}
		}
	}
	return $sql;
}

# Returns [type, expression, the same for the ordinary table] of a group by column $c; time zones
# matter to the first.
sub group_expression
{
	my ($c, $zone) = @_;
	my ($x, $type) = ($c->{name}, $c->{type});
	my @e = [ 'bool', "$x IS NULL" ];
	push @e, ([ $type, $x ]) x 4 if $key_type{$type};
	push @e, [ 'int8', "$x\::int8 % 3" ], [ 'bool', "$x\::int8 > 2" ], [ 'int8', "coalesce($x\::int8, 7)" ], [ 'text', "$x\::text" ] if $type =~ /^(int.|oid)$/;
	push @e, [ 'text', "upper(left($x\::text, 1))" ], [ 'int4', "length($x\::text)" ], [ 'bool', "$x\::text LIKE 'a%'" ] if $type =~ /^(text|varchar|name|bpchar)$/;
	push @e, ([ 'date', "$x\::date", "($x AT TIME ZONE '$zone')::date" ], [ 'int4', "extract(dow FROM $x)::int4", "extract(dow FROM $x AT TIME ZONE '$zone')::int4" ],
	  [ 'timestamptz', "date_trunc('month', $x)", "date_trunc('month', $x, '$zone')" ]) x 2 if $type eq 'timestamptz';
	push @e, [ 'date', "$x\::date" ] if $type eq 'timestamp';
	push @e, [ 'int4', "extract(month FROM $x)::int4" ] if $type eq 'date';
	push @e, [ 'float8', "floor($x)" ], [ 'bool', "$x > 1" ] if $type =~ /^float/;
	push @e, [ 'numeric', "trunc($x)" ], [ 'bool', "$x >= 1" ] if $type eq 'numeric';
	push @e, [ 'int4', "family($x)" ], [ 'text', "host($x)" ] if $type eq 'inet';
	push @e, [ 'int4', "length($x)" ] if $type eq 'bytea';
	push @e, [ 'bool', "coalesce($x, false)" ] if $type eq 'bool';
	push @e, [ 'int4', "cardinality($x)" ], [ 'int4', "$x\[1]" ] if $type eq '_int4';
	push @e, [ 'text', "$x->>'a'" ], [ 'bool', "$x ? 'b'" ] if $type =~ /^(jsonb|map)$/;
	push @e, [ 'bool', "$x > '1 day'" ] if $type eq 'interval';
	return any(@e);
}

# Returns an aggregate over a column of the table: its name (with a number) and type, the option that states it, the
# same over the ordinary table; exact: a statement sees the same in both.
sub rollup_aggregate
{
	my ($t, $zone, $i) = @_;
	my @columns = grep { !$_->{sum} } @{ $t->{columns} };
	my $c = any(@columns);
	my ($x, $type, $r) = ($c->{name}, $c->{type}, rand);
	my $int = $type =~ /^int[248]$/;
	my $e = group_expression($c, $zone);

	return { name => "n$i", type => 'int8', option => 'count(*)', view => 'count(*)', exact => 1 } if $r < 0.2;
	return { name => "a$i", type => 'int8', option => "hll($x)", view => "nullif(count(DISTINCT $x), 0)", hll => 1 } if $r < 0.35;
	return { name => "b$i", type => 'int8', option => "count(nullif($e->[1], false))", view => 'count(nullif(' . ($e->[2] || $e->[1]) . ', false))', exact => 1 } if $r < 0.5 && $e->[0] eq 'bool';
	return { name => "x$i", type => $type, option => any('min', 'max') . "($x)", exact => 1 } if $t->{insert_only} && $type =~ /^timestamp/;
	if ($t->{insert_only} && $r < 0.8 && ($int || $type =~ /^float/))
	{
		my $double = !$int || $type ne 'int8' && chance(0.3);
		return { name => "x$i", type => $double ? 'float8' : 'int8', option => any('min', 'max') . "($x)", exact => 1 };
	}
	if ($int && chance(0.8))
	{
		my $value = any($x, $x, "coalesce($x, 0)", "CASE WHEN $x > 2 THEN $x END", "coalesce($x, 0)::int8 % 5");
		my $exact = $t->{insert_only} || $value =~ /^coal/ || $c->{key} && $value eq $x;
		return { name => "s$i", type => 'int8', option => "sum($value)", view => "h.wrapped(sum($value))", exact => $exact };
	}
	if ($type =~ /^(int[24]|float[48])$/)
	{
		# rounding does not matter to these values
		my $value = $t->{insert_only} ? $x : "CASE WHEN abs($x\::float8) < 1000 THEN $x END";
		$value = "coalesce($value, 0)" if chance(0.5);
		return { name => "d$i", type => 'float8', option => "sum($value)", view => "sum(($value)::float8)", exact => $t->{insert_only} || $value =~ /^coal/ };
	}
	return { name => "o$i", type => 'int8', option => "sum(length($x))", view => "sum(length($x))", exact => $t->{insert_only} || $c->{key} } if $type =~ /^(text|varchar|bytea)$/;
	return { name => "c$i", type => 'int8', option => "count($x)", view => "count($x)", exact => 1 };
}

# Returns a random roll-up of a table: the statements that make it and the view (NAME is its name,
# TABLE that of the table), its columns, and when it is made.
sub make_rollup
{
	my ($t) = @_;
	my @columns = grep { !$_->{sum} } @{ $t->{columns} };
	my $zone = any('UTC', 'UTC', 'Asia/Tokyo', 'America/New_York');
	my (@group, @all);

	my @of = some(any(0, 1, 1, 2, 2, 3), @columns);
	# these have most expressions
	$of[0] = any(@{ [ grep { $_->{type} =~ /^(timestamptz|map)$/ } @columns ] }) || $of[0] if @of == 1;
	for my $c (@of)
	{
		my ($type, $expr, $plain) = @{ group_expression($c, $zone) };
		my $name = $expr eq $c->{name} && chance(0.8) ? $expr : 'g' . @group;
		my $text = $type =~ /^(text|varchar)$/;
		my @opt = $name eq $expr ? () : 'expr ' . quote_option($expr);
		push @opt, "encoding '" . any('decimal', 'hex') . "'" if $type =~ /^int[248]/ && chance(0.1);
		push @opt, "delimiter '|'" if $text && chance(0.1);
		my $collate = $text && chance(0.5) ? ' COLLATE "C"' : '';
		push @group, { name => $name, type => $type, key => 1, exact => 1, ddl => "$name " . declared($type) . (@opt ? ' OPTIONS (' . join(', ', @opt) . ')' : '') . $collate,
			view => '((' . ($plain || $expr) . ')::' . declared($type) . "$collate)" };
	}
	@group = { name => 'g', type => 'bool', key => 1, exact => 1, ddl => "g bool OPTIONS (expr 'true')", view => '(k1 IS NOT NULL)' } unless @group;
	@all = shuffled(@group, map { rollup_aggregate($t, $zone, $_) } 1 .. any(0, 1, 2, 3, 5));
	# the number of rows is counted once
	my $count = 0;
	@all = grep { ($_->{option} || "") ne "count(*)" || !$count++ } @all;
	my @key = map { $_->{name} . (chance(0.3) ? ' desc' : '') } shuffled(@group);
	my %r = (all => \@all, columns => [ grep { $_->{exact} } @all ], when => any('before', 'between', 'after'));
	$r{ddl} = "CREATE FOREIGN TABLE w.NAME (" . join(', ', map { $_->{ddl} || "$_->{name} $_->{type} OPTIONS (aggregate " . quote_option($_->{option}) . ')' } @all) . ") SERVER widetable OPTIONS (rollup_of 'w.TABLE', key '" . join(', ', @key) . "'" .
	  ($zone ne 'UTC' || $r{when} ne 'before' || chance(0.5) ? ", timezone '$zone'" : '') . ($t->{immutable} && $t->{immutable} eq 'index' ? ", immutable 'true'" : '') . ");\n";
	$r{view} = 'CREATE VIEW h.NAME AS SELECT ' . join(', ', map { ($_->{view} || $_->{option}) . '::' . declared($_->{type}) . " AS $_->{name}" } @all) .
	  ' FROM h.TABLE GROUP BY ' . join(', ', map { $_->{view} } @group) . ";\n";
	return \%r;
}

sub quote_option { my ($s) = @_; $s =~ s/'/''/g; return "'$s'"; }

# the columns of a table, or those of a roll-up that are the same in the view
sub columns_of { my ($s) = @_; return $s->[0]{all} ? join ', ', map { "$s->[1].$_->{name}" } @{ $s->[0]{columns} } : "$s->[1].*"; }

# the values of a roll-up that are the same in the view, after any changes of rows
sub compared { my ($r) = @_; return join ', ', map { $_->{exact} ? $_->{name} : "coalesce($_->{name}, 0)" } grep { !$_->{hll} } @{ $r->{all} }; }

# Returns a query for the differences between the roll-ups of a table and the views, of those that have
# been made at one of these times; empty: there are none.
sub rollup_differences
{
	my ($t, $when) = @_;
	my @parts;
	for my $r ($t->{partitions} ? () : grep { $_->{when} =~ $when } @{ $t->{rollups} || [] })
	{
		my $columns = compared($r);
		push @parts, "SELECT '$r->{name} ' || (x.*)::text FROM (SELECT $columns FROM $_->[0].$r->{name} EXCEPT ALL SELECT $columns FROM $_->[1].$r->{name}) x" for [qw(w h)], [qw(h w)];
		my $same = join ' AND ', map { "w.$_->{name} IS NOT DISTINCT FROM h.$_->{name}" } grep { $_->{key} } @{ $r->{all} };
		for my $hll (grep { $_->{hll} } @{ $r->{all} })
		{
			my ($wide, $plain) = map { "coalesce($_.$hll->{name}, 0)" } qw(w h);
			push @parts, "SELECT '$r->{name}: $hll->{option} ' || $wide || ' of ' || $plain FROM w.$r->{name} w JOIN h.$r->{name} h ON $same WHERE $wide < $plain - 1 - $plain / 20" .
			  ($t->{insert_only} ? " OR $wide > $plain + 1 + $plain / 20" : '');
		}
	}
	return join "\nUNION ALL ", @parts;
}

sub make_table
{
	my ($name, $indexed) = @_;
	my (%t, @wide, @heap, @key);
	my @families = some(1 + int rand 3, qw(d e f));
	$t{name} = $name;
	for my $i (1 .. any(1, 1, 2, 2, 3))
	{
		my $type = any(@key_types);
		my %c = (name => "k$i", type => $type, key => 1);
		my $collate = $type =~ /^(text|varchar)$/ ? any(' COLLATE "C"', ' COLLATE "C"', '') : '';
		my $ddl = declared($type);
		my @opt;
		push @{ $t{columns} }, \%c;
		# key encodings that preserve equality only, or reverse the order
		push @opt, "encoding '" . any('decimal', 'hex') . "'" if $type =~ /^int[248]/ && chance(0.1);
		push @opt, "encoding 'reverse'" if !@opt && $type =~ /^(int8|timestamptz|timestamp)$/ && chance(0.1) && ($c{positive} = 1);
		push @opt, "encoding 'unsigned8'" if !@opt && $type =~ /^int[248]/ && chance(0.1) && ($c{positive} = 1);
		push @opt, "encoding '" . any('md5', 'sha1') . "'", "column '$families[0]:o$i'" if $type =~ /^(text|varchar|name)$/ && chance(0.12);
		push @opt, "delimiter '|'" if !@opt && $type =~ /^(text|varchar|name)$/ && chance(0.2);
		push @wide, "k$i $ddl" . (@opt ? ' OPTIONS (' . join(', ', @opt) . ')' : '') . "$collate NOT NULL";
		push @heap, "k$i $ddl$collate NOT NULL";
		push @key, "k$i" . (chance(0.3) ? ' desc' : '');
	}
	# rows of NULLs, unless there is a NOT NULL column; tables of keys alone
	my $not_null = chance(0.5);
	my $alone = !$not_null && chance(0.2);
	$t{nulls} = $not_null ? 0.25 : any(0.25, 0.6, 0.9);
	# a map needs its own family
	my $map = !$alone && chance(0.3);
	if ($map && chance(0.3)) { unshift @families, 'm'; }
	elsif ($map) { push @families, 'm'; }
	my $partitioned = chance(0.15);
	$t{insert_only} = $indexed && !$partitioned && chance(0.2);
	# values that are added up; a row without its NOT NULL column cannot be inserted for that
	for my $i (1 .. (!$alone && !$not_null && !$partitioned && !$nodes && chance(0.4) ? 1 + int rand 2 : 0))
	{
		push @families, 's' if $i == 1;
		push @{ $t{columns} }, { name => "s$i", type => 'int8', sum => 1 };
		push @wide, "s$i int8 OPTIONS (column 's:s$i')";
		push @heap, "s$i int8";
	}
	# text that is appended
	if (!$alone && !$not_null && !$partitioned && !$nodes && chance(0.3))
	{
		push @families, 'a';
		push @{ $t{columns} }, { name => 'a1', type => 'text', sum => 1, appended => 1 };
		push @wide, "a1 text OPTIONS (column 'a:a1')";
		push @heap, 'a1 text';
	}
	for my $i (1 .. ($alone ? 0 : 2 + int rand 4))
	{
		my $type = any(@value_types);
		my $enc = '';
		$enc = ", encoding 'ordered'" if chance(0.2) && $type !~ /^(text|bpchar|interval|mood|_int4|jsonb)$/;
		$enc = ", encoding 'decimal'" if chance(0.1) && $type =~ /^int[248]/;
		my $family = any(grep { !/^[msa]$/ } @families);
		# the place of the marker is in the first family
		my @qualifiers = ("v$i", "q$i", "\\x0$i", $i == 1 && $family ne $families[0] ? '' : ());
		push @{ $t{columns} }, { name => "v$i", type => $type };
		push @wide, "v$i " . declared($type) . " OPTIONS (column '$family:" . any(@qualifiers) . "'$enc)";
		push @heap, "v$i " . declared($type);
	}
	if ($map)
	{
		push @{ $t{columns} }, { name => 'm', type => 'map' };
		push @wide, "m jsonb OPTIONS (family 'm')";
		push @heap, 'm jsonb';
	}
	if (!$alone)
	{
		my $null = $not_null ? ' NOT NULL' : '';
		push @{ $t{columns} }, { name => 'n', type => 'int4', not_null => $not_null };
		push @wide, "n int4 OPTIONS (column '" . any(grep { !/^[msa]$/ } @families) . ":n')$null";
		push @heap, "n int4$null";
	}
	my $opts = "key '" . join(', ', @key) . "'";
	$opts .= ", marker 'off'" if $not_null && chance(0.1);
	# each row is written by one INSERT, and then changed and deleted by its key
	$t{immutable} = any('table', 'index') if $indexed && chance(0.2) && !grep { $_->{sum} } @{ $t{columns} };
	# scans of an index cost less than those of the table, which is small
	$opts .= ", fdw_startup_cost '1000'" if $indexed && chance(0.5);
	$opts .= ", immutable 'true'" if $t{immutable} && $t{immutable} eq 'table';
	# the columns of keys alone may name no family
	$opts .= ", families '{" . join(', ', map { '"' . $_ . '": ' . ($_ eq 'a' ? '{"merge": "append"}' : $_ eq 's' ? any('{"merge": "sum"}', '{"merge": "sum", "versions": 3}') : any('{}', '{"versions": 3}', '{"bloom": "rowcol"}', '{"block_size": 1024}', $indexed && chance(0.5) ? '{"ttl": "9000 days"}' : ())) } @families) . "}'" unless $alone && chance(0.5);
	$opts .= ", salt_buckets '" . any(2, 4, 7) . "'" if chance(0.15);
	$opts .= ", split_at '[" . join(', ', map { "{\"hex\": \"$_\"}" } sort(some(1 + int rand 3, qw(00 01 0180 61 6162 80 80000001 80000004 8000000000000003 ff)))) . "]'" if $nodes && chance(0.4);
	$opts .= ", versions 'hbase'" if $nodes && chance(0.25);
	my $wide = sub { "CREATE FOREIGN TABLE w.$_[0] (" . join(', ', @wide) . ") SERVER widetable OPTIONS ($opts);\n" };
	my $attach = sub { "ALTER TABLE w.$name ATTACH PARTITION w.$_[0] FOR VALUES WITH (MODULUS 3, REMAINDER $_[1]);\n" };
	# sometimes a partitioned table with two wide partitions and an ordinary one
	$t{partitions} = [ "${name}_0", "${name}_1" ] if $partitioned;
	$t{ddl} = !$t{partitions} ? $wide->($name)
	  : "CREATE TABLE w.$name (" . join(', ', @heap) . ") PARTITION BY HASH (k1);\n" .
	  join('', map { $wide->("${name}_$_") . $attach->("${name}_$_", $_) } 0, 1) .
	  "CREATE TABLE w.${name}_2 (" . join(', ', @heap) . ");\n" . $attach->("${name}_2", 2);
	$t{indexes} = [ map { make_index(\%t) } 1 .. 1 + int rand 3 ] if $indexed && chance(0.8);
	# rows of a table with a time to live are not changed when they are counted
	$t{rollups} = [ map { make_rollup(\%t) } 1 .. 1 + int rand 2 ] if $indexed && chance(0.8) && ($t{insert_only} || $opts !~ /"ttl"/);
	$t{derived} = $t{indexes} || $t{rollups};
	$t{ddl} .= derived_ddl(\%t, 'before');
	$t{ddl} .= "CREATE TABLE h.$name (" . join(', ', @heap) . ', PRIMARY KEY (' . join(', ', map { $_->{name} } grep { $_->{key} } @{ $t{columns} }) . "));\n";
	for my $i ($t{partitions} ? () : 1 .. @{ $t{rollups} || [] })
	{
		my $r = $t{rollups}[ $i - 1 ];
		$r->{name} = "${name}_r$i";
		$r->{view} =~ s/NAME/$r->{name}/;
		$r->{view} =~ s/TABLE/$name/;
		$t{ddl} .= $r->{view};
		push @rollups, $r;
	}
	return \%t;
}

# Returns a value for the column.  A row key has at least one byte, and some encodings need values
# >= 0.
sub key_value
{
	my ($c, $t) = @_;
	my $alone = $c->{key} && !grep { $_->{key} && $_ != $c } @{ $t->{columns} };
	my $v;
	do { $v = $values{ $c->{type} }->() } while (($alone && $v =~ m{^'(\\x)?'}) || ($c->{positive} && $v =~ /^-|'(-|1969)/));
	return $v;
}

# The rows are generated in the ordinary table and copied, so that both tables have the same.
sub fill_table
{
	my ($t) = @_;
	my $n = any(0, 1, 5, 40, 120, 250);
	my $sql = '';
	my @c = @{ $t->{columns} };

	# a roll-up does not depend on the session's time zone
	$sql .= "SET timezone = '" . any('UTC', 'Asia/Tokyo', 'America/New_York') . "';\n" if $t->{rollups};
	while ($n > 0)
	{
		my @rows;
		for (1 .. ($n > 50 ? 50 : $n))
		{
			push @rows, '(' . join(', ', map { !$_->{key} && !$_->{not_null} && chance($t->{nulls}) ? 'NULL' : key_value($_, $t) } @c) . ')';
		}
		$n -= 50;
		$sql .= "INSERT INTO h.$t->{name} VALUES " . join(",\n", @rows) . " ON CONFLICT DO NOTHING;\n";
	}
	$sql .= "INSERT INTO w.$t->{name} SELECT * FROM h.$t->{name};\n";
	for my $c (grep { $_->{sum} } @c)
	{
		my $keys = join ', ', map { $_->{name} } grep { $_->{key} } @c;
		$sql .= "UPDATE w.$t->{name} SET $c->{name} = left($c->{name}, 1);\n" if $c->{appended};
		for my $add ($c->{appended} ? ("substr($c->{name}, 2, 2)", "''", "substr($c->{name}, 4)") : (7, -10, 3))
		{
			$sql .= "INSERT INTO w.$t->{name} ($keys, $c->{name}) SELECT $keys, $add FROM h.$t->{name} WHERE $c->{name} IS NOT NULL;\n";
			$sql .= "SELECT widetable.flush();\n" if chance(0.4);
		}
	}
	my @stored = $t->{partitions} ? @{ $t->{partitions} } : $t->{name};
	# in HBase tables are flushed one by one
	my $flush = join '', map { "SELECT widetable.flush($_);\n" } $nodes ? map { "'w.$_'" } @stored : '';
	$sql .= $flush if chance(0.5);
	$sql .= derived_ddl($t, 'between');
	for ($t->{insert_only} ? () : 1 .. int rand($t->{derived} ? 6 : 3))
	{
		my $where;
		if ($t->{derived} && chance(0.15)) { $sql .= delete_and_insert($t, $flush); next; }
		if ($t->{derived} && chance(0.15)) { $sql .= change_by_function($t); next; }
		if ($t->{derived} && !$t->{immutable} && chance(0.4)) { $sql .= chance(0.5) ? insert_again($t) : move_rows($t); next; }
		# errors: a pattern that ends with the escape character, = ANY of an array column
		do { $where = predicate([ [ $t, 'x' ] ], 1); } while ($where =~ /LIKE E'[^']*\\\\'|\]::int4\[\]\[\]/);
		my ($v) = some(1, grep { !$_->{key} } @c);
		my $change = !$v || chance(0.3) ? "DELETE FROM SCHEMA.$t->{name} x WHERE $where" : "UPDATE SCHEMA.$t->{name} x SET $v->{name} = " . (!$v->{not_null} && chance(0.4) ? 'NULL' : $values{ $v->{type} }->()) . " WHERE $where";
		$sql .= join "", map { my $s = "SET search_path = SCHEMA;\n$change;\n"; $s =~ s{SCHEMA}{$_}g; $s } qw(h w);
		$sql .= $flush if chance(0.3);
	}
	$sql .= join '', map { "SELECT widetable.compact('w.$_');\n" } @stored if chance(0.3);
	$sql .= derived_ddl($t, 'after') . "SET timezone = 'UTC';\n";
	$sql .= "ANALYZE w.${_}_x1;\n" for $t->{indexes} && chance(0.3) ? @stored : ();
	$sql .= "ANALYZE w.$_->{name};\n" for grep { $_->{name} && chance(0.3) } @{ $t->{rollups} || [] };
	$sql .= no_difference($t, qr/./) if $t->{derived};
	$sql .= "ANALYZE w.$t->{name};\n" if chance(0.6);
	return $sql . "ANALYZE h.$t->{name};\n";
}

# A statement that fails if the table's indexes or roll-ups differ from it.
sub no_difference
{
	my ($t, $when) = @_;
	my $rollups = rollup_differences($t, $when);
	my $all = "SELECT object || ': ' || problem AS d FROM w.differences('$t->{name}')" . ($rollups ? "\nUNION ALL $rollups" : '');
	return "DO \$\$DECLARE d text; BEGIN SELECT string_agg(d.d, E'\\n') INTO d FROM ($all) d; IF d IS NOT NULL THEN RAISE '%', d; END IF; END\$\$;\n";
}

# Rows of both tables go and come again, with the groups that have no others.
sub delete_and_insert
{
	my ($t, $flush) = @_;
	my $where = chance(0.3) ? 'true' : plain_predicate($t);
	return "DROP TABLE IF EXISTS pg_temp.gone;\nCREATE TEMP TABLE gone AS SELECT * FROM h.$t->{name} x WHERE $where;\n" .
	  join('', map { "DELETE FROM $_.$t->{name} x WHERE $where;\n" } qw(w h)) . (chance(0.3) ? $flush : '') . (chance(0.4) ? no_difference($t, qr/^be/) : '') .
	  join('', map { "INSERT INTO $_.$t->{name} SELECT * FROM gone;\n" } qw(w h));
}

# The same change of both tables: in the wide one by functions on one row.
sub change_by_function
{
	my ($t) = @_;
	return '' if $t->{partitions};
	my @c = @{ $t->{columns} };
	my $where = plain_predicate($t);
	my $row = 'ROW(' . join(', ', map { "x.$_->{name}" } grep { $_->{key} } @c) . ')';
	my ($c) = some(1, grep { !$_->{key} && !$_->{sum} && $_->{name} ne 'm' } @c);
	return "SELECT widetable.delete_row('w.$t->{name}', $row) FROM h.$t->{name} x WHERE $where;\nDELETE FROM h.$t->{name} x WHERE $where;\n" if !$c || chance(0.2);
	# a row that loses its last cell is gone
	my $value = $c->{not_null} || chance(0.7) || !(grep { $_->{not_null} } @c) ? $values{ $c->{type} }->() : 'NULL';
	my $call = $value eq 'NULL' ? "delete_column('w.$t->{name}', $row, '$c->{name}')" : "put('w.$t->{name}', $row, '$c->{name}', $value\::" . declared($c->{type}) . ')';
	return "SELECT widetable.$call FROM h.$t->{name} x WHERE $where;\nUPDATE h.$t->{name} x SET $c->{name} = $value WHERE $where;\n";
}

# The same change of both tables: in the wide one, values of rows that exist are inserted.  The
# ordinary partition of a wide table would have these rows twice.
sub insert_again
{
	my ($t) = @_;
	return '' if $t->{partitions};
	# entries of a map would be added to those that are there
	my ($c) = some(1, grep { !$_->{key} && !$_->{sum} && $_->{name} !~ /^[mn]$/ } @{ $t->{columns} });
	return '' unless $c;
	my $value;
	do { $value = $values{ $c->{type} }->() } while ($value eq 'NULL');
	my @keys = map { $_->{name} } grep { $_->{key} || $_->{not_null} } @{ $t->{columns} };
	my $where = plain_predicate($t);
	return "INSERT INTO w.$t->{name} (" . join(', ', @keys, $c->{name}) . ") SELECT " . join(', ', map { "x.$_" } @keys) . ", $value FROM h.$t->{name} x WHERE $where;\n" .
	  "UPDATE h.$t->{name} x SET $c->{name} = $value WHERE $where;\n";
}

# The same change of both tables: the rows with one value of a key column get another one, where no
# row has that key.
sub move_rows
{
	my ($t) = @_;
	return '' if $t->{partitions};
	my @k = grep { $_->{key} } @{ $t->{columns} };
	my $c = any(@k);
	my ($from, $to) = (key_value($c, $t), key_value($c, $t));
	return '' if $from eq $to;
	my $same = join '', map { " AND y.$_->{name} = x.$_->{name}" } grep { $_ != $c } @k;
	# 0.1 is not equal to a float4 of 0.1
	my $typed = "($to)::" . declared($c->{type});
	return join '', map { "UPDATE $_.$t->{name} x SET $c->{name} = $to WHERE $c->{name} = $from AND NOT EXISTS (SELECT FROM h.$t->{name} y WHERE y.$c->{name} = $typed$same);\n" } qw(w h);
}

# a predicate on the table that has no error
sub plain_predicate
{
	my ($t) = @_;
	my $where;
	# errors: a pattern that ends with the escape character, = ANY of an array column
	do { $where = predicate([ [ $t, 'x' ] ], 1); } while ($where =~ /LIKE E'[^']*\\\\'|\]::int4\[\]\[\]|EXISTS|SELECT/);
	return $where;
}

# --------------------------------------------------------------- statements

# scope: a list of [table, alias]
sub column { my ($scope, $type, $filter) = @_; my @c; for my $s (@$scope) { for my $c (@{ $s->[0]{columns} }) { push @c, [ "$s->[1].$c->{name}", $c ] if (!$type || same_kind($c->{type}, $type)) && (!$filter || $filter->($c)); } } return @c ? any(@c) : undef; }

sub same_kind { my ($a, $b) = @_; my %k = (int2 => 'n', int4 => 'n', int8 => 'n', text => 't', varchar => 't', name => 't', date => 'd', timestamp => 'd', timestamptz => 'd', float4 => 'f', float8 => 'f'); return ($k{$a} || $a) eq ($k{$b} || $b); }

my $params;						# in a prepared statement: its parameters as [type, value]

sub constant
{
	my ($type) = @_;
	my $v = $values{$type}->();
	if ($params && @$params < 6 && chance(0.6))
	{
		push @$params, [ $type, $v ];
		return '$' . @$params;
	}
	return $type =~ /^(numeric|float[48]|int2|int8|oid)$/ || $v eq 'NULL' ? "$v\::" . declared($type) : $v;
}

sub map_condition
{
	my ($name) = @_;
	my $q = quote(any('a', 'b', 'c d', '', 'z'));
	my $v = quote(any('x', 'y', '1', '2', ''));
	return "$name->>$q " . any('=', '<>', '<', '>=', 'IS DISTINCT FROM', 'IS NOT DISTINCT FROM') . " $v" if chance(0.4);
	return "$name->>$q IS " . any('NULL', 'NOT NULL') if chance(0.3);
	return "$name->>$q " . any('IN', 'NOT IN') . " ($v, 'x')" if chance(0.3);
	return any('', 'NOT ') . "$name ? $q" if chance(0.5);
	return "$name @> '{\"a\": \"x\"}'" if chance(0.3);
	return "$name - $q = '{}'" if chance(0.3);
	return "$name->$q = '\"x\"'";
}

sub comparison
{
	my ($scope) = @_;
	my $x = any(@$scope);
	my @x = chance(0.5) ? @{ $x->[0]{indexes} || [] } : ();
	return indexed_comparison($x, any(@x)) if @x;
	my ($name, $c) = @{ column($scope, undef, chance(0.6) ? sub { $_[0]{key} } : undef) || column($scope) };
	return comparison_with($scope, $name, $c);
}

# a condition on the first columns of an index's key, or on its map
sub indexed_comparison
{
	my ($s, $x) = @_;
	my @c;
	push @c, map_condition("$s->[1].m") if $x->{map};
	my @k = @{ $x->{search} };
	push @c, comparison_with([$s], "$s->[1].$_->{name}", $_) for @k[ 0 .. int(rand(@k > 2 ? 2 : @k)) ];
	@c = $c[0] if $x->{map} && chance(0.6);
	return @c == 1 ? $c[0] : '(' . join(any(' AND ', ' AND ', ' OR '), @c) . ')';
}

sub comparison_with
{
	my ($scope, $name, $c) = @_;
	my $type = $c->{type};
	my $r = rand;
	return map_condition($name) if $type eq 'map' && $r < 0.7;
	return "$name " . any('=', '=', '<', '<=', '>', '>=', '<>') . ' ' . constant($type) if $r < 0.45;
	return constant($type) . ' ' . any('=', '<', '<=', '>', '>=') . " $name" if $r < 0.5;
	return "$name " . (chance(0.2) ? 'NOT ' : '') . 'IN (' . join(', ', map { constant($type) } 1 .. 1 + int rand 4) . ')' if $r < 0.6;
	return "$name = ANY (ARRAY[" . join(', ', map { $values{$type}->() } 1 .. 1 + int rand 5) . "]::" . declared($type) . '[])' if $r < 0.65;
	return "$name " . (chance(0.2) ? 'NOT ' : '') . 'BETWEEN ' . constant($type) . ' AND ' . constant($type) if $r < 0.75;
	return "$name IS " . any('NULL', 'NOT NULL') if $r < 0.83;
	return "$name IS " . any('', 'NOT ') . 'DISTINCT FROM ' . constant($type) if $r < 0.87;
	return $name . any('', ' IS TRUE', ' IS NOT TRUE', ' IS FALSE', ' = true') if $type eq 'bool';
	if ($type =~ /^(text|varchar|name|bpchar)$/)
	{
		return "$name " . any('', 'NOT ') . 'LIKE ' . quote(any('a%', 'ab%', '%b', 'a_', 'x\\_%', 'b', '%', '_b%', 'zz%')) if $r < 0.95;
		return "$name ~ " . quote(any('^a', '^ab', 'b$', '^(a|b)', '^a.c', '^x_y$')) if $r < 0.97;
		return "starts_with($name, " . quote(any('a', 'ab', '', 'z')) . ')' if $r < 0.985;
		return "$name COLLATE \"C\" " . any('<', '>=', '>', '<=') . ' ' . constant('text');
	}
	my $other = column($scope, $type) || [ $name ];
	return "$name " . any('=', '<', '>=') . " $other->[0]";
}

sub row_comparison
{
	my ($scope) = @_;
	my $s = any(@$scope);
	my @k = search_columns($s->[0]);
	my $n = 1 + int rand @k;
	@k = @k[ 0 .. $n - 1 ];
	return '(' . join(', ', map { "$s->[1].$_->{name}" } @k) . ') ' . any('<', '<=', '>', '>=', '=') . ' (' . join(', ', map { constant($_->{type}) } @k) . ')';
}

# Keyset pagination: the rows after a given key, as an OR of ANDs with any direction per column.
sub keyset
{
	my ($scope) = @_;
	my $s = any(@$scope);
	my @k = search_columns($s->[0]);
	my @v = map { constant($_->{type}) } @k;
	my $op = any('<', '>');
	my @arms;
	for my $i (0 .. $#k)
	{
		my $how = chance(0.7) ? $op : any('<', '>');
		$how .= '=' if $i == $#k && chance(0.3);
		push @arms, '(' . join(' AND ', map({ "$s->[1].$k[$_]{name} = $v[$_]" } 0 .. $i - 1), "$s->[1].$k[$i]{name} $how $v[$i]") . ')';
	}
	return '(' . join(' OR ', chance(0.8) ? @arms : shuffled(@arms)) . ')';
}

# Conditions on key columns: AND/OR trees, and conditions that leave out leading columns.
sub key_condition
{
	my ($s, $c) = @_;
	my $name = "$s->[1].$c->{name}";
	my $r = rand;
	return "$name = " . constant($c->{type}) if $r < 0.4;
	return "$name " . any('<', '<=', '>', '>=', '<>') . ' ' . constant($c->{type}) if $r < 0.7;
	return "$name BETWEEN " . constant($c->{type}) . ' AND ' . constant($c->{type}) if $r < 0.8;
	return "$name IN (" . join(', ', map { constant($c->{type}) } 1 .. 2 + int rand 2) . ')' if $r < 0.9;
	return "$name " . any('LIKE', '^@') . ' ' . (chance(0.5) ? pattern() : constant('text')) if $c->{type} =~ /^(text|varchar|name)$/;
	return "$name IS NOT NULL" if $r < 0.92;
	return "NOT ($name " . any('<', '=', '>=') . ' ' . constant($c->{type}) . ')';
}

sub pattern
{
	my $v = quote(any('a%', 'ab%', 'a', 'x\\_%', '%', 'zz%', 'B%', ''));
	if ($params && @$params < 6) { push @$params, [ 'text', $v ]; return '$' . @$params; }
	return $v;
}

sub key_tree
{
	my ($s, $depth) = @_;
	my @k = search_columns($s->[0]);
	return key_condition($s, any(@k)) if $depth == 0 || chance(0.3);
	my $how = chance(0.5) ? ' AND ' : ' OR ';
	return '(' . join($how, map { chance(0.06) ? comparison([$s]) : key_tree($s, $depth - 1) } 1 .. 2 + int rand 2) . ')';
}

sub key_predicate
{
	my ($scope) = @_;
	my $s = any(@$scope);
	my @k = search_columns($s->[0]);
	my $r = rand;
	return keyset($scope) if $r < 0.2;
	# conditions on the last columns only
	return join(' AND ', map { key_condition($s, $_) } @k[ int(rand @k) .. $#k ]) if $r < 0.5;
	return join(' AND ', map { key_tree($s, 2) } 1 .. 1 + int rand 2);
}

sub predicate
{
	my ($scope, $depth) = @_;
	my $r = rand;
	return key_predicate($scope) if chance(0.3);
	return comparison($scope) if $depth <= 0 || $r < 0.45;
	return row_comparison($scope) if $r < 0.52;
	return '(' . join(any(' AND ', ' AND ', ' OR '), map { predicate($scope, $depth - 1) } 1 .. 2 + int rand 2) . ')' if $r < 0.92;
	return 'NOT (' . predicate($scope, $depth - 1) . ')' if $r < 0.96;
	return subquery_predicate($scope, $depth);
}

sub subquery_predicate
{
	my ($scope, $depth) = @_;
	@tables or return 'true';
	my $t = source();
	my $alias = 's' . int rand 1000;
	my $inner = [ [ $t, $alias ] ];
	my $own = column($inner);
	my $outer = column($scope, $own->[1]{type});
	my $rest = chance(0.5) ? ' AND ' . comparison($inner) : '';
	return any('', 'NOT ') . "EXISTS (SELECT 1 FROM $t->{name} $alias WHERE " . ($outer ? "$own->[0] = $outer->[0]" : comparison($inner)) . "$rest)" if chance(0.6) || !$outer;
	return "$outer->[0] IN (SELECT $own->[0] FROM $t->{name} $alias WHERE true$rest)";
}

sub from_clause
{
	my ($scope, $n) = @_;
	my $sql = '';
	for my $i (1 .. $n)
	{
		my $t = source();
		my $alias = "t$i";
		if ($i == 1) { $sql = "$t->{name} $alias"; push @$scope, [ $t, $alias ]; next; }
		my $inner = [ [ $t, $alias ] ];
		my $a = column($inner, undef, chance(0.7) ? sub { $_[0]{key} } : undef) || column($inner);
		my @x = chance(0.5) ? @{ $t->{indexes} || [] } : ();
		if (@x) { my $first = any(@x)->{search}[0]; $a = [ "$alias.$first->{name}", $first ]; }
		my $b = column($scope, $a->[1]{type});
		my $on = $b ? "$a->[0] = $b->[0]" : comparison($inner);
		# a full join needs a condition that allows a merge or hash join
		my $kind = any('JOIN', 'JOIN', 'LEFT JOIN', $b && same_kind($a->[1]{type}, $b->[1]{type}) && $a->[1]{type} eq $b->[1]{type} ? 'FULL JOIN' : 'JOIN', 'RIGHT JOIN');
		push @$scope, [ $t, $alias ];
		$on .= ' AND ' . comparison($kind eq 'FULL JOIN' ? $inner : $scope) if chance(0.3) && $kind ne 'FULL JOIN';
		$sql .= " $kind $t->{name} $alias ON ($on)";
	}
	return $sql;
}

# An expression of integers over columns; NULL if there is none to make it of.
sub integer_expression
{
	my ($scope, $depth) = @_;
	my $r = rand;
	return '(' . integer_expression($scope, $depth - 1) . any(' + ', ' - ', ' * ') . integer_expression($scope, $depth - 1) . ')' if $depth > 0 && $r < 0.5;
	return 'coalesce(' . integer_expression($scope, 0) . ', ' . any('7::int8', integer_expression($scope, 0)) . ')' if $depth > 0 && $r < 0.65;
	return any(-2 .. 5) . '::int8' if $r < 0.75;
	my $c = column($scope, any('int2', 'int4', 'int4', 'text', 'varchar', 'bytea'));
	return 'NULL::int8' unless $c;
	return "$c->[0]::int8" if $c->[1]{type} =~ /^int/;
	return any('octet_length', $c->[1]{type} eq 'text' ? ('length', 'char_length') : 'length') . "($c->[0])::int8";
}

sub aggregate
{
	my ($scope) = @_;
	my $r = rand;
	return any('sum', 'sum', 'min', 'max', 'avg', 'count') . '(' . integer_expression($scope, 2) . ')' if chance(0.15);
	return 'count(*)' . (chance(0.1) ? ' FILTER (WHERE ' . comparison($scope) . ')' : '') if $r < 0.3;
	my $c = column($scope, any('int4', 'int8', 'numeric', undef));
	$c = column($scope) unless $c;
	my $distinct = chance(0.15) ? 'DISTINCT ' : '';
	my $filter = chance(0.1) ? ' FILTER (WHERE ' . comparison($scope) . ')' : '';
	return "count($distinct$c->[0])$filter" if $r < 0.4 || $c->[1]{type} =~ $no_extremes;
	return any('bool_and', 'bool_or', 'every', 'count') . "($c->[0])$filter" if $c->[1]{type} eq 'bool';
	return any('min', 'max') . "($c->[0])$filter" if $r < 0.75 || $c->[1]{type} !~ /^(int|numeric)/;
	# sums of integers have a wider type and do not overflow
	return any('sum', 'avg') . "($distinct$c->[0])$filter" if $c->[1]{type} ne 'numeric';
	return "sum($distinct$c->[0])$filter";
}

# Statements on one table: GROUP BY or DISTINCT on leading key columns (in any order, some of them
# bound to a value), min and max of the next key column.
sub grouped_statement
{
	my ($t, $outer) = @_;
	my $alias = $outer ? 'g' : 't1';
	my $scope = [ [ $t, $alias ] ];
	my @k = search_columns($t);
	my $parts = int rand(@k + 1);
	my @w;
	push @w, chance(0.7) ? comparison([ [ { %$t, columns => \@k }, $alias ] ]) : predicate($scope, 1) for 1 .. int rand 3;
	if ($outer)
	{
		my $own = chance(0.7) ? [ "$alias.$k[0]{name}", $k[0] ] : column($scope);
		my $other = column($outer, $own->[1]{type});
		push @w, "$own->[0] " . any('=', '=', '<', '>=') . " $other->[0]" if $other;
		return "(SELECT " . aggregate($scope) . " FROM $t->{name} $alias" . (@w ? ' WHERE ' . join(' AND ', @w) : '') . ')';
	}
	my @g = map { "$alias.$_->{name}" } @k[ 0 .. $parts - 1 ];
	push @w, shift(@g) . ' = ' . constant($k[0]{type}) if @g > 1 && chance(0.2);
	my $where = @w ? ' WHERE ' . join(' AND ', @w) : '';
	@g = shuffled(@g) if chance(0.3);
	my $order = @g && chance(0.4) ? order_all(scalar @g) : '';
	return ("SELECT DISTINCT " . join(', ', @g) . " FROM $t->{name} $alias$where$order", $order ne '') if @g && chance(0.3);
	my @a = map { aggregate($scope) } 1 .. 1 + int rand 3;
	@a = (any('min', 'max') . "($alias.$k[$parts]{name})") if $parts < @k && $k[$parts]{type} !~ /^(bool|uuid|bytea)$/ && chance(0.3);
	@a = () if @g && chance(0.2);
	my $having = @g && chance(0.3) ? ' HAVING ' . aggregate_condition($scope) : '';
	return ("SELECT " . join(', ', @g, @a) . " FROM $t->{name} $alias$where" . (@g ? ' GROUP BY ' . join(', ', @g) : '') . "$having$order", $order ne '');
}

sub aggregate_condition
{
	my ($scope) = @_;
	my $c = column($scope, 'int4');
	return $c && chance(0.4) ? any('sum', 'min', 'max', 'count') . "($c->[0]) " . any('>', '<', '=') . ' ' . int(rand 20) : 'count(*) ' . any('> 1', '< 3', '= 1', '> 5');
}

sub order_all { my ($n) = @_; return ' ORDER BY ' . join(', ', map { my $c = $_; "$c" . any('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') } shuffled(1 .. $n)); }

sub select_statement
{
	my ($depth) = @_;
	my $scope = [];
	my $sql;
	my $r = rand;
	return grouped_statement(source()) if chance(0.25);
	if ($depth > 0 && chance(0.06))
	{
		my $from = from_clause($scope, 1);
		return ("SELECT " . columns_of($scope->[0]) . ", " . grouped_statement(source(), $scope) . " AS a FROM $from" . (chance(0.5) ? ' WHERE ' . predicate($scope, 1) : ''), 0);
	}
	my $from = from_clause($scope, $depth > 0 ? any(1, 1, 1, 2, 2, 3) : 1);
	my $where = chance(0.8) ? ' WHERE ' . predicate($scope, 2) : '';
	my @s = some(1 + int rand 4, map { my $s = $_; map { "$s->[1].$_->{name}" } @{ $s->[0]{columns} } } @$scope);
	if ($r < 0.35)
	{
		# ORDER BY on the whole key is a total order
		if (chance(0.4) && @$scope == 1)
		{
			my @k = map { "$scope->[0][1].$_->{name}" } search_columns($scope->[0][0]);
			my $dir = any('', ' DESC');
			my @dirs = map { chance(0.8) ? $dir : any('', ' DESC') } @k;
			my $order = join ', ', map { "$k[$_]$dirs[$_]" } 0 .. $#k;
			return ("SELECT " . join(', ', @s, @k) . " FROM $from$where ORDER BY $order" . (chance(0.6) ? ' LIMIT ' . int(rand 20) : '') . (chance(0.3) ? ' OFFSET ' . int(rand 10) : ''), 1);
		}
		return ("SELECT " . join(', ', @s) . " FROM $from$where" . order_all(scalar @s) . (chance(0.5) ? ' LIMIT ' . int(rand 30) : ''), 1);
	}
	if ($r < 0.4)
	{
		# the distinct values of leading key columns
		my @k = map { "t1.$_->{name}" } search_columns($scope->[0][0]);
		@k = @k[ 0 .. int rand @k ];
		return ("SELECT DISTINCT " . join(', ', @k) . " FROM $from$where", 0) if chance(0.5);
		return ("SELECT " . join(', ', @k) . " FROM $from$where GROUP BY " . join(', ', shuffled(@k)), 0);
	}
	return ("SELECT " . (chance(0.3) ? 'DISTINCT ' : '') . join(', ', @s) . " FROM $from$where", 0) if $r < 0.55;
	return ("SELECT " . join(', ', map { aggregate($scope) } 1 .. 1 + int rand 3) . " FROM $from$where", 0) if $r < 0.7;
	if ($r < 0.87)
	{
		my @g = some(1 + int rand 2, @s);
		@g = map { "t1.$_->{name}" } search_columns($scope->[0][0]) if chance(0.5);
		@g = @g[ 0 .. int rand @g ];
		return ("SELECT " . join(', ', @g, map { aggregate($scope) } 1 .. 1 + int rand 2) . " FROM $from$where GROUP BY " . join(', ', @g) . (chance(0.3) ? ' HAVING count(*) ' . any('> 1', '< 3', '= 1') : ''), 0);
	}
	return ("SELECT count(*), max(x) FROM (SELECT $s[0] AS x, row_number() OVER (PARTITION BY $s[0] ORDER BY " . join(', ', map { my $s = $_; map { "$s->[1].$_->{name}" } grep { $_->{key} } @{ $s->[0]{columns} } } @$scope) . ") AS y FROM $from$where) z WHERE y <= 2", 0)
	  if $r < 0.9 && $s[0] !~ /\.k/ && 0;
	if ($r < 0.95)
	{
		my ($a) = select_keys();
		my ($b) = select_keys($a->[1]);
		return ("$a->[0] " . any('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT') . " $b->[0]", 0);
	}
	my $t = source();
	my @k = map { $_->{name} } grep { $_->{key} } @{ $t->{columns} };
	return ("SELECT " . join(', ', map { columns_of($_) } @$scope) . ", q.* FROM $from LEFT JOIN LATERAL (SELECT " . join(', ', map { "l.$_ AS l$_" } @k) . " FROM $t->{name} l WHERE " . predicate([ @$scope, [ $t, 'l' ] ], 1) . ' ORDER BY ' . join(', ', map { "l.$_" } @k) . " LIMIT 2) q ON true$where", 0);
}

sub select_keys
{
	my ($type) = @_;
	my $t = source();
	my $scope = [ [ $t, 'u' ] ];
	my $c = column($scope, $type) || column($scope);
	return [ "SELECT $c->[0]" . ($type && !same_kind($type, $c->[1]{type}) ? '::text' : '') . " FROM $t->{name} u WHERE " . predicate($scope, 1), $c->[1]{type} ] if !$type || same_kind($type, $c->[1]{type});
	return [ "SELECT NULL FROM $t->{name} u WHERE false", $type ];
}

# a RETURNING expression of any type
sub returned
{
	my ($t, @c) = @_;
	my $c = any(@c)->{name};
	my $k = (grep { $_->{key} } @{ $t->{columns} })[0]{name};
	return any("x.$c", "x.$c", "x.$c", "x.$c IS NULL", "x.$c\::text || '!'", "coalesce(x.$c\::text, 'none')", "(x.*) IS NULL",
		"CASE WHEN x.$c IS NULL THEN x.$k\::text ELSE x.$c\::text END", "(SELECT count(*) FROM $t->{name} z WHERE z.$k = x.$k)");
}

# the new value of a column: a constant, another column, an expression on the row, a subquery
sub assigned
{
	my ($scope, $c) = @_;
	my $r = rand;
	my $null = $c->{not_null} || chance(0.6) ? constant($c->{type}) : 'NULL';
	my $o = column($scope, $c->{type}, sub { $_[0]{type} eq $c->{type} && ($c->{not_null} ? $_[0]{not_null} || $_[0]{key} : 1) });
	return $null if $r < 0.45;
	return $o ? $o->[0] : $null if $r < 0.65;
	return "CASE WHEN " . predicate($scope, 1) . " THEN $scope->[0][1].$c->{name} ELSE $null END" if $r < 0.85;
	my $y = source();
	my $from = column([ [ $y, 'y' ] ], $c->{type}, sub { $_[0]{type} eq $c->{type} });
	return $null unless $from;
	return "coalesce((SELECT max($from->[0]) FROM $y->{name} y WHERE " . predicate([ [ $y, 'y' ], @$scope ], 1) . "), " . constant($c->{type}) . ")";
}

# A change in a transaction that is rolled back, with the rows it returns and the table after it.
sub change_statement
{
	my $t = any(@tables);
	my $scope = [ [ $t, 'x' ] ];
	my @c = @{ $t->{columns} };
	my @v = grep { !$_->{key} } @c;
	my @k = map { $_->{name} } grep { $_->{key} } @c;
	my $where = ' WHERE ' . predicate($scope, chance(0.7) ? 1 : 2);
	my $returning = chance(0.4) ? ' RETURNING ' . join(', ', map { returned($t, @c) } 1 .. 1 + int rand 3) : '';
	my $r = rand;
	my $change;
	# rows that exist stay as they are; the ordinary partition of a wide table has no primary key
	if (!$t->{partitions} && ($t->{insert_only} || chance(0.15)))
	{
		my @rows = map { '(' . join(', ', map { !$_->{key} && !$_->{not_null} && chance($t->{nulls}) ? 'NULL' : key_value($_, $t) } @c) . ')' } 1 .. 1 + int rand 6;
		$change = "INSERT INTO $t->{name} AS x VALUES " . join(', ', @rows) . " ON CONFLICT DO NOTHING$returning";
	}
	elsif ($r < 0.3 || !@v) { $change = "DELETE FROM $t->{name} x$where$returning"; }
	elsif ($r < 0.7)
	{
		my @set = some(1 + int rand 2, @v);
		$change = "UPDATE $t->{name} x SET " . join(', ', map { "$_->{name} = " . assigned($scope, $_) } @set) . "$where$returning";
	}
	elsif ($r < 0.76 && @v > 1)
	{
		# several columns from one query
		my @set = some(2, @v);
		my $one = join ' AND ', map { "y.$_ = x.$_" } @k;
		my @from = chance(0.5) ? map { constant($_->{type}) } @set : map { "max(y.$_->{name})" } @set;
		$change = "UPDATE $t->{name} x SET (" . join(', ', map { $_->{name} } @set) . ") = (SELECT " . join(', ', @from) . " FROM $t->{name} y" . ($from[0] =~ /^max\(y/ ? " WHERE $one" : ' LIMIT 1') . ")$where$returning";
	}
	elsif ($r < 0.88)
	{
		# UPDATE ... FROM: each row joins one row by its key, or all joined rows set the same
		# constant
		my $set = any(@v);
		my $other = chance(0.5) ? $t : any(@tables);
		my ($a, $b) = (column($scope), undef);
		$b = column([ [ $other, 'y' ] ], $a->[1]{type});
		return change_statement() unless $b;
		$change = "UPDATE $t->{name} x SET $set->{name} = " . ($other == $t && chance(0.6) ? "y.$set->{name}" : constant($set->{type})) .
		  " FROM $other->{name} y WHERE " . ($other == $t ? join(' AND ', map { "y.$_ = x.$_" } @k) . ' AND ' : "$a->[0] = $b->[0] AND ") . comparison([ @$scope, [ $other, 'y' ] ]) . $returning;
	}
	else
	{
		my $o = any(@tables);
		my ($a, $b) = (column($scope), undef);
		$b = column([ [ $o, 'y' ] ], $a->[1]{type});
		return change_statement() unless $b;
		$change = "DELETE FROM $t->{name} x USING $o->{name} y WHERE $a->[0] = $b->[0] AND " . comparison([ @$scope, [ $o, 'y' ] ]) . $returning;
	}
	if (@v && !$t->{insert_only} && chance(0.2))
	{
		# savepoints that are released or rolled back to, and a second change
		my $set = any(@v);
		my $more = chance(0.5) ? "DELETE FROM $t->{name} x WHERE " . predicate($scope, 1) : "UPDATE $t->{name} x SET $set->{name} = " . ($set->{not_null} ? 7 : 'NULL') . " WHERE " . predicate($scope, 1);
		$change = any("SAVEPOINT a;\n$change;\nROLLBACK TO a;\n$more", "$more;\nSAVEPOINT a;\n$change;\nRELEASE a", "SAVEPOINT a;\n$more;\nSAVEPOINT b;\n$change;\nROLLBACK TO b;\nRELEASE a");
	}
	my $same = $t->{derived} ? "SELECT * FROM differences('$t->{name}');\n" : '';
	$same .= join '', map { 'SELECT ' . compared($_) . " FROM $_->{name};\n" } grep { $_->{name} } @{ $t->{rollups} || [] };
	return "BEGIN;\n$change;\nSELECT * FROM $t->{name};\nSELECT count(*) FROM $t->{name} x$where;\n${same}ROLLBACK";
}

my @settings = (
	'enable_hashjoin = off', 'enable_mergejoin = off', 'enable_nestloop = off', 'enable_sort = off', 'enable_hashagg = off',
	'enable_material = off', 'enable_memoize = off', 'enable_incremental_sort = off', 'random_page_cost = 0.1', 'cpu_tuple_cost = 1',
	"parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2",
	'widetable.enable_direct_modify = off', 'widetable.enable_pushdown = off', 'enable_seqscan = off', 'widetable.enable_index = off',
	"timezone = 'Asia/Tokyo'", "timezone = 'America/New_York'",
);

sub statement
{
	my $prepared = chance(0.25);
	my ($sql, $ordered, $set) = ('', 0, '');
	$set = join '', map { "SET $_;\n" } some(1 + int rand 2, @settings) if chance(0.5);
	# searches cost nothing, so that small tables get loose scans too
	$set .= "SET seq_page_cost = 0;\nSET cpu_operator_cost = 0;\n" if chance(0.25);
	if (chance(0.2)) { $params = undef; return ($set, change_statement(), 0); }
	$params = $prepared ? [] : undef;
	($sql, $ordered) = select_statement(1);
	if ($prepared && @$params)
	{
		my $p = join ', ', map { declared($_->[0]) } @$params;
		my $v = join ', ', map { $_->[1] } @$params;
		$set .= 'SET plan_cache_mode = ' . any('force_generic_plan', 'force_generic_plan', 'auto') . ";\n";
		$sql = "PREPARE q($p) AS $sql;\nEXECUTE q($v);\nEXECUTE q(" . join(', ', map { chance(0.15) ? 'NULL' : $values{ $_->[0] }->() } @$params) . ");\nDEALLOCATE q";
	}
	$params = undef;
	return ($set, $sql, $ordered);
}

# ------------------------------------------------------------------ compare

# errors that depend on the order in which rows and clauses are evaluated
my $excused = qr/ERROR:  (22003|22012|22008|22025|54001)/;

sub answer
{
	my ($text, $ordered) = @_;
	# the order of the statements counts; that of the rows only with ORDER BY
	my @parts = split /^--part--\n/m, $text;
	return join "--\n", map { chomp; my @l = split /\n/, $_, -1; $ordered ? join("\n", @l) . "\n" : join("\n", sort @l) . "\n" } @parts;
}

# returns true if the statements end with an error of older minor releases: UPDATE and DELETE on a
# partitioned table with no partition left by the conditions ask for a column that only ordinary
# partitions have
sub junk_ctid
{
	my (undef, $out) = psql('oracle', $_[0]);
	return $out =~ /ERROR:  could not find junk ctid column/;
}

# differences(): what widetable.verify() reports of a table, or of its partitions; in schema h nothing.
# wrapped(): a sum as bigint wraps
my $differences = <<'END';
CREATE FUNCTION w.differences(name text) RETURNS TABLE (object text, problem text) LANGUAGE sql AS
  $$SELECT v.object, v.problem FROM pg_class c, LATERAL widetable.verify(c.oid) v
    WHERE relnamespace = to_regnamespace('w') AND relkind = 'f' AND relname IN (name, name || '_0', name || '_1')$$;
CREATE FUNCTION h.wrapped(sum numeric) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$SELECT (((sum + 9223372036854775808) % 18446744073709551616 + 18446744073709551616) % 18446744073709551616 - 9223372036854775808)::bigint$$;
CREATE FUNCTION h.differences(name text) RETURNS TABLE (object text, problem text) LANGUAGE sql AS $$SELECT '', '' WHERE false$$;
END

# the lines that only one of the two results has
sub difference
{
	my ($w, $h) = @_;
	my (%w, %h);
	$w{$_}++ for split /\n/, $w;
	$h{$_}++ for split /\n/, $h;
	my @out = (map({ "wide: $_" } grep { $w{$_} > ($h{$_} || 0) } sort keys %w), map({ "heap: $_" } grep { $h{$_} > ($w{$_} || 0) } sort keys %h));
	@out = ("the order differs:", map({ "wide: $_" } split /\n/, $w), map({ "heap: $_" } split /\n/, $h)) unless @out;
	return join("\n", @out > 20 ? (@out[0 .. 19], "...") : @out) . "\n";
}

sub with_parts { my ($sql) = @_; my $s = "$sql;\n"; $s =~ s/;\n/;\n\\echo --part--\n/g; return $s; }

my ($round, $done, $bad) = (0, 0, 0);
read_differences() if $nodes;
psql('postgres', "DROP DATABASE IF EXISTS oracle;\n");
my ($rc, $out) = psql('postgres', "CREATE DATABASE oracle TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8';\n", '-v ON_ERROR_STOP=1');
die $out if $rc;
psql('oracle', "CREATE EXTENSION widetable;\nCREATE TYPE public.mood AS ENUM ('sad', 'ok', 'happy');\n");
if ($nodes)
{
	# the tables that an earlier run has left are dropped in the first round
	my $names = join ', ', map { ("t$_", "t${_}_0", "t${_}_1") } 1 .. 3;
	($rc, $out) = psql('oracle', "ALTER SERVER widetable OPTIONS (ADD engine 'hbase', ADD nodes '$nodes', ADD timeout '120s', ADD fetch_rows '1000');\nCREATE SCHEMA w;\n" .
		"IMPORT FOREIGN SCHEMA \"default\" LIMIT TO ($names) FROM SERVER widetable INTO w OPTIONS (layout 'cells');\n", '-v ON_ERROR_STOP=1');
	die $out if $rc;
}
my $junk = junk_ctid(<<'END');
BEGIN;
CREATE TABLE parted (k int) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (9) SERVER widetable OPTIONS (key 'k', families '{"d": {}}');
DELETE FROM parted WHERE k < 1 AND k > 8 RETURNING k;
ROLLBACK;
END
print "# this server fails UPDATE and DELETE without a partition: such statements are left out\n" if $junk;

while ($done < $total && $bad < 5)
{
	$round++;
	srand($seed * 100003 + $round);
	@tables = ();
	@rollups = ();
	$params = undef;
	my $indexed = !$nodes && chance(0.67);
	push @tables, make_table("t$_", $indexed) for 1 .. 2 + int rand 2;
	my $setup = "SET timezone = 'UTC';\nCREATE SCHEMA w;\nCREATE SCHEMA h;\n$differences" . join('', map { $_->{ddl} } @tables);
	# answers of few rows, so that scans need several of them
	$setup .= "ALTER SERVER widetable OPTIONS (SET fetch_rows '" . any(2, 7, 30, 1000) . "');\n" if $nodes;
	$setup .= fill_table($_) for @tables;
	my @st = map { [ statement() ] } 1 .. $per_round;
	$done += @st;
	next if defined $only && $round != $only;
	($rc, $out) = psql('oracle', "SET client_min_messages = warning;\n${drop_tables}DROP SCHEMA IF EXISTS w, h CASCADE;\n$setup", '-v ON_ERROR_STOP=1');
	if ($rc) { print "not ok - seed $seed, round $round: the tables can be created\n"; print "# $_\n" for split /\n/, $out; $bad++; next; }
	# long enough for a Gather that is restarted some 2,000 times: 10 ms each
	my $sql = "\\set VERBOSITY sqlstate\nSET timezone = 'UTC';\nSET client_min_messages = error;\nSET extra_float_digits = 0;\nSET statement_timeout = '60s';\n";
	for my $i (0 .. $#st)
	{
		my ($set, $q) = @{ $st[$i] };
		$sql .= "RESET ALL;\nSET timezone = 'UTC';\nSET client_min_messages = error;\nSET statement_timeout = '60s';\n$set";
		$sql .= "\\echo ==$i w\nSET search_path = w;\n" . with_parts($q) . "ROLLBACK;\nDEALLOCATE ALL;\n\\echo ==$i h\nSET search_path = h;\n" . with_parts($q) . "ROLLBACK;\nDEALLOCATE ALL;\n\\echo ==$i end\n";
	}
	$sql .= "RESET ALL;\nSET client_min_messages = error;\n\\echo ==end\nSELECT v.* FROM (VALUES " . join(', ', map { "('$_->{name}')" } @tables) . ") t (name), LATERAL w.differences(name) v;\n";
	$sql .= join '', map { my $d = rollup_differences($_, qr/./); $d ? "$d;\n" : () } @tables;
	($rc, $out) = psql('oracle', $sql);
	my ($last) = $out =~ /^==end\n(.*)\z/ms;
	my %got;
	while ($out =~ /^==(\d+) (w|h)\n(.*?)(?=^==\1 )/msg) { $got{"$1$2"} = $3; }
	my $wrong = 0;
	for my $i (0 .. $#st)
	{
		my ($set, $q, $ordered) = @{ $st[$i] };
		my ($w, $h) = @got{ "${i}w", "${i}h" };
		$_ = defined $_ ? $_ : "(no answer: connection lost)\n" for $w, $h;
		s/^psql:[^ ]* //mg for $w, $h;
		next if "$w$h" =~ $excused || is_left_out("$set$q");
		my ($aw, $ah) = (answer($w, $ordered), answer($h, $ordered));
		next if $aw eq $ah && $w !~ /ERROR:  XX/ && $w !~ /no answer/;
		next if $junk && $w =~ /ERROR:  XX000/ && junk_ctid("$set\nSET search_path = w;\n" . with_parts($q) . "ROLLBACK;\n");
		$wrong++;
		next if $wrong > 2;
		print "not ok - seed $seed, round $round, statement $i\n";
		print "# $_\n" for split /\n/, "$set\n$q;\n" . difference($aw, $ah);
		spit("$ENV{OUT}/oracle-$seed-$round-$i.sql", "$setup\n$set\nSET search_path = w;\n$q;\nSET search_path = h;\n$q;\n") if $ENV{OUT};
		last if $w =~ /no answer/;
	}
	if (!defined $last || $last ne '')
	{
		print "not ok - seed $seed, round $round: at its end its indexes and roll-ups are those of the tables\n";
		print "# $_\n" for split /\n/, defined $last ? $last : 'no answer';
		$wrong++;
	}
	$bad += $wrong > 0;
	print "ok - seed $seed, round $round: ", scalar @st, " statements agree\n" unless $wrong;
}
print "# difference $_: $left_out{$_} statements are not compared\n" for sort { $a <=> $b } keys %left_out;
# its files would be litter for the part that comes next
psql('oracle', $drop_tables) unless $bad;
psql('postgres', "DROP DATABASE oracle;\n") unless $bad;
exit($bad > 0);
