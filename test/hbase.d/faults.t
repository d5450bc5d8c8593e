# faults: servers of HBase are killed, paused and stopped, regions move, split and merge, and servers
# answer with rubbish or not at all.  What was acknowledged is there, increments are made once, scans
# are right, errors say what happened, and cancelling works.
#
# HBASE_NODES: host:port of masters and region servers.  HBASE_CLUSTER: the command that starts
# and kills the servers of that cluster, which has three region servers.  ROUNDS (3): rounds with a
# fault each.  LONG=1: 100.  A round takes about 40 seconds.  CANCEL (300): milliseconds after which
# a cancelled statement must have ended; 100 holds on a machine that is not busy.
. "${0%/*}/../tap/common.sh"

: "${HBASE_NODES:?}" "${HBASE_CLUSTER:?}"
ROUNDS=${ROUNDS:-3}
[ -z "${LONG:-}" ] || ROUNDS=100
HERE=$(cd "${0%/*}" && pwd)
VERBOSITY=verbose
ROWS=20000
cluster() { $HBASE_CLUSTER "$@"; }
# back N: region server N serves; on a busy machine a pause may have been too long, and it has ended
back() { cluster start-server "$1"; cluster wait 3; }
regions() { cluster run "$HERE/Regions.java" "$@" 2>/dev/null; }

# now_ms; within MS LIMIT TITLE
now_ms() { date +%s%3N; }
within() { if [ "$1" -le "$2" ]; then echo "ok - $3"; else echo "not ok - $3: $1 ms"; BAD=1; fi; }

new_cluster 'log_min_messages = warning'
cluster wait 3 || exit 1
for t in faults_ledger faults_fixed faults_gone; do regions drop $t; done
q 'CREATE EXTENSION widetable' \
	"CREATE SERVER hb FOREIGN DATA WRAPPER widetable OPTIONS (engine 'hbase', nodes '$HBASE_NODES', timeout '60s')" \
	"CREATE FOREIGN TABLE ledger (k text COLLATE \"C\", v text, n bigint OPTIONS (encoding 'counter')) SERVER hb
		OPTIONS (key 'k', table_name 'faults_ledger', split_at '[\"b\", \"c\", \"d\", \"e\"]')" \
	"CREATE FOREIGN TABLE fixed (k int, v text) SERVER hb
		OPTIONS (key 'k', table_name 'faults_fixed', split_at '[4000, 8000, 12000, 16000]')" \
	"INSERT INTO fixed SELECT i, repeat('x', 50) FROM generate_series(1, $ROWS) i" >"$T/setup.out"
cat "$T/setup.out"

# ------------------------------------------------------------------ the ledger

# psql is not to find more than a few statements in its pipe when the round ends
PADDING="-- $(printf '%8000s' '')"

# writer NAME: three rows in a transaction, again and again; writes what was acknowledged and failed
writer() {
	i=0
	while [ ! -e "$T/end" ]; do
		i=$((i + 1))
		echo "$PADDING"
		echo "INSERT INTO ledger (k, v) SELECT x || '$1-$ROUND-$i', 'v' FROM unnest('{a,c,e}'::text[]) x;"
		printf '\\if :ERROR\n\\echo failed %s :SQLSTATE\n\\else\n\\echo done %s\n\\endif\n' $i $i
		echo "SELECT widetable.increment('ledger', 'n-$1', 'd:n', 1);"
		printf '\\if :ERROR\n\\echo unknown :SQLSTATE\n\\else\n\\echo counted\n\\endif\n'
	done | "$BIN/psql" -XqAt >"$T/$1.$ROUND" 2>"$T/$1.$ROUND.err"
}

