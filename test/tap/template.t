# template: CREATE DATABASE ... TEMPLATE of a database with wide tables makes a
# copy, or the copy's tables say that they are none.  Never are rows missing
# without a word.
. "${0%/*}/common.sh"
new_cluster

VERSIONS="SELECT family, qualifier, ts, value FROM widetable.cells('t', ROW('k3', 3), 9)"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" "UPDATE t SET v = 'newer' WHERE k = 'k3'" "DELETE FROM t WHERE k = 'k4'" \
	"CREATE FOREIGN TABLE c (k int, family text, qualifier text, ts bigint, value text) SERVER widetable OPTIONS (key 'k', layout 'cells', table_name 'shared', families '{\"f\": {\"keep_deleted\": true}}')" \
	"CREATE FOREIGN TABLE d (k int, x text OPTIONS (column 'f:x')) SERVER widetable OPTIONS (key 'k', table_name 'shared', families '{\"f\": {}}')" \
	"INSERT INTO d SELECT g, 'x' || g FROM generate_series(1, 10) g" 'DELETE FROM d WHERE k = 5' \
	"SELECT widetable.put('d', 11, 'f:x', 'short-lived'::text, ttl => '1 second')" 'CREATE TABLE h AS SELECT 1 AS x' >"$T/made"
want=$(q "$SUM")
like "$want" '^1800\|' "the template has rows"
versions=$(q "$VERSIONS")
old=$(q 'SELECT count(*) FROM d')

# a session that does not have the library
is "$(in_db template1 'CREATE DATABASE bare TEMPLATE postgres')" "" "CREATE DATABASE without the library"
is "$(in_db bare 'TABLE h')" "1" "ordinary tables are copied"
for s in 'SELECT count(*) FROM t' "INSERT INTO t VALUES ('a', 1)" 'UPDATE t SET v = 1' 'DELETE FROM t' 'EXPLAIN SELECT * FROM t' \
	"SELECT widetable.get('t', ROW('k3', 3))" 'ALTER FOREIGN TABLE t ADD COLUMN y int' 'SELECT * FROM d' \
	"SELECT widetable.put('t', ROW('k3', 3), 'd:v', 'x'::text)" "SELECT widetable.table_size('t')" 'ANALYZE t'; do
	like "$(VERBOSITY=verbose in_db bare "$s")" '^ERROR:  55000: the rows of foreign table "." were not copied' "wide ones say so: ${s%% *}"
done
like "$(in_db bare 'SELECT count(*) FROM t')" "HINT: .*copy_tables\('postgres'\)" "with a hint"
is "$(in_db bare "CREATE FOREIGN TABLE n (k int, v int) SERVER widetable OPTIONS (key 'k')" 'INSERT INTO n VALUES (1, 1)' 'TABLE n')" "1|1" \
	"a new table works"
like "$(in_db bare 'SELECT count(*) FROM t')" 'not copied' "and hides nothing of the others"
is "$(in_db template1 'CREATE DATABASE copy_of_copy TEMPLATE bare')" "" "a copy of it"
like "$(in_db copy_of_copy 'SELECT count(*) FROM t')" 'not copied' "is not a copy either"
like "$(in_db copy_of_copy 'SELECT count(*) FROM n')" 'not copied' "nor is what was made there"
is "$(in_db bare 'BEGIN' 'TRUNCATE t' 'SELECT count(*) FROM t' "INSERT INTO t VALUES ('a', 1, 'b')" 'SELECT count(*) FROM t' 'ROLLBACK' | tr '\n' ' ')" "0 1 " "TRUNCATE lets a table begin empty"
like "$(in_db bare 'SELECT count(*) FROM t')" 'not copied' "until it is rolled back"
is "$(in_db bare 'CREATE ROLE somebody' 'SET ROLE somebody' "SELECT widetable.copy_tables('postgres')")" "ERROR:  must be superuser for copy_tables()" "copy_tables() is for superusers"
is "$(in_db bare "SELECT widetable.copy_tables('postgres')" "SELECT widetable.copy_tables('postgres')" | tr '\n' ' ')" "2 0 " "copy_tables() copies"
is "$(in_db bare "$SUM")" "$want" "the rows"
is "$(in_db bare "$VERSIONS")" "$versions" "all versions with their timestamps"
is "$(in_db bare 'SELECT count(*) FROM c WHERE k < 11' "INSERT INTO d VALUES (20, 'y')" 'SELECT value FROM c WHERE k = 20' | tr '\n' ' ')" "9 y " \
	"and what two foreign tables share"
is "$(q 'SELECT count(*) FROM d WHERE k = 20')" "0" "the template does not see what the copy writes"
is "$(in_db template1 'DROP DATABASE copy_of_copy' 'CREATE DATABASE copy_of_copy TEMPLATE bare')" "" "now a copy of the copy"
like "$(in_db copy_of_copy 'SELECT count(*) FROM t')" "HINT: .*copy_tables\('bare'\)" "names the copy"

# a session that has it
LOADED="LOAD 'widetable'"
is "$(in_db template1 "$LOADED" 'CREATE DATABASE loaded TEMPLATE postgres')" "" "CREATE DATABASE with the library"
is "$(in_db loaded "$SUM" 'TABLE h')" "$want
1" "has copied the rows"
is "$(in_db loaded "$VERSIONS")" "$versions" "all versions with their timestamps"
sleep 1
is "$(in_db loaded 'SELECT count(*) FROM d' 'SELECT count(*) FROM c WHERE k = 11' | tr '\n' ' ')" "9 0 " "time to live goes on"
is "$(in_db loaded "DELETE FROM t WHERE k = 'k1'" 'SELECT count(*) FROM t' "CREATE FOREIGN TABLE n (k int, v int) SERVER widetable OPTIONS (key 'k')" | tr '\n' ' ')" "1600 " "and is a database of its own"
is "$(q 'SELECT count(*) FROM t')" "1800" "the template is as it was"
is "$(in_db template1 "$LOADED" 'CREATE DATABASE again TEMPLATE loaded' 'DROP DATABASE loaded')" "" "a copy of the copy, which is dropped"
sleep 1; stop immediate; start
is "$(in_db again 'SELECT count(*) FROM t')" "1600" "has its rows, after a crash too"
like "$(in_db template1 "$LOADED" 'CREATE DATABASE nowhere TEMPLATE missing')" 'does not exist' "a template that is not there"
is "$(in_db template1 "$LOADED" 'CREATE DATABASE plain' 'SELECT 1')" "1" "a template without wide tables"
# the template goes
is "$(in_db template1 'CREATE DATABASE last TEMPLATE postgres')" "" "CREATE DATABASE without the library"
in_db template1 'DROP DATABASE postgres WITH (FORCE)' >/dev/null
like "$(in_db last 'SELECT count(*) FROM t')" 'DETAIL: .*does not exist any more' "without its template the copy says so"
is "$(in_db last 'SET client_min_messages = warning' 'DROP EXTENSION widetable CASCADE' 'CREATE EXTENSION widetable' "$TABLE" 'SELECT count(*) FROM t')" "0" "its tables can be dropped"
is "$(in_db again 'SELECT * FROM widetable.verify()')" "" "verify finds nothing"
finish
