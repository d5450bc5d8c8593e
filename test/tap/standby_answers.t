# standby_answers: a hot standby answers everything that reads wide tables, and refuses everything
# that writes or locks.  Takes about 30 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/standbys.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "wal_level = replica" \
	"max_parallel_workers_per_gather = 2" "max_prepared_transactions = 5" "wal_keep_size = 512MB" "max_connections = 30"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int PRIMARY KEY, n int)' \
	"CREATE FOREIGN TABLE w (k int, n int, pad text, m jsonb OPTIONS (family 'm')) SERVER widetable
		OPTIONS (key 'k', families '{\"d\": {\"versions\": 3}, \"m\": {\"versions\": 2}}')" \
	"CREATE FOREIGN TABLE wc (k int, family text COLLATE \"C\", qualifier text COLLATE \"C\", ts timestamptz, value text, version int)
		SERVER widetable OPTIONS (table_name 'public.w', layout 'cells', key 'k')" \
	'INSERT INTO h SELECT g, g FROM generate_series(1, 3000) g' \
	"INSERT INTO w SELECT g, g, repeat('x', 100), jsonb_build_object('q', g) FROM generate_series(1, 3000) g" \
	'SELECT widetable.flush()' 'UPDATE w SET n = n + 1 WHERE k <= 100' 'DELETE FROM w WHERE k = 3000' \
	"SELECT widetable.put('w', '7', 'm:z', 'more')" 'ANALYZE w' >/dev/null
between=$(q 'SELECT clock_timestamp()')
q 'UPDATE w SET n = -1 WHERE k = 8' >/dev/null
# without feedback, cleaning up the ordinary table would end the long transaction
make_standby one "hot_standby_feedback = on"
make_standby two
sed -i '/^shared_preload_libraries/d' "$T/data.two/postgresql.conf"
stop_second "$T/data.two"; second "$T/data.two"
replayed one; replayed two

# ---- the same answers as on the primary
# same TITLE SQL...: both standbys answer as the primary, and the answer is no error
same() {
	title_=$1; shift
	want_=$(q "$@")
	case $want_ in *ERROR:*|'') like "$want_" 'an answer' "$title_"; return ;; esac
	is "$(on one "$@")" "$want_" "$title_"
	is "$(on two "$@")" "$want_" "$title_, not preloaded"
}
same "a scan" 'SELECT count(*), sum(n), sum(length(pad)), md5(string_agg(m::text, k::text ORDER BY k)) FROM w'
same "layout cells" "SELECT count(*), md5(string_agg(k || family || qualifier || ts || value || version, ',' ORDER BY k, family, qualifier, version)) FROM wc"
same "get" "SELECT widetable.get('w', '7')"
same "cells" "SELECT * FROM widetable.cells('w', '7', 3)"
same "raw_cells" "SELECT family, qualifier, ts, kind, value FROM widetable.raw_cells('w', '7')"
same "a deleted row" "SELECT count(*), (SELECT count(*) > 0 FROM widetable.raw_cells('w', '3000')) FROM w WHERE k = 3000"
same "aggregates" 'SELECT k % 3, count(*), min(n), max(n), avg(n) FROM w GROUP BY 1 ORDER BY 1' 'SELECT min(k), max(k) FROM w'
same "a join" 'SELECT count(*), sum(h.n - w.n) FROM h JOIN w USING (k)'
same "a lookup join" 'SET enable_hashjoin = off' 'SET enable_mergejoin = off' 'SELECT sum(w.n) FROM h JOIN w USING (k) WHERE h.k BETWEEN 50 AND 150'
same "as_of" "SET widetable.as_of = '$between'" 'SELECT n FROM w WHERE k = 8'
same "a prepared statement" 'PREPARE p (int) AS SELECT n FROM w WHERE k = $1' 'EXECUTE p (5)' 'EXECUTE p (8)'
same "keys" "SELECT count(*) FROM widetable.split_keys('w', 4)" "SELECT widetable.encode_key('w', 5), widetable.decode_key('w', widetable.encode_key('w', 5))"
same "export_cells" "SELECT sum(length(c)) > 1000 FROM widetable.export_cells('w') c"
same "COPY" "COPY (SELECT k, n FROM w WHERE k < 20 ORDER BY k) TO STDOUT"
PARALLEL="SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2; SET debug_parallel_query = on"
[ "$(q 'SHOW server_version_num')" -ge 160000 ] || PARALLEL=$(echo "$PARALLEL" | sed 's/debug_parallel_query/force_parallel_mode/')
same "a parallel plan" "$PARALLEL" 'SELECT count(*), sum(n) FROM w WHERE length(pad) = 100'
like "$(on one "$PARALLEL" 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT count(*), sum(n) FROM w WHERE length(pad) = 100')" 'Workers Launched: [12]' "it has workers"
like "$(on one 'EXPLAIN (ANALYZE, COSTS off) SELECT * FROM w WHERE k BETWEEN 5 AND 9')" 'actual time=.* rows=5' "EXPLAIN ANALYZE"
is "$(on one 'SELECT * FROM widetable.verify()')" "" "verify()"
is "$(on one "SELECT * FROM widetable.verify('w')")" "" "verify() of a table"
like "$(on one "SELECT widetable.table_size('w')")" '^[1-9][0-9]{4,}$' "table_size"
# the views are readable: each is queried in full
views=$(q "SELECT relname FROM pg_class WHERE relnamespace = 'widetable'::regnamespace AND relkind = 'v' ORDER BY 1")
bad=
for v in $views; do on one "SELECT * FROM widetable.$v" | grep -q 'ERROR:' && bad="$bad $v"; done
like "$views" 'pg_stat_widetable_health' "there are views"
is "$bad" "" "all views can be read"
is "$(on one 'SELECT state, in_recovery, lag_bytes FROM widetable.pg_stat_widetable_health')" "following|t|0" "the health view"

