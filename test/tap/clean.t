# clean: after a clean stop the files have everything: the slot is gone, no WAL is needed, and the
# server starts without slots or with wal_level minimal.  The same after the keeper was told to end
# while the server goes on.  Takes about 20 seconds.
. "${0%/*}/common.sh"
SLOTS="SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'widetable'"
STATE="SELECT state FROM widetable.pg_stat_widetable_health"
# A stop that comes before the keeper has begun, which a busy machine makes some time after the first use, closes nothing.
begun() { await 30 '^t$' "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'widetable keeper' AND state = 'idle')"; }
busy() { for b_ in 1 2 3 4 5; do q 'INSERT INTO h SELECT g FROM generate_series(1, 1000) g' 'SELECT pg_switch_wal()' 'CHECKPOINT' >/dev/null; done; }
# the segment in which the store was closed is gone
oldest() { find "$T/data/pg_wal" -maxdepth 1 -name '0*' | sort | head -n 1; }

new_cluster "max_wal_size = 32MB" "min_wal_size = 32MB" "max_slot_wal_keep_size = 1MB"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" 'CREATE TABLE h (n int)' >/dev/null
want=$(q "$SUM")
is "$(q "$SLOTS")" "1" "a server that writes has its slot"
stop fast
is "$(ls "$T/data/pg_replslot")" "" "a clean stop leaves no slot"
closed=$(oldest)
start
is "$(q "$SLOTS" "$STATE")" "0
closed" "not preloaded: before the first use there is none"
busy; busy
is "$(ls "$closed" 2>&1 | grep -c 'No such file')" "1" "WAL from before the stop is removed"
is "$(q "$SUM")" "$want" "all rows are there without it"
is "$(q "UPDATE t SET v = 'after' WHERE k = 'k1'" "$SLOTS" "$STATE")" "1
open" "the store can be written, and has a slot"
want=$(q "$SUM")
stop immediate; start
is "$(q "$SUM")" "$want" "after a crash all rows are there"

# a crash of a server that has not used the store
stop fast; start; busy; stop immediate; start; busy
is "$(q "$SUM")" "$want" "after a crash without any use all rows are there"
q "UPDATE t SET v = 'later' WHERE k = 'k2'" >/dev/null
want=$(q "$SUM")
stop immediate; start
is "$(q "$SUM")" "$want" "and again after writes and a crash"

# PostgreSQL removes segments in any order: the first one of those that are not needed may be there still
begun; stop fast; set_conf "wal_keep_size = 1GB"
closed=$(LC_ALL=C "$BIN/pg_controldata" "$T/data" | sed -n 's/.*REDO WAL file: *//p')
start; busy
rm "$T/data/pg_wal/$(q "SELECT pg_walfile_name(pg_lsn '0/0' + (('x' || substr('$closed', 9, 8))::bit(32)::bigint << 32) + ((('x' || substr('$closed', 17, 8))::bit(32)::bigint + 1) << 24) + 1)")"
is "$(ls "$T/data/pg_wal/$closed")" "$T/data/pg_wal/$closed" "WAL from before the stop is there, and has a gap behind it"
is "$(q "$SUM")" "$want" "all rows are there"
set_conf "wal_keep_size = 0"

# settings with which PostgreSQL does not start where there is a slot
begun; stop fast; set_conf "max_replication_slots = 0"
start; ok $? "after a clean stop the server starts with max_replication_slots = 0"
like "$(q "$SUM")" 'needs a replication slot, and none is free' "wide tables say what they need"
stop fast; set_conf "max_replication_slots = 4" "wal_level = minimal" "max_wal_senders = 0"
start; ok $? "after a clean stop the server starts with wal_level = minimal"
like "$(q "$SUM")" 'needs wal_level "replica"' "wide tables say what they need"
busy
stop fast; set_conf "wal_level = replica" "max_wal_senders = 4"; start; busy
is "$(q "$SUM")" "$want" "with the settings of before all rows are there"

# pg_resetwal after a clean stop
begun; stop fast
"$BIN/pg_resetwal" -D "$T/data" >/dev/null; ok $? "pg_resetwal succeeds"
start
is "$(q "$SUM")" "$want" "all rows are there after pg_resetwal"

