# beside: a large load has a thread beside it.  It is gone when the load has
# ended, been cancelled at any moment or terminated; and the session goes on.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "autovacuum = off"
threads() { ls "/proc/$1/task" | wc -l; }
# a session that waits for its next command in a pipe
mkfifo "$T/in"
session() {
	"$BIN/psql" -XqAtd postgres <"$T/in" >"$T/out" 2>&1 &
	client=$!
	exec 3>"$T/in"
	echo "SELECT pg_backend_pid();" >&3
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -s "$T/out" ] && break; sleep 0.1; done
	pid=$(head -1 "$T/out")
}
# wait for what the session says
hear() { for i in $(seq 300); do grep -qE "$1" "$T/out" && return; sleep 0.1; done; }
LOAD="INSERT INTO t SELECT 'r' || lpad((g * 7919 % 1000003)::text, 7, '0'), 1, md5(g::text) || md5((g + 1)::text), NULL FROM generate_series(1, 120000) g;"

is "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" "" "a table"
session
is "$(threads "$pid")" 1 "a session has one thread"
seen=0
for pause in 10 30 60 100 150; do
	: >"$T/out"
	{ echo "$LOAD"; echo "TRUNCATE t; $FILL; SELECT 'ended';"; } >&3 2>/dev/null
	for i in $(seq $pause); do
		[ "$(threads "$pid")" -gt 1 ] && seen=1
		sleep 0.01
	done
	kill -INT "$pid"
	hear '^ended'
	like "$(cat "$T/out")" 'ended$' "cancelled after $pause looks, or too late"
	is "$(threads "$pid")" 1 "the session has one thread again"
done
: >"$T/out"
echo "$LOAD SELECT 'ended';" >&3
for i in $(seq 400); do
	[ "$(threads "$pid")" -gt 1 ] && seen=1
	grep -q ended "$T/out" && break
	sleep 0.01
done
hear '^ended'
is "$seen" 1 "a thread was seen"
is "$(threads "$pid")" 1 "and is gone when the load has ended"
is "$(q "SELECT count(*) FROM t WHERE k LIKE 'r_______'")" "120000" "all is there"

# terminated in the middle
: >"$T/out"
echo "$LOAD SELECT 'ended';" >&3
for i in $(seq 400); do [ "$(threads "$pid")" -gt 1 ] && break; sleep 0.01; done
kill -TERM "$pid"
wait $client
exec 3>&-
is "$(q "SELECT count(*) FROM t WHERE k LIKE 'r_______'")" "120000" "a session is terminated: the others go on"
is "$(q "SELECT * FROM widetable.verify()")" "" "verify finds nothing"
finish
