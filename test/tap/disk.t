# disk: a full disk, a directory that cannot be written and files that may not
# grow are errors that say so; nothing is lost, reads go on, and so does all else
# as soon as there is room.
#
# A full disk: the files that the store is going to make are there already, as
# links to /dev/full.
. "${0%/*}/common.sh"
W=$T/data/widetable
next_file() { # number of the newest sorted file + 1
	n_=$(cd "$W" && ls | sed -n 's/^\([0-9a-f]*\)\.sst\(\.tmp\)\{0,1\}$/\1/p' | sort | tail -n 1)
	echo $((0x${n_:-0} + 1))
}
fill_disk() { # sst | manifest
	i_=0
	case $1 in
		sst) n_=$(next_file); while [ $i_ -lt 300 ]; do ln -s /dev/full "$W/$(printf '%08x.sst.tmp' $((n_ + i_)))" 2>/dev/null; i_=$((i_ + 1)); done ;;
		manifest) n_=$((0x$(ls "$W" | sed -n 's/^manifest-//p' | sort | tail -n 1)))
			rm -f "$W/CURRENT.tmp"
			while [ $i_ -lt 100 ]; do i_=$((i_ + 1)); ln -s /dev/full "$W/$(printf 'manifest-%08x' $((n_ + i_)))" 2>/dev/null; done ;;
	esac
}
free_disk() { find "$W" -type l -exec rm -f {} +; }

value="(SELECT string_agg(md5(g || 'x' || i), '') FROM generate_series(1, 300) i)"

# a small cache leaves room in a small /dev/shm
new_cluster 'widetable.memtable_size = 1MB' 'widetable.cache_size = 8MB'
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE PROCEDURE load(a int, b int) LANGUAGE plpgsql AS
	 \$\$BEGIN FOR g IN a..b LOOP INSERT INTO w VALUES (g, $value); COMMIT; END LOOP; END\$\$" \
	'CALL load(1, 50)' 'SELECT widetable.flush()' >"$T/made" 2>&1 || cat "$T/made"
is "$(q 'SELECT count(*) FROM w')" "50" "the table is there"

# memtables fill up
fill_disk sst
out=$(VERBOSITY=verbose q 'SET statement_timeout = 20000' 'CALL load(51, 2000)')
like "$out" '53100.*No space left on device' "writers get disk_full once memory is full"
like "$out" 'HINT:  Make room' "with a hint"
n=$(q 'SELECT count(*) FROM w')
like "$n" '^[1-9][0-9][0-9]' "what was committed until then is there, and read while the disk is full"
is "$(q "INSERT INTO w VALUES (-1, 'small')" 'DELETE FROM w WHERE k = -1' 'SELECT count(*) FROM w' | tail -n 1)" "$n" "reads go on"
out=$(q 'BEGIN' "INSERT INTO w SELECT g, repeat('v', 1000) || g FROM generate_series(10001, 13000) g" 'COMMIT')
like "$out" 'No space left on device' "a large transaction fails as a whole"
is "$(q 'SELECT count(*) FROM w')" "$n" "and leaves nothing"
like "$(q 'SELECT widetable.flush()')" 'No space left on device' "flush() says so"
is "$(grep -c 'LOG:.*background work failed' "$T/server.log")" "1" "the worker says it once"
free_disk
is "$(q 'CALL load(5001, 5100)')" "" "with room, writers go on at once"
await 15 '^0$' 'SELECT memtables_waiting FROM widetable.pg_stat_widetable'
ok $? "what waits in memory is written to files"
is "$(q 'SELECT count(*) FROM w')" "$((n + 100))" "nothing is missing"
verify_store

# the manifest: after a start the first edit makes a new one; nobody else may make it meanwhile
stop immediate
set_conf 'widetable.workers = 0'
start
is "$(q 'SELECT count(*) FROM w')" "$((n + 100))" "nothing is missing after a crash"
fill_disk manifest
like "$(q 'CALL load(6001, 6010)' 'SELECT widetable.flush()')" 'No space left on device' "no room for a new manifest: flush() says so"
is "$(q 'SELECT count(*) FROM w')" "$((n + 110))" "reads and small writes go on"
free_disk
is "$(q 'SELECT widetable.flush()' 'SELECT count(*) FROM w' 'SELECT * FROM widetable.verify()' | tr '\n' ' ')" " $((n + 110)) " "with room it goes on"

# a directory that takes no files
chmod 500 "$W"
if touch "$W/probe" 2>/dev/null; then
	rm -f "$W/probe"; echo "ok - skipped: this user may write everywhere"
else
	q 'CALL load(7001, 7005)' >/dev/null
	like "$(q 'SELECT widetable.flush()')" 'Permission denied' "no permission: flush() says so"
	like "$(q 'SELECT widetable.compact()')" 'Permission denied' "so does compact()"
	is "$(q 'SELECT count(*) FROM w')" "$((n + 115))" "reads go on"
	chmod 700 "$W"
	is "$(q 'SELECT widetable.compact()' 'SELECT count(*) FROM w' 'SELECT * FROM widetable.verify()' | tr '\n' ' ')" " $((n + 115)) " "with permission it goes on"
fi
chmod 700 "$W"

# files that may not grow: a real write that fails half way
if prlimit --pid "$(head -n 1 "$T/data/postmaster.pid")" --fsize=20000000:unlimited 2>/dev/null; then
	out=$(q "INSERT INTO w SELECT g, $value FROM generate_series(20001, 24500) g")
	like "$out" 'File too large' "a file that may not grow: a large transaction fails"
	prlimit --pid "$(head -n 1 "$T/data/postmaster.pid")" --fsize=unlimited
	is "$(q 'SELECT count(*) FROM w')" "$((n + 115))" "and leaves nothing"
	is "$(ls "$W" | grep -c tmp)" "0" "not in the directory either"
else
	echo "ok - skipped: no prlimit"
fi
# recovery writes files when the log has more than fits into memory
stop fast; set_conf 'widetable.memtable_size = 4MB'; start
is "$(q 'CALL load(30001, 31000)')" "" "much is in memory only"
# not where /dev/shm is short: then the memtables are smaller than asked for
much=$(q 'SELECT memtable_bytes > 5000000 FROM widetable.pg_stat_widetable')
stop immediate; set_conf 'widetable.memtable_size = 1MB'; chmod 500 "$W"; start
if touch "$W/probe" 2>/dev/null; then
	rm -f "$W/probe"; echo "ok - skipped: this user may write everywhere"
elif [ "$much" != t ]; then echo "ok - skipped: there is too little shared memory"
else
	like "$(q 'SELECT count(*) FROM w')" 'ERROR:  could not open the store' "recovery that cannot write: an error"
	like "$(q 'SELECT count(*) FROM w')" 'DETAIL:  .*Permission denied' "each time, which says so"
	is "$(q 'SELECT 1')" "1" "the server runs"
fi
chmod 700 "$W"
is "$(q 'SELECT count(*) FROM w')" "$((n + 1115))" "when it can it goes on"
verify_store
stop fast; start
is "$(q 'SELECT count(*) FROM w' 'SELECT * FROM widetable.verify()')" "$((n + 1115))" "nothing is missing after a restart"
finish
