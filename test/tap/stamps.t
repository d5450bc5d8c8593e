# stamps: assigned timestamps rise from commit to commit, however often a transaction writes a cell
# and whatever the clock does.  The clock stands still, or goes back, so a timestamp beyond that of
# its transaction would hide the next INSERT.
. "${0%/*}/common.sh"

new_cluster 'widetable.memtable_size = 1MB' "session_preload_libraries = 'widetable'" 'autovacuum = off' \
	"widetable.clock = '2030-01-01 00:00:00+00'"
q 'CREATE EXTENSION widetable' 'CREATE TABLE plain (n int)' \
	"CREATE FOREIGN TABLE c (k text COLLATE \"C\", n bigint, t timestamptz OPTIONS (timestamp_of 'n'), m jsonb OPTIONS (family 'm')) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE cells (k text COLLATE \"C\", family text, qualifier text, ts bigint, value bytea) SERVER widetable OPTIONS (table_name 'public.c', layout 'cells')" \
	"CREATE FUNCTION inc(n int) RETURNS bigint LANGUAGE sql VOLATILE AS \$\$ SELECT max(widetable.increment('c', 'x', 'n')) FROM generate_series(1, n) \$\$" \
	"CREATE FUNCTION newest() RETURNS bigint LANGUAGE sql AS \$\$ SELECT max(ts) FROM widetable.raw_cells('c', 'x') \$\$"

# after NAME STATEMENTS [COMMAND]: runs a transaction that writes the row x several times, the command,
# and an INSERT of 100 into x.  That is what is read then, and its timestamp is the newest; that of
# the transaction was above all before it.
after() {
	before=$(q 'TRUNCATE c' "INSERT INTO c (k, n) VALUES ('y', 0)" "SELECT max(ts) FROM widetable.raw_cells('c', 'y')")
	q "$2" >"$T/out"
	mine=$(q 'SELECT newest()')
	${3:-:}
	is "$(grep ERROR "$T/out"; q "SELECT newest() = $mine AND $mine > $before" "INSERT INTO c (k, n) VALUES ('x', 100)" \
		"SELECT n, extract(epoch FROM t) * 1000000 > $mine FROM c WHERE k = 'x'")" "t
100|t" "$1"
}
crash() { kill_server; start; }

after 'increments' "BEGIN; SELECT inc(1); SELECT inc(1); SELECT inc(1); COMMIT;"
after 'increments in one statement' "SELECT inc(50);"
after 'updates' "INSERT INTO c (k, n) VALUES ('x', 1); BEGIN; UPDATE c SET n = n + 1; UPDATE c SET n = n + 1 WHERE k = 'x'; UPDATE c SET n = (SELECT 7); UPDATE c SET n = n + 1; COMMIT;"
after 'appends, puts, deletes' "BEGIN; SELECT inc(2); SELECT widetable.put('c', 'x', 'n', 5::bigint); SELECT inc(2); SELECT widetable.delete_column('c', 'x', 'n'); SELECT inc(3); SELECT widetable.delete_version('c', 'x', 'n'); SELECT inc(3); INSERT INTO c (k, n) VALUES ('x', 1); SELECT inc(2); COMMIT;"
after 'check_and_mutate' "BEGIN; SELECT inc(1); SELECT widetable.check_and_mutate('c', 'x', 'n', '=', 1::bigint, '[{\"put\": {\"n\": 2}}, {\"increment\": {\"n\": 1}}, {\"increment\": {\"n\": 1}}, {\"put\": {\"n\": 9}}]'); SELECT inc(1); COMMIT;"
after 'maps' "BEGIN; INSERT INTO c (k, n, m) VALUES ('x', 1, '{\"a\": \"1\"}'); UPDATE c SET m = m || '{\"a\": \"2\"}'; UPDATE c SET m = m || '{\"a\": \"3\"}'; UPDATE c SET n = 5, m = '{\"a\": \"4\"}'; UPDATE c SET n = 6; COMMIT;"
after 'layout cells' "BEGIN; SELECT inc(1); UPDATE cells SET value = '\\x0000000000000005'; UPDATE cells SET value = '\\x0000000000000006'; UPDATE cells SET value = '\\x0000000000000007'; COMMIT;"
after 'savepoints' "BEGIN; SELECT inc(2); SAVEPOINT a; SELECT inc(2); ROLLBACK TO a; SELECT inc(2); SAVEPOINT b; SELECT inc(2); SAVEPOINT c; SELECT inc(2); RELEASE b; ROLLBACK TO a; SELECT inc(3); COMMIT;"
after 'the clock goes back' "BEGIN; SELECT inc(2); SET widetable.clock = '2029-01-01'; SELECT inc(2); SET widetable.clock = '2028-01-01'; SELECT inc(2); COMMIT;"
after 'the clock goes back between transactions' "SET widetable.clock = '2031-01-01'; SELECT inc(2); SET widetable.clock = '2029-01-01'; BEGIN; SELECT inc(3); COMMIT;"
after 'a transaction with an xid' "BEGIN; INSERT INTO plain VALUES (1); SELECT inc(2); SELECT inc(2); SELECT inc(2); COMMIT;"
after 'recovery' "BEGIN; SELECT inc(2); SELECT inc(2); SELECT inc(2); COMMIT;" crash
after 'recovery, with an xid' "BEGIN; INSERT INTO plain VALUES (1); SELECT inc(2); SELECT inc(2); SELECT inc(2); COMMIT;" crash
after 'a spilled transaction' "SET widetable.write_memory = '64kB'; BEGIN; SELECT inc(2); INSERT INTO c (k, n) SELECT 'z' || g, g FROM generate_series(1, 3000) g; SELECT inc(2); DELETE FROM c WHERE k LIKE 'z%'; SELECT inc(2); COMMIT;"
after 'a transaction that becomes files' "BEGIN; SELECT inc(2); INSERT INTO c (k, m) SELECT 'z' || g, jsonb_build_object('a', repeat(md5(g::text), 30)) FROM generate_series(1, 3000) g; SELECT inc(2); UPDATE c SET n = n + 1 WHERE k = 'x'; COMMIT;"
after 'files, recovery' "BEGIN; SELECT inc(2); INSERT INTO c (k, m) SELECT 'z' || g, jsonb_build_object('a', repeat(md5(g::text), 30)) FROM generate_series(1, 3000) g; SELECT inc(2); SELECT inc(2); COMMIT;" crash

