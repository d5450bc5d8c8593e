# indexes: dump and restore, crashes, prepared transactions, copies of databases, standbys, and DROP
# of an index that is in use.  After each of them verify() finds no difference between the table and
# its indexes, and queries through indexes return what they return without.  Takes about 60 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/standbys.sh"
new_cluster "max_prepared_transactions = 4" "widetable.memtable_size = 1MB" "autovacuum = off" \
	"max_wal_size = 64MB" "min_wal_size = 32MB" "wal_keep_size = 256MB"

# by_url: covered columns; by_n: a column of another name and encoding; by_tag: entries of a map
VISITS="CREATE FOREIGN TABLE visits (cookie text COLLATE \"C\", at int, url text, n int, tags jsonb OPTIONS (family 't'))
	SERVER widetable OPTIONS (key 'cookie, at', families '{\"d\": {}, \"t\": {}}')"
BY_URL="CREATE FOREIGN TABLE by_url (url text, cookie text COLLATE \"C\", at int, n int) SERVER widetable OPTIONS (index_of 'visits', key 'url, cookie, at desc')"
BY_N="CREATE FOREIGN TABLE a_n (number int OPTIONS (column_of 'n', encoding 'hex'), visitor text OPTIONS (column_of 'cookie') COLLATE \"C\", at int)
	SERVER widetable OPTIONS (index_of 'visits', key 'number, at')"
BY_TAG="CREATE FOREIGN TABLE by_tag (tag text OPTIONS (qualifier_of 'tags') COLLATE \"C\", val text OPTIONS (value_of 'tags'), cookie text COLLATE \"C\", at int)
	SERVER widetable OPTIONS (index_of 'visits', key 'tag, val')"
rows() { echo "INSERT INTO visits SELECT 'c' || g % 50, g, 'u' || g % 97, CASE WHEN g % 3 > 0 THEN g % 211 END, jsonb_build_object('q' || g % 7, g % 19, 'all', 'x') FROM generate_series($1, $2) g"; }
q 'CREATE EXTENSION widetable' "$VISITS" "$BY_URL" "$(rows 1 3000)" "$BY_N" "$BY_TAG" "$(rows 3001 5000)" "UPDATE visits SET url = 'moved' WHERE at % 10 = 0" "DELETE FROM visits WHERE at % 11 = 0" \
	"UPDATE visits SET at = at + 100000 WHERE n = 5" "UPDATE visits SET tags = NULL WHERE n = 6" 'ANALYZE visits' >"$T/made" 2>&1
is "$(cat "$T/made")" "" "a table with indexes is made"

# what is the same with and without indexes; a line for each index that a plan uses
LOOK="SELECT md5(string_agg(v::text, ',' ORDER BY cookie, at)) FROM visits v WHERE url = 'u7';
	SELECT count(*), sum(n), min(cookie) FROM visits WHERE url = 'moved';
	SELECT md5(string_agg(v::text, ',' ORDER BY cookie, at)) FROM visits v WHERE n IN (5, 6, 77);
	SELECT md5(string_agg(v::text, ',' ORDER BY cookie, at)) FROM visits v WHERE tags ->> 'q3' = '4'"
same() { # PREFIX COMMAND...: the command is q, in_db or on, with its first arguments
	p_=$1; shift
	with_=$("$@" 'SET widetable.enable_index = on' "$LOOK")
	is "$with_" "$("$@" 'SET widetable.enable_index = off' "$LOOK")" "$p_: queries through indexes and without return the same"
	is "$("$@" "SELECT * FROM widetable.verify('visits')" "SELECT i.*, v.* FROM (VALUES ('by_url'), ('a_n'), ('by_tag')) i (name), LATERAL widetable.verify(name::regclass) v")" "" "$p_: verify() finds no difference"
}
uses() { "$@" "EXPLAIN SELECT * FROM visits WHERE url = 'u7'" "EXPLAIN SELECT * FROM visits WHERE n = 77" "EXPLAIN SELECT * FROM visits WHERE tags ->> 'q3' = '4'" | sed -n 's/.*Index: //p' | tr '\n' ' '; }
same 'at first' q
is "$(uses q)" "by_url a_n by_tag " "the indexes are used"
is "$(q "SELECT (SELECT count(*) FROM by_url) = (SELECT count(*) FROM visits), (SELECT count(*) FROM a_n) = (SELECT count(n) FROM visits), (SELECT count(*) FROM by_tag) = (SELECT 2 * count(*) FROM visits WHERE tags IS NOT NULL)")" \
	"t|t|t" "the indexes have as many rows as they should"

