# template: CREATE DATABASE ... TEMPLATE copies the rows of wide tables if the session has loaded
# the library; if not, every use of the copied tables fails with an error until copy_tables() or
# TRUNCATE.  A copied table never appears empty without an error.
. "${0%/*}/common.sh"
new_cluster

VERSIONS="SELECT family, qualifier, ts, value FROM widetable.cells('t', ROW('k3', 3), 9)"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" "UPDATE t SET v = 'newer' WHERE k = 'k3'" "DELETE FROM t WHERE k = 'k4'" \
	"CREATE FOREIGN TABLE c (k int, family text, qualifier text, ts bigint, value text) SERVER widetable OPTIONS (key 'k', layout 'cells', table_name 'shared', families '{\"f\": {\"keep_deleted\": true}}')" \
	"CREATE FOREIGN TABLE d (k int, x text OPTIONS (column 'f:x')) SERVER widetable OPTIONS (key 'k', table_name 'shared', families '{\"f\": {}}')" \
	"INSERT INTO d SELECT g, 'x' || g FROM generate_series(1, 10) g" 'DELETE FROM d WHERE k = 5' \
	"SELECT widetable.put('d', 11, 'f:x', 'short-lived'::text, ttl => '1 second')" 'CREATE TABLE h AS SELECT 1 AS x' >"$T/made"
want=$(q "$SUM")
like "$want" '^1800\|' "the template is loaded"
versions=$(q "$VERSIONS")
old=$(q 'SELECT count(*) FROM d')

# a session that has not loaded the library
is "$(in_db template1 'CREATE DATABASE bare TEMPLATE postgres')" "" "without the library CREATE DATABASE succeeds"
is "$(in_db bare 'TABLE h')" "1" "ordinary tables are copied"
for s in 'SELECT count(*) FROM t' "INSERT INTO t VALUES ('a', 1)" 'UPDATE t SET v = 1' 'DELETE FROM t' 'EXPLAIN SELECT * FROM t' \
	"SELECT widetable.get('t', ROW('k3', 3))" 'ALTER FOREIGN TABLE t ADD COLUMN y int' 'SELECT * FROM d' \
	"SELECT widetable.put('t', ROW('k3', 3), 'd:v', 'x'::text)" "SELECT widetable.table_size('t')" 'ANALYZE t'; do
	like "$(VERBOSITY=verbose in_db bare "$s")" '^ERROR:  55000: the rows of foreign table "." were not copied' "${s%% *} on a table without copied rows fails"
done
like "$(in_db bare 'SELECT count(*) FROM t')" "HINT: .*copy_tables\('postgres'\)" "the hint names copy_tables()"
is "$(in_db bare "CREATE FOREIGN TABLE n (k int, v int) SERVER widetable OPTIONS (key 'k')" 'INSERT INTO n VALUES (1, 1)' 'TABLE n')" "1|1" \
	"a new table in the copy works"
like "$(in_db bare 'SELECT count(*) FROM t')" 'not copied' "with a new table in the copy the other tables still fail"
is "$(in_db template1 'CREATE DATABASE copy_of_copy TEMPLATE bare')" "" "without the library the copy can be copied"
like "$(in_db copy_of_copy 'SELECT count(*) FROM t')" 'not copied' "in the copy of the copy the table fails as well"
like "$(in_db copy_of_copy 'SELECT count(*) FROM n')" 'not copied' "in the copy of the copy a table created in the copy fails as well"
is "$(in_db copy_of_copy 'BEGIN' 'TRUNCATE d' "INSERT INTO d VALUES (1, 'a')" 'TRUNCATE c' 'SELECT count(*) FROM d' 'ROLLBACK')" "0" \
	"TRUNCATE of a second foreign table on the same stored table empties it"
like "$(in_db copy_of_copy 'BEGIN' "CREATE FOREIGN TABLE o (k text, x text OPTIONS (column 'f:x')) SERVER widetable OPTIONS (key 'k', table_name 'shared', families '{\"f\": {}}')" \
	'TRUNCATE d' 'ROLLBACK')" 'ERROR: .*key' "TRUNCATE does not bind a table to a stored table with another key"
