# seen: what somebody has seen outlives a crash, also if the one who wrote it
# has not heard yet that it is durable.
. "${0%/*}/common.sh"
# nobody else writes WAL to disk
new_cluster "shared_preload_libraries = 'widetable'" "wal_writer_delay = 10s" "autovacuum = off" "checkpoint_timeout = 1h" "log_min_messages = log"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE t (k int, n int) SERVER widetable OPTIONS (key 'k')" 'CREATE TABLE h (k int)' \
	'INSERT INTO t VALUES (1, 0)' 'SELECT widetable.flush()' 'CHECKPOINT' >/dev/null

# seen_after NAME FUNCTION: an increment halts before it is durable, others do something, and tell what they have seen or somebody looks; then all are killed
seen_after() {
	name=$1
	shift
	session hold 5
	echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock commit-unlocked));" >&5
	wait_output hold held
	before=$(q 'SELECT n FROM t WHERE k = 1')
	q "SET widetable.stop_at = 'commit-unlocked'" 'UPDATE t SET n = n + 1 WHERE k = 1' >/dev/null &
	await_stopped 1
	is "$(q 'SELECT n FROM t WHERE k = 1')" "$before" "$name: not seen by itself"
	told=
	"$@"
	seen=${told:-$(q 'SELECT n FROM t WHERE k = 1')}
	[ -z "$told" ] || is "$told" "$((before + 1))" "$name: sees it"
	kill_server
	exec 5>&- 6>&-
	wait
	start
	now=$(q 'SELECT n FROM t WHERE k = 1')
	is "$((now >= seen))" 1 "$name: $seen was seen, $now is there after the crash"
}
nothing() { :; }
asynchronous() { q 'SET synchronous_commit = off' 'INSERT INTO t VALUES (2, 0)' >/dev/null; }
mixed() { q 'BEGIN' 'INSERT INTO h VALUES (1)' 'INSERT INTO t VALUES (3, 0)' 'COMMIT' >/dev/null; }
mixed_asynchronous() { q 'SET synchronous_commit = off' 'BEGIN' 'INSERT INTO h VALUES (1)' 'INSERT INTO t VALUES (3, 0)' 'COMMIT' >/dev/null; }
locker() { q 'SET synchronous_commit = off' 'SELECT n FROM t WHERE k = 1 FOR UPDATE' >/dev/null; }
lock='SELECT n FROM t WHERE k = 1 FOR UPDATE'
rolled_back() { told=$(q BEGIN "$lock" ROLLBACK); }
refused() { told=$(q BEGIN "SELECT $before + widetable.check_and_mutate('t', 1, 'n', '=', $((before + 1)), '[]')::int" ROLLBACK); }
# in a transaction that is open for long
open_with() {
	session open 6
	echo "BEGIN; $1;" >&6
	wait_output open .
	told=$(head -n 1 "$T/open.out")
}
open_transaction() { open_with "$lock"; }
open_function() { open_with 'SELECT f()'; }
q "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS \$\$ DECLARE i int; BEGIN SELECT n INTO i FROM t WHERE k = 1 FOR UPDATE; RETURN i; END \$\$"
seen_after 'nobody else' nothing
seen_after 'an asynchronous commit' asynchronous
seen_after 'a transaction with an ordinary table' mixed
seen_after 'the same, asynchronous' mixed_asynchronous
seen_after 'somebody who locks the row' locker
seen_after 'somebody who is rolled back' rolled_back
seen_after 'somebody who compares' refused
seen_after 'a transaction that is open' open_transaction
seen_after 'a function in one' open_function
finish
