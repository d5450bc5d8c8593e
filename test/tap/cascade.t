# cascade: a standby of a standby reads what the primary has committed; the one in the middle is
# promoted and the last follows it to the new timeline; a standby whose primary cannot be reached
# goes on from the archive and comes back; tables for which a standby has no room are an error until it
# has.  Takes about 30 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "max_wal_size = 64MB" "min_wal_size = 32MB" \
	"archive_mode = on" "archive_command = 'cp %p $T/archive/%f'" "wal_retrieve_retry_interval = 200ms"
mkdir "$T/archive"
P=$T/data; ln -s s "$P.s"
q 'CREATE EXTENSION widetable' 'CREATE TABLE o (n int, v text)' "CREATE FOREIGN TABLE w (n int, v text) SERVER widetable OPTIONS (key 'n')" \
	"CREATE FOREIGN TABLE big (i int, n int, v text) SERVER widetable OPTIONS (key 'i, n')" >/dev/null
both() { there "$1" "DO \$\$ BEGIN FOR i IN $2..$3 LOOP INSERT INTO o VALUES (i, '$4'); INSERT INTO w VALUES (i, '$4'); COMMIT; END LOOP; END \$\$"; }
rows="SELECT (SELECT count(*) FROM o), (SELECT count(*) FROM w), (SELECT count(*) FROM o JOIN w USING (n, v)), (SELECT string_agg(v || ' ' || c, ', ' ORDER BY v) FROM (SELECT v, count(*) AS c FROM w GROUP BY v) x), (SELECT count(*) FROM big)"
await_there() { for _ in $(seq 300); do there "$1" "$3" | grep -qE -- "$2" && return 0; sleep 0.1; done; return 1; }
# agree FROM TO TITLE
agree() {
	want=$(there "$1" "$rows")
	lsn=$(there "$1" 'SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END')
	await_there "$2" '^t$' "SELECT pg_last_wal_replay_lsn() >= '$lsn'" || { echo "not ok - $3: it catches up"; BAD=1; tail -n 5 "$2.log"; }
	is "$(there "$2" "$rows")" "$want" "$3: the rows are the same"
}
follow() { printf '%s\n' "primary_conninfo = 'host=$2.s user=postgres'" >"$1/postgresql.auto.conf"; touch "$1/standby.signal"; }
both "$P" 1 100 first
"$BIN/pg_basebackup" -D "$T/data.mid" -c fast --no-sync 2>&1
follow "$T/data.mid" "$P"
echo "archive_mode = off" >>"$T/data.mid/postgresql.conf"
second "$T/data.mid"
PGHOST=$T/data.mid.s "$BIN/pg_basebackup" -D "$T/data.last" -c fast --no-sync 2>&1
follow "$T/data.last" "$T/data.mid"
second "$T/data.last"
both "$P" 101 300 second
q "INSERT INTO big SELECT 1, g, md5(g::text) FROM generate_series(1, 40000) g" 'SELECT widetable.flush()' 'CHECKPOINT' >/dev/null
agree "$P" "$T/data.mid" "the middle"
agree "$P" "$T/data.last" "the last"
is "$(there "$T/data.last" "SELECT (SELECT sender_host FROM pg_stat_wal_receiver)")" "$T/data.mid.s" "the last standby is one of the middle"

# ---- a standby falls back to the archive and comes back
there "$T/data.last" "ALTER SYSTEM SET restore_command = 'cp $T/archive/%f %p'" "ALTER SYSTEM SET primary_conninfo = 'host=$T/nowhere user=postgres'" 'SELECT pg_reload_conf()' >/dev/null
await_there "$T/data.last" '^0$' 'SELECT count(*) FROM pg_stat_wal_receiver'; ok $? "the last standby has lost its primary"
both "$P" 301 500 archived
q "INSERT INTO big SELECT 2, g, md5(g::text) FROM generate_series(1, 60000) g" 'SELECT pg_switch_wal()' >/dev/null
for n in 1 2 3; do q 'CHECKPOINT' "INSERT INTO w VALUES (-$n, 'a')" "INSERT INTO o VALUES (-$n, 'a')" 'SELECT pg_switch_wal()' >/dev/null; done
agree "$P" "$T/data.last" "from the archive"
there "$T/data.last" CHECKPOINT >/dev/null
both "$P" 501 600 streamed
there "$T/data.last" "ALTER SYSTEM SET primary_conninfo = 'host=$T/data.mid.s user=postgres'" 'SELECT pg_reload_conf()' >/dev/null
await_there "$T/data.last" '^1$' "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'"; ok $? "the last standby streams again"
agree "$P" "$T/data.last" "streaming again"