# ---- dump and restore
definitions() { "$BIN/pg_dump" -s "$1" | grep -vE '^(--|\\(un)?restrict|SELECT pg_catalog.set_config)'; }
"$BIN/createdb" plain
"$BIN/pg_dump" --include-foreign-data=widetable -Fc -f "$T/plain.dump" 2>"$T/plain.err"
is "$("$BIN/pg_restore" --exit-on-error -d plain "$T/plain.dump" 2>&1; cat "$T/plain.err")" "" "pg_dump and pg_restore"
is "$(definitions plain)" "$(definitions postgres)" "restored: the definitions are the same"
same 'restored' in_db plain
in_db plain 'ANALYZE visits' >/dev/null
is "$(uses in_db plain)" "by_url a_n by_tag " "restored: the indexes are used"
is "$(in_db plain "$LOOK")" "$(q "$LOOK")" "restored: the rows are the same"

dump() { timeout 120 "$BIN/widetable_dump" "$@" 2>&1; }
restore() { timeout 120 "$BIN/widetable_restore" "$@" 2>&1; }
"$BIN/createdb" cells
is "$(dump -j 2 "$T/cells"; restore -j 2 -d cells "$T/cells")" "" "widetable_dump and widetable_restore"
is "$(grep -c '^table ' "$T/cells/contents")" "1" "the dump has no cells of indexes"
is "$(definitions cells)" "$(definitions postgres)" "restored with its cells: the definitions are the same"
same 'restored with its cells' in_db cells
is "$(in_db cells "$LOOK")" "$(q "$LOOK")" "restored with its cells: the rows are the same"
"$BIN/createdb" one; in_db one 'CREATE EXTENSION widetable' >/dev/null
is "$(dump -t visits "$T/one"; restore -d one "$T/one")" "" "a table is dumped alone"
same 'a table alone' in_db one
is "$(definitions one | grep -c 'index_of')" "3" "its indexes come with it"
like "$(dump -t by_url "$T/index")" 'an index, which is saved with its table' "an index is not dumped alone"
like "$(q "SELECT widetable.import_cells('by_url', (SELECT widetable.export_cells('visits') LIMIT 1))")" 'cannot change index' "no cells are imported into an index"
like "$(q "SELECT widetable.put('by_url', ROW('u', 'c', 1), 'n', 1)" "DELETE FROM by_url" "INSERT INTO by_url VALUES ('a')" | grep -c ERROR)" '^3$' "an index is not changed by anything else"
# nothing else writes cells behind an index's back
is "$(q "CREATE FOREIGN TABLE brief (k int, v int) SERVER widetable OPTIONS (key 'k')" "CREATE FOREIGN TABLE kept (k int, v int) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE kept_v (v int, k int) SERVER widetable OPTIONS (index_of 'kept', key 'v')" \
	"INSERT INTO brief VALUES (1, 1)" "SELECT widetable.import_cells('kept', c) > 0 FROM widetable.export_cells('brief') c" "TABLE kept_v" "SELECT * FROM widetable.verify('kept')")" "t
1|1" "import_cells() keeps the indexes"
like "$(q "SELECT widetable.put('brief', 2, 'v', 2, ttl => '1 hour')" "SELECT widetable.import_cells('kept', c) FROM widetable.export_cells('brief') c")" 'a cell of an indexed column has no time to live of its own' \
	"and takes no cells that expire by themselves"
