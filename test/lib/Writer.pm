#
# Writer.pm: the writers of standby_history.pl: random transactions on wide and ordinary tables.
#
# Lines of a writer's file:
#   B TX POSITION NODE CHANGE...   before BEGIN; a change is a key whose list gets TX, +BATCH, -BATCH,
#                                  or T for TRUNCATE
#   C TX POSITION                  the commit was acknowledged; the position is one after it
#   R TX                           rolled back
#   V, N, E                        a violation; something to count; an error that may happen
#
package Writer;
use strict;
use warnings;
use Server;
use Wire;
use Prefix;
use Client;

sub run
{
	my ($log, $id) = @_;
	my $seq = 0;
	my %other;					# sessions on standbys
	my @settings = ("SET synchronous_commit = $load{sync}", "SET widetable.write_memory = '" . any('64kB', '256kB', '64MB') . "'");
	push @settings, 'SET widetable.enable_direct_modify = off' if $id % 3 == 0;
	my $w = { log => $log, id => $id, batches => [] };
	while (!stopped())
	{
		my ($main, @applied) = map_now();
		my $c = $w->{c} = enter($log, "writer$id", $main->[1], @settings) or next;
		@$w{qw(node lost position)} = ($main->[0], 0, undef);
		while (!stopped() && !$w->{lost})
		{
			last unless defined $w->{position} || defined($w->{position} = position($w));
			@applied = @applied[0 .. 0] if @applied && rand() < 0.5;
			# sessions on the standbys from before the transaction
			if (@applied)
			{
				for my $a (@applied) { $other{ $a->[0] } ||= enter($log, "look$id", $a->[1]); }
			}
			my ($t, $keys) = transact($w, ++$seq * 16 + $id);
			next unless defined $t && @$keys;
			for my $a (@applied) { $other{ $a->[0] } = look($log, $other{ $a->[0] }, $t, $keys, $a->[0]) if rand() < 0.3; }
		}
		continue { nap(rand 0.004); }
		$c->close;
	}
}

# The primary's log ends here.  Returns undef if the session is lost.
sub position
{
	my ($w) = @_;
	my $r = $w->{c}->query('SELECT pg_current_wal_insert_lsn()');
	return Prefix::position($r->{rows}[0][0]) if $r->{code} eq '' && !$r->{lost};
	complain($w->{log}, $r, 'position');
	$w->{lost} = $r->{lost};
	return undef;
}

# with remote_apply: transaction $t, which was acknowledged, must be in the lists on the standby
sub look
{
	my ($log, $c, $t, $keys, $node) = @_;
	return undef unless $c;
	my $in = join ', ', map { "'$_'" } @$keys;
	my $sql = "SELECT k, v FROM hw WHERE k IN ($in) UNION ALL SELECT k, v FROM ho WHERE k IN ($in)";
	my $r = $c->query($sql);
	if ($r->{code} ne '' || $r->{lost}) { complain($log, $r, $sql); return $r->{lost} ? undef : $c; }
	print $log "N acknowledged ones looked for\n";
	my @lacks = grep { ",$_->[1]" !~ /,$t,/ } @{ $r->{rows} };
	print $log "V $t is acknowledged with remote_apply, and on $node not in ", join(' ', map { $_->[0] } @lacks), "\n" if @lacks;
	return $c;
}

# the statements that append to the list of a key, in both tables if it is a pair
sub append_to
{
	my ($k, $element) = @_;
	my @s = rand() < 0.3 ? "SELECT widetable.append('hw', '$k', 'v', '$element,'::text)" : "UPDATE hw SET v = v || '$element,' WHERE k = '$k'";
	# the wide row first: its lock orders both writes
	push @s, "UPDATE ho SET v = v || '$element,' WHERE k = '$k'" if $k =~ /p/;
	return @s;
}

sub random_keys
{
	my ($kinds, $most) = @_;
	my $g = sprintf '%03d', generation();
	my %k = map { my $kind = any(@$kinds); ("$g$kind" . (1 + int rand($kind eq 'p' ? $load{pairs} : $load{alone})) => 1) } 1 .. 1 + int rand $most;
	return sort keys %k;
}

