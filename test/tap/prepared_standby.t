# prepared_standby: prepared transactions on a standby, which is restarted and promoted with some, in a
# base backup, and after recovery to a point in time.  Takes about 30 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/standbys.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "max_prepared_transactions = 20" "wal_keep_size = 512MB" "autovacuum = off" \
	"archive_mode = on" "archive_command = 'cp %p $T/archive/%f'" "max_connections = 30"
mkdir "$T/archive"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int, n int)' "CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" \
	'INSERT INTO h SELECT g, g FROM generate_series(1, 20) g' 'INSERT INTO w SELECT g, g FROM generate_series(1, 20) g' >/dev/null
# prepare GID K N [PAD]: writes row K in both tables, and row K + 100
prepare() { q BEGIN "UPDATE h SET n = $3 WHERE k = $2" "UPDATE w SET n = $3 WHERE k = $2" "INSERT INTO h VALUES ($2 + 100, $3)" "INSERT INTO w VALUES ($2 + 100, $3, ${4:-NULL})" "PREPARE TRANSACTION '$1'"; }
all='SELECT count(*), sum(n), (SELECT count(*) FROM h) - count(*), (SELECT sum(n) FROM h) - sum(n) FROM w'
gids='SELECT string_agg(gid, $$ $$ ORDER BY gid) FROM pg_prepared_xacts'
prepare before 1 11
"$BIN/pg_basebackup" -D "$T/data.base" -c fast --no-sync 2>&1
make_standby one
prepare a 2 12; prepare b 3 13; prepare c 4 14; prepare large 5 15 "repeat('x', 400000)"
q BEGIN 'SELECT n FROM w WHERE k = 6 FOR UPDATE' "PREPARE TRANSACTION 'lock'" >/dev/null
replayed one
is "$(on one "$all")" '20|210|0|0' 'standby: what is prepared does not show'
q "COMMIT PREPARED 'a'"; replayed one
is "$(on one "$all")" '21|232|0|0' 'standby: what is committed shows'
q "COMMIT PREPARED 'large'" "ROLLBACK PREPARED 'b'"; replayed one
is "$(on one "$all")" '22|257|0|0' 'standby: a large one, and one that is rolled back'
stop_second "$T/data.one" immediate; second "$T/data.one"
replayed one
is "$(on one "$all")" '22|257|0|0' 'standby: after its restart'
# checkpoints and restartpoints: neither side keeps WAL for it
for i in 1 2; do q "INSERT INTO w SELECT g, 0, repeat(md5(g::text), 50) FROM generate_series(1000, 3000) g" 'SELECT pg_switch_wal()' CHECKPOINT >/dev/null; done
replayed one; on one CHECKPOINT
await_on one 20 '^t$' "SELECT restart_lsn >= (SELECT redo_lsn FROM pg_control_checkpoint()) FROM pg_replication_slots WHERE slot_name = 'widetable'"; ok $? 'standby: it keeps no WAL behind a restartpoint'
stop_second "$T/data.one" immediate; second "$T/data.one"
replayed one
all='SELECT count(*), sum(n), (SELECT count(*) FROM h) - count(*), (SELECT sum(n) FROM h) - sum(n) FROM w WHERE k < 1000'
is "$(on one "$all")" '22|257|0|0' 'standby: after its restart behind a restartpoint'
# PostgreSQL has committed it, and the primary dies before the store has
session hold 5
echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock prepared-ended));" >&5
wait_output hold held
prepare d 7 17
q "SET widetable.stop_at = 'prepared-ended'" "COMMIT PREPARED 'd'" 5>&- >/dev/null 2>&1 &
await_stopped 1
lsn=$(q 'SELECT pg_current_wal_flush_lsn()')
await_on one 30 '^t$' "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
is "$(on one "$all")" '23|284|0|0' 'standby: PostgreSQL has committed it, the store has not: both rows show'
kill_server; exec 5>&-; wait
is "$(on one "$all")" '23|284|0|0' 'standby: the primary died'
promote one
is "$(on one "$gids")" 'before c lock' 'promoted: three are prepared'
is "$(on one "$all")" '23|284|0|0' 'promoted: what is committed shows, what is prepared does not'
like "$(on one "SET lock_timeout = '300ms'" 'UPDATE w SET n = n WHERE k = 1')" 'lock timeout' 'promoted: rows are locked'
like "$(on one "SET lock_timeout = '300ms'" 'UPDATE w SET n = n WHERE k = 6')" 'lock timeout' 'promoted: a row that was only locked is locked'
stop_second "$T/data.one" immediate; second "$T/data.one"
is "$(on one "$gids")" 'before c lock' 'promoted, a crash: three are prepared'
on one "COMMIT PREPARED 'before'" "ROLLBACK PREPARED 'c'" "COMMIT PREPARED 'lock'"
is "$(on one "$all")" '24|305|0|0' 'promoted: they are committed and rolled back'
is "$(on one 'UPDATE w SET n = n WHERE k IN (1, 4, 6) RETURNING k' 'SELECT count(*) FROM widetable.pg_stat_widetable_locks' | tr '\n' ' ')" '1 4 6 0 ' 'promoted: no lock is left'
stop_second "$T/data.one" immediate; second "$T/data.one"
is "$(on one "$all")" '24|305|0|0' 'promoted, another crash: they stay so'
is "$(on one 'SELECT * FROM widetable.verify()')" '' 'promoted: verify() finds no problem'
no_crash one

