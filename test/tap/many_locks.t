# many_locks: row locks of transactions that lock hundreds of thousands of rows make no other row
# wait; widetable.row_lock_memory bounds them, without harm to small transactions; their memory
# comes back, also when a holder is killed.  20 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' >/dev/null
for t in a b; do
	q "CREATE FOREIGN TABLE $t (k int, v int) SERVER widetable OPTIONS (key 'k')" "INSERT INTO $t SELECT g, 0 FROM generate_series(1, 300000) g" >/dev/null
done
locked() { q 'SELECT row_locks FROM widetable.pg_stat_widetable'; }
# blocked TABLE: how many of 300 rows of the table are locked by others
blocked() {
	q "SELECT count(*) - (SELECT count(*) FROM (SELECT v FROM $1 WHERE k IN (SELECT g * 1000 FROM generate_series(1, 300) g) FOR UPDATE SKIP LOCKED) l) FROM generate_series(1, 300)"
}

# --------------------------------------------------------- no false conflict
dead=0
for _ in 1 2; do
	q 'UPDATE a SET v = v + 1 WHERE k <= 60000' >"$T/a.out" & one=$!
	q 'UPDATE b SET v = v + 1 WHERE k <= 60000' >"$T/b.out"
	wait $one
	dead=$((dead + $(cat "$T/a.out" "$T/b.out" | grep -c deadlock)))
done
is "$dead" 0 "UPDATEs of 60,000 rows of two tables do not deadlock"
is "$(q 'SELECT sum(v) FROM a')|$(q 'SELECT sum(v) FROM b')" "120000|120000" "... and change all rows"

session big 5
echo "BEGIN; DELETE FROM a WHERE k <> 1000; SELECT 'deleted';" >&5
wait_output big deleted; ok $? "a DELETE of 299,999 rows is open"
is "$(locked)" 299999 "it has a lock for each"
like "$(q 'SELECT row_lock_bytes / row_locks FROM widetable.pg_stat_widetable')" '^([7-9]|1[0-9]|2[0-8])$' "... and some bytes of shared memory for each"
is "$(blocked b)" 0 "it blocks no row of another table"
is "$(blocked a)" 299 "it blocks its own rows and no other one"
is "$(q "SET lock_timeout = '10ms'" 'UPDATE b SET v = v + 1')" "" "another transaction changes the whole other table, without waiting"
is "$(q "SET lock_timeout = '10ms'" 'UPDATE a SET v = 5 WHERE k = 1000' 'INSERT INTO a VALUES (0, 1)' 'UPDATE a SET v = 2 WHERE k = 0 RETURNING v')" 2 "... and other rows of the same table"
like "$(q "SET lock_timeout = '10ms'" 'UPDATE a SET v = 5 WHERE k = 299999')" "lock timeout" "a row that is locked is waited for"
is "$(q "SELECT count(*), count(DISTINCT (bucket, tag)) FROM widetable.pg_stat_widetable_locks WHERE granted")" "299999|299999" "the view shows each lock"
echo "ROLLBACK; SELECT 'rolled back';" >&5
wait_output big 'rolled back'
is "$(locked)" 0 "the rollback releases all"
is "$(q 'SELECT row_lock_bytes <= 4 << 20 FROM widetable.pg_stat_widetable')" t "... and their memory"
is "$(q 'SELECT count(*) FROM a')" 300001 "... and the rows are there"

# ------------------------------------------------------------------ the limit
q "ALTER SYSTEM SET widetable.row_lock_memory = '1MB'" 'SELECT pg_reload_conf()' >/dev/null
await 10 '^1MB$' 'SHOW widetable.row_lock_memory'
export VERBOSITY=verbose
over=$(q 'SELECT count(v) FROM (SELECT v FROM a FOR UPDATE) l')
like "$over" 'ERROR: *53400: could not lock another row of wide table "public.a"' "beyond the limit: an error, which names the table"
like "$over" "HINT:.*widetable.row_lock_memory" "... and the setting"
like "$over" "DETAIL:.*has locked [0-9]+ rows.*may use 1024 kB" "... and the numbers"
is "$(locked)" 0 "its locks are released"
VERBOSITY=default
echo "BEGIN; SELECT count(v) FROM (SELECT v FROM a WHERE k < 100000 FOR UPDATE) l; SAVEPOINT s; SELECT count(v) FROM (SELECT v FROM b FOR UPDATE) l; ROLLBACK TO s; SELECT 'at the limit';" >&5
wait_output big 'at the limit'
like "$(cat "$T/big.out")" "could not lock another row" "a transaction with many locks meets the limit"
is "$(locked)" 100000 "after ROLLBACK TO SAVEPOINT it has those from before"
is "$(blocked b)" 0 "others find the other rows free"
is "$(q "SET lock_timeout = '10ms'" 'UPDATE b SET v = 9 WHERE k BETWEEN 200 AND 999' 'SELECT count(*) FROM b WHERE v = 9')" 800 "a small transaction finds room"
echo "COMMIT; SELECT 'committed';" >&5
wait_output big 'committed'; ok $? "the transaction commits"

# --------------------------------------------------- the end of large holders
q 'ALTER SYSTEM RESET widetable.row_lock_memory' 'SELECT pg_reload_conf()' >/dev/null
await 10 '^512MB$' 'SHOW widetable.row_lock_memory'
echo "BEGIN; SELECT count(v) FROM (SELECT v FROM a FOR UPDATE) l; SELECT pg_backend_pid(), 'locked again';" >&5
wait_output big 'locked again'
pid=$(sed -n 's/|locked again//p' "$T/big.out")
is "$(q "SELECT pg_terminate_backend($pid)")" t "the holder is terminated"
await 10 '^0$' 'SELECT row_locks FROM widetable.pg_stat_widetable'; ok $? "... and its locks are gone"
exec 5>&-
session big2 6
echo "BEGIN; DELETE FROM b; SELECT pg_backend_pid(), 'deleted';" >&6
wait_output big2 deleted
kill -9 "$(sed -n 's/|deleted//p' "$T/big2.out")"
await 30 '^0$' 'SELECT row_locks FROM widetable.pg_stat_widetable'; ok $? "after a kill the server comes back without locks"
is "$(blocked b)|$(q 'SELECT count(*) FROM b')" "0|300000" "... and all rows are there and free"
exec 6>&-
# the kill is in the log, and nothing else
is "$(grep -cE 'leak|TRAP:|PANIC|terminated by signal' "$T/server.log")" 1 "nothing else is in the log"
: >"$T/server.log"
finish
