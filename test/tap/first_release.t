# first_release: a store of the first release opens with this library, shows what it showed, and goes
# on, before and after ALTER EXTENSION UPDATE; and a database gets the same definitions by both ways.
# Takes 15 seconds.
. "${0%/*}/common.sh"
DATA="${0%/*}/../data/first_release"
new_cluster "shared_preload_libraries = 'widetable'"

# ---- CREATE EXTENSION, and the first version with an UPDATE: the same objects
cat >"$T/members.sql" <<'END'
-- what ALTER and GRANT can change of the extension's objects
SELECT pg_describe_object(classid, objid, 0), classid::regclass, identity
FROM pg_depend, pg_identify_object(classid, objid, 0) i
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'widetable') AND deptype = 'e'
ORDER BY 2, 3;
SELECT p.oid::regprocedure, pg_get_functiondef(p.oid), proacl FROM pg_proc p WHERE pronamespace = 'widetable'::regnamespace ORDER BY p.oid::regprocedure::text;
SELECT c.relname, pg_get_viewdef(c.oid), relacl, reloptions FROM pg_class c WHERE relnamespace = 'widetable'::regnamespace AND relkind = 'v' ORDER BY 1;
SELECT a.attrelid::regclass, attnum, attname, format_type(atttypid, atttypmod), attacl FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
WHERE relnamespace = 'widetable'::regnamespace AND attnum > 0 ORDER BY a.attrelid::regclass::text, 2;
SELECT evtname, evtevent, evttags, evtenabled, evtfoid::regproc FROM pg_event_trigger ORDER BY 1;
SELECT srvname, srvacl, srvoptions FROM pg_foreign_server ORDER BY 1;
SELECT fdwname, fdwacl, fdwhandler::regproc, fdwvalidator::regproc FROM pg_foreign_data_wrapper ORDER BY 1;
SELECT identity, privtype, initprivs FROM pg_init_privs, pg_identify_object(classoid, objoid, objsubid) WHERE identity LIKE '%widetable%' ORDER BY 1;
SELECT nspname, nspacl FROM pg_namespace WHERE nspname = 'widetable';
SELECT extversion FROM pg_extension WHERE extname = 'widetable';
END
q 'CREATE DATABASE created' 'CREATE DATABASE updated' >/dev/null
in_db created 'CREATE EXTENSION widetable' "$(cat "$T/members.sql")" >"$T/created"
in_db updated "CREATE EXTENSION widetable VERSION '1.0'" "$TABLE" "$FILL" >/dev/null
# what users have made of the first version's views and functions, and the rights that they were given
in_db updated 'CREATE ROLE reader' 'CREATE ROLE monitor IN ROLE pg_monitor' 'CREATE SCHEMA mine' 'GRANT USAGE ON SCHEMA mine TO monitor' \
	"DO \$\$
DECLARE v name;
BEGIN
	FOR v IN SELECT viewname FROM pg_views WHERE schemaname = 'widetable' LOOP EXECUTE format('CREATE VIEW mine.%I AS SELECT * FROM widetable.%I', v, v); END LOOP;
END \$\$" 'CREATE VIEW mine.called AS SELECT * FROM widetable.stat_files()' 'CREATE MATERIALIZED VIEW mine.kept AS SELECT relation, file_bytes FROM widetable.pg_stat_widetable_tables' \
	'GRANT SELECT ON ALL TABLES IN SCHEMA mine TO monitor' >/dev/null
GRANTED="SELECT relname, (aclexplode(relacl)).* FROM pg_class WHERE relnamespace = 'widetable'::regnamespace AND relkind = 'v' AND relname = ANY (ARRAY(SELECT relname FROM pg_class WHERE relnamespace = 'mine'::regnamespace)) ORDER BY 1, 2, 3, 4"
in_db updated 'GRANT SELECT ON widetable.pg_stat_widetable, widetable.pg_stat_widetable_files TO reader WITH GRANT OPTION' 'REVOKE SELECT ON widetable.pg_stat_widetable_tables FROM PUBLIC' >/dev/null
granted=$(in_db updated "$GRANTED")
mine() { for v in called pg_stat_widetable pg_stat_widetable_compactions pg_stat_widetable_families pg_stat_widetable_files pg_stat_widetable_locks pg_stat_widetable_tables; do in_db updated 'SET ROLE monitor' "SELECT count(*) >= 0 FROM mine.$v"; done | tr -d '\n'; }
is "$(mine)" ttttttt "version 1.0: views of users work"
is "$(in_db updated 'ALTER EXTENSION widetable UPDATE')" "" "ALTER EXTENSION UPDATE with views that depend on its views and functions"
is "$(mine)" ttttttt "they still work"
is "$(in_db updated "$GRANTED")" "$granted" "privileges on the views are what they were"
is "$(in_db updated 'REVOKE ALL ON widetable.pg_stat_widetable, widetable.pg_stat_widetable_files FROM reader' 'GRANT SELECT ON widetable.pg_stat_widetable_tables TO PUBLIC' 'DROP SCHEMA mine CASCADE' 2>&1 | grep -v 'NOTICE\|DETAIL\|^drop cascades\|^view mine')" "" "and can be changed back"
in_db updated "$(cat "$T/members.sql")" >"$T/updated"
like "$(grep -c 'function widetable' "$T/created")" '^[5-9][0-9]$' "the extension has its functions"
is "$(diff "$T/created" "$T/updated")" "" "CREATE EXTENSION and ALTER EXTENSION UPDATE make the same objects"

