#
# Wire.pm: a session that speaks PostgreSQL's protocol itself, for clients that need the SQLSTATE of
# each error and must know whether a commit was acknowledged before the connection was lost.
#
# Simple queries and COPY FROM STDIN, over a Unix socket, without a password.  Uses modules of
# perl-base only.
#
package Wire;
use strict;
use warnings;
use Socket;

our $limit = 100;			# seconds without an answer after which a statement counts as hanging

# Returns a session, or undef: then $Wire::why is [SQLSTATE or '', message].
our $why;
sub open
{
	my ($class, $sockets, $name, $user, $database) = @_;
	my $self = bless { in => '', status => '', name => $name, sockets => $sockets, pid => 0 }, $class;
	socket($self->{s}, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
	if (!connect $self->{s}, pack_sockaddr_un("$sockets/.s.PGSQL.5432"))
	{
		$why = ['', "connect: $!"];
		return undef;
	}
	my $s = join "\0", 'user', $user || 'postgres', 'database', $database || 'postgres', 'application_name', $name, '', '';
	my $r = $self->put(pack('N2', 8 + length $s, 196608) . $s) ? $self->answer : $self->lost('the connection was lost');
	return $self if !$r->{lost} && $r->{code} eq '';
	$why = [$r->{code}, $r->{message}];
	$self->close;
	return undef;
}

# Runs one statement; $data is what COPY FROM STDIN reads.  Returns { rows => [[...], ...], tag, code,
# message, lost, hangs, sockets }: code is '' or the SQLSTATE of the error; lost is true when the
# session is gone, and then the effect of a commit is not known.  hangs: there was no answer, from the
# server with these sockets.
sub query
{
	my ($self, $sql, $data) = @_;
	$sql .= "\0";
	return $self->put('Q' . pack('N', 4 + length $sql) . $sql) ? $self->answer($data) : $self->answer_left;
}

# the rows of a query that must succeed; dies otherwise
sub rows
{
	my ($self, $sql) = @_;
	my $r = $self->query($sql);
	die "$sql: $r->{code} $r->{message}\n" if $r->{code} ne '' || $r->{lost};
	return @{ $r->{rows} };
}

sub value { my ($row) = rows(@_); return $row ? $row->[0] : undef; }

sub close { my ($self) = @_; close $self->{s} if $self->{s}; $self->{s} = undef; }

sub lost
{
	my ($self, $message, $code, $rows) = @_;
	$self->close;
	return { rows => $rows || [], tag => '', code => $code || '', message => $message, lost => 1, hangs => 0 };
}

# the server may have said why it ended the session before it did
sub answer_left
{
	my ($self) = @_;
	return $self->lost('the connection was lost') unless $self->{s};
	my $r = $self->answer;
	return $r->{lost} ? $r : $self->lost($r->{message}, $r->{code});
}

sub put
{
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	return 0 unless $self->{s};
	while (length $bytes)
	{
		my $n = syswrite $self->{s}, $bytes;
		return 0 unless $n;
		substr $bytes, 0, $n, '';
	}
	return 1;
}

# Returns true once $n bytes are there; 0 if the connection is lost, undef after $limit seconds.
sub fill
{
	my ($self, $n) = @_;
	while (length $self->{in} < $n)
	{
		my $ready = '';
		vec($ready, fileno $self->{s}, 1) = 1;
		my $found = select $ready, undef, undef, $limit;
		return undef if $found == 0;
		next if $found < 0;
		return 0 unless sysread $self->{s}, $self->{in}, 65536, length $self->{in};
	}
	return 1;
}

sub answer
{
	my ($self, $data) = @_;
	my (@rows, $tag, $code, $message, $fatal);
	($tag, $code, $message, $fatal) = ('', '', '', 0);
	while (1)
	{
		my $got = $self->fill(5);
		my $length = 0;
		if ($got)
		{
			$length = unpack 'N', substr $self->{in}, 1, 4;
			$got = $self->fill(1 + $length);
		}
		if (!defined $got)
		{
			my $r = $self->lost("no answer for $limit s", $code, \@rows);
			@$r{qw(hangs sockets)} = (1, $self->{sockets});
			return $r;
		}
		return $self->lost($message || 'the connection was lost', $code, \@rows) unless $got;
		my $type = substr $self->{in}, 0, 1;
		my $body = substr $self->{in}, 5, $length - 4;
		substr $self->{in}, 0, 1 + $length, '';
		if ($type eq 'D') { push @rows, row($body); }
		elsif ($type eq 'C') { $tag = substr $body, 0, -1; }
		elsif ($type eq 'K') { $self->{pid} = unpack 'N', $body; }
		elsif ($type eq 'E')
		{
			my %f = map { /^(.)(.*)$/s ? ($1 => $2) : () } split /\0/, $body;
			($code, $message) = ($f{C}, "$f{V}: $f{M}" . ($f{D} ? " ($f{D})" : '')) unless $code ne '';
		}
		elsif ($type eq 'G')
		{
			$self->put('d' . pack('N', 4 + length $data) . $data . 'c' . pack('N', 4));
		}
		elsif ($type eq 'R' && unpack('N', $body) != 0) { return $self->lost('the server asks for a password'); }
		elsif ($type eq 'Z')
		{
			$self->{status} = $body;
			return { rows => \@rows, tag => $tag, code => $code, message => $message, lost => 0, hangs => 0 };
		}
	}
}

# the values of a row; NULL is undef
sub row
{
	my ($body) = @_;
	my ($n, $at, @r) = (unpack('n', $body), 2);
	for (1 .. $n)
	{
		my $l = unpack 'l>', substr $body, $at, 4;
		$at += 4;
		push @r, $l < 0 ? undef : substr $body, $at, $l;
		$at += $l if $l > 0;
	}
	return \@r;
}

1;