# ---- the primary comes back, and another backup is recovered to points in time
start
is "$(q "$all")" '23|284|0|0' 'the primary: recovery finishes what PostgreSQL has committed'
point() { q "SELECT pg_create_restore_point('$1')" >/dev/null; }
point first
prepare e 8 18
point prepared
q "COMMIT PREPARED 'e'" "COMMIT PREPARED 'before'"
point committed
q 'SELECT pg_switch_wal()' >/dev/null
await 30 '^t$' "SELECT last_archived_wal >= (SELECT pg_walfile_name(pg_current_wal_lsn() - 16 * 1024 * 1024)) FROM pg_stat_archiver"
# recover POINT: in $T/data.POINT
recover() {
	cp -a "$T/data.base" "$T/data.$1"
	printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "recovery_target_name = '$1'" "recovery_target_action = 'promote'" "archive_mode = off" >>"$T/data.$1/postgresql.conf"
	touch "$T/data.$1/recovery.signal"
	second "$T/data.$1"
	await_on "$1" 30 '^f$' 'SELECT pg_is_in_recovery()'
}
recover first
is "$(on first "$gids")" 'before c lock' 'recovered to a point before one: what is prepared then'
is "$(on first "$all")" '23|284|0|0' 'recovered to a point before one: its rows'
on first "COMMIT PREPARED 'c'"
is "$(on first "$all")" '24|308|0|0' 'recovered to a point before one: it can be committed'
recover prepared
is "$(on prepared "$gids")" 'before c e lock' 'recovered to a point between: it is prepared'
is "$(on prepared "$all")" '23|284|0|0' 'recovered to a point between: its rows do not show'
like "$(on prepared "SET lock_timeout = '300ms'" 'UPDATE w SET n = n WHERE k = 8')" 'lock timeout' 'recovered to a point between: its row is locked'
stop_second "$T/data.prepared" immediate; second "$T/data.prepared"
on prepared "ROLLBACK PREPARED 'e'" "COMMIT PREPARED 'before'"
is "$(on prepared "$all")" '24|305|0|0' 'recovered to a point between: decided otherwise'
is "$(on prepared 'SELECT * FROM widetable.verify()')" '' 'recovered: verify() finds no problem'
recover committed
is "$(on committed "$gids")" 'c lock' 'recovered to a point behind: it is committed'
is "$(on committed "$all")" '25|333|0|0' 'recovered to a point behind: its rows show'
finish
