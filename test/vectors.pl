#
# vectors.pl: runs test/vectors/*.vec, small tests of which cells are visible after a sequence of
# writes and deletes, each in these states of the store:
#
#   a  in the memtable              e  after a crash and recovery
#   b  after a flush                f  in the writing transaction, and in
#   c  each operation in its own       the same session after its commit
#      file                         g  in another session
#   d  after a full compaction      h  the last operation in a transaction, the others in files
#
# On a streaming standby the reads after the last operation are repeated for each of these states
# but g, once the standby has replayed the operations.  Only raw_cells and the number of files are
# left out: they show what flushes and compactions have left, and the standby has its own.
#
# The invariant: where the data lies does not change a result.  Every read is done in several ways
# (widetable.cells, a table in layout cells, the row, get) that must agree.  test/vectors/README
# describes the language of the files.
#
# The script creates its own cluster, with widetable.clock set: timestamps, the clock and TTLs are
# small numbers in microseconds.  Takes about one and a half minutes.
#
# The vectors of a state are one script for one psql.  Lines "#@" in it switch to other sessions;
# see drive().
#
# With HBASE_NODES=host:port,... the tables are those of a cluster of HBase, and a unit of time is a
# millisecond.  Then the states are a, g after it, also after a flush and a major compaction in HBase,
# and f.  The vectors that cannot run there are listed in test/hbase.d/differences.
#
# Arguments: files or ids of vectors; default all.  VECTORS_LONG=1: numbers {N|M} in the vectors are
# M instead of N, which takes some minutes.  Uses modules of perl-base only.  Needs: BIN
# (PostgreSQL's programs, with the extension installed).
#
use strict;
use warnings;
use POSIX ();

$| = 1;
my $bin = $ENV{BIN} or die "run this by ./test/check vectors\n";
(my $here = $0) =~ s{[^/]*$}{vectors};
my $dir = ($ENV{TMPDIR} || '/tmp') . "/wt-vectors.$$";
mkdir $dir or die "$dir: $!";
my $started = 0;
my $nodes = $ENV{HBASE_NODES};
my $unit = $nodes ? 1000 : 1;	# microseconds of a unit of time
my %count = (ok => 0, bad => 0);
$SIG{INT} = $SIG{TERM} = sub { exit 1 };
END
{
	my $rc = $?;
	for my $data (qw(data standby)) { system("'$bin/pg_ctl' -D '$dir/$data' -m immediate -w stop >/dev/null 2>&1") if $started && -d "$dir/$data"; }
	system('rm', '-rf', $dir) if defined $dir && !$ENV{KEEP};
	$? = $rc;
}

sub slurp { my ($f) = @_; open my $h, '<', $f or return ''; local $/; my $s = <$h>; return defined $s ? $s : ''; }
sub spit { my ($f, $s) = @_; open my $h, '>', $f or die "$f: $!"; print $h $s; close $h or die "$f: $!"; }

sub result
{
	my ($ok, $name, @why) = @_;
	$count{$ok ? 'ok' : 'bad'}++;
	print +($ok ? 'ok' : 'not ok') . " - $name\n";
	print map { "#   $_\n" } @why unless $ok;
}

# ---------------------------------------------------------- reading the files

my @vectors;

# parses an operation such as "P(q1,10,a)"; see README
sub parse_op
{
	my ($op) = @_;
	my %o = (text => $op);
	$op =~ s/\)=(\S*)$/)/ and $o{want} = $1 if $op =~ /^[IAC]\(/;
	$op =~ /^(P|Dv|Dc|Dfv|Df|Dr|I|A|C|clock)\((.*)\)$/s or die "unknown operation '$op'\n";
	my ($what, @a) = ($1, split /,/, $2, -1);
	$o{what} = $what;
	if ($what eq 'P')
	{
		$o{ttl} = $1 if @a && $a[-1] =~ /^ttl (\d+)$/ && pop @a;
		$o{col} = @a > 2 ? shift @a : 'q';
		@o{qw(ts value)} = @a;
		die "wrong arguments in '$op'\n" unless defined $o{value} && $o{ts} =~ /^(auto|-?\d+)$/;
	}
	elsif ($what eq 'I' || $what eq 'A')
	{
		$o{col} = @a > 1 ? shift @a : 'q';
		$o{value} = $a[0];
	}
	elsif ($what eq 'C')
	{
		$o{col} = @a && $a[0] =~ /^(is |[<>=])/ ? 'q' : shift @a;
		@o{qw(compare value)} = @a;
		die "wrong arguments in '$op'\n" unless defined $o{compare};
	}
	elsif ($what eq 'clock') { $o{value} = $a[0]; }
	else
	{
		$o{ts} = pop @a if @a && $a[-1] =~ /^-?\d+$/;
		$o{col} = @a ? shift @a : $what =~ /f/ ? 'f' : 'q';
	}
	$o{col} = "f:$o{col}" if defined $o{col} && $what !~ /f/ && $o{col} !~ /:/;
	$o{kind} = 'op';
	return \%o;
}

# parses a line "family NAME option=value ..."
sub parse_family
{
	my ($v, $text) = @_;
	my ($name, @opts) = split ' ', $text;
	my %f;
	for (@opts)
	{
		my ($o, $value) = /^(\w+)=(.*)$/ or die "not an option: '$_'\n";
		$value = "\"$value microseconds\"" if $o eq 'ttl';
		$value = "\"$value\"" if $o =~ /^(bloom|compression|merge)$/;
		$f{$o} = $value;
	}
	$v->{families}{$name} = '{' . join(', ', map { "\"$_\": $f{$_}" } sort keys %f) . '}';
}

