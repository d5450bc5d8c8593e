# operations: tables of HBase are made, changed and emptied as foreign tables say; sizes, borders,
# estimates and ANALYZE; limits of memory; users.
#
# HBASE_NODES: host:port of masters and region servers.  HBASE_CLUSTER: the command of the cluster
# that they are of (run: a Java program).  Takes one to
# some minutes, as the machine is busy.
. "${0%/*}/../tap/common.sh"

: "${HBASE_NODES:?}" "${HBASE_CLUSTER:?}"
HERE=$(cd "${0%/*}" && pwd)
VERBOSITY=verbose
regions() { $HBASE_CLUSTER run "$HERE/Regions.java" "$@" 2>/dev/null; }
# x SQL...: as q, without the lines about the source
x() { q "$@" | grep -v '^LOCATION'; }

new_cluster 'log_min_messages = warning'
for t in ops_a ops_b ops_c ops_big ops_salt ops_user ops_gone ops_in ops_out ops_rc ops_pt1 ops_moved ops_dom; do regions drop $t; done
is "$(q 'CREATE EXTENSION widetable' \
	"CREATE SERVER hb FOREIGN DATA WRAPPER widetable OPTIONS (engine 'hbase', nodes '$HBASE_NODES', timeout '30s')")" '' 'a server'

# ------------------------------------------------------------------------ CREATE

A="CREATE FOREIGN TABLE a (k text, n int, v text, g jsonb OPTIONS (family 'g')) SERVER hb OPTIONS (table_name 'ops_a', key 'k',
	split_at '[\"g\", \"p\", {\"hex\": \"ff00\"}]', families '{\"f\": {\"versions\": 3, \"min_versions\": 1, \"ttl\": \"60 days\",
	\"keep_deleted\": true, \"bloom\": \"prefix:2\", \"block_size\": 8192, \"in_memory\": true, \"compression\": \"none\"}, \"g\": {}}')"
is "$(x BEGIN "$A" "INSERT INTO a VALUES ('k', 1)" 'SELECT count(*) FROM a' ROLLBACK \
	"CREATE FOREIGN TABLE b (k text) SERVER hb OPTIONS (table_name 'ops_a')" 'SELECT * FROM b' "DROP FOREIGN TABLE b")" \
	'1' 'CREATE is rolled back: nothing was made, and the name is free'
like "$(x 'CREATE DOMAIN ops_domain AS text' "CREATE FOREIGN TABLE dom (k ops_domain, v text) SERVER hb OPTIONS (table_name 'ops_dom')" "INSERT INTO dom VALUES ('k', 'v')" \
	'DROP DOMAIN ops_domain CASCADE')" 'ERROR:  55000: cannot drop key column "k"' 'a key column is not dropped with its type, also where there is no embedded store'
q 'DROP FOREIGN TABLE dom' 'DROP DOMAIN ops_domain' >/dev/null
regions drop ops_a
is "$(x "$A" "INSERT INTO a VALUES ('a', 1), ('h', 2), ('q', 3)" "SELECT widetable.split_keys('a', 10)" 'SELECT k FROM a')" \
	'\x67
\x70
\xff00
a
h
q' 'CREATE makes the table, split'
for w in "VERSIONS => '3'" "MIN_VERSIONS => '1'" "TTL => '5184000" "KEEP_DELETED_CELLS => 'TRUE'" "BLOOMFILTER => 'ROWPREFIX_FIXED_LENGTH'" \
	"BLOCKSIZE => '8192" "IN_MEMORY => 'true'" "'NEW_VERSION_BEHAVIOR' => 'true'" "'RowPrefixBloomFilter.prefix_length' => '2'"; do
	echo "$w"
done >"$T/wanted"
regions describe ops_a >"$T/described"
while read -r w; do grep "NAME => 'f'" "$T/described" | grep -qiF -- "$w"; ok $? "HBase has $w"; done <"$T/wanted"
is "$(x 'DROP FOREIGN TABLE a' "$A" 'SELECT count(*) FROM a')" 3 'DROP leaves the table; CREATE takes it, without a warning'
like "$(x 'DROP FOREIGN TABLE a' "CREATE FOREIGN TABLE a (k text, n int) SERVER hb OPTIONS (table_name 'ops_a', key 'k', families '{\"f\": {\"versions\": 7}}')")" \
	'WARNING:  01000: family "f" of table "ops_a" has VERSIONS 3 in HBase' 'a table that is otherwise: a warning'