# ---- preloaded; the keeper ends while the server goes on, and while sessions go on
stop fast; set_conf "shared_preload_libraries = 'widetable'"; start
is "$(q "$SUM")" "$want" "preloaded: all rows are there"
# the server cannot have a slot, and crashes: it still has not used the store
stop fast; set_conf "max_replication_slots = 0"; start; busy
stop immediate; start; busy; busy
like "$(q "$SUM")" 'needs a replication slot, and none is free' "preloaded: without slots wide tables say what they need"
stop fast; set_conf "max_replication_slots = 4"; start
is "$(q "$SUM")" "$want" "preloaded: a crash of a server that could not use the store loses nothing"
session idle 8
echo "UPDATE t SET v = 'idle' WHERE k = 'k4'; SELECT 'ready';" >&8
wait_output idle ready
for i in 1 2 3; do
	q "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'widetable keeper'" "UPDATE t SET v = 'without $i' WHERE k = 'k3'" >/dev/null
	echo "UPDATE t SET v = 'idle $i' WHERE k = 'k4'; SELECT 'done $i';" >&8
	wait_output idle "done $i"
	# until then nothing flushes, and max_slot_wal_keep_size lets the log go
	begun; busy
done
exec 8>&-
want=$(q "$SUM")
stop immediate; start; busy
is "$(q "$SUM")" "$want" "the keeper has ended three times between commits: nothing is lost in a crash"

# ---- a standby made of a closed directory, and of one whose server goes on
stop fast
cp -a "$T/data" "$T/data.copy"
rm -rf "$T/data.copy.s"
start
printf '%s\n' "primary_conninfo = 'host=$T/s user=postgres'" >>"$T/data.copy/postgresql.conf"
touch "$T/data.copy/standby.signal"
second "$T/data.copy"
q "UPDATE t SET v = 'streamed' WHERE k = 'k5'" >/dev/null
want=$(q "$SUM")
lsn=$(q 'SELECT pg_current_wal_lsn()')
for _ in $(seq 50); do [ "$(there "$T/data.copy" "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && break; sleep 0.2; done
"$BIN/pg_ctl" -D "$T/data.copy" -w promote >/dev/null
is "$(there "$T/data.copy" "$SUM")" "$want" "a standby of a copy that was closed has all rows"
stop_second "$T/data.copy"
verify_store

# ---- a backup of a store at rest, which is opened again while the backup runs
q 'DROP FOREIGN TABLE t' >/dev/null
await 15 resting "$STATE"
cat >"$T/copy.sh" <<COPY
cd $T/data && mkdir $T/data.rest && chmod 700 $T/data.rest
for f in *; do case \$f in pg_wal|pg_replslot|postmaster.*) ;; *) cp -a \$f $T/data.rest/ ;; esac; done
mkdir -p $T/data.rest/pg_wal/archive_status $T/data.rest/pg_replslot
COPY
printf '%s\n' "SELECT 'started' FROM pg_backup_start('by hand', true);" "\\! sh $T/copy.sh" "$TABLE;" "$FILL;" "\\o $T/data.rest/backup_label" \
	"SELECT labelfile FROM pg_backup_stop(false);" '\o' | "$BIN/psql" -XqAt >"$T/hand" 2>&1
cp "$T"/data/pg_wal/0* "$T/data.rest/pg_wal/"
echo "max_slot_wal_keep_size = -1" >>"$T/data.rest/postgresql.conf"
want=$(q "$SUM")
cp -a "$T/data.rest" "$T/data.bare"
second "$T/data.rest"
is "$(there "$T/data.rest" "$SUM")" "$want" "a backup that has copied a store at rest has what was written during the backup"
stop_second "$T/data.rest"
sed -i '/^shared_preload_libraries/d' "$T/data.bare/postgresql.conf"
second "$T/data.bare"
like "$(there "$T/data.bare" "$SUM" | tr '\n' ' ')" "$(printf '%s' "$want" | tr '|' '.')|WAL that wide tables need is missing" "not preloaded: the same, or an error"
stop_second "$T/data.bare"
finish
