# databases: dump and restore, templates, drops; nothing hangs on the worker.
. "${0%/*}/common.sh"
new_cluster
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" >/dev/null
want=$(q "$SUM")
# altered tables are found again by what ALTER has written into their options
q "CREATE FOREIGN TABLE old (a text COLLATE \"C\", b int, c text) SERVER widetable OPTIONS (key 'a, b')" \
	"CREATE FOREIGN TABLE old_cells (a text COLLATE \"C\", b int, family text, qualifier text, value bytea) SERVER widetable OPTIONS (table_name 'public.old', layout 'cells', key 'a, b')" \
	"INSERT INTO old VALUES ('x', 1, 'one'), ('y', 2, 'two')" \
	"ALTER FOREIGN TABLE old RENAME c TO d" "ALTER FOREIGN TABLE old RENAME a TO \"Key\"" "ALTER FOREIGN TABLE old RENAME TO new" \
	"ALTER FOREIGN TABLE new OPTIONS (ADD families '{\"first\": {}, \"d\": {}}')" >/dev/null
ALTERED='SELECT "Key", b, d, (SELECT count(*) FROM old_cells WHERE family = $$d$$ AND qualifier = $$c$$) FROM new ORDER BY 1'
is "$(q "$ALTERED")" "x|1|one|2
y|2|two|2" "ALTER keeps the rows"

"$BIN/pg_dump" --include-foreign-data=widetable >"$T/dump.sql" 2>"$T/dump.err"
ok $? "pg_dump with data"
q 'CREATE DATABASE copy' >/dev/null
(PGDATABASE=copy; export PGDATABASE; "$BIN/psql" -Xq -v ON_ERROR_STOP=1 -f "$T/dump.sql" >/dev/null 2>"$T/restore.err")
r=$?
ok $r "restore into another database"
[ $r = 0 ] || sed 's/^/# /' "$T/restore.err"
is "$(in_db copy "$SUM")" "$want" "the copy has the same rows"
is "$(in_db copy "$ALTERED")" "$(q "$ALTERED")" "those of altered tables, too"
q "DELETE FROM t WHERE k = 'k1'" >/dev/null
is "$(in_db copy "$SUM")" "$want" "and is a table of its own"
"$BIN/pg_dump" -s >"$T/a.sql" 2>/dev/null
(PGDATABASE=copy; export PGDATABASE; "$BIN/pg_dump" -s >"$T/b.sql" 2>/dev/null)
# newer pg_dump writes \restrict lines with a random word
grep -v '^\\\(un\)\{0,1\}restrict ' "$T/a.sql" >"$T/a2.sql"; grep -v '^\\\(un\)\{0,1\}restrict ' "$T/b.sql" >"$T/b2.sql"
cmp -s "$T/a2.sql" "$T/b2.sql"
ok $? "the definitions are the same"

is "$(q 'DROP DATABASE copy')" "" "DROP DATABASE does not hang on the worker"
is "$(in_db template1 'CREATE DATABASE clone TEMPLATE postgres')" "" "CREATE DATABASE from a template with wide tables"
like "$(in_db clone 'SELECT count(*) FROM t')" 'not copied' "its rows are not copied by a session without the library (see template.t)"
is "$(in_db clone 'TRUNCATE t' "INSERT INTO t VALUES ('a', 1, 'b')" 'SELECT k, n, v FROM t')" "a|1|b" "a table can begin empty"
is "$(q 'SELECT count(*) FROM t')" "1800" "the template's table is untouched"
is "$(q 'BEGIN' 'DROP FOREIGN TABLE t' 'ROLLBACK' 'SELECT count(*) FROM t')" "1800" "a drop rolls back with its transaction"
is "$(q 'SET client_min_messages = warning' 'DROP EXTENSION widetable CASCADE' "SELECT count(*) FROM pg_foreign_table")" "0" "DROP EXTENSION works"
is "$(q 'CREATE EXTENSION widetable' "$TABLE" 'SELECT count(*) FROM t')" "0" "and the tables are gone when it comes back"
is "$(q "$FILL" 'BEGIN' 'DROP FOREIGN TABLE t' 'COMMIT' "$TABLE" 'SELECT count(*) FROM t')" "0" "DROP FOREIGN TABLE removes the data"
finish