like "$(x 'DROP FOREIGN TABLE a' "CREATE FOREIGN TABLE a (k text, n int OPTIONS (column 'ff:n')) SERVER hb OPTIONS (table_name 'ops_a', key 'k')")" \
	'ERROR:  42703: table "ops_a" of HBase has no family "ff"' 'a family that only a column names is not added to it'
q "$A" >/dev/null
for o in 'ttl": "0.5 seconds"|0A000: family "f" of table "ops_b" cannot be so in HBase' 'compression": "zstd:9"|0A000' 'compaction": "window:1 day"|0A000'; do
	like "$(x "CREATE FOREIGN TABLE b (k text, n int) SERVER hb OPTIONS (table_name 'ops_b', key 'k', families '{\"f\": {\"${o%%|*}}}')")" \
		"ERROR:  ${o#*|}" "refused: ${o%%|*}"
done
like "$(x "CREATE FOREIGN TABLE b (k text, n int) SERVER hb OPTIONS (table_name 'ops_b', split_at 'g, p')")" 'ERROR:  HV024: invalid value "g, p" for option "split_at"' 'split_at must be JSON'
like "$(x "CREATE FOREIGN TABLE b (k int, n int) SERVER hb OPTIONS (table_name 'ops_b', split_at '[\"g\"]')")" 'ERROR:  22P02: invalid input syntax for type integer: "g"' 'split_at has values of the key'
like "$(x "CREATE FOREIGN TABLE b (k int, n int) SERVER widetable OPTIONS (split_at '[1]')")" 'ERROR:  HV00D: option "split_at" is not allowed' 'split_at is not for the embedded engine'
is "$(x "CREATE FOREIGN TABLE s (k int, n int) SERVER hb OPTIONS (table_name 'ops_salt', salt_buckets '3')" "SELECT widetable.split_keys('s', 10)")" \
	'\x01
\x02' 'a salted table has a region for each bucket'

# ---------------------------------------------------------- ALTER, and savepoints

FAM() { echo "ALTER FOREIGN TABLE a OPTIONS (SET families '{\"f\": {\"versions\": $1}, \"g\": {}$2}')"; }
is "$(x BEGIN "$(FAM 5 ', "h": {}')" 'SAVEPOINT s' "$(FAM 5 ', "h": {}, "i": {}')" 'RELEASE s' 'SAVEPOINT s' "$(FAM 9 ', "h": null, "j": {}')" \
	'ROLLBACK TO s' "SELECT widetable.put('a', 'h', 'h:x', 'new'::text)" \
	"SELECT widetable.get('a', 'h') -> 'h'" COMMIT "SELECT widetable.get('a', 'h') -> 'h'" | grep -v '^$')" '{"x": "new"}
{"x": "new"}' 'families are added at the commit, and seen before'
regions describe ops_a >"$T/described"
is "$(sed "s/.*NAME => '\([a-z]*\)'.*/\1/" "$T/described" | tr '\n' ' ')" 'f g h i ' 'ROLLBACK TO and RELEASE are exact'
grep "NAME => 'f'" "$T/described" | grep -q "VERSIONS => '5'"; ok $? 'a family is changed'
grep "NAME => 'f'" "$T/described" | grep -q "BLOCKSIZE => '8192"; ok $? 'what is not stated stays'
is "$(x "$(FAM 5 ', "h": null, "i": {}')" 'SELECT count(*) FROM a')" 3 'a family is dropped'
is "$(regions describe ops_a | sed "s/.*NAME => '\([a-z]*\)'.*/\1/" | tr '\n' ' ')" 'f g i ' '... also in HBase'
like "$(x "SELECT widetable.put('a', 'h', 'h:x', 'new'::text)")" 'ERROR' '... and cannot be written'
like "$(x BEGIN "INSERT INTO a VALUES ('z')" "$(FAM 5 ', "i": null')" ROLLBACK)" 'ERROR:  55000: cannot drop a family' 'no family is dropped that the transaction has written'
like "$(x BEGIN "$(FAM 6 '')" "PREPARE TRANSACTION 'p'")" 'ERROR:  0A000: cannot PREPARE' 'PREPARE is refused'
like "$(x "ALTER FOREIGN TABLE a OPTIONS (ADD versions 'hbase')"; regions describe ops_a | grep "NAME => 'g'")" "'NEW_VERSION_BEHAVIOR' => 'false'" 'option versions is changed'

is "$(x "CREATE FOREIGN TABLE ops_c (k text, n int) SERVER hb" "INSERT INTO ops_c VALUES ('a', 1)" 'ALTER FOREIGN TABLE ops_c RENAME TO c' \
	'ALTER FOREIGN TABLE c RENAME n TO m' 'SELECT k, m FROM c')" 'a|1' 'a renamed table and column show what they have shown'