# stated timestamps in the way of the assigned one: it takes another, and so does the next
q 'TRUNCATE c' >/dev/null
next=$(q "INSERT INTO c (k, n) VALUES ('y', 0)" "SELECT (extract(epoch FROM t) * 1000000)::bigint + 1 FROM c WHERE k = 'y'")
q "BEGIN" "SELECT widetable.put('c', 'x', 'n', 1::bigint, $next)" "SELECT widetable.put('c', 'x', 'n', 2::bigint, $next + 1)" "INSERT INTO c (k, n) VALUES ('x', 3), ('y', 3)" "COMMIT" >/dev/null
is "$(q "SELECT k, n, (extract(epoch FROM t) * 1000000 - $next)::int FROM c ORDER BY k")" "x|3|2
y|3|2" 'the timestamp avoids stated ones, in all cells'
q "INSERT INTO c (k, n) VALUES ('x', 4)"
is "$(q "SELECT n, (extract(epoch FROM t) * 1000000 - $next)::int FROM c WHERE k = 'x'")" '4|3' 'the next one is newer'

# a stated timestamp keeps its meaning: it is the newest, a blind write is not shown, an update is
q 'TRUNCATE c' "SELECT widetable.put('c', 'x', 'n', 10::bigint, 2000000000000000)" "INSERT INTO c (k, n) VALUES ('x', 11)" >/dev/null
is "$(q "SELECT n FROM c WHERE k = 'x'")" 10 'a stated timestamp in the future stays the newest'
q "BEGIN" "SELECT inc(2)" "SELECT inc(2)" "SELECT inc(2)" "COMMIT" "INSERT INTO c (k, n) VALUES ('x', 11), ('y', 1)" >/dev/null
is "$(q "SELECT n, (extract(epoch FROM t) * 1000000)::bigint FROM c WHERE k = 'x'")" "16|2000000000000001" 'an increment is above it'
is "$(q "SELECT t < '2031-01-02' FROM c WHERE k = 'y'")" t 'it moves no other timestamp'
q "UPDATE c SET n = 17, t = to_timestamp(2000000000.5) WHERE k = 'x'" >/dev/null
is "$(q "SELECT n FROM c WHERE k = 'x'")" "17" 'an UPDATE states another'

# an UPDATE that states the timestamp which the transaction's own version has provisionally
q 'TRUNCATE c' >/dev/null
is "$(q "SET widetable.clock = '2040-01-01'" BEGIN "INSERT INTO c (k, n) VALUES ('x', 1)" "UPDATE c SET n = 2, t = '2040-01-01' WHERE k = 'x'" COMMIT "SELECT n FROM c WHERE k = 'x'")" "2" 'a provisional version moves to a stated timestamp'

# reads at an earlier time: before the transaction, and at its own timestamp
q "ALTER FOREIGN TABLE c OPTIONS (ADD families '{\"d\": {\"versions\": 5}, \"m\": {}}')" 'TRUNCATE c' "INSERT INTO c (k, n) VALUES ('x', 1)" >/dev/null
one=$(q 'SELECT newest()')
q BEGIN 'SELECT inc(2)' 'SELECT inc(2)' 'UPDATE c SET n = n + 1' COMMIT >/dev/null
two=$(q 'SELECT newest()')
q "INSERT INTO c (k, n) VALUES ('x', 100)"
is "$(q "SET widetable.as_of = '$one'" 'SELECT n FROM c' "SET widetable.as_of = '$two'" 'SELECT n FROM c' 'RESET widetable.as_of' 'SELECT n FROM c' | tr '\n' ' ' | sed 's/ $//')" "1 6 100" 'as of each moment'
finish
