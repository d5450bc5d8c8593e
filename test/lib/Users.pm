#
# Users.pm: the clients of soak.pl.  Each client records its acknowledged writes and compares them
# with the server after every loss of its session and at the end.
#
# A client has step (one action of a user; returns undef if the session is lost) and verify (in a
# new session; returns the list of differences, or undef if the session is lost).  verify also
# resolves a transaction in doubt.  setup is the SQL that creates the tables of all clients.
#
package Users;
use strict;
use warnings;
use Server;
use Session;

our $ttl = $ENV{SOAK_TTL} || 60;	# time to live of visits, in seconds

sub all { return ('Visits', 'Visits', 'Counters', 'Counters', 'Profiles', 'Profiles', 'Queue', 'Import', 'Reader', 'Analyst', 'Historian'); }

sub setup
{
	return <<"SQL";
CREATE FOREIGN TABLE visits (site text COLLATE "C", at timestamptz, client int, n int, path text, agent text OPTIONS (column 'r:agent'))
  SERVER widetable OPTIONS (key 'site, at desc, client, n',
    families '{"d": {"ttl": "$ttl seconds", "compaction": "window:@{[int($ttl / 6) || 1]} seconds"}, "r": {"ttl": "$ttl seconds", "compaction": "window:@{[int($ttl / 6) || 1]} seconds"}}');
CREATE FOREIGN TABLE hits (client int, page int, total bigint OPTIONS (column 't:n', encoding 'counter'), hours jsonb OPTIONS (family 'h'))
  SERVER widetable OPTIONS (key 'client, page', families '{"t": {}, "h": {"ttl": "1 hour"}}');
CREATE FOREIGN TABLE profiles (id int, v int, name text, more jsonb OPTIONS (family 'm'))
  SERVER widetable OPTIONS (key 'id', families '{"d": {}, "m": {"versions": 2}}');
CREATE FOREIGN TABLE queue (id bigint, job text) SERVER widetable OPTIONS (key 'id');
CREATE FOREIGN TABLE imports (id int, body text) SERVER widetable OPTIONS (key 'id');
CREATE TABLE imports_log (batch int, n int);
SQL
}

package User;
sub bad { my ($self, $s, @why) = @_; Session::tell_parent($self->{name}, "B $_") for @why; return; }

# --------------------------------------------------------------------- visits

package Visits;
our @ISA = ('User');
sub new { my ($class, $name, $c) = @_; return bless { name => $name, c => $c, n => 0, said => [] }, $class; }

