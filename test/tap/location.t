# location.t: widetable.directory puts the files of wide tables into a tablespace; backups, standbys and
# recovery to a point in time carry them.  A symbolic link instead of the directory is refused.  Takes
# about 40 seconds.
. "${0%/*}/common.sh"

W="CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')"
FILL="INSERT INTO w SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 5000) g"
SUM="SELECT count(*), md5(string_agg(v, ',' ORDER BY k)) FROM w"
export VERBOSITY=verbose
mkdir "$T/fast"; chmod 700 "$T/fast"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.directory = '$T/fast/'" "wal_keep_size = '256MB'" \
	"archive_mode = on" "archive_command = 'cp %p $T/archive/%f'"
mkdir "$T/archive"
# before anything is made
q 'CREATE EXTENSION widetable' "$W" >/dev/null 2>&1
error=$(q 'CREATE EXTENSION IF NOT EXISTS widetable' "$W")
like "$error" "ERROR:  22023: widetable.directory \"$T/fast\" is not the location of a tablespace" "a directory that is no tablespace is refused"
like "$error" "HINT:  CREATE TABLESPACE wide LOCATION '$T/fast'" "the hint says what to do"
ls "$T/data/widetable" >/dev/null 2>&1; is $? 2 "nothing was made"
is "$(q "ALTER SYSTEM SET widetable.directory = 'fast'" | sed -n 1,2p | cut -c1-75)" \
	'ERROR:  22023: invalid value for parameter "widetable.directory": "fast"
DETAIL:  It must be the location of a tablespace: an absolute path.' "a relative path is refused"
q "CREATE TABLESPACE wide LOCATION '$T/fast'" >/dev/null
is "$(q "$W")" "" "with a tablespace there the store is made"
F=$(echo "$T"/fast/PG_*/widetable)
like "$(q 'DROP TABLESPACE wide')" 'ERROR:  55000: tablespace "wide" is not empty' "the tablespace cannot be dropped, even before there are files"
is "$(q "$FILL" 'SELECT widetable.flush()' "$SUM" | sed '/^$/d' | cut -d'|' -f1)" "5000" "rows are stored"
files() { find "$1" -name '*.sst' 2>/dev/null | wc -l; }
[ "$(files "$F")" -gt 0 ]; ok $? "the files are in the tablespace"
is "$(files "$T/data/widetable")" 0 "and not in the data directory"
is "$(q 'SELECT * FROM widetable.verify()')" "" "verify() finds no problem"
want=$(q "$SUM")
q "INSERT INTO w VALUES (0, 'unflushed')" 'DELETE FROM w WHERE k = 0' >/dev/null
kill_server; start
is "$(q "$SUM")" "$want" "a crash loses nothing"

# the setting is fixed
try_setting() { stop; set_conf "widetable.directory = '$1'"; start; q "$SUM"; }
error=$(try_setting "")
like "$error" 'ERROR:  55000: widetable.directory was changed after the store was made' "an empty setting is an error"
like "$error" "DETAIL:  The files of wide tables are in \"$T/fast\"; the setting is \"\"" "it names both places"
like "$error" "HINT:  Set widetable.directory = '$T/fast' again" "and the way back"
like "$(try_setting /elsewhere)" "\"$T/fast\"; the setting is \"/elsewhere\"" "so is another directory"
is "$(try_setting "$T/fast")" "$want" "with the old setting all is there"

# a base backup and a standby, the tablespace in another place
mkdir "$T/fast2" "$T/fast3"
"$BIN/pg_basebackup" -D "$T/data.two" -c fast -R -X stream -T "$T/fast=$T/fast2" 2>&1 | grep -v '^NOTICE'
[ "$(files "$T/fast2")" -gt 0 ] && "$BIN/pg_verifybackup" -n "$T/data.two" >/dev/null 2>&1; ok $? "a base backup has the files"
sed -i "/^archive_command/d" "$T/data.two/postgresql.conf"
second "$T/data.two"
q "INSERT INTO w SELECT -g, 'new' FROM generate_series(1, 1000) g" CHECKPOINT >/dev/null
want=$(q "$SUM")
at=$(q 'SELECT pg_current_wal_lsn()')
for _ in $(seq 100); do [ "$(there "$T/data.two" "SELECT pg_last_wal_replay_lsn() >= '$at'")" = t ] && break; sleep 0.1; done
# recovery to a point in time, from a backup of its own
"$BIN/pg_basebackup" -D "$T/data.three" -c fast -X none -T "$T/fast=$T/fast3" 2>&1 | grep -v '^NOTICE'
q "INSERT INTO w VALUES (-5000, 'before')" "SELECT pg_create_restore_point('here')" "INSERT INTO w VALUES (-5001, 'after')" 'SELECT pg_switch_wal()' >/dev/null
touch "$T/data.three/recovery.signal"
printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "recovery_target_name = 'here'" "recovery_target_action = 'promote'" "archive_mode = off" \
	"widetable.directory = '$T/fast3'" >>"$T/data.three/postgresql.conf"
