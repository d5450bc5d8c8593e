# standby: a standby refuses writes, replays WAL into its own store, keeps its own slot
# advancing with its restartpoints, and after promotion has every row.  Takes about 10 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "max_wal_size = 32MB" "min_wal_size = 32MB" "wal_keep_size = 512MB"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int PRIMARY KEY, n int)' 'CREATE TABLE hlog (n int)' \
	"CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE wlog (n int, v int) SERVER widetable OPTIONS (key 'n')" \
	"CREATE FOREIGN TABLE big (i int, n int, v text) SERVER widetable OPTIONS (key 'i, n')" \
	'INSERT INTO h SELECT g, 1000 FROM generate_series(1, 50) g' 'INSERT INTO w SELECT g, 1000 FROM generate_series(1, 50) g' >/dev/null
work() {	# FROM TO: numbered transfers between ordinary and wide rows
	i=$1; while [ "$i" -le "$2" ]; do echo "BEGIN; UPDATE h SET n = n - 1 WHERE k = $((i * 7 % 50 + 1)); UPDATE w SET n = n + 1, pad = repeat('x', 900) WHERE k = $((i * 11 % 50 + 1));
INSERT INTO hlog VALUES ($i); COMMIT; INSERT INTO wlog VALUES ($i, $i);"; i=$((i + 1)); done | "$BIN/psql" -Xq 2>&1
}
caught_up() { lsn=$(q 'SELECT pg_current_wal_lsn()'); for _ in $(seq 20); do [ "$(there "$1" "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && return; sleep 0.2; done; echo "not ok - the standby catches up"; BAD=1; }
promote() { "$BIN/pg_ctl" -D "$1" -w promote >/dev/null; }
same='SELECT (SELECT sum(n) FROM h) + (SELECT sum(n) FROM w), (SELECT count(*) FROM hlog), (SELECT count(*) FROM wlog), (SELECT count(*) FROM big)'
work 1 200
for s in one two; do
	"$BIN/pg_basebackup" -D "$T/data.$s" -R -c fast --no-sync 2>&1
done
sed -i '/^shared_preload_libraries/d' "$T/data.two/postgresql.conf"
second "$T/data.one"; second "$T/data.two"
out=$(VERBOSITY=verbose there "$T/data.one" 'INSERT INTO w VALUES (1, 1)')
like "$out" '^ERROR:  25006' "a standby refuses writes"
is "$(there "$T/data.one" 'SELECT count(*) FROM w')" "50" "a standby reads wide tables"
# not preloaded: the first use starts the background processes
is "$(there "$T/data.two" 'SELECT count(*) FROM w')" "50" "a standby without preloading reads wide tables"
sed -i '/^wal_keep_size/d' "$T/data.two/postgresql.conf"; there "$T/data.two" 'SELECT pg_reload_conf()' >/dev/null
# from then on WAL is kept; the restartpoints to come would remove it
for _ in $(seq 300); do [ "$(there "$T/data.two" "SELECT active FROM pg_replication_slots WHERE slot_name = 'widetable'")" = t ] && break; sleep 0.1; done
work 201 600
q "INSERT INTO big SELECT 1, g, md5(g::text) FROM generate_series(1, 10000) g" 'SELECT widetable.compact()' 'CHECKPOINT' 'SELECT pg_switch_wal()' >/dev/null
work 601 800
q 'CHECKPOINT' 'SELECT pg_switch_wal()' 'CHECKPOINT' >/dev/null
caught_up "$T/data.one"
first=$(there "$T/data.one" "SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = 'widetable'")
like "$first" '/' "the standby has its own slot"
there "$T/data.one" CHECKPOINT >/dev/null
for _ in $(seq 100); do advanced=$(there "$T/data.one" "SELECT restart_lsn >= (SELECT redo_lsn FROM pg_control_checkpoint()) FROM pg_replication_slots WHERE slot_name = 'widetable'"); [ "$advanced" = t ] && break; sleep 0.1; done
is "$advanced" "t" "the standby's slot advances with its restartpoints"
work 801 900
# after a crash the standby resumes from its own files
caught_up "$T/data.one"
stop_second "$T/data.one" immediate; second "$T/data.one"
work 901 1000
caught_up "$T/data.one"; caught_up "$T/data.two"
there "$T/data.two" CHECKPOINT >/dev/null
want=$(q "$same")
stop immediate
promote "$T/data.one"
is "$(there "$T/data.one" "$same")" "$want" "promoted: all rows are there"
is "$(there "$T/data.one" 'SELECT * FROM widetable.verify()')" "" "promoted: verify() finds no problem"
is "$(there "$T/data.one" 'UPDATE w SET n = n + 1' 'UPDATE h SET n = n - 1' 'INSERT INTO wlog VALUES (-1, 1)' "$same" | cut -d'|' -f1,2)" "100000|1000" "promoted: wide tables can be written"
stop_second "$T/data.one" immediate; second "$T/data.one"
is "$(there "$T/data.one" "$same" | cut -d'|' -f1,2,3)" "100000|1000|1001" "promoted: a crash loses nothing"

promote "$T/data.two"
is "$(there "$T/data.two" "$same")" "$want" "promoted without preloading: all rows are there, because a session has started the worker"
finish
