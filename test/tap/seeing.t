# seeing: what the server tells: a clock that was ahead, sizes, WAL of wide writes, wait events,
# progress, who holds back what, and counters that outlive a restart.  Takes about 20 seconds.
. "${0%/*}/common.sh"
# a server without contrib does without
statements=
[ ! -e "$("$BIN/pg_config" --sharedir)/extension/pg_stat_statements.control" ] || statements=pg_stat_statements
new_cluster "shared_preload_libraries = '${statements:+$statements, }widetable'" 'autovacuum = off' 'checkpoint_timeout = 1h' \
	'log_min_messages = warning'
q 'CREATE EXTENSION widetable' ${statements:+'CREATE EXTENSION pg_stat_statements'} \
	"CREATE FOREIGN TABLE t (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 1000) g"

# explain STATEMENT: its plan with WAL
explain() { q "EXPLAIN (ANALYZE, WAL, COSTS OFF, TIMING OFF, SUMMARY OFF) $1"; }

# ------------------------------------------------------------------- clock
is "$(q 'SELECT clock_ahead FROM widetable.pg_stat_widetable')" "00:00:00" 'a clock that is right: nothing is ahead'
is "$(q "INSERT INTO t VALUES (1, 'a')")" "" 'a clock that is right: no warning'
q "CREATE FOREIGN TABLE u (k int, v text) SERVER widetable OPTIONS (key 'k')" "INSERT INTO u SELECT g, 'u' FROM generate_series(1, 100) g" \
	'SELECT widetable.flush()' 'DELETE FROM u WHERE k < 50' >/dev/null
is "$(q "SET widetable.clock = '2100-01-01'" "INSERT INTO t VALUES (2, 'b')")" "" 'a session that sets the clock is not warned'
out=$(q "INSERT INTO t VALUES (3, 'c')" "INSERT INTO t VALUES (4, 'd')")
like "$out" 'WARNING:  timestamps of wide tables are [0-9]+ seconds ahead of the clock' 'a clock that went back: a warning'
is "$(echo "$out" | grep -c WARNING)" 1 'a session is warned once'
like "$(cat "$T/server.log")" 'WARNING:  timestamps of wide tables are' 'the log has the warning'
is "$(q "SELECT clock_ahead > interval '1 year' FROM widetable.pg_stat_widetable")" t 'clock_ahead says by how much'
like "$(VERBOSITY=verbose q 'SELECT widetable.reset_clock()')" '55000.*cells have timestamps ahead' 'reset_clock() refuses while cells are ahead'
like "$(q 'SELECT widetable.reset_clock()')" 'family "d" of table "public.t" in database "postgres"' 'it names the table'
q 'CREATE TABLE keep AS SELECT * FROM t' 'TRUNCATE t' >/dev/null
like "$(q 'SELECT widetable.reset_clock()')" 'table "public.u"' 'deletes without a timestamp count'
q 'SELECT widetable.compact()' >/dev/null
is "$(q "SELECT widetable.reset_clock() > interval '1 year'" 'SELECT clock_ahead FROM widetable.pg_stat_widetable')" "t
00:00:00" 'without such cells it resets the clock'
kill_server
start
is "$(q 'SELECT clock_ahead FROM widetable.pg_stat_widetable' 'INSERT INTO t SELECT * FROM keep' \
	"SELECT widetable.put('t', 3, 'd:v', 'later'::text)" 'SELECT count(*), max(v) FILTER (WHERE k = 3) FROM t')" "00:00:00

1000|later" 'a crash does not bring it back, and writes are seen'
q 'SELECT widetable.flush()' >/dev/null
is "$(q "SELECT max(max_ts) <= extract(epoch FROM now()) * 1000000 FROM widetable.pg_stat_widetable_files")" t 'no cell is ahead'

