# uninstall: with the last table gone the slot is dropped and the processes end; the next table
# brings them back and nothing is lost; uninstall() removes the rest.  Takes about 60 seconds.
. "${0%/*}/common.sh"
SLOTS="SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'widetable'"
STATE="SELECT state FROM widetable.pg_stat_widetable_health"
LEFT="SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'widetable%')"
# at_rest TITLE
at_rest() {
	for _ in $(seq 200); do [ "$(q "$LEFT")" = 0 ] && break; sleep 0.1; done
	is "$(q "$LEFT")" "0" "$1: no slot and no process is left"
}

new_cluster "max_wal_size = 32MB"
q 'CREATE DATABASE other' >/dev/null
# uninstall_preloaded.t sets WAY
for way in "${WAY:-not preloaded}"; do
	stop fast
	[ "$way" = preloaded ] && set_conf "shared_preload_libraries = 'widetable'"
	start
	q 'CREATE EXTENSION widetable' >/dev/null
	in_db other 'CREATE EXTENSION widetable' >/dev/null
	at_rest "$way, before the first table"
	q "$TABLE" "$FILL" >/dev/null
	in_db other "$TABLE" "$FILL" >/dev/null
	is "$(q "$SLOTS")" "1" "$way: a table brings the slot"
	q 'DROP FOREIGN TABLE t' >/dev/null
	sleep 7
	is "$(q "$SLOTS")" "1" "$way: it stays while another database has a table"
	in_db other 'DROP EXTENSION widetable CASCADE' >/dev/null 2>&1
	at_rest "$way, the last table dropped"
	is "$(q "$STATE")" "resting" "$way: the view says so"
	# a session that has the store open writes again
	session old 8
	echo "SELECT count(*) FROM widetable.pg_stat_widetable_tables; SELECT 'ready';" >&8
	wait_output old ready
	at_rest "$way, a session has the store open"
	echo "$TABLE; $FILL; SELECT 'filled';" >&8
	wait_output old filled
	is "$(q "$SLOTS")" "1" "$way: the next table brings the slot back"
	await 15 '^2$' "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'widetable%'"
	ok $? "$way: and the processes"
	want=$(q "$SUM")
	q 'CHECKPOINT' 'SELECT pg_switch_wal()' 'CHECKPOINT' >/dev/null
	stop immediate; exec 8>&-; start
	is "$(q "$SUM")" "$want" "$way: nothing is lost in a crash"
	like "$(q 'SELECT widetable.uninstall()')" 'cannot remove the store: it has 1 tables' "$way: uninstall() refuses while there are tables"
	# a table that is not committed, and a snapshot that reads a dropped one
	session reader 9
	echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t; SELECT 'reads';" >&9
	wait_output reader reads
	echo "COMMIT; BEGIN; CREATE FOREIGN TABLE u (k int, v int) SERVER widetable OPTIONS (key 'k'); INSERT INTO u VALUES (1, 1); SELECT 'open';" >&9
	wait_output reader open
	q 'DROP FOREIGN TABLE t' >/dev/null
	at_rest "$way, a transaction makes a table"
	echo "COMMIT; SELECT 'committed';" >&9
	wait_output reader committed
	stop immediate; exec 9>&-; start
	is "$(q 'SELECT * FROM u')" "1|1" "$way: it commits, and is there after a crash"
	q 'DROP FOREIGN TABLE u' >/dev/null
	at_rest "$way, dropped again"
	# a commit that has begun is not overtaken by the keeper
	session holder 5
	echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock commit-prepared));" >&5
	wait_output holder held
	q "SET widetable.stop_at = 'commit-prepared'" "CREATE FOREIGN TABLE u (k int, v int) SERVER widetable OPTIONS (key 'k')" >/dev/null 5>&- &
	committing=$!
	await_stopped 1
	sleep 7
	is "$(q "$SLOTS")" "1" "$way: the slot stays while a commit is under way"
	exec 5>&-
	wait $committing
	q 'INSERT INTO u VALUES (1, 1)' >/dev/null
	stop immediate; start
	is "$(q 'SELECT * FROM u')" "1|1" "$way: what it commits is there after a crash"
	q 'DROP FOREIGN TABLE u' >/dev/null
	# a restart at rest
	at_rest "$way, dropped once more"
	stop fast; start; sleep 2
	is "$(q "$LEFT")" "0" "$way: nothing comes back with a restart"
	is "$(q 'SELECT widetable.uninstall()')" "" "$way: uninstall() succeeds"
	is "$(ls -d "$T"/data/widetable* 2>/dev/null)" "" "$way: no file is left"
	is "$(q "$STATE")" "none" "$way: the view says none"
	q "$TABLE" "$FILL" >/dev/null
	is "$(q "$SUM")" "$want" "$way: a new table begins a new store"
	q 'DROP EXTENSION widetable CASCADE' >/dev/null 2>&1
	at_rest "$way, extension dropped"
done
finish
