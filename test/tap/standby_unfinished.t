# standby_unfinished: the primary server dies, or stays, between PostgreSQL's commit record of a
# transaction and the FINISH record of its wide rows.  A standby shows both kinds of rows, also
# after its own restart and promotion, and goes on when the primary server comes back.  Takes about
# 15 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/standbys.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "wal_keep_size = 512MB" "autovacuum = off" "max_connections = 30" "widetable.write_memory = 1MB"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (what text PRIMARY KEY)' \
	"CREATE FOREIGN TABLE w (k int, n int, pad text, m jsonb OPTIONS (family 'm')) SERVER widetable OPTIONS (key 'k', families '{\"d\": {\"versions\": 3}, \"m\": {\"versions\": 2}}')" \
	"CREATE FOREIGN TABLE ts (k int, family text, qualifier text COLLATE \"C\", ts bigint, value text) SERVER widetable OPTIONS (table_name 'public.w', layout 'cells', key 'k')" \
	"CREATE FOREIGN TABLE big (k int, pad text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO w SELECT g, g FROM generate_series(1, 100) g" "SELECT widetable.increment('w', '1', 'm:count', 5)" >/dev/null
make_standby one "max_parallel_workers_per_gather = 2"
make_standby two
replayed one; replayed two

session hold 5
echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock commit-recorded));" >&5
wait_output hold held
halted=0
# pending SQL...: a transaction that halts between its commit record and its FINISH record
pending() {
	halted=$((halted + 1))
	q "SET widetable.stop_at = 'commit-recorded'" BEGIN "$@" COMMIT >"$T/pending.$halted" 5>&- 6>&- 7>&- &
	await_stopped $halted
}
pending "INSERT INTO h VALUES ('cells')" 'INSERT INTO w VALUES (101, 1)' 'UPDATE w SET n = 0 WHERE k = 2' 'DELETE FROM w WHERE k = 3'
pending "INSERT INTO h VALUES ('counter')" "SELECT widetable.increment('w', '1', 'm:count', 2)" "SELECT widetable.delete_column('w', '4', 'd:n')"
pending "INSERT INTO h VALUES ('large')" "INSERT INTO w SELECT g, g, repeat(md5(g::text), 30) FROM generate_series(1001, 1500) g"
pending "INSERT INTO h VALUES ('files')" "INSERT INTO big SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 20000) g"
pending "INSERT INTO h VALUES ('ddl')" "CREATE FOREIGN TABLE made (k int, n int) SERVER widetable OPTIONS (key 'k')" 'INSERT INTO made SELECT g, g FROM generate_series(1, 10) g'
pending "INSERT INTO h VALUES ('savepoint')" 'INSERT INTO w VALUES (102, 2)' 'SAVEPOINT a' 'INSERT INTO w VALUES (103, 3)' 'ROLLBACK TO a' 'INSERT INTO w VALUES (104, 4)'
# others go on meanwhile
q 'INSERT INTO w VALUES (105, 5)' BEGIN "INSERT INTO h VALUES ('other')" 'INSERT INTO w VALUES (106, 6)' COMMIT >/dev/null
replayed one; replayed two

ALL="SELECT string_agg(what, ' ' ORDER BY what) FROM h;
SELECT k, n FROM w WHERE k BETWEEN 1 AND 4 OR k BETWEEN 101 AND 106 ORDER BY k;
SELECT value FROM widetable.cells('w', '1') WHERE family = 'm';
SELECT count(*), sum(n), md5(string_agg(pad, ',' ORDER BY k)) FROM w WHERE k > 1000;
SELECT count(*), md5(string_agg(pad, ',' ORDER BY k)) FROM big;
SELECT count(*), sum(n) FROM made;
SELECT count(*) FROM w"
WANT="cells counter ddl files large other savepoint
1|1
2|0
101|1
102|2
104|4
105|5
106|6
\\x0000000000000007
500|$(q "SELECT sum(g), md5(string_agg(repeat(md5(g::text), 30), ',' ORDER BY g)) FROM generate_series(1001, 1500) g")
20000|$(q "SELECT md5(string_agg(repeat(md5(g::text), 10), ',' ORDER BY g)) FROM generate_series(1, 20000) g")
10|55
603"
seen() { on "$1" "$ALL"; }
is "$(on one 'SELECT count(*) FROM h')" 7 "ordinary rows of the pending transactions are there"
is "$(seen one)" "$WANT" "and all of their wide rows"
PARALLEL="SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0"
is "$(on one "$PARALLEL" 'SELECT count(*) FROM w')" 603 "with settings for parallel plans"
like "$(on one "$PARALLEL" 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT count(*), sum(length(pad)) FROM w')" 'rows=603' "EXPLAIN ANALYZE"
is "$(on one BEGIN 'DECLARE c CURSOR WITH HOLD FOR SELECT k FROM w WHERE k > 100 ORDER BY k' 'FETCH 2 FROM c' COMMIT 'FETCH 2 FROM c' | tr '\n' ' ')" "101 102 104 105 " "a cursor"
standby_session one exporter 7
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM w; SELECT 'snapshot ' || pg_export_snapshot();" >&7
wait_output exporter '^snapshot|ERROR'
exec 7>&-
like "$(cat "$T/exporter.out")" 'could not export the snapshot' "their snapshot cannot be exported"
# a transaction that goes on while they are finished
standby_session one reader 6
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM w; SELECT 'read';" >&6
wait_output reader '^read$'
# the standby is restarted while they are pending
stop_second "$T/data.two"; second "$T/data.two"
is "$(seen two)" "$WANT" "after a restart of the standby"
stop_second "$T/data.two" immediate; second "$T/data.two"
replayed two
is "$(seen two)" "$WANT" "after a crash of the standby"

