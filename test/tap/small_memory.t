# small_memory.t: a server with little address space, or little shared memory.
. "${0%/*}/common.sh"

# address space: PostgreSQL itself takes some 400 MB, what a session may write 64 MB and more
LIMIT=${LIMIT:-1200000}
new_cluster 'widetable.cache_size = 16MB' "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" >/dev/null
stop
(ulimit -v "$LIMIT" && start); ok $? "the server starts with a limit of address space"
is "$(awk '/Max address space/ { print $4 / 1024 }' "/proc/$(head -n 1 "$T/data/postmaster.pid")/limits")" "$LIMIT" "it has the limit"
is "$(q "INSERT INTO w SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 200000) g" 'SELECT count(*) FROM w')" "200000" "a load of 70 MB spills and commits"
is "$(q 'BEGIN' "INSERT INTO w VALUES (-1, 'a')" 'SAVEPOINT s' "UPDATE w SET v = 'b' WHERE k < 50000" 'ROLLBACK TO s' 'COMMIT' "SELECT count(*) FROM w WHERE v IN ('a', 'b')")" "1" "savepoints work"
is "$(q "SET widetable.write_memory = '1GB'" "INSERT INTO w SELECT -g, 'x' FROM generate_series(2, 1000) g" 'SELECT count(*) FROM w')" "201000" "more memory for writes than there is address space"
is "$(q "INSERT INTO w VALUES (-5000, repeat('x', 60000000))" 'SELECT length(v) FROM w WHERE k = -5000')" "60000000" "a value of 60 MB"
# what one session has written, others can too: sessions share nothing here
like "$(VERBOSITY=verbose q "INSERT INTO w VALUES (-5001, repeat('x', 250000000))")" '(53200|^$)' "a value that has no room is an error"
is "$(q 'SELECT count(*) FROM w WHERE k = 7')" "1" "the server goes on"
verify_store
stop
finish
