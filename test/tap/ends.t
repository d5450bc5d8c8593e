# ends: a session that is terminated, times out, exceeds temp_file_limit or loses its client
# releases everything it held: row locks, snapshots, pins and reservations.  Takes about 15 seconds.
. "${0%/*}/common.sh"
new_cluster 'widetable.memtable_size = 1MB' 'max_connections = 30'

q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE e (k int, v text) SERVER widetable OPTIONS (key 'k')" 'CREATE TABLE h (x int)' \
	"INSERT INTO w SELECT g, repeat(md5(g::text), 3) FROM generate_series(1, 20000) g" 'SELECT widetable.flush()' \
	"CREATE PROCEDURE load(a int, b int) LANGUAGE plpgsql AS \$\$BEGIN FOR g IN a..b LOOP
	 INSERT INTO e VALUES (g, (SELECT string_agg(md5(g || 'x' || i), '') FROM generate_series(1, 300) i)); COMMIT; END LOOP; END\$\$" >/dev/null
HELD="SELECT row_locks, snapshots, oldest_snapshot, pins, memtable_reserved, files_reserved FROM widetable.pg_stat_widetable"
ROWS='SELECT count(*), sum(k), count(DISTINCT v) FROM w'
want=$(q "$ROWS")
clean() { # PREFIX
	await 10 '^0\|0\|\|0\|0\|0$' "$HELD"
	is "$(q "$HELD")" "0|0||0|0|0" "$1: no locks, snapshots, pins or reservations remain"
	is "$(q "$ROWS")" "$want" "$1: the rows are unchanged"
}
others="pid <> pg_backend_pid() AND backend_type = 'client backend'"
finish_off() { q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE $others" >/dev/null; wait; }
clean 'initially'

# the statistics view shows what a session holds
q 'BEGIN' 'SELECT v FROM w WHERE k = 1 FOR UPDATE' 'DECLARE c CURSOR FOR SELECT k FROM w' 'FETCH 1 FROM c' "$HELD" >"$T/held"
like "$(tail -n 1 "$T/held")" '^1\|1\|[0-9A-F/]+\|[0-9]\|0\|0$' "pg_stat_widetable shows what a session holds"
clean 'disconnected in a transaction'

# terminated in a statement
for st in "COPY e FROM PROGRAM 'for i in \$(seq 100000); do printf \"\$i\\t1\\n\"; done; sleep 100'" "UPDATE w SET v = 'x' WHERE pg_sleep(0.001) IS NOT NULL" \
	"BEGIN; INSERT INTO h VALUES (1); DELETE FROM w; SELECT pg_sleep(100)" 'SELECT k FROM w WHERE pg_sleep(0.001) IS NOT NULL FOR UPDATE' \
	"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM w; SELECT pg_sleep(100)" 'SELECT widetable.compact() FROM generate_series(1, 10000)'; do
	q "$st" >"$T/out" 2>&1 &
	await 5 '^1$' "SELECT count(*) FROM pg_stat_activity WHERE $others AND state = 'active'"
	sleep 0.5
	finish_off
	like "$(cat "$T/out")" 'terminating connection' "${st%% *}: the session is terminated"
	clean "${st%% *}"
done

# terminated while waiting for a row lock, and while another session waits for its row lock
q 'BEGIN' "UPDATE w SET v = 'x' WHERE k = 1" 'SELECT pg_sleep(100)' >/dev/null 2>&1 &
await 5 '^1$' 'SELECT row_locks FROM widetable.pg_stat_widetable'
q "UPDATE w SET v = 'y' WHERE k IN (1, 2)" >"$T/waits" 2>&1 &
q "UPDATE w SET v = v WHERE k = 1" >"$T/last" 2>&1 &
await 5 '^2$' "SELECT count(*) FROM pg_locks WHERE locktype = 'virtualxid' AND NOT granted"
q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%IN (1, 2)%' AND $others" >/dev/null
like "$(sleep 0.3; cat "$T/waits")" 'terminating connection' "a session that waits for a row lock is terminated"
q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(100)%' AND $others" >/dev/null
wait
is "$(cat "$T/last")" "" "after the owner of a row lock is terminated the waiting statement succeeds"
clean 'row locks'

# a transaction that is idle for too long
printf '%s\n' "SET idle_in_transaction_session_timeout = '300ms';" 'BEGIN;' "UPDATE w SET v = 'x' WHERE k < 100;" 'DECLARE c CURSOR FOR SELECT k FROM w;' 'FETCH 1 FROM c;' '\! sleep 1' 'SELECT 1;' |
	"$BIN/psql" -XqAt >"$T/out" 2>&1
like "$(cat "$T/out")" 'idle-in-transaction' "idle_in_transaction_session_timeout ends the session"
clean 'idle transaction'

# the client disappears
session copy 3
{ printf '%s\n' 'BEGIN;' "UPDATE w SET v = 'x' WHERE k < 100;" 'COPY e FROM stdin;'; i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); printf '%s\tx\n' $i; done; } >&3
await 5 '^99$' 'SELECT row_locks FROM widetable.pg_stat_widetable'
kill -KILL "$session_pid"
exec 3>&-
clean 'client killed in COPY'
wait

