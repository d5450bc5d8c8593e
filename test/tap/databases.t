# databases: pg_dump and restore into another database, CREATE DATABASE ... TEMPLATE, and drops of
# databases, extension and tables.  The background worker blocks none of them.
. "${0%/*}/common.sh"
new_cluster
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" >/dev/null
want=$(q "$SUM")
# ALTER stores the original names in the table's options, by which the altered table finds its data
q "CREATE FOREIGN TABLE old (a text COLLATE \"C\", b int, c text) SERVER widetable OPTIONS (key 'a, b')" \
	"CREATE FOREIGN TABLE old_cells (a text COLLATE \"C\", b int, family text, qualifier text, value bytea) SERVER widetable OPTIONS (table_name 'public.old', layout 'cells', key 'a, b')" \
	"INSERT INTO old VALUES ('x', 1, 'one'), ('y', 2, 'two')" \
	"ALTER FOREIGN TABLE old RENAME c TO d" "ALTER FOREIGN TABLE old RENAME a TO \"Key\"" "ALTER FOREIGN TABLE old RENAME TO new" \
	"ALTER FOREIGN TABLE new OPTIONS (ADD families '{\"first\": {}, \"d\": {}}')" >/dev/null
ALTERED='SELECT "Key", b, d, (SELECT count(*) FROM old_cells WHERE family = $$d$$ AND qualifier = $$c$$) FROM new ORDER BY 1'
is "$(q "$ALTERED")" "x|1|one|2
y|2|two|2" "ALTER ... RENAME and ADD families keep the rows"

# rows of NULLs, a table of keys alone, options
q "CREATE FOREIGN TABLE sparse (id int, a text, b text) SERVER widetable OPTIONS (key 'id')" \
	"CREATE FOREIGN TABLE keys (a int, b int) SERVER widetable OPTIONS (key 'a, b')" \
	"CREATE FOREIGN TABLE off (id int, a text) SERVER widetable OPTIONS (marker 'off')" \
	"INSERT INTO sparse VALUES (1, NULL, NULL), (2, 'x', NULL), (3, NULL, NULL)" "UPDATE sparse SET a = NULL" \
	"INSERT INTO keys VALUES (1, 2), (2, 1)" "INSERT INTO off VALUES (1, 'x')" >/dev/null
SPARSE="SELECT * FROM sparse ORDER BY 1; SELECT * FROM keys ORDER BY 1; SELECT * FROM off; SELECT family, qualifier, value FROM widetable.cells('sparse', 2)"
is "$(q "$SPARSE")" "1||
2||
3||
1|2
2|1
1|x
d||\\x" "rows of NULLs are rows"

"$BIN/pg_dump" --include-foreign-data=widetable >"$T/dump.sql" 2>"$T/dump.err"
ok $? "pg_dump with data succeeds"
q 'CREATE DATABASE copy' >/dev/null
(PGDATABASE=copy; export PGDATABASE; "$BIN/psql" -Xq -v ON_ERROR_STOP=1 -f "$T/dump.sql" >/dev/null 2>"$T/restore.err")
r=$?
ok $r "restore into another database succeeds"
[ $r = 0 ] || sed 's/^/# /' "$T/restore.err"
is "$(in_db copy "$SUM")" "$want" "the restored table has the same rows"
is "$(in_db copy "$ALTERED")" "$(q "$ALTERED")" "the restored altered table has the same rows"
is "$(in_db copy "$SPARSE")" "$(q "$SPARSE")" "the restored database has the rows of NULLs and the table of keys alone"
q "DELETE FROM t WHERE k = 'k1'" >/dev/null
is "$(in_db copy "$SUM")" "$want" "a change of the original does not change the restored table"
"$BIN/pg_dump" -s >"$T/a.sql" 2>/dev/null
(PGDATABASE=copy; export PGDATABASE; "$BIN/pg_dump" -s >"$T/b.sql" 2>/dev/null)
# newer versions of pg_dump write \restrict lines with a random key
grep -v '^\\\(un\)\{0,1\}restrict ' "$T/a.sql" >"$T/a2.sql"; grep -v '^\\\(un\)\{0,1\}restrict ' "$T/b.sql" >"$T/b2.sql"
cmp -s "$T/a2.sql" "$T/b2.sql"
ok $? "the restored definitions are the same"


