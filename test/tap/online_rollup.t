# online_rollup: the build of a roll-up, and of a unique index, while writers go on.  The builder is held at
# its stop point after it has read all rows; what changes then must count once.  Commands that empty or alter
# the tables, crashes, snapshots from before, and builds that fail.  About 20 seconds.
. "${0%/*}/common.sh"
new_cluster "widetable.memtable_size = 1MB" "autovacuum = off"

q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE visits (id int, url text COLLATE \"C\", n bigint, f float8) SERVER widetable OPTIONS (key 'id')" \
	"INSERT INTO visits SELECT g, 'u' || g % 97, g % 101, g * 0.5 FROM generate_series(1, 20000) g" \
	"ALTER DATABASE postgres SET widetable.stop_at = 'rollup-read'" >/dev/null
COLUMNS="url text COLLATE \"C\", c bigint OPTIONS (aggregate 'count(*)'), ns bigint OPTIONS (aggregate 'count(n)'), n bigint OPTIONS (aggregate 'sum(n)'), f float8 OPTIONS (aggregate 'sum(f)')"
create() { q "CREATE FOREIGN TABLE by_url ($COLUMNS) SERVER widetable OPTIONS (rollup_of 'visits', key 'url', build 'online')"; }
left() { q "SELECT count(*) FROM pg_foreign_table, unnest(ftoptions) o WHERE ftrelid = '$1'::regclass AND o LIKE 'progress=%'"; }
complete() { await 60 '^0$' "SELECT count(*) FROM pg_foreign_table, unnest(ftoptions) o WHERE ftrelid = '$1'::regclass AND o LIKE 'progress=%'"; }
exact() {
	is "$(q "SELECT * FROM widetable.verify('visits')")" "" "$1: verify() finds no difference"
	is "$(q "SELECT url, c, ns, n, f FROM by_url ORDER BY url" | md5sum)" "$(q "SELECT url, count(*), count(n), sum(n), sum(f) FROM visits GROUP BY url ORDER BY url" | md5sum)" "$1: the groups are those of the rows"
}
# hold: the next builder stops when it has read all rows; go: it goes on
hold() { session holder 5; echo "SELECT pg_advisory_lock($(stop_lock rollup-read)), 'held';" >&5; holder=$session_pid; wait_output holder held; }
go() { echo "\\q" >&5; exec 5>&-; wait "$holder"; }
change() {
	q "UPDATE visits SET url = '$1' WHERE id % 100 = 7" "UPDATE visits SET n = NULL WHERE id % 100 = 9" "DELETE FROM visits WHERE id % 100 = 8" \
		"INSERT INTO visits SELECT g, '$1', g % 7, 1 FROM generate_series(200000, 200050) g" "INSERT INTO visits SELECT g, 'u' || g % 97, 5, 2 FROM generate_series(1, 20000, 50) g"
}

# changes before the builder's snapshot, between it and the end, and after it
hold
create >/dev/null
await_stopped 1
session old 6
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot(); SELECT count(*) > 0, 'began' FROM visits;" >&6
wait_output old began
snapshot=$(grep -oE '^[0-9A-F]+-[0-9A-F]+-[0-9]+$' "$T/old.out")
like "$(q 'SELECT * FROM by_url')" 'roll-up "by_url" is being built' 'a roll-up that is built is not read'
like "$(VERBOSITY=verbose q "SELECT widetable.get('by_url', 'u1', 'sum:n')")" '42883|55000' 'nor by a function'
is "$(change between)" "" 'writers go on'
is "$(q "SELECT * FROM widetable.verify('visits')")" "" 'verify() does not compare it yet'
go
complete by_url; ok $? 'the build comes to its end'
exact 'changes after the snapshot'
change after >/dev/null
exact 'changes after the build'
like "$(VERBOSITY=verbose q "SET plan_cache_mode = force_generic_plan" "PREPARE p AS SELECT 'rows', count(*) FROM by_url" "EXECUTE p" "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$snapshot'" "EXECUTE p")" \
	'40001: roll-up "by_url" is newer' 'nor does one that a later session imports, whose plan is from after the build'
echo "SELECT count(*) FROM by_url;" >&6
wait_output old 'roll-up "by_url" is newer than what the transaction reads'; ok $? 'a snapshot from before the build does not see half of it'
exec 6>&-

# again over a roll-up that has changes of before: the builder is killed, and the server
q 'DROP FOREIGN TABLE by_url' >/dev/null
hold
create >/dev/null
await_stopped 1
change first >/dev/null
pid=$(q "SELECT pid FROM pg_stat_activity WHERE backend_type = 'widetable builder'")
is "$(q "SELECT pg_terminate_backend($pid, 10000)")" t 'the builder is terminated'
change second >/dev/null
like "$(q 'SELECT * FROM by_url')" 'is being built' 'a reader asks for another builder'
await_stopped 1
change third >/dev/null
kill_server; exec 5>&-; wait; forget_kill; start
is "$(left by_url)" 1 'a crash of the server: the build is not at its end'
change fourth >/dev/null
complete by_url; ok $? 'a writer asks for another builder'
exact 'after crashes'

# changes all the while: the builder reads the roll-up and the rows at one moment
q 'ALTER DATABASE postgres RESET widetable.stop_at' 'CREATE TABLE stop (i int)' >/dev/null
session writer 7
echo "DO \$\$ DECLARE i int := 0; BEGIN WHILE NOT EXISTS (SELECT FROM stop) LOOP i := i + 1; UPDATE visits SET url = 'u' || i % 97, n = i WHERE id = 1 + i * 7 % 20000; COMMIT; END LOOP; END \$\$; SELECT 'written';" >&7
for i in $(seq 10); do
	q 'DROP FOREIGN TABLE by_url' >/dev/null
	create >/dev/null
	complete by_url
	[ -z "$(q "SELECT * FROM widetable.verify('visits')")" ] || break
done
is "$i $(q "SELECT * FROM widetable.verify('visits')")" '10 ' 'a writer all the while: the roll-up is exact'
q 'INSERT INTO stop VALUES (1)' >/dev/null
wait_output writer written
exec 7>&-
q "ALTER DATABASE postgres SET widetable.stop_at = 'rollup-read'" >/dev/null

# commands meanwhile: they wait for the builder to give way, and it begins anew
q 'DROP FOREIGN TABLE by_url' "INSERT INTO visits SELECT g, 'u' || g % 97, g % 101, g * 0.5 FROM generate_series(1, 150000) g" >/dev/null
create >/dev/null
await 30 '^t$' "SELECT max(done) > 2000 FROM widetable.pg_stat_widetable_progress WHERE kind = 'index'" # or it is through
is "$(q "SET lock_timeout = '20s'" "ALTER FOREIGN TABLE visits ADD COLUMN more text" "INSERT INTO visits (id, url, more) VALUES (900000, 'altered', 'x')")" "" 'ALTER of the table'
complete by_url; exact 'ALTER meanwhile'
q 'DROP FOREIGN TABLE by_url' >/dev/null
hold
create >/dev/null
await_stopped 1
session emptier 7
echo "TRUNCATE visits; SELECT 'emptied';" >&7
await 30 '^t$' "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'TRUNCATE%' AND wait_event_type = 'Lock'"; ok $? 'TRUNCATE waits for the builder'
go
wait_output emptier emptied; ok $? 'the builder gives way to TRUNCATE'
exec 7>&-
q "INSERT INTO visits SELECT g, 'u' || g % 97, g % 101, g * 0.5 FROM generate_series(1, 5000) g" >/dev/null
complete by_url; exact 'TRUNCATE meanwhile'
is "$(grep -c 'own a lock' "$T/server.log")" 0 'the builder has its lock to its end'
q 'DROP FOREIGN TABLE by_url' >/dev/null
hold
create >/dev/null
await_stopped 1
session alterer 7
echo "ALTER FOREIGN TABLE by_url ADD COLUMN most bigint OPTIONS (aggregate 'max(n)'); SELECT 'altered';" >&7
await 30 '^t$' "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'ALTER FOREIGN%' AND wait_event_type = 'Lock'"
go
wait_output alterer altered; ok $? 'the builder gives way to ALTER of the roll-up'
exec 7>&-
complete by_url; exact 'ALTER of the roll-up meanwhile'
is "$(grep -c 'deadlock detected' "$T/server.log")" 0 'without a deadlock'
q 'DROP FOREIGN TABLE by_url' >/dev/null
hold
create >/dev/null
await_stopped 1
session builder2 7
# another foreign table on the same rows: the roll-up is built anew at once
echo "CREATE FOREIGN TABLE visits_too (id int, w text) SERVER widetable OPTIONS (table_name 'public.visits', key 'id', families '{\"e\": {}}'); SELECT 'made';" >&7
sleep 0.3
go
wait_output builder2 made; ok $? 'CREATE of another foreign table on the rows'
exec 7>&-
complete by_url; exact 'built anew meanwhile'
q 'DROP FOREIGN TABLE by_url' >/dev/null
hold
create >/dev/null
await_stopped 1
session dropper 7
echo "DROP FOREIGN TABLE by_url; SELECT 'dropped';" >&7
sleep 0.2
go
wait_output dropper dropped; ok $? 'DROP meanwhile'
exec 7>&-

# with a time to live: each row expires by itself
q "CREATE FOREIGN TABLE short (id int, url text COLLATE \"C\", n int) SERVER widetable OPTIONS (key 'id', families '{\"d\": {\"ttl\": \"1 hour\"}}')" \
	"CREATE FOREIGN TABLE short_cell (id int, family text, qualifier text, ts timestamptz, value bytea) SERVER widetable OPTIONS (table_name 'public.short', key 'id', layout 'cells')" \
	"INSERT INTO short SELECT g, 'u' || g % 7, g FROM generate_series(1, 100) g" \
	"INSERT INTO short_cell SELECT g, 'd', q, now() - interval '50 minutes', v FROM generate_series(101, 200) g, (VALUES ('url', 'u1'::bytea), ('n', int4send(7))) c(q, v)" >/dev/null
hold
q "CREATE FOREIGN TABLE short_by (url text COLLATE \"C\", c bigint OPTIONS (aggregate 'count(*)'), n bigint OPTIONS (aggregate 'sum(n)'))
	SERVER widetable OPTIONS (rollup_of 'short', key 'url', follow_ttl 'true', build 'online')" >/dev/null
await_stopped 1
q "DELETE FROM short WHERE id % 10 = 3" "INSERT INTO short SELECT g, 'u2', 1 FROM generate_series(95, 105) g" >/dev/null
# the next builder finds what these have added and taken away, at several times
q "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE backend_type = 'widetable builder'" >/dev/null
like "$(q 'SELECT * FROM short_by')" 'is being built' 'with a time to live: a reader asks for another builder'
await_stopped 1
q "DELETE FROM short WHERE id % 10 = 4" "INSERT INTO short SELECT g, 'u3', 1 FROM generate_series(103, 115) g" >/dev/null
go
complete short_by
for later in 0 20 70; do
	is "$(q "SELECT set_config('widetable.clock', (now() + '$later min')::text, false) IS NULL" "SELECT * FROM short_by ORDER BY url")" \
		"$(q "SELECT set_config('widetable.clock', (now() + '$later min')::text, false) IS NULL" "SELECT url, count(*), sum(n) FROM short GROUP BY url ORDER BY url")" "with a time to live: $later minutes later"
done

# a unique index over rows that are not unique fails, and goes on when they are
q "ALTER DATABASE postgres RESET widetable.stop_at" "TRUNCATE visits" "INSERT INTO visits SELECT g, 'u' || g, g FROM generate_series(1, 6000) g" "UPDATE visits SET url = 'u3' WHERE id = 5000" >/dev/null
q "CREATE FOREIGN TABLE one_url (url text COLLATE \"C\") SERVER widetable OPTIONS (index_of 'visits', key 'url', \"unique\" 'true', build 'online')" >/dev/null
await 30 'failed=23505' "SELECT unnest(ftoptions) FROM pg_foreign_table WHERE ftrelid = 'one_url'::regclass"; ok $? 'rows that are not unique: the build fails'
like "$(grep -c 'duplicate key value violates unique index "one_url"' "$T/server.log")" '^1$' 'the log says so, once'
like "$(VERBOSITY=verbose q 'SELECT * FROM one_url')" '55000' 'the index is not read'
like "$(q 'SELECT * FROM one_url')" 'OPTIONS \(DROP failed\)' 'the error says what to do'
is "$(q "EXPLAIN SELECT * FROM visits WHERE url = 'u7'" | grep -c 'Index: one_url')" 0 'nor used'
like "$(VERBOSITY=verbose q "INSERT INTO visits VALUES (7000, 'u4', 1)")" '23505' 'entries that are there are unique already'
is "$(q "DELETE FROM visits WHERE id = 5000" "ALTER FOREIGN TABLE one_url OPTIONS (DROP failed)")" "" 'the reason goes'
complete one_url; ok $? 'the build goes on'
like "$(q "EXPLAIN SELECT * FROM visits WHERE url = 'u7'")" 'Index: one_url' 'the index is used'
like "$(VERBOSITY=verbose q "INSERT INTO visits VALUES (7000, 'u5900', 1)")" '23505' 'all values are unique'
is "$(q "SELECT * FROM widetable.verify('visits')")" "" 'the unique index is exact'

# writers and the builder of an index do not wait for one another for ever: it waits for a row only if it has no other
q 'DROP FOREIGN TABLE one_url' >/dev/null
session writer 6
echo "BEGIN; UPDATE visits SET n = 0 WHERE id = 3000; SELECT 'has one';" >&6
wait_output writer 'has one'
q "CREATE FOREIGN TABLE one_url (url text COLLATE \"C\") SERVER widetable OPTIONS (index_of 'visits', key 'url', \"unique\" 'true', build 'online')" >"$T/create.out" 2>&1 &
await 30 '^t$' "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CREATE FOREIGN TABLE one_url%' AND wait_event_type = 'Lock'"
echo "COMMIT; SELECT 'is through';" >&6
wait_output writer 'is through'
wait $!
echo "BEGIN; UPDATE visits SET n = 0 WHERE id = 5999; SELECT 'has another';" >&6
wait_output writer 'has another'
await 30 '^t$' "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'widetable builder' AND wait_event_type = 'Lock' OR '$(left one_url)' = '0'"
echo "UPDATE visits SET n = 0 WHERE id <= 5998; COMMIT; SELECT 'has all';" >&6
wait_output writer 'has all'; ok $? 'a writer that has a row gets all others'
exec 6>&-
complete one_url; ok $? 'and the build comes to its end'
verify_store
finish
