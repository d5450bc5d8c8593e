# standby_pending: a standby shows a transaction whose commit record it has and whose FINISH record has
# not come, or never comes.  Takes about 20 seconds.
. "${0%/*}/common.sh"
# FINISH records are not flushed by themselves: the WAL writer, which would do it, is stopped below
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 2MB" "wal_writer_delay = 10s" "autovacuum = off" "bgwriter_delay = 10s" "max_parallel_workers_per_gather = 2"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int PRIMARY KEY, n int)' \
	"CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" "CREATE FOREIGN TABLE c (k int, n bigint OPTIONS (encoding 'counter')) SERVER widetable OPTIONS (key 'k')" \
	'INSERT INTO h SELECT g, g FROM generate_series(1, 1000) g' "INSERT INTO w SELECT g, g, repeat('x', 100) FROM generate_series(1, 1000) g"
"$BIN/pg_basebackup" -D "$T/data.one" -R -c fast --no-sync 2>&1
second "$T/data.one"
s() { there "$T/data.one" "$@"; }
kill -STOP "$(q "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")"
both="SELECT (SELECT count(*) FROM h), (SELECT sum(n) FROM h), (SELECT count(*) FROM w), (SELECT sum(n) FROM w)"
# arrives WHAT: the commit record has been replayed, and the log ends in front of the FINISH record
arrives() {
	lsn=$(q 'SELECT pg_current_wal_flush_lsn()')
	for _ in $(seq 200); do [ "$(s "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && break; sleep 0.05; done
	is "$(q 'SELECT pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()')" t "$1: the end of the log is not flushed"
}
same() { want=$(q "$both"); arrives "$1"; is "$(s "$both")" "$want" "$1: ordinary and wide rows are there"; }
q BEGIN "UPDATE h SET n = n + 1 WHERE k <= 5" "UPDATE w SET n = n + 1 WHERE k <= 5" COMMIT; same update
is "$(s "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; $both")" "$want" "update: parallel plans"
q BEGIN "DELETE FROM h WHERE k = 7" "DELETE FROM w WHERE k = 7" COMMIT; same delete
q BEGIN "UPDATE h SET n = n + 1 WHERE k = 8" "SELECT widetable.increment('c', 1, 'n', 5)" COMMIT >/dev/null; arrives counter
is "$(s 'SELECT n FROM c')" "5" "counter: its value is there"
q BEGIN "INSERT INTO h VALUES (2000, 1)" "INSERT INTO w VALUES (2000, 1, repeat('a', 400000))" COMMIT; same "more than the segment's list holds"
q BEGIN "INSERT INTO h SELECT g, g FROM generate_series(3000, 40000) g" "INSERT INTO w SELECT g, g, md5(g::text) FROM generate_series(3000, 40000) g" COMMIT; same "sorted files"
q BEGIN "CREATE TABLE h2 (k int)" "CREATE FOREIGN TABLE w2 (k int, n int) SERVER widetable OPTIONS (key 'k')" "INSERT INTO h2 VALUES (1)" "INSERT INTO w2 VALUES (1, 1)" COMMIT; arrives "a new table"
is "$(s 'SELECT (SELECT count(*) FROM h2), (SELECT count(*) FROM w2)')" "1|1" "a new table: it is there"
q BEGIN "TRUNCATE w2" "INSERT INTO h2 VALUES (2)" "INSERT INTO w2 VALUES (5, 6)" COMMIT; arrives TRUNCATE
is "$(s 'SELECT * FROM w2')" "5|6" "TRUNCATE: the new rows are there, the old ones are not"
q "DROP FOREIGN TABLE w2"; arrives DROP
like "$(s 'SELECT * FROM w2')" "does not exist" "DROP: the table is gone"
q BEGIN "UPDATE h SET n = n + 10 WHERE k < 100" "UPDATE w SET n = n + 10 WHERE k < 100" COMMIT; same "the last one"
# the primary dies, and the FINISH record with it (the postmaster kills the WAL writer after 5 seconds)
stop immediate
is "$(s "$both")" "$want" "the primary died: rows are there"
stop_second "$T/data.one" immediate; second "$T/data.one"
is "$(s "$both")" "$want" "the standby was restarted: rows are there"
"$BIN/pg_ctl" -D "$T/data.one" -w promote >/dev/null
is "$(s "$both")" "$want" "promoted: rows are there"
is "$(s "UPDATE w SET n = n + 1 WHERE k = 1" "SELECT n FROM w WHERE k = 1")" "13" "promoted: the row can be changed"
stop_second "$T/data.one" immediate; second "$T/data.one"
is "$(s "SELECT n FROM w WHERE k = 1" "SELECT count(*) FROM h")" "13
$(echo "$want" | cut -d'|' -f1)" "promoted, after a crash: rows are there"
is "$(s "SELECT * FROM widetable.verify()")" "" "verify() finds no problem"
finish
