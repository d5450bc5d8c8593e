# standby_faults: standbys that pause, wait, lose a process, cannot follow, have other settings, fall
# back to an archive, or are promoted under readers.  Takes about 30 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/standbys.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "wal_keep_size = 512MB" "autovacuum = off" \
	"archive_mode = on" "archive_command = 'cp %p $T/archive/%f'"
mkdir "$T/archive"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int PRIMARY KEY)' "CREATE FOREIGN TABLE w (k int, n int) SERVER widetable OPTIONS (key 'k')" \
	'INSERT INTO w SELECT g, g FROM generate_series(1, 1000) g' >/dev/null
"$BIN/pg_basebackup" -D "$T/data.pitr" -c fast --no-sync 2>&1
add() { q BEGIN "INSERT INTO h VALUES ($1)" "INSERT INTO w VALUES ($1, $1)" COMMIT; }
both='SELECT (SELECT count(*) FROM h), (SELECT count(*) FROM w WHERE k > 1000), (SELECT max(k) FROM w)'
archived() { await 60 '^0$' "SELECT count(*) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'"; }
make_standby one

# ---- pause and resume
replayed one
on one 'SELECT pg_wal_replay_pause()' >/dev/null
await_on one 10 '^paused$' 'SELECT pg_get_wal_replay_pause_state()'
add 1001
await 30 '^t$' 'SELECT flush_lsn >= pg_current_wal_flush_lsn() FROM pg_stat_replication'
is "$(on one "$both")" "0|0|1000" "paused: the state of that moment"
on one 'SELECT pg_wal_replay_resume()' >/dev/null
replayed one
is "$(on one "$both")" "1|1|1001" "resumed: what came meanwhile"

# ---- processes that end
# process NAME: its process number, once it runs
process() { await_on one 60 '^[1-9]' "SELECT ${1}_pid FROM widetable.pg_stat_widetable_health" && on one "SELECT ${1}_pid FROM widetable.pg_stat_widetable_health"; }
ends() { # HOW NAME
	pid=$(process "$2")
	case $1 in
		killed) kill -9 "$pid" ;;	# the postmaster ends all processes and recovers
		*) on one "SELECT pg_terminate_backend($pid, 10000)" >/dev/null ;;
	esac
	await_on one 60 '^t$' "SELECT ${2}_pid <> $pid FROM widetable.pg_stat_widetable_health"
	ok $? "the $2 is $1 and comes back"
	n=$((n + 1))
	add $n
	replayed one
	is "$(on one 'SELECT max(k) FROM w')" "$n" "reads go on"
}
n=1001
ends terminated worker
ends terminated keeper
ends killed worker
ends killed keeper
sed -i '/terminated by signal 9/d' "$T/data.one.log"

# ---- hot_standby = off, then on
stop_second "$T/data.one"
echo 'hot_standby = off' >>"$T/data.one/postgresql.conf"
mkdir -p "$T/data.one.s"
"$BIN/pg_ctl" -D "$T/data.one" -l "$T/data.one.log" -W -o "-c unix_socket_directories=$T/data.one.s" start >/dev/null 2>&1 </dev/null
n=$((n + 1)); add $n
lsn=$(mark)
await 60 '^t$' "SELECT replay_lsn >= '$lsn' FROM pg_stat_replication"
ok $? "hot_standby = off: it replays"
stop_second "$T/data.one"
sed -i '/^hot_standby = off/d' "$T/data.one/postgresql.conf"
second "$T/data.one"
replayed one
is "$(on one 'SELECT max(k) FROM w')" "$n" "hot_standby = on again: it is read"

