# standby_backup: a base backup of a standby, taken while the primary writes and both servers flush,
# needs no WAL from before the backup.  Started as a primary or as a standby the copy has what the
# standby had, wide and ordinary tables agree, and verify() finds no problem; also if the standby's
# worker cannot flush when the backup begins.  Takes about 40 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "max_wal_size = 64MB" "min_wal_size = 32MB"
q 'CREATE EXTENSION widetable' 'CREATE TABLE hlog (client int, n int)' \
	"CREATE FOREIGN TABLE wlog (client int, n int, pad text) SERVER widetable OPTIONS (key 'client, n')" \
	"CREATE FOREIGN TABLE lone (n int, v int) SERVER widetable OPTIONS (key 'n')" \
	"CREATE FOREIGN TABLE big (i int, n int, v text) SERVER widetable OPTIONS (key 'i, n')" 'CREATE TABLE bigs (i int)' >/dev/null
"$BIN/pg_basebackup" -D "$T/data.s" -R -c fast --no-sync 2>&1
second "$T/data.s"

# ---- the load on the primary runs until the file "stop" exists
transfers() {	# CLIENT: a row in a table of either kind
	i=0
	while [ ! -e "$T/stop" ]; do
		for j in 1 2 3 4 5 6 7 8 9 10; do i=$((i + 1)); echo "BEGIN; INSERT INTO hlog VALUES ($1, $i); INSERT INTO wlog VALUES ($1, $i, repeat('x', 500)); COMMIT;"; done
	done | "$BIN/psql" -Xq >"$T/transfers.$1" 2>&1
}
alone() { i=0; while [ ! -e "$T/stop" ]; do i=$((i + 1)); echo "INSERT INTO lone VALUES ($i, $i);"; done | "$BIN/psql" -Xq >"$T/alone" 2>&1; }
large() { i=0; while [ ! -e "$T/stop" ]; do i=$((i + 1)); q 'BEGIN' "INSERT INTO bigs VALUES ($i)" "INSERT INTO big SELECT $i, g, md5(g::text) FROM generate_series(1, 8000) g" 'COMMIT'; done >"$T/large" 2>&1; }
churn() { while [ ! -e "$T/stop" ]; do q 'SELECT widetable.flush()' 'SELECT pg_sleep(0.05)' 'SELECT widetable.compact()' 'CHECKPOINT' >"$T/churn" 2>&1; done; }
begin_load() { rm -f "$T/stop"; q 'TRUNCATE hlog' 'TRUNCATE wlog' 'TRUNCATE lone' 'TRUNCATE big' 'TRUNCATE bigs' >/dev/null; transfers 1 & transfers 2 & alone & large & churn & }
end_load() { touch "$T/stop"; wait; grep -h 'ERROR\|FATAL' "$T"/transfers.* "$T/alone" "$T/churn" "$T/large" | sort | uniq -c; }
# await_there DIR PATTERN SQL
await_there() { for _ in $(seq 300); do there "$1" "$3" | grep -qE -- "$2" && return 0; sleep 0.1; done; return 1; }

same="SELECT (SELECT count(*) FROM hlog) = (SELECT count(*) FROM wlog), (SELECT count(*) FROM hlog LEFT JOIN wlog USING (client, n) WHERE pad IS NULL),
 (SELECT count(*) = coalesce(max(n), 0) FROM lone), (SELECT count(*) FROM lone WHERE n <> v),
 (SELECT count(*) FROM bigs) = (SELECT count(DISTINCT i) FROM big), (SELECT count(*) * 8000 FROM bigs) = (SELECT count(*) FROM big)"
