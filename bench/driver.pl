#!/usr/bin/perl
# driver.pl: runs workloads of bench/workloads on a running cluster.  Started by ./bench/run,
# which passes the settings in the environment.
#
#   driver.pl list WANTED...                      prints the matching names in table order
#   driver.pl memory NAME                         prints the memory limit in MB, if the workload has one
#   driver.pl systems NAME                        prints the systems of the workload
#   driver.pl measure NAME...                     measures all rounds; appends to $BENCH_TSV
#   driver.pl limited NAME SYSTEM ROUND           does one measurement without any setup
#   driver.pl data NAME...                        loads the data of these workloads
#   driver.pl report                              prints the table of $BENCH_TSV
#
# A workload is a file with "name: value" lines, followed by sections.
#
#   title, order (position in the table)
#   kind: pgbench     transactions per second of the script, by `clients`, for $BENCH_SECONDS seconds
#         statement   the time of all statements of the script, minimum of `reps` runs
#         value       the number that the script returns; less is better
#         engine      engine/engine_bench.c, which measures all workloads of this kind at once
#   data: files of bench/data to load once before
#   work: the amount of work of the statement, such as "1000 rows": the result is a rate
#   target: system=ratio ...; the ratio to reach in favour of the wide table
#   judge: cpu        compares the ratio of CPU times with the target
#   writes: yes       pgbench: records the longest latency too
#   settle: no        background work that [before S] has made is not waited for
#   memory: MB        limit for the server and the page cache of its files together
#
#   [all]                         runs before each system's script
#   [wide] [cell] [cols] [brin]   the scripts of the systems
#   [before S] [after S]          run around each round, untimed
#   [hold S]                      runs in a session that stays open during the measurement
#   [check S]                     runs after each round: the output must be the same on all systems
#   [count S]                     runs after a pgbench round: must return the number of transactions
#
# If a pgbench workload has neither check nor count and does not write, its script is run with 40
# fixed draws of random() on each system; the values must be the same, in any order.  The output of
# statement workloads must always be the same.
use strict;
use warnings;
use integer;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(min max);
use Bench qw(:all);

my $top = $ENV{BENCH_TOP};
my $tsv = $ENV{BENCH_TSV};
my $work = $ENV{BENCH_WORK};
my $wrong = 0;

# ------------------------------------------------------------- workloads

sub all_workloads
{
	opendir(my $d, "$top/bench/workloads") or die;
	return sort { $a->{order} <=> $b->{order} or $a->{name} cmp $b->{name} } map { workload($_) } grep { !/^\./ } readdir $d;
}

# sorts the values, because the wide table returns one line where the cell table returns five
sub values_of { return join "\n", sort map { split /\t/ } @_ }