# reader: the same scan, forwards and backwards, in one piece; each must be right or an error
reader() {
	while [ ! -e "$T/end" ]; do
		echo "$PADDING"
		echo "SELECT count(*) = $ROWS AND count(DISTINCT k) = $ROWS AND sum(k) = $ROWS::bigint * ($ROWS + 1) / 2 FROM fixed;"
		echo "SELECT count(*) = 5000 AND max(k) = $ROWS FROM (SELECT k FROM fixed ORDER BY k DESC LIMIT 5000) s;"
		printf '\\if :ERROR\n\\echo error :SQLSTATE\n\\endif\n'
	done | "$BIN/psql" -XqAt >"$T/reader.$ROUND" 2>"$T/reader.$ROUND.err"
}

fault() {
	case $(($1 % 5)) in
		0) s=$(($1 / 5 % 3 + 1)); echo "# round $1: region server $s is killed"
			cluster kill-server $s; sleep 8; cluster start-server $s; cluster wait 3 ;;
		1) echo "# round $1: regions move, split and merge"
			regions churn faults_fixed 20 & c1=$!
			regions churn faults_ledger 10; wait $c1 ;;
		2) echo "# round $1: region server 2 is paused"
			cluster pause-server 2; sleep 2.5; cluster resume-server 2; sleep 4
			back 2 ;;
		3) echo "# round $1: the master is killed"
			cluster kill-master; sleep 3; cluster start-master; cluster wait 3 ;;
		4) echo "# round $1: two region servers are killed, one after the other"
			cluster kill-server 1; sleep 1; cluster kill-server 3; sleep 6
			cluster start-server 1; cluster start-server 3; cluster wait 3 ;;
	esac
}

# missing FILE CONDITION: which of the file's keys are not among the ledger's rows that meet the condition
missing() {
	# on a busy machine a master may take minutes, and says so until the statement's time is over
	cluster wait 3
	q 'CREATE TEMP TABLE a (k text PRIMARY KEY)' "\\copy a FROM '$1'
		" 'ANALYZE a' "SELECT 'missing ' || a.k FROM a LEFT JOIN (SELECT k, v FROM ledger WHERE $2) l USING (k) WHERE l.v IS NULL LIMIT 5" >"$T/missing"
}

ROUND=0
while [ $ROUND -lt "$ROUNDS" ]; do
	rm -f "$T/end"
	writer w1 & p1=$!
	writer w2 & p2=$!
	reader & p3=$!
	sleep 2
	fault $ROUND >"$T/fault.out" 2>&1
	grep '^#' "$T/fault.out"
	sleep 2
	touch "$T/end"
	wait $p1; wait $p2; wait $p3
	for w in w1 w2; do
		sed -n "s/^done \(.*\)/a$w-$ROUND-\1\nc$w-$ROUND-\1\ne$w-$ROUND-\1/p" "$T/$w.$ROUND"
	done >"$T/acknowledged"
	cat "$T/acknowledged" >>"$T/acknowledged.all"
	n=$(wc -l <"$T/acknowledged")
	ranges=
	for p in aw1 aw2 cw1 cw2 ew1 ew2; do ranges="$ranges${ranges:+ OR }k LIKE '$p-$ROUND-%'"; done
	missing "$T/acknowledged" "$ranges"
	is "$(cat "$T/missing")" "" "round $ROUND: $n rows were acknowledged, all are there"
	[ "$n" -gt 0 ]; ok $? "round $ROUND: there were some"
	is "$(grep -c '^f$' "$T/reader.$ROUND")" 0 "round $ROUND: $(grep -c '^t$' "$T/reader.$ROUND") scans, all of them right"
	is "$(cat "$T"/*."$ROUND" | grep -E '^(failed|unknown|error)' | grep -vE '08006|08001|53000')" "" \
		"round $ROUND: $(cat "$T"/*."$ROUND" | grep -cE '^(failed|unknown|error)') failures, of connections"
	ROUND=$((ROUND + 1))