# Returns (statements, changes) of a random transaction; a statement may be [COPY, data].
sub plan
{
	my ($w, $t) = @_;
	my $what = rand;
	if ($what < 0.22)
	{
		# one statement, on wide rows alone
		my @k = random_keys(['w'], 1);
		return ([(append_to($k[0], $t))[0]], @k) if rand() < 0.7;
		@k = map { sprintf '%03dw%d', generation(), $_ } 1 .. $load{alone};
		return (["UPDATE hw SET v = v || '$t,' WHERE k IN (" . join(', ', map { "'$_'" } @k) . ')'], @k);
	}
	if ($what < 0.30)
	{
		my @k = random_keys(['w'], 2);
		return (['BEGIN', (map { append_to($_, $t) } @k), 'COMMIT'], @k);
	}
	return batch($w, $t) if $what < 0.33;
	return (['BEGIN', 'TRUNCATE bo', 'TRUNCATE bw', 'COMMIT'], 'T') if $what < 0.3307;
	return (['BEGIN', "ALTER TABLE bo ADD COLUMN c$t int", "ALTER FOREIGN TABLE bw ADD COLUMN c$t int", 'COMMIT']) if $what < 0.3311;
	return (["ALTER FOREIGN TABLE hw OPTIONS (SET families '" . families($w) . "')"]) if $what < 0.3325 && $w->{id} == 1;
	my @k = random_keys(rand() < 0.7 ? ['p'] : ['p', 'w'], 3);
	my @s = rand() < 0.2 ? 'BEGIN ISOLATION LEVEL REPEATABLE READ' : 'BEGIN';
	my $n = 0;
	for my $k (@k)
	{
		if (rand() < 0.15) { push @s, 'SAVEPOINT s', append_to($k, 'x' . $t . 'x' . ++$n), 'ROLLBACK TO s'; }
		my @a = append_to($k, $t);
		push @a, "SELECT widetable.increment('hw', '$k', 'n', " . ($t % 7) . ')', "UPDATE ho SET n = n + " . ($t % 7) . " WHERE k = '$k'" if $k =~ /p/ && rand() < 0.3;
		push @s, rand() < 0.15 ? ('SAVEPOINT s', @a, 'RELEASE s') : @a;
	}
	return ([@s, rand() < 0.07 ? 'ROLLBACK' : 'COMMIT'], @k);
}

# The families of hw with other options.  One writer sets them: only so many changes of versions are
# remembered up to a compaction.
sub families
{
	my ($w) = @_;
	$w->{versions} = any(1, 2, 3) if !$w->{versions} || $w->{changes}++ < 5;
	return "{\"f\": {\"versions\": $w->{versions}}, \"g\": {\"compression\": \"" . any('none', 'zstd:3') . '"}}';
}

# a batch of rows, and the oldest one of this writer goes
sub batch
{
	my ($w, $t) = @_;
	my @rows = map { "$t\t$_\t" . ($_ * $t % 1000) . "\t" . chr(97 + $_ % 26) x (20 + ($_ * $t) % 90) } 1 .. batch_size($t);
	my $data = join '', map { "$_\n" } @rows;
	my (@s, @changes);
	if (@{ $w->{batches} } > 2)
	{
		my $old = shift @{ $w->{batches} };
		@s = ("DELETE FROM bo WHERE b = $old", "DELETE FROM bw WHERE b = $old");
		@changes = "-$old";
	}
	push @{ $w->{batches} }, $t;
	return (['BEGIN', @s, ['COPY bo (b, i, x, pad) FROM STDIN', $data], ['COPY bw (b, i, x, pad) FROM STDIN', $data], rand() < 0.1 ? 'ROLLBACK' : 'COMMIT'], @changes, "+$t");
}

# Runs a random transaction.  Returns (its number, its keys) if it was acknowledged.
sub transact
{
	my ($w, $t) = @_;
	my ($s, @changes) = plan($w, $t);
	my ($log, $c) = @$w{qw(log c)};
	print $log "B $t $w->{position} $w->{node} @changes\n";
	$w->{position} = undef;
	for my $one (@$s)
	{
		my ($sql, $copied) = ref $one ? @$one : $one;
		my $r = $c->query($sql, $copied);
		next if $r->{code} eq '' && !$r->{lost};
		complain($log, $r, $sql);
		$w->{lost} = $r->{lost};
		# an error without the end of the session has undone it; lost before COMMIT, too
		print $log "R $t\n" if !$r->{lost} || (@$s > 1 && $sql ne 'COMMIT');
		$c->query('ROLLBACK') if $c->{status} ne 'I' && !$r->{lost};
		return;
	}
	if ($s->[-1] eq 'ROLLBACK') { print $log "R $t\n"; return; }
	# acknowledged, even if the position after it cannot be had
	$w->{position} = position($w);
	print $log "C $t ", defined $w->{position} ? $w->{position} : Prefix::NEVER, "\n";
	print $log "N ", lc $1, " of a table\n" if "@$s" =~ /(TRUNCATE|ALTER)/;
	return ($t, [grep { /^\d/ } @changes]);
}

1;
