#
# Session.pm: a psql that executes one statement at a time, for clients that choose the next
# statement by the result and measure how long each takes.
#
package Session;
use strict;
use warnings;
use POSIX ();
use Server;

# returns undef if the server does not answer
sub open
{
	my ($class, $name) = @_;
	pipe(my $in, my $to) && pipe(my $from, my $out) or die "pipe: $!";
	my $pid = fork;
	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		$SIG{INT} = $SIG{TERM} = 'DEFAULT';
		$ENV{PGAPPNAME} = $name;
		CORE::open STDIN,  '<&', $in  or POSIX::_exit(127);
		CORE::open STDOUT, '>&', $out or POSIX::_exit(127);
		CORE::open STDERR, '>>', "$dir/$name.err";
		CORE::close $_ for $in, $to, $from, $out;
		{ exec "$Server::bin/psql", '-XqAt', '-v', 'ON_ERROR_STOP=1' };
		POSIX::_exit(127);
	}
	CORE::close $in;
	CORE::close $out;
	select((select($to), $| = 1)[0]);
	my $self = bless { name => $name, pid => $pid, to => $to, from => $from, second => 0, n => 0, longest => 0, what => '' }, $class;
	return $self->run('SET client_min_messages = warning;') ? $self : undef;
}

sub now { return (POSIX::times())[0] / POSIX::sysconf(POSIX::_SC_CLK_TCK()); }

# Returns the lines of the result, or undef if the session is lost and the statement in doubt.  With
# $what the duration is accounted under that name.
sub run
{
	my ($self, $sql, $what) = @_;
	my ($from, @lines) = ($self->{from});
	my $begun = now();
	local $SIG{PIPE} = 'IGNORE';
	print { $self->{to} } "$sql\n\\echo -- end\n" or return $self->lost;
	while (defined(my $line = <$from>))
	{
		chomp $line;
		if ($line eq '-- end')
		{
			$self->account(now() - $begun, $what) if defined $what;
			return \@lines;
		}
		push @lines, $line;
	}
	return $self->lost;
}

sub lost
{
	my ($self) = @_;
	$self->close;
	return undef;
}

sub close
{
	my ($self) = @_;
	return unless $self->{pid};
	$self->account(0, '') if $self->{n};
	CORE::close $self->{to};
	CORE::close $self->{from};
	waitpid $self->{pid}, 0;
	$self->{pid} = 0;
}

# writes a line for each second: number of statements, longest duration in seconds
sub account
{
	my ($self, $took, $what) = @_;
	if ($what ne '')
	{
		$self->{n}++;
		@$self{qw(longest what)} = ($took, $what) if $took > $self->{longest};
	}
	return if $what ne '' && time() == $self->{second};
	tell_parent($self->{name}, sprintf "S %d %d %.2f %s", time(), $self->{n}, $self->{longest}, $self->{what});
	@$self{qw(second n longest what)} = (time(), 0, 0, '');
}

# appends a line to the client's file, which soak.pl reads
sub tell_parent
{
	my ($name, $line) = @_;
	CORE::open my $h, '>>', "$dir/$name.log" or die "$dir/$name.log: $!";
	print $h "$line\n";
	CORE::close $h;
}

1;