done
# a later fault takes nothing away from an earlier round
missing "$T/acknowledged.all" "k < 'f'"
is "$(cat "$T/missing")" "" "after $ROUNDS rounds all $(wc -l <"$T/acknowledged.all") rows are there"
for w in w1 w2; do
	counted=$(cat "$T/$w".[0-9]* | grep -c '^counted') unknown=$(cat "$T/$w".[0-9]* | grep -c '^unknown')
	n=$(q "SELECT coalesce((SELECT n FROM ledger WHERE k = 'n-$w'), 0)")
	[ "$n" -ge "$counted" ] && [ "$n" -le $((counted + unknown)) ]
	ok $? "$counted increments of $w were acknowledged, $unknown are unknown: the counter is $n"
done

# -------------------------------------------------------------- errors by name

is "$(q "SELECT count(*) FROM fixed WHERE k <= 10" "ALTER FOREIGN TABLE fixed OPTIONS (SET table_name 'faults_nothing')" \
	'SELECT count(*) FROM fixed' "ALTER FOREIGN TABLE fixed OPTIONS (SET table_name 'faults_fixed')" 'SELECT count(*) FROM fixed WHERE k <= 10' | grep -vE '^(HINT|LOCATION)')" \
	'10
ERROR:  42P01: table "faults_nothing" does not exist in HBase
10' 'a table that is not there'
regions disable faults_fixed
like "$(q 'SELECT count(*) FROM fixed')" 'ERROR:  55000: could not read table "faults_fixed" of HBase: table "faults_fixed" is disabled' 'a disabled table'
regions enable faults_fixed
is "$(q 'SELECT count(*) FROM fixed')" $ROWS 'an enabled table'
like "$(q "INSERT INTO ledger VALUES ('big', repeat('x', 11000000))")" 'ERROR:  54000: could not write to table "faults_ledger" of HBase' 'a cell that is too large'
is "$(q "SELECT count(*) FROM ledger WHERE k = 'big'")" 0 'the cell is not there'
like "$(q "INSERT INTO ledger VALUES ('big', repeat('x', 9000000))" "SELECT length(v) FROM ledger WHERE k = 'big'")" '^9000000' 'a cell of 9 MB'
is "$(q "SELECT widetable.put('ledger', 'text', 'd:z', 'x'::text)" "SELECT widetable.increment('ledger', 'text', 'd:z', 1)" | grep -o 'ERROR:  [0-9A-Z]*')" 'ERROR:  42804' 'a cell that is not a number'

# ------------------------------------------------------- nodes, and bad servers

q "CREATE SERVER half FOREIGN DATA WRAPPER widetable OPTIONS (engine 'hbase', nodes '127.0.0.1:1,$HBASE_NODES', timeout '20s')" \
	"CREATE FOREIGN TABLE half_t (k int, v text) SERVER half OPTIONS (key 'k', table_name 'faults_fixed')"
is "$(q 'SELECT count(*) FROM half_t WHERE k <= 10')" 10 'a node in the list does not answer'
q "ALTER SERVER half OPTIONS (SET nodes '127.0.0.1:1,127.0.0.1:2')"
t=$(now_ms); r=$(q 'SELECT count(*) FROM half_t'); t=$(($(now_ms) - t))
like "$r" 'ERROR:  08001' 'no node answers'
within $t 8000 'this is known after some seconds'
r=$(q "SET statement_timeout = 700" 'SELECT count(*) FROM half_t')
like "$r" 'ERROR:  57014: canceling statement due to statement timeout' 'no node answers: the statement is cancelled'

