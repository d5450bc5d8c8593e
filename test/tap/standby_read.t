# standby_read: a hot standby answers everything that reads wide tables as the primary does, and
# refuses everything that writes.  Takes about 20 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "max_parallel_workers_per_gather = 2" "timezone = UTC" "max_prepared_transactions = 2"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int PRIMARY KEY, n int)' \
	"CREATE FOREIGN TABLE w (k int, n int, pad text, f int OPTIONS (column 'g:f')) SERVER widetable OPTIONS (key 'k')" \
	"ALTER FOREIGN TABLE w OPTIONS (ADD versions '3')" \
	"CREATE FOREIGN TABLE wc (k int, family text, qualifier text, ts timestamptz, value bytea) SERVER widetable OPTIONS (key 'k', layout 'cells', table_name 'public.w')" \
	'INSERT INTO h SELECT g, g FROM generate_series(1, 3000) g' "INSERT INTO w SELECT g, g, repeat('x', 100), g % 7 FROM generate_series(1, 3000) g" \
	"SELECT widetable.flush()" 'ANALYZE w' 'ANALYZE h' 'CREATE ROLE reader LOGIN' >/dev/null
before=$(q 'SELECT now()')
q 'UPDATE w SET n = n + 10000 WHERE k % 5 = 0' 'DELETE FROM w WHERE k % 11 = 0' >/dev/null
"$BIN/pg_basebackup" -D "$T/data.one" -R -c fast --no-sync 2>&1
second "$T/data.one"
s() { there "$T/data.one" "$@"; }
caught_up() { lsn=$(q 'SELECT pg_current_wal_flush_lsn()'); for _ in $(seq 200); do [ "$(s "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && return; sleep 0.05; done; echo "not ok - the standby catches up"; BAD=1; }
# as WHAT SQL...: the standby returns what the primary returns, and that is no error
as() { what=$1; shift; want=$(q "$@"); case $want in *ERROR*|'') echo "not ok - $what: the primary returns $want"; BAD=1 ;; esac; is "$(s "$@")" "$want" "$what"; }
caught_up
par="SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0"
as "a point" 'SELECT * FROM w WHERE k = 25'
as "a range, backward, with a limit" 'SELECT k, n FROM w WHERE k BETWEEN 100 AND 900 ORDER BY k DESC LIMIT 7'
as "aggregates" 'SELECT count(*), sum(n), avg(f), min(k), max(k) FROM w' 'SELECT f, count(*) FROM w GROUP BY f ORDER BY f'
as "a join with an ordinary table" 'SELECT count(*), sum(w.n - h.n) FROM w JOIN h USING (k) WHERE h.k < 1500'
as "look-ups of a nested loop" 'SET enable_hashjoin = off; SET enable_mergejoin = off; SELECT sum(w.n) FROM h JOIN w ON w.k = h.k WHERE h.k < 50'
as "parallel plans" "$par; SELECT count(*), sum(n) FROM w WHERE pad LIKE '%x'"
like "$(s "$par; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT k FROM w WHERE n % 2 = 0")" 'Workers Launched: [12]' "parallel workers run"
like "$(s 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM w WHERE k < 100')" 'actual rows' "EXPLAIN ANALYZE"
as "layout cells" 'SELECT k, family, qualifier, value FROM wc WHERE k < 20 ORDER BY 1, 2, 3'
as "get, cells with versions" "SELECT widetable.get('w', 25)" "SELECT family, qualifier, ts, value FROM widetable.cells('w', 25, versions => 3)"
as "raw_cells" "SELECT family, qualifier, ts, kind, value FROM widetable.raw_cells('w', 22)"
as "as of a time" "SET widetable.as_of = '$before'; SELECT count(*), sum(n) FROM w"
as "a cursor, a cursor WITH HOLD" "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT k FROM w ORDER BY k; FETCH 3 FROM c; COMMIT; FETCH 3 FROM c"
is "$(s "SELECT count(*) FROM widetable.verify()")" 0 "verify"
is "$(s "SELECT widetable.table_size('w') > 0, count(*) <= 3 FROM widetable.split_keys('w', 4)")" "t|t" "table_size, split_keys"
for v in pg_stat_widetable pg_stat_widetable_tables pg_stat_widetable_files pg_stat_widetable_health pg_stat_widetable_databases; do
	is "$(s "SELECT count(*) > 0 FROM widetable.$v")" t "view $v"
done
for v in pg_stat_widetable_compactions pg_stat_widetable_progress pg_stat_widetable_locks; do
	like "$(s "SELECT count(*) FROM widetable.$v")" '^[0-9]+$' "view $v"
