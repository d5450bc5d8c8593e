# standby_ends: reads on a standby while processes end, replay stops, and the server is promoted.
# Takes about 25 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int)' "CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO w SELECT g, g, repeat('x', 100) FROM generate_series(1, 10000) g" "CREATE ROLE reader LOGIN" "GRANT SELECT ON w TO reader"
"$BIN/pg_basebackup" -D "$T/data.one" -R -c fast --no-sync 2>&1
second "$T/data.one"
s() { there "$T/data.one" "$@"; }
count='SELECT count(*) FROM w'
caught_up() { lsn=$(q 'SELECT pg_current_wal_insert_lsn()'); for _ in $(seq 200); do [ "$(s "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && return; sleep 0.05; done; echo "not ok - the standby catches up"; BAD=1; }
wait_for() { for _ in $(seq 200); do s "$2" | grep -qE -- "$1" && return 0; sleep 0.1; done; return 1; }
is "$(s "$count")" 10000 "a standby reads"

# ---- replay is paused
s 'SELECT pg_wal_replay_pause()' >/dev/null
wait_for '^paused$' 'SELECT pg_get_wal_replay_pause_state()'
q "INSERT INTO w SELECT g, g FROM generate_series(10001, 10500) g" "INSERT INTO h VALUES (1)"
is "$(s "$count")" 10000 "paused: reads go on, as of that moment"
s 'SELECT pg_wal_replay_resume()' >/dev/null; caught_up
is "$(s "$count")" 10500 "resumed: what came meanwhile is there"

# ---- the keeper is terminated: sessions that have used wide tables end, new ones read
(export PGHOST="$T/data.one.s"; session a 5 >/dev/null; echo "$count;" >&5
	for _ in $(seq 100); do grep -q 10500 "$T/a.out" && break; sleep 0.1; done
	old=$(q "SELECT keeper_pid FROM widetable.pg_stat_widetable_health")
	q "SELECT pg_terminate_backend($old)" >/dev/null
	for _ in $(seq 200); do new=$(q "SELECT keeper_pid FROM widetable.pg_stat_widetable_health"); [ -n "$new" ] && [ "$new" != "$old" ] && break; sleep 0.1; done
	q "$count" >"$T/new"; exec 5>&-)
is "$(cat "$T/new")" 10500 "the keeper was terminated: another one follows the log"
q "INSERT INTO w VALUES (20000, 1)"; caught_up
is "$(s "$count")" 10501 "... and goes on"

# ---- the log cannot be followed
blocked=$T/data.one/widetable
if [ "$(id -u)" != 0 ]; then
	s CHECKPOINT >/dev/null
	chmod 500 "$blocked"
	q "SET widetable.write_memory = '1MB'" "COPY w FROM PROGRAM 'seq -f %.0f,1,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx 100001 300000' (FORMAT csv)" >/dev/null
	wait_for '^failed$' 'SELECT state FROM widetable.pg_stat_widetable_health'
	ok $? "files cannot be written: state failed"
	like "$(VERBOSITY=verbose s "$count")" '55000: wide tables cannot be read on this standby' "... reads fail, and say why"
	like "$(VERBOSITY=verbose s "$count")" 'The log cannot be followed: .*Permission denied' "... with the reason"
	is "$(s 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM h; COMMIT')" 1 "... ordinary tables are read"
	is "$(s 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SELECT count(*) FROM h')" 1 "... also by a parallel plan"
	like "$(cat "$T/data.one.log")" 'WARNING:  widetable: the log cannot be followed' "... the log has a warning"
	chmod 700 "$blocked"
	wait_for '^following$' 'SELECT state FROM widetable.pg_stat_widetable_health'
	ok $? "files can be written again: following"
	caught_up
	is "$(s "$count")" 210501 "... and nothing is missing"
	like "$(cat "$T/data.one.log")" 'the log is followed again' "... the log says so"
	extra=200000
else
	extra=0
fi

# ---- without background processes
stop_second "$T/data.one"; echo "widetable.workers = 0" >>"$T/data.one/postgresql.conf"; second "$T/data.one"
like "$(VERBOSITY=verbose s "$count")" '55000: wide tables cannot be read on this standby' "workers = 0: reads fail"
like "$(s "$count")" 'Set widetable.workers to 1' "... and say what to set"
stop_second "$T/data.one"; sed -i '/^widetable.workers/d' "$T/data.one/postgresql.conf"; echo "widetable.memtable_size = 1MB" >>"$T/data.one/postgresql.conf"; second "$T/data.one"
is "$(s "$count")" $((10501 + extra)) "with smaller memtables it reads"

# ---- promotion under readers
(export PGHOST="$T/data.one.s"; session b 6 >/dev/null
	echo "BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE x CURSOR FOR SELECT k FROM w ORDER BY k; FETCH 2 FROM x; SELECT 'fetched';" >&6
	for _ in $(seq 100); do grep -q fetched "$T/b.out" && break; sleep 0.1; done
	"$BIN/pg_ctl" -D "$T/data.one" -w promote >/dev/null
	q "DELETE FROM w WHERE k = 3" "UPDATE w SET n = -1 WHERE k = 4" "SELECT n FROM w WHERE k <= 4 ORDER BY k" >"$T/written"
	echo "FETCH 2 FROM x; SELECT count(*) FROM w; COMMIT; SELECT count(*) FROM w; SELECT 'ended';" >&6
	for _ in $(seq 100); do grep -q ended "$T/b.out" && break; sleep 0.1; done
	exec 6>&-)
is "$(tr '\n' ' ' <"$T/written")" "1 2 -1 " "promoted: the first write works"
is "$(grep -E '^[0-9]+$' "$T/b.out" | tr '\n' ' ')" "1 2 3 4 $((10501 + extra)) $((10500 + extra)) " "an open cursor and its transaction keep their snapshot"
is "$(s "SELECT * FROM widetable.verify()")" "" "verify() finds no problem"
finish
