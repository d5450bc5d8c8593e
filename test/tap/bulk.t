# bulk: a large transaction's files are in the log, too.  After a crash they are
# there even when the disk has lost them; a crash in the middle leaves nothing.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "widetable.workers = 0" \
	"min_wal_size = 160MB" "autovacuum = off"
W=$T/data/widetable
LARGE="INSERT INTO t SELECT 'r' || lpad(g::text, 7, '0'), 1, md5(g::text) || md5((g + 1)::text), NULL FROM generate_series(1, 30000) g"
files() { (cd "$W" && ls | grep -cE '\.(sst|tmp|run)$'); }

is "$(q 'CREATE EXTENSION widetable' "$TABLE" "$FILL")" "" "a table"
q "SELECT widetable.flush()" >/dev/null
before=$(q "SELECT pg_current_wal_insert_lsn()")
is "$(q "$LARGE")" "" "a large transaction"
want=$(q "$SUM")
like "$want" '^32000\|' "its rows are there"
like "$(q "SELECT pg_current_wal_insert_lsn() - '$before' > 300000")" '^t$' "the files' bytes are in the log"
newest=$(ls -S "$W" | grep sst | head -1)
stop immediate
rm "$W/$newest"
start
is "$(q "$SUM")" "$want" "after a crash with a file lost: from the log"
verify_store
stop immediate
: >"$W/$newest"
start
is "$(q "$SUM")" "$want" "and again, with a file that is empty"
q "SELECT widetable.flush()" >/dev/null
stop immediate; start
is "$(q "$SUM")" "$want" "after a flush, from files"

# an ordinary table's rows in the same transaction
is "$(q "CREATE TABLE heap (n int)" "BEGIN" "INSERT INTO heap VALUES (1)" \
	"UPDATE t SET v = v || 'x' WHERE k < 'r002'" "COMMIT")" "" "a large transaction with an ordinary table"
want=$(q "$SUM")
newest=$(ls -t "$W" | grep sst | head -1)
stop immediate
rm "$W/$newest"
start
is "$(q "$SUM" "SELECT count(*) FROM heap")" "$want
1" "after a crash with a file lost: both are there"
q "SELECT widetable.flush()" >/dev/null

# not logged: the log stays short
before=$(q "SELECT pg_current_wal_insert_lsn()")
is "$(q "SET widetable.log_bulk = off" "DELETE FROM t WHERE k >= 'r'")" "" "a large transaction that is not logged"
like "$(q "SELECT pg_current_wal_insert_lsn() - '$before' < 100000")" '^t$' "the files' bytes are not in the log"
want=$(q "$SUM")
like "$want" '^2000\|' "its deletes count"
stop immediate; start
is "$(q "$SUM")" "$want" "after a crash: it was synced"

# killed on the way
q "SELECT widetable.compact()" >/dev/null
n=$(files)
for pause in 0.2 0.5 0.9 1.4; do
	(q "INSERT INTO t SELECT 'r' || g, 1, md5(g::text), NULL FROM generate_series(1, 2000000) g" >/dev/null) &
	sleep $pause
	pid=$(q "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT INTO t%' AND pid <> pg_backend_pid()")
	kill -9 $pid
	wait
	await 5 '^1$' 'SELECT 1'
	is "$(q "$SUM")" "$want" "killed after ${pause} s: nothing of it is there"
	is "$(files)" "$n" "no file is left"
done
verify_store
grep -v 'terminated by signal 9' "$T/server.log" >"$T/s.log"; mv "$T/s.log" "$T/server.log"
finish
