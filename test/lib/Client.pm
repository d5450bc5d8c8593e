#
# Client.pm: what the writers and readers of standby_history.pl share: sessions that come and go with
# their servers, and the errors that they may get.
#
# Uses modules of perl-base only.
#
package Client;
use strict;
use warnings;
use Server;
use Wire;
use Exporter ();
our @ISA = ('Exporter');
our @EXPORT = qw(any stopped map_now faults_done state_of complain enter generation batch_size %load);

# The load of this round: began (a time), sync (synchronous_commit of the writers), generations, pairs,
# alone (numbers of keys), may_panic (a process is killed that may hold locks), may_end (all processes of a
# server are: the leader of a parallel plan may be the last one).
our %load;

sub any { return $_[int rand @_]; }

sub stopped { return -e "$dir/stop"; }
sub map_now { return map { [split / /] } split /\n/, slurp("$dir/map"); }
sub faults_done { return -s "$dir/faults" || 0; }

# What a server does that does not answer: its processes, what they wait for, and how far it is.
sub state_of
{
	my ($sockets) = @_;
	my $c = Wire->open($sockets, 'state') or return "no connection: @$Wire::why";
	my @r;
	local $Wire::limit = 5;
	for my $sql ("SELECT pid, backend_type, application_name, wait_event_type, wait_event, state, left(query, 60) FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
		'SELECT pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(), pg_is_in_recovery()',
		'SELECT * FROM widetable.pg_stat_widetable_health')
	{
		my $r = $c->query($sql);
		push @r, map { join ' ', map { defined $_ ? $_ =~ s/\s+/ /gr : '-' } @$_ } @{ $r->{rows} };
		push @r, $r->{message} if $r->{code} ne '' || $r->{lost};
		last if $r->{lost};
	}
	# whether a process computes or waits: a wait for a lock of the engine may be no wait event
	for my $pid (map { /^(\d+) [a-z]/ ? $1 : () } @r)
	{
		my ($stat, @at) = map { s/\s+$//r } map { eval { slurp("/proc/$pid/$_") } // '-' } qw(stat wchan syscall);
		my @f = split ' ', $stat =~ s/^.*\) //r;
		push @r, "process $pid: $f[0], $f[11] ticks, @at" if @f > 11;
	}
	$c->close;
	return @r;
}

# Reports an error that a client got.  Returns true if it is one that may happen.
sub complain
{
	my ($log, $r, $sql) = @_;
	my $what = $r->{code} ne '' ? $r->{code} : 'connection';
	# a session may see that the owner of a lock was killed before the postmaster does
	if ($r->{hangs}) { print $log "V an answer takes more than $Wire::limit s: $sql\n", map { "V   $_\n" } state_of($r->{sockets}); return 0; }
	if ($what =~ /^(40001|40P01|57P0[123]|connection)$/ || ($load{may_end} && $r->{message} =~ /lost connection to parallel worker/) || ($load{may_panic} && $r->{message} =~ /PANIC: .*(the shared memory of widetable is damaged|is out of order until it is recovered)/))
	{
		print $log "E $what\n";
		return 1;
	}
	print $log "V $what $r->{message}: ", substr($sql, 0, 300) =~ s/\n/ /gr, "\n";
	nap(0.05);
	return 0;
}

# connects to the server; returns undef if it is not there now
sub enter
{
	my ($log, $name, $sockets, @settings) = @_;
	my $c = Wire->open($sockets, $name);
	if (!$c)
	{
		complain($log, { code => $Wire::why->[0], message => $Wire::why->[1], hangs => 0 }, 'connect') if $Wire::why->[0] ne '';
		nap(0.05);
		return undef;
	}
	for (@settings)
	{
		my $r = $c->query($_);
		next if $r->{code} eq '' && !$r->{lost};
		complain($log, $r, $_);
		$c->close;
		return undef;
	}
	return $c;
}

sub generation { my $g = time() - $load{began}; return $g < $load{generations} ? $g : $load{generations} - 1; }

# the number of rows of the batch that transaction $t writes
sub batch_size { my ($t) = @_; return (50, 400, 3000, 6000)[$t / 16 % 4]; }

1;