# ---- cursors, snapshots
is "$(on one BEGIN 'DECLARE c SCROLL CURSOR FOR SELECT k FROM w ORDER BY k' 'FETCH 3 FROM c' 'FETCH BACKWARD 1 FROM c' 'MOVE ABSOLUTE 100 IN c' 'FETCH 1 FROM c' COMMIT | tr '\n' ' ')" "1 2 3 2 101 " "a scrolling cursor"
is "$(on one BEGIN 'DECLARE c CURSOR WITH HOLD FOR SELECT k, n FROM w WHERE k > 2990 ORDER BY k' COMMIT 'FETCH 2 FROM c' 'CLOSE c' | tr '\n' ' ')" "2991|2991 2992|2992 " "a cursor WITH HOLD"
is "$(on one BEGIN 'SAVEPOINT a' 'SELECT n FROM w WHERE k = 5' 'SELECT 1 / 0' 'ROLLBACK TO a' 'SELECT n FROM w WHERE k = 5' 'SAVEPOINT b' 'RELEASE b' 'SELECT n FROM w WHERE k = 6' COMMIT | grep -v ERROR | tr '\n' ' ')" "6 6 7 " "savepoints"
both='SELECT (SELECT sum(n) FROM h), (SELECT sum(n) FROM w)'
standby_session one old 5
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; $both; SELECT 'snapshot ' || pg_export_snapshot();
DECLARE c CURSOR FOR SELECT k, n FROM w WHERE k >= 4 ORDER BY k; FETCH 1 FROM c;" >&5
wait_output old '^4\|5$'
before=$(head -n 1 "$T/old.out")
snapshot=$(sed -n 's/^snapshot //p' "$T/old.out")
i=1
while [ $i -le 5 ]; do
	q BEGIN 'UPDATE h SET n = n + 1 WHERE k <= 500' 'UPDATE w SET n = n + 1000 WHERE k <= 500' COMMIT "DELETE FROM w WHERE k = 1000 + $i" "INSERT INTO w VALUES (5000 + $i, 1)" 'SELECT widetable.flush()' >/dev/null
	i=$((i + 1))
done
q 'SELECT widetable.compact()' >/dev/null
replayed one
now=$(on one "$both")
is "$now" "$(q "$both")" "a new statement sees what was written"
ok "$([ "$now" != "$before" ]; echo $?)" "that is something else than before"
is "$(on one 'BEGIN ISOLATION LEVEL REPEATABLE READ' "SET TRANSACTION SNAPSHOT '$snapshot'" "$both" COMMIT)" "$before" "an exported snapshot"
is "$(on one 'BEGIN ISOLATION LEVEL REPEATABLE READ' "SET TRANSACTION SNAPSHOT '$snapshot'" "$PARALLEL" "SELECT sum(n) FROM w" COMMIT)" "${before#*|}" "an exported snapshot in parallel workers"
echo "$both; SELECT 'again'; FETCH 2 FROM c; COMMIT; SELECT 'after'; $both; SELECT 'end';" >&5
wait_output old '^end$'
is "$(sed -n '/^4|5$/,/^again$/p' "$T/old.out" | sed -n 2p)" "$before" "REPEATABLE READ sees the same again"
is "$(sed -n '/^again$/,/^after$/p' "$T/old.out" | tr '\n' ' ')" "again 5|6 6|7 after " "the cursor as well"
is "$(sed -n '/^after$/,/^end$/p' "$T/old.out" | sed -n 2p)" "$now" "the next transaction sees the present"
exec 5>&-

# ---- agreement: what was committed with remote_apply is there at once
ok=1
q "ALTER SYSTEM SET synchronous_standby_names = 'walreceiver'" 'SELECT pg_reload_conf()' >/dev/null
await 30 '^sync$' 'SELECT sync_state FROM pg_stat_replication ORDER BY sync_state DESC LIMIT 1'
printf '%s\n' "cluster_name = 'two'" >>"$T/data.two/postgresql.conf"
stop_second "$T/data.two"
i=0
while [ $i -lt 30 ]; do
	i=$((i + 1))
	q "SET synchronous_commit = remote_apply" BEGIN "UPDATE h SET n = -$i WHERE k = $i" "UPDATE w SET n = -$i WHERE k = $i" COMMIT >/dev/null
	[ "$(on one "SELECT (SELECT n FROM h WHERE k = $i), (SELECT n FROM w WHERE k = $i)")" = "-$i|-$i" ] || ok=0
	q "SET synchronous_commit = remote_apply" "UPDATE w SET n = -2 * $i WHERE k = $i" >/dev/null
	[ "$(on one "SELECT n FROM w WHERE k = $i")" = "$((-2 * i))" ] || ok=0
