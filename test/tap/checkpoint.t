# checkpoint: once a checkpoint has completed, the sorted files contain everything older than its
# redo position, and the slot keeps no older WAL.  Crashes and stops during checkpoints lose
# nothing.  An idle store keeps no WAL.  Takes about 15 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "max_prepared_transactions = 2" "max_wal_size = 32MB" "min_wal_size = 32MB"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int PRIMARY KEY, n int)' 'CREATE TABLE hlog (client int, n int)' \
	"CREATE FOREIGN TABLE w (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE wlog (client int, n int, v int) SERVER widetable OPTIONS (key 'client, n')" \
	'INSERT INTO h SELECT g, 1000 FROM generate_series(1, 50) g' 'INSERT INTO w SELECT g, 1000 FROM generate_series(1, 50) g' >/dev/null

# Transfers between an ordinary and a wide row, each logged in a table of either kind.  Client N
# writes its acknowledged transfers to acked.N.
load() {
	rm -f "$T/stop"
	for c in 1 2; do
		b=$(q "SELECT coalesce(max(n), 0) FROM hlog WHERE client = $c")
		(i=$b; while [ ! -e "$T/stop" ]; do i=$((i + 1)); printf '%s\n' "BEGIN;
UPDATE h SET n = n - 1 WHERE k = $((i * 7 % 50 + 1)); UPDATE w SET n = n + 1, pad = repeat('$c', 500) WHERE k = $((i * 11 % 50 + 1));
INSERT INTO hlog VALUES ($c, $i); INSERT INTO wlog VALUES ($c, $i, 1);
COMMIT;" "\\echo $i"; done | "$BIN/psql" -Xq -v ON_ERROR_STOP=1 >"$T/acked.$c" 2>"$T/messages.$c") &
	done
	sleep 0.3
}
consistent() {	# PREFIX
	is "$(q 'SELECT (SELECT sum(n) FROM h) + (SELECT sum(n) FROM w), (SELECT count(*) FROM hlog FULL JOIN wlog USING (client, n) WHERE hlog IS NULL OR wlog IS NULL)')" "100000|0" "$1: wide and ordinary tables agree"
	a1=$(tail -n 1 "$T/acked.1") a2=$(tail -n 1 "$T/acked.2")
	is "$(q "SELECT (SELECT max(n) FROM wlog WHERE client = 1) >= ${a1:-0} AND (SELECT max(n) FROM wlog WHERE client = 2) >= ${a2:-0}")" "t" "$1: every acknowledged transfer is there"
}

await 30 '^t$' "SELECT active FROM pg_replication_slots WHERE slot_name = 'widetable'"
load
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	echo 'CHECKPOINT; SELECT s.restart_lsn >= c.redo_lsn FROM widetable.pg_stat_widetable s, pg_control_checkpoint() c;'
done | "$BIN/psql" -XqAt >"$T/rule" 2>&1
is "$(sort "$T/rule" | uniq -c | tr -s ' ')" " 20 t" "after each checkpoint the slot is at or after the redo position"
touch "$T/stop"; wait
consistent "after many checkpoints"
for i in 1 2 3; do
	load
	q 'CHECKPOINT' 'CHECKPOINT' 'CHECKPOINT' 'CHECKPOINT' 'CHECKPOINT' 'CHECKPOINT' 'CHECKPOINT' 'CHECKPOINT' >/dev/null 2>&1 &
	sleep "0.$((i * 2 + 1))"
	stop immediate; touch "$T/stop"; wait; start
	consistent "immediate stop during checkpoints, $i"
done
load; stop fast; touch "$T/stop"; wait; start
consistent "after a fast stop"
q "UPDATE w SET n = n + 1" "UPDATE h SET n = n - 1" >/dev/null
stop smart; start
consistent "after a smart stop"
verify_store

# the server writes WAL, but since its start no session has used wide tables
q "UPDATE w SET n = n + 1" "UPDATE h SET n = n - 1" >/dev/null
stop fast; start
q "UPDATE w SET n = n + 1" "UPDATE h SET n = n - 1" >/dev/null
first=$(q 'SELECT pg_current_wal_lsn()')
q 'CREATE TABLE busy AS SELECT g, repeat($$x$$, 500) AS x FROM generate_series(1, 100000) g' 'CHECKPOINT' 'SELECT pg_sleep(1.2)' >/dev/null
is "$(q "SELECT restart_lsn > '$first', restart_lsn >= (SELECT redo_lsn FROM pg_control_checkpoint()) FROM pg_replication_slots WHERE slot_name = 'widetable'")" "t|t" "an idle store keeps no WAL older than the redo position"
stop immediate; start
consistent "after a crash of the idle store"

# PREPARE TRANSACTION after writes is in prepared.t
is "$(q 'BEGIN' "SELECT n > 0 FROM w WHERE k = 1" "INSERT INTO h VALUES (99, 1)" "PREPARE TRANSACTION 'p'" "COMMIT PREPARED 'p'" 'SELECT count(*) FROM h WHERE k = 99' | tr '\n' ' ')" "t 1 " "PREPARE TRANSACTION succeeds after reads of wide tables"

# a checkpoint waits while another process opens the store
stop fast; set_conf "widetable.memtable_size = 128MB" "max_wal_size = 4GB"; start
q 'CHECKPOINT' "CREATE FOREIGN TABLE long (k int, n int, pad text) SERVER widetable OPTIONS (key 'k')" >/dev/null
for i in 1 2 3 4 5 6; do q "INSERT INTO long SELECT g, $i, repeat(md5(g::text), 3) FROM generate_series(1, 120000) g" >/dev/null; done
stop immediate
"$BIN/pg_ctl" -D "$T/data" -l "$T/server.log" -W start >/dev/null
until [ "$(q 'SELECT 1')" = 1 ]; do :; done
is "$(q 'CHECKPOINT' 'SELECT s.restart_lsn >= c.redo_lsn FROM widetable.pg_stat_widetable s, pg_control_checkpoint() c')" "t" "a checkpoint during recovery of the store leaves the slot at or after the redo position"
finish
