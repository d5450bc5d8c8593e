# lost: six sessions update 30 rows by read-modify-write, and no update is lost: the next owner of a
# row lock sees what the previous one committed.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "synchronous_commit = off"
q 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE c (k int, n int, m bigint) SERVER widetable OPTIONS (key '"'k'"')' \
	'INSERT INTO c SELECT g, 0, 0 FROM generate_series(1, 30) g' >/dev/null
times=5000
# sessions SETTING STATEMENT: six sessions repeat the statement, each time in its own transaction
sessions() {
	rm -f "$T"/out.*
	for i in 1 2 3 4 5 6; do
		q "$1" "DO \$\$ BEGIN FOR i IN 1 .. $times LOOP $2; COMMIT; END LOOP; END \$\$" >"$T/out.$i" &
	done
	wait
	cat "$T"/out.*
}
row='(random() * 29)::int + 1'
is "$(sessions '' "UPDATE c SET n = n + 1 WHERE k = (SELECT $row)")" "" "concurrent UPDATEs in the scan succeed"
is "$(q 'SELECT sum(n) FROM c')" "$((6 * times))" "UPDATE in the scan loses no change"
is "$(sessions 'SET widetable.enable_direct_modify = off' "UPDATE c SET n = n + 1 WHERE k = (SELECT $row)")" "" "concurrent UPDATEs by the executor succeed"
is "$(q 'SELECT sum(n) FROM c')" "$((12 * times))" "UPDATE by the executor loses no change"
is "$(sessions '' "PERFORM widetable.increment('c', ($row)::text, 'm')")" "" "concurrent increments succeed"
is "$(q 'SELECT sum(m) FROM c')" "$((6 * times))" "increment() loses no change"
finish