# backup NAME OPTION...: a base backup of the standby; what it had before that must be in the copy
backup() {
	name=$1; shift
	before_h=$(there "$T/data.s" 'SELECT count(*) FROM hlog'); before_w=$(there "$T/data.s" 'SELECT coalesce(max(n), 0) FROM lone')
	PGHOST=$T/data.s.s "$BIN/pg_basebackup" -D "$T/data.$name" -X stream -c fast --no-sync "$@" 2>"$T/err.$name"
	backup_=$?
}
# alone_now NAME: the copy of a standby is one too; this makes it a primary
alone_now() { rm -f "$T/data.$1/standby.signal" "$T/data.$1/postgresql.auto.conf"; }
# promised NAME TITLE RECOVERS: starts the copy and checks it
promised() {
	ok "$backup_" "$2: pg_basebackup succeeds"
	[ "$backup_" = 0 ] || sed 's/^/#   /' "$T/err.$1"
	second "$T/data.$1"
	await_there "$T/data.$1" "^$3\$" 'SELECT pg_is_in_recovery()'; ok $? "$2: the copy has started"
	is "$(there "$T/data.$1" "$same")" "t|0|t|0|t|t" "$2: wide and ordinary tables agree"
	is "$(there "$T/data.$1" "SELECT (SELECT count(*) FROM hlog) >= $before_h, (SELECT coalesce(max(n), 0) FROM lone) >= $before_w")" "t|t" "$2: everything that the standby had is there"
	is "$(there "$T/data.$1" 'SELECT * FROM widetable.verify()')" "" "$2: verify() finds no problem"
}
drop() { stop_second "$T/data.$1" immediate; rm -rf "$T/data.$1"; }

# ---- as a primary, with the WAL of the backup alone
begin_load
await_there "$T/data.s" '^t$' 'SELECT count(*) > 100 FROM hlog' || echo "not ok - the standby follows"
for n in 1 2 3; do
	backup p$n; alone_now p$n
	promised p$n "primary $n" f
	[ $n != 3 ] || is "$(there "$T/data.p$n" "INSERT INTO lone VALUES (-1, -1)" 'SELECT v FROM lone WHERE n = -1')" "-1" "primary: the copy can be written"
	drop p$n
done

# ---- as a standby of the primary
backup c -R
promised c "standby" t
end_load
want=$(q 'SELECT (SELECT count(*) FROM hlog), (SELECT count(*) FROM wlog), (SELECT count(*) FROM lone), (SELECT count(*) FROM big)')
lsn=$(q 'SELECT pg_current_wal_lsn()')
await_there "$T/data.c" '^t$' "SELECT pg_last_wal_replay_lsn() >= '$lsn'"; ok $? "standby: it catches up"
is "$(there "$T/data.c" 'SELECT (SELECT count(*) FROM hlog), (SELECT count(*) FROM wlog), (SELECT count(*) FROM lone), (SELECT count(*) FROM big)')" "$want" "standby: it has what the primary has"
drop c

# ---- the worker of the standby is stopped, and what it would flush is only in WAL from before the
# backup: the restartpoint of the backup waits for the flush
await_there "$T/data.s" '^t$' 'SELECT worker_pid > 0 FROM widetable.pg_stat_widetable_health'
pid=$(there "$T/data.s" 'SELECT worker_pid FROM widetable.pg_stat_widetable_health')
kill -STOP "$pid"
for n in 1 2 3; do q "INSERT INTO wlog SELECT 7, g, 'late' FROM generate_series($n, 1000, 3) g" "INSERT INTO hlog SELECT 7, g FROM generate_series($n, 1000, 3) g" 'SELECT pg_switch_wal()' >/dev/null; done
q CHECKPOINT >/dev/null
lsn=$(q 'SELECT pg_current_wal_lsn()')
await_there "$T/data.s" '^t$' "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
(backup w; echo $backup_ "$before_h" "$before_w" >"$T/backup.w") &
copy=$!
# until the restartpoint waits, or the copy is made
for _ in $(seq 600); do
	[ ! -e "$T/backup.w" ] || break
	[ "$(there "$T/data.s" "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'checkpointer' AND wait_event = 'ReplicationSlotIO'")" = 0 ] || break
	sleep 0.05
done
ok "$([ ! -e "$T/backup.w" ]; echo $?)" "a worker that is stopped: the restartpoint of a backup waits for the flush"
kill -CONT "$pid"
wait $copy
read -r backup_ before_h before_w <"$T/backup.w"
alone_now w
promised w "a worker that is stopped" f
drop w
stop_second "$T/data.s"
finish