# ---- the new library with the definitions of the first version
in_db updated 'DROP EXTENSION widetable CASCADE' "CREATE EXTENSION widetable VERSION '1.0'" "$TABLE" "$FILL" >/dev/null 2>&1
in_db updated 'SELECT widetable.flush()' >/dev/null
for v in pg_stat_widetable pg_stat_widetable_families pg_stat_widetable_tables pg_stat_widetable_files pg_stat_widetable_compactions pg_stat_widetable_locks \
	'verify()' "verify('t')" "cells('t', ROW('a'::text, 1))" "raw_cells('t', ROW('a'::text, 1))" "split_keys('t', 3)"; do
	got=$(VERBOSITY=verbose in_db updated "SELECT count(*) >= 0 FROM widetable.$v" | grep -vE '^(LOCATION|LINE|DETAIL):')
	like "$(echo $got)" '^(t|ERROR: 55000: .* HINT: Use ALTER EXTENSION widetable UPDATE.)$' "version 1.0: $v answers, or says what to do"
done
like "$(in_db updated "SELECT widetable.increment('t', ROW('a'::text, 1), 'd:count', 5)" "SELECT widetable.table_size('t') >= 0" "SELECT widetable.compact()" 'TRUNCATE t' 'SELECT count(*) FROM t' | tr '\n' ' ')" \
	'^5 t  0 $' "version 1.0: functions and commands work"
# its event triggers are C functions, which the library calls by other ones since then
stored() { in_db updated "SELECT tables FROM widetable.pg_stat_widetable"; }
before=$(stored)
is "$(in_db updated 'CREATE SCHEMA s' 'CREATE FOREIGN TABLE s.a (k int, v text) SERVER widetable' "INSERT INTO s.a VALUES (1, 'one')" 'ALTER FOREIGN TABLE s.a ADD w int' \
	"ALTER FOREIGN TABLE s.a OPTIONS (ADD batch_size '10')" 'ALTER FOREIGN TABLE s.a RENAME TO b' 'UPDATE s.b SET w = 2' 'SELECT * FROM s.b' \
	'CREATE FOREIGN TABLE s.c (k int, v text) SERVER widetable' 'BEGIN' 'DROP FOREIGN TABLE s.b' 'ROLLBACK' 'SELECT count(*) FROM s.b' | tr '\n' ' ')" "1|one|2 1 " "version 1.0: tables are defined and changed"
is "$(($(stored) - before))" 2 "version 1.0: and stored"
in_db updated 'DROP SCHEMA s CASCADE' >/dev/null 2>&1
is "$(stored)" "$before" "version 1.0: and removed with their schema"
# whatever a definition says, no tuple is formed beyond the end of a row
in_db updated "CREATE FUNCTION wrong(more int) RETURNS SETOF text LANGUAGE plpgsql AS \$\$
DECLARE
	f record;
	args text;
BEGIN
	FOR f IN SELECT p.oid, proname, prosrc, proretset, provolatile, ARRAY(SELECT format_type(x, NULL) FROM unnest(proallargtypes) WITH ORDINALITY u(x, i) WHERE proargmodes[i] = 'i' ORDER BY i) AS ins,
			ARRAY(SELECT format_type(x, NULL) FROM unnest(proallargtypes) WITH ORDINALITY u(x, i) WHERE proargmodes[i] <> 'i' ORDER BY i) AS outs
		FROM pg_proc p WHERE pronamespace = 'widetable'::regnamespace AND proallargtypes IS NOT NULL AND prorettype = 'record'::regtype AND probin LIKE '%widetable'
			AND proargtypes[1] IS DISTINCT FROM 'text'::regtype AND cardinality(array_positions(proargmodes, 'o')) + more > 1 ORDER BY proname
	LOOP
		EXECUTE format('CREATE FUNCTION f(%s) RETURNS %s LANGUAGE C AS %L, %L',
			(SELECT string_agg(x, ', ') FROM (SELECT 'i' || i || ' ' || x AS x FROM unnest(f.ins) WITH ORDINALITY u(x, i)
				UNION ALL SELECT 'OUT o' || i || ' ' || x FROM unnest(f.outs || array_fill('text'::text, ARRAY[greatest(more, 0)])) WITH ORDINALITY u(x, i) WHERE i <= cardinality(f.outs) + more) s),
			CASE WHEN f.proretset THEN 'SETOF ' ELSE '' END || CASE WHEN cardinality(f.outs) + more = 1 THEN f.outs[1] ELSE 'record' END, '\$libdir/widetable', f.prosrc);
		args := (SELECT string_agg(CASE i WHEN 1 THEN '''t''' WHEN 2 THEN 'ROW(''a''::text, 1)' WHEN 3 THEN '1' ELSE 'NULL::' || f.ins[i] END, ', ' ORDER BY i) FROM generate_series(1, cardinality(f.ins)) i);
		BEGIN
			EXECUTE format('SELECT count(*) FROM f(%s)', args);
			RETURN NEXT f.proname || ': no error';
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
			RETURN NEXT f.proname || ': refused';
		END;
		EXECUTE (SELECT 'DROP FUNCTION ' || oid::regprocedure FROM pg_proc WHERE proname = 'f' AND pronamespace = 'public'::regnamespace);
	END LOOP;
