# degraded: where the store cannot run, the first use says which setting to
# change, and nothing else breaks.
. "${0%/*}/common.sh"
new_cluster "wal_level = minimal" "max_wal_senders = 0"
is "$(q 'CREATE EXTENSION widetable')" "" "wal_level = minimal: CREATE EXTENSION works"
like "$(q "$TABLE" "$FILL")" 'wal_level' "wal_level = minimal: the first use names the setting"
is "$(q 'SELECT 1')" "1" "and the server goes on"
"$BIN/pg_dump" -s >/dev/null 2>"$T/err"
ok $? "pg_dump works"
is "$(q 'SET client_min_messages = warning' 'DROP EXTENSION widetable CASCADE')" "" "DROP EXTENSION works"
stop fast
set_conf "wal_level = replica" "max_replication_slots = 0"
start
like "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" 'max_replication_slots' "no replication slot: the first use names the setting"
is "$(q 'SELECT 1')" "1" "and the server goes on"
q 'SET client_min_messages = warning' 'DROP EXTENSION IF EXISTS widetable CASCADE' >/dev/null
stop fast
set_conf "max_replication_slots = 5" "max_worker_processes = 0"
start
out=$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" "$SUM")
like "$out" 'max_worker_processes|^2000\|' "no worker slot: works without, or names the setting"
finish
