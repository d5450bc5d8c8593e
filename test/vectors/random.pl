#
# random.pl: the step "random N SEED" of vectors.pl: N random operations on one table, whose results
# are compared with a simple model.
#
# The model: a cell is a map from timestamps to values.  A put adds or replaces a version, a delete
# removes the versions it names, and a commit keeps the newest VERSIONS.  Timestamps assigned by the
# engine are higher than all explicit ones here; the model numbers them, and they are shown as a
# star.  All operations of a transaction take effect at its commit: a version that the transaction
# writes and deletes has displaced nothing, and it assigns one timestamp per cell.
#
use strict;
use warnings;

my %versions = (f => 3, g => 1);	# as in the vector
my $stamped = 1000000000000;

# keeps the newest versions of each cell, as a commit does
sub model_trim
{
	my ($m) = @_;
	for my $row (keys %$m)
	{
		for my $col (keys %{ $m->{$row} })
		{
			my $c = $m->{$row}{$col};
			my @ts = sort { $b <=> $a } keys %$c;
			delete $c->{$_} for splice @ts, $versions{ substr $col, 0, 1 };
			delete $m->{$row}{$col} unless %$c;
		}
	}
}

sub model_copy
{
	my ($m) = @_;
	my %r;
	for my $row (keys %$m) { $r{$row}{$_} = { %{ $m->{$row}{$_} } } for keys %{ $m->{$row} }; }
	return \%r;
}

# the cells of a row as a query shows them: up to $n versions, from $since to below $until
sub model_row
{
	my ($m, $row, $n, $since, $until) = @_;
	my $copy = model_copy({ $row => $m->{$row} || {} });
	my @r;
	model_trim($copy);
	for my $col (sort keys %{ $copy->{$row} })
	{
		my $c = $copy->{$row}{$col};
		my @ts = grep { !defined $since || $_ >= $since && $_ < $until } sort { $b <=> $a } keys %$c;
		$#ts = $n - 1 if @ts > $n;
		push @r, map { "$col:" . ($_ >= $stamped ? '*' : $_) . ":$c->{$_}" } @ts;
	}
	return join ' ', @r;
}

