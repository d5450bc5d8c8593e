# seen: a commit that another transaction has seen survives a crash, even if the committing session
# is still waiting for its flush.  An increment is held after it has released its row locks and
# before it is durable; another transaction makes it visible or sees it under the row lock; then the
# server is killed.  Takes about 20 seconds.
. "${0%/*}/common.sh"
# no other process flushes WAL
new_cluster "shared_preload_libraries = 'widetable'" "wal_writer_delay = 10s" "autovacuum = off" "checkpoint_timeout = 1h" "log_min_messages = log"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE t (k int, n int) SERVER widetable OPTIONS (key 'k')" 'CREATE TABLE h (k int)' \
	'INSERT INTO t VALUES (1, 0)' 'SELECT widetable.flush()' 'CHECKPOINT' >/dev/null

# seen_after TITLE FUNCTION: holds the increment, runs FUNCTION, which may set saw to the value it
# saw (if not, a reader looks), kills the server, and checks that the value is there
seen_after() {
	name=$1
	shift
	session hold 5
	echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock commit-unlocked));" >&5
	wait_output hold held
	before=$(q 'SELECT n FROM t WHERE k = 1')
	q "SET widetable.stop_at = 'commit-unlocked'" 'UPDATE t SET n = n + 1 WHERE k = 1' >/dev/null &
	await_stopped 1
	is "$(q 'SELECT n FROM t WHERE k = 1')" "$before" "$name: a reader does not see the held increment"
	saw=
	"$@"
	seen=${saw:-$(q 'SELECT n FROM t WHERE k = 1')}
	[ -z "$saw" ] || is "$saw" "$((before + 1))" "$name: it sees the held increment"
	kill_server
	exec 5>&- 6>&-
	wait
	start
	now=$(q 'SELECT n FROM t WHERE k = 1')
	is "$((now >= seen))" 1 "$name: $seen was seen before the crash, $now is there after it"
}
nothing() { :; }
asynchronous() { q 'SET synchronous_commit = off' 'INSERT INTO t VALUES (2, 0)' >/dev/null; }
mixed() { q 'BEGIN' 'INSERT INTO h VALUES (1)' 'INSERT INTO t VALUES (3, 0)' 'COMMIT' >/dev/null; }
mixed_asynchronous() { q 'SET synchronous_commit = off' 'BEGIN' 'INSERT INTO h VALUES (1)' 'INSERT INTO t VALUES (3, 0)' 'COMMIT' >/dev/null; }
locker() { q 'SET synchronous_commit = off' 'SELECT n FROM t WHERE k = 1 FOR UPDATE' >/dev/null; }
lock='SELECT n FROM t WHERE k = 1 FOR UPDATE'
rolled_back() { saw=$(q BEGIN "$lock" ROLLBACK); }
refused() { saw=$(q BEGIN "SELECT $before + widetable.check_and_mutate('t', 1, 'n', '=', $((before + 1)), '[]')::int" ROLLBACK); }
# in a transaction that is still open at the crash
open_with() {
	session open 6
	echo "BEGIN; $1;" >&6
	wait_output open .
	saw=$(head -n 1 "$T/open.out")
}
open_transaction() { open_with "$lock"; }
open_function() { open_with 'SELECT f()'; }
q "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS \$\$ DECLARE i int; BEGIN SELECT n INTO i FROM t WHERE k = 1 FOR UPDATE; RETURN i; END \$\$"
seen_after 'no other transaction' nothing
seen_after 'an asynchronous commit' asynchronous
seen_after 'a transaction with an ordinary table' mixed
seen_after 'an asynchronous transaction with an ordinary table' mixed_asynchronous
seen_after 'SELECT FOR UPDATE' locker
seen_after 'SELECT FOR UPDATE, rolled back' rolled_back
seen_after 'check_and_mutate, rolled back' refused
seen_after 'SELECT FOR UPDATE in an open transaction' open_transaction
seen_after 'SELECT FOR UPDATE by a function in an open transaction' open_function
finish
