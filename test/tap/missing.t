# missing: a store that is missing is an error and never begins anew by itself: its directory is
# removed or empty, with and without preloading, after a clean stop and after a crash, and in a
# base backup that lacks it.  begin_empty() begins anew; a standby does the same.  Takes about 20
# seconds.
. "${0%/*}/common.sh"
STATE="SELECT state FROM widetable.pg_stat_widetable_health"
# gone TITLE: what sessions see while the store is missing
gone() {
	out=$(VERBOSITY=verbose q 'SELECT count(*) FROM t')
	like "$out" '^ERROR:  55000: the store of widetable is missing' "$1: a read fails"
	like "$out" 'widetable.begin_empty\(\)' "$1: the error names the way out"
	like "$(q "INSERT INTO t VALUES ('a', 1, 'b', '{}')")" 'the store of widetable is missing' "$1: a write fails"
	like "$(q "CREATE FOREIGN TABLE t2 (k int, v int) SERVER widetable OPTIONS (key 'k')")" 'the store of widetable is missing' "$1: a new table fails"
	like "$(q 'SELECT widetable.table_size('"'t'"')')" 'the store of widetable is missing' "$1: table_size() fails"
	like "$(in_db other "CREATE FOREIGN TABLE o2 (k int, v int) SERVER widetable OPTIONS (key 'k')")" 'the store of widetable is missing' "$1: a new table in another database fails"
	is "$(q 'SELECT count(*) FROM h')" "1" "$1: ordinary tables can be read"
	is "$(q "$STATE")" "missing" "$1: the view says so"
}
back() { rm -rf "$T/data/widetable"; cp -a "$T/kept" "$T/data/widetable"; }

new_cluster "wal_level = replica" "max_wal_senders = 4" "max_wal_size = 64MB"
is "$(q 'CREATE EXTENSION widetable' 'CREATE TABLE h (n int)' 'INSERT INTO h VALUES (1)' 'CREATE DATABASE other')" "" "a fresh cluster has no store"
in_db other 'CREATE EXTENSION widetable' >/dev/null
is "$(q "$STATE")" "none" "the view says none before the first table"
# ---- a store that cannot be made leaves nothing
SLOTS="SELECT count(*) FROM pg_replication_slots"
set_conf "widetable.directory = '/no/such'"; stop fast; start
like "$(q "$TABLE")" 'is not the location of a tablespace' "a store that cannot be made is an error"
is "$(q "$SLOTS" "$STATE")" "0
none" "no slot keeps WAL for it"
is "$(ls -d "$T"/data/widetable* 2>/dev/null)" "" "and no file is left"
set_conf "widetable.directory = ''"; stop fast; start
mkdir -p "$T/data/widetable.state.tmp/x"
like "$(q "$TABLE")" 'could not create file' "the same if the state file cannot be written"
is "$(q "$SLOTS" "$STATE")" "0
none" "no slot is left then, either"
rm -r "$T/data/widetable.state.tmp"
# a crash between the slot and the record with which the store begins
session holder 5
echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock begin-slot));" >&5
wait_output holder held
q "LOAD 'widetable'" "SET widetable.stop_at = 'begin-slot'" "$TABLE" >/dev/null 5>&- &
await_stopped 1
kill_server; exec 5>&-; wait; start
is "$(q "$SLOTS" "$STATE")" "1
none" "a crash leaves the slot, which does not say that there was a store"

q "$TABLE" "$FILL" >/dev/null
want=$(q "$SUM")

# ---- removed while the server is stopped
stop fast
cp -a "$T/data/widetable" "$T/kept"
rm -rf "$T/data/widetable"; start; gone "removed after a clean stop"
stop fast; mkdir "$T/data/widetable"; chmod 700 "$T/data/widetable"; start; gone "an empty directory"
stop immediate; start; gone "a crash with an empty directory"
is "$(ls "$T/data/widetable")" "" "nothing is written into the empty directory"
stop fast; set_conf "shared_preload_libraries = 'widetable'"; start; gone "preloaded"
stop fast; back; start
is "$(q "$SUM")" "$want" "put back in its place, the store opens"
# the state file is lost as well: the tables know
stop fast; rm -rf "$T/data/widetable" "$T/data/widetable.state"; start
like "$(q 'SELECT count(*) FROM t')" 'the store of widetable is missing' "without the state file, foreign tables say that there was a store"
like "$(q "INSERT INTO t VALUES ('a', 1, 'b', '{}')")" 'the store of widetable is missing' "and writes fail"
stop fast; back; start
is "$(q "$SUM")" "$want" "a store without a state file opens"

# ---- a base backup without the directory: a link is left out
"$BIN/pg_basebackup" -D "$T/data.link" -c fast --no-sync 2>&1
rm -rf "$T/data.link/widetable"
second "$T/data.link"
like "$(there "$T/data.link" 'SELECT count(*) FROM t')" 'the store of widetable is missing' "a base backup without the directory: a read fails"
stop_second "$T/data.link"; rm -rf "$T/data.link"

# ---- the way out, followed by a standby
"$BIN/pg_basebackup" -D "$T/data.standby" -R -c fast --no-sync 2>&1
second "$T/data.standby"
stop fast; rm -rf "$T/data/widetable"; start
q "CREATE ROLE bob LOGIN" >/dev/null
like "$(q 'SET ROLE bob' 'SELECT widetable.begin_empty()')" 'permission denied' "begin_empty() is for superusers"
is "$(q 'SELECT widetable.begin_empty()')" "" "begin_empty() succeeds"
is "$(q 'SELECT count(*) FROM t')" "0" "the table is empty"
q "$FILL" "INSERT INTO t VALUES ('new', 1, 'v', '{}')" >/dev/null
want=$(q "$SUM")
is "$(q 'SELECT widetable.begin_empty()' "$SUM")" "
$want" "begin_empty() leaves a store that is there as it is"
stop immediate; start
is "$(q "$SUM")" "$want" "after a crash all rows since are there"
lsn=$(q 'SELECT pg_current_wal_lsn()')
for _ in $(seq 50); do [ "$(there "$T/data.standby" "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && break; sleep 0.2; done
"$BIN/pg_ctl" -D "$T/data.standby" -w promote >/dev/null
is "$(there "$T/data.standby" "$SUM")" "$want" "a standby has begun anew at the same place"
is "$(there "$T/data.standby" 'SELECT * FROM widetable.verify()')" "" "the standby: verify() finds no problem"
stop_second "$T/data.standby"
finish
