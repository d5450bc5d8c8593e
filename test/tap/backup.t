# backup: a base backup that is taken under load restores to a consistent state.  Wide and ordinary
# tables agree, every commit from before the backup is there, and verify() finds no problem.  Tried
# with pg_basebackup and by copying the directory with point-in-time recovery.  Takes about 20
# seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "archive_mode = on" \
	"archive_command = 'cp %p $T/archive/%f'" "wal_level = replica" "max_wal_size = 64MB" "min_wal_size = 32MB"
mkdir "$T/archive"
q 'CREATE EXTENSION widetable' \
	'CREATE TABLE h (k int PRIMARY KEY, n int)' 'CREATE TABLE hlog (client int, n int)' \
	"CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE wlog (client int, n int, at timestamptz) SERVER widetable OPTIONS (key 'client, n')" \
	"CREATE FOREIGN TABLE lone (n int, v int) SERVER widetable OPTIONS (key 'n')" \
	"CREATE FOREIGN TABLE big (i int, n int, v text) SERVER widetable OPTIONS (key 'i, n')" 'CREATE TABLE bigs (i int)' \
	'INSERT INTO h SELECT g, 1000 FROM generate_series(1, 50) g' \
	"INSERT INTO w SELECT g, 1000, repeat('x', 100) FROM generate_series(1, 50) g" >/dev/null

# ---- the load runs until the file "stop" exists
# transfers CLIENT: moves amounts between an ordinary and a wide row and logs each transfer in a
# table of either kind
transfers() {
	i=0
	while [ ! -e "$T/stop" ]; do
		for j in 1 2 3 4 5 6 7 8 9 10; do i=$((i + 1)); echo "BEGIN;
UPDATE h SET n = n - 1 WHERE k = $((i * 7 % 50 + 1)); UPDATE w SET n = n + 1, pad = repeat('$1', 200) WHERE k = $((i * 11 % 50 + 1));
INSERT INTO hlog VALUES ($1, $i); INSERT INTO wlog VALUES ($1, $i, now());
COMMIT;"; done
	done | "$BIN/psql" -Xq >"$T/transfers.$1" 2>&1
}
# transactions that write a wide table only
alone() { i=0; while [ ! -e "$T/stop" ]; do i=$((i + 1)); echo "INSERT INTO lone VALUES ($i, $i);"; done | "$BIN/psql" -Xq >"$T/alone" 2>&1; }
# transactions larger than a memtable
large() { i=0; while [ ! -e "$T/stop" ]; do i=$((i + 1)); q 'BEGIN' "INSERT INTO bigs VALUES ($i)" "INSERT INTO big SELECT $i, g, md5(g::text) FROM generate_series(1, 8000) g" 'COMMIT'; done >"$T/large" 2>&1; }
# creates and removes sorted files
churn() { while [ ! -e "$T/stop" ]; do q 'SELECT widetable.flush()' 'SELECT pg_sleep(0.05)' 'SELECT widetable.compact()' 'CHECKPOINT' >"$T/churn" 2>&1; done; }
begin_load() { rm -f "$T/stop"; transfers 1 & transfers 2 & alone & large & churn & sleep 0.7; }
end_load() { touch "$T/stop"; wait; grep -h 'ERROR\|FATAL' "$T"/transfers.* "$T/alone" "$T/churn" "$T/large" | sort | uniq -c; }

# ---- the invariants
same="SELECT (SELECT sum(n) FROM h) + (SELECT sum(n) FROM w), (SELECT count(*) FROM hlog) = (SELECT count(*) FROM wlog),
 (SELECT count(*) FROM hlog LEFT JOIN wlog USING (client, n) WHERE at IS NULL),
 (SELECT count(*) = max(n) FROM lone), (SELECT count(*) FROM lone WHERE n <> v),
 (SELECT count(*) FROM bigs) = (SELECT count(DISTINCT i) FROM big), (SELECT count(*) * 8000 FROM bigs) = (SELECT count(*) FROM big)"
