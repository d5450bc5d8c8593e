# many: 150 tables of four families with a row each.  A flush writes one file of the directory, a
# checkpoint takes no longer than for one table; a base backup, a crash and drops find everything in
# its place.  Takes about 15 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.max_tables = 400" "autovacuum = off" \
	"max_locks_per_transaction = 256" "wal_level = replica"
files() { ls "$T"/data/widetable/*.sst 2>/dev/null | wc -l; }
VIEW='FROM widetable.pg_stat_widetable'

q 'CREATE EXTENSION widetable' "DO \$\$BEGIN FOR i IN 1..150 LOOP
	EXECUTE format('CREATE FOREIGN TABLE t%s (k text NOT NULL, a text OPTIONS (column ''a:v''), b text OPTIONS (column ''b:v''), c text OPTIONS (column ''c:v''),
		d text OPTIONS (column ''d:v'')) SERVER widetable OPTIONS (key ''k'')', i); END LOOP; END\$\$" \
	"CREATE FUNCTION put(lo int, hi int, key text) RETURNS void LANGUAGE plpgsql AS \$\$BEGIN FOR i IN lo..hi LOOP
		EXECUTE format('INSERT INTO t%s VALUES (%L, ''a'', ''b'', ''c'', ''d'')', i, key); END LOOP; END\$\$" \
	"CREATE FUNCTION rows() RETURNS bigint LANGUAGE plpgsql AS \$\$DECLARE n bigint := 0; m bigint; BEGIN FOR i IN 1..150 LOOP
		IF to_regclass('t' || i) IS NOT NULL THEN EXECUTE format('SELECT count(*) FROM t%s WHERE a = ''a'' AND d = ''d''', i) INTO m; n := n + m; END IF;
		END LOOP; RETURN n; END\$\$" >/dev/null
for i in 1 2 3; do
	q "SELECT put(1, 150, 'r$i')" 'SELECT widetable.flush()' >/dev/null
	is "$(files)" "$i" "flush $i of 600 families writes one file"
done
is "$(q "SELECT files, containers, file_limit >= 4 * files $VIEW")" '1800|3|t' 'the view counts sorted files, and files of the directory'
is "$(q 'SELECT count(*), count(DISTINCT container), count(DISTINCT (container, container_offset)) FROM widetable.pg_stat_widetable_files')" '1800|3|1800' 'the view of files says where each is'
# the fourth one makes them due
q "SELECT put(1, 150, 'r4')" CHECKPOINT >/dev/null
await 30 '^600$' "SELECT files $VIEW"
is "$(files)" 1 'the compaction writes one file for all of them'
is "$(q 'SELECT rows()')" 600 'all rows are there'
is "$(q 'SELECT count(*) FROM widetable.verify()')" 0 'the store is intact'

# other tables with each flush: the number of files stays flat
for i in $(seq 1 90); do echo "SELECT put($i, $i + 1, 'x$i'); SELECT widetable.flush();"; done | "$BIN/psql" -Xq >/dev/null
await 30 '^t$' "SELECT containers <= 66 $VIEW"
is "$(q "SELECT containers <= 66 $VIEW")" t 'flushes of a few tables each do not add up'
is "$(q 'SELECT rows()')" 780 'all rows are there after 90 flushes'

"$BIN/pg_basebackup" -D "$T/copy" -c fast -X stream >"$T/backup.log" 2>&1
second "$T/copy"
is "$(there "$T/copy" 'SELECT rows()')" 780 'a base backup has all rows'
is "$(there "$T/copy" 'SELECT count(*) FROM widetable.verify()')" 0 'a base backup is intact'
stop_second "$T/copy" immediate

q "SELECT put(1, 150, 'y')" 'SELECT widetable.flush()' "SELECT put(1, 150, 'z')" >/dev/null
stop immediate
start
is "$(q 'SELECT rows()')" 1080 'all rows are there after a crash'
is "$(q 'SELECT count(*) FROM widetable.verify()')" 0 'the store is intact after a crash'
await 30 '^t$' "SELECT dead_files = 0 $VIEW"
is "$(files)" "$(q "SELECT containers $VIEW")" 'the directory has the files that the set lists'

q 'SELECT widetable.flush()' "DO \$\$BEGIN FOR i IN 2..150 LOOP EXECUTE 'DROP FOREIGN TABLE t' || i; END LOOP; END\$\$" 'SELECT widetable.flush()' >/dev/null
await 30 '^t$' "SELECT dead_files = 0 AND files <= 20 $VIEW"
is "$(q 'SELECT rows()')" 7 'one table is left'
is "$(q 'SELECT widetable.compact()' 'SELECT count(*) FROM widetable.verify()' | tail -n 1)" 0 'the store is intact after drops'
await 30 '^t$' "SELECT containers <= 4 $VIEW"
is "$(files)" "$(q "SELECT containers $VIEW")" 'the containers of dropped tables are gone'
finish