is "$(in_db bare 'BEGIN' 'TRUNCATE t' 'SELECT count(*) FROM t' "INSERT INTO t VALUES ('a', 1, 'b')" 'SELECT count(*) FROM t' 'ROLLBACK' | tr '\n' ' ')" "0 1 " "after TRUNCATE the table can be used"
like "$(in_db bare 'SELECT count(*) FROM t')" 'not copied' "after ROLLBACK of the TRUNCATE it fails again"
is "$(in_db bare 'CREATE ROLE somebody' 'SET ROLE somebody' "SELECT widetable.copy_tables('postgres')")" "ERROR:  must be superuser for copy_tables()" "copy_tables() requires superuser"
is "$(in_db bare "SELECT widetable.copy_tables('postgres')" "SELECT widetable.copy_tables('postgres')" | tr '\n' ' ')" "2 0 " "copy_tables() copies each table once"
is "$(in_db bare "$SUM")" "$want" "copy_tables() copies the rows"
is "$(in_db bare "$VERSIONS")" "$versions" "copy_tables() copies all versions with their timestamps"
is "$(in_db bare 'SELECT count(*) FROM c WHERE k < 11' "INSERT INTO d VALUES (20, 'y')" 'SELECT value FROM c WHERE k = 20' | tr '\n' ' ')" "9 y " \
	"copy_tables() copies data that two foreign tables share"
is "$(q 'SELECT count(*) FROM d WHERE k = 20')" "0" "the template does not see what the copy writes"
is "$(in_db template1 'DROP DATABASE copy_of_copy' 'CREATE DATABASE copy_of_copy TEMPLATE bare')" "" "without the library the completed copy can be copied"
like "$(in_db copy_of_copy 'SELECT count(*) FROM t')" "HINT: .*copy_tables\('bare'\)" "the hint names the database it was copied from"

# a session that has loaded the library
LOADED="LOAD 'widetable'"
is "$(in_db template1 "$LOADED" 'CREATE DATABASE loaded TEMPLATE postgres')" "" "with the library CREATE DATABASE succeeds"
is "$(in_db loaded "$SUM" 'TABLE h')" "$want
1" "with the library CREATE DATABASE copies the rows"
is "$(in_db loaded "$VERSIONS")" "$versions" "with the library it copies all versions with their timestamps"
sleep 1
is "$(in_db loaded 'SELECT count(*) FROM d' 'SELECT count(*) FROM c WHERE k = 11' | tr '\n' ' ')" "9 0 " "copied cells keep their time to live"
is "$(in_db loaded "DELETE FROM t WHERE k = 'k1'" 'SELECT count(*) FROM t' "CREATE FOREIGN TABLE n (k int, v int) SERVER widetable OPTIONS (key 'k')" | tr '\n' ' ')" "1600 " "the copy can be changed"
is "$(q 'SELECT count(*) FROM t')" "1800" "the template is unchanged"
is "$(in_db template1 "$LOADED" 'CREATE DATABASE again TEMPLATE loaded' 'DROP DATABASE loaded')" "" "the copy can be copied and then dropped"
sleep 1; stop immediate; start
is "$(in_db again 'SELECT count(*) FROM t')" "1600" "after a crash the copy of the dropped database has its rows"
like "$(in_db template1 "$LOADED" 'CREATE DATABASE nowhere TEMPLATE missing')" 'does not exist' "a missing template is an error"
is "$(in_db template1 "$LOADED" 'CREATE DATABASE plain' 'SELECT 1')" "1" "a template without wide tables can be copied"
# the template is dropped
is "$(in_db template1 'CREATE DATABASE last TEMPLATE postgres')" "" "without the library CREATE DATABASE succeeds again"
in_db template1 'DROP DATABASE postgres WITH (FORCE)' >/dev/null
like "$(in_db last 'SELECT count(*) FROM t')" 'DETAIL: .*does not exist any more' "if the template has been dropped, the error says so"
is "$(in_db last 'SET client_min_messages = warning' 'DROP EXTENSION widetable CASCADE' 'CREATE EXTENSION widetable' "$TABLE" 'SELECT count(*) FROM t')" "0" "tables without copied rows can be dropped and created again"
is "$(in_db again 'SELECT * FROM widetable.verify()')" "" "verify() finds no problem"
finish
