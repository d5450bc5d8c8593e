# uninstall_files: uninstall() removes nothing that a session has begun to use meanwhile; it removes all
# files of a store, also in a tablespace, after prepare_upgrade(), and of one that is missing.
# Takes about 25 seconds.
. "${0%/*}/common.sh"
STATE="SELECT state FROM widetable.pg_stat_widetable_health"
SLOTS="SELECT count(*) FROM pg_replication_slots"
left() { find "$T/data" "$T/wide" -path '*widetable*'; }

new_cluster
mkdir "$T/wide"
q "CREATE TABLESPACE wide LOCATION '$T/wide'" >/dev/null
set_conf "widetable.directory = '$T/wide'"; stop fast; start
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" 'SELECT widetable.flush()' >/dev/null
want=$(q "$SUM")
q 'DROP FOREIGN TABLE t' >/dev/null
await 20 resting "$STATE"
session holder 5
echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock uninstall-closed));" >&5
wait_output holder held
q "LOAD 'widetable'" "SET widetable.stop_at = 'uninstall-closed'" "SELECT widetable.uninstall()" >"$T/uninstall.out" 5>&- &
uninstalling=$!
await_stopped 1
q "$TABLE" "$FILL" >/dev/null
session other 6
echo "SELECT count(*) FROM t; SELECT 'reads';" >&6
wait_output other reads
echo 'SELECT pg_advisory_unlock_all();' >&5
wait $uninstalling
like "$(cat "$T/uninstall.out")" 'cannot remove the store: it has 1 tables' "a table that is made while uninstall() begins stops it"
echo "$SUM; SELECT 'read';" >&6
wait_output other 'read$'
like "$(cat "$T/other.out")" "$(printf '%s' "$want" | tr '|' '.')" "a session that has the store open reads on"
exec 5>&- 6>&-
stop immediate; start
is "$(q "$SUM")" "$want" "nothing is lost"

q 'DROP FOREIGN TABLE t' 'SELECT widetable.prepare_upgrade()' >/dev/null
is "$(q 'SELECT widetable.uninstall()')" "" "uninstall() after prepare_upgrade()"
is "$(left)" "" "no file is left, here and in the tablespace"
is "$(q "$TABLE" "$FILL" "$SUM")" "$want" "a new table begins a new store"

stop fast; rm -r "$T/data/widetable"; start
is "$(q "$STATE" 'SELECT widetable.uninstall()' "$STATE" | tr '\n' ' ')" "missing  missing " "uninstall() of a store that is missing"
is "$(left)" "" "no file is left, here and in the tablespace"
is "$(q 'DROP FOREIGN TABLE t' "$SLOTS")" "0" "no slot is left"

# a slot that another process held when the keeper dropped it
set_conf "shared_preload_libraries = 'widetable'"; stop fast; start
q "$TABLE" 'DROP FOREIGN TABLE t' >/dev/null
await 20 resting "$STATE"
q "SELECT pg_create_physical_replication_slot('widetable', true)" >/dev/null
stop fast; start
await 10 '^0$' "$SLOTS"
ok $? "preloaded: a slot that is left over at rest is dropped by the next start"
finish