like "$(q 'TRUNCATE kept' "SELECT * FROM widetable.salvage('brief', copy_to => 'kept')")" 'cannot salvage into "kept"' "salvage() does not copy into a table with indexes"
q 'DROP FOREIGN TABLE brief' 'DROP FOREIGN TABLE kept' >"$T/made" 2>&1
# cells alone go into a table that has indexes already
is "$(in_db cells 'TRUNCATE visits' 'SELECT count(*) FROM by_tag'; restore -c -d cells "$T/one"; in_db cells "$LOOK")" "0
$(q "$LOOK")" "TRUNCATE empties the indexes; cells alone are restored"
same 'cells alone' in_db cells

# ---- a copy of the database
is "$(in_db template1 "LOAD 'widetable'" 'CREATE DATABASE copy TEMPLATE plain')" "" "CREATE DATABASE TEMPLATE"
same 'a copy of the database' in_db copy
is "$(in_db copy "$LOOK")" "$(q "$LOOK")" "the copy has the same rows"
in_db copy "UPDATE visits SET url = 'u7', n = 77 WHERE at < 300" "DELETE FROM visits WHERE n = 5" >/dev/null
same 'a changed copy' in_db copy
same 'its template' in_db plain
in_db template1 'CREATE DATABASE bare TEMPLATE plain' >/dev/null
like "$(in_db bare "SELECT * FROM visits WHERE url = 'u7'")" 'were not copied' "without the library the rows are not copied"
in_db bare "SELECT widetable.copy_tables('plain')" >/dev/null
same 'copy_tables()' in_db bare
is "$(in_db bare "$LOOK")" "$(q "$LOOK")" "copy_tables() copies the table and its indexes"
for d in plain cells one copy bare; do q "DROP DATABASE $d" >/dev/null; done

# ---- crashes right after commits, and in the middle of a load
stop; set_conf "shared_preload_libraries = 'widetable'"; start
crash() { kill_server; wait; start; forget_kill; }
q "UPDATE visits SET url = 'committed', tags = tags || '{\"q3\": \"4\"}' WHERE at BETWEEN 1000 AND 1100" >/dev/null
kill_server; start; forget_kill
same 'a crash after a commit' q
is "$(q "SELECT count(*) > 0 FROM visits WHERE url = 'committed'")" "t" "a crash after a commit: it is there"
# beyond the rows that were moved
for i in 1 2; do
	before=$(q 'SELECT count(*) FROM visits')
	q 'BEGIN' "$(rows $((i * 200000)) $((i * 200000 + 20000)))" 'COMMIT' >/dev/null 2>&1 &
	await 20 '^t$' "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'INSERT INTO visits%' AND state = 'active' AND pid <> pg_backend_pid()"
	sleep 0.$((i * 3))
	crash
	after=$(q 'SELECT count(*) FROM visits')
	[ "$after" = "$before" ] || [ "$after" = $((before + 20001)) ]; ok $? "a crash in a load, $i: all of it or nothing ($before rows, then $after)"
	same "a crash in a load, $i" q
done
# loads of small commits: rows are inserted, moved and deleted
(i=0; while [ ! -f "$T/enough" ]; do i=$((i + 1)); echo "INSERT INTO visits VALUES ('s' || $i % 40, 900000 + $i, 'u' || $i % 9, $i % 80, '{\"q3\": \"$((i % 6))\"}'); UPDATE visits SET n = n + 1, url = 'moved' WHERE cookie = 's' || ($i + 7) % 40; DELETE FROM visits WHERE cookie = 's' || ($i + 11) % 40 AND at % 3 = 0;"; done | "$BIN/psql" -XqAt) >"$T/small" 2>&1 &
sleep 2
: >"$T/enough"
crash
same 'a crash in a load of small commits' q
is "$(q "SELECT count(*) > 10 FROM visits WHERE cookie LIKE 's%'")" "t" "it had some commits"
q 'DELETE FROM visits WHERE at BETWEEN 100000 AND 899999 AND cookie > $$c3$$' 'SELECT widetable.compact()' >/dev/null
same 'compacted' q

