# exit: a session that is terminated in an open transaction does not crash the server and leaves no
# writes.  After the crash of a process the server restarts with all committed rows.
# Takes about 12 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" 'CREATE TABLE h (x text)' >/dev/null
want=$(q "$SUM")
terminated() {		# PREFIX, statements of a transaction that stays open
	{ echo "$2"; sleep 3; } | "$BIN/psql" -XqAt >/dev/null 2>&1 &
	sleep 1
	is "$(q "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")" t "$1: the session is terminated"
	wait
	is "$(q "$SUM")" "$want" "$1: no write of the transaction is visible"
}
terminated "open cursor" "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 3 FROM c;"
terminated "snapshot" "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t;"
terminated "writes and row locks" "BEGIN; UPDATE t SET v = 'gone'; INSERT INTO h VALUES ('gone');"
is "$(grep -c 'was terminated by signal' "$T/server.log")" 0 "no process crashed"
q "UPDATE t SET v = 'after' WHERE k = 'k3'" >/dev/null
want=$(q "$SUM")
# after a crash the same postmaster creates shared memory again
kill -9 "$(q 'SELECT worker_pid FROM widetable.pg_stat_widetable')"
sleep 1
await 10 '^1$' 'SELECT 1'
is "$(q "$SUM")" "$want" "after a crash restart the committed rows are there"
: >"$T/server.log"	# the log has the intended kill
verify_store
finish