# a stored table that two foreign tables of a role show; the dump has the second one first
q 'CREATE ROLE app LOGIN' 'CREATE SCHEMA app AUTHORIZATION app' 'GRANT USAGE ON FOREIGN SERVER widetable TO app' 'SET ROLE app' \
	"CREATE FOREIGN TABLE app.\"Visits\" (k text COLLATE \"C\", v text) SERVER widetable" \
	"CREATE FOREIGN TABLE app.cells (k text COLLATE \"C\", family text, qualifier text, value text) SERVER widetable OPTIONS (table_name 'app.\"Visits\"', layout 'cells')" \
	"INSERT INTO app.\"Visits\" VALUES ('a', 'x')" >/dev/null
SHARED="SELECT v, value, (SELECT count(DISTINCT table_name) FROM widetable.pg_stat_widetable_tables WHERE relation::text LIKE 'app.%') FROM app.\"Visits\", app.cells"
"$BIN/pg_dump" -n app --include-foreign-data=widetable >"$T/app.sql" 2>"$T/dump.err"
"$BIN/pg_dump" -Fc --include-foreign-data=widetable >"$T/all.dump" 2>>"$T/dump.err"
# restore DATABASE COMMAND...: restores into a new database, owned by app
restore() {
	d_=$1; shift
	q "CREATE DATABASE $d_ OWNER app" >/dev/null
	in_db "$d_" 'CREATE EXTENSION widetable' 'GRANT USAGE ON FOREIGN SERVER widetable TO app' >/dev/null
	(PGDATABASE=$d_; export PGDATABASE; "$@" >/dev/null 2>"$T/restore.err")
	r=$?
	[ $r = 0 ] || sed 's/^/# /' "$T/restore.err"
	ok $r "$d_: restoring shared tables succeeds"
	is "$(in_db "$d_" "$SHARED")" "x|x|1" "$d_: both foreign tables show one stored table"
}
restore by_superuser "$BIN/psql" -Xq -v ON_ERROR_STOP=1 -f "$T/app.sql"
# -n restores what is in the schema, but not the schema
restore by_superuser_in_parts sh -c '"$0" -Xqc "CREATE SCHEMA app AUTHORIZATION app" && "$@"' "$BIN/psql" \
	"$BIN/pg_restore" -e -j 2 -n app -d by_superuser_in_parts "$T/all.dump"
sed 's/^CREATE SCHEMA app;$/CREATE SCHEMA IF NOT EXISTS app;/' "$T/app.sql" >"$T/app2.sql"
restore by_owner env PGUSER=app "$BIN/psql" -Xq -v ON_ERROR_STOP=1 -f "$T/app2.sql"
is "$(in_db by_superuser 'SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = $$app$$::regnamespace')" "app" "by_superuser: the owner is restored"
q 'DROP DATABASE by_superuser' 'DROP DATABASE by_superuser_in_parts' 'DROP DATABASE by_owner' 'DROP SCHEMA app CASCADE' >/dev/null 2>&1
is "$(q 'DROP DATABASE copy')" "" "DROP DATABASE is not blocked by the worker"
is "$(in_db template1 'CREATE DATABASE clone TEMPLATE postgres')" "" "CREATE DATABASE from a template with wide tables succeeds"
like "$(in_db clone 'SELECT count(*) FROM t')" 'not copied' "a session without the library does not copy their rows (see template.t)"
is "$(in_db clone 'TRUNCATE t' "INSERT INTO t VALUES ('a', 1, 'b')" 'SELECT k, n, v FROM t')" "a|1|b" "after TRUNCATE the table can be used"
is "$(q 'SELECT count(*) FROM t')" "1800" "the template's table is unchanged"
is "$(q 'BEGIN' 'DROP FOREIGN TABLE t' 'ROLLBACK' 'SELECT count(*) FROM t')" "1800" "ROLLBACK undoes DROP FOREIGN TABLE"
is "$(q 'SET client_min_messages = warning' 'DROP EXTENSION widetable CASCADE' "SELECT count(*) FROM pg_foreign_table")" "0" "DROP EXTENSION CASCADE drops the tables"
is "$(q 'CREATE EXTENSION widetable' "$TABLE" 'SELECT count(*) FROM t')" "0" "after CREATE EXTENSION a table of the same name is empty"
is "$(q "$FILL" 'BEGIN' 'DROP FOREIGN TABLE t' 'COMMIT' "$TABLE" 'SELECT count(*) FROM t')" "0" "DROP FOREIGN TABLE removes the data"
finish