# promised DIR PREFIX: checks them on the server in DIR
promised() {
	is "$(there "$1" "$same")" "100000|t|0|t|0|t|t" "$2: wide and ordinary tables agree"
	like "$(there "$1" "SELECT (SELECT count(*) FROM hlog) >= $before_h, (SELECT max(n) FROM lone) >= $before_w")" '^t\|t$' "$2: everything committed before the backup is there"
	is "$(there "$1" 'SELECT * FROM widetable.verify()')" "" "$2: verify() finds no problem"
}
note_before() { before_h=$(q 'SELECT count(*) FROM hlog'); before_w=$(q 'SELECT coalesce(max(n), 0) FROM lone'); }

# ---- pg_basebackup
for way in stream; do
	begin_load
	note_before
	"$BIN/pg_basebackup" -D "$T/data.$way" -X $way -c fast --no-sync --max-rate=20M 2>"$T/err"
	ok $? "pg_basebackup -X $way succeeds"
	cat "$T/err"
	end_load
	second "$T/data.$way"
	promised "$T/data.$way" "$way"
	is "$(there "$T/data.$way" "SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'widetable' AND restart_lsn IS NOT NULL")" "1" "$way: the restored server creates its own replication slot"
	there "$T/data.$way" 'UPDATE w SET n = n + 1' 'UPDATE h SET n = n - 1' >/dev/null
	stop_second "$T/data.$way" immediate; second "$T/data.$way"
	promised "$T/data.$way" "$way, after a crash"
	stop_second "$T/data.$way"
	rm -rf "$T/data.$way"
	q 'TRUNCATE hlog' 'TRUNCATE wlog' 'TRUNCATE lone' 'TRUNCATE big' 'TRUNCATE bigs' >/dev/null
done

# ---- pg_backup_start, cp, pg_backup_stop; recovery from the archive to a named point
begin_load
note_before
cat >"$T/copy.sh" <<COPY
cd $T/data && mkdir $T/data.cp && chmod 700 $T/data.cp
for f in *; do case \$f in pg_wal|pg_replslot|postmaster.*) ;; *) cp -a \$f $T/data.cp/ 2>/dev/null; sleep 0.1 ;; esac; done
mkdir -p $T/data.cp/pg_wal/archive_status $T/data.cp/pg_replslot; true
COPY
printf '%s\n' "SELECT 'started' FROM pg_backup_start('by hand', true);" "\\! sh $T/copy.sh" "\\o $T/data.cp/backup_label" \
	"SELECT labelfile FROM pg_backup_stop();" '\o' | "$BIN/psql" -XqAt >"$T/hand" 2>&1
like "$(cat "$T/hand")" 'started' "pg_backup_start, cp and pg_backup_stop succeed"
sleep 1
q "SELECT pg_create_restore_point('here')" >/dev/null
sleep 0.5
end_load
q "INSERT INTO lone VALUES (-1, -1)" 'SELECT pg_switch_wal()' 'SELECT pg_sleep(1)' >/dev/null
rm -rf "$T/data.cp2"; cp -a "$T/data.cp" "$T/data.cp2"
pitr() { printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "archive_mode = off" "recovery_target_name = 'here'" "recovery_target_action = 'promote'" >>"$1/postgresql.conf"; touch "$1/recovery.signal"; second "$1"; }
pitr "$T/data.cp"
for _ in $(seq 20); do [ "$(there "$T/data.cp" 'SELECT pg_is_in_recovery()')" = f ] && break; sleep 0.2; done
promised "$T/data.cp" "point in time"
is "$(there "$T/data.cp" 'SELECT count(*) FROM lone WHERE n < 0')" "0" "point in time: nothing later than the restore point is there"
stop_second "$T/data.cp"

# ---- without preloading, recovery may remove WAL that the store needs: then reads fail with a hint
sed -i '/^shared_preload_libraries/d' "$T/data.cp2/postgresql.conf"
pitr "$T/data.cp2"
sleep 1
out=$(there "$T/data.cp2" "$same" | tr '\n' ' ')
like "$out" '^100000\|t\|0\|t\|0\|t\|t $|WAL that wide tables need is missing.*shared_preload_libraries' "not preloaded: all rows are there, or an error names the setting that helps"
finish
