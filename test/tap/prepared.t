# prepared: PREPARE TRANSACTION after writing to wide tables.  Crashes before, behind and between the
# records of PostgreSQL and of the store; checkpoints, restarts, row locks.  Takes about 40 seconds.
. "${0%/*}/common.sh"
mkdir "$T/kill"
"${0%/*}/../host/kill/build" "$T/kill" >"$T/build.log" 2>&1 || { cat "$T/build.log"; echo "not ok - widetable_kill builds"; exit 1; }
new_cluster "max_prepared_transactions = 20" "widetable.memtable_size = 1MB" "autovacuum = off" "checkpoint_timeout = 1h" "log_min_messages = log" \
	"max_wal_size = 64MB" "min_wal_size = 32MB" "restart_after_crash = off"
stop; set_conf "shared_preload_libraries = '$T/kill/widetable_kill.so,widetable'"; start
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int, n int)' "CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE c (k int, n bigint OPTIONS (encoding 'counter')) SERVER widetable OPTIONS (key 'k')" \
	'INSERT INTO h SELECT g, g FROM generate_series(1, 100) g' 'INSERT INTO w SELECT g, g FROM generate_series(1, 100) g' >/dev/null
both='SELECT k, (SELECT string_agg(n::text, $$,$$) FROM h WHERE h.k = w.k), n FROM w WHERE k IN (1, 2, 3, 200, 300) ORDER BY k'
crash() { kill_server; exec 5>&- 6>&-; wait; start; }
# prepare GID K N: writes row K, and row 1 with N, in both tables
prepare() { q BEGIN "UPDATE h SET n = $3 WHERE k = 1" "UPDATE w SET n = $3 WHERE k = 1" "INSERT INTO h VALUES ($2, $3)" "INSERT INTO w VALUES ($2, $3)" "PREPARE TRANSACTION '$1'"; }
# locked K: the rows of K in w are locked
locked() { like "$(q "SET lock_timeout = '300ms'" "UPDATE w SET n = n WHERE k = $1")" 'lock timeout' "$2: row $1 is locked"; }
free_() { is "$(q "SET lock_timeout = '10s'" "UPDATE w SET n = n WHERE k = $1 RETURNING k")" "$1" "$2: row $1 is not locked"; }
gids() { q 'SELECT gid FROM pg_prepared_xacts ORDER BY gid' | tr '\n' ' '; }
start_='1|1|1
2|2|2
3|3|3'
committed='1|7|7
2|2|2
3|3|3
200|7|7'

# ---- without a crash
is "$(prepare p 200 7)" '' 'PREPARE TRANSACTION'
is "$(q "$both")" "$start_" 'prepared: neither row shows'
locked 1 prepared
is "$(q 'SELECT pid IS NULL, table_name, granted FROM widetable.pg_stat_widetable_locks' | sort -u)" 't|public.w|t' 'prepared: the view shows its row lock'
is "$(q "ROLLBACK PREPARED 'p'" "$both")" "$start_" 'rolled back: nothing is left'
free_ 1 'rolled back'
is "$(q 'SELECT count(*) FROM widetable.pg_stat_widetable_locks')" 0 'rolled back: no lock is left'

# ---- a crash right behind PREPARE; then behind a restart, checkpoints, flushes; then the commit
prepare p 200 7
crash
is "$(gids)" 'p ' 'crash: it is prepared'
is "$(q "$both")" "$start_" 'crash: neither row shows'
locked 1 crash
free_ 2 crash
stop; start
is "$(q "$both")" "$start_" 'restart: neither row shows'
locked 1 restart
q 'SELECT widetable.flush()' CHECKPOINT >/dev/null
before=$(q "SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = 'widetable'")
for i in 1 2 3; do q "INSERT INTO w SELECT g, g, repeat(md5(g::text), 50) FROM generate_series(1000, 3000) g" 'SELECT widetable.flush()' 'SELECT pg_switch_wal()' CHECKPOINT >/dev/null; done
await 30 '^t$' "SELECT restart_lsn >= (SELECT redo_lsn FROM pg_control_checkpoint()) FROM pg_replication_slots WHERE slot_name = 'widetable'"
is "$(q "SELECT restart_lsn > '$before', restart_lsn >= (SELECT redo_lsn FROM pg_control_checkpoint()) FROM pg_replication_slots WHERE slot_name = 'widetable'")" 't|t' 'checkpoints: it keeps no WAL'
locked 1 checkpoints
crash
is "$(q "$both")" "$start_" 'checkpoints, crash: neither row shows'
locked 1 'checkpoints, crash'
is "$(q "COMMIT PREPARED 'p'" "$both")" "$committed" 'commit: both rows show'
free_ 1 commit
crash
is "$(q "$both")" "$committed" 'commit, crash: both rows show'
verify_store

# ---- it is rolled back after a crash
prepare r 300 9
crash
is "$(q "ROLLBACK PREPARED 'r'" "$both")" "$committed" 'crash, rolled back: nothing is left'
free_ 1 'crash, rolled back'
crash
is "$(q "$both")" "$committed" 'rolled back, crash: nothing is left'
is "$(q 'SELECT count(*) FROM widetable.pg_stat_widetable_locks')" 0 'rolled back, crash: no lock is left'