# ---- other settings
stop_second "$T/data.one"
echo 'widetable.workers = 0' >>"$T/data.one/postgresql.conf"
second "$T/data.one"
replayed one
like "$(VERBOSITY=verbose on one 'SELECT max(k) FROM w')" 'ERROR:  55000' "workers = 0: reads fail"
is "$(on one 'SELECT count(*) > 0 FROM h')" "t" "and ordinary tables are read"
stop_second "$T/data.one"
sed -i '/^widetable.workers/d' "$T/data.one/postgresql.conf"
printf '%s\n' "widetable.memtable_size = '256kB'" "widetable.block_cache_size = '1MB'" >>"$T/data.one/postgresql.conf"
second "$T/data.one"
q "INSERT INTO w SELECT g, g FROM generate_series(100001, 130000) g" "UPDATE w SET n = n + 1 WHERE k > 100000" "DELETE FROM w WHERE k > 120000" >/dev/null
replayed one
is "$(on one 'SELECT count(*), sum(n) FROM w')" "$(q 'SELECT count(*), sum(n) FROM w')" "less memory: the same rows"
q 'DELETE FROM w WHERE k > 100000' >/dev/null

# ---- a log that cannot be followed
replayed one
keeper=$(on one 'SELECT keeper_pid FROM widetable.pg_stat_widetable_health')
mv "$T/data.one/widetable" "$T/data.one/away"
on one "SELECT pg_terminate_backend($keeper, 10000)" >/dev/null
n=$((n + 1)); add $n
replayed one
await_on one 30 '^missing.the store of widetable is missing' 'SELECT state, last_error FROM widetable.pg_stat_widetable_health'
ok $? "the health view shows a store that is missing, with the reason"
like "$(VERBOSITY=verbose on one 'SELECT max(k) FROM w')" 'ERROR:  (55000|58P01)' "reads fail and do not hang"
like "$(cat "$T/data.one.log")" 'the store of widetable is missing' "the log says it"
is "$(on one "SELECT max(k) FROM h")" "$n" "ordinary tables are read"
mv "$T/data.one/away" "$T/data.one/widetable"
await_on one 60 "^$n\$" 'SELECT max(k) FROM w'
ok $? "the directory is back: tables are read again"
await_on one 30 '^following$' 'SELECT state FROM widetable.pg_stat_widetable_health'
ok $? "and the state is following"
# records that cannot be applied: files cannot be made
replayed one
if [ "$(id -u)" != 0 ]; then
	chmod 500 "$T/data.one/widetable"
	q "INSERT INTO w SELECT g, g FROM generate_series(100001, 140000) g" >/dev/null
	lsn=$(mark)
	await_on one 60 '^t$' "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
	await_on one 60 '^failed\|.*[Pp]ermission' 'SELECT state, last_error FROM widetable.pg_stat_widetable_health'
	like "$(on one 'SELECT state, last_error FROM widetable.pg_stat_widetable_health')" '^failed\|.*[Pp]ermission' "a file that cannot be written: the state is failed, with the reason"
	like "$(VERBOSITY=verbose on one 'SELECT max(k) FROM w')" 'ERROR:  55000' "reads fail with 55000"
	like "$(cat "$T/data.one.log")" 'WARNING:.*(follow|read|wide)' "the log has a warning"
	chmod 700 "$T/data.one/widetable"
	await_on one 60 '^following' 'SELECT state FROM widetable.pg_stat_widetable_health'
	ok $? "it is tried again"
	replayed one
	is "$(on one 'SELECT count(*), sum(n) FROM w')" "$(q 'SELECT count(*), sum(n) FROM w')" "and nothing is lost"
	q 'DELETE FROM w WHERE k > 100000' >/dev/null
fi

# ---- a delayed standby
stop_second "$T/data.one"
echo "recovery_min_apply_delay = '1h'" >>"$T/data.one/postgresql.conf"
q 'INSERT INTO w VALUES (2001, 1)' >/dev/null
second "$T/data.one"
q 'INSERT INTO w VALUES (2002, 2)' >/dev/null
await 30 '^t$' 'SELECT flush_lsn >= pg_current_wal_flush_lsn() FROM pg_stat_replication'
is "$(on one 'SELECT count(*) FROM w WHERE k = 2002')" "0" "delayed: a commit to wide tables alone is held back, and reads do not wait"
add 2003
await 30 '^t$' 'SELECT flush_lsn >= pg_current_wal_flush_lsn() FROM pg_stat_replication'
is "$(on one 'SELECT (SELECT count(*) FROM h WHERE k = 2003), (SELECT count(*) FROM w WHERE k = 2003)')" "0|0" "delayed: a commit to both"
sed -i '/^recovery_min_apply_delay/d' "$T/data.one/postgresql.conf"
on one 'SELECT pg_reload_conf()' >/dev/null
replayed one
await_on one 30 '^2\|1$' 'SELECT (SELECT count(*) FROM w WHERE k IN (2002, 2003)), (SELECT count(*) FROM h WHERE k = 2003)'
is "$(on one 'SELECT (SELECT count(*) FROM w WHERE k IN (2002, 2003)), (SELECT count(*) FROM h WHERE k = 2003)')" "2|1" "no delay any more"

