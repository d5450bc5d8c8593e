# library: where the library is missing, commands that define something go on with a warning, for
# all roles, and the extension can be dropped.
. "${0%/*}/common.sh"
new_cluster
# the default privileges of the database are stricter than PostgreSQL's
q 'CREATE DATABASE strict' 'CREATE ROLE amy' >/dev/null
in_db strict 'ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC' 'CREATE EXTENSION widetable' 'GRANT CREATE ON SCHEMA public TO amy' >/dev/null
is "$(in_db strict 'SET ROLE amy' 'CREATE TABLE hers (n int)' 'CREATE INDEX CONCURRENTLY ON hers (n)' 'REINDEX TABLE CONCURRENTLY hers' 'DROP TABLE hers')" "" "all roles can define something, whatever the default privileges"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" >/dev/null
like "$(q "DROP EXTENSION plpgsql")" 'extension widetable depends on extension plpgsql' "the extension needs plpgsql"
q "UPDATE pg_proc SET probin = '\$libdir/no_such_widetable' WHERE probin = '\$libdir/widetable'" >/dev/null
like "$(q 'CREATE TABLE plain (n int)')" '^WARNING:  the library of extension widetable is missing' "without the library DDL says so"
is "$(q "SET client_min_messages = error" 'ALTER TABLE plain ADD m int' 'CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$' 'DROP TABLE plain' 'CREATE SCHEMA s' 'DROP SCHEMA s CASCADE' 'BEGIN' 'CREATE TABLE plain2 (n int)' 'COMMIT' 'SELECT count(*) FROM plain2')" "0" "and goes on"
is "$(q 'SET client_min_messages = error' 'SET widetable.enable_pushdown = on' 'CREATE TABLE plain3 (n int)' 'SELECT count(*) FROM plain3')" "0" "also with a setting of the library"
other=$(q "SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'")/plpgsql.so # PostgreSQL's own functions say \$libdir
q "UPDATE pg_proc SET probin = '$other' WHERE probin = '\$libdir/no_such_widetable'" >/dev/null
like "$(q 'CREATE TABLE plain4 (n int)')" '^WARNING:  the library of extension widetable cannot be loaded' "a library that has not what is needed is as none"
q "UPDATE pg_proc SET probin = '\$libdir/no_such_widetable' WHERE probin = '$other'" >/dev/null
like "$(q 'SELECT count(*) FROM t')" 'could not access file' "wide tables cannot be used"
q 'CREATE ROLE bob LOGIN' 'GRANT CREATE ON SCHEMA public TO bob' >/dev/null 2>&1
is "$(q 'SET ROLE bob' 'SET client_min_messages = error' 'CREATE TABLE public.his (n int)' 'SELECT count(*) FROM public.his')" "0" "other roles go on, too"
is "$(q 'SET client_min_messages = error' 'DROP EXTENSION widetable CASCADE' "SELECT count(*) FROM pg_event_trigger")" "0" "the extension can be dropped without its library"
finish
