# standby_read: a hot standby answers everything that reads wide tables.  Takes about 10 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "wal_level = replica" "max_parallel_workers_per_gather = 2"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int PRIMARY KEY, n int)' \
	"CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" \
	'INSERT INTO h SELECT g, g FROM generate_series(1, 1000) g' "INSERT INTO w SELECT g, g, repeat('x', 100) FROM generate_series(1, 1000) g"
"$BIN/pg_basebackup" -D "$T/data.one" -R -c fast --no-sync 2>&1
second "$T/data.one"
s() { there "$T/data.one" "$@"; }
is "$(s 'SELECT count(*), sum(n) FROM w')" "1000|500500" "a standby reads"
# what was committed with remote_apply is there at once
ok=1
i=0; while [ $i -lt 30 ]; do i=$((i + 1))
	q "SET synchronous_commit = remote_apply" "BEGIN" "UPDATE h SET n = n + 1 WHERE k = $i" "UPDATE w SET n = n + 1 WHERE k = $i" COMMIT >/dev/null
	lsn=$(q 'SELECT pg_current_wal_insert_lsn()')
	for _ in $(seq 100); do [ "$(s "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && break; sleep 0.01; done
	[ "$(s "SELECT (SELECT n FROM h WHERE k = $i) = (SELECT n FROM w WHERE k = $i)")" = t ] || ok=0
done
is $ok 1 "wide and ordinary rows agree"
like "$(VERBOSITY=verbose s 'INSERT INTO w VALUES (1, 1)')" '25006' "a standby refuses writes"
finish
