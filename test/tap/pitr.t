# pitr: recovery to a point in time, and a delayed standby, treat commits to wide tables alone as
# commits of ordinary tables: both stop at the same moment.  Takes about 40 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "archive_mode = on" "archive_command = 'cp %p $T/archive/%f'" "wal_keep_size = 512MB"
mkdir "$T/archive"
q 'CREATE EXTENSION widetable' 'CREATE TABLE o (n int PRIMARY KEY, at timestamptz DEFAULT clock_timestamp())' \
	"CREATE FOREIGN TABLE w (n int, at timestamptz DEFAULT clock_timestamp()) SERVER widetable OPTIONS (key 'n')" \
	"CREATE FOREIGN TABLE lone (n int, at timestamptz DEFAULT clock_timestamp()) SERVER widetable OPTIONS (key 'n')" \
	"CREATE FOREIGN TABLE big (n int, v text) SERVER widetable OPTIONS (key 'n')" >/dev/null
"$BIN/pg_basebackup" -D "$T/data.base" -c fast --no-sync 2>&1

now() { q 'SELECT clock_timestamp()'; }
# both FROM TO: ordinary and wide rows in turns, a transaction each, and every tenth in one transaction
both() {
	i=$1; while [ "$i" -le "$2" ]; do
		if [ $((i % 10)) = 0 ]; then echo "BEGIN; INSERT INTO w VALUES ($i); INSERT INTO o VALUES ($i); COMMIT;"; else echo "INSERT INTO o VALUES ($i); INSERT INTO w VALUES ($i);"; fi
		i=$((i + 1))
	done | "$BIN/psql" -Xq 2>&1
}
# alone FROM TO: wide rows, a transaction each
alone() { i=$1; while [ "$i" -le "$2" ]; do echo "INSERT INTO lone VALUES ($i);"; i=$((i + 1)); done | "$BIN/psql" -Xq 2>&1; }

# ---- phases with moments between them; only the first one writes ordinary tables
both 1 300
both 301 400 & alone 1 300; wait
t_load=$(q 'SELECT at FROM o WHERE n = 200')
xid=$(q 'BEGIN' 'SELECT pg_current_xact_id()' 'INSERT INTO w VALUES (1001)' 'INSERT INTO lone VALUES (1001)' 'COMMIT')
alone 1002 1100
q "SELECT pg_create_restore_point('name')" >/dev/null
lsn=$(q 'SELECT pg_current_wal_lsn()')
alone 1101 1200
sleep 0.3; t_gap=$(now); sleep 0.3
alone 2001 2100
q "INSERT INTO big SELECT g, repeat('b', 200) FROM generate_series(1, 20000) g" >/dev/null
sleep 0.3; t_gap2=$(now); sleep 0.3
alone 3001 3100
t_exact=$(q 'SELECT at FROM lone WHERE n = 3050')
# commits that no commit record follows until the worker goes on, in two segments of the log
worker=$(q "SELECT pid FROM pg_stat_activity WHERE backend_type = 'widetable worker'")
kill -STOP "$worker"
sleep 2.1
q 'INSERT INTO w VALUES (4000)'
t_lag=$(now)
alone 4001 4050
q 'SELECT pg_switch_wal()' >/dev/null
alone 4051 4100
segment=$(q 'SELECT pg_walfile_name(pg_current_wal_lsn())')
kill -CONT "$worker"
q 'SELECT widetable.flush()' >/dev/null
# no ordinary commit follows; the server goes down at once
stop fast; start
archive

# restore NAME LINE...: a server that recovers the base backup with these settings
restore() {
	r=$T/data.$1; shift
	cp -a "$T/data.base" "$r"
	printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "archive_mode = off" "$@" >>"$r/postgresql.conf"
	touch "$r/recovery.signal"
	second "$r" || { echo "not ok - the server recovers"; BAD=1; }
}
promoted() { for _ in $(seq 100); do [ "$(there "$r" 'SELECT pg_is_in_recovery()')" = f ] && return; sleep 0.1; done; echo "not ok - the recovery ends"; BAD=1; tail -n 5 "$r.log"; }
gone() { stop_second "$r" immediate; rm -rf "$r"; }
state="SELECT (SELECT count(*) FROM lone WHERE n < 2000), (SELECT count(*) FROM lone WHERE n BETWEEN 2001 AND 3000), (SELECT count(*) FROM big), (SELECT max(n) FROM lone)"

