# standby_changes: what happens on the primary arrives on a standby: bulk files, DDL, families,
# databases, times to live; and no cleanup cancels a query there.  Takes about 20 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/standbys.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "widetable.write_memory = 1MB" "wal_keep_size = 512MB" "autovacuum = off"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO w SELECT g, g, repeat('x', 100) FROM generate_series(1, 5000) g" >/dev/null
make_standby one "max_standby_streaming_delay = 0" "max_standby_archive_delay = 0"
replayed one
# same TITLE SQL...: the standby has replayed everything and answers as the primary
same() {
	title_=$1; shift
	replayed one
	want_=$(q "$@")
	case $want_ in *ERROR:*|'') like "$want_" 'an answer' "$title_" ;; *) is "$(on one "$@")" "$want_" "$title_" ;; esac
}

# ---- bulk files
q "CREATE FOREIGN TABLE b (k int, v text) SERVER widetable OPTIONS (key 'k')" >/dev/null
"$BIN/psql" -XqAt -c "COPY (SELECT g, md5(g::text) || repeat('y', 100) FROM generate_series(1, 40000) g) TO STDOUT" >"$T/rows"
"$BIN/psql" -XqAt -c 'COPY b FROM STDIN' <"$T/rows"
same "a large COPY" 'SELECT count(*), sum(k), md5(string_agg(v, k::text ORDER BY k)) FROM b'
q BEGIN "INSERT INTO b SELECT g, repeat('z', 200) FROM generate_series(50001, 70000) g" ROLLBACK >/dev/null
same "a large transaction that was rolled back" 'SELECT count(*) FROM b'
q "UPDATE b SET v = 'u' || v WHERE k % 2 = 0" 'DELETE FROM b WHERE k % 5 = 0' >/dev/null
same "large UPDATE and DELETE" 'SELECT count(*), sum(k), md5(string_agg(v, k::text ORDER BY k)) FROM b'
q 'SELECT widetable.flush()' 'SELECT widetable.compact()' 'CHECKPOINT' >/dev/null
same "after flush, compaction and checkpoint of the primary" 'SELECT count(*), md5(string_agg(v, k::text ORDER BY k)) FROM b'
stop_second "$T/data.one"; second "$T/data.one"
same "after a restart of the standby" 'SELECT count(*), md5(string_agg(v, k::text ORDER BY k)) FROM b'

# ---- tables and families
q "CREATE FOREIGN TABLE d (k int, n int, m jsonb OPTIONS (family 'm')) SERVER widetable OPTIONS (key 'k', families '{\"d\": {}, \"m\": {\"versions\": 3}}')" \
	"INSERT INTO d SELECT g, g, '{\"q\": 1}' FROM generate_series(1, 100) g" "UPDATE d SET m = '{\"q\": 2}'" >/dev/null
same "CREATE" 'SELECT count(*), sum(n) FROM d' "SELECT value FROM widetable.cells('d', '1', 5)"
q 'ALTER FOREIGN TABLE d ADD COLUMN more text' "UPDATE d SET more = 'm' WHERE k < 10" >/dev/null
same "ADD COLUMN" 'SELECT count(more), min(more) FROM d'
q "ALTER FOREIGN TABLE d OPTIONS (SET families '{\"d\": {}, \"m\": {\"versions\": 1}}')" >/dev/null
same "fewer versions" "SELECT family, value FROM widetable.cells('d', '1', 5)"
q "ALTER FOREIGN TABLE d OPTIONS (SET families '{\"d\": {}, \"m\": {\"versions\": 1}, \"a\": {}}')" "SELECT widetable.put('d', '1', 'a:x', 'added')" >/dev/null
same "a family added" "SELECT family, value FROM widetable.cells('d', '1', 5)"
q 'ALTER FOREIGN TABLE d DROP COLUMN m' "ALTER FOREIGN TABLE d OPTIONS (SET families '{\"d\": {}, \"a\": {}}')" >/dev/null
same "a family dropped" "SELECT family, value FROM widetable.cells('d', '1', 5)"
q "ALTER FOREIGN TABLE d OPTIONS (SET families '{\"d\": {}, \"a\": {}, \"m\": {}}')" >/dev/null
same "a family of the same name begins empty" "SELECT family, value FROM widetable.cells('d', '1', 5)"
q 'ALTER FOREIGN TABLE d RENAME TO e' >/dev/null
same "RENAME" 'SELECT count(*) FROM e'
q BEGIN 'TRUNCATE e' 'INSERT INTO e VALUES (1, 1)' ROLLBACK >/dev/null
same "TRUNCATE, rolled back" 'SELECT count(*) FROM e'
q BEGIN 'TRUNCATE e' 'INSERT INTO e (k, n) VALUES (1, 1)' COMMIT >/dev/null
same "TRUNCATE and INSERT" 'SELECT count(*), sum(n) FROM e'
q BEGIN "CREATE FOREIGN TABLE f (k int) SERVER widetable OPTIONS (key 'k')" 'INSERT INTO f VALUES (1)' 'SAVEPOINT a' 'INSERT INTO f VALUES (2)' 'ROLLBACK TO a' 'INSERT INTO f VALUES (3)' COMMIT >/dev/null
same "CREATE and INSERT in one transaction" 'SELECT sum(k) FROM f'
q 'DROP FOREIGN TABLE e' >/dev/null
replayed one
like "$(on one 'SELECT FROM e')" 'relation "e" does not exist' "DROP"
q "CREATE FOREIGN TABLE e (k int, n int) SERVER widetable OPTIONS (key 'k')" >/dev/null
same "a table of the same name begins empty" 'SELECT count(*) FROM e'