# temp_file_limit is exceeded
like "$(q "SET temp_file_limit = '100kB'" "SET work_mem = '64kB'" 'SELECT k, v FROM w ORDER BY md5(v)')" 'temporary file size exceeds' "a sort fails at temp_file_limit"
like "$(q "SET temp_file_limit = '100kB'" "SET work_mem = '64kB'" 'BEGIN' "UPDATE w SET v = 'x' WHERE k < 50" 'SAVEPOINT s' 'SELECT k, v FROM w ORDER BY md5(v)' 'ROLLBACK TO s' \
	'SELECT count(*) FROM w')" '^20000$' "after ROLLBACK TO SAVEPOINT the transaction can go on"
clean 'temporary files'

# waiting for memory: four readers pin four memtables
for i in 1 2 3 4; do
	q 'CALL load(1, 40)' "INSERT INTO e VALUES (-$i, 'x')" >/dev/null
	q "SELECT pg_sleep(100) FROM e WHERE k = -$i" >/dev/null 2>&1 &
	await 5 "^$i\$" "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(100)%' AND wait_event = 'PgSleep'"
	# writes until the next memtable is in use
	n=$(q 'SELECT flushes FROM widetable.pg_stat_widetable')
	[ $i = 4 ] || for _ in 1 2 3 4 5 6; do q "SET statement_timeout = '5s'" 'CALL load(1, 40)' >/dev/null; [ "$(q 'SELECT flushes FROM widetable.pg_stat_widetable')" -gt "$n" ] && break; done
done
like "$(q "SET statement_timeout = '1500ms'" 'CALL load(1, 1000)')" 'statement timeout' "waiting for memory: statement_timeout ends the wait"
q 'CALL load(1, 1000)' >"$T/waits" 2>&1 &
sleep 1.5
is "$(q 'SELECT count(*) FROM w')" "20000" "waiting for memory: other sessions can read"
q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%CALL load%' AND $others" >/dev/null
wait $!
like "$(cat "$T/waits")" 'terminating connection' "waiting for memory: the session can be terminated"
q 'CALL load(1, 1000)' >"$T/waits" 2>&1 &
p=$!
sleep 0.5
q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(100)%' AND $others" >/dev/null
wait $p
is "$(cat "$T/waits")" "" "waiting for memory: the writer succeeds once the readers have ended"
wait
clean 'memory'
is "$(q 'SELECT widetable.compact()' 'SELECT * FROM widetable.verify()' 'SELECT count(*) FROM h')" "
0" "verify() finds no problem, and no terminated transaction wrote to the ordinary table"
finish
