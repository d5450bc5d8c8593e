# standbys.sh: helpers of the tap scripts about standbys; they source it after common.sh.  POSIX sh.

# make_standby NAME LINE...: makes a streaming standby of the server by a base backup, in
# $T/data.NAME with these lines added to its configuration, and starts it
make_standby() {
	standby_=$1; shift
	"$BIN/pg_basebackup" -D "$T/data.$standby_" -R -c fast --no-sync 2>&1
	for l in "$@"; do printf '%s\n' "$l"; done >>"$T/data.$standby_/postgresql.conf"
	second "$T/data.$standby_"
}
# on NAME SQL...: like q, on the standby
on() { on_=$1; shift; there "$T/data.$on_" "$@"; }
# on_db NAME DATABASE SQL...: like in_db, on the standby
on_db() { (on_=$1; PGDATABASE=$2; export PGDATABASE; shift 2; there "$T/data.$on_" "$@"); }
# await_on NAME SECONDS PATTERN SQL: like await, on the standby
await_on() { for _ in $(seq $(($2 * 10))); do on "$1" "$4" | grep -qE -- "$3" && return 0; sleep 0.1; done; return 1; }
# standby_session NAME SESSION FD: like session, on the standby
standby_session() { PGHOST=$T/data.$1.s session "$2" "$3"; }
# mark: a position in the log behind everything that was written
mark() { q "SELECT FROM pg_logical_emit_message(true, 'x', 'x')" 'SELECT pg_current_wal_flush_lsn()' | tail -n 1; }
# replayed NAME: waits until the standby has replayed everything that was written
replayed() {
	mark_=$(mark)
	await_on "$1" 60 '^t$' "SELECT pg_last_wal_replay_lsn() >= '$mark_'" && return
	echo "not ok - the standby $1 replays"
	BAD=1
	tail -n 5 "$T/data.$1.log" | sed 's/^/#   /'
}
# promote NAME
promote() { "$BIN/pg_ctl" -D "$T/data.$1" -w -t 60 promote >/dev/null; }
# health NAME: its state and last error
health() { on "$1" 'SELECT state, last_error FROM widetable.pg_stat_widetable_health'; }
# no_crash NAME: the log of the standby reports no crash
no_crash() {
	if grep -E '(PANIC|TRAP:|terminated by signal)' "$T/data.$1.log"; then echo "not ok - the log of the standby $1 reports no crash"; BAD=1; fi
}