# ---- databases
q 'CREATE DATABASE other' >/dev/null
in_db other 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" "INSERT INTO w SELECT g, 'other' FROM generate_series(1, 50) g" >/dev/null
same "the first database" 'SELECT count(*) FROM w'
is "$(on_db one other 'SELECT count(*), max(v) FROM w')" "50|other" "another database"
q 'CREATE DATABASE copied TEMPLATE other' >/dev/null
in_db copied 'INSERT INTO w VALUES (51)' >/dev/null
replayed one
is "$(on_db one copied 'SELECT count(*), max(v) FROM w')" "51|other" "a database made from a template"
is "$(on_db one other 'SELECT count(*), max(v) FROM w')" "50|other" "its template"
q 'DROP DATABASE other' >/dev/null
replayed one
is "$(on_db one copied 'SELECT count(*), max(v) FROM w')" "51|other" "after DROP DATABASE of the template"
like "$(on_db one other 'SELECT FROM w')" 'database "other" does not exist' "which is gone"

# ---- no cleanup conflicts
standby_session one old 5
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*), sum(n) FROM w; SELECT 'first';
DECLARE c CURSOR FOR SELECT n FROM w WHERE k > 0 ORDER BY k; FETCH 1 FROM c;" >&5
wait_output old '^1$'
before=$(head -n 1 "$T/old.out")
for i in 1 2 3 4; do
	q "UPDATE w SET n = n + 1, pad = repeat('$i', 100)" 'SELECT widetable.flush()' 'SELECT widetable.compact()' >/dev/null
done
q 'DELETE FROM w WHERE k > 2500' 'SELECT widetable.compact()' 'CHECKPOINT' >/dev/null
same "replay goes on while a long transaction reads" 'SELECT count(*), sum(n) FROM w'
on one CHECKPOINT >/dev/null
echo "SELECT 'again'; SELECT count(*), sum(n) FROM w; FETCH 1 FROM c; SELECT count(*) FROM (SELECT FROM w WHERE n = k) x; COMMIT; SELECT 'end';" >&5
wait_output old '^end$'
is "$(sed -n '/^again$/,/^end$/p' "$T/old.out" | tr '\n' ' ')" "again $before 2 5000 end " "its versions stay, and it is not cancelled"
exec 5>&-
is "$(on one "SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'postgres'")" "0" "there was no conflict about snapshots"

# ---- DROP and TRUNCATE conflict by PostgreSQL's locks
for what in 'TRUNCATE b' 'ALTER FOREIGN TABLE b ADD COLUMN more int' 'DROP FOREIGN TABLE b'; do
	standby_session one old 5
	echo "BEGIN; SELECT count(*) > 0 FROM b WHERE k = 1; SELECT 'locked';" >&5
	wait_output old '^locked$'
	q "$what" >/dev/null
	replayed one
	echo "SELECT 'still here';" >&5
	wait_output old 'conflict with recovery|still here'
	like "$(cat "$T/old.out")" 'conflict with recovery' "$what on the primary ends a transaction that holds the table"
	exec 5>&-
done

# ---- times to live end by the time of the log
q "CREATE FOREIGN TABLE ttl (k int, v text OPTIONS (column 't:v')) SERVER widetable OPTIONS (key 'k', families '{\"t\": {\"ttl\": \"2 seconds\"}}')" \
	"INSERT INTO ttl SELECT g, 'x' FROM generate_series(1, 10) g" >/dev/null
long="CREATE FOREIGN TABLE hour (k int, v text OPTIONS (column 't:v')) SERVER widetable OPTIONS (key 'k', families '{\"t\": {\"ttl\": \"1 hour\"}}')"
q "$long" "INSERT INTO hour SELECT g, 'x' FROM generate_series(1, 10) g" >/dev/null
replayed one
is "$(on one 'SELECT count(*) FROM hour')" 10 "cells that have not expired are there"
await 20 '^0$' 'SELECT count(*) FROM ttl'; ok $? "cells expire on the primary"
same "and on the standby, without a write" 'SELECT count(*) FROM ttl'
faketime=${FAKETIME_LIB:-$(find /usr/lib -name 'libfaketime.so.1' 2>/dev/null | head -n 1)}
if [ -n "$faketime" ]; then
	# the clock of the primary is changed: in PostgreSQL 15 libfaketime has no effect on background
	# processes, and on the standby one of them takes the time from the log
	stop
	FAKETIME=+2h DONT_FAKE_MONOTONIC=1 PRELOAD=$faketime
	export FAKETIME DONT_FAKE_MONOTONIC
	start
	q "INSERT INTO ttl VALUES (1, 'again')" "INSERT INTO hour VALUES (11, 'x')" >/dev/null
	is "$(q "SELECT string_agg(k::text, ',') FROM hour")" 11 "the primary's clock is two hours ahead"
	same "what lives then" "SELECT string_agg(k::text, ',') FROM hour"
	await 20 '^0$' 'SELECT count(*) FROM ttl'
	same "what has expired then" 'SELECT count(*) FROM ttl'
else
	echo "# libfaketime is not installed: the clocks are not changed"
fi
is "$(on one 'SELECT * FROM widetable.verify()')" "" "verify() on the standby"
no_crash one
finish