# ------------------------------------------------------------------------ TRUNCATE

like "$(x BEGIN 'TRUNCATE a' ROLLBACK)" 'ERROR:  25001' 'TRUNCATE is not for blocks'
like "$(x "DO 'BEGIN TRUNCATE a; END'")" 'ERROR:  25001' '... nor functions'
is "$(x 'SELECT count(*) FROM a' 'TRUNCATE a' 'SELECT count(*) FROM a' "SELECT count(*) FROM widetable.split_keys('a', 10)")" '3
0
3' 'TRUNCATE keeps the regions'

# --------------------------------------------------- functions, sizes and estimates

for f in "SELECT * FROM widetable.verify('a')" "SELECT * FROM widetable.salvage('a')" "SELECT * FROM widetable.raw_cells('a', 'k')" \
	"SELECT * FROM widetable.export_cells('a')" "SELECT widetable.import_cells('a', '\\x00')"; do
	like "$(x "$f")" 'ERROR:  (0A000: cannot .* table "ops_a"|22P03)' "refused: $f"
done
is "$(x "CREATE FOREIGN TABLE big (k text, a int, v text) SERVER hb OPTIONS (table_name 'ops_big', key 'k', split_at '[\"k050000\", \"k100000\"]')" \
	"INSERT INTO big SELECT 'k' || lpad(i::text, 6, '0'), i % 10, repeat('x', 100) FROM generate_series(0, 149999) i" "SELECT widetable.flush('big')" "SELECT widetable.compact('big', true)")" '' 'flush, compact'
await 60 '^t$' "SELECT widetable.table_size('big') BETWEEN 20000000 AND 60000000"; ok $? "table_size: $(q "SELECT widetable.table_size('big')")"
is "$(x "SELECT widetable.split_keys('big', 2)")" '\x6b313030303030' 'two parts of three regions'
x 'SET default_statistics_target = 10' 'ANALYZE big' >"$T/analyze"
is "$(cat "$T/analyze")" '' 'ANALYZE'
n=$(q "SELECT reltuples::bigint FROM pg_class WHERE relname = 'big'")
[ "$n" -gt 100000 ] && [ "$n" -lt 200000 ]; ok $? "ANALYZE reads some of 150000 rows, and takes $n for all"
is "$(q "SELECT count(*) FROM pg_stats WHERE tablename = 'big'" "SELECT n_distinct FROM pg_stats WHERE tablename = 'big' AND attname = 'a'")" '3
10' 'there are statistics of its columns'
like "$(q "SELECT histogram_bounds::text::text[] FROM pg_stats WHERE tablename = 'big' AND attname = 'k'")" '^.k00[^}]*,k0[5-9][^}]*,k1[0-9]{5},k14' 'of all its regions'
estimate() { q "EXPLAIN (FORMAT json) $1" | grep -o '"Plan Rows": [0-9]*' | head -1 | grep -o '[0-9]*$'; }
n=$(estimate 'SELECT * FROM big'); [ "$n" -gt 100000 ] && [ "$n" -lt 200000 ]; ok $? "the plan of a scan knows: $n"
n=$(estimate "SELECT * FROM big WHERE a = 3"); [ "$n" -gt 8000 ] && [ "$n" -lt 22000 ]; ok $? "... and of a column: $n of 15000"
is "$(estimate "SELECT * FROM big WHERE k = 'k000003'")" 1 '... and of a key'
is "$(q 'EXPLAIN SELECT * FROM big' 'SELECT waits AS before FROM widetable.pg_stat_widetable_remote \gset
EXPLAIN SELECT * FROM big' "EXPLAIN SELECT * FROM big WHERE k = 'k1'" 'SELECT waits - :before FROM widetable.pg_stat_widetable_remote' | tail -1)" 0 'a plan asks no server again'
is "$(x 'SELECT count(*) FROM widetable.pg_stat_widetable_tables' 'SELECT count(*) FROM a' \
	'SELECT server, usename, remote_user, waits > 0, wait_time > 0, errors FROM widetable.pg_stat_widetable_remote')" '0
0
hb|postgres|postgres|t|t|0' 'views of statistics'

# ------------------------------------------------------------------------- IMPORT

