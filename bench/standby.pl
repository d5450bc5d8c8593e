#!/usr/bin/perl
# standby.pl: measures a streaming standby beside its primary.  Started by ./bench/run standby,
# which runs both servers on this machine and passes the settings in the environment.
#
#   standby.pl check PART...      fails if there is no such part
#   standby.pl measure PART...    measures all rounds; appends to $BENCH_TSV
#   standby.pl report             prints the tables of $BENCH_TSV
#
# A part is lag, catch-up or reads, or one of these with a workload: lag:insert-16.  The scripts are
# those of bench/workloads.  Within a round wide and ordinary tables take turns.
#
#   lag        the primary writes at full rate for $BENCH_LAG_SECONDS.  Each 100 ms a session commits
#              a row to a small table of the same kind ("beat"), and the standby is read all the
#              time: visible_ms is the time from the commit to the end of the first read that
#              returns the row.  bytes: WAL that the primary has written and the standby has not
#              applied; follower_bytes: what of it the standby's PostgreSQL has replayed already.
#   catch-up   the standby is stopped, the primary writes at full rate for $BENCH_OFFLINE_SECONDS,
#              the standby is started.  Measured from the start of the server until the startup
#              process, and the keeper, are where the primary's log ended.
#   reads      the same script on the primary and on the standby, with 1 and 8 clients, while the
#              primary inserts $BENCH_LOAD_RATE rows a second.  cpu_us: the backends of the readers
#              alone.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(min max sum);
use POSIX qw(WNOHANG);
use Time::HiRes qw(time sleep);
use Bench qw(:all);

my %part = (
	lag => [qw(insert-16 insert-batch copy-arrival copy-cells-arrival)],
	'catch-up' => [qw(insert-16 insert-batch copy-arrival copy-cells-arrival)],
	reads => [qw(point-get-row count-sum nested-loop)]);
my @part = ('lag', 'catch-up', 'reads');
my $work = $ENV{BENCH_WORK};
my $bin = $ENV{BIN};
my %data = (primary => $ENV{PGDATA}, standby => $ENV{BENCH_STANDBY});
my %port = (primary => 5432, standby => 5433);
my $patience = 600;		# seconds; what takes longer has failed
my $turns = 4;			# of primary and standby in a round of reads
my $wrong = 0;

# ---------------------------------------------------------------- servers

# calls the function with the environment of that server
sub at
{
	my ($server, $fn) = @_;
	local $ENV{PGPORT} = $port{$server};
	local $ENV{PGDATA} = $data{$server};
	return $fn->();
}

sub on { my ($server, $sql) = @_; return at($server, sub { once($sql) }) }
sub session_on { my $server = shift; return at($server, sub { session() }) }

sub standby_server
{
	my @command = (split(' ', $ENV{BENCH_AS}), "$bin/pg_ctl", '-D', $data{standby}, '-l', "$data{standby}/server.log", @_);
	system('sh', '-c', 'cd "$0" && exec "$@" >/dev/null 2>&1 </dev/null', $data{standby}, @command) == 0
		or die "pg_ctl @_ of the standby failed\n";
}

# Returns true when fn() does; dies if it takes too long.
sub await
{
	my ($what, $fn, $pause) = @_;
	my $end = time + $patience;
	until ($fn->()) { die "timeout: $what\n" if time > $end; sleep($pause || 0.05) }
}

