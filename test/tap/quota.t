# quota: one role cannot use up the tables of the cluster, whatever it creates in which database; a
# command that finds no room fails itself, not the commit; superusers have some room of their own.
. "${0%/*}/common.sh"
new_cluster 'widetable.max_tables = 100' 'widetable.max_tables_per_role = 60'
GRANTS='GRANT USAGE ON FOREIGN SERVER widetable TO one, two; GRANT ALL ON SCHEMA public TO one, two'
q 'CREATE EXTENSION widetable' 'CREATE ROLE one LOGIN' 'CREATE ROLE two LOGIN' "$GRANTS" 'CREATE DATABASE other' >/dev/null
in_db other 'CREATE EXTENSION widetable' "$GRANTS" >/dev/null
as() { r_=$1; shift; (PGUSER=$r_; export PGUSER; q "$@"); }
# creates tables until one fails, and writes how many there are
FILL="DO \$\$DECLARE n int := 0; BEGIN LOOP
	BEGIN EXECUTE format('CREATE FOREIGN TABLE %s%s (k int, v text) SERVER widetable', current_user, n);
	EXCEPTION WHEN configuration_limit_exceeded THEN RAISE NOTICE '% tables: %', n, SQLERRM; EXIT; END; n := n + 1; END LOOP; END\$\$"
is "$(PGDATABASE=other; export PGDATABASE; as one 'DO $$BEGIN FOR i IN 1..10 LOOP EXECUTE format($f$CREATE FOREIGN TABLE o%s (k int, v text) SERVER widetable$f$, i); END LOOP; END$$')" "" "a role creates 10 tables in a database"
is "$(as one "$FILL")" 'NOTICE:  50 tables: role "one" would have too many wide tables' "it can create 50 in another one"
like "$(as one 'BEGIN' 'CREATE FOREIGN TABLE more (k int, v text) SERVER widetable' "SELECT 'after'" 'COMMIT')" 'HINT: .*widetable.max_tables_per_role' "one more fails, and the hint names the setting"
like "$(as one 'BEGIN' 'CREATE FOREIGN TABLE more (k int, v text) SERVER widetable' 'COMMIT' 'SELECT count(*) FROM pg_foreign_table')" '^ERROR:.*
DETAIL:.*
HINT:.*
50$' "the command fails, not the commit"
is "$(as one 'DROP FOREIGN TABLE one0' 'CREATE FOREIGN TABLE more (k int, v text) SERVER widetable')" "" "after a drop one more can be created"
# 40 are left, of which 5 are for superusers
is "$(as two "$FILL")" 'NOTICE:  35 tables: the store has no room for more wide tables' "another role can fill the store but for 5 tables"
like "$(as two 'CREATE FOREIGN TABLE more2 (k int, v text) SERVER widetable')" '5 percent of it are kept for superusers.*
HINT: .*widetable.max_tables ' "the error says so, and names the setting"
is "$(as two 'INSERT INTO two0 VALUES (1, $$x$$)' 'ALTER FOREIGN TABLE two0 RENAME TO two00' 'TRUNCATE two00' 'ALTER FOREIGN TABLE two00 ADD COLUMN w int' 'DROP FOREIGN TABLE two1' 'CREATE FOREIGN TABLE two1 (k int, v text) SERVER widetable')" "" "what adds nothing works"
is "$(q "$FILL")" 'NOTICE:  5 tables: the store has no room for more wide tables' "a superuser can create these 5"
like "$(q 'BEGIN' 'CREATE FOREIGN TABLE more2 (k int, v text) SERVER widetable')" 'catalog is full.*
HINT: .*widetable.max_tables ' "one more fails at once"
is "$(q 'SELECT tables FROM widetable.pg_stat_widetable')" "100" "there are max_tables tables"
is "$(q 'ALTER ROLE two SET widetable.max_tables_per_role = 10' 'DROP FOREIGN TABLE postgres0, postgres1, postgres2, postgres3, postgres4, one1, one2, one3')" "" "the setting can be set for a role"
like "$(as two 'CREATE FOREIGN TABLE more2 (k int, v text) SERVER widetable')" 'role "two" would have too many' "and counts for it"
is "$(as one 'CREATE FOREIGN TABLE more2 (k int, v text) SERVER widetable')" "" "but not for others"
like "$(as two 'SELECT count(*) FROM two5' 'SET widetable.max_tables_per_role = -1')" 'permission denied' "only superusers change it"
like "$(as two 'SET widetable.max_tables_per_role = -1' 'CREATE FOREIGN TABLE more3 (k int, v text) SERVER widetable')" 'role "two" would have too many' "also before the library is loaded"
is "$(q 'SET client_min_messages = warning' 'DROP OWNED BY one, two CASCADE' 'SELECT tables FROM widetable.pg_stat_widetable')" "10" "dropped tables are counted no more"
finish