# imported SQL...: what IMPORT makes of ops_c, with that in its attribute
imported() {
	regions attribute ops_c "$1" "$2"
	x 'CREATE SCHEMA i' 'IMPORT FOREIGN SCHEMA "default" LIMIT TO (ops_c, evil) FROM SERVER hb INTO i' \
		"SELECT oid::regclass, (SELECT string_agg(attname || ' ' || format_type(atttypid, -1), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) FROM pg_class c WHERE relnamespace = 'i'::regnamespace" \
		'DROP SCHEMA IF EXISTS i CASCADE' | grep -v '^NOTICE'
}
for c in "a text DEFAULT pg_read_file('x')" "a text) SERVER hb; CREATE FOREIGN TABLE evil (a text" "a text) SERVER files OPTIONS (program 'x', table_name 'ops_c') --" \
	"a text CHECK (a <> '')" 'a text, LIKE a' 'a text GENERATED ALWAYS AS (1) STORED' "a text) INHERITS (a" "a text) SERVER hb OPTIONS (table_name 'ops_a') --"; do
	like "$(imported WIDETABLE_COLUMNS "$c")" 'ERROR:  42501: the definition that is kept with table "ops_c" of HBase' "IMPORT refuses: $c"
done
like "$(imported WIDETABLE_COLUMNS 'a text,')" 'ERROR:  42601: syntax error' 'IMPORT of what is no list of columns'
is "$(imported WIDETABLE_COLUMNS 'k text COLLATE "C" NOT NULL, n int')" 'i.ops_c|k text, n integer' 'IMPORT takes columns without options'
like "$(imported WIDETABLE_OPTIONS " OPTIONS (key 'k') --x")" 'ERROR:  42501' 'IMPORT refuses options that end the command'
like "$(imported WIDETABLE_OPTIONS " OPTIONS (key 'k') NO")" 'ERROR:  42601' '... and what is no list of options'
is "$(imported WIDETABLE_OPTIONS " OPTIONS (key 'k')")" 'i.ops_c|k text, n integer' '... and takes them'

# ---------------------------------------------------------------- Bloom filters

# With NEW_VERSION_BEHAVIOR and ROWCOL HBase loops when columns of a row are read that several files have.
RC="CREATE FOREIGN TABLE rc (k int, a int, b int, c int) SERVER hb OPTIONS (table_name 'ops_rc', key 'k', families '{\"f\": {\"bloom\": \"rowcol\"}}'"
x "$RC, versions 'hbase')" >/dev/null
regions describe ops_rc | grep -q "BLOOMFILTER => 'ROWCOL'"; ok $? 'a Bloom filter of columns'
x 'DROP FOREIGN TABLE rc' >/dev/null
regions family ops_rc f NEW_VERSION_BEHAVIOR true
like "$(x "$RC)")" 'WARNING:  01000: family "f" of table "ops_rc" has BLOOMFILTER ROWCOL in HBase' '... in an exact family: a warning'
is "$(x 'INSERT INTO rc SELECT i, i, i, i FROM generate_series(1, 20) i' "SELECT widetable.flush('rc')" 'DELETE FROM rc WHERE k % 3 = 0' \
	'UPDATE rc SET c = 0 WHERE k % 3 = 1' "SELECT widetable.flush('rc')" "SET statement_timeout = '20s'" 'SELECT a, b FROM rc WHERE k = 3' 'SELECT a, b FROM rc WHERE k = 4' \
	'SELECT sum(a + b), count(*) FROM rc WHERE c < 3' 'SELECT b, c FROM rc WHERE k IN (3, 7, 8) AND a > 0' | grep -v '^$')" \
	'4|4
144|8
7|0
8|8' '... its columns are not named to HBase'
x "ALTER FOREIGN TABLE rc OPTIONS (SET families '{\"f\": {\"bloom\": \"rowcol\", \"versions\": 2}}')" >/dev/null
regions describe ops_rc | grep -q "BLOOMFILTER => 'ROW'"; ok $? '... and ALTER makes it one of rows'

# ------------------------------------------------- operations within others, keys that cannot be

is "$(q "CREATE FOREIGN TABLE ops_in (k text COLLATE \"C\", n bigint OPTIONS (encoding 'counter')) SERVER hb" \
	"CREATE FUNCTION within(v bigint) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM widetable.increment(''ops_in'', ''b'', ''n''); RETURN true; END'" \
	'CREATE DOMAIN counted AS bigint CHECK (within(VALUE))' \
	"CREATE FOREIGN TABLE ops_out (k text COLLATE \"C\", n counted OPTIONS (encoding 'counter')) SERVER hb")" '' 'a domain whose check makes an operation'
