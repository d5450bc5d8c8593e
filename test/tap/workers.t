# workers: the background worker has no free slot, is terminated, is stopped by SIGSTOP, or is
# killed.  No row is lost, memory stays within its limit, and no writer waits for ever.  Takes about
# 20 seconds.
. "${0%/*}/common.sh"

WORKER='SELECT worker_pid FROM widetable.pg_stat_widetable'
MEMORY='SELECT memtables_waiting <= 3 AND memtable_bytes <= memtable_limit FROM widetable.pg_stat_widetable'

# all worker slots are in use: one by PostgreSQL's launcher, the other by a parallel query
new_cluster 'widetable.memtable_size = 1MB' 'max_worker_processes = 2' "statement_timeout = '30s'"
# the setting's name up to PostgreSQL 15, and from 16 on
setting=$(q "SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')")
PGOPTIONS="-c $setting=on" q 'SELECT pg_sleep(1000)' >/dev/null 2>&1 &
await 20 '^1$' "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"
ok $? "the last worker slot is in use"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE PROCEDURE load(a int, b int) LANGUAGE plpgsql AS \$\$BEGIN FOR g IN a..b LOOP
	 INSERT INTO w VALUES (g, (SELECT string_agg(md5(g || 'x' || i), '') FROM generate_series(1, 350) i)); COMMIT; END LOOP; END\$\$" >/dev/null
is "$(q 'CALL load(1, 3000)')" "" "no slot: writers succeed"
is "$(q "$WORKER" "$MEMORY" | tr '\n' ' ')" " t " "no slot: there is no worker, and memory is within its limit"
like "$(q 'SELECT flushes > 18 FROM widetable.pg_stat_widetable')" '^t$' "no slot: writers flush memtables"
like "$(q 'SELECT max(files) < 40 AND sum(level_files[1]) <= 22 FROM widetable.pg_stat_widetable_families')" '^t$' "no slot: writers compact files"
sleep 2; q 'CALL load(3001, 3010)' >/dev/null
is "$(grep -c 'LOG:.*could not start its background worker.*max_worker_processes (2)' "$T/server.log")" "1" "no slot: the log says so once"
like "$(grep -A 3 'could not start its background worker' "$T/server.log")" 'HINT:  Increase max_worker_processes' "no slot: the hint names the setting"
q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000)%' AND backend_type = 'client backend' AND pid <> pg_backend_pid()" >/dev/null
wait
sleep 2; q 'CALL load(3011, 3020)' >/dev/null
await 5 '^[0-9]+$' "$WORKER"
ok $? "with a free slot the worker starts"
is "$(q 'SELECT count(*), count(DISTINCT v) FROM w')" "3020|3020" "with a free slot no row is missing"

# pg_terminate_backend (SIGTERM): the worker is restarted
p=$(q "$WORKER")
q "SELECT pg_terminate_backend($p)" >/dev/null
is "$(q 'CALL load(5001, 5500)')" "" "terminated: writers succeed"
await 6 "^[0-9]+$" "SELECT worker_pid FROM widetable.pg_stat_widetable WHERE worker_pid <> $p"
ok $? "terminated: a new worker starts"

# SIGSTOP: the worker exists and does nothing.  An idle worker holds no lock; if it were stopped in
# a compaction, it could hold the manifest's lock, and statement_timeout does not end a wait for
# that.
IDLE="SELECT memtables_waiting = 0 AND NOT EXISTS (SELECT FROM widetable.pg_stat_widetable_compactions WHERE state = 'running')
	FROM widetable.pg_stat_widetable"
stop_and_write() { # PREFIX FROM
	for _ in 1 2 3 4 5; do await 20 '^t$' "$IDLE"; sleep 0.2; done
	p=$(q "$WORKER")
	kill -STOP "$p"
	began=$(date +%s)
	is "$(q "CALL load($2, $2 + 699)" "CALL load($2 + 700, $2 + 999)")" "" "$1: writers succeed"
	is "$(q "$MEMORY")" "t" "$1: memory is within its limit"
	[ $(($(date +%s) - began)) -lt 25 ]; ok $? "$1: writers take less than 25 seconds"
	kill -CONT "$p"
}
stop_and_write 'stopped when idle' 10001
is "$(q 'SELECT count(*) FROM w')" "4520" "stopped when idle: no row is missing"
# stopped during a flush: writers wait, and their timeouts work
p=
for _ in 1 2 3 4 5 6 7 8 9 10; do
	q 'CALL load(20001, 20300)' >/dev/null &
	p=$(q "$WORKER")
	for _ in $(seq 40); do
		kill -STOP "$p"
		[ "$(q "SELECT count(*) FROM widetable.pg_stat_widetable_compactions WHERE kind = 'flush' AND state = 'running'")" = 1 ] && break 2
		kill -CONT "$p"
	done
	wait; p=
done
if [ -n "$p" ]; then
	like "$(q "SET statement_timeout = '3s'" 'CALL load(30001, 40000)')" 'statement timeout' "stopped in a flush: statement_timeout ends a writer's wait"
	is "$(q 'SELECT count(*) FROM w WHERE k < 9000')" "3520" "stopped in a flush: reads work"
	kill -CONT "$p"
	is "$(q 'CALL load(40001, 40300)')" "" "stopped in a flush: after SIGCONT writers succeed"
else
	echo "ok - skipped: no flush was slow enough to be stopped in it"
fi
wait

# SIGKILL: the server restarts all sessions
n=$(q 'SELECT count(*) FROM w')
p=$(q "$WORKER")
kill -KILL "$p"
sleep 0.5
await 5 "^$n\$" 'SELECT count(*) FROM w'
is "$(q 'SELECT count(*) FROM w')" "$n" "killed: no row is missing after the restart"
q "INSERT INTO w VALUES (-1, 'x')" >/dev/null
await 10 "^[0-9]+$" "SELECT worker_pid FROM widetable.pg_stat_widetable WHERE worker_pid <> $p"
ok $? "killed: a new worker starts"
verify_store
is "$(grep -c 'terminated by signal' "$T/server.log")" "1" "killed: no other process was terminated by a signal"
forget_kill
finish