for _ in $(seq 100); do ls "$T"/archive/*.backup >/dev/null 2>&1 && [ -z "$(ls "$T"/data/pg_wal/archive_status/*.ready 2>/dev/null)" ] && break; sleep 0.1; done
second "$T/data.three"
for _ in $(seq 100); do [ "$(there "$T/data.three" 'SELECT pg_is_in_recovery()')" = f ] && break; sleep 0.1; done
is "$(there "$T/data.three" 'SELECT v FROM w WHERE k <= -5000')" "before" "recovery to a point in time: the rows of that time, the setting names the new place"
is "$(there "$T/data.three" 'SELECT * FROM widetable.verify()')" "" "verify() finds no problem there"
stop_second "$T/data.three"
"$BIN/pg_ctl" -D "$T/data.two" -w promote >/dev/null 2>&1
is "$(there "$T/data.two" 'DELETE FROM w WHERE k <= -5000' "$SUM")" "$want" "a promoted standby has all rows, the setting names the old place"
is "$(there "$T/data.two" "$FILL ON CONFLICT (k) DO NOTHING" 'SELECT widetable.compact()' 'SELECT * FROM widetable.verify()' 2>&1 | grep -v '^$' | grep -c PANIC)" 0 "and can be written"
stop_second "$T/data.two" immediate; second "$T/data.two"
is "$(there "$T/data.two" 'SELECT count(*) FROM w WHERE k < 0')" "1000" "a crash there loses nothing"
stop_second "$T/data.two"

# the disk is not there
stop; mv "$F" "$T/away"; start
like "$(q "$SUM")" 'ERROR:  55000: the files of wide tables are missing' "a missing disk is an error, not an empty table"
mv "$T/away" "$F"
is "$(q 'SELECT count(*) FROM w WHERE k < -1')" "1001" "with the disk all is there"

# moved into the data directory, as doc/backup.md says
stop
mv "$F"/*.sst "$T/data/widetable/" && rm "$T/data/widetable/LOCATION"
set_conf "widetable.directory = ''"
start
is "$(q 'SELECT count(*) FROM w WHERE k < -1' 'SELECT * FROM widetable.verify()')" "1001" "moved into the data directory"
# and back
stop
mv "$T/data/widetable"/*.sst "$F/" && rm "$F/README.txt"
for l in "$T"/data/pg_tblspc/*; do echo "tablespace ${l##*/} $(readlink "$l")"; done >"$T/data/widetable/LOCATION"
set_conf "widetable.directory = '$T/fast'"
start
is "$(q 'SELECT count(*) FROM w WHERE k < -1' 'SELECT * FROM widetable.verify()')" "1001" "moved into the tablespace"
[ -f "$F/README.txt" ]; ok $? "which cannot be dropped again"
stop
mv "$F"/*.sst "$T/data/widetable/" && rm "$T/data/widetable/LOCATION"
set_conf "widetable.directory = ''"
start
like "$(try_setting "$T/fast")" "ERROR:  55000: widetable.directory was set after the store was made" "a setting for a store in the data directory is an error"
set_conf "widetable.directory = ''"

# a symbolic link
stop
mv "$T/data/widetable" "$T/linked" && ln -s "$T/linked" "$T/data/widetable"
start
error=$(q "$SUM")
like "$error" 'ERROR:  55000: directory "widetable" in the data directory is a symbolic link' "a link is refused"
like "$error" 'HINT:  .*widetable.directory' "the hint names the setting"
rm "$T/data/widetable" && mv "$T/linked" "$T/data/widetable"
is "$(q 'SELECT count(*) FROM w WHERE k < -1')" "1001" "back in its place it is used"
stop

# checksums: programs that look for tables in a tablespace do no harm
INITDB=-k
mv "$T/data" "$T/first"; rm -rf "$T/fast"; mkdir "$T/fast" "$T/fast4" "$T/fast5"
new_cluster "widetable.directory = '$T/fast'"
q "CREATE TABLESPACE wide LOCATION '$T/fast'" 'CREATE EXTENSION widetable' "$W" "$FILL" 'SELECT widetable.flush()' CHECKPOINT >/dev/null 2>&1
"$BIN/pg_basebackup" -D "$T/plain" -c fast -T "$T/fast=$T/fast4" >"$T/backup.log" 2>&1; r=$?
if [ "$(q 'SHOW server_version_num')" -ge 170000 ]; then is $r 0 "with checksums: pg_basebackup works"
else
	[ $r != 0 ]; ok $? "with checksums, before PostgreSQL 17: pg_basebackup refuses"
	like "$(cat "$T/server.log")" 'WARNING: .*pg_basebackup needs --no-verify-checksums' "the log has said so"
fi
"$BIN/pg_basebackup" -D "$T/unverified" -c fast --no-verify-checksums -T "$T/fast=$T/fast5" >/dev/null 2>&1; ok $? "with --no-verify-checksums it works"
stop
sums() { cat "$T"/fast/PG_*/widetable/* "$T"/data/widetable/* | cksum; }
a=$(sums)
"$BIN/pg_checksums" --disable -D "$T/data" >/dev/null 2>&1
"$BIN/pg_checksums" --enable -D "$T/data" >"$T/checksums.log" 2>&1; [ $? != 0 ]; ok $? "pg_checksums --enable stops"
is "$(sums)" "$a" "and has changed no file of wide tables"
start
is "$(q 'SELECT count(*) FROM w' 'SELECT * FROM widetable.verify()')" "5000" "they are read as before"
finish
