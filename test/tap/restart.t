# restart: every commit is there after each kind of stop, with and without shared_preload_libraries.
. "${0%/*}/common.sh"
new_cluster
is "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" "" "without preloading and settings the first use succeeds"
want=$(q "$SUM")
like "$want" '^2000\|2001000\|' "the inserted rows are visible"
stop fast && start
is "$(q "$SUM")" "$want" "after a fast stop the rows come from WAL or from files"
q "SELECT widetable.flush()" >/dev/null
stop immediate; start
is "$(q "$SUM")" "$want" "after a flush and an immediate stop the rows come from files"
q "UPDATE t SET v = 'x' WHERE k = 'k3'" "DELETE FROM t WHERE k = 'k4'" >/dev/null
want=$(q "$SUM")
like "$want" '^1800\|' "an update and a delete are visible"
stop immediate; start
is "$(q "$SUM")" "$want" "after an immediate stop the rows come from files and WAL"
q "SELECT widetable.compact()" >/dev/null
is "$(q "$SUM")" "$want" "a major compaction does not change the rows"
stop fast
set_conf "shared_preload_libraries = 'widetable'"
start
ok $? "the server starts with the library preloaded"
is "$(q "$SUM")" "$want" "preloaded: the rows are the same"
like "$(q "SELECT worker_pid > 0 FROM widetable.pg_stat_widetable")" '^t$' "preloaded: the worker runs"
q "$FILL" >/dev/null
want=$(q "$SUM")
stop immediate; start
is "$(q "$SUM")" "$want" "preloaded: after an immediate stop the rows are the same"
verify_store
finish
