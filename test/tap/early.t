# early: a commit releases its row locks before it is durable.  A transaction that then locks such a
# row sees the commit, in the locking statement and in later ones, even in columns that the locking
# statement did not read.  Commits are held by a synchronous standby that does not exist.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE t (k int, a int, b int, c int) SERVER widetable OPTIONS (key '"'k'"')' >/dev/null
waiting() { q "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"; }
# meanwhile STATEMENT QUERY...: runs the queries in one transaction while STATEMENT's commit waits
meanwhile() {
	q "DELETE FROM t" "INSERT INTO t VALUES (1, 0, 0, 0)" "ALTER SYSTEM SET synchronous_standby_names = 'nobody'" "SELECT pg_reload_conf()" >/dev/null
	until [ "$(q 'SHOW synchronous_standby_names')" = nobody ]; do sleep 0.05; done
	q "$1" >/dev/null &
	until [ -n "$(waiting)" ]; do sleep 0.05; done
	shift
	q 'SET synchronous_commit = local' 'BEGIN' "$@" 'COMMIT'
	q 'ALTER SYSTEM RESET synchronous_standby_names' 'SELECT pg_reload_conf()' >/dev/null
	wait
}
show="SELECT coalesce(b, -1), c FROM t"
nl='
'
is "$(meanwhile 'UPDATE t SET b = 1, c = 2' "$show")" "0|0" "a reader does not see a commit that is not durable"
is "$(meanwhile 'UPDATE t SET b = NULL' 'SELECT a FROM t WHERE k = 1 FOR UPDATE' "$show")" "0$nl-1|0" "the next owner of the row lock sees a deleted cell"
is "$(meanwhile 'UPDATE t SET c = 5' 'SELECT a FROM t WHERE k = 1 FOR UPDATE' "$show")" "0${nl}0|5" "the next owner sees a column that SELECT FOR UPDATE did not read"
is "$(meanwhile 'UPDATE t SET c = 5' 'UPDATE t SET a = 1 WHERE k = 1' "$show")" "0|5" "the next owner sees the change after an UPDATE in the scan"
is "$(meanwhile 'UPDATE t SET c = 5' 'SET widetable.enable_direct_modify = off' 'UPDATE t SET a = 1 WHERE k = 1' "$show")" "0|5" "the next owner sees the change after an UPDATE by the executor"
is "$(meanwhile 'UPDATE t SET c = 5' 'SAVEPOINT s' 'UPDATE t SET a = 1 WHERE k = 1' 'ROLLBACK TO s' "$show")" "0|5" "the next owner sees the change after the locking statement is rolled back to a savepoint"
is "$(meanwhile 'DELETE FROM t' 'UPDATE t SET a = 1 WHERE k = 1' "$show")" "" "the next owner sees that the row is deleted"
finish