# parses the steps of one line
sub parse_steps
{
	my ($text) = @_;
	my %s;
	@s{qw(how session)} = ($1, $2) if $text =~ s/^(in|start) (\w+) +//;
	my ($word, $states, $rest) = $text =~ /^(\w+!?)(?:\[([a-h]+)\])?\s*(.*)$/ or die "not a step: '$text'\n";
	$s{states} = $states;
	@s{qw(kind text)} = ($word, $rest);
	if ($word eq 'do') { return map { { %s, %{ parse_op($_) } } } split /\s*;\s*/, $rest; }
	if ($word =~ /^(do|sql|see|plan)!$|^plan$/)
	{
		$rest =~ m{^/(.*?)/\s+(.*)$} or die "$word /regex/ ...\n";
		my ($regex, $what) = ($1, $2);
		$s{text} = $what;
		if ($word =~ /^plan/) { @s{qw(kind want)} = ($word eq 'plan' ? 'plan' : 'noplan', $regex); return \%s; }
		@s{qw(kind error)} = ($word =~ /^(\w+)/, $regex);
		%s = (%s, %{ parse_op($what) }) if $word eq 'do!';
		$s{want} = '' if $word eq 'see!';
	}
	elsif ($word eq 'see') { $rest =~ /^(.*?):(?:\s+(.*))?$/ or die "see READ: cells\n"; @s{qw(text want)} = ($1, defined $2 ? $2 : ''); }
	elsif ($word =~ /^(query|call|prepared|pages)$/)
	{
		$rest =~ /^(.*) =>(?: (.*))?$/ or die "$word SQL => result\n";
		@s{qw(text want)} = ($1, defined $2 ? $2 : '');
		if ($word eq 'prepared') { $s{text} =~ s/^\(([^)]*)\)\s+// or die "prepared (arguments) SQL\n"; $s{args} = $1; }
		if ($word eq 'pages') { $s{text} =~ s/^(\d+)\s+// or die "pages N SQL\n"; $s{args} = $1; }
	}
	elsif ($word eq 'many') { $rest =~ /^(\S+) (\S+) (.*)$/ or die "many SESSIONS TIMES SQL\n"; @s{qw(n times text)} = ($1, $2, $3); }
	elsif ($word eq 'random') { $rest =~ /^(\d+) (\d+)$/ or die "random N SEED\n"; @s{qw(n seed)} = ($1, $2); }
	elsif ($word eq 'kill') { $rest =~ /^(\S+) (.*)$/ or die "kill POINT SQL\n"; @s{qw(point text)} = ($1, $2); }
	elsif ($word =~ /^(blocked|finish)$/) { $s{who} = $rest; }
	elsif ($word !~ /^(sql|alter|begin|commit|rollback|savepoint|undo|flush|compact|open)$/) { die "unknown step '$word'\n"; }
	if ($s{kind} eq 'see')
	{
		$s{text} =~ /^(?:G(\d*)(?:\[(-?\d+),(-?\d+)\))?|asof (\d+))$/ or die "unknown read '$s{text}'\n";
		@s{qw(n since until asof)} = ($1 || 1, $2, $3, $4);
	}
	return \%s;
}

sub parse_line
{
	my ($v, $text) = @_;
	my ($word, $rest) = $text =~ /^(\w+!?\S*)\s*(.*)$/s;
	if ($word eq 'family') { parse_family($v, $rest); }
	elsif ($word =~ /^(columns|states|skip|note)$/) { $v->{$word} = $rest; }
	elsif ($word =~ /^(also|setup)$/) { push @{ $v->{$word} }, $rest; }
	elsif ($word eq 'table')
	{
		my ($name, $cols, $opts) = $rest =~ /^(\w+) (\(.*?\))(?: options (\(.*\)))?$/s or die "table NAME (columns) options (...)\n";
		push @{ $v->{tables} }, { name => $name, sql => "$cols SERVER widetable" . (defined $opts ? " OPTIONS $opts" : '') };
	}
	else { push @{ $v->{steps} }, parse_steps($text); }
}

sub load_file
{
	my ($file) = @_;
	my (@raw, $line);
	open my $h, '<', $file or die "$file: $!";
	while (<$h>)
	{
		chomp;
		s/\s+$//;
		next if /^\s*#/ || $_ eq '';
		s/\{(\d+)\|(\d+)\}/$ENV{VECTORS_LONG} ? $2 : $1/ge;
		if (/^(T\d+\w*)\s+(.*)/) { push @raw, { id => $1, title => $2, for => [''], lines => [] }; }
		elsif (@raw && /^ for (.*)/) { $raw[-1]{for} = [ split ' ', $1 ]; }
		elsif (@raw && /^ (\S.*)/) { push @{ $raw[-1]{lines} }, [ $., $1 ]; }
		elsif (@raw && @{ $raw[-1]{lines} } && s/^\s+//) { $raw[-1]{lines}[-1][1] .= " $_"; }
		else { die "$file:$.: '$_'\n"; }
	}
	for my $raw (@raw)
	{
		my $n = 0;
		for my $for (@{ $raw->{for} })
		{
			my $v = { id => $raw->{id}, title => $raw->{title} . ($for ne '' && " ($for)"), families => {}, tables => [], steps => [],
				states => 'abcdefgh', name => lc $raw->{id} . ($n++ || '') };
			for (@{ $raw->{lines} })
			{
				my ($no, $text) = @$_;
				$text =~ s/\{for\}/$for/g;
				eval { parse_line($v, $text); 1 } or die "$file:$no: $@";
			}
			$v->{families}{f} = '{}' unless %{ $v->{families} };
			$v->{other} = grep { $_->{session} || $_->{kind} =~ /^(many|kill|random)$/ } @{ $v->{steps} };
			push @vectors, $v;
		}
	}
}

# ------------------------------------------------------------ generating SQL

sub quote { my ($s) = @_; $s =~ s/'/''/g; return "'$s'"; }

sub clock_text
{
	my ($us) = @_;
	my $s = POSIX::floor($us / 1000000);
	return POSIX::strftime('%Y-%m-%d %H:%M:%S', gmtime $s) . sprintf('.%06d+00', $us - $s * 1000000);
}

# the bytes of a value in the files: text, #N for an 8-byte integer, 0xHEX, - for an empty value
sub value_hex
{
	my ($v) = @_;
	return '' if $v eq '-';
	return lc $1 if $v =~ /^0x([0-9a-fA-F]*)$/;
	return unpack 'H*', pack 'q>', $1 if $v =~ /^#(-?\d+)$/;
	return unpack 'H*', $v;
}

sub qualifier_hex { my ($q) = @_; $q =~ s/\\x([0-9a-f]{2})/chr hex $1/ge; return unpack 'H*', $q; }

# a time as the tables have it
sub scaled { my ($ts) = @_; return $nodes && $ts ne '0' ? $ts . '000' : $ts; }

sub op_sql
{
	my ($o, $t) = @_;
	my $w = $o->{what};
	my $at = defined $o->{ts} ? ', ' . ($o->{ts} eq 'auto' ? 'auto' : scaled($o->{ts})) : '';
	my $col = defined $o->{col} ? quote($o->{col}) : '';
	return "SELECT widetable.put($t, 'r', $col, '\\x" . value_hex($o->{value}) . "'::bytea"
	  . ($o->{ts} eq 'auto' ? ', NULL' : $at) . (defined $o->{ttl} ? ", '" . $o->{ttl} * $unit . " microseconds'" : '') . ');' if $w eq 'P';
	return "SELECT widetable.delete_version($t, 'r', $col$at);" if $w eq 'Dv';
	return "SELECT widetable.delete_column($t, 'r', $col$at);" if $w eq 'Dc';
	return "SELECT widetable.delete_family($t, 'r', $col$at);" if $w eq 'Df';
	return "SELECT widetable.delete_family_version($t, 'r', $col$at);" if $w eq 'Dfv';
	return "SELECT widetable.delete_row($t, 'r');" if $w eq 'Dr';
	return "SELECT widetable.increment($t, 'r', $col, $o->{value}) AS r \\gset" if $w eq 'I';
	return "SELECT widetable.check_and_mutate($t, 'r', $col, '$o->{compare}', " . (defined $o->{value} ? "'\\x" . value_hex($o->{value}) . "'::bytea" : 'NULL')
	  . q(, '[{"append": {"f:hit": "t"}}]', '[{"append": {"f:hit": "f"}}]'\) AS r \gset) if $w eq 'C';
	return "SELECT widetable.append($t, 'r', $col, " . quote($o->{value}) . ') AS r \gset' if $w eq 'A';
	die $w;
}

# the expected cells of a read: [family, qualifier hex, ts, value hex]
sub cells_wanted
{
	my ($want, $base) = @_;
	my @c;
	for (split ' ', $want)
	{
		/^(?:([^=]*)=)?(.*)@(\+?\d+|\*)$/ or die "not a cell: '$_'\n";
		my ($col, $v, $ts) = (defined $1 ? $1 : 'q', $2, $3);
		my ($fam, $q) = $col =~ /^(\w+):(.*)$/s ? ($1, $2) : ('f', $col);
		$ts = $nodes ? '*' : $base + $1 if $ts =~ /^\+(\d+)$/;
		$ts = scaled($ts) if $ts ne '*';
		push @c, [ $fam, qualifier_hex($q), $ts, value_hex($v) ];
	}
	return @c;
}

sub show_cells { return join(' ', map { join ':', @$_ } @_) || '(nothing)'; }

sub same_cells
{
	my ($want, $got) = @_;
	return 0 if @$want != @$got;
	for my $i (0 .. $#$want)
	{
		for my $k (0 .. 3) { return 0 if $want->[$i][$k] ne $got->[$i][$k] && $want->[$i][$k] ne '*'; }
	}
	return 1;
}

# the order of layout cells; cells with any timestamp (*) keep their order
sub sort_cells
{
	return sort { $a->[0] cmp $b->[0] || $a->[1] cmp $b->[1] || ("$a->[2]$b->[2]" =~ /\*/ ? 0 : $b->[2] <=> $a->[2]) } @_;
}

# ------------------------------------------------- a vector in one state: a run

my $base = 1000000000000;		# the clock of a run starts here; the next run starts later
my %checks;						# "run/step/method" -> the expected result
my $runs = 0;
our $on_standby = 0;				# the reads run on the standby

# the columns of the row table: the cells that the operations name, except counters
sub columns_of
{
	my ($v) = @_;
	my (%seen, %counter, @c);
	return () if defined $v->{columns};
	for (@{ $v->{steps} })
	{
		next unless $_->{kind} eq 'op' && defined $_->{col} && $_->{what} !~ /f/;
		push @c, $_->{col} if !$seen{ $_->{col} }++;
		# a column of type bytea cannot be a counter
		$counter{ $_->{col} } = 1 if $_->{what} eq 'I' || defined $_->{value} && $_->{value} =~ /^#/;
	}
	push @c, 'f:q' unless @c;
	return grep { !$counter{$_} } @c;
}

# true if the vector uses {t} or {c}
sub uses_first_table
{
	my ($v) = @_;
	return 1 unless @{ $v->{tables} };
	return scalar grep { $_->{kind} =~ /^(op|see|alter|compact)$/ || $_->{text} =~ /\{[tc]\}/ } @{ $v->{steps} },
	  map { { kind => '', text => $_ } } @{ $v->{setup} || [] }, map { $_->{sql} } @{ $v->{tables} };
}

sub create_sql
{
	my ($v, $run) = @_;
	my $t = $run->{table};
	my @cols = columns_of($v);
	my $i = 0;
	my $list = defined $v->{columns} ? $v->{columns}
	  : join ', ', map { $i++; my $q = quote($_); my $n = $_ eq 'f:q' ? 'q' : "c$i"; "$n bytea OPTIONS (column $q)" } @cols;
	$list = "m jsonb OPTIONS (family 'f')" if $list eq '';
	my $fam = quote('{' . join(', ', map { "\"$_\": $v->{families}{$_}" } sort keys %{ $v->{families} }) . '}');
	my @sql;
	push @sql, "CREATE FOREIGN TABLE $t (k text COLLATE \"C\", $list) SERVER widetable OPTIONS (key 'k', families $fam)",
	  "CREATE FOREIGN TABLE ${t}_c (k text COLLATE \"C\", family text COLLATE \"C\", qualifier bytea, ts bigint, value bytea, version int)"
	  . " SERVER widetable OPTIONS (key 'k', layout 'cells', table_name " . quote($nodes ? $t : "public.$t") . ")"
	  if uses_first_table($v);
	push @sql, map { 'CREATE FOREIGN TABLE ' . expand("{$_->{name}} $_->{sql}", $run) } @{ $v->{tables} };
	push @sql, map { expand($_, $run) } @{ $v->{setup} || [] };
	my $key = "$run->{no}/0/create";
	$checks{$key} = { run => $run, step => { text => 'CREATE of the tables' }, method => '', how => 'error' };
	if ($nodes) { s/table_name 'public\./table_name '/g for @sql; }
	return join '', map { "$_;\n" . error_echo($key) } @sql;
}

# generates a read in every way and registers the expected results
sub see_sql
{
	my ($v, $s, $run, $i) = @_;
	my $t = $run->{table};
	my $sql = '';
	my @want = $s->{error} ? () : cells_wanted($s->{want}, $run->{base});
	my $range = defined $s->{since} ? ', ' . scaled($s->{since}) . ', ' . scaled($s->{until}) : '';
	my $n = defined $s->{asof} ? 9 : $s->{n};
	my $ask = sub {
		my ($method, $query, $want, $how) = @_;
		my $key = "$run->{no}/$i/$method";
		$checks{$key} = { run => $run, step => $s, method => $method, want => $want, how => $how };
		$sql .= "SELECT 'R|$key|' || coalesce(($query)::text, '');\n" . error_echo($key);
	};
	my $cell = "string_agg(family || ':' || %s || ':' || ts || ':' || encode(value, 'hex'), ' ')";
	my $q = 'vectors_hex(qualifier)';
	my %newest;
	my @first = grep { !$newest{"$_->[0]:$_->[1]"}++ } @want;
	$sql .= "SET widetable.as_of = " . quote(clock_text($s->{asof} * $unit)) . ";\n" if defined $s->{asof};
	$ask->('cells', 'SELECT ' . sprintf($cell, $q) . " FROM widetable.cells('$t', 'r', $n$range)", \@want, 'cells');
	if (!$s->{error})
	{
		my $keep = join('', values %{ $v->{families} }) =~ /keep_deleted/;
		my $cond = "k = 'r' AND version <= $n" . (defined $s->{since} ? ' AND ts >= ' . scaled($s->{since}) . ' AND ts < ' . scaled($s->{until}) : '');
		my $usual = $s->{n} > 1 || !defined $s->{since};
		# in WHERE, ts is an ordinary filter on the visible versions
		$ask->('layout', 'SELECT ' . sprintf($cell, "encode(qualifier, 'hex')") . " FROM ${t}_c WHERE $cond", [ sort_cells(@want) ], 'sorted')
		  if $usual && !($keep && defined $s->{since});
		if (!defined $s->{since})
		{
			$ask->('newest', 'SELECT ' . sprintf($cell, $q) . " FROM widetable.cells('$t', 'r')", \@first, 'cells') if $n > 1;
			$ask->('scan', 'SELECT ' . sprintf($cell, "encode(qualifier, 'hex')") . " FROM ${t}_c WHERE k >= 'r' AND version = 1", [ sort_cells(@first) ], 'sorted');
			$ask->('count', "SELECT count(*) FROM $t WHERE k = 'r'", @want ? 1 : 0, 'text');
			$ask->('get', "SELECT count(*) FROM widetable.get('$t', 'r') g, jsonb_each(g) f, jsonb_each(f.value)", scalar @first, 'text');
			my $k = 0;
			for my $col (columns_of($v))
			{
				$k++;
				my $name = $col eq 'f:q' ? 'q' : "c$k";
				my ($fam, $qual) = $col =~ /^(\w+):(.*)$/s;
				$qual = qualifier_hex($qual);
				my ($c) = grep { $_->[0] eq $fam && $_->[1] eq $qual } @first;
				$ask->("row.$name", "SELECT string_agg(coalesce(encode($name, 'hex'), 'null'), ',') FROM $t WHERE k BETWEEN 'r' AND 'r'",
					defined $c ? $c->[3] : @want ? 'null' : '', 'text');
			}
		}
	}
	$sql .= "RESET widetable.as_of;\n" if defined $s->{asof};
	return $sql;
}

sub error_echo { my ($key) = @_; return "\\if :ERROR\n\\echo 'E|$key|' :LAST_ERROR_MESSAGE\n\\endif\n"; }

sub expand
{
	my ($s, $run) = @_;
	my $t = $run->{table};
	$s =~ s/\{t\}/$t/g;
	$s =~ s/\{($run->{names})\}/${t}_$1/g;
	$s =~ s/\{\+(\d+)\}/$run->{base} + $1/ge;
	return $s;
}

sub is_read { return $_[0]{kind} =~ /^(see|query|prepared|pages|plan|noplan)$/; }
sub is_clock { return $_[0]{kind} eq 'op' && $_[0]{what} eq 'clock'; }
sub set_clock { return '' if $nodes; return 'SET widetable.clock = ' . quote(clock_text($_[0])) . ";\n"; }

# generates a statement and registers the expected result: its rows, separated by blanks
sub answer_sql
{
	my ($key, $check, $want, $sql) = @_;
	$checks{$key} = { %$check, want => $want, how => 'text' };
	return "\\echo -n 'R|$key|'\n$sql;\n\\echo\n" . error_echo($key);
}

sub read_sql
{
	my ($x, $s, $i, $key, $check) = @_;
	my $run = $x->{run};
	return see_sql($x->{v}, $s, $run, $i) if $s->{kind} eq 'see';
	my $text = expand($s->{text}, $run);
	my $want = expand($s->{want}, $run);
	return answer_sql($key, $check, $want, $text) if $s->{kind} eq 'query';
	if ($s->{kind} =~ /plan$/)
	{
		$checks{$key} = { %$check, want => $want, how => $s->{kind} };
		return "SELECT 'R|$key|' || vectors_plan(" . quote($text) . ");\n" . error_echo($key);
	}
	if ($s->{kind} eq 'prepared')
	{
		return join('', map {
			"SET plan_cache_mode = force_${_}_plan;\nPREPARE v_q AS $text;\n"
			  . answer_sql("$key$_", { %$check, method => $_ }, $want, "EXECUTE v_q ($s->{args})") . "DEALLOCATE v_q;\n" } qw(custom generic))
		  . "RESET plan_cache_mode;\n";
	}
	# pages, and an empty one after the last
	my $n = 0;
	return ($x->{private} ? '' : "BEGIN;\n") . "DECLARE v_p CURSOR FOR $text;\n"
	  . join('', map { $n++; answer_sql("${key}page $n", { %$check, method => "page $n" }, $_, "FETCH $s->{args} FROM v_p") } split(/ \| /, $want), '')
	  . "CLOSE v_p;\n" . ($x->{private} ? '' : "COMMIT;\n");
}

# flush of all memtables; compaction of all tables of the vector
sub flush_all { return "SELECT widetable.flush();\n"; }
sub compact_all
{
	my ($x, $what) = @_;
	my $v = $x->{v};
	return join '', map { 'SELECT widetable.' . ($what || 'compact') . "('$_');\n" } uses_first_table($v) ? $x->{run}{table} : (), map { "$x->{run}{table}_$_->{name}" } @{ $v->{tables} };
}

sub write_sql
{
	my ($x, $s, $key, $check) = @_;
	my $t = $x->{run}{table};
	my $kind = $s->{kind};
	my $f = $x->{state} eq 'f' && !$s->{session};
	$checks{$key} = $check;
	if ($kind eq 'op')
	{
		my $sql = op_sql($s, "'$t'") . "\n" . error_echo($key);
		return $sql unless defined $s->{want};
		$checks{"${key}result"} = { %$check, method => 'result', want => $s->{want}, how => 'text' };
		return "$sql\\echo 'R|${key}result|':r\n";
	}
	my $text = expand($s->{text}, $x->{run});
	return "$text;\n" . error_echo($key) if $kind eq 'sql';
	return answer_sql($key, $check, expand($s->{want}, $x->{run}), $text) if $kind eq 'call';
	return "ALTER FOREIGN TABLE $t OPTIONS (SET families " . quote($text) . ");\n" . error_echo($key) if $kind eq 'alter';
	return $f ? "SAVEPOINT b;\n" : 'BEGIN' . ($text ne '' ? " ISOLATION LEVEL $text" : '') . ";\n" . error_echo($key) if $kind eq 'begin';
	return ($f ? "RELEASE b;\n" : "COMMIT;\n") . error_echo($key) if $kind eq 'commit';
	return $f ? "ROLLBACK TO b;\n" : "ROLLBACK;\n" if $kind eq 'rollback';
	return "SAVEPOINT s;\n" if $kind eq 'savepoint';
	return "ROLLBACK TO s;\n" if $kind eq 'undo';
	if ($kind =~ /^(flush|compact)$/)
	{
		# cells of other vectors in the memtable must not expire by the clock of this vector
		return compact_all($x, 'flush') . ($kind eq 'compact' ? compact_all($x) . "SELECT pg_sleep(2);\n" : '') if $nodes;
		return set_clock(0) . flush_all() . error_echo($key) . set_clock($x->{clock}) . ($kind eq 'compact' ? compact_all($x) . error_echo($key) : '');
	}
	if ($kind eq 'blocked') { return answer_sql($key, { %$check, method => 'waits' }, 't', "SELECT vectors_blocked('vectors $s->{who}')"); }
	return "#@ finish $s->{who}\n" if $kind eq 'finish';
	return "#@ many $s->{n} $s->{times}\n$text;\n#@ in main\n" if $kind eq 'many';
	return "#@ kill $s->{point}\n$text;\n#@ in main\n" . set_clock($x->{clock}) if $kind eq 'kill';
	if ($kind eq 'random')
	{
		my $n = 0;
		return random_sql($t, $s->{n}, $s->{seed},
			sub { $n++; return answer_sql("$key$n", { %$check, method => "$n: $_[0]" }, $_[1], $_[0]) },
			sub { return "#@ restart\n#@ in main\n" . set_clock($x->{clock}) });
	}
	$x->{run}{open} = $text;
	return '';
}

# Generates one step of a vector in one state.
sub step_sql
{
	my ($x, $s, $i) = @_;
	my $key = "$x->{run}{no}/$i/";
	my $check = { run => $x->{run}, step => $s, method => '', want => '', how => 'error' };
	my $sql = '';
	if (is_clock($s))
	{
		$x->{clock} = $s->{value} =~ /^\+(\d+)$/ ? $x->{run}{base} + $1 : $s->{value};
		return set_clock($x->{clock});
	}
	if ($s->{session})
	{
		$x->{fresh} = 0;
		return "#@ $s->{how} $s->{session}\n" . set_clock($x->{clock}) . (is_read($s) ? read_sql({ %$x, private => 1 }, $s, $i, $key, $check) : write_sql($x, $s, $key, $check)) . "#@ in main\n";
	}
	if (is_read($s))
	{
		if (!$x->{fresh} && $x->{part} eq 'all')
		{
			$sql .= flush_all() if $x->{state} eq 'b';
			$sql .= compact_all($x) if $x->{state} eq 'd';
			$x->{fresh} = 1;
		}
		$sql .= "SAVEPOINT v;\n" if $x->{private};
		$sql .= read_sql($x, $s, $i, $key, $check);
		$sql .= "ROLLBACK TO v;\n" if $x->{private};
		return $sql;
	}
	$x->{fresh} = 0;
	$x->{op_clock} = $x->{clock};
	if ($x->{state} eq 'h' && $i == $x->{last})
	{
		$sql .= flush_all() . "BEGIN;\n";
		$x->{private} = 1;
	}
	my $save = $x->{private} && defined $s->{error};
	$sql .= "SAVEPOINT e;\n" if $save;
	$sql .= write_sql($x, $s, $key, $check);
	$sql .= "ROLLBACK TO e;\n" if $save;
	$sql .= flush_all() if $x->{state} eq 'c' && $s->{kind} =~ /^(op|sql|call|alter|many)$/;
	return $sql;
}

# Generates one vector in one state.  $part: 'all', 'ops' (without the reads after the last
# operation) or 'reads' (only these).
sub run_sql
{
	my ($v, $state, $run, $part) = @_;
	my @steps = @{ $v->{steps} };
	my %x = (v => $v, state => $state, run => $run, part => $part, clock => $run->{base}, op_clock => $run->{base},
		private => $state eq 'f',	# in a transaction
		fresh => 0,					# nothing was written since the last flush
		last => -1);
	for (0 .. $#steps) { $x{last} = $_ unless is_read($steps[$_]) && !$steps[$_]{session} || is_clock($steps[$_]); }
	my $sql = set_clock($x{clock});
	$sql .= create_sql($v, $run) if $part ne 'reads';
	$sql .= "BEGIN;\n" if $state eq 'f';
	for my $i (0 .. $#steps)
	{
		my $s = $steps[$i];
		next if defined $s->{states} && index($s->{states}, $state) < 0;
		next if $part eq 'ops' && $i > $x{last};
		next if $part eq 'reads' && $i <= $x{last} && !is_clock($s);
		next if $on_standby && $s->{text} =~ /raw_cells|sum\(files\)/;
		$sql .= step_sql(\%x, $s, $i);
	}
	# the commit assigns timestamps by the clock of the last operation
	$sql .= set_clock($x{op_clock}) . "COMMIT;\n" if $x{private};
	return $sql;
}

# ------------------------------------------------------------ running scripts

sub server
{
	my (@args) = @_;
	system("'$bin/pg_ctl' -D '$dir/data' -l '$dir/server.log' -w -t 60 @args >'$dir/ctl.out' 2>&1 </dev/null") == 0
	  or die slurp("$dir/ctl.out") . slurp("$dir/server.log");
}

# the start of every script: rows are separated by blanks
my $prelude = "\\pset recordsep ' '\n\\pset null null\n";

sub psql
{
	my ($name, $sql) = @_;
	return drive($name, $sql) if $sql =~ /^#@ /m;
	spit("$dir/$name.sql", $prelude . $sql);
	my $rc = system("'$bin/psql' -XqAt -f '$dir/$name.sql' >'$dir/$name.out' 2>'$dir/$name.err' </dev/null");
	return ($rc, slurp("$dir/$name.out"));
}

# Runs a script with parts for several sessions.  A line "#@ in NAME" sends the following lines to
# that session and waits until they are done; "#@ start NAME" does not wait, "#@ finish NAME" waits
# for such a session.  "#@ many N TIMES" runs the statement in N concurrent sessions.  "#@ kill
# POINT" runs it on a server that kills at that injection point, "#@ restart" crashes the server.
my $no = 0;					# number of the next file

sub drive
{
	my ($name, $script) = @_;
	my %s;
	my $out = '';
	my $wait = sub {
		my ($s) = @_;
		for (1 .. ($ENV{VECTORS_LONG} ? 60000 : 12000)) { last if !defined $s->{done} || -e $s->{done}; select undef, undef, undef, 0.01; }
		result(0, "$name: session $s->{name} answers") if defined $s->{done} && !-e $s->{done};
		undef $s->{done};
	};
	my $send = sub {
		my ($who, $text) = @_;
		my $s = $s{$who};
		if (!$s)
		{
			$s = $s{$who} = { name => $who, file => "$dir/session." . ++$no };
			local $ENV{PGAPPNAME} = "vectors $who";
			open $s->{pipe}, '|-', "exec '$bin/psql' -XqAt >'$s->{file}.out' 2>>'$dir/$name.err'" or die "psql: $!";
			select((select($s->{pipe}), $| = 1)[0]);
			$text = $prelude . $text;
		}
		$wait->($s);
		$s->{done} = "$dir/done." . ++$no;
		print { $s->{pipe} } "$text\\! touch '$s->{done}'\n";
		return $s;
	};
	my $end = sub {
		for my $s (map { $s{$_} } sort keys %s) { $wait->($s); close $s->{pipe}; $out .= slurp("$s->{file}.out"); }
		%s = ();
	};
	local $SIG{PIPE} = 'IGNORE';
	unlink "$dir/$name.err";
	my ($first, @parts) = split /^#@ (.*)\n/m, $script;
	$wait->($send->('main', $first));
	while (my ($what, $text) = splice @parts, 0, 2)
	{
		$text = '' unless defined $text;
		if ($what =~ /^in (\w+)/) { $wait->($send->($1, $text)) if $text ne ''; }
		elsif ($what =~ /^start (\w+)/) { $send->($1, $text); }
		elsif ($what =~ /^finish (\w+)/) { $wait->($s{$1}); $wait->($send->('main', $text)) if $text ne ''; }
		elsif ($what =~ /^many (\d+) (\d+)/) { many($name, $1, $2, $text); }
		elsif ($what =~ /^kill (\S+)/) { $end->(); killed($1, $text); }
		elsif ($what eq 'restart') { $end->(); server('-m immediate stop'); server('start'); }
	}
	$end->();
	return (0, $out);
}

sub many
{
	my ($name, $n, $times, $sql) = @_;
	my @pids;
	spit("$dir/many.sql", "SET synchronous_commit = off;\n" . $sql x $times);
	for my $k (1 .. $n)
	{
		my $pid = fork;
		die "fork: $!" unless defined $pid;
		if ($pid == 0)
		{
			$started = 0;
			open STDIN, '<', '/dev/null';
			open STDOUT, '>', '/dev/null';
			open STDERR, '>', "$dir/many.$k";
			{ exec "$bin/psql", '-XqAt', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/many.sql"; }
			POSIX::_exit(127);
		}
		push @pids, $pid;
	}
	for my $k (1 .. $n)
	{
		waitpid $pids[ $k - 1 ], 0;
		result(0, "$name: all of $n concurrent sessions succeed", slurp("$dir/many.$k")) if $?;
	}
}

# Runs a statement on a server whose first process to reach the injection point kills itself, so
# that the postmaster terminates the others; then starts the server, which recovers.
sub killed
{
	my ($point, $sql) = @_;
	my $log = "$dir/killed.log";
	if (!-e "$dir/kill")
	{
		mkdir "$dir/kill" or die "$dir/kill: $!";
		system("$here/../host/kill/build", "$dir/kill") == 0 or die "host/kill/build failed\n";
	}
	server('-m immediate stop');
	{
		local $ENV{WIDE_KILL_POINT} = $point;
		my $options = "-c restart_after_crash=off -c shared_preload_libraries=$dir/kill/widetable_kill.so";
		system("'$bin/pg_ctl' -D '$dir/data' -l '$log' -w -t 60 -o '$options' start >/dev/null 2>&1 </dev/null");
	}
	spit("$dir/killed.sql", $sql);
	# again, because files that another process reads just then are removed by a later call
	for (1 .. 5)
	{
		system("'$bin/psql' -XqAt -f '$dir/killed.sql' >/dev/null 2>&1 </dev/null");
		for (1 .. 100) { last unless -e "$dir/data/postmaster.pid"; select undef, undef, undef, 0.01; }
		last unless -e "$dir/data/postmaster.pid";
	}
	system("'$bin/pg_ctl' -D '$dir/data' -m immediate -w stop >/dev/null 2>&1") if -e "$dir/data/postmaster.pid";
	# another process may detect the damage, and the postmaster may report that one's end first
	result(0, "a process is killed at $point by: $sql", slurp($log))
	  unless slurp($log) =~ /terminated by signal 9|PANIC:  the shared memory of widetable is damaged/;
	unlink $log;
	server('start');
}

# runs the script and compares its output with %checks; one result for each run
sub judge
{
	my ($name, $sql) = @_;
	my $begin = time();
	%checks = ();
	my $script = $sql->();
	my ($rc, $out) = psql($name, $script);
	my (%got, %error, %bad, %runs, $n);
	for (split /\n/, $out)
	{
		if (/^R\|(\d+\/\d+\/[^|]*)\|(.*)$/) { $got{$1} = $2; }
		elsif (/^E\|(\d+\/\d+\/[^|]*)\| ?(.*)$/) { $error{$1} = $2; }
	}
	for my $key (sort { my ($x, $y) = map { [ split m{/}, $_, 3 ] } $a, $b; $x->[0] <=> $y->[0] || $x->[1] <=> $y->[1] || $x->[2] cmp $y->[2] } keys %checks)
	{
		my $c = $checks{$key};
		my $s = $c->{step};
		my $what = "$s->{text}" . ($c->{method} ne '' ? " ($c->{method})" : '');
		$runs{ $c->{run}{no} } = $c->{run};
		my $why;
		if (defined $s->{error})
		{
			if (!defined $error{$key}) { $why = "$what: no error, expected /$s->{error}/"; }
			elsif ($error{$key} !~ /$s->{error}/) { $why = "$what: $error{$key}, expected /$s->{error}/"; }
		}
		elsif (defined $error{$key}) { $why = "$what: $error{$key}"; }
		elsif ($c->{how} eq 'error') { }
		elsif (!defined $got{$key}) { $why = "$what: no answer"; }
		elsif ($c->{how} eq 'text') { $why = "$what: $got{$key}, expected $c->{want}" if $got{$key} ne $c->{want}; }
		elsif ($c->{how} eq 'plan') { $why = "$what: $got{$key}, expected /$c->{want}/" if $got{$key} !~ /$c->{want}/; }
		elsif ($c->{how} eq 'noplan') { $why = "$what: $got{$key}, expected no match of /$c->{want}/" if $got{$key} =~ /$c->{want}/; }
		else
		{
			my @g = map { [ split /:/, $_, -1 ] } split ' ', $got{$key};
			@g = sort_cells(@g) if $c->{how} eq 'sorted';
			$why = "$what: " . show_cells(@g) . ', expected ' . show_cells(@{ $c->{want} }) unless same_cells($c->{want}, \@g);
		}
		push @{ $bad{ $c->{run}{no} } }, $why if defined $why;
	}
	for my $no (sort { $a <=> $b } keys %runs)
	{
		my $r = $runs{$no};
		result(!$bad{$no}, "$r->{id} $name: $r->{title}", @{ $bad{$no} || [] });
	}
	result(0, "$name: psql succeeds", slurp("$dir/$name.err")) if $rc;
	$n = keys %runs;
	print "# $name: $n vectors, " . keys(%checks) . ' checks, ' . (time() - $begin) . " s\n";
}

sub new_run
{
	my ($v, $state) = @_;
	$base += 100000000;
	$runs++;
	return { no => $runs, id => $v->{id}, title => $v->{title}, base => $base, table => ($nodes ? "v$$" : 'v') . "_${state}_$v->{name}",
		names => join('|', 'c', map { $_->{name} } @{ $v->{tables} }) };
}

my @files = grep { -f } @ARGV;
my %only = map { $_ => 1 } grep { !-f } @ARGV;
@files = sort glob "$here/*.vec" unless @files;
require "$here/random.pl";
load_file($_) for @files;
die "no vectors found in $here\n" unless @vectors;

# every vector of the data model must be in the files, even if it is not run
my %have = map { /^T(\d+)/ => 1 } map { $_->{id} } @vectors;
my @missing = grep { !$have{$_} } 1 .. 203;
my %twice;
push @missing, map { "T$_ twice" } grep { $twice{$_}++ } map { $_->{name} } @vectors;
result(!@missing, 'the files contain T1 to T203, each once', "missing: @missing") unless @ARGV;
@vectors = grep { $only{ $_->{id} } } @vectors if %only;
for my $v (@vectors)
{
	print "# not run: $v->{id}, $v->{title}: $v->{skip}\n" if defined $v->{skip};
	print "# $v->{id}, $v->{title}: $v->{note}\n" if defined $v->{note};
	# another test covers the vector as well: the file must exist and contain its id
	for my $also (@{ $v->{also} || [] }) { result(scalar(slurp("$here/../$also") =~ /\b$v->{id}\b/), "test/$also covers $v->{id}"); }
}
@vectors = grep { !defined $_->{skip} } @vectors;

# the vectors that cannot run in HBase
if ($nodes)
{
	my ($n, %left);
	for (split /\n/, slurp("$here/../hbase.d/differences"))
	{
		$n = $1 if /^(\d+)\s/;
		@left{ split /,/, $1 } = ($n) x 1000 if /^\s+vector\s+(\S+)/;
	}
	print "# not run: $_->{id}, $_->{title}: difference $left{$_->{id}}\n" for grep { $left{ $_->{id} } } @vectors;
	@vectors = grep { !$left{ $_->{id} } } @vectors;
	for my $v (@vectors) { $v->{states} =~ s/f// if $left{"$v->{id}:f"}; }
}

$ENV{PGHOST} = $dir;
$ENV{PGUSER} = $ENV{PGDATABASE} = 'postgres';
delete @ENV{qw(PGPORT PGDATA PGOPTIONS PGSERVICE)};
$ENV{TZ} = 'UTC';
system("'$bin/initdb' -D '$dir/data' -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync >'$dir/initdb.out' 2>&1") == 0
  or die slurp("$dir/initdb.out");
# not shared memory of type posix: /dev/shm of a container has too little room for so many tables.
# The clock of the background worker stands still, so that the worker expires nothing.  A crash may
# keep the standby away while WAL is removed
open my $conf, '>>', "$dir/data/postgresql.conf" or die $!;
print $conf "listen_addresses = ''\nunix_socket_directories = '$dir'\nfsync = off\nshared_buffers = 32MB\nwal_keep_size = 1GB\nlog_min_messages = warning\n" . ($nodes ? '' : "widetable.clock = '1970-01-01 00:00:00+00'\n") . "widetable.max_tables = 4000\ndynamic_shared_memory_type = mmap\n";
close $conf;
$started = 1;
server('start');
my ($rc, $out) = psql('setup', <<'SQL');
\set ON_ERROR_STOP 1
CREATE EXTENSION widetable;
-- functions return a qualifier as text, or with each byte as \xHH
CREATE FUNCTION vectors_hex(q text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN q ~ '^(\\x[0-9a-f]{2})+$' THEN replace(q, '\x', '') ELSE encode(convert_to(q, 'UTF8'), 'hex') END $$;
CREATE FUNCTION vectors_plan(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE l text; r text := '';
BEGIN
  FOR l IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || q LOOP r := r || btrim(l) || '; '; END LOOP;
  RETURN r;
END $$;
-- waits until the session waits for a lock
CREATE FUNCTION vectors_blocked(name text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. 1000 LOOP
    PERFORM pg_stat_clear_snapshot();
    IF EXISTS (SELECT FROM pg_stat_activity a, pg_locks l WHERE a.application_name = name AND l.pid = a.pid AND NOT l.granted) THEN
      RETURN true;
    END IF;
    PERFORM pg_sleep(0.01);
  END LOOP;
  RETURN false;
END $$;
CREATE PROCEDURE vectors_increments(rel regclass, n int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. n LOOP PERFORM widetable.increment(rel, 'r', 'f:q'); COMMIT; END LOOP;
END $$;
SQL
if ($rc) { print "not ok - the cluster can be set up\n", slurp("$dir/setup.err"); exit 1; }

if ($nodes)
{
	psql('server', "ALTER SERVER widetable OPTIONS (ADD engine 'hbase', ADD nodes '$nodes', ADD atomic_functions 'immediate', ADD timeout '120s');\n");
	in_hbase();
	print "# vectors: $count{ok} passed, $count{bad} failed\n";
	exit($count{bad} ? 1 : 0);
}

# the standby, with its socket in a directory of its own
my $standby = "$dir/standby.s";
mkdir $standby or die "$standby: $!";
system("'$bin/pg_basebackup' -D '$dir/standby' -R -c fast --no-sync >'$dir/backup.out' 2>&1") == 0 or die slurp("$dir/backup.out");
system("'$bin/pg_ctl' -D '$dir/standby' -l '$dir/standby.log' -w -t 60 -o '-c unix_socket_directories=$standby -c wal_retrieve_retry_interval=100ms' start >'$dir/ctl.out' 2>&1 </dev/null") == 0
  or die slurp("$dir/ctl.out") . slurp("$dir/standby.log");

my %run;

# waits until the standby has replayed what was written
sub replayed
{
	my ($rc, $lsn) = psql('lsn', "SELECT FROM pg_logical_emit_message(true, 'x', 'x');\nSELECT 'lsn', pg_current_wal_flush_lsn();\n");
	($lsn) = $lsn =~ /lsn\|(\S+)/ or die "no position: " . slurp("$dir/lsn.err");
	local $ENV{PGHOST} = $standby;
	for (1 .. 600)
	{
		return if (psql('lsn', "SELECT 'replayed', pg_last_wal_replay_lsn() >= '$lsn';\n"))[1] =~ /replayed\|t/;
		select undef, undef, undef, 0.1;
	}
	result(0, "the standby replays up to $lsn", slurp("$dir/standby.log"));
}

# the reads after the last operation, on the standby; a vector with a read that is restricted to
# other states is left out
sub on_standby
{
	my ($state) = @_;
	my @those = grep { $run{$state}{ $_->{name} } && !grep { is_read($_) && defined $_->{states} && index($_->{states}, $state) < 0 } @{ $_->{steps} } } those($state);
	replayed();
	local $ENV{PGHOST} = $standby;
	local $on_standby = 1;
	judge("on a standby, $state", sub { join '', map { run_sql($_, $state eq 'e' ? 'e' : 'g', $run{$state}{ $_->{name} }, 'reads') } @those });
}

# all vectors with tables of HBase; those of state f have their own
sub in_hbase
{
	my %run;
	my @plain = grep { !grep { $_->{kind} =~ /^(kill|random)$/ } @{ $_->{steps} } } @vectors;
	my $reads = sub {
		my ($name, $state) = @_;
		judge($name, sub { join '', map { run_sql($_, 'g', $run{$state}{ $_->{name} }, 'reads') } grep { $run{$state}{ $_->{name} } && !grep { is_read($_) && defined $_->{states} && index($_->{states}, 'g') < 0 } @{ $_->{steps} } } @plain });
	};
	my $all = sub {
		my ($what) = @_;
		psql($what, join '', map { compact_all({ v => $_, run => $run{a}{ $_->{name} } }, $what) } grep { $run{a}{ $_->{name} } } @plain);
		sleep 10 if $what eq 'compact';
	};
	for my $state (qw(a f))
	{
		judge($state, sub { join '', map { $run{$state}{ $_->{name} } = new_run($_, $state); run_sql($_, $state, $run{$state}{ $_->{name} }, 'all') } grep { index($_->{states}, $state) >= 0 } @plain });
		$reads->($state eq 'a' ? 'g' : 'f, committed', $state);
	}
	$all->('flush');
	$reads->('g, flushed', 'a');
	$all->('compact');
	$reads->('g, compacted', 'a');
}

# the vectors that run in a state
sub those
{
	my ($state) = @_;
	return grep {
		my $v = $_;
		index($v->{states}, $state) >= 0
		  && !($state eq 'h' && ($v->{other} || grep { $_->{kind} =~ /^(begin|alter|flush|compact)$/ } @{ $v->{steps} }))
		  && !grep { $_->{kind} =~ /^(kill|random)$/ } @{ $v->{steps} };
	} @vectors;
}

for my $state (qw(a b c d f h))
{
	judge($state, sub { join '', map { $run{$state}{ $_->{name} } = new_run($_, $state); run_sql($_, $state, $run{$state}{ $_->{name} }, 'all') } those($state) });
	# another session, while the data is still in the memtable
	judge('g', sub { join '', map { run_sql($_, 'g', $run{a}{ $_->{name} }, 'reads') } grep { $run{a}{ $_->{name} } } those('g') }) if $state eq 'a';
	judge('f, committed', sub { join '', map { run_sql($_, 'g', $run{f}{ $_->{name} }, 'reads') } grep { my $v = $_; !grep { defined $_->{states} && $_->{states} =~ /g/ && $_->{states} !~ /f/ } @{ $v->{steps} } } those('f') })
	  if $state eq 'f';
	on_standby($state);
}

# all operations, then one crash with transactions open, then all reads
judge('e, before the crash', sub { join '', map { $run{e}{ $_->{name} } = new_run($_, 'e'); run_sql($_, 'e', $run{e}{ $_->{name} }, 'ops') } those('e') });
my @open;
for my $v (those('e'))
{
	my $sql = $run{e}{ $v->{name} }{open} or next;
	spit("$dir/open.sql", "BEGIN;\n$sql;\n\\! touch '$dir/opened'\nSELECT pg_sleep(60);\n");
	my $pid = fork;
	die "fork: $!" unless defined $pid;
	if ($pid == 0) { $started = 0; undef $dir; open STDERR, '>', '/dev/null'; exec "$bin/psql", '-XqAt', '-o', '/dev/null', '-f', "$ENV{PGHOST}/open.sql" or POSIX::_exit(127); }
	for (1 .. 200) { last if -e "$dir/opened"; select undef, undef, undef, 0.05; }
	unlink "$dir/opened" or result(0, "$v->{id} e: the transaction that the crash aborts begins");
	push @open, $pid;
}
server('-m immediate stop');
waitpid $_, 0 for @open;
server('start');
judge('e', sub { join '', map { run_sql($_, 'e', $run{e}{ $_->{name} }, 'reads') } those('e') });
on_standby('e');

# vectors in which the server is killed: one crash each
for my $v (grep { my $v = $_; grep { $_->{kind} =~ /^(kill|random)$/ } @{ $v->{steps} } } @vectors)
{
	judge('e', sub { run_sql($v, 'e', new_run($v, 'e'), 'all') });
}

($rc, $out) = psql('verify', 'SELECT object, problem FROM widetable.verify();');
result($rc == 0 && $out eq '', 'verify() finds no problem', split /\n/, $out . slurp("$dir/verify.err"));
replayed();
{
	local $ENV{PGHOST} = $standby;
	($rc, $out) = psql('verify', 'SELECT object, problem FROM widetable.verify();');
	result($rc == 0 && $out eq '', 'verify() finds no problem on the standby', split /\n/, $out . slurp("$dir/verify.err"));
}
my $log = slurp("$dir/server.log") . slurp("$dir/standby.log");
my @crash = grep { /PANIC|TRAP:|terminated by signal/ } split /\n/, $log;
result(!@crash, 'the server log reports no crash', @crash);
print "# vectors: $count{ok} passed, $count{bad} failed\n";
exit($count{bad} ? 1 : 0);
