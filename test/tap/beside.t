# beside: the helper thread of a large load ends with the load, whether the load completes, is
# cancelled at any time or is terminated.  After a cancellation the session can go on.
# Takes about 10 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "autovacuum = off"
threads() { ls "/proc/$1/task" | wc -l; }

LOAD="INSERT INTO t SELECT 'r' || lpad((g * 7919 % 1000003)::text, 7, '0'), 1, md5(g::text) || md5((g + 1)::text), NULL FROM generate_series(1, 120000) g;"

is "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" "" "a table is created"
session load 3
echo "SELECT pg_backend_pid();" >&3
wait_output load '^[0-9]+$'
pid=$(head -n 1 "$T/load.out")
is "$(threads "$pid")" 1 "an idle session has one thread"
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
	like "$(cat "$T/load.out")" 'ended$' "the load is cancelled after $pause polls, or has completed"
	is "$(threads "$pid")" 1 "after cancellation following $pause polls the session has one thread"
done
: >"$T/load.out"
echo "$LOAD SELECT 'ended';" >&3
for i in $(seq 400); do
	[ "$(threads "$pid")" -gt 1 ] && seen=1
	grep -q ended "$T/load.out" && break
	sleep 0.01
done
wait_output load '^ended'
is "$seen" 1 "the load uses a helper thread"
is "$(threads "$pid")" 1 "the helper thread ends with the load"
is "$(q "SELECT count(*) FROM t WHERE k LIKE 'r_______'")" "120000" "the load is complete"

# terminated while the helper thread runs
: >"$T/load.out"
echo "$LOAD SELECT 'ended';" >&3
for i in $(seq 400); do [ "$(threads "$pid")" -gt 1 ] && break; sleep 0.01; done
kill -TERM "$pid"
wait "$session_pid"
exec 3>&-
is "$(q "SELECT count(*) FROM t WHERE k LIKE 'r_______'")" "120000" "after a session is terminated in a load other sessions read the table"
verify_store
finish