# ---- a crash between the store's records and PostgreSQL's
session hold 5
echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock prepared-logged));" >&5
wait_output hold held
q "SET widetable.stop_at = 'prepared-logged'" BEGIN 'INSERT INTO h VALUES (300, 9)' 'INSERT INTO w VALUES (300, 9)' 'UPDATE w SET n = 9 WHERE k = 1' "PREPARE TRANSACTION 's'" 5>&- >/dev/null &
await_stopped 1
q 'INSERT INTO w VALUES (400, 1)' 'SELECT pg_switch_wal()' >/dev/null # the records are durable
crash
is "$(gids)" '' 'crash before PostgreSQL prepares it: it is not prepared'
is "$(q "$both")" "$committed" 'crash before PostgreSQL prepares it: nothing is left'
free_ 1 'crash before PostgreSQL prepares it'
crash
is "$(q "$both")" "$committed" 'crash before PostgreSQL prepares it, another crash: nothing is left'

# ---- PostgreSQL has committed, the store has not: another process finishes it, or recovery
ended() {
	session hold 5
	echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock prepared-ended));" >&5
	wait_output hold held
	q "SET widetable.stop_at = 'prepared-ended'" "$1" 5>&- >"$T/ended.out" 2>&1 &
	ended=$!
	await_stopped 1
}
# the background shell has file descriptor 5, too, so that its end alone does not end the session
go_on() { echo 'SELECT pg_advisory_unlock_all();' >&5; wait $ended; exec 5>&-; wait; }
prepare e 300 9
ended "COMMIT PREPARED 'e'"
now='1|9|9
2|2|2
3|3|3
200|7|7
300|9|9'
is "$(q "$both")" "$now" 'PostgreSQL has committed it: a reader finishes it'
free_ 1 'PostgreSQL has committed it'
go_on
is "$(cat "$T/ended.out")" '' 'the session that has committed it goes on'
prepare e 301 1
ended "COMMIT PREPARED 'e'"
free_ 1 'a writer that waits for the row'
is "$(q 'SELECT n FROM w WHERE k IN (1, 301)' | tr '\n' ' ')" '1 1 ' 'a writer that waits for the row finishes it'
go_on
prepare e 302 2
ended "COMMIT PREPARED 'e'"
crash
is "$(q 'SELECT n FROM w WHERE k IN (1, 302)' 'SELECT n FROM h WHERE k IN (1, 302) ORDER BY k' | tr '\n' ' ')" '2 2 2 2 ' 'a crash: recovery finishes it'
free_ 1 'a crash behind the commit record'
# the session is ended: the keeper, or who comes next, finishes it
prepare e 303 3
ended "COMMIT PREPARED 'e'"
q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COMMIT PREPARED%'" >/dev/null
wait $ended
is "$(q 'SELECT n FROM w WHERE k IN (1, 303)' | tr '\n' ' ')" '3 3 ' 'the session was ended: both rows show'
exec 5>&-; wait
prepare e 304 4
ended "ROLLBACK PREPARED 'e'"
crash
is "$(q 'SELECT n FROM w WHERE k IN (1, 304)' | tr '\n' ' ')" '3 ' 'a crash behind the abort record: nothing is left'
free_ 1 'a crash behind the abort record'
# kill POINT STATEMENT: a process kills itself at the point in the engine while it ends the transaction
kill_at() {
	stop; WIDE_KILL_POINT=$1 start
	q 'SELECT 1 FROM w LIMIT 1' "$2" >/dev/null 2>&1
	for _ in $(seq 100); do [ -e "$T/data/postmaster.pid" ] || break; sleep 0.1; done
	grep -qE "$KILLED" "$T/server.log"; ok $? "killed at $1"
	start; forget_kill
}
n=5
for point in prepared-opened prepared-finished finish-logged finish-appended publish; do
	prepare e $((300 + n)) $n
	kill_at $point "COMMIT PREPARED 'e'"
	is "$(gids)" '' "killed at $point: it is committed"
	is "$(q "SELECT n FROM w WHERE k IN (1, $((300 + n)))" "SELECT n FROM h WHERE k IN (1, $((300 + n)))" | tr '\n' ' ')" "$n $n $n $n " "killed at $point: all rows show"
	free_ 1 "killed at $point"
	n=$((n + 1))
done
# the keeper dies while it logs it anew
prepare e $((300 + n)) $n
for point in prepared-copied prepared-relogged; do
	q "INSERT INTO w SELECT g, g, repeat(md5(g::text), 50) FROM generate_series(1000, 3000) g" >/dev/null
	kill_at $point CHECKPOINT
	is "$(gids)" 'e ' "killed at $point: it is prepared"
	locked 1 "killed at $point"
done
is "$(q "COMMIT PREPARED 'e'" "SELECT n FROM w WHERE k IN (1, $((300 + n)))" | tr '\n' ' ')" "$n $n " 'committed behind that: all rows show'
verify_store