# Waits until the standby has all that the primary has, and does nothing more.
sub level
{
	my $lsn = on('primary', 'SELECT pg_current_wal_flush_lsn();');
	await('the standby has all', sub { on('standby', "SELECT pg_last_wal_replay_lsn() >= '$lsn' AND coalesce(applied_lsn >= '$lsn', state IN ('none', 'waiting'))
		FROM widetable.pg_stat_widetable_health;") eq 't' });
	for my $server (qw(primary standby))
	{
		await('background work ends', sub { on($server, "SELECT (SELECT count(*) FROM widetable.pg_stat_widetable_compactions WHERE state = 'running')
			+ (SELECT memtables_waiting FROM widetable.pg_stat_widetable);") eq '0' }, 0.2);
	}
}

# ------------------------------------------------------------------- load

sub run_quietly
{
	my ($file, @command) = @_;
	open(STDOUT, '>', $file) or die;
	open(STDERR, '>&', \*STDOUT) or die;
	exec(@command) or die;
}

sub pgbench_command
{
	my ($w, $s, $clients, $seconds, @more) = @_;
	my $file = "$work/script.$w->{name}.$s.sql";
	open(my $f, '>', $file) or die;
	print {$f} script($w, $s);
	close $f;
	return ("$bin/pgbench", '-n', '-M', 'prepared', '-c', $clients, '-j', min($clients, $ENV{BENCH_CPUS}), '-T', $seconds,
		(map { ('-D', "$_=$var{$_}") } grep { $var{$_} =~ /^\d+$/ } keys %var), @more, '-f', $file);
}

# Loads the same lines again and again, each time into a new table.
sub copy_repeatedly
{
	my ($w, $s, $seconds) = @_;
	my ($n, $begin) = (0, time);
	my $session = session();
	while (time < $begin + $seconds) { ask($session, "$w->{section}{\"before $s\"};" . script($w, $s)); $n++ }
	leave($session);
	my ($count) = map { /^:(.*)/ ? $var{$1} : $_ } (split ' ', $w->{work})[0];
	printf "%d repetitions\ntps = %.1f\n", $n, $n * $count / (time - $begin);
}

# Starts the workload on the primary.
sub load_start
{
	my ($w, $s, $seconds, @more) = @_;
	my %l = (file => "$work/load.out", begin => time);
	$l{pid} = fork() // die;
	if ($l{pid} == 0)
	{
		run_quietly($l{file}, pgbench_command($w, $s, $w->{clients}, $seconds, @more)) if $w->{kind} eq 'pgbench';
		open(STDOUT, '>', $l{file}) or die;
		my $ok = eval { copy_repeatedly($w, $s, $seconds); 1 };
		print $@ if !$ok;
		close STDOUT;
		POSIX::_exit($ok ? 0 : 1);
	}
	return \%l;
}

sub load_ended
{
	my $l = shift;
	return 1 if defined $l->{status};
	return 0 if waitpid($l->{pid}, WNOHANG) != $l->{pid};
	($l->{status}, $l->{seconds}) = ($?, time - $l->{begin});
	return 1;
}

# Waits for the end.  Returns operations per second.
sub load_wait
{
	my $l = shift;
	await('the load ends', sub { load_ended($l) });
	open(my $f, '<', $l->{file}) or die;
	my $out = join '', <$f>;
	die "the load failed:\n$out\n" if $l->{status} != 0;
	my ($tps) = $out =~ /^tps = ([\d.]+)/m or die "$out\n";
	return $tps;
}

# ---------------------------------------------------------------- numbers

sub note
{
	my ($part, $w, $s, $round, %r) = @_;
	open(my $f, '>>', $ENV{BENCH_TSV}) or die "$ENV{BENCH_TSV}: $!\n";
	print {$f} join("\t", $part, $w, $s, $round, $_, $r{$_}), "\n" for grep { defined $r{$_} } sort keys %r;
	close $f;
}

sub percentile { my ($p, @v) = @_; @v = sort { $a <=> $b } @v; return $v[min($#v, int(@v * $p))] }

# The slope of the line of least squares through the points [x, y].
sub slope
{
	my @p = @_;
	return 0 if @p < 2;
	my ($mx, $my) = map { my $i = $_; sum(map { $_->[$i] } @p) / @p } 0, 1;
	my $d = sum(map { ($_->[0] - $mx) ** 2 } @p);
	return $d == 0 ? 0 : sum(map { ($_->[0] - $mx) * ($_->[1] - $my) } @p) / $d;
}

# The system with which the wide table is compared.
sub other { my $w = shift; return exists $w->{section}{cols} ? 'cols' : 'cell' }

# In every second round the order is the other one.
sub turns { my ($round, @s) = @_; return $round % 2 ? @s : reverse @s }

# Both servers must return the same.
sub compare
{
	my ($what, $sql) = @_;
	my %a = map { my $server = $_; $server => join "\n", on($server, $sql) } qw(primary standby);
	return if $a{primary} eq $a{standby};
	$wrong++;
	print "WRONG: $what: the primary returns\n$a{primary}\n--- the standby:\n$a{standby}\n";
}

sub before { my ($w, $s) = @_; on('primary', $w->{section}{"before $s"}) }
sub after
{
	my ($w, $s) = @_;
	my $part = $w->{section};
	compare("$w->{name}, $s", $part->{"count $s"} // $part->{"check $s"});
	on('primary', $part->{"after $s"});
}

# -------------------------------------------------------------------- lag

# Commits a row each 100 ms until the file "stop" is there; writes number and time of each to a file.
sub beat
{
	my $s = shift;
	my $session = session();
	open(my $f, '>', "$work/beats") or die;
	for (my $n = 1; !-e "$work/stop"; $n++)
	{
		my $next = time + 0.1;
		ask($session, "INSERT INTO beat_$s VALUES ($n);");
		printf {$f} "%d %.6f\n", $n, time;
		sleep(max(0, $next - time));
	}
	close $f or die;
	leave($session);
}

sub beat_start
{
	my $s = shift;
	unlink "$work/stop", "$work/beats";
	on('primary', $s eq 'wide' ? "DROP FOREIGN TABLE IF EXISTS beat_wide;
		CREATE FOREIGN TABLE beat_wide (n bigint) SERVER widetable OPTIONS (key 'n desc', families '{\"p\": {}}');"
		: "DROP TABLE IF EXISTS beat_$s; CREATE TABLE beat_$s (n bigint PRIMARY KEY);");
	level();
	my $pid = fork() // die;
	return $pid if $pid != 0;
	my $ok = eval { beat($s); 1 };
	print STDERR $@ if !$ok;
	POSIX::_exit($ok ? 0 : 1);
}

# Reads the newest beat, and each 100 ms the positions, until the load has ended and the last beat is
# seen.  Returns lists of [time, beat] and [time, lag, follower's lag].
sub watch
{
	my ($s, $load, $beat) = @_;
	my ($primary, $standby) = map { session_on($_) } qw(primary standby);
	my ($last, $next, $end) = (undef, 0, undef);
	my (@seen, @bytes);
	for (;;)
	{
		my ($n) = ask($standby, "SELECT n FROM beat_$s ORDER BY n DESC LIMIT 1;");
		push @seen, [time, $n] if defined $n && (!@seen || $n != $seen[-1][1]);
		last if defined $last && @seen && $seen[-1][1] >= $last;
		die "timeout: the standby sees beat $last\n" if defined $end && time > $end;
		if (!defined $last && load_ended($load))
		{
			open(my $f, '>', "$work/stop") or die;
			waitpid $beat, 0;
			die "the beat failed\n" if $? != 0;
			open($f, '<', "$work/beats") or die;
			($last) = map { (split ' ')[0] } (<$f>)[-1];
			$end = time + $patience;
		}
		elsif (time >= $next)
		{
			$next = time + 0.1;
			my ($lsn) = ask($primary, 'SELECT pg_current_wal_flush_lsn();');
			my ($l) = ask($standby, $s eq 'wide' ? "SELECT pg_wal_lsn_diff('$lsn', applied_lsn), lag_bytes FROM widetable.pg_stat_widetable_health;"
				: "SELECT pg_wal_lsn_diff('$lsn', pg_last_wal_replay_lsn()), 0;");
			push @bytes, [time, map { max(0, $_) } split /\t/, $l];
		}
		sleep 0.002;
	}
	leave($_) for $primary, $standby;
	return (\@seen, \@bytes);
}

sub lag_one
{
	my ($w, $s, $round) = @_;
	my (@point, @ms);
	before($w, $s);
	my $beat = beat_start($s);
	my $load = load_start($w, $s, $ENV{BENCH_LAG_SECONDS});
	my ($seen, $bytes) = watch($s, $load, $beat);
	my $rate = load_wait($load);
	open(my $f, '<', "$work/beats") or die;
	my $i = 0;
	while (my $line = <$f>)
	{
		my ($n, $t) = split ' ', $line;
		$i++ while $seen->[$i][1] < $n;
		push @point, [$t, 1000 * max(0, $seen->[$i][0] - $t)] if $t >= $load->{begin} && $t <= $load->{begin} + $load->{seconds};
	}
	@ms = map { $_->[1] } @point;
	my @b = map { $_->[1] } @$bytes;
	note('lag', $w->{name}, $s, $round, rate => $rate, visible_ms => median(@ms), visible_p95 => percentile(0.95, @ms), visible_max => max(@ms),
		slope => slope(@point), bytes => median(@b), bytes_p95 => percentile(0.95, @b), bytes_max => max(@b),
		follower_bytes_max => max(map { $_->[2] } @$bytes));
	level();
	after($w, $s);
}

# --------------------------------------------------------------- catching up

# Seconds that a process could run and waited for a processor.
sub delay_of
{
	open(my $f, '<', "/proc/$_[0]/schedstat") or return undef;
	return (split ' ', <$f>)[1] / 1e9;
}

# Starts the standby.  Returns the seconds until the startup process and the keeper are at lsn, and
# their CPU times.
sub start_to
{
	my ($s, $lsn) = @_;
	my ($begin, $session, %r) = (time);
	standby_server('-W', 'start');
	await('the standby starts', sub { at('standby', sub { system("$bin/pg_isready -q") == 0 }) }, 0.02);
	# a session that was refused ends, and reading from it returns nothing
	await('a session on the standby', sub { local $SIG{PIPE} = 'IGNORE'; $session = eval { session_on('standby') }; $session && ($session->{backend} // '') =~ /^\d+$/ });
	my $keeper = $s eq 'wide' ? 'applied_lsn' : 'pg_last_wal_replay_lsn()';
	await('the standby is level', sub {
		my ($l) = ask($session, "SELECT pg_last_wal_replay_lsn() >= '$lsn', coalesce($keeper >= '$lsn', false), keeper_pid, (SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup')
			FROM widetable.pg_stat_widetable_health;");
		my ($replayed, $applied, $pid, $startup) = split /\t/, $l;
		if ($replayed eq 't' && !defined $r{startup}) { $r{startup} = time - $begin; $r{startup_cpu} = cpu_of($startup) }
		if ($applied eq 't') { $r{all} = time - $begin; ($r{keeper_cpu}, $r{keeper_delay}) = (cpu_of($pid), delay_of($pid)) if $s eq 'wide' }
		return $replayed eq 't' && $applied eq 't';
	}, 0.02);
	leave($session);
	return %r;
}

sub catch_up_one
{
	my ($w, $s, $round) = @_;
	before($w, $s);
	on('primary', 'CHECKPOINT;');
	level();
	on('standby', 'CHECKPOINT;');
	my $from = on('primary', 'SELECT pg_current_wal_flush_lsn();');
	standby_server('-w', '-m', 'fast', 'stop');
	my $load = load_start($w, $s, $ENV{BENCH_OFFLINE_SECONDS});
	my $rate = load_wait($load);
	my $lsn = on('primary', 'SELECT pg_current_wal_flush_lsn();');
	my %r = start_to($s, $lsn);
	note('catch-up', $w->{name}, $s, $round, rate => $rate, bytes => on('primary', "SELECT pg_wal_lsn_diff('$lsn', '$from');"), written => $load->{seconds}, %r);
	level();
	after($w, $s);
}

# ------------------------------------------------------------------- reads

# CPU seconds of all processes that have ended: the readers are the only ones that end meanwhile.
sub ended_cpu { my @s = stat_of(postmaster()); return ($s[13] + $s[14]) / 100 }

# Reads without measuring, so that the caches have what is read at random: scans do not fill them.
sub warm_up
{
	my ($w, $s) = @_;
	my @command = pgbench_command($w, $s, 8, 5);
	for my $server (qw(primary standby)) { at($server, sub { system('sh', '-c', 'exec "$@" >/dev/null 2>&1', 'sh', @command) == 0 or die "$w->{name}, $s: pgbench failed\n" }) }
}

sub read_one
{
	my ($w, $s, $clients, $round, $server) = @_;
	at($server, sub
	{
		my $n = () = children(postmaster());
		my $cpu = ended_cpu();
		my @command = pgbench_command($w, $s, $clients, $ENV{BENCH_SECONDS});
		open(my $p, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', @command) or die;
		my $out = join '', <$p>;
		close $p or die "$out\n$w->{name}, $s: pgbench failed\n";
		gone($n);
		$cpu = ended_cpu() - $cpu;
		my ($done) = $out =~ /actually processed: (\d+)/ or die "$out\n";
		my ($tps) = $out =~ /^tps = ([\d.]+)/m or die "$out\n";
		note('reads', "$w->{name} $clients", $s, $round, "$server rate" => $tps, "$server cpu_us" => $cpu / max($done, 1) * 1e6);
	});
}

sub reads
{
	my ($round, @name) = @_;
	my $writes = workload('insert-8');
	for my $s (turns($round, qw(wide cols)))
	{
		before($writes, $s);
		level();
		my $load = load_start($writes, $s, $patience, '-R', $ENV{BENCH_LOAD_RATE});
		for my $w (map { workload($_) } @name)
		{
			warm_up($w, $s);
			for my $clients (1, 8)
			{
				# short turns, so that other load of the machine meets both
				for my $turn (1 .. $turns) { read_one($w, $s, $clients, ($round - 1) * $turns + $turn, $_) for turns($turn, qw(primary standby)) }
			}
		}
		die "the load ended early\n" if load_ended($load);
		kill 'TERM', $load->{pid};
		await('the load ends', sub { load_ended($load) });
		level();
		after($writes, $s);
	}
}

# Both servers have the tables in their caches, and return the same.
sub prepare_reads
{
	level();
	for my $table (qw(visits_wide visits_cols)) { compare("the content of $table", "SELECT count(*), sum(hashtext(t::text)::bigint) FROM $table t;") for 1 .. 2 }
	compare('probes', 'SELECT count(*) FROM probes;');
}

# ------------------------------------------------------------------ report

sub size { my $b = shift; return $b < 10240 ? sprintf('%.1f KB', $b / 1024) : $b < 1e6 ? sprintf('%.0f KB', $b / 1024) : sprintf('%.1f MB', $b / 1048576) }
sub rate { my $v = shift; return $v >= 1e6 ? sprintf('%.2fM', $v / 1e6) : $v >= 1e4 ? sprintf('%.0fk', $v / 1e3) : $v >= 1e3 ? sprintf('%.1fk', $v / 1e3) : sprintf($v < 10 ? '%.2f' : '%.0f', $v) }
sub spread { return @_ > 1 ? sprintf(' (%.2f to %.2f)', min(@_), max(@_)) : '' }
sub goal { return $_[0] ? 'met' : 'missed' }

my (%r, %label);
sub read_results
{
	open(my $f, '<', $ENV{BENCH_TSV}) or die "$ENV{BENCH_TSV}: $!\n";
	while (my $line = <$f>)
	{
		next if $line =~ /^#|^part\t/;
		chomp $line;
		my ($part, $name, $s, $round, $metric, $value) = split /\t/, $line;
		$r{$part}{$name}{$s}{$metric}{$round} = $value;
	}
	%label = (wide => 'wide', cols => 'ordinary', cell => 'cell table');
}

sub of { my ($part, $name, $s, $metric) = @_; return values %{$r{$part}{$name}{$s}{$metric} || {}} }
sub mid { my @v = of(@_); return @v ? median(@v) : undef }
# ratios within a round
sub ratios
{
	my ($a, $b) = @_;
	return map { $a->{$_} / $b->{$_} } grep { $b->{$_} } sort keys %$a;
}
sub systems { my ($part, $name) = @_; return grep { $r{$part}{$name}{$_} } qw(wide cols cell) }
sub title { return workload((split ' ', $_[0])[0])->{title} }

sub report_lag
{
	print "\n| lag while the primary writes | table | operations a second | visible after: median | 95 % | most | slope | WAL not applied: median | 95 % | most | of it replayed | <= 1 s, flat |\n",
		"|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n";
	for my $name (grep { $r{lag}{$_} } @{$part{lag}})
	{
		for my $s (systems('lag', $name))
		{
			my %m = map { $_ => mid('lag', $name, $s, $_) } qw(rate visible_ms visible_p95 slope bytes bytes_p95);
			$m{$_} = max(of('lag', $name, $s, $_)) for qw(visible_max bytes_max follower_bytes_max);
			printf "| %s | %s | %s | %.0f ms | %.0f ms | %.0f ms | %+.1f ms/s | %s | %s | %s | %s | %s |\n", title($name), $label{$s}, rate($m{rate}), @m{qw(visible_ms visible_p95 visible_max slope)},
				(map { size($m{$_}) } qw(bytes bytes_p95 bytes_max)), $s eq 'wide' ? size($m{follower_bytes_max}) : '', goal($m{visible_max} <= 1000 && $m{slope} <= 20);
		}
	}
}

sub report_catch_up
{
	print "\n| catching up | table | operations a second | WAL | written in | startup process | all | ratio (least to most) | CPU: startup | keeper | keeper waits for a processor | >= 3 |\n",
		"|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n";
	for my $name (grep { $r{'catch-up'}{$_} } @{$part{'catch-up'}})
	{
		for my $s (systems('catch-up', $name))
		{
			my %m = map { $_ => mid('catch-up', $name, $s, $_) } qw(rate bytes written startup all startup_cpu keeper_cpu keeper_delay);
			my $x = $r{'catch-up'}{$name}{$s};
			my @ratio = ratios($x->{written}, $x->{all});
			printf "| %s | %s | %s | %s | %.1f s | %.1f s | %.1f s | **%.2f**%s | %.1f s | %s | %s | %s |\n", title($name), $label{$s}, rate($m{rate}), size($m{bytes}), @m{qw(written startup all)},
				median(@ratio), spread(@ratio), $m{startup_cpu}, (map { defined $_ ? sprintf('%.1f s', $_) : '' } @m{qw(keeper_cpu keeper_delay)}), goal(median(@ratio) >= 3);
		}
	}
}

sub report_reads
{
	print "\n| reads during replay | clients | table | primary | standby | ratio (least to most) | CPU time: primary | standby | ratio (least to most) | within 10 % |\n",
		"|---|---:|---|---:|---:|---:|---:|---:|---:|---|\n";
	for my $name (map { ("$_ 1", "$_ 8") } @{$part{reads}})
	{
		next if !$r{reads}{$name};
		for my $s (systems('reads', $name))
		{
			my $x = $r{reads}{$name}{$s};
			my @rate = ratios($x->{'standby rate'}, $x->{'primary rate'});
			my @cpu = ratios($x->{'primary cpu_us'}, $x->{'standby cpu_us'});
			printf "| %s | %s | %s | %s /s | %s /s | **%.2f**%s | %.0f µs | %.0f µs | %.2f%s | %s |\n", title($name), (split ' ', $name)[1], $label{$s},
				(map { rate(mid('reads', $name, $s, $_)) } 'primary rate', 'standby rate'), median(@rate), spread(@rate),
				(map { mid('reads', $name, $s, $_) } 'primary cpu_us', 'standby cpu_us'), median(@cpu), spread(@cpu), goal(median(@rate) >= 0.9 && median(@cpu) >= 0.9);
		}
	}
	print "\nA ratio is the standby's speed in terms of the primary's.\n";
}

# -------------------------------------------------------------------- main

# the wanted workloads of a part
sub wanted
{
	my ($p, @arg) = @_;
	return @{$part{$p}} if !@arg || grep { $_ eq $p } @arg;
	return grep { my $w = $_; grep { $_ eq "$p:$w" } @arg } @{$part{$p}};
}

sub measure
{
	my @arg = @_;
	prepare_reads() if wanted('reads', @arg);
	for my $round (1 .. $ENV{BENCH_ROUNDS})
	{
		for my $p ('lag', 'catch-up')
		{
			for my $w (map { workload($_) } wanted($p, @arg))
			{
				print "# round $round: $p, $w->{name}\n";
				for my $s (turns($round, 'wide', other($w))) { $p eq 'lag' ? lag_one($w, $s, $round) : catch_up_one($w, $s, $round) }
			}
		}
		my @name = wanted('reads', @arg) or next;
		print "# round $round: reads\n";
		reads($round, @name);
	}
}

my $what = shift @ARGV || '';
$| = 1;
if ($what eq 'check')
{
	for my $a (@ARGV)
	{
		die "unknown part $a; the parts are: " . join(' ', map { my $p = $_; $p, map { "$p:$_" } @{$part{$p}} } @part) . "\n" if !grep { my $p = $_; wanted($p, $a) } @part;
	}
}
elsif ($what eq 'measure') { measure(@ARGV) }
elsif ($what eq 'report') { read_results(); report_lag() if $r{lag}; report_catch_up() if $r{'catch-up'}; report_reads() if $r{reads} }
else { die "standby.pl is started by ./bench/run standby\n" }
exit($wrong ? 1 : 0);