# -------------------------------------------------------------- sizes, WAL
q "INSERT INTO t SELECT g, repeat('m', 50) FROM generate_series(2001, 3000) g" >/dev/null
is "$(q "SELECT total_bytes = file_bytes + memtable_bytes, file_bytes > 0, memtable_bytes > 50000, table_name FROM widetable.pg_stat_widetable_tables WHERE table_name = 'public.t'")" \
	't|t|t|public.t' 'pg_stat_widetable_tables has the total bytes'
q 'DROP FOREIGN TABLE u' >/dev/null
is "$(q 'SELECT d.datname, d.tables, d.total_bytes = t.total_bytes FROM widetable.pg_stat_widetable_databases d, widetable.pg_stat_widetable_tables t')" \
	'postgres|1|t' 'pg_stat_widetable_databases has them by database'
like "$(explain "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(4001, 4100) g")" 'WAL: bytes=1[01][0-9]{3}$' 'EXPLAIN (WAL) of INSERT'
like "$(explain "UPDATE t SET v = repeat('y', 100) WHERE k BETWEEN 4001 AND 4100")" 'WAL: bytes=1[0-2][0-9]{3}$' 'EXPLAIN (WAL) of UPDATE'
like "$(explain 'DELETE FROM t WHERE k BETWEEN 4001 AND 4100')" 'WAL: bytes=[0-9]{3,4}$' 'EXPLAIN (WAL) of DELETE'
like "$(explain "SELECT widetable.put('t', 5000, 'd:v', repeat('z', 100))")" 'WAL: bytes=1[01][0-9]$' 'EXPLAIN (WAL) of a function'
is "$(explain 'SELECT count(*) FROM t' | grep WAL)" "" 'EXPLAIN (WAL) of a read'
q 'SELECT pg_stat_statements_reset()' "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(6001, 6100) g" >/dev/null
[ -z "$statements" ] || is "$(q "SELECT wal_bytes BETWEEN 10000 AND 13000 FROM pg_stat_statements WHERE query LIKE 'INSERT INTO t%'")" t 'pg_stat_statements has the WAL of wide writes'
q 'CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1, repeat($_$p$_$, 1000)); INSERT INTO t VALUES (1, $_$p$_$); COMMIT; INSERT INTO t VALUES (1, $_$q$_$); ROLLBACK; END $$' \
	"SET pg_stat_statements.track = 'all'" 'CALL p()' >/dev/null
[ -z "$statements" ] || is "$(q "SELECT bool_and(wal_bytes < 100000) FROM pg_stat_statements")" t 'COMMIT and ROLLBACK in a procedure: no count below 0'
# what was estimated is not counted beside the record: the server's sum is that of WAL
is "$(q 'SELECT pg_current_wal_insert_lsn() AS lsn INTO TEMP l' 'SELECT pg_stat_force_next_flush()' 'SELECT wal_bytes AS b INTO TEMP w FROM pg_stat_wal' \
	"INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(6001, 6100) g" 'BEGIN' "INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(6001, 6100) g" 'ROLLBACK' \
	'SELECT pg_stat_force_next_flush()' "SELECT wal_bytes - b < 1.3 * (pg_current_wal_insert_lsn() - lsn) FROM pg_stat_wal, l, w" | tail -n 1)" t 'pg_stat_wal counts the record once'

# ------------------------------------------------------------------ blocks
q 'SELECT widetable.flush()' >/dev/null
stop
start
like "$(q 'SET track_io_timing = on' 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(v) FROM t')" \
	'Blocks: [1-9][0-9]* read \(time [0-9.]+ ms\), [0-9]+ cached' 'EXPLAIN says how long reads took'
is "$(q 'SET track_io_timing = on' 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(v) FROM t' | grep -c 'time [0-9.]* ms')" 0 'blocks that are cached take no such time'

# ------------------------------------------------------------- wait events
await 10 '^2$' "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'widetable%' AND wait_event_type = 'Activity'"
ok $? 'worker and keeper are idle as Activity'
if [ "$("$BIN/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -ge 17 ]; then
	like "$(q "SELECT string_agg(name, ' ' ORDER BY name) FROM pg_wait_events WHERE type = 'Extension'")" \
		'WidetableFileRead.*WidetableFlush.*WidetableLog.*WidetableMemtableRoom.*WidetablePublish' 'wait events have names'