# bad KIND: listens on a port below $T/port; hang: takes connections and is silent
cat >"$T/bad.pl" <<'PERL'
use strict; use warnings; use IO::Socket::INET;
my ($kind, $file) = @ARGV;
$SIG{CHLD} = 'IGNORE';
my $l = IO::Socket::INET->new(Listen => 20, LocalAddr => '127.0.0.1', LocalPort => 0) or die;
open my $f, '>', "$file.new"; print $f $l->sockport; close $f; rename "$file.new", $file;
srand 1;
while (my $s = $l->accept)
{
	next if fork;
	my $n = sub { join '', map { chr int rand 256 } 1 .. $_[0] };
	sysread $s, my $b, 65536;
	if ($kind eq 'random') { syswrite $s, $n->(4096); }
	elsif ($kind eq 'huge') { syswrite $s, pack('N', 0x7fffffff) . $n->(100); }
	elsif ($kind eq 'empty') { syswrite $s, pack('N', 0) x 50; }
	elsif ($kind eq 'header') { syswrite $s, pack('NCa*', 65, 200, $n->(64)); }
	elsif ($kind eq 'close') { exit; }
	elsif ($kind eq 'http') { syswrite $s, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"; }
	sleep 60 if $kind eq 'hang';
	sysread $s, $b, 65536;
	sleep 1;
	exit;
}
PERL
for kind in random huge empty header close http hang; do
	rm -f "$T/port"
	perl "$T/bad.pl" $kind "$T/port" & bad=$!
	while [ ! -e "$T/port" ]; do sleep 0.05; done
	q "ALTER SERVER half OPTIONS (SET nodes '127.0.0.1:$(cat "$T/port")', SET timeout '3s')"
	t=$(now_ms); r=$(q 'SELECT count(*) FROM half_t'); t=$(($(now_ms) - t))
	like "$r" 'ERROR:  08(001|006|P01)' "a server that answers with '$kind'"
	within $t 6000 "... fails within its timeout"
	if [ $kind = hang ]; then
		r=$(q '\timing on
			SET statement_timeout = 700' 'SELECT count(*) FROM half_t')
		like "$r" 'ERROR:  57014' 'a server that hangs: statement_timeout'
		within "$(echo "$r" | sed -n 's/^Time: \([0-9]*\).*/\1/p' | tail -1)" $((700 + ${CANCEL:-300})) '... at once'
		session hang 5; pid=$session_pid
		echo 'SELECT pg_backend_pid(); SELECT count(*) FROM half_t;' >&5
		wait_output hang '^[0-9]'
		sleep 0.5
		t=$(now_ms)
		q "SELECT pg_cancel_backend($(head -n 1 "$T/hang.out"))" >/dev/null
		wait_output hang 'ERROR'
		t=$(($(now_ms) - t))
		exec 5>&-
		like "$(cat "$T/hang.out")" 'canceling statement due to user request' 'a server that hangs: pg_cancel_backend'
		within $t 500 '... within half a second (with psql, and polling)'
	fi
	kill $bad 2>/dev/null
	wait $bad 2>/dev/null
done

# ----------------------------------------- a region server is paused, no answer

cluster pause-server 2
r=$(q "SET statement_timeout = 1000" 'SELECT count(*) FROM fixed')
cluster resume-server 2
sleep 4
back 2
like "$r" "^$ROWS|57014" 'a paused region server: the statement is cancelled, or right'
is "$(q 'SELECT count(*) FROM fixed')" $ROWS 'the server goes on'

# -------------------------------------------------- the cluster stops, and is back

session long 6
echo "SELECT count(*) FROM fixed;" >&6
wait_output long "^$ROWS"
q "ALTER SERVER hb OPTIONS (SET timeout '4s')"
cluster stop
t=$(now_ms); r=$(q 'SELECT count(*) FROM fixed'); t=$(($(now_ms) - t))
like "$r" 'ERROR:  08(001|006)' 'the cluster is stopped'
within $t 8000 '... that is known within the timeout'
echo "SELECT count(*) FROM fixed;" >&6
wait_output long 'ERROR:  .*HBase'
ok $? '... also in a session that was connected'
like "$(q "INSERT INTO fixed VALUES (1, 'new')")" 'ERROR:  08(001|006)' '... and writes fail'
# servers that have just started are slow
q "ALTER SERVER hb OPTIONS (SET timeout '60s')"
cluster start --servers 3 >/dev/null
cluster wait 3
echo "SELECT 'again', count(*) FROM fixed;" >&6
wait_output long "^again.$ROWS" || wait_output long "^again.$ROWS"
ok $? 'the cluster is back, for the same session'
exec 6>&-
is "$(q "SELECT count(*) FROM fixed WHERE v = 'new'")" 0 'what had failed was not written'

finish
