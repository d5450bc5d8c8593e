# degraded: if the server's settings do not allow the store to run, the first use of a wide table
# fails with an error that names the setting; everything else works.
. "${0%/*}/common.sh"
new_cluster "wal_level = minimal" "max_wal_senders = 0"
is "$(q 'CREATE EXTENSION widetable')" "" "wal_level = minimal: CREATE EXTENSION succeeds"
like "$(q "$TABLE" "$FILL")" 'wal_level' "wal_level = minimal: the first use fails and names the setting"
is "$(q 'SELECT 1')" "1" "wal_level = minimal: the server is up"
"$BIN/pg_dump" -s >/dev/null 2>"$T/err"
ok $? "wal_level = minimal: pg_dump succeeds"
is "$(q 'SET client_min_messages = warning' 'DROP EXTENSION widetable CASCADE')" "" "wal_level = minimal: DROP EXTENSION succeeds"
stop fast
set_conf "wal_level = replica" "max_replication_slots = 0"
start
like "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" 'max_replication_slots' "max_replication_slots = 0: the first use fails and names the setting"
is "$(q 'SELECT 1')" "1" "max_replication_slots = 0: the server is up"
q 'SET client_min_messages = warning' 'DROP EXTENSION IF EXISTS widetable CASCADE' >/dev/null
stop fast
set_conf "max_replication_slots = 5" "max_worker_processes = 0"
start
out=$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" "$SUM")
like "$out" 'max_worker_processes|^2000\|' "max_worker_processes = 0: the store works without a worker, or an error names the setting"
finish