else
	echo "ok - skipped: this server has no names for wait events of extensions"
fi

# ---------------------------------------------------------------- progress
# no worker, which may do the work before the session does
set_conf 'widetable.workers = 0'
stop
start
# progress PLACE STATEMENT: what the view shows while the statement is stopped there
progress() {
	session hold 5
	echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock "$1"));" >&5
	wait_output hold held
	q "SET widetable.stop_at = '$1'" "$2" >"$T/stopped" &
	await_stopped 1
	q "SELECT kind, database, table_name, family, unit, total > 0, done BETWEEN 0 AND total, pid = (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted),
		started < now() FROM widetable.pg_stat_widetable_progress"
	echo 'SELECT pg_advisory_unlock_all();' >&5
	wait $!
	exec 5>&-
}
is "$(progress verify-file "SELECT * FROM widetable.verify('t')")" 'verify|postgres|public.t|d|bytes|t|t|t|t' 'progress of verify() of a table'
is "$(progress verify-file 'SELECT * FROM widetable.verify()')" 'verify||||bytes|t|t|t|t' 'progress of verify() of all'
q "INSERT INTO t VALUES (1, 'z')" >/dev/null
is "$(progress flush-files 'SELECT widetable.flush()')" 'flush||||bytes|t|t|t|t' 'progress of a flush'
is "$(progress compact-files "SELECT widetable.compact('t')")" 'compaction|postgres|public.t|d|bytes|t|t|t|t' 'progress of a compaction'
is "$(q 'SELECT count(*) FROM widetable.pg_stat_widetable_progress')" 0 'work that has ended has no progress'
is "$(q "SELECT bool_and(pid > 0) FROM widetable.pg_stat_widetable_compactions")" t 'pg_stat_widetable_compactions has the process'
q 'CREATE DATABASE source' >/dev/null
in_db source 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE s (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO s SELECT g, 'v' FROM generate_series(1, 100) g" >/dev/null
is "$(progress copy-family 'CREATE DATABASE other TEMPLATE source')" 'copy|source|public.s||cells|t|t|t|t' 'progress of the copy of a database'

set_conf 'widetable.workers = 1'
stop
start

# ----------------------------------------------------------------- holders
session reader 6
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'pid ' || pg_backend_pid() FROM t WHERE k = 1;" >&6
wait_output reader '^pid'
is "$(q 'SELECT oldest_snapshot_pid FROM widetable.pg_stat_widetable')" "$(sed -n 's/^pid //p' "$T/reader.out")" 'the process with the oldest snapshot'
echo "ROLLBACK; SELECT 'ended';" >&6
wait_output reader ended
is "$(q 'SELECT oldest_snapshot_pid IS NULL OR oldest_snapshot_pid = pg_backend_pid() FROM widetable.pg_stat_widetable')" t 'it has ended'
q "INSERT INTO t VALUES (0, 'in memory')" >/dev/null
session lock 7
echo "SELECT 'locked' FROM pg_advisory_lock(77);" >&7
wait_output lock locked
echo "SELECT 'through', pg_advisory_lock(77) FROM t LIMIT 1;" >&6
await_stopped 1
is "$(q 'SELECT memtable_holder_pid FROM widetable.pg_stat_widetable')" "$(sed -n 's/^pid //p' "$T/reader.out")" 'the process that holds memtables'
echo 'SELECT pg_advisory_unlock(77);' >&7
wait_output reader through
exec 6>&- 7>&-

# ---------------------------------------------------------------- counters
await 10 '^0$' "SELECT count(*) FROM widetable.pg_stat_widetable_progress"
before=$(q 'SELECT commits, stats_reset FROM widetable.pg_stat_widetable')
stop
start
is "$(q "SELECT commits >= ${before%%|*}, stats_reset = '${before#*|}', ${before%%|*} > 0 FROM widetable.pg_stat_widetable")" 't|t|t' 'counters outlive a restart'
is "$(ls "$T/data/pg_stat/" | grep -c widetable)" 0 'their file is gone while the server runs'
is "$(q 'SELECT widetable.reset_statistics()' "SELECT commits, cells_read, stats_reset > '${before#*|}' FROM widetable.pg_stat_widetable")" '
0|0|t' 'reset_statistics() begins at 0'
q "INSERT INTO t VALUES (1, 'y')" >/dev/null
is "$(q 'SELECT commits FROM widetable.pg_stat_widetable')" 1 'and counts from there'
reset=$(q 'SELECT stats_reset FROM widetable.pg_stat_widetable')
keeper=$(q 'SELECT keeper_pid FROM widetable.pg_stat_widetable')
q "SELECT pg_terminate_backend($keeper)" >/dev/null
await 30 '^t$' "SELECT coalesce(keeper_pid <> $keeper, false) FROM widetable.pg_stat_widetable"
await 10 '^0$' "SELECT count(*) FROM pg_ls_dir('pg_stat') f WHERE f = 'widetable.stat'"
ok $? 'a keeper that is ended leaves no file behind'
kill_server
start
is "$(q "SELECT commits, stats_reset > '$reset' FROM widetable.pg_stat_widetable")" '0|t' 'after a crash they begin at 0'
for garbage in empty zeros cut flipped long; do
	stop
	f=$T/data/pg_stat/widetable.stat
	[ -s "$f" ] || { echo "not ok - the counters' file exists"; BAD=1; }
	case $garbage in
		empty) : >"$f" ;;
		zeros) head -c 300 /dev/zero >"$f" ;;
		cut) head -c 50 "$f" >"$f.2" && mv "$f.2" "$f" ;;
		flipped) printf 'X' | dd of="$f" bs=1 seek=40 conv=notrunc 2>/dev/null ;;
		long) head -c 100000 /dev/urandom >>"$f" ;;
	esac
	start
	is "$(q "SELECT commits < 10, stats_reset > now() - interval '1 minute' FROM widetable.pg_stat_widetable")" 't|t' "a file of counters that is $garbage is ignored"
