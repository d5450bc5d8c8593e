# upgrade_kill: a new cluster that is killed while it takes a store over, at each step, takes it over
# when it is started again.  Takes 15 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/pg_upgrade.sh"

mkdir "$T/kill"
"${0%/*}/../host/kill/build" "$T/kill" >"$T/build.log" 2>&1 || { cat "$T/build.log"; echo "not ok - widetable_kill builds"; exit 1; }
new_cluster "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" 'SELECT widetable.flush()' "UPDATE t SET v = 'new' WHERE n % 3 = 0" \
	'CREATE DATABASE gone' >/dev/null
in_db gone 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE g (k int, v int) SERVER widetable' 'INSERT INTO g VALUES (1, 1)' >/dev/null
want=$(q "$SUM")
# the new cluster removes the files of its tables
q 'DROP DATABASE gone' 'SELECT widetable.prepare_upgrade()' >/dev/null
stop
cluster "$T/data.made" "$BIN"
upgrade "$OLD" "$T/data.made" "$BIN"; ok $? "pg_upgrade"
cp -a "$OLD/widetable" "$T/data.made/"

killed=
for point in recover-replayed manifest-sync manifest-switch; do
	new=$T/data.new
	cp -a "$T/data.made" "$new"
	WIDE_KILL_POINT=$point "$BIN/pg_ctl" -D "$new" -l "$new.log" -w -t 60 -o "-c shared_preload_libraries=$T/kill/widetable_kill.so,widetable -c restart_after_crash=off" start >/dev/null 2>&1 </dev/null
	for _ in $(seq 100); do q 'SELECT count(*) FROM t' >/dev/null; [ -e "$new/postmaster.pid" ] || break; sleep 0.1; done
	grep -qE "$KILLED" "$new.log" && killed="$killed $point"
	halt "$new" "$BIN" immediate
	rm -f "$new.log"
	run "$new" "$BIN"
	is "$(q "$SUM")" "$want" "killed at $point: the store is taken over"
	ok "$([ ! -e "$new/widetable/upgrade" ]; echo $?)" "killed at $point: and this cluster's"
	q "INSERT INTO t VALUES ('after', 1, 'v')" >/dev/null
	halt "$new" "$BIN" immediate
	run "$new" "$BIN"
	is "$(q "DELETE FROM t WHERE k = 'after' RETURNING v" "$SUM")" "v
$want" "killed at $point: it goes on"
	verify_store "killed at $point"
	halt "$new" "$BIN"
	rm -rf "$new"
	cat "$new.log" >>"$T/server.log"
done
is "$killed" ' recover-replayed manifest-sync manifest-switch' "the server was killed each time"
finish
