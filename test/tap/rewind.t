# rewind: after a failover pg_rewind makes a standby of the old primary, whose store is ahead of the
# point at which the servers parted: with commits on both sides of it, in files and in memtables, a
# table that was dropped or made on one side only, and a large load.  The source may be stopped or
# run.  Takes about 40 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "wal_log_hints = on" "widetable.memtable_size = 1MB" "wal_keep_size = 512MB"
q 'CREATE EXTENSION widetable' 'CREATE TABLE o (n int, v text)' "CREATE FOREIGN TABLE w (n int, v text) SERVER widetable OPTIONS (key 'n')" \
	"CREATE FOREIGN TABLE big (i int, n int, v text) SERVER widetable OPTIONS (key 'i, n')" \
	"CREATE FOREIGN TABLE gone (n int) SERVER widetable OPTIONS (key 'n')" 'INSERT INTO gone VALUES (1), (2)' \
	"INSERT INTO big SELECT 0, g, md5(g::text) FROM generate_series(1, 20000) g" >/dev/null
# both DIR FROM TO TEXT: the same rows into an ordinary and a wide table, in one transaction each
both() { there "$1" "DO \$\$ BEGIN FOR i IN $2..$3 LOOP INSERT INTO o VALUES (i, '$4'); INSERT INTO w VALUES (i, '$4'); COMMIT; END LOOP; END \$\$"; }
P=$T/data; ln -s s "$P.s"
both "$P" 1 200 common
"$BIN/pg_basebackup" -D "$T/data.two" -R -c fast --no-sync 2>&1
second "$T/data.two"
caught_up() { lsn=$(there "$1" 'SELECT pg_current_wal_lsn()'); for _ in $(seq 300); do [ "$(there "$2" "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && return; sleep 0.1; done; echo "not ok - the standby catches up"; BAD=1; tail -n 5 "$2.log"; }
rows="SELECT (SELECT count(*) FROM o), (SELECT count(*) FROM w), (SELECT count(*) FROM o JOIN w USING (n, v)), (SELECT string_agg(v || ' ' || c, ', ' ORDER BY v) FROM (SELECT v, count(*) AS c FROM w GROUP BY v) x)"
large='SELECT i, count(*), md5(string_agg(v, NULL ORDER BY n)) FROM big GROUP BY i ORDER BY i'
agree() {	# DIR DIR TITLE
	is "$(there "$2" "$rows" "$large")" "$(there "$1" "$rows" "$large")" "$3: both servers have the same rows"
	is "$(there "$2" 'SELECT * FROM widetable.verify()')" "" "$3: verify() finds no problem"
}
# rewind OLD NEW SOURCE...: makes a standby of OLD
rewind() {
	old=$1 new=$2; shift 2
	cp "$old/postgresql.conf" "$T/conf"
	"$BIN/pg_rewind" -D "$old" --no-sync "$@" >"$T/rewind.log" 2>&1; r_=$?
	[ $r_ = 0 ] || sed 's/^/#   /' "$T/rewind.log"
	cp "$T/conf" "$old/postgresql.conf"
	printf '%s\n' "primary_conninfo = 'host=$new.s user=postgres'" >"$old/postgresql.auto.conf"
	touch "$old/standby.signal"
	return $r_
}

# ---- the old primary is ahead, with files and a large load; it was stopped in order
both "$P" 201 300 common
caught_up "$P" "$T/data.two"
"$BIN/pg_ctl" -D "$T/data.two" -w promote >/dev/null
both "$P" 301 900 old
q "INSERT INTO big SELECT 1, g, 'old' || g FROM generate_series(1, 60000) g" 'DROP FOREIGN TABLE gone' "CREATE FOREIGN TABLE lost (n int) SERVER widetable OPTIONS (key 'n')" \
	'INSERT INTO lost VALUES (1)' 'SELECT widetable.flush()' 'SELECT widetable.compact()' >/dev/null
both "$P" 901 1000 old
both "$T/data.two" 301 700 new
there "$T/data.two" "INSERT INTO big SELECT 2, g, 'new' || g FROM generate_series(1, 60000) g" 'SELECT widetable.flush()' 'CHECKPOINT' \
	"CREATE FOREIGN TABLE made (n int) SERVER widetable OPTIONS (key 'n')" 'INSERT INTO made VALUES (7)' >/dev/null
both "$T/data.two" 701 750 new
stop fast
# the source is stopped, too
stop_second "$T/data.two"
rewind "$P" "$T/data.two" --source-pgdata="$T/data.two"
ok $? "pg_rewind of a server that was stopped, from files"
second "$T/data.two"; second "$P"
both "$T/data.two" 751 800 after
caught_up "$T/data.two" "$P"
agree "$T/data.two" "$P" "from files"
is "$(there "$P" 'SELECT n FROM made' 'SELECT count(*) FROM gone' "SELECT to_regclass('lost') IS NULL")" "7
2
t" "from files: tables are those of the new primary"
like "$(there "$P" "SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = 'widetable'")" / "from files: the rewound server has a slot of its own"

# ---- the other way round, after a crash, and the source runs and writes
"$BIN/pg_ctl" -D "$P" -w promote >/dev/null
both "$T/data.two" 1001 1500 two
there "$T/data.two" "INSERT INTO big SELECT 3, g, 'two' || g FROM generate_series(1, 60000) g" >/dev/null
stop_second "$T/data.two" immediate
both "$P" 1001 1100 one
there "$P" 'CHECKPOINT' >/dev/null
rm -f "$T/stop"
(i=2000; while [ ! -e "$T/stop" ]; do i=$((i + 1)); both "$P" $i $i one; there "$P" "INSERT INTO big SELECT $i, g, 'one' || g FROM generate_series(1, 3000) g" 'SELECT widetable.flush()' 'SELECT widetable.compact()'; done >/dev/null 2>&1) &
load=$!
rewind "$T/data.two" "$P" --source-server="host=$P.s user=postgres dbname=postgres"
ok $? "pg_rewind of a server that has crashed, from a server that runs"
touch "$T/stop"; wait $load
second "$T/data.two"
caught_up "$P" "$T/data.two"
agree "$P" "$T/data.two" "from a server"
"$BIN/pg_ctl" -D "$T/data.two" -w promote >/dev/null
both "$T/data.two" 5000 5010 last
is "$(there "$T/data.two" "SELECT count(*) FROM w WHERE v = 'last'")" "11" "the rewound server can be promoted again"
stop_second "$T/data.two"; stop_second "$P"
finish