done
is $ok 1 "remote_apply: the next read has it"
q 'ALTER SYSTEM RESET synchronous_standby_names' 'SELECT pg_reload_conf()' >/dev/null
second "$T/data.two"

# ---- pg_dump
"$BIN/pg_dump" --include-foreign-data=widetable -t w >"$T/primary.sql" 2>&1
PGHOST=$T/data.one.s "$BIN/pg_dump" --include-foreign-data=widetable -t w >"$T/standby.sql" 2>"$T/dump.err"
is "$(cat "$T/dump.err")" "" "pg_dump on the standby"
clean() { grep -E '^[0-9]+	' "$1" | md5sum; }
is "$(clean "$T/standby.sql")" "$(clean "$T/primary.sql")" "its data are those of the primary"
is "$(grep -cE '^[0-9]+	' "$T/standby.sql")" "$(q 'SELECT count(*) FROM w')" "it has all rows"
# several connections: pg_dump refuses foreign data then, and exports its snapshot
PGHOST=$T/data.one.s "$BIN/pg_dump" -Fd -j 2 -f "$T/dump" -t w -t h 2>"$T/dump.err"
is "$(cat "$T/dump.err")" "" "pg_dump -j 2 on the standby"
"$BIN/pg_restore" -f "$T/restored.sql" "$T/dump"
is "$(grep -cE '^[0-9]+	' "$T/restored.sql")|$(grep -c 'CREATE FOREIGN TABLE' "$T/restored.sql")" "$(q 'SELECT count(*) FROM h')|1" "it has the definitions and all ordinary rows"

# ---- what is refused
# refused SQL: 25006 on the standby, and no error on the primary (rolled back)
refused() {
	out=$(VERBOSITY=verbose on one "$1")
	case $out in *'ERROR:  25006'*) out=25006 ;; esac
	is "$out" 25006 "refused: $1"
	out=$(q BEGIN "$1" ROLLBACK)
	case $out in *ERROR:*) is "$out" "" "the primary does it: $1" ;; esac
}
refused 'INSERT INTO w VALUES (1, 1)'
refused "INSERT INTO wc VALUES (1, 'm', 'a', NULL, 'b')"
refused 'UPDATE w SET n = 1 WHERE k = 1'
refused 'DELETE FROM w WHERE k = 1'
refused 'TRUNCATE w'
refused 'SELECT n FROM w WHERE k = 1 FOR UPDATE'
refused 'SELECT n FROM w WHERE k = 1 FOR SHARE'
refused "COPY w (k, n) FROM PROGRAM 'echo 9,9' (FORMAT csv)"
refused "SELECT widetable.put('w', '7', 'm:z', 'less')"
refused "SELECT widetable.increment('w', '9', 'm:count', 1)"
refused "SELECT widetable.append('w', '7', 'm:z', 'less')"
refused "SELECT widetable.check_and_mutate('w', '7', 'm:z', '=', 'more', '[{\"append\": {\"m:z\": \"t\"}}]')"
refused "SELECT widetable.delete_row('w', '7')"
refused "SELECT widetable.delete_column('w', '7', 'm:z')"
refused "SELECT widetable.import_cells('w', c) FROM widetable.export_cells('w') c"
refused "CREATE FOREIGN TABLE w2 (k int) SERVER widetable OPTIONS (key 'k')"
refused "ALTER FOREIGN TABLE w OPTIONS (SET families '{\"d\": {\"versions\": 4}, \"m\": {\"versions\": 2}}')"
refused 'DROP FOREIGN TABLE w CASCADE'
is "$(on one 'SELECT n FROM w WHERE k = 9')" "$(q 'SELECT n FROM w WHERE k = 9')" "reads go on afterwards"

# ---- a prepared transaction of ordinary tables, open or committed, beside wide tables
q BEGIN 'UPDATE h SET n = 77 WHERE k = 77' "PREPARE TRANSACTION 'p'" 'UPDATE w SET n = 78 WHERE k = 78' >/dev/null
replayed one
is "$(on one 'SELECT (SELECT n FROM h WHERE k = 77) <> 77, (SELECT n FROM w WHERE k = 78)')" "t|78" "prepared: not seen, and wide rows are"
q "COMMIT PREPARED 'p'" 'UPDATE w SET n = 79 WHERE k = 79' >/dev/null
replayed one
is "$(on one 'SELECT (SELECT n FROM h WHERE k = 77), (SELECT n FROM w WHERE k = 79)')" "77|79" "committed: seen"
no_crash one; no_crash two
finish
