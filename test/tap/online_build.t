# online_build: the build of an index while writers go on, interrupted by a crash of the builder, of
# the server, and by pg_terminate_backend().  It goes on where it was, and the index is exact.
. "${0%/*}/common.sh"
new_cluster "widetable.memtable_size = 1MB" "autovacuum = off"

q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE visits (id int, url text COLLATE \"C\", n int) SERVER widetable OPTIONS (key 'id')" \
	"INSERT INTO visits SELECT g, 'u' || g % 997, g % 101 FROM generate_series(1, 150000) g" >/dev/null
progress() { q "SELECT coalesce(substring(ftoptions::text FROM 'progress=([0-9a-f]*)'), 'none') FROM pg_foreign_table WHERE ftrelid = 'by_url'::regclass"; }
builder() { q "SELECT pid FROM pg_stat_activity WHERE backend_type = 'widetable builder'"; }
create() { q "CREATE FOREIGN TABLE by_url (url text COLLATE \"C\") SERVER widetable OPTIONS (index_of 'visits', key 'url', build 'online')"; }
# the builder has come to some row, and not to the last one
under_way() { for _ in $(seq 200); do case $(progress) in ''|none) sleep 0.02 ;; *) return 0 ;; esac; done; return 1; }
change() { q "UPDATE visits SET url = '$1' WHERE id % 1000 = 7" "DELETE FROM visits WHERE id % 1000 = 8" "INSERT INTO visits SELECT g, '$1', 0 FROM generate_series(200000, 200050) g"; }
exact() {
	# a query asks for a builder, once in a while
	await 100 none "SELECT n FROM visits WHERE url = 'none'; SELECT coalesce(substring(ftoptions::text FROM 'progress=([0-9a-f]*)'), 'none') FROM pg_foreign_table WHERE ftrelid = 'by_url'::regclass"
	ok $? "$1: the build comes to its end"
	like "$(q "EXPLAIN SELECT * FROM visits WHERE url = 'u7'")" 'Index: by_url' "$1: the index is used"
	is "$(q "SELECT * FROM widetable.verify('visits')")" "" "$1: the index is exact"
	is "$(q "SELECT count(*), sum(id) FROM visits WHERE url = 'u7'")" "$(q 'SET widetable.enable_index = off' "SELECT count(*), sum(id) FROM visits WHERE url = 'u7'")" "$1: queries with and without it return the same"
}

create >/dev/null
under_way; ok $? "the build is under way"
kill_server; wait; start; forget_kill
at=$(progress)
[ "$at" != none ]; ok $? "a crash of the server: the build is not at its end"
is "$(q "EXPLAIN SELECT * FROM visits WHERE url = 'u7'" | grep -c 'Index: by_url')" "0" "an index that is not complete is not used"
change 'crash of the server' >/dev/null
exact 'a crash of the server'

q 'DROP FOREIGN TABLE by_url' >/dev/null; create >/dev/null
under_way
pid=$(builder)
[ -n "$pid" ] && kill -9 "$pid"; ok $? "the builder is killed"
sleep 0.5
await 30 '^1$' 'SELECT 1'
forget_kill
change 'crash of the builder' >/dev/null
exact 'a crash of the builder'

q 'DROP FOREIGN TABLE by_url' >/dev/null; create >/dev/null
under_way
is "$(q "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE backend_type = 'widetable builder'")" "t" "the builder is terminated"
is "$(q "SELECT count(*) FROM pg_locks WHERE locktype = 'object' AND classid = 'pg_foreign_table'::regclass")" "0" "it leaves no lock"
change 'terminated' >/dev/null
exact 'a terminated builder'
is "$(q "SET lock_timeout = '10s'" 'DROP FOREIGN TABLE by_url')" "" "the index can be dropped"

# the schema is renamed, which locks no table and writes an option of the index, as the builder does
q 'CREATE SCHEMA early' 'CREATE FOREIGN TABLE early.hits (id int, n int) SERVER widetable OPTIONS (key $$id$$)' \
	'INSERT INTO early.hits SELECT g, g FROM generate_series(1, 5000) g' "ALTER DATABASE postgres SET widetable.stop_at = 'index-chunk'" >/dev/null
hold() { session holder 5; echo "SELECT pg_advisory_lock($(stop_lock index-chunk)), 'held';" >&5; holder=$session_pid; wait_output holder held; }
go() { echo '\q' >&5; exec 5>&-; wait "$holder"; }
hold
q "CREATE FOREIGN TABLE early.by_n (n int) SERVER widetable OPTIONS (index_of 'early.hits', key 'n', build 'online')" >/dev/null
await_stopped 1
session renamer 6
echo "BEGIN; ALTER SCHEMA early RENAME TO late; SELECT 'renamed';" >&6
await 30 '^t$' "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%ALTER SCHEMA%' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"
go
wait_output renamer renamed; ok $? 'a command that renames the schema waits for the builder'
await 30 '^t$' "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'widetable builder' AND wait_event_type = 'Lock'"; ok $? 'and the builder for the command'
echo "COMMIT;" >&6
exec 6>&-
await 30 'index_of=late.hits,key=n,build=online}' "SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = (SELECT oid FROM pg_class WHERE relname = 'by_n')"; ok $? 'and the build comes to its end'
like "$(q 'SELECT count(*) FROM late.by_n')" '^5000$' 'with all entries'
verify_store
finish
