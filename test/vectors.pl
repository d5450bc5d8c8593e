#
# vectors.pl: runs test/vectors/*.vec, small cases of what a sequence of writes
# and deletes leaves to be seen, each in these states of the store:
#
#   a  in memory                    e  after a crash and recovery
#   b  after a flush                f  inside the writing transaction, and in
#   c  each operation in its file      the same session after its commit
#   d  after a full compaction      g  from another session
#   h  the last operation inside a transaction, the others in files
#
# Where the data lies must never change an answer.  Every read is asked in
# several ways (widetable.cells, a table in layout cells, the row, get) that
# must agree.  The language of the files is described in test/vectors/README.
#
# It makes a cluster of its own, with a clock of its own: timestamps, the clock
# and TTLs are small numbers, one microsecond a unit.
#
# Only perl-base's modules are used.  Needs: BIN (PostgreSQL's programs, with
# the extension installed).  Arguments: files or ids of vectors; default all.
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
my %count = (ok => 0, bad => 0);
$SIG{INT} = $SIG{TERM} = sub { exit 1 };
END
{
	my $rc = $?;
	system("'$bin/pg_ctl' -D '$dir/data' -m immediate -w stop >/dev/null 2>&1") if $started;
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

# ------------------------------------------------------------------ the files

my @vectors;

# ts, column and so on of "P(q1,10,a)": see README
sub parse_op
{
	my ($op) = @_;
	my %o = (text => $op);
	$op =~ s/=(\S*)$// and $o{want} = $1 if $op =~ /^[IA]\(/;
	$op =~ /^(P|Dv|Dc|Dfv|Df|Dr|I|A|clock)\((.*)\)$/s or die "what is the operation '$op'?\n";
	my ($what, @a) = ($1, split /,/, $2, -1);
	$o{what} = $what;
	if ($what eq 'P')
	{
		$o{ttl} = $1 if @a && $a[-1] =~ /^ttl (\d+)$/ && pop @a;
		$o{col} = @a > 2 ? shift @a : 'q';
		@o{qw(ts value)} = @a;
		die "'$op'\n" unless defined $o{value} && $o{ts} =~ /^(auto|-?\d+)$/;
	}
	elsif ($what eq 'I' || $what eq 'A')
	{
		$o{col} = @a > 1 ? shift @a : 'q';
		$o{value} = $a[0];
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

sub load_file
{
	my ($file) = @_;
	my $v;
	my $line = 0;
	open my $h, '<', $file or die "$file: $!";
	while (<$h>)
	{
		$line++;
		chomp;
		s/\s+$//;
		next if /^\s*#/ || $_ eq '';
		if (/^(T\d+\w*)\s+(.*)/) { $v = { id => $1, title => $2, families => {}, steps => [], states => 'abcdefgh' }; push @vectors, $v; next; }
		die "$file:$line: '$_'\n" unless $v && s/^\s+//;
		eval {
			my ($word, $states, $rest) = /^(\w+!?)(?:\[([a-h]+)\])?\s*(.*)$/ or die "?\n";
			my %s = (kind => $word, states => $states, line => $line);
			if ($word eq 'family')
			{
				my ($name, @opts) = split ' ', $rest;
				my %f;
				for (@opts)
				{
					my ($o, $value) = /^(\w+)=(.*)$/ or die "option '$_'\n";
					$value = "\"$value microseconds\"" if $o eq 'ttl';
					$value = "\"$value\"" if $o eq 'bloom' || $o eq 'compression';
					$f{$o} = $value;
				}
				$v->{families}{$name} = '{' . join(', ', map { "\"$_\": $f{$_}" } sort keys %f) . '}';
				return 1;
			}
			if ($word eq 'states') { $v->{states} = $rest; return 1; }
			if ($word eq 'skip') { $v->{skip} = $rest; return 1; }
			if ($word eq 'columns') { $v->{columns} = $rest; return 1; }
			if ($word eq 'do')
			{
				push @{ $v->{steps} }, map { my $o = parse_op($_); $o->{states} = $states; $o->{line} = $line; $o } split /\s*;\s*/, $rest;
				return 1;
			}
			if ($word eq 'do!')
			{
				$rest =~ m{^/(.*?)/\s+(.*)$} or die "do! /message/ operation\n";
				%s = (%s, %{ parse_op($2) }, error => $1);
			}
			elsif ($word eq 'sql!' || $word eq 'see!')
			{
				$rest =~ m{^/(.*?)/\s+(.*)$} or die "$word /message/ ...\n";
				@s{qw(error text)} = ($1, $2);
				$s{kind} = $word eq 'sql!' ? 'sql' : 'see';
				$s{want} = '' if $word eq 'see!';
			}
			elsif ($word eq 'see') { $rest =~ /^(.*?):(?:\s+(.*))?$/ or die "see READ: cells\n"; @s{qw(text want)} = ($1, defined $2 ? $2 : ''); }
			elsif ($word eq 'query') { $rest =~ /^(.*) => ?(.*)$/ or die "query SQL => result\n"; @s{qw(text want)} = ($1, $2); }
			elsif ($word eq 'plan') { $rest =~ m{^/(.*?)/\s+(.*)$} or die "plan /regex/ SQL\n"; @s{qw(want text)} = ($1, $2); }
			elsif ($word =~ /^(sql|alter|begin|commit|rollback|savepoint|undo|flush|compact|open)$/) { $s{text} = $rest; }
			else { die "what is '$word'?\n"; }
			if ($s{kind} eq 'see')
			{
				$s{text} =~ /^(?:G(\d*)(?:\[(-?\d+),(-?\d+)\))?|asof (\d+))$/ or die "what is the read '$s{text}'?\n";
				@s{qw(n since until asof)} = ($1 || 1, $2, $3, $4);
			}
			push @{ $v->{steps} }, \%s;
			1;
		} or die "$file:$line: $@";
	}
	for $v (@vectors) { $v->{families}{f} = '{}' unless %{ $v->{families} }; }
}

# ------------------------------------------------------------------ to SQL

sub quote { my ($s) = @_; $s =~ s/'/''/g; return "'$s'"; }

sub clock_text
{
	my ($us) = @_;
	my $s = POSIX::floor($us / 1000000);
	return POSIX::strftime('%Y-%m-%d %H:%M:%S', gmtime $s) . sprintf('.%06d+00', $us - $s * 1000000);
}

# a value of the files as SQL: text, #8-byte integer, 0xHEX, - for an empty one
sub value_hex
{
	my ($v) = @_;
	return '' if $v eq '-';
	return lc $1 if $v =~ /^0x([0-9a-fA-F]*)$/;
	return unpack 'H*', pack 'q>', $1 if $v =~ /^#(-?\d+)$/;
	return unpack 'H*', $v;
}

sub qualifier_hex { my ($q) = @_; $q =~ s/\\x([0-9a-f]{2})/chr hex $1/ge; return unpack 'H*', $q; }

sub op_sql
{
	my ($o, $t) = @_;
	my $w = $o->{what};
	my $at = defined $o->{ts} ? ", $o->{ts}" : '';
	my $col = defined $o->{col} ? quote($o->{col}) : '';
	return "SELECT widetable.put($t, 'r', $col, '\\x" . value_hex($o->{value}) . "'::bytea"
	  . ($o->{ts} eq 'auto' ? ', NULL' : $at) . (defined $o->{ttl} ? ", '$o->{ttl} microseconds'" : '') . ');' if $w eq 'P';
	return "SELECT widetable.delete_version($t, 'r', $col$at);" if $w eq 'Dv';
	return "SELECT widetable.delete_column($t, 'r', $col$at);" if $w eq 'Dc';
	return "SELECT widetable.delete_family($t, 'r', $col$at);" if $w eq 'Df';
	return "SELECT widetable.delete_family_version($t, 'r', $col$at);" if $w eq 'Dfv';
	return "SELECT widetable.delete_row($t, 'r');" if $w eq 'Dr';
	return "SELECT widetable.increment($t, 'r', $col, $o->{value}) AS r \\gset" if $w eq 'I';
	return "SELECT widetable.append($t, 'r', $col, " . quote($o->{value}) . ') AS r \gset' if $w eq 'A';
	die $w;
}

# the cells a read must show: [family, qualifier hex, ts, value hex]
sub cells_wanted
{
	my ($want, $base) = @_;
	my @c;
	for (split ' ', $want)
	{
		/^(?:([^=]*)=)?(.*)@(\+?\d+|\*)$/ or die "what is the cell '$_'?\n";
		my ($col, $v, $ts) = (defined $1 ? $1 : 'q', $2, $3);
		my ($fam, $q) = $col =~ /^(\w+):(.*)$/s ? ($1, $2) : ('f', $col);
		$ts = $base + $1 if $ts =~ /^\+(\d+)$/;
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

# as layout cells shows them; sort keeps the order of those with any timestamp
sub sort_cells
{
	return sort { $a->[0] cmp $b->[0] || $a->[1] cmp $b->[1] || ("$a->[2]$b->[2]" =~ /\*/ ? 0 : $b->[2] <=> $a->[2]) } @_;
}

# ------------------------------------------------------------- a run of one

my $base = 1000000000000;		# the clock of a run starts here; the next one starts later
my %checks;						# "run/step/method" -> what it must show
my $runs = 0;

# the columns of the row table: those that the operations name, and those in "columns"
sub columns_of
{
	my ($v) = @_;
	my (%seen, %counter, @c);
	return () if defined $v->{columns};
	for (@{ $v->{steps} })
	{
		next unless $_->{kind} eq 'op' && defined $_->{col} && $_->{what} !~ /f/;
		push @c, $_->{col} if !$seen{ $_->{col} }++;
		# a column of type bytea is no counter
		$counter{ $_->{col} } = 1 if $_->{what} eq 'I' || defined $_->{value} && $_->{value} =~ /^#/;
	}
	push @c, 'f:q' unless @c;
	return grep { !$counter{$_} } @c;
}

sub create_sql
{
	my ($v, $t) = @_;
	my @cols = columns_of($v);
	my $i = 0;
	my $list = defined $v->{columns} ? $v->{columns}
	  : join ', ', map { $i++; my $q = quote($_); my $n = $_ eq 'f:q' ? 'q' : "c$i"; "$n bytea OPTIONS (column $q)" } @cols;
	$list = "m jsonb OPTIONS (family 'f')" if $list eq '';
	my $fam = quote('{' . join(', ', map { "\"$_\": $v->{families}{$_}" } sort keys %{ $v->{families} }) . '}');
	return "CREATE FOREIGN TABLE $t (k text COLLATE \"C\", $list) SERVER widetable OPTIONS (key 'k', families $fam);\n"
	  . "CREATE FOREIGN TABLE ${t}_c (k text COLLATE \"C\", family text, qualifier bytea, ts bigint, value bytea, version int)"
	  . " SERVER widetable OPTIONS (key 'k', layout 'cells', table_name " . quote("public.$t") . ");\n";
}

# asks a read in every way; registers what must come
sub see_sql
{
	my ($v, $s, $run, $i) = @_;
	my $t = $run->{table};
	my $sql = '';
	my @want = $s->{error} ? () : cells_wanted($s->{want}, $run->{base});
	my $range = defined $s->{since} ? ", $s->{since}, $s->{until}" : '';
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
	$sql .= "SET widetable.as_of = " . quote(clock_text($s->{asof})) . ";\n" if defined $s->{asof};
	$ask->('cells', 'SELECT ' . sprintf($cell, $q) . " FROM widetable.cells('$t', 'r', $n$range)", \@want, 'cells');
	if (!$s->{error})
	{
		my $keep = join('', values %{ $v->{families} }) =~ /keep_deleted/;
		my $cond = "k = 'r' AND version <= $n" . (defined $s->{since} ? " AND ts >= $s->{since} AND ts < $s->{until}" : '');
		my $usual = $s->{n} > 1 || !defined $s->{since};
		# in a WHERE, ts is a plain filter over the versions that are shown
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

sub expand { my ($s, $run) = @_; $s =~ s/\{t\}/$run->{table}/g; $s =~ s/\{c\}/$run->{table}_c/g; $s =~ s/\{\+(\d+)\}/$run->{base} + $1/ge; return $s; }

# One vector in one state.  $part: 'all', 'ops' (no reads after the last
# operation) or 'reads' (only those).
sub run_sql
{
	my ($v, $state, $run, $part) = @_;
	my $t = $run->{table};
	my @steps = @{ $v->{steps} };
	my $last = -1;
	for (0 .. $#steps) { $last = $_ if $steps[$_]{kind} !~ /^(see|query|plan)$/ && !($steps[$_]{kind} eq 'op' && $steps[$_]{what} eq 'clock'); }
	my $clock = $run->{base};
	my $sql = "SET widetable.clock = " . quote(clock_text($clock)) . ";\n";
	$sql .= create_sql($v, $t) if $part ne 'reads';
	$sql .= "BEGIN;\n" if $state eq 'f';
	my $op_clock = $clock;
	my $private = $state eq 'f';	# in a transaction
	my $fresh = 0;				# nothing was written since the last flush
	for my $i (0 .. $#steps)
	{
		my $s = $steps[$i];
		my $is_clock = $s->{kind} eq 'op' && $s->{what} eq 'clock';
		next if defined $s->{states} && index($s->{states}, $state) < 0;
		next if $part eq 'ops' && $i > $last;
		next if $part eq 'reads' && $i <= $last && !$is_clock;
		if ($is_clock)
		{
			$clock = $s->{value} =~ /^\+(\d+)$/ ? $run->{base} + $1 : $s->{value};
			$sql .= "SET widetable.clock = " . quote(clock_text($clock)) . ";\n";
			next;
		}
		my $key = "$run->{no}/$i/";
		my $check = { run => $run, step => $s, method => '', want => '', how => 'error' };
		if ($s->{kind} =~ /^(see|query|plan)$/)
		{
			if (!$fresh && $part eq 'all')
			{
				$sql .= "SELECT widetable.flush();\n" if $state eq 'b';
				$sql .= "SELECT widetable.compact('$t');\n" if $state eq 'd';
				$fresh = 1;
			}
			$sql .= "SAVEPOINT v;\n" if $private;
			if ($s->{kind} eq 'see') { $sql .= see_sql($v, $s, $run, $i); }
			elsif ($s->{kind} eq 'query')
			{
				$checks{$key} = { %$check, want => expand($s->{want}, $run), how => 'text' };
				$sql .= "\\echo -n 'R|$key|'\n" . expand($s->{text}, $run) . ";\n" . error_echo($key);
			}
			else
			{
				$checks{$key} = { %$check, want => $s->{want}, how => 'like' };
				$sql .= "SELECT 'R|$key|' || vectors_plan(" . quote(expand($s->{text}, $run)) . ");\n" . error_echo($key);
			}
			$sql .= "ROLLBACK TO v;\n" if $private;
			next;
		}
		$fresh = 0;
		$op_clock = $clock;
		if ($state eq 'h' && $i == $last)
		{
			$sql .= "SELECT widetable.flush();\nBEGIN;\n";
			$private = 1;
		}
		my $save = $private && defined $s->{error};
		$sql .= "SAVEPOINT e;\n" if $save;
		$checks{$key} = $check;
		if ($s->{kind} eq 'op')
		{
			$sql .= op_sql($s, "'$t'") . "\n" . error_echo($key);
			if (defined $s->{want})
			{
				$checks{"${key}result"} = { %$check, method => 'result', want => $s->{want}, how => 'text' };
				$sql .= "\\echo 'R|${key}result|':r\n";
			}
		}
		elsif ($s->{kind} eq 'sql') { $sql .= expand($s->{text}, $run) . ";\n" . error_echo($key); }
		elsif ($s->{kind} eq 'alter') { $sql .= "ALTER FOREIGN TABLE $t OPTIONS (SET families " . quote($s->{text}) . ");\n" . error_echo($key); }
		elsif ($s->{kind} eq 'begin') { $sql .= $state eq 'f' ? "SAVEPOINT b;\n" : "BEGIN;\n"; }
		elsif ($s->{kind} eq 'commit') { $sql .= $state eq 'f' ? "RELEASE b;\n" : "COMMIT;\n"; }
		elsif ($s->{kind} eq 'rollback') { $sql .= $state eq 'f' ? "ROLLBACK TO b;\n" : "ROLLBACK;\n"; }
		elsif ($s->{kind} eq 'savepoint') { $sql .= "SAVEPOINT s;\n"; }
		elsif ($s->{kind} eq 'undo') { $sql .= "ROLLBACK TO s;\n"; }
		elsif ($s->{kind} =~ /^(flush|compact)$/)
		{
			# what other vectors have in memory must not expire by this one's clock
			$sql .= "SET widetable.clock = '1970-01-01 00:00:00+00';\nSELECT widetable.flush();\nSET widetable.clock = " . quote(clock_text($clock)) . ";\n";
			$sql .= "SELECT widetable.compact('$t');\n" . error_echo($key) if $s->{kind} eq 'compact';
		}
		elsif ($s->{kind} eq 'open') { $run->{open} = expand($s->{text}, $run); }
		$sql .= "ROLLBACK TO e;\n" if $save;
		$sql .= "SELECT widetable.flush();\n" if $state eq 'c' && $s->{kind} =~ /^(op|sql|alter)$/;
	}
	# the commit stamps what the engine is to stamp
	$sql .= "SET widetable.clock = " . quote(clock_text($op_clock)) . ";\nCOMMIT;\n" if $private;
	return $sql;
}

# ------------------------------------------------------------------ the runs

sub server
{
	my (@args) = @_;
	system("'$bin/pg_ctl' -D '$dir/data' -l '$dir/server.log' -w -t 60 @args >'$dir/ctl.out' 2>&1 </dev/null") == 0
	  or die slurp("$dir/ctl.out") . slurp("$dir/server.log");
}

sub psql
{
	my ($name, $sql) = @_;
	spit("$dir/$name.sql", $sql);
	my $rc = system("'$bin/psql' -XqAt -f '$dir/$name.sql' >'$dir/$name.out' 2>'$dir/$name.err' </dev/null");
	return ($rc, slurp("$dir/$name.out"));
}

# runs the script and judges what it printed, one result for each run
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
		elsif ($c->{how} eq 'like') { $why = "$what: $got{$key}, expected /$c->{want}/" if $got{$key} !~ /$c->{want}/; }
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
	result(0, "$name: psql failed", slurp("$dir/$name.err")) if $rc;
	$n = keys %runs;
	print "# $name: $n vectors, " . keys(%checks) . ' checks, ' . (time() - $begin) . " s\n";
}

sub new_run
{
	my ($v, $state) = @_;
	$base += 100000000;
	$runs++;
	return { no => $runs, id => $v->{id}, title => $v->{title}, base => $base, table => lc("v_${state}_$v->{id}") };
}

my @files = grep { -f } @ARGV;
my %only = map { $_ => 1 } grep { !-f } @ARGV;
@files = sort glob "$here/*.vec" unless @files;
load_file($_) for @files;
die "no vectors in $here\n" unless @vectors;
@vectors = grep { $only{ $_->{id} } } @vectors if %only;

for my $v (@vectors) { print "# not run: $v->{id}, $v->{title}: $v->{skip}\n" if defined $v->{skip}; }
@vectors = grep { !defined $_->{skip} } @vectors;

$ENV{PGHOST} = $dir;
$ENV{PGUSER} = $ENV{PGDATABASE} = 'postgres';
delete @ENV{qw(PGPORT PGDATA PGOPTIONS PGSERVICE)};
$ENV{TZ} = 'UTC';
system("'$bin/initdb' -D '$dir/data' -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync >'$dir/initdb.out' 2>&1") == 0
  or die slurp("$dir/initdb.out");
# the background worker's clock stands still: it must not expire anything
open my $conf, '>>', "$dir/data/postgresql.conf" or die $!;
print $conf "listen_addresses = ''\nunix_socket_directories = '$dir'\nfsync = off\nshared_buffers = 32MB\nlog_min_messages = warning\nwidetable.clock = '1970-01-01 00:00:00+00'\n";
close $conf;
$started = 1;
server('start');
my ($rc, $out) = psql('setup', <<'SQL');
\set ON_ERROR_STOP 1
CREATE EXTENSION widetable;
-- functions show a qualifier as text, or each of its bytes as \xHH
CREATE FUNCTION vectors_hex(q text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN q ~ '^(\\x[0-9a-f]{2})+$' THEN replace(q, '\x', '') ELSE encode(convert_to(q, 'UTF8'), 'hex') END $$;
CREATE FUNCTION vectors_plan(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE l text; r text := '';
BEGIN
  FOR l IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || q LOOP r := r || btrim(l) || '; '; END LOOP;
  RETURN r;
END $$;
SQL
if ($rc) { print "not ok - set up\n", slurp("$dir/setup.err"); exit 1; }

my %run;

sub those
{
	my ($state) = @_;
	return grep {
		my $v = $_;
		index($v->{states}, $state) >= 0 && ($state ne 'h' || !grep { $_->{kind} =~ /^(begin|alter|flush|compact)$/ } @{ $v->{steps} });
	} @vectors;
}

for my $state (qw(a b c d f h))
{
	judge($state, sub { join '', map { $run{$state}{ $_->{id} } = new_run($_, $state); run_sql($_, $state, $run{$state}{ $_->{id} }, 'all') } those($state) });
	# another session, before anything moves
	judge('g', sub { join '', map { run_sql($_, 'g', $run{a}{ $_->{id} }, 'reads') } grep { $run{a}{ $_->{id} } } those('g') }) if $state eq 'a';
	judge('f, committed', sub { join '', map { run_sql($_, 'g', $run{f}{ $_->{id} }, 'reads') } grep { my $v = $_; !grep { defined $_->{states} && $_->{states} =~ /g/ && $_->{states} !~ /f/ } @{ $v->{steps} } } those('f') })
	  if $state eq 'f';
}

# all operations, then one crash with transactions open, then all reads
($rc, $out) = psql('e', join '', map { $run{e}{ $_->{id} } = new_run($_, 'e'); run_sql($_, 'e', $run{e}{ $_->{id} }, 'ops') } those('e'));
my @open;
for my $v (those('e'))
{
	my $sql = $run{e}{ $v->{id} }{open} or next;
	spit("$dir/open.sql", "BEGIN;\n$sql;\n\\! touch '$dir/opened'\nSELECT pg_sleep(60);\n");
	my $pid = fork;
	die "fork: $!" unless defined $pid;
	if ($pid == 0) { $started = 0; undef $dir; open STDERR, '>', '/dev/null'; exec "$bin/psql", '-XqAt', '-o', '/dev/null', '-f', "$ENV{PGHOST}/open.sql" or POSIX::_exit(127); }
	for (1 .. 200) { last if -e "$dir/opened"; select undef, undef, undef, 0.05; }
	unlink "$dir/opened" or result(0, "$v->{id} e: the transaction to be lost did not begin");
	push @open, $pid;
}
server('-m immediate stop');
waitpid $_, 0 for @open;
server('start');
judge('e', sub { join '', map { run_sql($_, 'e', $run{e}{ $_->{id} }, 'reads') } those('e') });

($rc, $out) = psql('verify', 'SELECT object, problem FROM widetable.verify();');
result($rc == 0 && $out eq '', 'verify finds nothing', split /\n/, $out . slurp("$dir/verify.err"));
my $log = slurp("$dir/server.log");
my @crash = grep { /PANIC|TRAP:|terminated by signal/ } split /\n/, $log;
result(!@crash, "the server's log is clean", @crash);
print "# vectors: $count{ok} passed, $count{bad} failed\n";
exit($count{bad} ? 1 : 0);
