# held_memory: statements that wait for a row lock pin the memtables they have read.  If they pin
# all memtables, the transaction that holds the lock can still commit, and so can other
# transactions.  While statements that run for long pin all memtables, commits become files at
# once, but leave room in the table of files.  Takes about 35 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = '1MB'" "widetable.max_tables = 10"
q 'CREATE EXTENSION widetable' "$TABLE" "CREATE FOREIGN TABLE fill (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO t SELECT 'r', g, 'a' FROM generate_series(1, 5) g" >/dev/null
session holder 3
echo "BEGIN; UPDATE t SET v = repeat('x', 60000); SELECT 'locked';" >&3
wait_output holder locked
# each waiter pins another memtable: between two waiters three thirds of a memtable are written
for w in 1 2 3 4 5; do
	echo "UPDATE t SET v = 'w$w' WHERE k = 'r' AND n = $w;" | "$BIN/psql" -XqAt >"$T/w$w" 2>&1 &
	sleep 0.3
	for i in 1 2 3; do
		q "INSERT INTO fill SELECT g, repeat(md5(g::text), 10) FROM generate_series($w$i * 1000, $w$i * 1000 + 999) g" >"$T/fill$w$i" &
		last=$!
		sleep 0.2
	done
done
like "$(q "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'virtualxid'")" '^5$' "five statements wait for row locks"
echo "COMMIT; SELECT 'committed';" >&3
exec 3>&-
wait_output holder committed
like "$(cat "$T/holder.out")" committed "the transaction that holds the locks commits"
wait
is "$(q "SELECT string_agg(v, ',' ORDER BY n) FROM t" "SELECT count(*) FROM fill")" "w1,w2,w3,w4,w5
15000" "all other transactions commit"

# ---- no commit fails while readers hold all memtables: each would be a file that no merge can take
q "INSERT INTO t SELECT 'r', g, 'a' FROM generate_series(1, 5) g" >/dev/null
for h in 1 2 3 4 5; do
	"$BIN/psql" -XqAt -c "SELECT pg_sleep(CASE WHEN n = 1 THEN 300 ELSE 0 END) FROM t" >"$T/reader$h" 2>&1 &
	await 10 "^$h\$" "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
	for i in 1 2 3; do q "INSERT INTO fill SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 1000) g" >/dev/null; done
done
for i in $(seq 9000); do echo "INSERT INTO fill VALUES (0, repeat('x', 1000));"; done >"$T/commits.sql"
"$BIN/psql" -XqAt -f "$T/commits.sql" >"$T/commits" 2>&1 &
commits=$!
await 60 '^t$' "SELECT files * 16 > file_limit * 7 FROM widetable.pg_stat_widetable"
ok $? "commits become files at once, up to half of what large batches may have"
sleep 7
is "$(q "SELECT files * 16 BETWEEN file_limit * 7 AND file_limit * 7 + 160 FROM widetable.pg_stat_widetable")" t "then each waits again"
q "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >/dev/null
wait "$commits"
is "$(cat "$T/commits")" "" "none of them has failed"
await 60 '^t$' "SELECT compactions > 0 AND files * 16 < file_limit FROM widetable.pg_stat_widetable"
ok $? "the files are merged"
wait
finish