# ---- archive recovery that pauses
q "SELECT pg_create_restore_point('here')" 'INSERT INTO w VALUES (3001, 1)' 'SELECT pg_switch_wal()' >/dev/null
want=$(q 'SELECT count(*) - 1, sum(n) - 1 FROM w')
archived
printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "archive_mode = off" "recovery_target_name = 'here'" "recovery_target_action = 'pause'" >>"$T/data.pitr/postgresql.conf"
touch "$T/data.pitr/recovery.signal"
second "$T/data.pitr"
await_on pitr 60 '^paused$' 'SELECT pg_get_wal_replay_pause_state()'
ok $? "recovery pauses at its target"
is "$(on pitr 'SELECT count(*), sum(n) FROM w')" "$want" "paused at the target: wide tables are read"
on pitr 'SELECT pg_wal_replay_resume()' >/dev/null
await_on pitr 60 '^f$' 'SELECT pg_is_in_recovery()'
is "$(on pitr 'SELECT count(*), sum(n) FROM w' 'INSERT INTO w VALUES (3002, 1)' 'SELECT count(*) FROM w WHERE k > 3000')" "$want
1" "and written after it"
stop_second "$T/data.pitr"

# ---- a standby that falls back to the archive
stop_second "$T/data.one"
for i in 1 2 3; do q "INSERT INTO w VALUES (4000 + $i, $i)" 'SELECT pg_switch_wal()' >/dev/null; done
archived
printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "primary_conninfo = 'host=$T/nowhere'" >>"$T/data.one/postgresql.auto.conf"
second "$T/data.one"
await_on one 60 '^3$' 'SELECT count(*) FROM w WHERE k IN (4001, 4002, 4003)'
ok $? "from the archive alone"
sed -i '/nowhere/d' "$T/data.one/postgresql.auto.conf"
on one 'SELECT pg_reload_conf()' >/dev/null
q 'INSERT INTO w VALUES (4004, 4)' >/dev/null
replayed one
is "$(on one 'SELECT count(*) FROM w WHERE k IN (4001, 4002, 4003, 4004)')" "4" "streaming again"

# ---- promotion under readers
standby_session one reader 5
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR SELECT k FROM w ORDER BY k; FETCH 2 FROM c;" >&5
standby_session one other 6
echo "SELECT count(*) > 0 FROM w; DECLARE c CURSOR WITH HOLD FOR SELECT k FROM w ORDER BY k; FETCH 1 FROM c;" >&6
wait_output reader '^2$'; wait_output other '^1$'
count=$(on one 'SELECT count(*) FROM w')
promote one
is "$(on one "INSERT INTO w VALUES (5001, 1)" "DELETE FROM w WHERE k = 4" 'SELECT count(*) FROM w')" "$count" "promoted: the first write works"
echo "FETCH 2 FROM c; SELECT 'count', count(*) FROM w; COMMIT; SELECT 'now', count(*) FILTER (WHERE k = 4) FROM w; INSERT INTO w VALUES (5002, 1); SELECT 'wrote';" >&5
wait_output reader '^wrote$'
is "$(tr '\n' ' ' <"$T/reader.out")" "1 2 3 4 count|$count now|0 wrote " "promoted: an open cursor and its transaction keep their snapshot, then the session writes"
echo "FETCH 2 FROM c; SELECT 'now', count(*) FILTER (WHERE k = 4) FROM w; SELECT 'end';" >&6
wait_output other '^end$'
like "$(tr '\n' ' ' <"$T/other.out")" 'now\|0 end' "promoted: another session goes on"
exec 5>&- 6>&-
is "$(on one 'SELECT * FROM widetable.verify()')" "" "promoted: verify()"
no_crash one
finish