# waits until background work of an earlier measurement has ended
sub settle
{
	for (1 .. 600)
	{
		my $busy = once("SELECT (SELECT count(*) FROM widetable.pg_stat_widetable_compactions WHERE state = 'running')
			+ (SELECT memtables_waiting FROM widetable.pg_stat_widetable)
			+ (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker');");
		return if $busy eq '0';
		select undef, undef, undef, 0.2;
	}
	warn "background work does not end within two minutes\n";
}

# ------------------------------------------------------------------- data

sub load
{
	my $name = shift;
	return if once("SELECT to_regclass('bench_loaded_$name') IS NOT NULL;") eq 't';
	print "# loading: $name\n";
	open(my $f, '<', "$top/bench/data/$name.sql") or die "bench/data/$name.sql does not exist\n";
	my $s = session();
	ask($s, join '', <$f>);
	ask($s, "VACUUM ANALYZE;");
	ask($s, "ANALYZE $_;") for ask($s, "SELECT ftrelid::regclass FROM pg_foreign_table;");
	# does the background work now that the worker would do later
	ask($s, "SELECT widetable.flush(); SELECT widetable.compact(NULL, false); CHECKPOINT; CREATE TABLE bench_loaded_$name ();");
	# reads the wide tables into the cache; loading has left the ordinary tables in the buffers
	ask($s, "SELECT sum(length(t::text)) FROM $_ t;") for ask($s, "SELECT ftrelid::regclass FROM pg_foreign_table;");
	leave($s);
	settle();
}

# ---------------------------------------------------------------- measuring

sub note
{
	my ($w, $s, $round, %r) = @_;
	open(my $f, '>>', $tsv) or die "$tsv: $!\n";
	print {$f} join("\t", $w->{name}, $s, $round, map { defined $r{$_} ? $r{$_} : '' } qw(value unit cpu_us max_ms)), "\n";
	close $f;
}

# true if the workload has been measured already
sub noted
{
	open(my $f, '<', $tsv) or return 0;
	return scalar grep { index($_, "$_[0]\t") == 0 } <$f>;
}

# evaluates the \set lines of a script with draws of random() determined by $seed, and replaces the
# variables
sub drawn
{
	my ($script, $seed) = @_;
	my (%v, @sql);
	for (split /\n/, $script)
	{
		if (/^\\set (\w+) (.*)/)
		{
			my ($name, $e) = ($1, $2);
			my $n = 0;
			$e =~ s/:(\w+)/defined $v{$1} ? $v{$1} : $var{$1}/ge;
			$e =~ s/random\((.*?),(.*?)\)/my ($a, $b) = (eval $1, eval $2); $a + ($seed * 2654435761 + ++$n * 40503) % ($b - $a + 1)/ge;
			$v{$name} = eval $e;
			die "$e: $@" if $@;
		}
		else { push @sql, $_ }
	}
	my $sql = join "\n", @sql;
	$sql =~ s/(?<!:):(\w+)/defined $v{$1} ? $v{$1} : defined $var{$1} ? $var{$1} : ":$1"/ge;
	return $sql;
}

sub compare_scripts
{
	my $w = shift;
	my %a;
	for my $s (@{$w->{systems}})
	{
		my $p = session();
		$a{$s} = join "\n--\n", map { values_of(ask($p, drawn(script($w, $s), $_))) } 1 .. 40;
		leave($p);
	}
	same($w, \%a);
}

sub same
{
	my ($w, $a) = @_;
	for my $s (@{$w->{systems}})
	{
		next if !defined $a->{$s} || $a->{$s} eq $a->{wide};
		$wrong++;
		print "WRONG: $w->{name}: $s and wide return different results:\n", substr($a->{$s}, 0, 300), "\n--- wide:\n", substr($a->{wide}, 0, 300), "\n";
	}
}

sub pgbench
{
	my ($w, $s, $seconds) = @_;
	no integer;
	my $pm = postmaster();
	my $n = () = children($pm);
	my $file = "$work/script.$s.sql";
	open(my $f, '>', $file) or die;
	print {$f} script($w, $s);
	close $f;
	my @log = $w->{writes} ? ('-l', "--log-prefix=$work/log.pgbench") : ();
	my $cpu = server_cpu();
	my $out = '';
	my @cmd = ("$ENV{BIN}/pgbench", '-n', '-M', 'prepared', '-c', $w->{clients}, '-j', min($w->{clients}, $ENV{BENCH_CPUS}),
		'-T', $seconds, (map { ('-D', "$_=$var{$_}") } grep { $var{$_} =~ /^\d+$/ } keys %var), @log, '-f', $file);
	open(my $p, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', @cmd) or die;
	$out = join '', <$p>;
	close $p or die "$out\n$w->{name}, $s: pgbench failed\n";
	gone($n);
	$cpu = server_cpu() - $cpu;
	my ($done) = $out =~ /actually processed: (\d+)/ or die "$out\n";
	my ($tps) = $out =~ /^tps = ([\d.]+)/m or die "$out\n";
	my $worst;
	for my $l (glob "$work/log.pgbench.*")
	{
		open(my $f, '<', $l) or next;
		while (defined(my $line = <$f>)) { my $us = (split " ", $line)[2]; $worst = $us if !defined $worst || $us > $worst }
		unlink $l;
	}
	return (transactions => $done, value => $tps, unit => '/s', cpu_us => sprintf('%.1f', $cpu / max($done, 1) * 1e6),
		max_ms => defined $worst ? sprintf('%.1f', $worst / 1000) : undef);
}

sub statement
{
	my ($w, $s) = @_;
	no integer;
	my ($n, $unit) = split ' ', $w->{work} || '';
	$n = $var{$1} if defined $n && $n =~ /^:(.*)/;
	my $p = session();
	ask($p, $w->{section}{all}) if $w->{section}{all};
	my ($best, $cpu, @lines);
	# warms the caches of plans and catalogs, as in a long-lived session
	ask($p, $w->{section}{$s}) if $w->{reps} > 1;
	for (1 .. $w->{reps})
	{
		my $c = server_cpu();
		@lines = ask($p, $w->{section}{$s});
		$c = server_cpu() - $c;
		($best, $cpu) = ($p->{ms}, $c) if !defined $best || $p->{ms} < $best;
	}
	leave($p);
	return (lines => \@lines, value => defined $n ? sprintf('%.1f', $n / $best * 1000) : $best, unit => defined $n ? "$unit/s" : 'ms',
		cpu_us => sprintf('%.1f', $cpu * 1e6 / ($n || 1)));
}

sub one
{
	my ($w, $s, $round, $answers) = @_;
	my $part = $w->{section};
	my (%r, $hold);
	once($part->{"before $s"}) if $part->{"before $s"};
	settle() if ($w->{settle} || '') ne 'no';
	if ($part->{"hold $s"}) { $hold = session(); ask($hold, $part->{"hold $s"}) }
	if ($w->{kind} eq 'pgbench') { %r = pgbench($w, $s, $ENV{BENCH_SECONDS}) }
	elsif ($w->{kind} eq 'statement') { %r = statement($w, $s); $answers->{$s} = values_of(@{$r{lines}}) }
	elsif ($w->{kind} eq 'value') { %r = (value => (once($part->{$s}))[-1], unit => $w->{unit}) }
	else { die "$w->{name}: unknown kind\n" }
	leave($hold) if $hold;
	if (defined $part->{"check $s"}) { $answers->{$s} = values_of(once($part->{"check $s"})) }
	if (defined $part->{"count $s"})
	{
		my $n = once($part->{"count $s"});
		if ($n ne $r{transactions} + ($var{"base_$w->{name}"} || 0))
		{
			print "WRONG: $w->{name}: $s counts $n after $r{transactions} transactions\n";
			$wrong++;
		}
	}
	note($w, $s, $round, %r);
	once($part->{"after $s"}) if $part->{"after $s"};
}

sub measure
{
	my $w = shift;
	load($_) for split ' ', $w->{data} || '';
	return engine($w) if $w->{kind} eq 'engine';
	print "# $w->{name}\n";
	my $part = $w->{section};
	my %a;
	compare_scripts($w) if $w->{kind} eq 'pgbench' && !grep { /^(check|count) / } keys %$part and !$w->{writes};
	for my $round (1 .. ($w->{kind} eq 'value' ? 1 : $ENV{BENCH_ROUNDS}))
	{
		my %answers;
		one($w, $_, $round, \%answers) for @{$w->{systems}};
		same($w, \%answers) if %answers;
	}
}

# Runs engine_bench, which measures both stores; its lines are name, system, round, value, unit,
# cpu_us, max_ms, sum.
sub engine
{
	my $w = shift;
	return if !$ENV{BENCH_ENGINE} || noted($w->{name});
	print "# engine\n";
	my ($l, %sum);
	open(my $p, '-|', $ENV{BENCH_ENGINE}, "$work/engine", $var{cells_arrival}, $ENV{BENCH_ROUNDS}, $ENV{BENCH_SECONDS},
		$ENV{BENCH_MEMORY}) or die;
	while ($l = <$p>)
	{
		chomp $l;
		my ($name, $system, $round, $value, $unit, $cpu, $max, $sum) = split /\t/, $l;
		note({name => $name}, $system, $round, value => $value, unit => $unit, cpu_us => $cpu, max_ms => $max);
		push @{$sum{"$name $round"}}, $sum if defined $sum;
	}
	if (!close $p) { $wrong++; print "WRONG: engine_bench failed\n" }
	for (sort keys %sum)
	{
		next if @{$sum{$_}} < 2 || $sum{$_}[0] eq $sum{$_}[1];
		$wrong++;
		print "WRONG: $_: the stores return different sums @{$sum{$_}}\n";
	}
}

# ------------------------------------------------------------------ report

sub human
{
	no integer;
	my ($v, $unit) = @_;
	if ($unit eq 'times') { return "$v times" }
	if ($unit eq 'bytes') { return sprintf '%.1f MB', $v / 1048576 }
	if ($unit eq 'ms') { return sprintf $v < 10 ? '%.2f ms' : '%.0f ms', $v }
	my ($t, $k) = ($v >= 1e6 ? (sprintf('%.2f', $v / 1e6), 'M') : $v >= 1e4 ? (sprintf('%.0f', $v / 1e3), 'k') :
		$v >= 1e3 ? (sprintf('%.1f', $v / 1e3), 'k') : (sprintf($v < 10 ? '%.2f' : '%.0f', $v), ''));
	$unit =~ s/^\///;
	return "$t$k " . ($unit eq 's' ? '/s' : $unit);
}

sub report
{
	no integer;
	my (%r, %unit, %cpu, %max);
	open(my $f, '<', $tsv) or die "$tsv: $!\n";
	while (defined(my $line = <$f>))
	{
		local $_ = $line;
		next if /^#/ || /^workload\t/;
		chomp;
		my ($name, $s, $round, $value, $unit, $cpu, $max) = split /\t/, $_, -1;
		$r{$name}{$s}{$round} = $value;
		$cpu{$name}{$s}{$round} = $cpu if $cpu ne '' && $cpu > 0;
		$unit{$name} = $unit;
		$max{$name}{$s} = max($max, $max{$name}{$s} || 0) if defined $max && $max ne '';
	}
	my %label = (cell => 'cell table', cols => 'ordinary table', brin => 'ordinary table, BRIN', rocksdb => 'RocksDB');
	print "\n| workload | wide table | against | there | ratio (least to most) | by CPU time | target | |\n|---|---:|---|---:|---|---:|---:|---|\n";
	for my $w (all_workloads())
	{
		my $name = $w->{name};
		next if !$r{$name};
		my $less = $unit{$name} =~ /^(ms|bytes|times)$/;
		my $first = 1;
		for my $s (grep { $_ ne 'wide' && $r{$name}{$_} } @system)
		{
			my @round = grep { defined $r{$name}{wide}{$_} } sort { $a <=> $b } keys %{$r{$name}{$s}};
			next if !@round;
			my @ratio = map { my ($a, $b) = ($r{$name}{wide}{$_}, $r{$name}{$s}{$_}); ($a, $b) = ($b, $a) if $less; $b ? $a / $b : 0 } @round;
			my @c = map { my ($a, $b) = ($cpu{$name}{wide}{$_}, $cpu{$name}{$s}{$_}); $a && $b ? $b / $a : () } @round;
			my $target = $w->{target}{$s};
			my $m = median(@ratio);
			my $judged = ($w->{judge} || '') eq 'cpu' && @c ? median(@c) : $m;
			printf "| %s | %s | %s | %s | **%.2f**%s | %s | %s | %s |\n", $first ? $w->{title} : '',
				$first ? human(median(values %{$r{$name}{wide}}), $unit{$name}) : '', $label{$s},
				human(median(values %{$r{$name}{$s}}), $unit{$name}), $m, @ratio > 1 ? sprintf(' (%.2f to %.2f)', min(@ratio), max(@ratio)) : '',
				@c ? sprintf('%.2f', median(@c)) : '', defined $target ? $target : '',
				!defined $target ? '' : $judged >= $target ? 'met' : 'missed';
			$first = 0;
		}
	}
	my @m = grep { $max{$_} } map { $_->{name} } all_workloads();
	if (@m)
	{
		print "\n| longest latency of a transaction, ms | wide table | cell table | ordinary table | RocksDB |\n|---|---:|---:|---:|---:|\n";
		my %title = map { $_->{name} => $_->{title} } all_workloads();
		for my $n (@m)
		{
			printf "| %s | %s |\n", $title{$n}, join ' | ', map { defined $max{$n}{$_} ? $max{$n}{$_} : '' } qw(wide cell cols rocksdb);
		}
	}
}

# -------------------------------------------------------------------- main

my $what = shift @ARGV || '';
$| = 1;
if ($what eq 'list')
{
	my %all = map { $_->{name} => 1 } all_workloads();
	my %want;
	for my $a (@ARGV)
	{
		my @m = grep { $_ eq $a || index($_, "$a-") == 0 } keys %all;
		die "unknown workload $a; the workloads are: " . join(' ', map { $_->{name} } all_workloads()) . "\n" if !@m;
		@want{@m} = @m;
	}
	print "$_->{name}\n" for grep { !@ARGV || $want{$_->{name}} } all_workloads();
}
elsif ($what eq 'memory') { print workload($ARGV[0])->{memory} || '', "\n" }
elsif ($what eq 'kind') { print workload($ARGV[0])->{kind}, "\n" }
elsif ($what eq 'systems') { print "@{workload($ARGV[0])->{systems}}\n" }
elsif ($what eq 'data') { for my $n (@ARGV) { load($_) for split ' ', workload($n)->{data} || '' } }
elsif ($what eq 'measure') { measure(workload($_)) for @ARGV }
elsif ($what eq 'limited')
{
	my $w = workload($ARGV[0]);
	# warms up: at first each get reads from disk, and the steady state is to be measured
	pgbench($w, $ARGV[1], max(12, $ENV{BENCH_SECONDS} * 2));
	note($w, $ARGV[1], $ARGV[2], pgbench($w, $ARGV[1], $ENV{BENCH_SECONDS} * 2));
}
elsif ($what eq 'report') { report() }
else { die "driver.pl is started by ./bench/run\n" }
exit($wrong ? 1 : 0);
