# cursors: a cursor that pauses returns the rows of its snapshot, even if the memtables and files it
# read from have been replaced and its blocks evicted from the cache.
. "${0%/*}/common.sh"
new_cluster "widetable.memtable_size = '1MB'" "widetable.cache_size = '2MB'"
q 'CREATE EXTENSION widetable' \
	"CREATE FOREIGN TABLE s (k int, v text) SERVER widetable OPTIONS (key 'k', salt_buckets '8')" \
	"CREATE FOREIGN TABLE w (k int, q jsonb OPTIONS (family 'd')) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE c (k int, family text, qualifier text, value text) SERVER widetable OPTIONS (key 'k', table_name 'public.w', layout 'cells')" \
	"CREATE FOREIGN TABLE g (a int, b int, v int, t text) SERVER widetable OPTIONS (key 'a, b')" \
	"CREATE FOREIGN TABLE o (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO w SELECT g, (SELECT jsonb_object_agg('q' || lpad(x::text, 3, '0'), 'v' || g || '-' || x) FROM generate_series(1, 200) x) FROM generate_series(1, 20) g" >/dev/null
churn() {
	for i in 1 2 3; do
		q "INSERT INTO o SELECT g + $i * 10000, repeat(md5(g::text), 30) FROM generate_series(1, 3000) g" "SELECT widetable.flush()" "SELECT sum(length(v)) FROM o" >/dev/null
	done
}
# run TITLE QUERY N CHANGE: fetches N rows, applies CHANGE in another session, fetches the others
run() {
	want=$(q "$2")
	session cursor 3
	echo "BEGIN; DECLARE c CURSOR FOR $2; FETCH $3 FROM c;" >&3
	for i in 1 2 3 4 5 6 7 8 9 10; do [ "$(wc -l <"$T/cursor.out")" = "$3" ] && break; sleep 0.2; done
	q "$4" "SELECT widetable.flush()" "SELECT widetable.compact()" >/dev/null
	churn
	echo "FETCH ALL FROM c; COMMIT;" >&3
	exec 3>&-
	wait
	is "$(diff "$T/cursor.out" - <<-ROWS | head -n 3
		$want
		ROWS
	)" "" "$1"
}
fill="INSERT INTO s SELECT g, 'v' || g FROM generate_series(1, 3000) g"
q "$fill" >/dev/null
run "a cursor in key order on a salted table, read from a memtable, returns its snapshot" "SELECT k, v FROM s ORDER BY k" 3 "UPDATE s SET v = 'w'"
q "$fill" "SELECT widetable.flush()" >/dev/null
run "a cursor in key order on a salted table, read from files, returns its snapshot" "SELECT k, v FROM s ORDER BY k" 3 "UPDATE s SET v = 'w'"
run "a cursor in layout cells, read from files, returns its snapshot" "SELECT * FROM c" 7 "DELETE FROM w"
# the row that begins the next group waits; its value is the least of the group
groups="INSERT INTO g SELECT x / 50, x, x, lpad(x::text, 30, 'x') FROM generate_series(1, 1000) x"
q "$groups" "SELECT widetable.flush()" >/dev/null
run "a cursor over groups, whose values go to the aggregates directly, returns its snapshot" \
	"SELECT a, count(*), sum(v + 1), min(t), max(length(t)) FROM g GROUP BY a ORDER BY a" 3 "UPDATE g SET v = 0, t = 'a'"
q "$groups" "SELECT widetable.flush()" >/dev/null
run "a cursor over groups, whose rows are put together, returns its snapshot" \
	"SELECT a, count(*), sum(v / 2), min(upper(t)) FROM g GROUP BY a ORDER BY a DESC" 3 "UPDATE g SET v = 0, t = 'a'"
finish