# ---- by time, amid a load: rows of either kind up to the target, to the row
restore load "recovery_target_time = '$t_load'" "recovery_target_action = promote"
promoted
is "$(there "$r" "SELECT (SELECT max(n) FROM o), (SELECT max(n) FROM w), (SELECT count(*) FROM o) - (SELECT count(*) FROM w), (SELECT count(*) FROM lone)")" "199|199|0|0" \
	"target_time amid a load: ordinary and wide rows end at the same one"
is "$(there "$r" 'SELECT * FROM widetable.verify()')" "" "target_time amid a load: verify() finds no problem"
gone

# ---- by time, between commits to wide tables alone
restore gap "recovery_target_time = '$t_gap'" "recovery_target_action = promote"
promoted
is "$(there "$r" "$state")" "500|0|0|1200" "target_time between wide commits: what was committed before is there, and nothing else"
# what was left out stays so, whatever is configured later
there "$r" 'INSERT INTO lone VALUES (9999)' >/dev/null
stop_second "$r" immediate
sed -i '/^recovery_target/d' "$r/postgresql.conf"
second "$r"
is "$(there "$r" "$state")" "500|0|0|9999" "... also after a crash, without the setting"
gone
restore gap2 "recovery_target_time = '$t_gap2'" "recovery_target_action = promote"
promoted
is "$(there "$r" "$state")" "500|100|20000|2100" "target_time behind a large transaction: it is there"
gone

# ---- the server goes down before the store is opened
for how in fast immediate; do
	restore "unopened.$how" "recovery_target_time = '$t_gap'" "recovery_target_action = promote" "widetable.workers = 0"
	promoted
	stop_second "$r" $how
	sed -i '/^recovery_target/d' "$r/postgresql.conf"
	second "$r"
	is "$(there "$r" "$state")" "500|0|0|1200" "target_time, then $how shutdown before anybody has used a wide table: it counts all the same"
	gone
done

# ---- the last wide commits of a server that went down
restore exact "recovery_target_time = '$t_exact'" "recovery_target_action = promote"
promoted
is "$(there "$r" "$state")" "500|100|20000|3049" "target_time among the last commits, which no ordinary commit follows"
gone

# ---- pause: nothing behind the target is kept, so that a later target finds it
restore pause "recovery_target_time = '$t_gap'" "recovery_target_action = pause"
for _ in $(seq 100); do [ "$(there "$r" "SELECT pg_get_wal_replay_pause_state()")" = paused ] && break; sleep 0.1; done
is "$(there "$r" "SELECT pg_get_wal_replay_pause_state(), (SELECT count(*) FROM o)")" "paused|400" "the recovery pauses at the target"
there "$r" CHECKPOINT 'SELECT pg_sleep(1)' >/dev/null
stop_second "$r"
printf '%s\n' "recovery_target_time = '$t_gap2'" "recovery_target_action = promote" >>"$r/postgresql.conf"
second "$r"
promoted
is "$(there "$r" "$state")" "500|100|20000|2100" "paused, then a later target: everything up to that is there"
gone

# ---- without preloading the target may not be known
restore plain "recovery_target_time = '$t_gap'" "recovery_target_action = promote" "shared_preload_libraries = ''"
promoted
like "$(there "$r" "$state")" '^500\||WAL that wide tables need is missing' "target_time without preloading: nothing from before it is left out"
gone
# the keeper has not caught up when recovery ends: it goes on leaving out
touch "$T/hold"
restore lag "recovery_target_time = '$t_lag'" "recovery_target_action = promote" "shared_preload_libraries = ''" "recovery_prefetch = off" \
	"restore_command = 'while [ %f = $segment ] && [ -e $T/hold ]; do sleep 0.1; done; cp $T/archive/%f %p'"