# ---- without ordinary rows; only locked rows; counters; large ones
was=$(q 'SELECT n FROM w WHERE k = 2')
q BEGIN 'UPDATE w SET n = n + 1 WHERE k = 2' "PREPARE TRANSACTION 'a'" BEGIN 'SELECT n FROM w WHERE k = 3 FOR UPDATE' "PREPARE TRANSACTION 'b'" \
	BEGIN "SELECT widetable.increment('c', 1, 'n', 5)" "PREPARE TRANSACTION 'c'" \
	BEGIN 'INSERT INTO w SELECT g, g, md5(g::text) FROM generate_series(10001, 12000) g' "PREPARE TRANSACTION 'd'" >"$T/four.out"
is "$(gids)" 'a b c d ' 'four are prepared, without ordinary rows'
crash
is "$(gids)" 'a b c d ' 'four are prepared after a crash'
locked 2 four; locked 3 four; free_ 4 four
like "$(q "SET lock_timeout = '300ms'" "SELECT widetable.increment('c', 1, 'n', 5)")" 'lock timeout' 'four: the counter is locked'
q CHECKPOINT 'SELECT widetable.flush()' CHECKPOINT >/dev/null
crash
locked 2 'four, a checkpoint and a crash'; locked 3 'four, a checkpoint and a crash'
q "COMMIT PREPARED 'd'" "COMMIT PREPARED 'b'" "COMMIT PREPARED 'a'" "COMMIT PREPARED 'c'"
is "$(q 'SELECT count(*) FROM w WHERE k > 10000' 'SELECT n FROM c' 'SELECT n FROM w WHERE k = 2' 'SELECT count(*) FROM widetable.pg_stat_widetable_locks' | tr '\n' ' ')" "2000 5 $((was + 1)) 0 " 'four are committed'
crash
is "$(q 'SELECT count(*) FROM w WHERE k > 10000' 'SELECT n FROM c' 'SELECT n FROM w WHERE k = 2' | tr '\n' ' ')" "2000 5 $((was + 1)) " 'four are committed after a crash'
like "$(q BEGIN 'INSERT INTO w SELECT g, g, repeat(md5(g::text), 10) FROM generate_series(20001, 30000) g' "PREPARE TRANSACTION 'x'")" 'cannot PREPARE a transaction that has changed so much' 'too large for memory: it is refused'
is "$(gids)$(q 'SELECT count(*) FROM w WHERE k > 20000')" 0 'too large for memory: nothing is left'

# ---- ended by a session that has not loaded the library: in the order of its statements
stop; set_conf "shared_preload_libraries = '$T/kill/widetable_kill.so'"; start
for pass in 1 2; do
	q BEGIN "INSERT INTO w VALUES (50000, 1)" "PREPARE TRANSACTION 'o1'" BEGIN "INSERT INTO w VALUES (50000, 2)" "PREPARE TRANSACTION 'o2'" \
		BEGIN "INSERT INTO w VALUES (50000, 3)" "PREPARE TRANSACTION 'o3'" >/dev/null
	q "COMMIT PREPARED 'o3'" "COMMIT PREPARED 'o1'" "COMMIT PREPARED 'o2'"
	[ $pass = 1 ] || crash
	is "$(q 'SELECT n FROM w WHERE k = 50000')" 2 "ended without the library, $pass: the last one counts"
	q BEGIN "INSERT INTO w VALUES (50000, 5)" "PREPARE TRANSACTION 'o1'" BEGIN "INSERT INTO w VALUES (50000, 6)" "PREPARE TRANSACTION 'o2'" >/dev/null
	q "COMMIT PREPARED 'o2'"
	q 'SELECT 1 FROM w LIMIT 0' "COMMIT PREPARED 'o1'" >/dev/null
	[ $pass = 1 ] || crash
	is "$(q 'SELECT n FROM w WHERE k = 50000')" 5 "one ended without the library, $pass: the last one counts"
done
stop; set_conf "shared_preload_libraries = '$T/kill/widetable_kill.so,widetable'"; start

# ---- many row locks
q BEGIN 'UPDATE w SET n = n + 1 WHERE k BETWEEN 1 AND 3000' "PREPARE TRANSACTION 'm'" >/dev/null
want=$(q 'SELECT sum(n) FROM w WHERE k <= 3000'; q 'SELECT count(*) FROM w WHERE k <= 3000')
crash
n=$(q 'SELECT count(*) FROM w WHERE k <= 3000')
is "$(q 'SELECT count(*) FROM widetable.pg_stat_widetable_locks')" "$n" 'many row locks: all are there after a crash'
is "$(q 'SELECT count(*) FROM (SELECT k FROM w WHERE k <= 3000 FOR UPDATE SKIP LOCKED) s')" 0 'many row locks: none can be taken'
is "$(q 'SELECT widetable.prepare_upgrade()' | head -n 1)" 'ERROR:  prepared transactions have changed or locked rows of wide tables' 'prepare_upgrade() fails'
q "ROLLBACK PREPARED 'm'"
is "$(q 'SELECT count(*) FROM (SELECT k FROM w WHERE k <= 3000 FOR UPDATE SKIP LOCKED) s')" "$n" 'many row locks: all can be taken behind that'
verify_store end
finish