done
as "pg_size_pretty and regclass" "SELECT 'w'::regclass"
like "$("$BIN/pg_dump" -h "$T/data.one.s" --include-foreign-data=widetable -t w 2>&1 | grep -c 'xxxxx')" '^27[0-9][0-9]$' "pg_dump with data"
"$BIN/pg_dump" -h "$T/data.one.s" -Fd -j 2 -f "$T/dump" >"$T/dump.log" 2>&1
r=$?; ok $r "pg_dump in two connections"; [ $r = 0 ] || sed "s/^/#   /" "$T/dump.log"
like "$(PGUSER=reader s 'SELECT count(*) FROM w')" 'permission denied' "privileges hold"

# ---- one moment
(export PGHOST="$T/data.one.s"; session a 5 >/dev/null; session b 6 >/dev/null
	echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'first', count(*) FROM w; SELECT 'name', pg_export_snapshot();" >&5
	wait_output a '^name'
	name=$(sed -n 's/^name.//p' "$T/a.out")
	(unset PGHOST; export PGHOST="$T/s"; q 'DELETE FROM w WHERE k < 1000' 'DELETE FROM h WHERE k < 1000' 'SELECT widetable.compact()' >/dev/null)
	lsn=$(PGHOST=$T/s q 'SELECT pg_current_wal_flush_lsn()')
	for _ in $(seq 200); do [ "$(q "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && break; sleep 0.05; done
	q 'SELECT count(*) FROM w' >"$T/later"
	echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$name'; SELECT 'imported', count(*) FROM w; SELECT 'end';" >&6
	wait_output b '^end'
	echo "SELECT 'again', count(*) FROM w; COMMIT; SELECT 'end';" >&5
	wait_output a '^end'
	exec 5>&- 6>&-)
first=$(sed -n 's/^first.//p' "$T/a.out")
is "$(sed -n 's/^again.//p' "$T/a.out")" "$first" "REPEATABLE READ keeps its moment"
is "$(sed -n 's/^imported.//p' "$T/b.out")" "$first" "so does an exported snapshot"
is "$(cat "$T/later")" "$(q 'SELECT count(*) FROM w')" "other sessions see what came meanwhile"

# ---- a transaction that PostgreSQL has prepared, savepoints
q 'BEGIN' 'INSERT INTO h VALUES (-1, 1)' "PREPARE TRANSACTION 'p'" 'INSERT INTO w (k, n) VALUES (-1, 1)' "COMMIT PREPARED 'p'" 'INSERT INTO w (k, n) VALUES (-2, 1)' >/dev/null
q 'BEGIN' 'INSERT INTO h VALUES (-3, 1)' 'SAVEPOINT a' 'INSERT INTO w (k, n) VALUES (-3, 1), (-4, 1)' 'ROLLBACK TO a' 'INSERT INTO w (k, n) VALUES (-5, 1)' 'COMMIT' >/dev/null
caught_up
as "prepared transactions and savepoints" 'SELECT k FROM w WHERE k < 0 ORDER BY k' 'SELECT k FROM h WHERE k < 0 ORDER BY k'

# ---- what is committed with remote_apply is in the next statement
wrong=0 i=2000
while [ $i -lt 2020 ]; do
	i=$((i + 1))
	q "BEGIN" "UPDATE h SET n = n + 1 WHERE k = $i" "UPDATE w SET n = n + 1 WHERE k = $i" COMMIT >/dev/null
	caught_up
	[ "$(s "SELECT (SELECT n FROM h WHERE k = $i) % 10000 = (SELECT n FROM w WHERE k = $i) % 10000 OR NOT EXISTS (SELECT FROM w WHERE k = $i)")" = t ] || wrong=$((wrong + 1))
done
is $wrong 0 "wide and ordinary rows agree, commit after commit"

# ---- what writes
for c in "INSERT INTO w (k, n) VALUES (1, 1)" "UPDATE w SET n = 1" "DELETE FROM w" "COPY w (k, n) FROM '/dev/null'" "SELECT * FROM w WHERE k = 25 FOR UPDATE" "TRUNCATE w" "DROP FOREIGN TABLE w" \
	"SELECT widetable.increment('w', 25, 'n')" "SELECT widetable.put('w', 25, 'n', 1)" "SELECT widetable.append('w', 25, 'pad', 'x'::text)" "SELECT widetable.delete_row('w', 25)" \
	"SELECT widetable.flush()" "SELECT widetable.compact()" "SELECT widetable.salvage('w')" "SELECT widetable.begin_empty()" "SELECT widetable.reset_clock()"; do
	like "$(VERBOSITY=verbose s "$c")" 'ERROR:  25006' "refused: $c"
done
as "and nothing has changed" 'SELECT count(*), sum(n) FROM w'
finish