done
like "$(cat "$T/server.log")" 'widetable: ignoring invalid file "pg_stat/widetable.stat"' 'the log says so'

# ---------------------------------------------- the views of version 1.0
q 'CREATE DATABASE old TEMPLATE template0' >/dev/null
is "$(in_db old "CREATE EXTENSION widetable VERSION '1.0'" "CREATE FOREIGN TABLE o (k int, v text) SERVER widetable OPTIONS (key 'k')" "INSERT INTO o VALUES (1, 'x')" \
	'SELECT state FROM widetable.pg_stat_widetable' 'SELECT relation, memtable_cells FROM widetable.pg_stat_widetable_tables' \
	'SELECT count(*) >= 0 FROM widetable.pg_stat_widetable_compactions')" 'running
o|1
t' 'the views of version 1.0 work with this library'
is "$(in_db old 'ALTER EXTENSION widetable UPDATE' 'SELECT relation, total_bytes > 0 FROM widetable.pg_stat_widetable_tables')" 'o|t' 'and are updated'
like "$(in_db old "CREATE FUNCTION too_many(OUT a oid, OUT b text, OUT c text, OUT d jsonb, OUT e bigint, OUT f int[], OUT g bigint, OUT h bigint, OUT i bigint, OUT j bigint,
	OUT k bigint, OUT l bigint, OUT m bigint, OUT n bigint) RETURNS SETOF record LANGUAGE C AS '\$libdir/widetable', 'wt_sql_stat_families'" 'SELECT * FROM too_many()')" \
	'ERROR:  a function of extension widetable has more columns than the library' 'a function with more columns is an error'
verify_store
finish
