# idle.t: an idle server's processes sleep, and wake at once when there is something to do.  About two
# minutes, because wake-ups are counted over 20 seconds, several servers at the same time.
. "${0%/*}/common.sh"

# ours DIR: the process numbers of the keeper and the worker of the server on that directory
ours() { for p in $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v p="$(head -n 1 "$1/postmaster.pid")" '$4 == p { print $1 }'); do
	tr '\0' ' ' <"/proc/$p/cmdline" | grep -q ': widetable \(worker\|keeper\)' && echo "$p"; done; }
# wakeups DIR: how often they have woken so far, together: each sleep begins with a voluntary switch
wakeups() { for p in $(ours "$1"); do sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$p/status"; done | awk '{ n += $1 } END { print n + 0 }'; }
# asleep DIR: waits until a second passes without a wake-up; fails after 40 seconds
asleep() {
	for _ in $(seq 40); do
		a=$(wakeups "$1"); sleep 1
		[ "$(wakeups "$1")" = "$a" ] && sleep 1.2 && [ "$(wakeups "$1")" = "$a" ] && return 0
	done
	return 1
}
ms() { date +%s%3N; }
# checkpoint_ms N: the median of N checkpoints' times in ms, each after a write
checkpoint_ms() { for i in $(seq "$1"); do
	q "INSERT INTO w VALUES ($i, 'c')" >/dev/null
	a=$(ms); q CHECKPOINT >/dev/null; echo $(($(ms) - a)); done | sort -n | sed -n "$((($1 + 1) / 2))p"; }

new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = '1MB'" "wal_keep_size = '256MB'" "log_checkpoints = on" "autovacuum = off"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO w SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 20000) g" CHECKPOINT

# a standby, and a server whose processes start at the first use
"$BIN/pg_basebackup" -D "$T/data.standby" -c fast -R -X stream 2>&1 | grep -v '^NOTICE'
second "$T/data.standby"
"$BIN/initdb" -D "$T/data.late" -U postgres -A trust --no-sync >/dev/null 2>&1
printf '%s\n' "listen_addresses = ''" "fsync = off" "shared_buffers = 16MB" >>"$T/data.late/postgresql.conf"
second "$T/data.late"
there "$T/data.late" 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" "INSERT INTO w VALUES (1, 'x')"

# they have just written
is "$(ours "$T/data" | wc -l)|$(ours "$T/data.standby" | wc -l)|$(ours "$T/data.late" | wc -l)" "2|2|2" "keeper and worker run"
sleep 16
for d in data data.standby data.late; do asleep "$T/$d"; ok $? "$d: the processes sleep"; done
# WAL of the server's other processes wakes the standby, and is no idleness: counted again then
for _ in 1 2 3; do
	at=$(q 'SELECT pg_current_wal_insert_lsn()')
	a=$(wakeups "$T/data") b=$(wakeups "$T/data.standby") c=$(wakeups "$T/data.late")
	sleep 20
	a2=$(wakeups "$T/data") b2=$(wakeups "$T/data.standby") c2=$(wakeups "$T/data.late")
	[ "$(q 'SELECT pg_current_wal_insert_lsn()')" = "$at" ] && break
	echo "# the server has written WAL meanwhile"
	asleep "$T/data.standby"
done
n=$((a2 - a))
[ $n -le 2 ]; ok $? "preloaded: at most one wake-up in 10 seconds ($n in 20)"
n=$((b2 - b))
[ $n -le 2 ]; ok $? "standby: at most one wake-up in 10 seconds ($n in 20)"
n=$((c2 - c))
[ $n -le 2 ]; ok $? "not preloaded: at most one wake-up in 10 seconds ($n in 20)"

# a checkpoint does not wait for a keeper that sleeps: by itself it wakes 25 seconds after the last one
q CHECKPOINT >/dev/null; asleep "$T/data"
a=$(ms); q CHECKPOINT >/dev/null; n=$(($(ms) - a))
[ $n -le 1000 ]; ok $? "a checkpoint of an idle server takes less than a second ($n ms)"

# the time of a commit to wide tables alone is in WAL soon: a worker that sleeps is woken; so is the
# keeper of the standby
marks() { "$BIN/pg_waldump" -p "$T/data/pg_wal" -s "$1" 2>/dev/null | grep -c 'Transaction.*COMMIT'; }
at=$(q 'SELECT pg_current_wal_lsn()')
a=$(wakeups "$T/data.standby")
q "INSERT INTO w VALUES (-1, 'm')" >/dev/null
sleep 1
[ $(($(wakeups "$T/data.standby") - a)) -gt 3 ]; ok $? "WAL wakes the keeper of a standby that sleeps"
sleep 0.5
q 'SELECT pg_switch_wal()' >/dev/null
[ "$(marks "$at")" -ge 1 ]; ok $? "a commit is followed by its time mark while the worker sleeps"

# cells that expire go with their file
q "CREATE FOREIGN TABLE x (k int, v text) SERVER widetable OPTIONS (key 'k', families '{\"d\": {\"ttl\": \"22 s\"}}')" \
	"INSERT INTO x SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 500) g" 'SELECT widetable.flush()' >/dev/null
bytes() { q "SELECT coalesce(sum(file_bytes), 0) FROM widetable.pg_stat_widetable_files WHERE relation = 'x'::regclass"; }
[ "$(bytes)" -gt 0 ]; ok $? "a table with a time to live has files"
n=$(checkpoint_ms 15)
[ "$n" -le 500 ]; ok $? "checkpoints after writes take less than half a second ($n ms)"
asleep "$T/data"; ok $? "the worker sleeps before they expire"
[ "$(bytes)" -gt 0 ]; ok $? "they have not expired yet"
for _ in $(seq 20); do [ "$(bytes)" = 0 ] && break; sleep 0.5; done
is "$(bytes)" 0 "files that have expired are removed"

# a flush is begun at once
asleep "$T/data"
flushes() { q 'SELECT flushes FROM widetable.pg_stat_widetable'; }
a=$(flushes)
for i in 1 2 3 4 5 6; do q "INSERT INTO w SELECT g, repeat(md5(g::text), 10) FROM generate_series($i, $i + 1000) g" >/dev/null; done
await 2 '^t$' "SELECT flushes > $a FROM widetable.pg_stat_widetable"; ok $? "a memtable that is full is flushed at once"

# a promotion
a=$(ms)
"$BIN/pg_ctl" -D "$T/data.standby" -w promote >/dev/null 2>&1
is "$(there "$T/data.standby" 'SELECT v FROM w WHERE k = -1')" "m" "a standby can be promoted"
n=$(($(ms) - a))
[ $n -le 3000 ]; ok $? "and its tables are there soon ($n ms)"

# stop
asleep "$T/data"
a=$(ms); stop fast; n=$(($(ms) - a))
[ $n -le 5000 ]; ok $? "an idle server stops at once ($n ms)"
pids=$(ours "$T/data.late")
kill -9 "$(head -n 1 "$T/data.late/postmaster.pid")"
for _ in $(seq 30); do
	left=; for p in $pids; do kill -0 "$p" 2>/dev/null && left=1; done
	[ -z "$left" ] && break
	sleep 0.1
done
[ -n "$pids" ] && [ -z "$left" ]; ok $? "both processes end when the postmaster has died"
second "$T/data.late" # gives back the shared memory of the one that died
finish