# ---- PREPARE TRANSACTION
# prepare GID URL
prepare() { q BEGIN "UPDATE visits SET url = '$2', n = n + 1, tags = '{\"q3\": \"4\"}' WHERE at BETWEEN 2000 AND 2100" "INSERT INTO visits VALUES ('$1', 1, '$2', 77)" "DELETE FROM visits WHERE at BETWEEN 2200 AND 2300" "PREPARE TRANSACTION '$1'"; }
is "$(prepare one prepared)" "" "PREPARE TRANSACTION"
same 'prepared' q
is "$(q "SELECT count(*) FROM visits WHERE url = 'prepared'")" "0" "prepared: nothing shows"
like "$(q "SET lock_timeout = '300ms'" "UPDATE visits SET n = 0 WHERE at = 2001")" 'lock timeout' "prepared: its rows are locked"
crash
same 'prepared, after a crash' q
stop; start
is "$(q "COMMIT PREPARED 'one'" "SELECT count(*) > 50 FROM visits WHERE url = 'prepared'" "SELECT count(*) FROM visits WHERE cookie = 'one' AND n = 77")" "t
1" "COMMIT PREPARED after a restart"
same 'committed after a restart' q
crash
same 'committed, after a crash' q
prepare two again >/dev/null
stop; start
is "$(q "ROLLBACK PREPARED 'two'" "SELECT count(*) FROM visits WHERE url = 'again'")" "0" "ROLLBACK PREPARED after a restart"
same 'rolled back after a restart' q

# ---- standbys
make_standby one
replayed one
same 'a standby' on one
is "$(uses on one)" "$(uses q)" "a standby uses the same indexes"
is "$(on one "$LOOK")" "$(q "$LOOK")" "a standby has the same rows"
q "UPDATE visits SET url = 'u7' WHERE at < 200" "DELETE FROM visits WHERE url = 'u8'" "$(rows 20001 23000)" >/dev/null
replayed one
same 'a standby, after changes' on one
is "$(on one "$LOOK")" "$(q "$LOOK")" "a standby has the changes"
# a snapshot from before the change stays
standby_session one reader 3
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'before ' || count(*) FROM visits WHERE url = 'u9';" >&3
wait_output reader '^before '
q "UPDATE visits SET url = 'u10' WHERE url = 'u9'" >/dev/null
replayed one
echo "SELECT 'after ' || count(*) FROM visits WHERE url = 'u9'; SET widetable.enable_index = off; SELECT 'scan ' || count(*) FROM visits WHERE url = 'u9'; COMMIT; SELECT 'end ' || count(*) FROM visits WHERE url = 'u9';" >&3
wait_output reader '^end '
n=$(sed -n 's/^before //p' "$T/reader.out")
[ "$n" -gt 0 ]; ok $? "a standby's snapshot has rows"
is "$(cat "$T/reader.out")" "before $n
after $n
scan $n
end 0" "a standby's snapshot does not change"
exec 3>&-
wait "$session_pid"
# an index that is made, built anew and dropped there
q "CREATE FOREIGN TABLE late (at int, url text, cookie text COLLATE \"C\") SERVER widetable OPTIONS (index_of 'visits', key 'at')" >/dev/null
replayed one
is "$(on one "EXPLAIN SELECT url FROM visits WHERE at = 2001" "SELECT * FROM widetable.verify('late')" | sed -n 's/.*Index: //p')" "late" "a standby uses a new index"
prepare three promoted >/dev/null
q "UPDATE visits SET n = 5 WHERE at BETWEEN 500 AND 600" >/dev/null
replayed one
stop immediate
promote one
same 'promoted' on one
is "$(on one "COMMIT PREPARED 'three'" "SELECT count(*) > 50 FROM visits WHERE url = 'promoted'")" "t" "promoted: a prepared transaction commits"
same 'promoted, and committed' on one
on one "UPDATE visits SET url = 'there', at = at + 1000000 WHERE n = 5" "DELETE FROM visits WHERE n = 77" >/dev/null
same 'promoted, and changed' on one
stop_second "$T/data.one" immediate; second "$T/data.one"
same 'promoted, after a crash' on one
no_crash one
stop_second "$T/data.one"
start
is "$(q "ROLLBACK PREPARED 'three'")" "" "the transaction is still prepared in the old primary"
same 'rolled back in the old primary' q

