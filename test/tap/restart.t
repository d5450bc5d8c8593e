# restart: what was committed is there after every kind of stop, with and
# without preloading.
. "${0%/*}/common.sh"
new_cluster
is "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" "" "no preload, no settings: the first use works"
want=$(q "$SUM")
like "$want" '^2000\|2001000\|' "the rows are there"
stop fast && start
is "$(q "$SUM")" "$want" "after a fast stop, from the log or from files"
q "SELECT widetable.flush()" >/dev/null
stop immediate; start
is "$(q "$SUM")" "$want" "after a flush and an immediate stop, from files"
q "UPDATE t SET v = 'x' WHERE k = 'k3'" "DELETE FROM t WHERE k = 'k4'" >/dev/null
want=$(q "$SUM")
like "$want" '^1800\|' "an update and a delete later"
stop immediate; start
is "$(q "$SUM")" "$want" "after an immediate stop, from files and the log"
q "SELECT widetable.compact()" >/dev/null
is "$(q "$SUM")" "$want" "after a major compaction"
stop fast
set_conf "shared_preload_libraries = 'widetable'"
start
ok $? "starts with the library preloaded"
is "$(q "$SUM")" "$want" "preloaded: the same rows"
like "$(q "SELECT worker_pid > 0 FROM widetable.pg_stat_widetable")" '^t$' "preloaded: the worker runs"
q "$FILL" >/dev/null
want=$(q "$SUM")
stop immediate; start
is "$(q "$SUM")" "$want" "preloaded: after an immediate stop"
verify_store
finish