# random_sql($table, $n, $seed, $ask, $pause): returns a script.  $ask->(query, result) returns the
# SQL that runs and checks a query, $pause->() the SQL that crashes the server.
sub random_sql
{
	my ($t, $n, $seed, $ask, $pause) = @_;
	my (%model, $saved, $before);	# now, as seen in the session; before the transaction; at the savepoint
	my ($m, $in, $own) = (\%model, 0, {});
	my $sql = '';
	my $next = 0;
	my $pick = sub { $seed = ($seed * 1103515245 + 12345) % 2147483648; return int($seed / 65536) % $_[0]; };
	my $cells = "string_agg(family || ':' || %s || ':' || CASE WHEN ts > 1000000000 THEN '*' ELSE ts::text END || ':' || convert_from(value, 'UTF8'), ' ')";
	# writes a version with a timestamp of the engine; it replaces an earlier one of the same
	# transaction
	my $stamp = sub {
		my ($row, $col, $value) = @_;
		my $old = $own->{"$row $col"};
		delete $m->{$row}{$col}{$old} if defined $old;
		$m->{$row}{$col}{ $stamped + ++$next } = $value;
		$own->{"$row $col"} = $stamped + $next if $in;
	};
	for my $op (1 .. $n)
	{
		my $row = 'r' . $pick->(6);
		my $col = (qw(f g))[ $pick->(2) ] . ':' . (qw(a b c))[ $pick->(3) ];
		my ($fam) = $col =~ /^(\w)/;
		my $ts = 1 + $pick->(12);
		my $what = $pick->(100);
		my $c = $m->{$row}{$col} ||= {};
		my $value = "v$op";
		if ($what < 30) { $sql .= "SELECT widetable.put('$t', '$row', '$col', '$value'::text, $ts);\n"; $c->{$ts} = $value; }
		elsif ($what < 42) { $sql .= "SELECT widetable.put('$t', '$row', '$col', '$value'::text);\n"; $stamp->($row, $col, $value); }
		elsif ($what < 46)
		{
			my ($newest) = sort { $b <=> $a } keys %$c;
			my $new = (defined $newest ? $c->{$newest} : '') . 'x';
			$sql .= $ask->("SELECT widetable.append('$t', '$row', '$col', 'x'::text)", $new);
			$stamp->($row, $col, $new);
		}
		elsif ($what < 51) { $sql .= "SELECT widetable.delete_version('$t', '$row', '$col', $ts);\n"; delete $c->{$ts}; }
		elsif ($what < 54)
		{
			my ($newest) = sort { $b <=> $a } keys %$c;
			$sql .= "SELECT widetable.delete_version('$t', '$row', '$col');\n";
			delete $c->{$newest} if defined $newest;
		}
		elsif ($what < 58) { $sql .= "SELECT widetable.delete_column('$t', '$row', '$col', $ts);\n"; delete @$c{ grep { $_ <= $ts } keys %$c }; }
		elsif ($what < 60) { $sql .= "SELECT widetable.delete_column('$t', '$row', '$col');\n"; %$c = (); }
		elsif ($what < 66)
		{
			my ($call, $which) = $what < 62 ? ("delete_family('$t', '$row', '$fam', $ts)", sub { $_[0] <= $ts })
			  : $what < 63 ? ("delete_family('$t', '$row', '$fam')", sub { 1 })
			  : ("delete_family_version('$t', '$row', '$fam', $ts)", sub { $_[0] == $ts });
			$sql .= "SELECT widetable.$call;\n";
			for my $q (grep { /^$fam/ } keys %{ $m->{$row} }) { my $x = $m->{$row}{$q}; delete @$x{ grep { $which->($_) } keys %$x }; }
		}
		elsif ($what < 68) { $sql .= $what < 67 ? "SELECT widetable.delete_row('$t', '$row');\n" : "DELETE FROM $t WHERE k = '$row';\n"; $m->{$row} = {}; }
		elsif ($what < 76)
		{
			my ($k, $since, $until) = (1 + $pick->(3), $pick->(8), 8 + $pick->(6));
			$sql .= $ask->(sprintf("SELECT coalesce($cells, '') FROM widetable.cells('$t', '$row', $k)", 'qualifier'), model_row($m, $row, $k))
			  . $ask->(sprintf("SELECT coalesce($cells, '') FROM widetable.cells('$t', '$row', $k, $since, $until)", 'qualifier'), model_row($m, $row, $k, $since, $until));
		}
		elsif ($what < 79)
		{
			$sql .= $ask->(sprintf("SELECT k || ' ' || $cells FROM (SELECT * FROM ${t}_c ORDER BY k, family, qualifier, version) x GROUP BY k ORDER BY k", "convert_from(qualifier, 'UTF8')"),
				join ' ', map { my $r = model_row($m, $_, 9); $r eq '' ? () : "$_ $r" } sort keys %$m);
		}
		elsif ($what < 90)
		{
			if (!$in) { $sql .= "BEGIN;\n"; $saved = model_copy($m); $in = 1; undef $before; }
			elsif ($what < 82 && !$before) { $sql .= "SAVEPOINT s;\n"; $before = [ model_copy($m), {%$own} ]; }
			elsif ($what < 84 && $before) { $sql .= "ROLLBACK TO s;\n"; ($m, $own) = (model_copy($before->[0]), { %{ $before->[1] } }); }
			elsif ($what < 88) { $sql .= "COMMIT;\n"; $in = 0; $own = {}; }
			else { $sql .= "ROLLBACK;\n"; $in = 0; $own = {}; $m = $saved; }
		}
		elsif ($in) { next; }
		elsif ($what < 94) { $sql .= "SELECT widetable.flush();\n"; }
		elsif ($what < 97) { $sql .= "SELECT widetable.compact('$t'" . ($pick->(2) ? ', false' : '') . ");\n"; }
		# a crash, possibly in an open transaction
		if ($op % int($n / 4 + 1) == 0)
		{
			$sql .= $pause->();
			$m = $saved if $in;
			($in, $own) = (0, {});
		}
		model_trim($m) unless $in;
	}
	return $sql . ($in ? "ROLLBACK;\n" : '');
}

1;
