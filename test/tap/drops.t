# drops: whatever drops a wide table, its data goes with the commit and comes
# back with a rollback; DROP DATABASE gives the space back, hangs on nobody and
# nobody hangs on it.
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

# every way to drop it: rolled back, rolled back to a savepoint, committed
try() { # NAME COMMAND SETUP...
	n_=$1 c_=$2; shift 2
	q 'SET client_min_messages = warning' 'CREATE EXTENSION IF NOT EXISTS widetable' "$@" "${MAKE:-$K}" "$ROWS" 'ALTER FOREIGN TABLE k OWNER TO owner' 'SELECT widetable.flush()' >"$T/made" 2>&1 || cat "$T/made"
	is "$(q "${BEFORE:-SELECT}" 'SET client_min_messages = warning' 'BEGIN' "$c_" 'ROLLBACK' 'SELECT count(*) FROM k')" "5000" "$n_: comes back with ROLLBACK"
	is "$(q "${BEFORE:-SELECT}" 'SET client_min_messages = warning' 'BEGIN' "INSERT INTO k VALUES (0, 'x')" 'SAVEPOINT s' "$c_" 'ROLLBACK TO s' "INSERT INTO k VALUES (-1, 'x')" 'SELECT count(*) FROM k' 'COMMIT' 'SELECT count(*) FROM k' | tr '\n' ' ')" \
		"5002 5002 " "$n_: comes back with a savepoint"
	is "$(in_db watch "$STATE")" "2|2" "$n_: is there until then"
	is "$(q "${BEFORE:-SELECT}" 'SET client_min_messages = warning' 'BEGIN' 'SAVEPOINT s' "$c_" 'RELEASE s' 'COMMIT')" "" "$n_: is dropped"
	is "$(in_db watch "$STATE")" "1|1" "$n_: the data goes with the commit"
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

# others have it open
q 'CREATE EXTENSION IF NOT EXISTS widetable' "$K" "$ROWS" >/dev/null
session cursor 3
printf '%s\n' 'BEGIN;' 'DECLARE c CURSOR FOR SELECT k FROM k ORDER BY k;' 'FETCH 1 FROM c;' >&3
await 5 '^1$' "SELECT count(*) FROM pg_locks WHERE relation = 'k'::regclass AND pid <> pg_backend_pid()"
like "$(q "SET lock_timeout = '300ms'" 'DROP FOREIGN TABLE k')" 'lock timeout' "a cursor in another session: DROP waits"
like "$(q "SET lock_timeout = '300ms'" 'TRUNCATE k')" 'lock timeout' "so does TRUNCATE"
like "$(q "SET lock_timeout = '300ms'" 'SET client_min_messages = warning' 'DROP EXTENSION widetable CASCADE')" 'lock timeout' "and DROP EXTENSION"
q 'TRUNCATE k' 'SELECT count(*) FROM k' >"$T/truncated" &
await 5 '^1$' "SELECT count(*) FROM pg_locks WHERE relation = 'k'::regclass AND NOT granted"
printf '%s\n' 'MOVE FORWARD ALL FROM c;' 'CLOSE c;' 'DECLARE d CURSOR FOR SELECT k FROM k ORDER BY k DESC;' 'FETCH 1 FROM d;' 'TRUNCATE k;' 'DROP FOREIGN TABLE k;' 'COMMIT;' '\q' >&3
exec 3>&-
wait "$session_pid"
like "$(tr '\n' ' ' <"$T/cursor.out")" '^1 5000 ERROR: .*being used by active queries' "the cursor reads to the end, and its own session cannot truncate under it"
wait
is "$(cat "$T/truncated")" "0" "TRUNCATE comes after"

# several databases with tables of one name; one is dropped under its users
is "$(in_db watch 'SELECT count(*), min(v) IS NOT NULL FROM k')" "5000|t" "the table of that name in another database is untouched"
q 'CREATE DATABASE big' >/dev/null
in_db big 'CREATE EXTENSION widetable' "$K" "INSERT INTO k SELECT g, md5(g::text) || md5((g + 1)::text) FROM generate_series(1, 50000) g" 'SELECT widetable.flush()' \
	"CREATE PROCEDURE load() LANGUAGE plpgsql AS \$\$BEGIN FOR g IN 1..1000000 LOOP INSERT INTO k VALUES (g, 'new' || g); PERFORM count(*) FROM k WHERE k = g; COMMIT; END LOOP; END\$\$" >/dev/null
in_db watch "CREATE PROCEDURE load() LANGUAGE plpgsql AS \$\$BEGIN FOR g IN 100001..110000 LOOP INSERT INTO k VALUES (g, 'new' || g); PERFORM count(*) FROM k WHERE k = g; COMMIT; END LOOP; END\$\$" >/dev/null
before=$(bytes)
for i in 1 2 3; do in_db big 'CALL load()' >"$T/big.$i" & done
in_db watch 'CALL load()' >"$T/watch.load" &
watch=$!
sleep 0.5
like "$(q 'DROP DATABASE big')" 'is being accessed by other users' "DROP DATABASE under its users"
began=$(date +%s%N)
is "$(q "SET statement_timeout = '20s'" 'DROP DATABASE big WITH (FORCE)')" "" "DROP DATABASE WITH (FORCE) under its users"
for i in 1 2; do q "SET statement_timeout = '20s'" 'CREATE DATABASE x' 'DROP DATABASE x'; done >"$T/loop" 2>&1
is "$(cat "$T/loop")" "" "CREATE and DROP DATABASE under load"
ms=$((($(date +%s%N) - began) / 1000000))
[ $ms -lt 12000 ]; ok $? "which take a moment only ($ms ms)"
is "$(cat "$T"/big.? | grep -c 'terminating connection')" "3" "the users were thrown out"
(PGDATABASE=watch; await 15 '^2\|2$' "$STATE")
ok $? "the tables of the dropped database are removed"
wait $watch
is "$(cat "$T/watch.load")" "" "other databases' writers noticed nothing"
is "$(in_db watch 'SELECT count(*) FROM k' 'SELECT widetable.flush()' 'SELECT * FROM widetable.verify()')" "15000" "nor have their rows"
# the worker removes files in its next rounds
for _ in $(seq 50); do after=$(bytes); [ "$after" -lt $((before / 2)) ] && break; sleep 0.1; done
[ "$after" -lt $((before / 2)) ]; ok $? "the space is free again ($before, then $after bytes)"

# without a worker the next CREATE FOREIGN TABLE does it
q 'CREATE DATABASE big' >/dev/null
in_db big 'CREATE EXTENSION widetable' "$K" "$ROWS" >/dev/null
stop; set_conf 'widetable.workers = 0'; start
q 'DROP DATABASE big' >/dev/null
is "$(in_db watch "$STATE" 'CREATE FOREIGN TABLE l (k int) SERVER widetable OPTIONS (key $$k$$, families $${"d": {}}$$)' "$STATE" | tr '\n' ' ')" "3|3 3|3 " "without a worker, CREATE FOREIGN TABLE removes them"
finish
