# bulk: WAL contains the sorted files that a large transaction writes.  Recovery restores a file
# that is missing or empty after a crash; a crash during the transaction leaves neither rows nor
# files.  Takes about 10 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "widetable.workers = 0" \
	"min_wal_size = 160MB" "autovacuum = off"
W=$T/data/widetable
LARGE="INSERT INTO t SELECT 'r' || lpad(g::text, 7, '0'), 1, md5(g::text) || md5((g + 1)::text), NULL FROM generate_series(1, 30000) g"
files() { (cd "$W" && ls | grep -cE '\.(sst|tmp|run)$'); }

is "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" "" "a table is created"
q "SELECT widetable.flush()" >/dev/null
before=$(q "SELECT pg_current_wal_insert_lsn()")
is "$(q "$LARGE")" "" "a large transaction commits"
want=$(q "$SUM")
like "$want" '^32000\|' "its rows are visible"
like "$(q "SELECT pg_current_wal_insert_lsn() - '$before' > 300000")" '^t$' "WAL contains the files' bytes"
newest=$(ls -S "$W" | grep sst | head -1)
stop immediate
rm "$W/$newest"
start
is "$(q "$SUM")" "$want" "recovery restores a missing file from WAL"
verify_store
stop immediate
: >"$W/$newest"
start
is "$(q "$SUM")" "$want" "recovery restores an empty file from WAL"
q "SELECT widetable.flush()" >/dev/null
stop immediate; start
is "$(q "$SUM")" "$want" "after a flush and a crash the rows come from files"

# with rows of an ordinary table in the same transaction
is "$(q "CREATE TABLE heap (n int)" "BEGIN" "INSERT INTO heap VALUES (1)" \
	"UPDATE t SET v = v || 'x' WHERE k < 'r002'" "COMMIT")" "" "a large transaction with an ordinary table commits"
want=$(q "$SUM")
newest=$(ls -t "$W" | grep sst | head -1)
stop immediate
rm "$W/$newest"
start
is "$(q "$SUM" "SELECT count(*) FROM heap")" "$want
1" "after a crash and with a file missing both tables have their rows"
q "SELECT widetable.flush()" >/dev/null

# widetable.log_bulk = off: WAL does not contain the files
before=$(q "SELECT pg_current_wal_insert_lsn()")
is "$(q "SET widetable.log_bulk = off" "DELETE FROM t WHERE k >= 'r'")" "" "a large transaction with log_bulk = off commits"
like "$(q "SELECT pg_current_wal_insert_lsn() - '$before' < 100000")" '^t$' "WAL does not contain the files' bytes"
want=$(q "$SUM")
like "$want" '^2000\|' "its deletes are visible"
stop immediate; start
is "$(q "$SUM")" "$want" "its files were synced at commit: a crash loses nothing"

# killed before the commit
q "SELECT widetable.compact()" >/dev/null
n=$(files)
for pause in 0.2 0.5 0.9 1.4; do
	(q "INSERT INTO t SELECT 'r' || g, 1, md5(g::text), NULL FROM generate_series(1, 2000000) g" >/dev/null) &
	sleep $pause
	pid=$(q "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT INTO t%' AND pid <> pg_backend_pid()")
	kill -9 $pid
	wait
	await 5 '^1$' 'SELECT 1'
	is "$(q "$SUM")" "$want" "killed after ${pause} s: no row of the transaction is visible"
	is "$(files)" "$n" "killed after ${pause} s: no file is left over"
done
verify_store
forget_kill
finish
