# early: a commit gives its row locks back before it is durable.  Whoever locks
# such a row sees what it did, in this statement and in the following ones, also
# in columns that the locking statement did not read.
# Commits wait here as long as we like: for a standby that does not exist.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE t (k int, a int, b int, c int) SERVER widetable OPTIONS (key '"'k'"')' >/dev/null
waiting() { q "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"; }
# meanwhile STATEMENT QUERY...: while the statement's commit waits
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
is "$(meanwhile 'UPDATE t SET b = 1, c = 2' "$show")" "0|0" "others do not see what is not durable"
is "$(meanwhile 'UPDATE t SET b = NULL' 'SELECT a FROM t WHERE k = 1 FOR UPDATE' "$show")" "0$nl-1|0" "the next one with the lock does: a cell deleted"
is "$(meanwhile 'UPDATE t SET c = 5' 'SELECT a FROM t WHERE k = 1 FOR UPDATE' "$show")" "0${nl}0|5" "... another column after SELECT FOR UPDATE"
is "$(meanwhile 'UPDATE t SET c = 5' 'UPDATE t SET a = 1 WHERE k = 1' "$show")" "0|5" "... after an UPDATE"
is "$(meanwhile 'UPDATE t SET c = 5' 'SET widetable.enable_direct_modify = off' 'UPDATE t SET a = 1 WHERE k = 1' "$show")" "0|5" "... through the executor"
is "$(meanwhile 'UPDATE t SET c = 5' 'SAVEPOINT s' 'UPDATE t SET a = 1 WHERE k = 1' 'ROLLBACK TO s' "$show")" "0|5" "... after a savepoint rolled back"
is "$(meanwhile 'DELETE FROM t' 'UPDATE t SET a = 1 WHERE k = 1' "$show")" "" "... the row deleted"
finish
