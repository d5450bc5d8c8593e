# timelines: recovery to a point before an earlier recovery has ended.  The history of the new
# timeline is not in order then: the timeline before the last one was left later than the last one
# begins.  What was committed after the point does not come back.  Takes about 15 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "archive_mode = on" "archive_command = 'cp %p $T/archive/%f'" "wal_keep_size = 512MB"
mkdir "$T/archive"
q 'CREATE EXTENSION widetable' 'CREATE TABLE o (n int)' "CREATE FOREIGN TABLE w (n int, v int) SERVER widetable OPTIONS (key 'n')" >/dev/null
"$BIN/pg_basebackup" -D "$T/data.base" -c fast --no-sync 2>&1
# both FROM TO: an ordinary row, a wide row, and both in one transaction
both() { for i in $(seq "$1" "$2"); do echo "INSERT INTO o VALUES ($i); INSERT INTO w VALUES ($i, 1); BEGIN; INSERT INTO w VALUES (-$i, 1); INSERT INTO o VALUES (-$i); COMMIT;"; done | "$BIN/psql" -Xq 2>&1; }
both 1 10; q 'SELECT pg_switch_wal()' >/dev/null
both 11 20; q "SELECT pg_create_restore_point('early')" >/dev/null
both 21 60; q 'SELECT pg_switch_wal()' >/dev/null
both 61 70; q "SELECT pg_create_restore_point('late')" >/dev/null
both 71 80
stop fast; start
archive
stop immediate

# restore NAME TARGET LINE...: recovers the base backup up to the restore point
restore() {
	r=$T/data.$1; target=$2; shift 2
	cp -a "$T/data.base" "$r"
	printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "recovery_target_name = '$target'" "recovery_target_action = promote" "$@" >>"$r/postgresql.conf"
	touch "$r/recovery.signal"
	go "$r"
}
# go DIR: starts a server and waits for the end of its recovery: without hot standby pg_ctl does not,
# also if it recovers from a crash
go() {
	second "$1" || { echo "not ok - the server recovers"; BAD=1; }
	for _ in $(seq 300); do [ "$(there "$1" 'SELECT pg_is_in_recovery()')" = f ] && return; sleep 0.1; done
	echo "not ok - the recovery ends"; BAD=1
}
state='SELECT pg_control_checkpoint.timeline_id, (SELECT max(n) FROM o), (SELECT max(n) FROM w), (SELECT count(*) FROM o) - (SELECT count(*) FROM w) FROM pg_control_checkpoint()'
restore one late
there "$r" CHECKPOINT >/dev/null
is "$(there "$r" "$state")" "2|70|70|0" "the first recovery ends at its target"
for _ in $(seq 50); do [ -e "$T/archive/00000002.history" ] && break; sleep 0.1; done
stop_second "$r" immediate
for how in "hot_standby = off" "hot_standby = on"; do
	restore two early "$how" "archive_mode = off"
	there "$r" CHECKPOINT >/dev/null
	is "$(there "$r" "$state")" "3|20|20|0" "$how: a recovery to an earlier point ends at its target"
	there "$r" 'INSERT INTO w VALUES (1000, 1)' 'INSERT INTO o VALUES (1000)' >/dev/null
	stop_second "$r" immediate; go "$r"
	is "$(there "$r" "$state")" "3|1000|1000|0" "$how: ... also after a crash"
	is "$(there "$r" 'SELECT * FROM widetable.verify()')" "" "$how: verify() finds no problem"
	stop_second "$r" immediate; rm -rf "$r"
done
finish
