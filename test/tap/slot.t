# slot: if the store's replication slot is dropped or invalidated, the next commit creates it again
# and no row is lost.  If no slot is free, commits and the first use fail with a hint.  If WAL that
# the store needs is gone, opening it fails, unless widetable.ignore_missing_wal is set.  Takes
# about 10 seconds.
. "${0%/*}/common.sh"
SLOT="SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'widetable'"
# produces WAL and lets checkpoints remove what no slot keeps
busy() { for b_ in 1 2 3; do q 'INSERT INTO h SELECT g FROM generate_series(1, 1000) g' 'SELECT pg_switch_wal()' 'CHECKPOINT' >/dev/null; done; }

new_cluster "max_replication_slots = 2" "max_wal_size = 32MB" "min_wal_size = 32MB"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" 'CREATE TABLE h (n int)' >/dev/null
want=$(q "$SUM")
await 5 '^t$' "SELECT active FROM pg_replication_slots WHERE slot_name = 'widetable'"
like "$(q "SELECT pg_drop_replication_slot('widetable')")" 'is active for PID' "the slot cannot be dropped while a process holds it"
set_conf "max_slot_wal_keep_size = 1MB"; q 'SELECT pg_reload_conf()' >/dev/null
q "UPDATE t SET v = 'before' WHERE k = 'k1'" >/dev/null
busy; busy
q "UPDATE t SET v = 'after' WHERE k = 'k2'" >/dev/null
want=$(q "$SUM")
is "$(q "SELECT wal_status <> 'lost', restart_lsn IS NOT NULL FROM pg_replication_slots")" "t|t" "max_slot_wal_keep_size does not invalidate a slot that advances with the checkpoints"
stop immediate; start
is "$(q "$SUM")" "$want" "the rows are there after a crash"

# ---- without workers: no process holds the slot, sessions maintain it
stop fast; set_conf "widetable.workers = 0" "max_slot_wal_keep_size = -1"; start
q "UPDATE t SET v = 'x' WHERE k = 'k3'" >/dev/null
want=$(q "$SUM")
q "UPDATE t SET n = n WHERE k = 'k3'" "SELECT pg_drop_replication_slot('widetable')" >/dev/null
is "$(q "$SLOT")" "0" "the slot can be dropped while the server runs"
is "$(q "UPDATE t SET v = 'y' WHERE k = 'k4' AND n < 100")" "" "slot dropped: the next commit succeeds"
is "$(q "$SLOT")" "1" "slot dropped: the commit creates it again"
# several sessions find the slot missing at the same time
q "CREATE FOREIGN TABLE many (k int, v int) SERVER widetable OPTIONS (key 'k')" >/dev/null
for s_ in 1 2 3 4 5 6; do
	{ for i_ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "INSERT INTO many VALUES ($s_$i_, 1); SELECT pg_sleep(0.02);"; done; echo "SELECT pg_sleep(20);"; } |
		PGAPPNAME=many timeout 30 "$BIN/psql" -XqAt >>"$T/many.log" 2>&1 &
done
for i_ in 1 2 3 4 5 6 7 8; do q "SELECT pg_drop_replication_slot('widetable')" >/dev/null & sleep 0.1; done
is "$(q "SET statement_timeout = '5s'" CHECKPOINT)" "" "a checkpoint succeeds after several sessions have created the slot again"
q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'many'" >/dev/null
wait
q "INSERT INTO many VALUES (0, 0)" >/dev/null
want=$(q "$SUM")
busy
stop immediate; start
is "$(q "$SUM")" "$want" "slot dropped: no row is lost in a crash"
# invalidated
set_conf "max_slot_wal_keep_size = 1MB"; q 'SELECT pg_reload_conf()' >/dev/null
q "UPDATE t SET v = 'z' WHERE k = 'k5' AND n < 100" >/dev/null
busy; busy
like "$(q "SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'widetable'")" 'lost|unreserved' "max_slot_wal_keep_size invalidates a slot that does not advance"
want=$(q "$SUM")
is "$(q "UPDATE t SET v = 'zz' WHERE k = 'k6' AND n < 100")" "" "slot invalidated: the next commit succeeds"
want=$(q "$SUM")
like "$(q "SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'widetable'")" '^reserved|^extended' "slot invalidated: the commit creates it again"
set_conf "max_slot_wal_keep_size = -1"; q 'SELECT pg_reload_conf()' >/dev/null
stop immediate; start
is "$(q "$SUM")" "$want" "slot invalidated: no row is lost in a crash"
# all slots are in use
q "SELECT pg_drop_replication_slot('widetable')" "SELECT pg_create_physical_replication_slot('a')" "SELECT pg_create_physical_replication_slot('b')" >/dev/null
out=$(VERBOSITY=verbose q "UPDATE t SET v = 'no' WHERE k = 'k7'")
like "$out" '55000: cannot write to wide tables: replication slot "widetable" is lost' "no free slot: a commit fails"
like "$out" 'increase max_replication_slots \(now 2\)' "no free slot: the error names the remedy"
is "$(q "$SUM")" "$want" "no free slot: the commit is rolled back, and reads work"
q "SELECT pg_drop_replication_slot('a')" >/dev/null
is "$(q "UPDATE t SET v = 'yes' WHERE k = 'k7' AND n < 100")" "" "with a free slot the next commit succeeds"
want=$(q "$SUM")
# no free slot at the start
stop fast; rm -rf "$T/data/pg_replslot/widetable"; start
q "SELECT pg_create_physical_replication_slot('a')" >/dev/null
like "$(q "SELECT count(*) FROM t")" 'widetable needs a replication slot, and none is free' "no free slot at the start: the first use fails and says so"
q "SELECT pg_drop_replication_slot('a')" >/dev/null
is "$(q "$SUM")" "$want" "with a free slot the first use succeeds"

# ---- WAL is lost
q "SELECT widetable.flush()" >/dev/null
flushed=$(q "$SUM")
q "UPDATE t SET v = 'lost' WHERE k = 'k8'" >/dev/null
stop immediate
rm -rf "$T/data/pg_replslot/widetable" "$T/data/pg_replslot/b"
start; busy; busy
before=$(ls "$T/data/widetable")
out=$(VERBOSITY=verbose q "$SUM")
like "$out" '55000: WAL that wide tables need is missing' "WAL missing: the first use fails and says so"
like "$out" 'widetable.ignore_missing_wal' "WAL missing: the error names the setting"
is "$(ls "$T/data/widetable")" "$before" "WAL missing: no file is removed"
like "$(q 'SET widetable.ignore_missing_wal = on' "$SUM")" "$(printf '%s' "$flushed" | tr '|' '.')" "with ignore_missing_wal the rows in files are there"
is "$(q "UPDATE t SET v = 'found' WHERE k = 'k8' AND n < 100" 'SELECT * FROM widetable.verify()')" "" "with ignore_missing_wal the store can be written, and verify() finds no problem"
want=$(q "$SUM")
stop immediate; start
is "$(q "$SUM")" "$want" "afterwards the store opens without the setting"
finish