# ---- DROP of an index that is in use
session user 3
echo "BEGIN; DECLARE c CURSOR FOR SELECT at FROM visits WHERE url = 'u7' ORDER BY cookie; FETCH 1 FROM c; SELECT 'open';" >&3
wait_output user '^open'
like "$(q "SET lock_timeout = '300ms'" 'DROP FOREIGN TABLE by_url')" 'lock timeout' "DROP waits for a query that uses the index"
like "$(q "SET lock_timeout = '300ms'" 'DROP FOREIGN TABLE visits')" 'lock timeout' "so does DROP of the table"
echo "COMMIT; BEGIN; UPDATE visits SET n = 1 WHERE at = 2001; SELECT 'changed';" >&3
wait_output user '^changed'; ok $? "a transaction has changed the table"
like "$(q "SET lock_timeout = '300ms'" 'DROP FOREIGN TABLE by_url')" 'lock timeout' "DROP waits for a transaction that has changed the table"
echo "COMMIT; PREPARE p AS SELECT count(*) FROM visits WHERE url = 'u7'; EXECUTE p; SELECT 'prepared';" >&3
wait_output user '^prepared'
is "$(q 'DROP FOREIGN TABLE by_url')" "" "then it is dropped"
printf '%s\n' "SELECT 'again ' || count(*) FROM visits WHERE url = 'u7';" 'EXECUTE p;' "UPDATE visits SET url = 'x' WHERE at = 2002;" "SELECT 'done';" '\q' >&3
exec 3>&-
wait "$session_pid"
n=$(q 'SET widetable.enable_index = off' "SELECT count(*) FROM visits WHERE url = 'u7'")
is "$(sed -n '/^again/,$p' "$T/user.out")" "again $n
$n
done" "the session goes on, and its prepared statement, too"
like "$(uses q)" '^a_n ' "the other indexes are used"
# under load: statements succeed, or say that they are to be run again
(while [ ! -f "$T/over" ]; do echo "SELECT count(*) FROM visits WHERE url = 'u7'; UPDATE visits SET url = 'u7' WHERE at = 2003;"; done | "$BIN/psql" -XqAt) >"$T/load.out" 2>&1 &
for i in 1 2 3 4 5 6; do q "$BY_URL" 'DROP FOREIGN TABLE by_url' >>"$T/drops" 2>&1; done
: >"$T/over"
wait
is "$(cat "$T/drops")" "" "an index is made and dropped under load"
is "$(grep ERROR "$T/load.out" | grep -vE 'an index was dropped while the statement began|is newer than what the statement reads')" "" "statements succeed meanwhile"
q "$BY_URL" >/dev/null
same 'at last' q
# with the table its indexes go, and with a column those that have it
is "$(q 'SET client_min_messages = warning' 'ALTER FOREIGN TABLE visits DROP COLUMN n' "SELECT relname FROM pg_class JOIN pg_foreign_table ON ftrelid = oid ORDER BY 1" | tr '\n' ' ')" "by_tag late visits " "with a column, the indexes that have it are dropped"
is "$(q 'SET client_min_messages = warning' 'DROP FOREIGN TABLE visits' 'SELECT count(*) FROM pg_foreign_table' 'SELECT tables FROM widetable.pg_stat_widetable' | tr '\n' ' ')" "0 0 " "with the table, all are dropped"
verify_store
finish