# ---- the primary dies; one standby is promoted
kill_server
exec 5>&-
# a session that waits for the lock may see first that the postmaster is dead
sed -i '/PANIC:  cannot abort transaction/d' "$T/server.log"
is "$(seen one)" "$WANT" "the primary is dead: they are there"
is "$(seen two)" "$WANT" "and on the other standby"
cells='SELECT k, qualifier, value FROM ts WHERE k < 200 ORDER BY 1, 2, 3'
values=$(on two "$cells" | md5sum)
stamp=$(on two "SELECT ts FROM ts WHERE k = 101 AND qualifier = 'n'")
promote two
is "$(seen two)" "$WANT" "promoted: they are there"
is "$(on two "$cells" | md5sum)" "$values" "promoted: with the same values"
is "$(on two "SELECT ts >= $stamp FROM ts WHERE k = 101 AND qualifier = 'n'")" "t" "promoted: with timestamps not below those before"
is "$(on two 'UPDATE w SET n = 9 WHERE k = 101' 'SELECT n FROM w WHERE k = 101' 'SELECT * FROM widetable.verify()')" "9" "promoted: written and verified"
stop_second "$T/data.two" immediate; second "$T/data.two"
is "$(on two 'SELECT count(*) FROM w' "SELECT right(value::text, 1) FROM widetable.cells('w', '1') WHERE family = 'm'" 'SELECT n FROM w WHERE k = 101' | tr '\n' ' ')" "603 7 9 " "promoted: after a crash as well"

# ---- the primary comes back, finishes them, and goes on
start
is "$(q "$ALL")" "$WANT" "the primary has them after its recovery"
q 'UPDATE w SET n = 11 WHERE k = 101' BEGIN "INSERT INTO h VALUES ('later')" 'INSERT INTO w VALUES (107, 7)' COMMIT "SELECT widetable.increment('w', '1', 'm:count', 1)" >/dev/null
replayed one
echo "SELECT count(*) FROM w; COMMIT; SELECT 'end';" >&6
wait_output reader '^end$'
is "$(tr '\n' ' ' <"$T/reader.out")" "603 read 603 end " "REPEATABLE READ sees the same while they are finished"
exec 6>&-
is "$(on one "$ALL")" "$(q "$ALL")" "the standby follows the primary that came back"
is "$(on one 'SELECT n FROM w WHERE k = 101' 'SELECT count(*) FROM w' | tr '\n' ' ')" "11 604 " "with what was written since"
is "$(on one "SELECT k, qualifier, ts, value FROM ts ORDER BY 1, 2, 3, 4" | md5sum)" "$(q "SELECT k, qualifier, ts, value FROM ts ORDER BY 1, 2, 3, 4" | md5sum)" "and the same timestamps"
is "$(on one 'SELECT * FROM widetable.verify()')" "" "verify() on the standby"

# ---- finished by the sessions themselves
session hold 5
echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock commit-recorded));" >&5
wait_output hold held
halted=0
i=1
while [ $i -le 8 ]; do pending "INSERT INTO h VALUES ('row $i')" "INSERT INTO w VALUES (200 + $i, $i)" "SELECT widetable.increment('w', '$((20 + i))', 'm:count', $i)"; i=$((i + 1)); done
replayed one
is "$(on one "SELECT count(*) FROM h WHERE what LIKE 'row %'" 'SELECT count(*) FROM w WHERE k BETWEEN 201 AND 208' "SELECT sum(right(value, 1)::int) FROM ts WHERE k BETWEEN 21 AND 28 AND qualifier = 'count'" | tr '\n' ' ')" "8 8 36 " "several in a row"
echo 'SELECT pg_advisory_unlock_all();' >&5
exec 5>&-
await 30 '^f$' "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory'"
await 30 '^8$' 'SELECT count(*) FROM w WHERE k BETWEEN 201 AND 208'
replayed one
is "$(on one 'SELECT count(*), sum(n) FROM w')" "$(q 'SELECT count(*), sum(n) FROM w')" "finished by the sessions"
promote one
is "$(on one 'SELECT count(*), sum(n) FROM w')" "$(q 'SELECT count(*), sum(n) FROM w')" "promoted: the same"
is "$(on one 'SELECT * FROM widetable.verify()')" "" "promoted: verify()"
forget_kill
no_crash one; no_crash two
finish
