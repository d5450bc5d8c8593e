# tables: the store holds as many tables as widetable.max_tables allows.  The default shared segment
# is small, and a session that reads all tables keeps its memory and its open files bounded.
. "${0%/*}/common.sh"
new_cluster 'max_locks_per_transaction = 256'
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE t0 (k int, v text) SERVER widetable OPTIONS (key 'k')" "INSERT INTO t0 VALUES (1, 'x')" >/dev/null
is "$(q "SELECT segment_bytes <= 256 * 1024 * 1024 FROM widetable.pg_stat_widetable")" "t" "the default segment has at most 256 MB"
began=$(date +%s)
is "$(q "DO \$\$BEGIN FOR i IN 1..999 LOOP
	EXECUTE format('CREATE FOREIGN TABLE t%s (k int, v text) SERVER widetable OPTIONS (key %L)', i, 'k');
	EXECUTE format('INSERT INTO t%s SELECT g, %L || g FROM generate_series(1, 20) g', i, 'v');
	IF i % 100 = 0 THEN COMMIT; END IF; END LOOP; END\$\$" 'SELECT tables FROM widetable.pg_stat_widetable')" "1000" "max_tables tables can be created"
echo "# $(($(date +%s) - began)) s"
like "$(q "CREATE FOREIGN TABLE t1000 (k int, v text) SERVER widetable OPTIONS (key 'k')")" 'HINT: .*widetable.max_tables' "one more table fails, and the hint names the setting"
is "$(q 'DROP FOREIGN TABLE t999' "CREATE FOREIGN TABLE t1000 (k int, v text) SERVER widetable OPTIONS (key 'k')" 'SELECT widetable.flush()')" "" "after a drop one more table can be created"
PASS="DO \$\$DECLARE n bigint; sum bigint := 0; BEGIN FOR i IN 0..998 LOOP EXECUTE format('SELECT count(v) FROM t%s', i) INTO n; sum := sum + n;
	IF i % 100 = 0 THEN COMMIT; END IF; END LOOP; RAISE NOTICE '%', sum; END\$\$"
used() { printf '\\! grep RssAnon /proc/$P/status | tr -dc 0-9; echo; ls /proc/$P/fd | wc -l\n'; }
{ printf 'SELECT pg_backend_pid() AS p \\gset\n\\setenv P :p\n'; echo "$PASS;"; used; echo "$PASS; $PASS;"; used; } >"$T/in"
timeout 60 "$BIN/psql" -XqAt -f "$T/in" >"$T/out" 2>&1
is "$(grep -c 'NOTICE:  19961' "$T/out")" "3" "a session reads all tables three times"
# shellcheck disable=SC2046
set -- $(grep '^[0-9]*$' "$T/out")
echo "# memory of the session in kB, open files: $*"
[ $# = 4 ] && [ "$2" -le 300 ] && [ "$4" -le 300 ]; ok $? "the session keeps at most 256 sorted files open"
[ $# = 4 ] && [ "$1" -le 60000 ] && [ $(($3 - $1)) -le 2000 ]; ok $? "the session's memory does not grow"
finish
