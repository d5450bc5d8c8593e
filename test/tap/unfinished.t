# unfinished: a crash loses the finish records of committed transactions that also wrote ordinary
# tables.  Recovery writes new finish records and keeps what other transactions have seen: the order
# of two concurrent writers of a row, and the commit time.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "autovacuum = off" "checkpoint_timeout = 1h" "log_min_messages = log"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE t (k int, n int) SERVER widetable OPTIONS (key 'k')" 'CREATE TABLE h (k int)' \
	'SELECT widetable.flush()' 'CHECKPOINT' >/dev/null

# only backends flush WAL
hold_writer() { kill -STOP $(q "SELECT pid FROM pg_stat_activity WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')"); }
crash() { kill_server; exec 5>&- 6>&-; wait; start; }

# two A B: two transactions write row A and row B; the first to commit is the last to finish
two() {
	session hold 5
	session late 6
	echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock commit-recorded));" >&5
	wait_output hold held
	echo "BEGIN; INSERT INTO h VALUES (2); INSERT INTO t VALUES ($2, 2); SELECT 'wrote';" >&6
	wait_output late wrote
	q "SET widetable.stop_at = 'commit-recorded'" BEGIN 'INSERT INTO h VALUES (1)' "INSERT INTO t VALUES ($1, 1)" COMMIT 5>&- 6>&- >/dev/null &
	first=$!
	await_stopped 1
	hold_writer
	echo "COMMIT; SELECT 'committed';" >&6
	wait_output late committed
	echo 'SELECT pg_advisory_unlock_all();' >&5
	wait $first
}
two 1 1
seen=$(q 'SELECT n FROM t WHERE k = 1')
is "$seen" 1 'the transaction that finishes last is visible'
crash
is "$(q 'SELECT n FROM t WHERE k = 1')" "$seen" 'it is visible after the crash'
two 2 3
synced=$(q 'SELECT pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()')
is "$synced" t 'a commit does not wait for finish records of other rows'
crash
is "$(q 'SELECT k, n FROM t WHERE k > 1 ORDER BY k')" "2|1
3|2" 'both rows are there after the crash'

# the commit time
hold_writer
q BEGIN 'INSERT INTO h VALUES (3)' 'INSERT INTO t VALUES (4, 4)' COMMIT
then=$(q 'SELECT clock_timestamp()')
as_of="SET widetable.as_of = '$then'"
is "$(q "$as_of" 'SELECT n FROM t WHERE k = 4')" 4 'a read as of a time sees the commit'
is "$(q 'SELECT pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()')" t 'the finish record is not durable then'
crash
is "$(q "$as_of" 'SELECT n FROM t WHERE k = 4')" 4 'after the crash a read as of the same time sees the commit'
finish
