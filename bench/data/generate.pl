#!/usr/bin/perl
# generate.pl: generates page visits, each determined by its number.
#
#   generate.pl DIR VISITS VISITORS COPY_VISITS ACCESS_LOG.tsv.gz
#
# Visit i (from 0, one each second since 2026-01-01) is of visitor
#     h = i * 2654435761 mod 2^32;  u = h >> 4;  v = ((u * u >> 28) * VISITORS) >> 28
# which pgbench scripts compute as well.  The square makes the visitors skewed: the
# first hundredth of them has a tenth of the visits.  The pages are requests from
# a real web server's log.  Files, in COPY's text format:
#
#   visits         visitor, at, url, referer, agent, status, bytes; in order of arrival
#   copy.arrival   the first COPY_VISITS of them
#   copy.key       the same by visitor, newest first
#   cells.arrival  the same as cells: row, family, qualifier, ts, value
#   cells.key
#
# A row key is the visitor and 2^63-1 minus the microseconds since 1970, both as 8 bytes
# big-endian.
use strict;
use warnings;
use integer;

my ($dir, $visits, $visitors, $copy, $log) = @ARGV;
my $start = 1767225600;
my @log;
open(my $in, '-|', 'gzip', '-dc', $log) or die "gzip: $!\n";
<$in>;
while (<$in>)
{
	chomp;
	my @f = split /\t/, $_, -1;
	# every visit has all five values
	push @log, [map { $_ eq "\\N" ? "-" : $_ } @f[4, 8, 9, 6, 7]];
}
close $in or die "$log cannot be read\n";

sub visitor { my $u = ($_[0] * 2654435761 & 4294967295) >> 4; return (($u * $u >> 28) * $visitors) >> 28 }

my ($minute, $minute_text) = (-1, '');
sub at
{
	my $t = $start + $_[0];
	if ($t / 60 != $minute)
	{
		$minute = $t / 60;
		my @t = gmtime($t);
		$minute_text = sprintf '%04d-%02d-%02d %02d:%02d:', $t[5] + 1900, $t[4] + 1, $t[3], $t[2], $t[1];
	}
	return $minute_text . sprintf('%02d', $t % 60) . '+00';
}

sub cells
{
	my $i = shift;
	my $h = $i * 40503 & 0xffffffff;
	my ($url, $referer, $agent, $status, $bytes) = @{$log[($h >> 3) % @log]};
	# numbered pages, different sizes
	$bytes = 0 if $bytes !~ /^\d+$/;
	return ("$url?id=" . $h % 100003, $referer, $agent, $status, $bytes + $i % 1000);
}

my @name = qw(url referer agent status bytes);
sub visit_line { my $i = shift; return join("\t", visitor($i), at($i), cells($i)) . "\n" }
sub cell_lines
{
	my $i = shift;
	my $us = ($start + $i) * 1000000;
	my $row = '\\\\x' . unpack('H*', pack('q>q>', visitor($i), 9223372036854775807 - $us));
	my @v = cells($i);
	return join '', map { "$row\tp\t$name[$_]\t$us\t$v[$_]\n" } 0 .. 4;
}

sub file
{
	my ($name, $order, $line) = @_;
	open(my $f, '>', "$dir/$name") or die "$dir/$name: $!\n";
	print {$f} $line->($_) for @$order;
	close $f or die "$dir/$name: $!\n";
}

my @arrival = (0 .. $copy - 1);
my @of;
push @{$of[visitor($_)]}, $_ for reverse @arrival;
my @key = map { $_ ? @$_ : () } @of;
file('visits', [0 .. $visits - 1], \&visit_line);
file('copy.arrival', \@arrival, \&visit_line);
file('copy.key', \@key, \&visit_line);
file('cells.arrival', \@arrival, \&cell_lines);
file('cells.key', \@key, \&cell_lines);