there "$r" "LOAD 'widetable'" 'SELECT count(*) FROM lone' >/dev/null
there_keeper="SELECT pid FROM pg_stat_activity WHERE backend_type = 'widetable keeper'"
for _ in $(seq 50); do keeper=$(there "$r" "$there_keeper"); [ -n "$keeper" ] && break; sleep 0.1; done
sleep 1.5
kill -STOP "$keeper"
rm "$T/hold"
promoted
kill -CONT "$keeper"
is "$(there "$r" "SELECT count(*) FROM lone WHERE n > 4000")" "0" "target_time without preloading, and the keeper lags: nothing beyond it is there"
gone
restore nohot "recovery_target_time = '$t_gap'" "recovery_target_action = promote" "hot_standby = off"
promoted
is "$(there "$r" "$state")" "500|0|0|1200" "target_time with hot_standby = off"
gone

# ---- the other kinds of targets
restore xid "recovery_target_xid = '$xid'" "recovery_target_action = promote"
promoted
like "$(there "$r" "SELECT (SELECT count(*) FROM w WHERE n = 1001), (SELECT max(n) FROM lone)")" '^1\|1001$' "target_xid, inclusive: the transaction is there, the next is not"
gone
restore xid2 "recovery_target_xid = '$xid'" "recovery_target_inclusive = off" "recovery_target_action = promote"
promoted
is "$(there "$r" "SELECT (SELECT count(*) FROM w WHERE n = 1001), (SELECT max(n) FROM lone)")" "0|300" "target_xid, exclusive: neither is there"
gone
restore name "recovery_target_name = 'name'" "recovery_target_action = promote"
promoted
is "$(there "$r" "SELECT max(n) FROM lone")" "1100" "target_name"
gone
restore lsn "recovery_target_lsn = '$lsn'" "recovery_target_inclusive = off" "recovery_target_action = promote"
promoted
is "$(there "$r" "SELECT max(n) FROM lone")" "1100" "target_lsn, exclusive"
gone

# ---- a delayed standby holds wide rows back too, and so can be used to undo a mistake
"$BIN/pg_basebackup" -D "$T/data.late" -R -c fast --no-sync 2>&1
r=$T/data.late
printf '%s\n' "recovery_min_apply_delay = '4s'" "archive_mode = off" "restore_command = 'cp $T/archive/%f %p'" >>"$r/postgresql.conf"
second "$r"
alone 5001 5100
sleep 5
caught=$(there "$r" "SELECT extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) < 20")
is "$caught" "t" "replay lag by timestamp: it advances with wide commits alone"
there "$r" "ALTER SYSTEM SET recovery_min_apply_delay = '1h'" 'SELECT pg_reload_conf()' >/dev/null
sleep 1; t_mistake=$(now); sleep 0.3
q 'DELETE FROM lone WHERE n > 5050' 'SELECT pg_sleep(2.5)' 'CHECKPOINT' 'SELECT pg_switch_wal()' >/dev/null
lsn=$(q 'SELECT pg_current_wal_lsn()')
for _ in $(seq 50); do [ "$(there "$r" "SELECT pg_last_wal_receive_lsn() >= '$lsn'")" = t ] && break; sleep 0.1; done
there "$r" CHECKPOINT 'SELECT pg_sleep(1)' >/dev/null
stop_second "$r"
printf '%s\n' "recovery_min_apply_delay = 0" "recovery_target_time = '$t_mistake'" "recovery_target_action = promote" >>"$r/postgresql.conf"
sed -i /recovery_min/d "$r/postgresql.auto.conf"
second "$r"
promoted
is "$(there "$r" 'SELECT count(*), max(n) FROM lone WHERE n > 5000')" "100|5100" "a delayed standby, stopped and recovered to before a mistake, has not got the mistake"
finish
