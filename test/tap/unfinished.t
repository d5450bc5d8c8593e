# unfinished: transactions with ordinary tables that have committed, and whose
# finish records a crash takes.  Recovery writes new ones; what somebody has seen
# stays as it was: which of two concurrent writers came last, and when.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "autovacuum = off" "checkpoint_timeout = 1h" "log_min_messages = log"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE t (k int, n int) SERVER widetable OPTIONS (key 'k')" 'CREATE TABLE h (k int)' \
	'SELECT widetable.flush()' 'CHECKPOINT' >/dev/null
all() { cat /proc/[0-9]*/stat 2>/dev/null | awk -v p="$(head -n 1 "$T/data/postmaster.pid")" '$1 == p || $4 == p { print $1 }'; }
until_waits() { until [ -n "$(q "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")" ]; do sleep 0.05; done; }
# begin_session NAME FD, say NAME SQL, heard NAME TEXT
begin_session() { rm -f "$T/$1"; mkfifo "$T/$1"; "$BIN/psql" -XqAt >"$T/$1.out" 2>&1 <"$T/$1" & eval "exec $2>\"\$T/\$1\""; }
heard() { until grep -q "$2" "$T/$1.out"; do sleep 0.05; done; }
# nobody writes WAL to disk but who has to
hold_writer() { kill -STOP $(q "SELECT pid FROM pg_stat_activity WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')"); }
crash() { kill -9 $(all); while [ -n "$(all)" ]; do sleep 0.05; done; exec 5>&- 6>&-; wait; start; }

# both write row $1 and row $2; the first to be committed is the last to be finished
two() {
	begin_session hold 5
	begin_session late 6
	echo "SELECT 'held' FROM pg_advisory_lock(2003395685, hashtext('commit-recorded'));" >&5
	heard hold held
	echo "BEGIN; INSERT INTO h VALUES (2); INSERT INTO t VALUES ($2, 2); SELECT 'wrote';" >&6
	heard late wrote
	q "SET widetable.stop_at = 'commit-recorded'" BEGIN 'INSERT INTO h VALUES (1)' "INSERT INTO t VALUES ($1, 1)" COMMIT 5>&- 6>&- >/dev/null &
	first=$!
	until_waits
	hold_writer
	echo "COMMIT; SELECT 'committed';" >&6
	heard late committed
	echo 'SELECT pg_advisory_unlock_all();' >&5
	wait $first
}
two 1 1
seen=$(q 'SELECT n FROM t WHERE k = 1')
is "$seen" 1 'the last to be finished is seen'
crash
is "$(q 'SELECT n FROM t WHERE k = 1')" "$seen" 'and is there after the crash'
two 2 3
synced=$(q 'SELECT pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()')
is "$synced" t 'finish records of different rows are not waited for'
crash
is "$(q 'SELECT k, n FROM t WHERE k > 1 ORDER BY k')" "2|1
3|2" 'their rows are there after the crash'

# when
hold_writer
q BEGIN 'INSERT INTO h VALUES (3)' 'INSERT INTO t VALUES (4, 4)' COMMIT
then=$(q 'SELECT clock_timestamp()')
as_of="SET widetable.as_of = '$then'"
is "$(q "$as_of" 'SELECT n FROM t WHERE k = 4')" 4 'seen as of a time'
is "$(q 'SELECT pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()')" t 'before the finish record is durable'
crash
is "$(q "$as_of" 'SELECT n FROM t WHERE k = 4')" 4 'and as of that time after the crash'
finish