like "$(x "SELECT widetable.increment('ops_out', 'a', 'n')")" 'ERROR:  0A000: an atomic operation on a row of HBase cannot be made within another one' 'an operation within another one is refused'
is "$(x "SELECT widetable.increment('ops_in', 'a', 'n')" 'SELECT * FROM ops_out' 'SELECT * FROM ops_in')" '1
a|1' '... and leaves nothing'
is "$(x "ALTER SERVER hb OPTIONS (ADD atomic_functions 'immediate')" BEGIN 'SAVEPOINT s' "SELECT widetable.increment('ops_out', 'a', 'n')" 'ROLLBACK TO s' \
	"SELECT widetable.increment('ops_in', 'c', 'n')" COMMIT 'SELECT * FROM ops_out' "ALTER SERVER hb OPTIONS (DROP atomic_functions)" | grep -v '^$' | tail -1)" '1' '... also behind a savepoint'
is "$(x 'SET enable_hashjoin = off' 'SET enable_mergejoin = off' "SELECT o.k, i.n FROM (VALUES (''), ('a'), (repeat('x', 40000)), (NULL)) o (k) LEFT JOIN ops_in i ON i.k = o.k COLLATE \"C\" WHERE length(o.k) < 2 OR i.n IS NOT NULL ORDER BY 1")" '|
a|1' 'lookups of keys that HBase cannot have'

# ----------------------------------------------------------------- commit and memory

like "$(x "INSERT INTO big SELECT 'l' || lpad(i::text, 6, '0'), 1, CASE i WHEN 50000 THEN repeat('x', 11000000) END FROM generate_series(1, 50000) i")" \
	'ERROR:  54000: could not write to table "ops_big"' 'a row fails in the middle of the commit'
like "$(x "INSERT INTO big SELECT 'l' || lpad(i::text, 6, '0'), 1, CASE i WHEN 50000 THEN repeat('x', 11000000) END FROM generate_series(1, 50000) i")" \
	'DETAIL:  4[0-9][0-9][0-9][0-9] of 50000 rows had been written, and stay' '... DETAIL says how many rows were written'
n=$(q "SELECT count(*) FROM big WHERE k >= 'l' AND k < 'm'"); [ "$n" -ge 40000 ] && [ "$n" -lt 50000 ]; ok $? "... and $n stay"
like "$(x "ALTER SERVER hb OPTIONS (ADD write_buffer '4MB')" "INSERT INTO big SELECT 'm' || i, 1 FROM generate_series(1, 100000) i")" \
	'ERROR:  53400: the transaction has too many changes of tables of HBase' 'write_buffer limits what a transaction changes'
is "$(x "SELECT count(*) FROM big WHERE k >= 'm'" "INSERT INTO big SELECT 'm' || i, 1 FROM generate_series(1, 1000) i" "SELECT count(*) FROM big WHERE k >= 'm'")" '0
1000' 'nothing of that was written, and less is'
q "ALTER SERVER hb OPTIONS (DROP write_buffer)"

like "$(x 'BEGIN ISOLATION LEVEL REPEATABLE READ' 'SELECT 1 FROM a' 'SELECT 1 FROM a' ROLLBACK)" 'ERROR:  0A000: cannot read tables of engine "hbase" again' 'REPEATABLE READ reads once'
like "$("$BIN/psql" -XqAtc "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM a; SELECT 1 FROM a" 2>&1)" 'cannot read tables of engine "hbase" again' '... in one message'
q "CREATE FUNCTION twice() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM a; RETURN (SELECT count(*) FROM a); END'" >/dev/null
like "$(x 'BEGIN ISOLATION LEVEL REPEATABLE READ' 'SELECT twice()' ROLLBACK)" 'ERROR:  0A000: cannot read tables of engine "hbase" again' '... in one function'
is "$(x 'BEGIN ISOLATION LEVEL REPEATABLE READ' 'DECLARE c CURSOR FOR SELECT x.k = y.k FROM big x, LATERAL (SELECT k FROM big y WHERE y.k = x.k OFFSET 0) y LIMIT 2' 'FETCH 1 FROM c' 'FETCH 1 FROM c' ROLLBACK)" 't
t' '... as long as it likes'
is "$("$BIN/psql" -XqAtc "SET default_transaction_isolation = 'repeatable read'" -c "SELECT count(*) FROM a WHERE k = coalesce(widetable.get('a', 'none') ->> 'x', 'none')" \
	-c "SELECT g FROM generate_series(1, 3) g WHERE g = (1 + length(coalesce(widetable.get('a', 'none') ->> 'x', 'n')))" 2>&1)" '0
2' '... and also while it is planned'
is "$(x "SELECT widetable.put('a', 'sk', 'g:x', 'ahead'::text, (extract(epoch FROM now()) + 3600)::bigint * 1000000)" "SELECT widetable.put('a', 'sk', 'g:x', 'now'::text)" \
	"SELECT widetable.get('a', 'sk') -> 'g' ->> 'x'" | grep -v '^$')" 'ahead' 'a timestamp ahead of the clock hides later writes'

