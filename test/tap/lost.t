# lost: many sessions change few rows by what they read, and no change is lost:
# whoever gets a row's lock sees what the one before has committed.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "synchronous_commit = off"
q 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE c (k int, n int, m bigint) SERVER widetable OPTIONS (key '"'k'"')' \
	'INSERT INTO c SELECT g, 0, 0 FROM generate_series(1, 30) g' >/dev/null
times=5000
sessions() {	# SETTINGS STATEMENT: six of them repeat it, each time in a transaction
	rm -f "$T"/out.*
	for i in 1 2 3 4 5 6; do
		q "$1" "DO \$\$ BEGIN FOR i IN 1 .. $times LOOP $2; COMMIT; END LOOP; END \$\$" >"$T/out.$i" &
	done
	wait
	cat "$T"/out.*
}
row='(random() * 29)::int + 1'
is "$(sessions '' "UPDATE c SET n = n + 1 WHERE k = (SELECT $row)")" "" "UPDATE by key"
is "$(q 'SELECT sum(n) FROM c')" "$((6 * times))" "... loses nothing"
is "$(sessions 'SET widetable.enable_direct_modify = off' "UPDATE c SET n = n + 1 WHERE k = (SELECT $row)")" "" "the same through the executor"
is "$(q 'SELECT sum(n) FROM c')" "$((12 * times))" "... loses nothing"
is "$(sessions '' "PERFORM widetable.increment('c', ($row)::text, 'm')")" "" "increments"
is "$(q 'SELECT sum(m) FROM c')" "$((6 * times))" "... lose nothing"
finish
