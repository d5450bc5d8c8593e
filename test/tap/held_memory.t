# held_memory: statements that wait for a row lock pin the memtables they have read.  If they pin
# all memtables, the transaction that holds the lock can still commit, and so can other
# transactions.  Takes about 10 seconds.
. "${0%/*}/common.sh"
new_cluster "widetable.memtable_size = '1MB'"
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
finish
