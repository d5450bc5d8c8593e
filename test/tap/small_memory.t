# small_memory.t: a server with little address space, or little shared memory.
. "${0%/*}/common.sh"

# address space: PostgreSQL itself takes some 400 MB, what a session may write 64 MB and more
LIMIT=${LIMIT:-1200000}
new_cluster 'widetable.cache_size = 16MB' "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" >/dev/null
# with vm.overcommit_memory = 2 the system counts what a process may write to, whether it does or not
session one 3
echo "INSERT INTO w VALUES (0, 'a'); DELETE FROM w; SELECT 'pid', pg_backend_pid();" >&3
wait_output one '^pid'
writable=$(perl -ne '/^(\w+)-(\w+) rw-p/ and $n += hex($2) - hex($1); END { printf "%d", $n / 1048576 }' "/proc/$(sed -n 's/^pid|//p' "$T/one.out")/maps")
exec 3>&-
[ "$writable" -lt 100 ]; ok $? "a small transaction takes little memory that can be written ($writable MB)"
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

# shared memory: /dev/shm of some MB, in a mount of its own
# in_shm SIZE: starts the server there
in_shm() {
	unshare -Urm sh -c "mount -t tmpfs -o size=$1 tmpfs /dev/shm && exec unshare -U --map-user=1000 --map-group=1000 '$BIN/pg_ctl' -D '$T/data' -l '$T/server.log' -w -t 60 start" >"$T/ctl.log" 2>&1 </dev/null
}
set_conf "shared_preload_libraries = ''" "widetable.memtable_size = '1MB'"
if ! unshare -Urm sh -c 'mount -t tmpfs -o size=4m tmpfs /dev/shm && unshare -U --map-user=1000 true' 2>/dev/null; then
	echo "ok - skipped: no mounts in a namespace"
else
	in_shm 4m; ok $? "the server starts with 4 MB of /dev/shm"
	error=$(VERBOSITY=verbose q 'SELECT count(*) FROM w')
	like "$error" 'ERROR:  53100: /dev/shm has too little room for the shared memory of widetable' "4 MB of /dev/shm: the error names it"
	like "$error" 'DETAIL:  [0-9]* kB are free, and at least [0-9]* kB are needed' "it says how much is needed"
	like "$error" 'HINT:  .*shared_preload_libraries.*shm-size.*dynamic_shared_memory_type' "and what to set"
	is "$(q 'SELECT 1')" "1" "the server runs"
	stop
	in_shm 48m; ok $? "the server starts with 48 MB of /dev/shm"
	is "$(q 'SELECT count(*) FROM w WHERE k = 7')" "1" "48 MB are enough"
	like "$(cat "$T/server.log")" 'too little room for a segment of [0-9]* MB, using [0-9]* MB' "the log says that it is smaller than configured"
	stop
	in_shm 24m
	like "$(q "DO \$\$BEGIN FOR i IN 1..999 LOOP EXECUTE format('CREATE FOREIGN TABLE few%s (k int) SERVER widetable OPTIONS (key %L)', i, 'k'); COMMIT; END LOOP; END\$\$")" 'HINT: .*make /dev/shm larger and restart: widetable.max_tables is 1000' "24 MB: there is room for fewer tables, and an error says why"
	stop
	set_conf 'dynamic_shared_memory_type = mmap'
	in_shm 4m
	is "$(q 'SELECT count(*) FROM w WHERE k = 7')" "1" "dynamic_shared_memory_type = mmap needs no /dev/shm"
	stop
	set_conf "shared_preload_libraries = 'widetable'" 'dynamic_shared_memory_type = posix'
	in_shm 4m
	is "$(q 'SELECT count(*) FROM w WHERE k = 7')" "1" "nor does preloading"
	stop
fi
finish
