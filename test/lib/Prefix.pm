#
# Prefix.pm: checks what sessions of standby_history.pl have read against the order in which the
# transactions were committed.
#
# The values are lists to which a transaction appends its number, so the lists at the end show the
# order of all versions, and a list that was read is known by its length, a sum of its bytes and its
# last element.  Each read is of one snapshot.  What the snapshots of a standby must be:
#
#   order      a list that was read is a prefix of the list at the end
#   atomic     a transaction is in all of its lists that were read, or in none of them
#   causal     when A ended before B began, and B is in a list that was read, then A is in its lists
#   fresh      the transactions are there that the standby had replayed before the read began
#   backwards  a list does not get shorter from one statement of a session to the next
#   lost       an acknowledged transaction is in the lists at the end
#   undone     nothing is in a list that was rolled back, with its transaction or to a savepoint
#
# Positions of the log order the transactions: that before BEGIN, and that after the answer to COMMIT.
# Batches of rows, written by COPY, are there with all of their rows or with none.
#
package Prefix;
use strict;
use warnings;

use constant NEVER => 9e18;

# What a list looks like in the clients' files.
sub digest
{
	my ($list) = @_;
	my ($last) = $list =~ /([^,]*),$/;
	return ($list =~ tr/,//) . ':' . unpack('%32C*', $list) . ':' . (defined $last ? $last : '');
}

# An LSN as a number.
sub position { my ($h, $l) = map { hex } split m{/}, $_[0]; return $h * 2**32 + $l; }

# lists: key => list at the end.  old: node that was the primary at the beginning.  switched: position
# at which the log of another primary leaves that of the old one, or undef.  lossy: what the old
# primary alone had committed may be lost.
sub new
{
	my ($class, %o) = @_;
	return bless { lists => {}, tx => {}, truncates => [], batch => {}, problems => [], count => {}, %o }, $class;
}

# An LSN as PostgreSQL shows it.
sub lsn { my ($p) = @_; return sprintf '%X/%X', $p / 2**32, $p % 2**32; }

sub wrong { my ($self, $kind, $text) = @_; push @{ $self->{problems} }, "$kind: $text"; }

# the first ones of each kind
sub problems
{
	my ($self) = @_;
	my (%n, @r);
	for my $p (@{ $self->{problems} })
	{
		my ($kind) = $p =~ /^(\w+)/;
		push @r, $p if ++$n{$kind} <= 5;
	}
	return (@r, map { "$_: $n{$_} in all" } grep { $n{$_} > 5 } sort keys %n);
}

# ------------------------------------------------------------------- writers

# the file of a writer; see the writers in standby_history.pl
sub add_writer
{
	my ($self, $name, @lines) = @_;
	for my $line (@lines)
	{
		my ($what, $t, $lsn, $node, @rest) = split / /, $line;
		if ($what eq 'B')
		{
			my $x = $self->{tx}{$t} = { id => $t, by => $name, begin => $lsn, end => NEVER, state => 'unknown', old => $node eq $self->{old},
				keys => [grep { /^\d/ } @rest], batches => [map { /^\+(.*)/ ? $1 : () } @rest] };
			$self->{batch}{$_}{made} = $x for @{ $x->{batches} };
			push @{ $self->{batch}{$_}{gone} }, $x for map { /^-(.*)/ ? $1 : () } @rest;
			push @{ $self->{truncates} }, $x if grep { $_ eq 'T' } @rest;
		}
		elsif ($what eq 'C') { @{ $self->{tx}{$t} }{qw(state end)} = ('committed', $lsn); $self->{count}{committed}++; }
		elsif ($what eq 'R') { $self->{tx}{$t}{state} = 'undone'; $self->{count}{'rolled back'}++; }
		elsif ($what eq 'V') { $self->wrong('seen', "$name: " . join ' ', grep { defined } $t, $lsn, $node, @rest); }
		elsif ($what eq 'N') { $self->{count}{ join ' ', grep { defined } $t, $lsn, $node, @rest }++; }
		elsif ($what eq 'E') { $self->{errors}{$t}++; }
	}
}

# after all writers: the lists at the end
sub finish_writers
{
	my ($self) = @_;
	my $s = $self->{switched};
	my %place;			# transaction => key => position from 1
	for my $k (sort keys %{ $self->{lists} })
	{
		my @l = split /,/, $self->{lists}{$k};
		for my $i (0 .. $#l)
		{
			my $x = $self->{tx}{ $l[$i] };
			if (!$x || $x->{state} eq 'undone') { $self->wrong('undone', "$k has $l[$i]" . ($x ? '' : ', which no transaction committed')); }
			elsif ($place{ $l[$i] }{$k}) { $self->wrong('twice', "$k has $l[$i] twice"); }
			$place{ $l[$i] }{$k} = $i + 1;
		}
	}
	for my $x (values %{ $self->{tx} })
	{
		next if $x->{state} eq 'undone';
		my @there = grep { $place{ $x->{id} }{$_} } @{ $x->{keys} };
		my @missing = grep { !$place{ $x->{id} }{$_} } @{ $x->{keys} };
		$self->{count}{unknown}++ if $x->{state} eq 'unknown';
		$self->wrong('atomic', "at the end $x->{id} of $x->{by} is in @there, not in @missing") if @there && @missing;
		next unless $x->{state} eq 'committed';
		my $late = defined $s && $x->{old} && $x->{end} > $s;
		if (!@missing && (@there || !$self->{lossy}))
		{
			# committed before the new primary parted from the old one, although the position after
			# the commit may be later
			$x->{end} = $s if $late;
		}
		elsif ($late && $self->{lossy}) { @$x{qw(state end)} = ('unknown', NEVER); $self->{count}{lost}++ if @missing; }
		elsif (!@there && @missing) { $self->wrong('lost', "$x->{id} of $x->{by}, acknowledged at " . lsn($x->{end}) . ", is not in @missing"); }
	}
	$self->measure(\%place);
}

# For each list and each length: the sum of the bytes, the latest begin of the elements up to there,
# the earliest end of those after it, and how far its elements reach into other lists.
sub measure
{
	my ($self, $place) = @_;
	for my $k (keys %{ $self->{lists} })
	{
		my @l = split /,/, $self->{lists}{$k};
		my ($sum, $begin, %reach) = (0, -1);
		my $m = $self->{m}{$k} = { l => \@l, sum => [0], begin => [-1], end => [], reach => {} };
		for my $i (0 .. $#l)
		{
			my $x = $self->{tx}{ $l[$i] };
			$sum = ($sum + unpack '%32C*', "$l[$i],") & 0xffffffff;
			$begin = $x->{begin} if $x && $x->{begin} > $begin;
			push @{ $m->{sum} }, $sum;
			push @{ $m->{begin} }, $begin;
			for my $other (grep { $_ ne $k } keys %{ $place->{ $l[$i] } || {} })
			{
				my $p = $place->{ $l[$i] }{$other};
				# [length of this list, least length of the other one]
				push @{ $m->{reach}{$other} }, [$i + 1, $p] unless $m->{reach}{$other} && $m->{reach}{$other}[-1][1] >= $p;
			}
		}
		my $end = NEVER;
		$m->{end}[@l] = NEVER;
		for my $i (reverse 0 .. $#l)
		{
			my $x = $self->{tx}{ $l[$i] };
			$end = $x->{end} if $x && $x->{end} < $end;
			$m->{end}[$i] = $end;
		}
	}
}

# ------------------------------------------------------------------- readers

# Checks the file of a reader; see the readers in standby_history.pl.  $skip: node whose reads may
# have seen what was lost.
sub check_reader
{
	my ($self, $name, $skip, @lines) = @_;
	my ($session, %seen) = ('');
	for my $line (@lines)
	{
		my ($what, @f) = split / /, $line;
		if ($what eq 'V') { $self->wrong('seen', "$name: " . join ' ', @f); }
		elsif ($what eq 'N') { $self->{count}{"@f"}++; }
		elsif ($what eq 'E') { $self->{errors}{ $f[0] }++; }
		next unless $what eq 'R' || $what eq 'P';
		my ($s, $node, $kind, $bound) = splice @f, 0, 4;
		$self->{count}{"$kind of $node"}++;
		next if defined $skip && $node eq $skip;
		if ($s ne $session) { $session = $s; %seen = (); }
		my $title = "$name ($node, $kind, session $s, replayed " . lsn($bound) . ')';
		if ($what eq 'R') { $self->check_lists($title, $bound, \%seen, @f); }
		else { $self->check_batches($title, $bound, @f); }
	}
}

sub check_lists
{
	my ($self, $title, $bound, $seen, @read) = @_;
	my (%n, $latest, $earliest);
	for (@read)
	{
		my ($k, $n, $sum, $last) = split /:/, $_, -1;
		my $m = $self->{m}{$k};
		if (!$m) { $self->wrong('order', "$title read $k, which no table has at the end"); next; }
		if ($n > @{ $m->{l} } || $m->{sum}[$n] != $sum || ($n ? $m->{l}[$n - 1] : '') ne $last)
		{
			$self->wrong('order', "$title read $n elements in $k, the last one $last; the list at the end has " . @{ $m->{l} } .
				($n && $n <= @{ $m->{l} } ? ", at that place $m->{l}[$n - 1]" : ''));
			next;
		}
		$n{$k} = $n;
		$self->wrong('backwards', "$title read $n elements in $k, after $seen->{$k} before") if defined $seen->{$k} && $seen->{$k} > $n;
		$seen->{$k} = $n;
		$latest = $k if !defined $latest || $m->{begin}[$n] > $self->{m}{$latest}{begin}[ $n{$latest} ];
		$earliest = $k if !defined $earliest || $m->{end}[$n] < $self->{m}{$earliest}{end}[ $n{$earliest} ];
	}
	return unless %n;
	my $m = $self->{m}{$earliest};
	my ($begin, $end) = ($self->{m}{$latest}{begin}[ $n{$latest} ], $m->{end}[ $n{$earliest} ]);
	$self->wrong('fresh', "$title lacks in $earliest, of which it read $n{$earliest} elements, one that was committed at " . lsn($end)) if $end <= $bound;
	$self->wrong('causal', "$title lacks in $earliest, of which it read $n{$earliest} elements, one that ended at " . lsn($end) . ", before one in $latest began at " . lsn($begin))
	  if $end < $begin;
	$self->check_atomic($title, \%n);
}

sub check_atomic
{
	my ($self, $title, $n) = @_;
	for my $k (sort keys %$n)
	{
		my $reach = $self->{m}{$k}{reach};
		for my $other (grep { defined $n->{$_} } keys %$reach)
		{
			my $steps = $reach->{$other};
			my ($low, $high) = (0, scalar @$steps);
			while ($low < $high)
			{
				my $i = ($low + $high) >> 1;
				if ($steps->[$i][0] <= $n->{$k}) { $low = $i + 1; } else { $high = $i; }
			}
			next if $low == 0 || $steps->[$low - 1][1] <= $n->{$other};
			my $at = $steps->[$low - 1][0];
			$self->wrong('atomic', "$title read $self->{m}{$k}{l}[$at - 1] in $k, and not in $other, of which it read $n->{$other} elements");
		}
	}
}

# True if the transaction was surely committed before the position.
sub before { my ($x, $bound) = @_; return $x->{state} eq 'committed' && $x->{end} <= $bound; }

sub check_batches
{
	my ($self, $title, $bound, @read) = @_;
	my %there;
	for (@read)
	{
		my ($b, $n, $size) = split /:/;
		my $batch = $self->{batch}{$b};
		$there{$b} = 1;
		if (!$batch || !$batch->{made} || $batch->{made}{state} eq 'undone') { $self->wrong('undone', "$title read batch $b"); next; }
		$self->wrong('atomic', "$title read $n rows of batch $b, which has $size") if $n != $size;
		my @gone = grep { before($_, $bound) } @{ $batch->{gone} || [] }, grep { $_->{begin} > $batch->{made}{end} } @{ $self->{truncates} };
		$self->wrong('fresh', "$title read batch $b, which $gone[0]{id} had removed") if @gone;
	}
	for my $b (keys %{ $self->{batch} })
	{
		my $batch = $self->{batch}{$b};
		next if $there{$b} || !$batch->{made} || !before($batch->{made}, $bound);
		next if grep { $_->{state} ne 'undone' } @{ $batch->{gone} || [] };
		next if grep { $_->{state} ne 'undone' && $_->{end} > $batch->{made}{begin} } @{ $self->{truncates} };
		$self->wrong('fresh', "$title lacks batch $b, which was committed at " . lsn($batch->{made}{end}));
	}
}

1;
