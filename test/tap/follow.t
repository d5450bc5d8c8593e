# follow: a standby holds its replication slot, and makes a lost one again with a warning; the
# health view works in recovery and tells its lag and its last error; a standby, and a recovery, of
# a backup that was made before the store, have all of it; a recovery to before the store has none.
# Takes about 40 seconds.
. "${0%/*}/common.sh"
HEALTH="SELECT state, in_recovery, lag_bytes, lag_seconds, slot, worker_pid > 0, keeper_pid > 0, last_error FROM widetable.pg_stat_widetable_health"
caught_up() { lsn=$(q 'SELECT pg_current_wal_lsn()'); for _ in $(seq 50); do [ "$(there "$1" "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && return; sleep 0.2; done; echo "not ok - the standby catches up"; BAD=1; }
# await_there DIR PATTERN SQL
await_there() { for _ in $(seq 100); do there "$1" "$3" | grep -qE -- "$2" && return 0; sleep 0.1; done; return 1; }
promote() { "$BIN/pg_ctl" -D "$1" -w promote >/dev/null; }

new_cluster "shared_preload_libraries = 'widetable'" "archive_mode = on" "archive_command = 'cp %p $T/archive/%f'" "max_wal_size = 64MB" "wal_keep_size = 512MB"
mkdir "$T/archive"
q 'CREATE EXTENSION widetable' >/dev/null

# ---- before the store
"$BIN/pg_basebackup" -D "$T/data.early" -R -c fast --no-sync 2>&1
sed -i "/^wal_keep_size/d" "$T/data.early/postgresql.conf"
"$BIN/pg_basebackup" -D "$T/data.late" -c fast --no-sync 2>&1
"$BIN/pg_basebackup" -D "$T/data.before" -c fast --no-sync 2>&1
second "$T/data.early"
is "$(there "$T/data.early" 'SELECT state, in_recovery FROM widetable.pg_stat_widetable_health')" "waiting|t" "a standby without a store waits for one"
# two without preloading: wide tables are used before the promotion, or not before
for s in used unused; do
	"$BIN/pg_basebackup" -D "$T/data.$s" -R -c fast --no-sync 2>&1
	sed -i "/^shared_preload_libraries/d" "$T/data.$s/postgresql.conf"
	second "$T/data.$s"
done
sed -i "/^wal_keep_size/d" "$T/data.used/postgresql.conf"; there "$T/data.used" 'SELECT pg_reload_conf()' >/dev/null
# the keeper of the first ends, and WAL from before its search is removed
old=$(there "$T/data.early" 'SELECT keeper_pid FROM widetable.pg_stat_widetable_health')
from=$(there "$T/data.early" "SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = 'widetable'")
first=$(find "$T/data.early/pg_wal" -maxdepth 1 -name '0*' | sort | head -n 1)
for _ in 1 2 3 4; do q "SELECT pg_logical_emit_message(false, 'x', 'x')" 'SELECT pg_switch_wal()' CHECKPOINT >/dev/null; done
caught_up "$T/data.early"
for _ in $(seq 300); do [ "$(there "$T/data.early" "SELECT restart_lsn - '$from' > 48 * 1024 * 1024 FROM pg_replication_slots WHERE slot_name = 'widetable'")" = t ] && break; sleep 0.1; done
q "SELECT pg_logical_emit_message(false, 'x', 'x')" CHECKPOINT >/dev/null
caught_up "$T/data.early"
there "$T/data.early" CHECKPOINT "SELECT pg_terminate_backend($old, 5000)" >/dev/null
ok "$([ ! -e "$first" ]; echo $?)" "the standby removes WAL that it has searched"
await_there "$T/data.early" "held.t" "SELECT slot, keeper_pid <> $old FROM widetable.pg_stat_widetable_health"
ok $? "another keeper goes on where the one before has ended"
q "SELECT pg_create_restore_point('before')" "$TABLE" "$FILL" >/dev/null
caught_up "$T/data.used"
is "$(there "$T/data.used" "$SUM")" "$(q "$SUM")" "not preloaded: the first use starts the search"
await_there "$T/data.used" 'following.*held' 'SELECT state, slot FROM widetable.pg_stat_widetable_health'
ok $? "not preloaded: it follows the store"
q "UPDATE t SET v = 'flushed' WHERE k = 'k1'" 'SELECT widetable.flush()' 'CHECKPOINT' 'SELECT pg_switch_wal()' "UPDATE t SET v = 'more' WHERE k = 'k2'" >/dev/null
want=$(q "$SUM")
await_there "$T/data.early" following 'SELECT state FROM widetable.pg_stat_widetable_health'
r_=$?; ok $r_ "it follows the store that its primary has made since"; [ $r_ = 0 ] || sed "s/^/#   /" "$T/data.early.log"
caught_up "$T/data.early"
stop_second "$T/data.early"; second "$T/data.early"
# the WAL with the beginning of the store is removed: after another restart the store is still there
begun=$(find "$T/data.early/pg_wal" -maxdepth 1 -name '0*' | sort | head -n 1)
sed -i '/^wal_keep_size/d' "$T/data.early/postgresql.conf"; there "$T/data.early" 'SELECT pg_reload_conf()' >/dev/null
for _ in $(seq 20); do
	q "SELECT pg_logical_emit_message(false, 'x', 'x')" "UPDATE t SET v = v WHERE k = 'k1'" 'SELECT pg_switch_wal()' CHECKPOINT >/dev/null
	caught_up "$T/data.early"
	there "$T/data.early" CHECKPOINT >/dev/null
	[ -e "$begun" ] || break
done
ok "$([ ! -e "$begun" ]; echo $?)" "the standby removes WAL from where its store began"
stop_second "$T/data.early"; second "$T/data.early"
is "$(there "$T/data.early" "$SUM")" "$(q "$SUM")" "restarted after that, it has its store"
q "UPDATE t SET v = 'again' WHERE k = 'k3'" >/dev/null
want=$(q "$SUM")
caught_up "$T/data.early"
q "SELECT pg_create_restore_point('after')" 'CREATE TABLE h (n int)' 'SELECT pg_switch_wal()' 'SELECT pg_sleep(1)' >/dev/null
there "$T/data.used" CHECKPOINT >/dev/null
for s in used unused; do
	caught_up "$T/data.$s"
	promote "$T/data.$s"
	is "$(there "$T/data.$s" "$SUM")" "$want" "not preloaded, $s before the promotion: all rows are there"
	stop_second "$T/data.$s"; rm -rf "$T/data.$s"
done
recover() { printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "archive_mode = off" "recovery_target_name = '$2'" "recovery_target_action = 'promote'" >>"$1/postgresql.conf"; touch "$1/recovery.signal"; second "$1"; await_there "$1" f 'SELECT pg_is_in_recovery()'; }
recover "$T/data.late" after
is "$(there "$T/data.late" "$SUM")" "$want" "a recovery of a backup from before the store has all rows"
stop_second "$T/data.late"; rm -rf "$T/data.late"
recover "$T/data.before" before
is "$(there "$T/data.before" 'SELECT count(*) FROM pg_foreign_table' "$TABLE" "$FILL" "SELECT count(*) FROM t")" "0
2000" "a recovery to before the store has none, and can make one"
stop_second "$T/data.before"; rm -rf "$T/data.before"
stop_second "$T/data.early"

# ---- the slot of a standby
"$BIN/pg_basebackup" -D "$T/data.one" -R -c fast --no-sync 2>&1
second "$T/data.one"
await_there "$T/data.one" '^following.t.0.0.held.t.t.$' "$HEALTH"
ok $? "the standby follows, and holds its slot"
there "$T/data.one" "$HEALTH"
like "$(there "$T/data.one" "SELECT pg_drop_replication_slot('widetable')")" 'is active for PID' "it cannot be dropped"
is "$(there "$T/data.one" "SELECT active FROM pg_replication_slots WHERE slot_name = 'widetable'")" "t" "it is active"
# lost nevertheless: dropped in the moment in which no keeper runs
keeper=$(there "$T/data.one" "SELECT keeper_pid FROM widetable.pg_stat_widetable_health")
there "$T/data.one" "DO \$\$ BEGIN PERFORM pg_terminate_backend($keeper);
  FOR i IN 1 .. 1000 LOOP
    BEGIN PERFORM pg_drop_replication_slot('widetable'); EXIT; EXCEPTION WHEN OTHERS THEN PERFORM pg_sleep(0.001); END;
  END LOOP; END \$\$" >/dev/null
await_there "$T/data.one" held 'SELECT slot FROM widetable.pg_stat_widetable_health'
ok $? "a slot that was dropped is created again"
like "$(cat "$T/data.one.log")" 'replication slot "widetable" was lost and is created again' "with a warning"
# replay is behind
there "$T/data.one" 'SELECT pg_wal_replay_pause()' >/dev/null
q "UPDATE t SET v = 'last' WHERE k = 'k4'" >/dev/null
want=$(q "$SUM")
there "$T/data.one" 'SELECT pg_wal_replay_resume()' >/dev/null
caught_up "$T/data.one"
stop_second "$T/data.one"; second "$T/data.one"; caught_up "$T/data.one"
promote "$T/data.one"
is "$(there "$T/data.one" "$SUM")" "$want" "promoted: all rows are there"
await_there "$T/data.one" '^open.f...held.t.t.' "$HEALTH"
ok $? "promoted: the keeper holds the slot"
stop_second "$T/data.one"

# ---- a standby whose store is missing
"$BIN/pg_basebackup" -D "$T/data.two" -R -c fast --no-sync 2>&1
rm -rf "$T/data.two/widetable"
second "$T/data.two"
await_there "$T/data.two" 'missing.*the store of widetable is missing' 'SELECT state, last_error FROM widetable.pg_stat_widetable_health'
ok $? "a standby without its directory says missing"
like "$(cat "$T/data.two.log")" 'the store of widetable is missing' "and its log says so"
promote "$T/data.two"
like "$(there "$T/data.two" "$SUM")" 'the store of widetable is missing' "promoted: tables are not empty"
stop_second "$T/data.two"
finish