# ------------------------------------------------------------------------- users

is "$(x 'CREATE ROLE reader' 'CREATE ROLE writer' "CREATE USER MAPPING FOR writer SERVER hb OPTIONS (user 'hwriter')" "CREATE USER MAPPING FOR PUBLIC SERVER hb OPTIONS (user 'anybody')" \
	'GRANT USAGE ON FOREIGN SERVER hb TO writer' 'GRANT CREATE, USAGE ON SCHEMA public TO writer' 'GRANT SELECT ON big TO reader' 'GRANT SELECT ON widetable.pg_stat_widetable_remote TO reader, writer' 'GRANT pg_monitor TO reader, writer' 'GRANT USAGE ON SCHEMA widetable TO reader, writer')" '' 'roles'
is "$(x 'SET ROLE writer' "CREATE FOREIGN TABLE u (k text, v text) SERVER hb OPTIONS (table_name 'ops_user')" "INSERT INTO u VALUES ('a', 'b')" 'SELECT * FROM u' \
	'SELECT usename, remote_user FROM widetable.pg_stat_widetable_remote')" 'a|b
writer|hwriter' 'the user mapping of a role'
is "$(x 'SET ROLE reader' 'SELECT count(*) FROM big WHERE k < '"'k000010'" 'SELECT usename, remote_user FROM widetable.pg_stat_widetable_remote')" '10
reader|anybody' 'the user mapping of all others'
like "$(x 'SET ROLE reader' "INSERT INTO big VALUES ('x')")" 'ERROR:  42501: permission denied for foreign table big' 'privileges are those of all tables'
like "$(x 'SET ROLE reader' "SELECT widetable.flush('big')")" 'ERROR:  42501: must be owner' 'flush is for the owner'
is "$(x 'BEGIN' 'SET ROLE writer' "INSERT INTO u VALUES ('c', 'd')" 'RESET ROLE' COMMIT 'SELECT usename FROM widetable.pg_stat_widetable_remote ORDER BY 1' 'SELECT count(*) FROM u')" 'writer
2' 'a change is sent by the role that made it'

# ------------------------------------------------------------------ moving a table

MOVE="$(cd "$HERE/../.." && pwd)/examples/hbase/move_cells"
move() { PATH="$BIN:$PATH" "$MOVE" "$@" 2>&1; }
C='key bytea, family text COLLATE "C", qualifier bytea, ts timestamptz, value bytea'
q "CREATE FOREIGN TABLE here ($C) SERVER widetable OPTIONS (key 'key', layout 'cells', families '{\"d\": {\"versions\": 3}, \"e\": {}}')" \
	"CREATE FOREIGN TABLE there ($C) SERVER hb OPTIONS (table_name 'ops_moved', key 'key', layout 'cells', families '{\"d\": {\"versions\": 3}, \"e\": {}}')" \
	"CREATE FOREIGN TABLE again ($C) SERVER widetable OPTIONS (key 'key', layout 'cells', families '{\"d\": {\"versions\": 3}, \"e\": {}}')" \
	"INSERT INTO here SELECT convert_to('r' || lpad(i::text, 6, '0'), 'utf8'), f, q, '2024-01-01'::timestamptz + v * '1 ms'::interval, decode(md5(i || f || v), 'hex')
		FROM generate_series(1, 20000) i, (VALUES ('d', '\\x61'::bytea), ('e', ''), ('e', '\\xff00')) c(f, q), generate_series(1, 2) v WHERE f = 'd' OR v = 1" \
	"SELECT FROM widetable.flush('here')" >/dev/null
like "$(move here there 7)" 'NOTICE:  7 of 7 parts: 80000 cells in [0-9.]+ s, [0-9]+ a second' 'a table moves to HBase, and progress is shown'
like "$(move there again)" 'NOTICE:  1 of 1 parts: 80000 cells' '... and back'
is "$(q 'SELECT count(*) FROM again' '(SELECT * FROM here EXCEPT SELECT * FROM again) UNION ALL (SELECT * FROM again EXCEPT SELECT * FROM here)')" 80000 '... with all versions, timestamps and values'
like "$(move there nowhere)" 'ERROR:  relation "nowhere" does not exist' 'a table that is not there'

# ------------------------------------------------------------------------- views