sub step
{
	my ($self, $s) = @_;
	my $n = 5 + int rand 40;
	my ($from, $at) = ($self->{n} + 1, time());
	$self->{n} += $n;
	push @{ $self->{said} }, [$at, $n, 0];
	$s->run("INSERT INTO visits SELECT 'site' || g % 17, to_timestamp($at), $self->{c}, g, '/page/' || md5((g % 300)::text), repeat(md5(g::text), 4)
 FROM generate_series($from, $self->{n}) g;", 'visits') or return undef;
	$self->{said}[-1][2] = 1;
	shift @{ $self->{said} } while $self->{said}[0][0] < $at - 2 * $Users::ttl;
	return $s->run("SELECT pg_sleep(0.02);");
}

sub verify
{
	my ($self, $s) = @_;
	my $since = time() - int($Users::ttl / 2);
	my ($least, $most) = (0, 0);
	for (grep { $_->[0] >= $since } @{ $self->{said} }) { $least += $_->[1] if $_->[2]; $most += $_->[1]; }
	my $r = $s->run("SELECT count(*) FROM visits WHERE client = $self->{c} AND at >= to_timestamp($since);
SELECT count(*) FROM visits WHERE client = $self->{c} AND at < now() - interval '@{[$Users::ttl + 60]} seconds';") or return undef;
	my ($got, $old) = @$r;
	return ["$got visits of client $self->{c} in the last half of their time to live, expected $least to $most"] if $got < $least || $got > $most;
	return ["$old expired visits of client $self->{c} are visible"] if $old > 0;
	return [];
}

# ------------------------------------------------------------------- counters

package Counters;
our @ISA = ('User');
sub new { my ($class, $name, $c) = @_; return bless { name => $name, c => $c, is => {}, doubt => undef }, $class; }

sub step
{
	my ($self, $s) = @_;
	my $page = rand() < 0.3 ? 0 : int rand 300;
	$self->{doubt} = $page;
	my $hour = int(time() / 60) % 24;
	my $r = $s->run("SELECT widetable.increment('hits', ROW($self->{c}, $page), '{\"t:n\": 1, \"h:$hour\": 1}'::jsonb) ->> 't:n';", 'counters') or return undef;
	$self->{doubt} = undef;
	$self->bad($s, "counter $page returned $r->[0] after " . ($self->{is}{$page} || 0)) if $r->[0] != ++$self->{is}{$page};
	return 1;
}

sub verify
{
	my ($self, $s) = @_;
	my $r = $s->run("SELECT page || ' ' || total FROM hits WHERE client = $self->{c};") or return undef;
	my %got = map { split / / } @$r;
	my $d = $self->{doubt};
	$self->{is}{$d}++ if defined $d && ($got{$d} || 0) == ($self->{is}{$d} || 0) + 1;
	$self->{doubt} = undef;
	return [map { "counter $_ of client $self->{c} is " . ($got{$_} || 'nothing') . ", expected " . ($self->{is}{$_} || 'nothing') }
		  grep { ($got{$_} || 0) != ($self->{is}{$_} || 0) } keys %{ { %got, %{ $self->{is} } } }];
}

# ------------------------------------------------------------------- profiles

package Profiles;
our @ISA = ('User');
our $rows = 1500;
sub new { my ($class, $name, $c) = @_; return bless { name => $name, c => $c, is => {}, doubt => undef, loaded => 0 }, $class; }

sub step
{
	my ($self, $s) = @_;
	my $base = $self->{c} * 100000;
	my $id = $base + int(rand() ** 2 * $rows);
	my $v = ($self->{is}{$id} || 0) + 1;
	$self->{doubt} = $id;
	my $cell = int rand 12;
	my $more = "jsonb_build_object('c$cell', repeat(md5('$id $v'), 10), 'v', '$v')";
	# a new row, a cell of a row, or the whole row
	my $sql = $v == 1 || rand() < 0.3 ? "INSERT INTO profiles VALUES ($id, $v, 'name $v', $more);"
	  : rand() < 0.5 ? "UPDATE profiles SET v = $v, more = more || $more WHERE id = $id;"
	  : "SELECT widetable.put('profiles', $id, '{\"v\": $v, \"m:v\": \"$v\"}');";
	$s->run($sql, 'profiles') or return undef;
	$self->{is}{$id} = $v;
	$self->{doubt} = undef;
	for (1 .. 3)
	{
		$id = $base + int rand $rows;
		my $r = $s->run("SELECT v || ' ' || (more ->> 'v') FROM profiles WHERE id = $id;", 'point reads') or return undef;
		my $want = $self->{is}{$id} ? "$self->{is}{$id} $self->{is}{$id}" : 'nothing';
		my $got = @$r ? $r->[0] : 'nothing';
		$self->bad($s, "profile $id is $got, expected $want") if $got ne $want;
	}
	return 1;
}

sub verify
{
	my ($self, $s) = @_;
	my ($lo, $hi) = ($self->{c} * 100000, $self->{c} * 100000 + $rows);
	my $r = $s->run("SELECT id || ' ' || v || CASE WHEN more ->> 'v' = v::text THEN '' ELSE ' torn' END FROM profiles WHERE id >= $lo AND id < $hi;") or return undef;
	my %got = map { split / /, $_, 2 } @$r;
	my $d = $self->{doubt};
	$self->{is}{$d} = $got{$d} if defined $d && defined $got{$d} && $got{$d} eq ($self->{is}{$d} || 0) + 1;
	$self->{doubt} = undef;
	return [map { "profile $_ is " . ($got{$_} || 'nothing') . ", expected " . ($self->{is}{$_} || 'nothing') }
		  grep { ($got{$_} || '') ne ($self->{is}{$_} || '') } keys %{ { %got, %{ $self->{is} } } }];
}

# ---------------------------------------------------------------------- queue

# inserts at one end, deletes at the other: leaves tombstones
package Queue;
our @ISA = ('User');
sub new { my ($class, $name, $c) = @_; return bless { name => $name, c => $c, first => 1, next => 1, doubt => '' }, $class; }

sub step
{
	my ($self, $s) = @_;
	my $n = 10 + int rand 20;
	my ($from, $to) = ($self->{next}, $self->{next} + $n - 1);
	$self->{doubt} = ['put', $to + 1];
	$s->run("INSERT INTO queue SELECT g, repeat('j', 100) FROM generate_series($from, $to) g;", 'queue') or return undef;
	$self->{next} = $to + 1;
	$n = 10 + int rand 20;
	$n = $self->{next} - $self->{first} if $n > $self->{next} - $self->{first};
	$self->{doubt} = ['take', $self->{first} + $n];
	my $r = $s->run("DELETE FROM queue WHERE id = ANY (ARRAY(SELECT id FROM queue ORDER BY id LIMIT $n FOR UPDATE SKIP LOCKED)) RETURNING id;", 'queue') or return undef;
	my @want = $self->{first} .. $self->{first} + $n - 1;
	$self->bad($s, "the queue gave @$r, expected @want") if join(' ', sort { $a <=> $b } @$r) ne "@want";
	$self->{first} += $n;
	$self->{doubt} = '';
	return $s->run("SELECT pg_sleep(0.02);");
}

sub verify
{
	my ($self, $s) = @_;
	my $r = $s->run("SELECT coalesce(min(id), 0) || ' ' || coalesce(max(id), 0) || ' ' || count(*) FROM queue;") or return undef;
	my ($min, $max, $n) = split / /, $r->[0];
	my ($first, $next) = @$self{qw(first next)};
	my @ways = ([$first, $next]);
	push @ways, $self->{doubt}[0] eq 'put' ? [$first, $self->{doubt}[1]] : [$self->{doubt}[1], $next] if $self->{doubt} ne '';
	$self->{doubt} = '';
	for (@ways)
	{
		my $count = $_->[1] - $_->[0];
		if ($n == $count && ($count == 0 || ($min == $_->[0] && $max == $_->[1] - 1))) { @$self{qw(first next)} = @$_; return []; }
	}
	return ["the queue has $min to $max, $n items, expected " . join ' or ', map { "$_->[0] to " . ($_->[1] - 1) } @ways];
}

# -------------------------------------------------------------------- imports

# transactions larger than half a memtable, which replace all rows
package Import;
our @ISA = ('User');
sub new { my ($class, $name, $c) = @_; return bless { name => $name, is => 0, doubt => 0, at => 0 }, $class; }

sub step
{
	my ($self, $s) = @_;
	my $b = $self->{at} = $self->{at} + 1;
	$self->{doubt} = $b;
	my $empty = $b % 5 == 0 ? "DROP FOREIGN TABLE imports; CREATE FOREIGN TABLE imports (id int, body text) SERVER widetable OPTIONS (key 'id');"
	  : $b % 5 < 3 ? 'TRUNCATE imports;' : 'DELETE FROM imports;';
	$s->run("BEGIN;\n$empty\nINSERT INTO imports SELECT g, '$b ' || repeat(md5(g::text || $b), 32) FROM generate_series(1, 5000) g;
TRUNCATE imports_log; INSERT INTO imports_log VALUES ($b, 5000);") or return undef;
	$s->run('COMMIT;', 'imports') or return undef;
	@$self{qw(is doubt)} = ($b, 0);
	return $s->run('SELECT pg_sleep(4);');
}

sub verify
{
	my ($self, $s) = @_;
	my $r = $s->run("SELECT concat_ws(' ', min(split_part(body, ' ', 1)::int), max(split_part(body, ' ', 1)::int), count(*)) FROM imports; SELECT coalesce(max(batch), 0) FROM imports_log;") or return undef;
	my $b = $r->[1];
	return ["import $b is there, expected $self->{is}" . ($self->{doubt} ? " or $self->{doubt}" : '')] if $b != $self->{is} && $b != $self->{doubt};
	return ["import $b is there as $r->[0]"] if $b && $r->[0] ne "$b $b 5000" || !$b && $r->[0] ne '0';
	@$self{qw(is doubt)} = ($b, 0);
	return [];
}

# -------------------------------------------------------------------- readers

package Reader;
our @ISA = ('User');
sub new { my ($class, $name, $c) = @_; return bless { name => $name }, $class; }

sub step
{
	my ($self, $s) = @_;
	my $site = 'site' . int rand 17;
	my $r = $s->run("SELECT extract(epoch FROM at)::bigint FROM visits WHERE site = '$site' AND at > now() - interval '10 seconds' ORDER BY at DESC LIMIT 50;", 'range reads') or return undef;
	my @sorted = sort { $b <=> $a } @$r;
	$self->bad($s, 'visits are not in order') if "@sorted" ne "@$r";
	return $s->run("SELECT page, total FROM hits WHERE client = 3 AND page BETWEEN 10 AND 40;
SELECT pg_sleep(0.01);", 'range reads');
}
sub verify { return []; }

package Analyst;
our @ISA = ('User');
sub new { my ($class, $name, $c) = @_; return bless { name => $name }, $class; }

sub step
{
	my ($self, $s) = @_;
	$s->run("SELECT site, count(*), sum(length(agent)) FROM visits GROUP BY site;
SELECT count(*), sum(length(more::text)) FROM profiles;
SELECT path, count(*) FROM visits GROUP BY path ORDER BY 2 DESC LIMIT 3;", 'full scans') or return undef;
	# a statement sees one state of all tables
	my $r = $s->run("SELECT count(*) FROM profiles WHERE more ->> 'v' IS DISTINCT FROM v::text;
SELECT (SELECT count(*) FROM imports) - (SELECT coalesce(max(n), 0) FROM imports_log);", 'full scans') or return undef;
	$self->bad($s, "$r->[0] torn profiles") if $r->[0] ne '0';
	$self->bad($s, "a statement saw $r->[1] imported rows more than the log says") if $r->[1] ne '0';
	return $s->run('SELECT pg_sleep(8);');
}
sub verify { return []; }

# holds a snapshot for some seconds
package Historian;
our @ISA = ('User');
sub new { my ($class, $name, $c) = @_; return bless { name => $name }, $class; }

sub step
{
	my ($self, $s) = @_;
	my $look = "SELECT (SELECT sum(total) FROM hits) || ' ' || (SELECT sum(v) FROM profiles) || ' ' || (SELECT coalesce(sum(id), 0) FROM queue);";
	$s->run("SELECT count(*) FROM hits;\nBEGIN ISOLATION LEVEL REPEATABLE READ;") or return undef;
	my $first = $s->run($look) or return undef;
	$s->run('SELECT pg_sleep(' . int(3 + rand 15) . ');') or return undef;
	my $then = $s->run($look) or return undef;
	$self->bad($s, "a snapshot showed $first->[0], later $then->[0]") if $first->[0] ne $then->[0];
	return $s->run("COMMIT;\nSELECT pg_sleep(" . int(10 + rand 20) . ');');
}
sub verify { return []; }

1;
