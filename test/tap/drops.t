# drops: every command that drops a wide table removes its data at commit and keeps it after a
# rollback.  DROP DATABASE frees the space and is not blocked by sessions of other databases, nor
# blocks them.  Takes about 15 seconds.
. "${0%/*}/common.sh"
W=$T/data/widetable
new_cluster 'widetable.memtable_size = 1MB'

bytes() { cat "$W"/*.sst 2>/dev/null | wc -c; }
K="CREATE FOREIGN TABLE k (k int, v text) SERVER widetable OPTIONS (key 'k')"
ROWS="INSERT INTO k SELECT g, md5(g::text) || md5((g + 1)::text) FROM generate_series(1, 5000) g"
STATE='SELECT tables, families FROM widetable.pg_stat_widetable'
q 'CREATE DATABASE watch' >/dev/null
in_db watch 'CREATE EXTENSION widetable' "$K" "$ROWS" >/dev/null
q 'SET client_min_messages = warning' 'CREATE EXTENSION widetable' 'CREATE ROLE owner' 'GRANT ALL ON SCHEMA public TO owner' 'GRANT USAGE ON FOREIGN SERVER widetable TO owner' >/dev/null

# every command that drops the table: rolled back, rolled back to a savepoint, committed
try() { # PREFIX COMMAND SETUP...
	n_=$1 c_=$2; shift 2
	q 'SET client_min_messages = warning' 'CREATE EXTENSION IF NOT EXISTS widetable' "$@" "${MAKE:-$K}" "$ROWS" 'ALTER FOREIGN TABLE k OWNER TO owner' 'SELECT widetable.flush()' >"$T/made" 2>&1 || cat "$T/made"
	is "$(q "${BEFORE:-SELECT}" 'SET client_min_messages = warning' 'BEGIN' "$c_" 'ROLLBACK' 'SELECT count(*) FROM k')" "5000" "$n_: ROLLBACK keeps the rows"
	is "$(q "${BEFORE:-SELECT}" 'SET client_min_messages = warning' 'BEGIN' "INSERT INTO k VALUES (0, 'x')" 'SAVEPOINT s' "$c_" 'ROLLBACK TO s' "INSERT INTO k VALUES (-1, 'x')" 'SELECT count(*) FROM k' 'COMMIT' 'SELECT count(*) FROM k' | tr '\n' ' ')" \
		"5002 5002 " "$n_: ROLLBACK TO SAVEPOINT keeps the rows"
	is "$(in_db watch "$STATE")" "2|2" "$n_: before the commit the stored table exists"
	is "$(q "${BEFORE:-SELECT}" 'SET client_min_messages = warning' 'BEGIN' 'SAVEPOINT s' "$c_" 'RELEASE s' 'COMMIT')" "" "$n_: the drop commits"
	is "$(in_db watch "$STATE")" "1|1" "$n_: the commit removes the stored table"
}
try 'DROP FOREIGN TABLE' 'DROP FOREIGN TABLE k'
try 'DROP EXTENSION' 'DROP EXTENSION widetable CASCADE'
MAKE="CREATE FOREIGN TABLE k (k int, v text) SERVER s OPTIONS (key 'k')"
try 'DROP SERVER' 'DROP SERVER s CASCADE' 'CREATE SERVER s FOREIGN DATA WRAPPER widetable'
MAKE=
BEFORE='SET search_path = other, public'
K_=$K; K="CREATE FOREIGN TABLE other.k (k int, v text) SERVER widetable OPTIONS (key 'k')"
try 'DROP SCHEMA' 'DROP SCHEMA other CASCADE' 'CREATE SCHEMA other' 'SET search_path = other, public'
K=$K_ BEFORE=
try 'DROP OWNED' 'DROP OWNED BY owner' "GRANT ALL ON SCHEMA public TO owner"
BEFORE="LOAD 'widetable'; SET session_replication_role = replica"
try 'event triggers off' 'DROP FOREIGN TABLE k'
BEFORE=
# the schema of the extension itself
try 'DROP SCHEMA widetable' 'DROP SCHEMA widetable CASCADE'

# another session has the table open
q 'CREATE EXTENSION IF NOT EXISTS widetable' "$K" "$ROWS" >/dev/null
session cursor 3
printf '%s\n' 'BEGIN;' 'DECLARE c CURSOR FOR SELECT k FROM k ORDER BY k;' 'FETCH 1 FROM c;' >&3
await 5 '^1$' "SELECT count(*) FROM pg_locks WHERE relation = 'k'::regclass AND pid <> pg_backend_pid()"
like "$(q "SET lock_timeout = '300ms'" 'DROP FOREIGN TABLE k')" 'lock timeout' "DROP FOREIGN TABLE waits for a cursor in another session"
like "$(q "SET lock_timeout = '300ms'" 'TRUNCATE k')" 'lock timeout' "TRUNCATE waits for a cursor in another session"
like "$(q "SET lock_timeout = '300ms'" 'SET client_min_messages = warning' 'DROP EXTENSION widetable CASCADE')" 'lock timeout' "DROP EXTENSION waits for a cursor in another session"
q 'TRUNCATE k' 'SELECT count(*) FROM k' >"$T/truncated" &
await 5 '^1$' "SELECT count(*) FROM pg_locks WHERE relation = 'k'::regclass AND NOT granted"
printf '%s\n' 'MOVE FORWARD ALL FROM c;' 'CLOSE c;' 'DECLARE d CURSOR FOR SELECT k FROM k ORDER BY k DESC;' 'FETCH 1 FROM d;' 'TRUNCATE k;' 'DROP FOREIGN TABLE k;' 'COMMIT;' '\q' >&3
exec 3>&-
wait "$session_pid"
like "$(tr '\n' ' ' <"$T/cursor.out")" '^1 5000 ERROR: .*being used by active queries' "the cursor reads to the end, and its own session cannot truncate the table under an open cursor"
wait
is "$(cat "$T/truncated")" "0" "TRUNCATE succeeds after the cursor's transaction"

# several databases with a table of the same name; one database is dropped while in use
is "$(in_db watch 'SELECT count(*), min(v) IS NOT NULL FROM k')" "5000|t" "the table of the same name in another database is unchanged"
q 'CREATE DATABASE big' >/dev/null
in_db big 'CREATE EXTENSION widetable' "$K" "INSERT INTO k SELECT g, md5(g::text) || md5((g + 1)::text) FROM generate_series(1, 50000) g" 'SELECT widetable.flush()' \
	"CREATE PROCEDURE load() LANGUAGE plpgsql AS \$\$BEGIN FOR g IN 1..1000000 LOOP INSERT INTO k VALUES (g, 'new' || g); PERFORM count(*) FROM k WHERE k = g; COMMIT; END LOOP; END\$\$" >/dev/null
in_db watch "CREATE PROCEDURE load() LANGUAGE plpgsql AS \$\$BEGIN FOR g IN 100001..110000 LOOP INSERT INTO k VALUES (g, 'new' || g); PERFORM count(*) FROM k WHERE k = g; COMMIT; END LOOP; END\$\$" >/dev/null
before=$(bytes)
for i in 1 2 3; do in_db big 'CALL load()' >"$T/big.$i" & done
in_db watch 'CALL load()' >"$T/watch.load" &
watch=$!
sleep 0.5
like "$(q 'DROP DATABASE big')" 'is being accessed by other users' "DROP DATABASE fails while sessions use the database"
began=$(date +%s%N)
is "$(q "SET statement_timeout = '20s'" 'DROP DATABASE big WITH (FORCE)')" "" "DROP DATABASE WITH (FORCE) succeeds while sessions use the database"
for i in 1 2; do q "SET statement_timeout = '20s'" 'CREATE DATABASE x' 'DROP DATABASE x'; done >"$T/loop" 2>&1
is "$(cat "$T/loop")" "" "CREATE and DROP DATABASE succeed under load"
ms=$((($(date +%s%N) - began) / 1000000))
[ $ms -lt 12000 ]; ok $? "they take less than 12 seconds ($ms ms)"
is "$(cat "$T"/big.? | grep -c 'terminating connection')" "3" "the sessions in the dropped database were terminated"
(PGDATABASE=watch; await 15 '^2\|2$' "$STATE")
ok $? "the tables of the dropped database are removed"
wait $watch
is "$(cat "$T/watch.load")" "" "a writer in another database gets no error"
is "$(in_db watch 'SELECT count(*) FROM k' 'SELECT widetable.flush()' 'SELECT * FROM widetable.verify()')" "15000" "the other database has all its rows, and verify() finds no problem"
# the worker removes files in its next rounds
for _ in $(seq 50); do after=$(bytes); [ "$after" -lt $((before / 2)) ] && break; sleep 0.1; done
[ "$after" -lt $((before / 2)) ]; ok $? "the space is freed ($before bytes before, $after after)"

# without a worker the next CREATE FOREIGN TABLE removes the data
q 'CREATE DATABASE big' >/dev/null
in_db big 'CREATE EXTENSION widetable' "$K" "$ROWS" >/dev/null
stop; set_conf 'widetable.workers = 0'; start
q 'DROP DATABASE big' >/dev/null
is "$(in_db watch "$STATE" 'CREATE FOREIGN TABLE l (k int) SERVER widetable OPTIONS (key $$k$$, families $${"d": {}}$$)' "$STATE" | tr '\n' ' ')" "3|3 3|3 " "without a worker, CREATE FOREIGN TABLE removes the tables of a dropped database"
finish
