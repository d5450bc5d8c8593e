# Bench.pm: what the scripts of bench/ share: reading workloads, sessions, CPU times, medians.
# The settings come from ./bench/run in the environment.  A session connects to the server that
# PGHOST and PGPORT name, and server_cpu() measures the one of PGDATA.
package Bench;
use strict;
use warnings;
use integer;
use Exporter qw(import);
use IPC::Open2;
use List::Util qw(max);

our @EXPORT_OK = qw(%var @system workload script session ask leave once postmaster stat_of children cpu_of server_cpu gone median);
our %EXPORT_TAGS = (all => \@EXPORT_OK);

my $top = $ENV{BENCH_TOP};
my $psql = ($ENV{BIN} || "") . "/psql";
our %var = map { my ($k, $v) = split /=/; ($k, $v) } split ' ', $ENV{BENCH_VARS} || '';
our @system = qw(wide cell cols brin rocksdb);

# ------------------------------------------------------------- workloads

sub workload
{
	my $name = shift;
	my %w = (name => $name, order => 999, reps => 1, clients => 1, target => '');
	my $section;
	open(my $f, '<', "$top/bench/workloads/$name") or die "workload $name does not exist\n";
	while (defined(my $line = <$f>))
	{
		local $_ = $line;
		next if /^#/;
		if (/^\[(.*)\]$/) { $section = $1; $w{section}{$section} = '' }
		elsif (defined $section) { $w{section}{$section} .= $_ }
		elsif (/^(\w+): *(.*?)\s*$/) { $w{$1} = $2 }
		elsif (/\S/) { die "$name: invalid line \"$_\"\n" }
	}
	$w{target} = {map { split /=/ } split ' ', $w{target}};
	$w{systems} = [grep { exists $w{section}{$_} } @system];
	return \%w;
}

sub script { my ($w, $s) = @_; return ($w->{section}{all} || '') . $w->{section}{$s} }

# --------------------------------------------------------------- sessions

# Starts a psql that executes one script after the other.  ask() returns the lines of its output and
# sets $s->{ms} to the milliseconds of the statements.
sub session
{
	my %s;
	my @v = map { ('-v', "$_=$var{$_}") } sort keys %var;
	local $ENV{PGOPTIONS} = join ' ', map { "-c bench.$_=$var{$_}" } grep { $var{$_} =~ /^\d+$/ } sort keys %var;
	$s{pid} = open2($s{out}, $s{in}, 'sh', '-c', 'exec "$@" 2>&1', 'sh', $psql, '-XqAt', '-F', "\t", @v);
	($s{backend}) = ask(\%s, 'SELECT pg_backend_pid();');
	return \%s;
}

sub ask
{
	my ($s, $sql, $may_fail) = @_;
	my (@line, $ms);
	my $end = 'end-of-answer';
	$s->{in}->autoflush(1);
	print {$s->{in}} "\\timing on\n$sql\n\\timing off\n\\echo $end\n";
	{
		no integer;
		$ms = 0;
		while (defined(my $l = readline $s->{out}))
		{
			chomp $l;
			last if $l eq $end;
			if ($l =~ /^Time: ([\d.]+) ms/) { $ms += $1; next }
			die "$l\n(of: $sql)\n" if $l =~ /^(psql:.*)?(ERROR|FATAL):/ && !$may_fail;
			push @line, $l;
		}
	}
	$s->{ms} = $ms;
	return @line;
}

sub leave { my $s = shift; close $s->{in}; close $s->{out}; waitpid $s->{pid}, 0 }
sub once { my ($sql) = @_; my $s = session(); my @l = ask($s, $sql); my $ms = $s->{ms}; leave($s); return wantarray ? @l : $l[0] }

# ---------------------------------------------------------------- CPU time

sub postmaster
{
	open(my $f, '<', "$ENV{PGDATA}/postmaster.pid") or die "the server is not running\n";
	my $p = <$f>;
	chomp $p;
	return $p;
}

sub stat_of
{
	open(my $f, '<', "/proc/$_[0]/stat") or return;
	my $l = <$f>;
	defined $l or return;
	$l =~ s/^.*\) //;
	return split ' ', $l;
}

sub children
{
	my $pm = shift;
	opendir(my $d, '/proc') or die;
	return grep { my @s = stat_of($_); @s && $s[1] == $pm } grep { /^\d+$/ } readdir $d;
}

# CPU seconds of a process.
sub cpu_of
{
	no integer;
	my $p = shift;
	# schedstat is in nanoseconds but covers the first thread only; stat covers all threads in
	# 1/100 s
	my $ns = 0;
	if (open(my $f, '<', "/proc/$p/schedstat")) { ($ns) = (<$f> // '0') =~ /^(\d+)/ }
	my @s = stat_of($p);
	return max($ns / 1e9, @s ? ($s[11] + $s[12]) / 100 : 0);
}

# CPU seconds of all server processes, including those that have ended.
sub server_cpu
{
	no integer;
	my $pm = postmaster();
	my $t = 0;
	$t += cpu_of($_) for children($pm);
	my @s = stat_of($pm);
	return $t + ($s[13] + $s[14]) / 100;
}

# waits until the server has no more processes than before
sub gone
{
	my $n = shift;
	my $pm = postmaster();
	for (1 .. 100)
	{
		return if children($pm) <= $n;
		select undef, undef, undef, 0.02;
	}
}

# ----------------------------------------------------------------- numbers

sub median
{
	# "use integer" would compare integer parts only
	no integer;
	my @s = sort { $a <=> $b } @_;
	return @s % 2 ? $s[$#s / 2] : ($s[@s / 2 - 1] + $s[@s / 2]) / 2;
}

1;