END \$\$" "INSERT INTO t VALUES ('a', 1, 'v')" 'SELECT widetable.flush()' "BEGIN" "SELECT * FROM t FOR UPDATE" >/dev/null
in_db updated 'SELECT wrong(20)' >"$T/longer"
in_db updated 'SELECT wrong(-1)' >"$T/shorter"
like "$(grep -c ': refused' "$T/longer")" '^[4-9]$' "definitions with more columns than the library are refused"
is "$(grep -v ': refused' "$T/longer" | grep -vE '^(verify|stat_locks): no error')" "" "none of them that has a row is accepted"
# columns are added at the end, so an older definition has the first ones
is "$(grep -vE ': (refused|no error)' "$T/shorter")" "" "definitions with a column less do no harm"
stop
rm -r "$T/data"

# ---- the store, a data directory of PostgreSQL 15
case $("$BIN/postgres" --version) in
	*' 15.'*) ;;
	*) echo "ok - skipped: the store of the first release is in a data directory of PostgreSQL 15"; finish ;;
esac

unpack() {
	rm -rf "$T/data" && mkdir "$T/data" && chmod 700 "$T/data" && xz -dc "$DATA/store.tar.xz" | tar -C "$T/data" -xf - --no-same-owner || exit 1
	set_conf "unix_socket_directories = '$T/s'" "$@"
}
contents() { "$BIN/psql" -Xq -f "$DATA/contents.sql" 2>&1; }
same() { contents >"$T/out"; is "$(diff "$DATA/contents.out" "$T/out" | head -n 20)" "" "$1"; }
# what every state must be able to do, apart from the rows that contents.sql shows
goes_on() {
	is "$(q "INSERT INTO old.joined VALUES ('new', '$1', 'x')" "UPDATE old.joined SET v = 'y' WHERE a = 'new' AND b = '$1'" \
		"SELECT v FROM old.joined WHERE a = 'new' AND b = '$1'" "DELETE FROM old.joined WHERE a = 'new' AND b = '$1'" 'BEGIN' \
		"UPDATE old.visits SET title = 'never'" 'INSERT INTO old.ordinary VALUES (9)' 'ROLLBACK' \
		'CREATE FOREIGN TABLE old.made (k int, v text) SERVER widetable' "INSERT INTO old.made SELECT g, 'x' FROM generate_series(1, 1000) g" \
		'SELECT count(*) FROM old.made' 'DROP FOREIGN TABLE old.made')" "y
1000" "$1: writes"
	same "$1: nothing else changed"
}
crash() { stop immediate; start; }

for how in first_used updated; do
	unpack
	start
	[ $how = first_used ] || is "$(q 'ALTER EXTENSION widetable UPDATE' "SELECT extversion = (SELECT default_version FROM pg_available_extensions WHERE name = 'widetable') FROM pg_extension WHERE extname = 'widetable'")" t "the extension is updated before the store is opened"
	same "$how: recovered from the crash, it shows what it showed"
	goes_on "$how"
	crash
	same "$how: a crash"
	q 'SELECT widetable.flush()' >/dev/null
	same "$how: flushed"
	q 'SELECT widetable.compact()' >/dev/null
	same "$how: merged"
	goes_on "$how, merged"
	stop
	start
	same "$how: restarted"
	if [ $how = first_used ]; then
		is "$(q 'ALTER EXTENSION widetable UPDATE' "SELECT count(*) FROM pg_extension WHERE extname = 'widetable' AND extversion = '1.0'")" 0 "the extension is updated"
		same "updated later: the same"
		goes_on "updated later"
		crash
		same "updated later: a crash"
	fi
	verify_store "$how"
	stop
done

# ---- without preloading
unpack "shared_preload_libraries = ''"
start
same "not preloaded: recovered"
q 'ALTER EXTENSION widetable UPDATE' >/dev/null
goes_on "not preloaded"
crash
same "not preloaded: a crash"
finish