# "refused" cannot be connected: the cluster does not take such a name.  So what works through a
# view of "writer" has made no connection as the role that uses the view, in no process.
# by ROLE SQL...: as x, as the role
by() { by_=$1; shift; x "SET ROLE $by_" "$@"; }
WHO="SELECT string_agg(usename || '=' || remote_user, ' ' ORDER BY usename) FROM widetable.pg_stat_widetable_remote"
# waits NAME ROLE: a query that sets a variable to the waits on the connection of the role
waits() { printf "SELECT coalesce(max(waits), 0) AS %s FROM widetable.pg_stat_widetable_remote WHERE usename = '%s' \\\\gset\nSELECT" "$1" "$2"; }

is "$(x 'CREATE ROLE refused' "CREATE USER MAPPING FOR refused SERVER hb OPTIONS (user 'no@such@name')" 'GRANT pg_monitor TO refused' \
	'GRANT USAGE ON SCHEMA widetable TO refused' 'GRANT SELECT ON widetable.pg_stat_widetable_remote TO refused' 'GRANT SELECT ON big TO writer' \
	'CREATE TABLE pt (k text, v text) PARTITION BY LIST (v)' "CREATE FOREIGN TABLE pt1 PARTITION OF pt FOR VALUES IN ('1') SERVER hb OPTIONS (table_name 'ops_pt1')" \
	'CREATE TABLE pt2 PARTITION OF pt DEFAULT' 'GRANT ALL ON pt TO writer' \
	"CREATE FUNCTION fails(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN 1 / 0; END'")" '' 'a role that the cluster does not take'
is "$(by writer 'CREATE VIEW vu AS SELECT * FROM u' 'CREATE VIEW vs WITH (security_barrier) AS SELECT * FROM u' 'CREATE VIEW vi WITH (security_invoker) AS SELECT * FROM u' \
	'CREATE VIEW vb AS SELECT * FROM big' 'CREATE VIEW vp AS SELECT * FROM pt' 'GRANT ALL ON vu, vs, vi, vb, vp TO refused, reader' 'GRANT ALL ON u TO refused, reader')" '' 'views'
like "$(by refused 'SELECT * FROM u')" 'ERROR:  08' '... that cannot read'
is "$(by refused 'SELECT * FROM vu' "$WHO")" 'a|b
c|d
writer=hwriter' 'a view is read as its owner'
is "$(by refused "EXPLAIN SELECT * FROM vu WHERE k > 'b'" "$WHO" | tail -1)" 'writer=hwriter' '... also by the planner'
is "$(by refused "SELECT k FROM vs WHERE v = 'd'" 'SELECT count(*), max(v) FROM vu' 'SELECT a.k FROM vu a JOIN vs b USING (v) ORDER BY 1' "$WHO")" 'c
2|d
a
c
writer=hwriter' '... with conditions, aggregates and joins'
is "$(by refused 'SET enable_hashjoin = off' 'SET enable_mergejoin = off' "SELECT o.k, v FROM (VALUES ('a'), ('b'), ('c')) o (k) JOIN vu USING (k) ORDER BY 1" \
	"EXPLAIN (COSTS OFF) SELECT o.k, v FROM (VALUES ('a'), ('b'), ('c')) o (k) JOIN vu USING (k)" "$WHO" | sed -n 's/.*(\(Lookup Ahead\)).*/\1/p; /^[a-z]/p')" 'a|b
c|d
Lookup Ahead
writer=hwriter' '... by keys that are read ahead'
is "$(by refused 'SET parallel_setup_cost = 0' 'SET parallel_tuple_cost = 0' 'SET min_parallel_table_scan_size = 0' 'SET parallel_leader_participation = off' \
	"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT k FROM vb WHERE k < 'l' OFFSET 0" "$WHO" | grep -oE 'Workers Launched: [1-9]|rows=150000|^[a-z].*' | sed 's/[1-9]$/n/' | sort -u)" \
	'Workers Launched: n
rows=150000
writer=hwriter' '... in parallel'
is "$(by refused 'COPY (SELECT * FROM vu) TO STDOUT' 'PREPARE p AS SELECT v FROM vu' 'SET plan_cache_mode = force_generic_plan' 'EXECUTE p' "$WHO")" 'a	b
c	d
b
d
writer=hwriter' '... by COPY and prepared statements'
is "$(by refused "INSERT INTO vu VALUES ('e', 'f'), ('g', 'h') RETURNING k" "UPDATE vu SET v = 'x' WHERE k = 'e' RETURNING v" \
	"UPDATE vu SET v = o.v FROM (VALUES ('g', 'y')) o (k, v) WHERE vu.k = o.k RETURNING vu.v, vu.k" "DELETE FROM vu WHERE k = 'a' RETURNING v" "$WHO" 'SELECT * FROM vu')" 'e
g
x
y|g
b
writer=hwriter
c|d
e|x
g|y' '... and changed'
is "$(by refused BEGIN "INSERT INTO vu VALUES ('i', 'j')" "DELETE FROM vu WHERE k IN (SELECT k FROM vs WHERE k > 'd' AND k < 'h')" 'SELECT * FROM vu' COMMIT "$WHO" 'SELECT * FROM vu')" 'c|d
i|j
writer=hwriter
c|d
i|j' '... in a transaction that reads its changes'
is "$(x "ALTER FOREIGN TABLE u OPTIONS (ADD insert_mode 'error')"; by refused "INSERT INTO vu VALUES ('c', 'e')" "$WHO" | grep -vE '^(DETAIL|[A-Z]* NAME):'; x 'ALTER FOREIGN TABLE u OPTIONS (DROP insert_mode)')" \
	'ERROR:  23505: row already exists in table "u"
writer=hwriter' '... where INSERT looks for the row'
is "$(by refused "INSERT INTO vp VALUES ('a', '1'), ('b', '2'), ('c', '2')" "UPDATE vp SET v = '1' WHERE k = 'b'" 'SELECT * FROM vp ORDER BY k' "DELETE FROM vp WHERE k <> 'b' RETURNING *" "$WHO")" 'a|1
b|1
c|2
a|1
c|2
writer=hwriter' '... with partitions, to which rows are moved'
is "$(by reader BEGIN 'SAVEPOINT s' 'SELECT fails(v) FROM vu' 'ROLLBACK TO s' "$WHO" "SELECT v FROM u WHERE k = 'c'" "$WHO" ROLLBACK "INSERT INTO vu VALUES ('z', '1/0'), (NULL, NULL)" \
	"INSERT INTO u VALUES ('l', 'm')" "$WHO" | grep -E '^(ERROR|reader|writer|d$)')" 'ERROR:  22012: division by zero
writer=hwriter
d
reader=anybody writer=hwriter
ERROR:  23502: null value in key column "k" of relation "u"
reader=anybody writer=hwriter' 'after an error in a view the session reads and writes as itself'
is "$(by reader 'SELECT count(*) FROM vu' "$WHO" "SELECT count(widetable.get('u', 'c'))" "$WHO")" '3
writer=hwriter
1
reader=anybody writer=hwriter' 'functions are called as the current user'
is "$(x 'CREATE VIEW vo AS SELECT * FROM vi' 'GRANT SELECT ON vo TO reader'; by reader 'SELECT count(*) FROM vi' 'SELECT count(*) FROM vo' "$WHO" 'SELECT count(*) FROM vu' \
	"$(waits w writer)" "UPDATE vi SET v = 'n' WHERE k = 'l'" "$(waits w2 writer)" 'SELECT :w2 - :w' "$WHO" | grep .)" '3
3
reader=anybody
3
0
reader=anybody writer=hwriter' 'a view with security_invoker is used as the role that uses it'
is "$(by reader BEGIN 'DECLARE c CURSOR FOR SELECT k FROM u' 'SET ROLE writer' 'FETCH 1 FROM c' "$WHO" COMMIT)" 'c
reader=anybody' 'a cursor is read as the role that has opened it'
# sender SQL...: who sends what reader changes so, after both are connected
sender() { by reader 'SELECT count(*) FROM u' 'SELECT count(*) FROM vu' BEGIN "$@" "$(waits w writer)" "$(waits r reader)" COMMIT "$(waits w2 writer)" "$(waits r2 reader)" \
	"SELECT 'sent', :w2 > :w, :r2 > :r" | grep -E 'sent|ERROR'; }
is "$(sender "INSERT INTO u VALUES ('o', 'p')")" 'sent|f|t' 'changes of a table are sent by the current user'
is "$(sender "$(printf 'COPY u FROM stdin;\no\tp\n\\.\nSELECT')")" 'sent|f|t' '... also those of COPY'
is "$(sender "INSERT INTO vu VALUES ('o', 'p')")" 'sent|t|f' 'changes of a view by its owner'
is "$(sender "INSERT INTO u VALUES ('o', 'p')" "UPDATE vu SET v = 'q' WHERE k = 'o'")" 'sent|t|f' '... of one row by the last one'
is "$(sender "INSERT INTO vu VALUES ('o', 'p')" 'SAVEPOINT s' "UPDATE u SET v = 'q' WHERE k = 'o'" 'ROLLBACK TO s')" 'sent|t|f' '... whose change is not rolled back'
is "$(sender "INSERT INTO vu VALUES ('o', 'p')" "INSERT INTO u VALUES ('r', 's')")" 'sent|t|t' '... of several rows by both'

finish