# ---- the middle is promoted, with readers on the last
agree "$P" "$T/data.mid" "before the promotion"
stop immediate
rm "$T/data.last/postgresql.auto.conf"; printf '%s\n' "primary_conninfo = 'host=$T/data.mid.s user=postgres'" >"$T/data.last/postgresql.auto.conf"
there "$T/data.last" 'SELECT pg_reload_conf()' >/dev/null
PGHOST=$T/data.last.s; session reader 3; PGHOST=$T/s
printf '%s\n' 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM w;' >&3
wait_output reader '^[0-9]+$'
"$BIN/pg_ctl" -D "$T/data.mid" -w promote >/dev/null
both "$T/data.mid" 601 800 promoted
there "$T/data.mid" "INSERT INTO big SELECT 3, g, md5(g::text) FROM generate_series(1, 40000) g" >/dev/null
agree "$T/data.mid" "$T/data.last" "after the promotion"
is "$(there "$T/data.last" 'SELECT received_tli FROM pg_stat_wal_receiver')" "2" "the last standby is on the new timeline"
printf '%s\n' 'SELECT count(*) FROM w; COMMIT; SELECT count(*) FROM w;' '\echo done' >&3
exec 3>&-
wait_output reader '^done$'
is "$(tr '\n' ' ' <"$T/reader.out")" "603 603 803 done " "a reader on the last keeps its snapshot over the promotion"
stop_second "$T/data.last" immediate; second "$T/data.last"
both "$T/data.mid" 801 810 restarted
agree "$T/data.mid" "$T/data.last" "after a crash"

# ---- the last has room for fewer tables than the middle
stop_second "$T/data.last"
echo "widetable.max_tables = 10" >>"$T/data.last/postgresql.conf"
second "$T/data.last"
agree "$T/data.mid" "$T/data.last" "with room for ten tables"
there "$T/data.mid" "DO \$\$ BEGIN FOR i IN 1..12 LOOP EXECUTE format('CREATE FOREIGN TABLE more%s (n int) SERVER widetable OPTIONS (key ''n'')', i); EXECUTE format('INSERT INTO more%s VALUES (1)', i); COMMIT; END LOOP; END \$\$" >/dev/null
await_there "$T/data.last" '^failed' 'SELECT state FROM widetable.pg_stat_widetable_health'; ok $? "a standby without room for another table: the health view says so"
like "$(there "$T/data.last" 'SELECT last_error FROM widetable.pg_stat_widetable_health')" 'no room .*max_tables' "... and why"
like "$(VERBOSITY=verbose there "$T/data.last" 'SELECT count(*) FROM w')" '55000.*cannot be read' "... and a read reports it"
stop_second "$T/data.last"
sed -i '/^widetable.max_tables/d' "$T/data.last/postgresql.conf"
second "$T/data.last"
agree "$T/data.mid" "$T/data.last" "with room again"
is "$(there "$T/data.last" 'SELECT n FROM more12')" "1" "with room again: the newest table is there"
ok "$(! grep -q 'PANIC' "$T/data.last.log"; echo $?)" "the standby has not crashed"
for d in mid last; do is "$(there "$T/data.$d" 'SELECT * FROM widetable.verify()')" "" "$d: verify() finds no problem"; done
stop_second "$T/data.last"; stop_second "$T/data.mid"
finish
