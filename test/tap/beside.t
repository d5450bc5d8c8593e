# beside: a large load has a thread beside it.  It is gone when the load has
# ended, been cancelled at any moment or terminated; and the session goes on.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "autovacuum = off"
threads() { ls "/proc/$1/task" | wc -l; }

LOAD="INSERT INTO t SELECT 'r' || lpad((g * 7919 % 1000003)::text, 7, '0'), 1, md5(g::text) || md5((g + 1)::text), NULL FROM generate_series(1, 120000) g;"

is "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" "" "a table"
session load 3
echo "SELECT pg_backend_pid();" >&3
wait_output load '^[0-9]+$'
pid=$(head -n 1 "$T/load.out")
is "$(threads "$pid")" 1 "a session has one thread"
seen=0
for pause in 10 30 60 100 150; do
	: >"$T/load.out"
	{ echo "$LOAD"; echo "TRUNCATE t; $FILL; SELECT 'ended';"; } >&3 2>/dev/null
	for i in $(seq $pause); do
		[ "$(threads "$pid")" -gt 1 ] && seen=1
		sleep 0.01
	done
	kill -INT "$pid"
	wait_output load '^ended'
	like "$(cat "$T/load.out")" 'ended$' "cancelled after $pause looks, or too late"
	is "$(threads "$pid")" 1 "the session has one thread again"
done
: >"$T/load.out"
echo "$LOAD SELECT 'ended';" >&3
for i in $(seq 400); do
	[ "$(threads "$pid")" -gt 1 ] && seen=1
	grep -q ended "$T/load.out" && break
	sleep 0.01
done
wait_output load '^ended'
is "$seen" 1 "a thread was seen"
is "$(threads "$pid")" 1 "and is gone when the load has ended"
is "$(q "SELECT count(*) FROM t WHERE k LIKE 'r_______'")" "120000" "all is there"

# terminated in the middle
: >"$T/load.out"
echo "$LOAD SELECT 'ended';" >&3
for i in $(seq 400); do [ "$(threads "$pid")" -gt 1 ] && break; sleep 0.01; done
kill -TERM "$pid"
wait "$session_pid"
exec 3>&-
is "$(q "SELECT count(*) FROM t WHERE k LIKE 'r_______'")" "120000" "a session is terminated: the others go on"
verify_store
finish
