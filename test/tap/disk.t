# disk: a full disk, a directory without write permission and a file size limit lead to errors with
# the system's message.  Nothing is lost, reads work, and writes work again once the cause is
# removed.  Takes about 10 seconds.
#
# A full disk is simulated by a preloaded library, which refuses to write to files with certain names.
. "${0%/*}/common.sh"
W=$T/data/widetable
fill_disk() { echo "$1" >"$FULL_DISK"; } # for files with this in their names
free_disk() { rm -f "$FULL_DISK"; }

FULL_DISK=$T/full
PRELOAD=$T/full_disk.so
export FULL_DISK
"${CC:-cc}" -shared -fPIC -O1 -D_GNU_SOURCE -o "$PRELOAD" "${0%/*}/../host/full_disk/full_disk.c" -ldl
ok $? "the library that simulates a full disk builds"

value="(SELECT string_agg(md5(g || 'x' || i), '') FROM generate_series(1, 300) i)"

# the small cache leaves space in a small /dev/shm
new_cluster 'widetable.memtable_size = 1MB' 'widetable.cache_size = 8MB'
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE PROCEDURE load(a int, b int) LANGUAGE plpgsql AS
	 \$\$BEGIN FOR g IN a..b LOOP INSERT INTO w VALUES (g, $value); COMMIT; END LOOP; END\$\$" \
	'CALL load(1, 50)' 'SELECT widetable.flush()' >"$T/made" 2>&1 || cat "$T/made"
is "$(q 'SELECT count(*) FROM w')" "50" "the table is loaded"

# memtables fill up and cannot be flushed
fill_disk .sst.tmp
out=$(VERBOSITY=verbose q 'SET statement_timeout = 20000' 'CALL load(51, 2000)')
like "$out" '53100.*No space left on device' "once all memtables are full a writer fails with disk_full"
like "$out" 'HINT:  Make room' "the error has a hint"
n=$(q 'SELECT count(*) FROM w')
like "$n" '^[1-9][0-9][0-9]' "rows committed before are readable while the disk is full"
is "$(q "INSERT INTO w VALUES (-1, 'small')" 'DELETE FROM w WHERE k = -1' 'SELECT count(*) FROM w' | tail -n 1)" "$n" "small writes and reads work while the disk is full"
out=$(q 'BEGIN' "INSERT INTO w SELECT g, repeat('v', 1000) || g FROM generate_series(10001, 13000) g" 'COMMIT')
like "$out" 'No space left on device' "a large transaction fails as a whole"
is "$(q 'SELECT count(*) FROM w')" "$n" "the failed large transaction leaves no rows"
like "$(q 'SELECT widetable.flush()')" 'No space left on device' "flush() reports the full disk"
is "$(grep -c 'LOG:.*background work failed' "$T/server.log")" "1" "the worker logs the failure once"
free_disk
is "$(q 'CALL load(5001, 5100)')" "" "with free space writers work at once"
await 15 '^0$' 'SELECT memtables_waiting FROM widetable.pg_stat_widetable'
ok $? "with free space the waiting memtables are flushed"
is "$(q 'SELECT count(*) FROM w')" "$((n + 100))" "no row is missing after the full disk"
verify_store

# The first edit after a start creates a new manifest.  Without workers no other process creates it.
stop immediate
set_conf 'widetable.workers = 0'
start
is "$(q 'SELECT count(*) FROM w')" "$((n + 100))" "no row is missing after a crash"
fill_disk /manifest-
like "$(q 'CALL load(6001, 6010)' 'SELECT widetable.flush()')" 'No space left on device' "no space for a new manifest: flush() reports it"
is "$(q 'SELECT count(*) FROM w')" "$((n + 110))" "no space for a new manifest: reads and small writes work"
free_disk
is "$(q 'SELECT widetable.flush()' 'SELECT count(*) FROM w' 'SELECT * FROM widetable.verify()' | tr '\n' ' ')" " $((n + 110)) " "with free space flush() succeeds"

# a directory without write permission
chmod 500 "$W"
if touch "$W/probe" 2>/dev/null; then
	rm -f "$W/probe"; echo "ok - skipped: file permissions do not bind this user"
else
	q 'CALL load(7001, 7005)' >/dev/null
	like "$(q 'SELECT widetable.flush()')" 'Permission denied' "no permission: flush() reports it"
	like "$(q 'SELECT widetable.compact()')" 'Permission denied' "no permission: compact() reports it"
	is "$(q 'SELECT count(*) FROM w')" "$((n + 115))" "no permission: reads work"
	chmod 700 "$W"
	is "$(q 'SELECT widetable.compact()' 'SELECT count(*) FROM w' 'SELECT * FROM widetable.verify()' | tr '\n' ' ')" " $((n + 115)) " "with permission compact() succeeds"
fi
chmod 700 "$W"

# a file size limit: a write that fails half way
if prlimit --pid "$(head -n 1 "$T/data/postmaster.pid")" --fsize=20000000:unlimited 2>/dev/null; then
	out=$(q "INSERT INTO w SELECT g, $value FROM generate_series(20001, 24500) g")
	like "$out" 'File too large' "file size limit: a large transaction fails"
	prlimit --pid "$(head -n 1 "$T/data/postmaster.pid")" --fsize=unlimited
	is "$(q 'SELECT count(*) FROM w')" "$((n + 115))" "file size limit: the failed transaction leaves no rows"
	is "$(ls "$W" | grep -c tmp)" "0" "file size limit: the failed transaction leaves no file"
else
	echo "ok - skipped: prlimit is missing or not allowed"
fi
# recovery flushes memtables if WAL contains more than they can hold
stop fast; set_conf 'widetable.memtable_size = 4MB'; start
is "$(q 'CALL load(30001, 31000)')" "" "more than one small memtable is loaded"
# with a small /dev/shm memtables are smaller than configured, and the rows may be in files already
much=$(q 'SELECT memtable_bytes > 5000000 FROM widetable.pg_stat_widetable')
stop immediate; set_conf 'widetable.memtable_size = 1MB'; chmod 500 "$W"; start
if touch "$W/probe" 2>/dev/null; then
	rm -f "$W/probe"; echo "ok - skipped: file permissions do not bind this user"
elif [ "$much" != t ]; then echo "ok - skipped: too little shared memory"
else
	like "$(q 'SELECT count(*) FROM w')" 'ERROR:  could not open the store' "recovery without write permission fails"
	like "$(q 'SELECT count(*) FROM w')" 'DETAIL:  .*Permission denied' "the next attempt fails too, with the system's message"
	is "$(q 'SELECT 1')" "1" "the server is up"
fi
chmod 700 "$W"
is "$(q 'SELECT count(*) FROM w')" "$((n + 1115))" "with permission recovery succeeds"
verify_store
stop fast; start
is "$(q 'SELECT count(*) FROM w' 'SELECT * FROM widetable.verify()')" "$((n + 1115))" "no row is missing after a restart, and verify() finds no problem"
finish
