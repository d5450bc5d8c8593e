# common.sh: helpers of the tap scripts.  Each script creates its own clusters below $T, prints TAP
# and ends with finish.  POSIX sh.
#
# BIN, the directory of PostgreSQL's programs with the extension installed, is set by ./test/check
# tap.  A script takes less than 10 seconds unless its head says otherwise; ./test/check allows 180
# seconds for each.  SERVER_LOGS: a file to which the logs of its servers are added.
set -u
: "${BIN:?run this by ./test/check tap}"
T=$(mktemp -d "${TMPDIR:-/tmp}/wt-tap.XXXXXX") || exit 1
BAD=0
trap 'r=$?; for d in "$T"/data*; do "$BIN/pg_ctl" -D "$d" -m immediate -w stop >/dev/null 2>&1; done; [ -z "${SERVER_LOGS:-}" ] || cat "$T"/*.log >>"$SERVER_LOGS"; rm -rf "$T"; exit $r' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# new_cluster LINE...: creates and starts a cluster with these lines in its configuration, with
# options $INITDB of initdb
new_cluster() {
	"$BIN/initdb" -D "$T/data" -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync ${INITDB:-} >"$T/initdb.log" 2>&1 || {
		cat "$T/initdb.log"; exit 1; }
	mkdir -p "$T/s"
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$T/s'"
		echo "fsync = off"
		echo "shared_buffers = 16MB"
		for l in "$@"; do printf '%s\n' "$l"; done
	} >>"$T/data/postgresql.conf"
	PGHOST=$T/s PGUSER=postgres PGDATABASE=postgres PGDATA=$T/data PGCONNECT_TIMEOUT=30
	export PGHOST PGUSER PGDATABASE PGDATA PGCONNECT_TIMEOUT
	start
}

set_conf() { printf '%s\n' "$@" >>"$T/data/postgresql.conf"; }
# start: with the library $PRELOAD before all others
start() { LD_PRELOAD=${PRELOAD:-} "$BIN/pg_ctl" -D "$T/data" -l "$T/server.log" -w -t 60 start >"$T/ctl.log" 2>&1 </dev/null || { cat "$T/ctl.log"; tail -n 20 "$T/server.log"; return 1; }; }
stop() { "$BIN/pg_ctl" -D "$T/data" -m "${1:-fast}" -w -t 60 stop >/dev/null 2>&1; }

# second DIR: starts a second server on data directory DIR, with its sockets in DIR.s
# there DIR SQL...: like q, on that server
second() { mkdir -p "$1.s"; chmod 700 "$1"; "$BIN/pg_ctl" -D "$1" -l "$1.log" -w -t 60 -o "-c unix_socket_directories=$1.s" start >"$T/ctl.log" 2>&1 </dev/null || { tail -n 20 "$1.log"; return 1; }; }
there() { there_=$1; shift; PGHOST=$there_.s q "$@"; }
stop_second() { "$BIN/pg_ctl" -D "$1" -m "${2:-fast}" -w -t 60 stop >/dev/null 2>&1; }

# q SQL...: runs the statements in a new session and prints their output, including errors
# (with VERBOSITY=verbose: including the SQLSTATE)
q() { q_=; for s in "$@"; do q_="$q_$s;
"; done; printf '%s' "$q_" | timeout 60 "$BIN/psql" -XqAt -v VERBOSITY="${VERBOSITY:-default}" 2>&1; }

# in_db DATABASE SQL...: like q, in another database
in_db() { (PGDATABASE=$1; export PGDATABASE; shift; q "$@"); }

# await SECONDS PATTERN SQL: polls until a line of the result matches; fails after that time
await() { for _ in $(seq $(($1 * 10))); do q "$3" | grep -qE -- "$2" && return 0; sleep 0.1; done; return 1; }

# archive: ends the segment of the log and waits until the server has archived it.  What is written
# after the switch, by any process, stays in a segment that is not archived.
archive() {
	segment_=$(q 'SELECT pg_walfile_name(pg_switch_wal())')
	await 60 t "SELECT last_archived_wal >= '$segment_' FROM pg_stat_archiver" || echo "not ok - WAL is archived up to $segment_"
}

# session NAME FD: starts a psql in the background.  It reads statements from file descriptor FD of
# the script and writes its output to $T/NAME.out; session_pid is its process number.  It ends when
# every process that has inherited FD has closed it.
session() {
	rm -f "$T/$1"
	mkfifo "$T/$1"
	: >"$T/$1.out"
	"$BIN/psql" -XqAt >>"$T/$1.out" 2>&1 <"$T/$1" &
	session_pid=$!
	eval "exec $2>\"\$T/\$1\""
}
# wait_output NAME PATTERN: polls until a line of the session's output matches; fails after 30
# seconds
wait_output() { for _ in $(seq 600); do grep -qE -- "$2" "$T/$1.out" && return 0; sleep 0.05; done; return 1; }

# stop_lock PLACE: the advisory lock (as arguments) that holds sessions at that place of
# widetable.stop_at
stop_lock() { echo "2003395685, hashtext('$1')"; }
# await_stopped N: waits until N sessions wait for an advisory lock
await_stopped() {
	await 30 '^t$' "SELECT count(*) >= $1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted" && return
	echo "not ok - $1 sessions reach a stop point"
	BAD=1
}

# server_processes: the process numbers of the postmaster and its children
server_processes() { cat /proc/[0-9]*/stat 2>/dev/null | awk -v p="$(head -n 1 "$T/data/postmaster.pid")" '$1 == p || $4 == p { print $1 }'; }
# kill_server: kills all of them at once, as a power failure does.  The postmaster is stopped first: it
# would report a child whose death it sees, and could start others.
# shellcheck disable=SC2046
kill_server() {
	kill -STOP "$(head -n 1 "$T/data/postmaster.pid")"
	kill -9 $(server_processes) 2>/dev/null # a child may have ended
	while [ -n "$(server_processes)" ]; do sleep 0.05; done
}

# What the log says when one process is killed: its end, or the end of another process that has seen
# before the postmaster that the owner of a lock is dead.  forget_kill removes these lines.
KILLED='terminated by signal 9|PANIC:  the shared memory of widetable is damaged'
forget_kill() {
	if grep -q 'PANIC:  the shared memory of widetable is damaged' "$T/server.log"; then sed -i '/terminated by signal 6/d' "$T/server.log"; fi
	grep -vE "$KILLED" "$T/server.log" >"$T/rest.log"; mv "$T/rest.log" "$T/server.log"
}

ok() { if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; BAD=1; fi; }
# ok STATUS TITLE; is GOT EXPECTED TITLE; like GOT PATTERN TITLE
is() {
	if [ "$1" = "$2" ]; then echo "ok - $3"; else
		echo "not ok - $3"; BAD=1
		printf '%s\n' "$1" | sed 's/^/#   got      /'; printf '%s\n' "$2" | sed 's/^/#   expected /'
	fi
}
like() {
	if printf '%s\n' "$1" | grep -qE -- "$2"; then echo "ok - $3"; else
		echo "not ok - $3"; BAD=1
		printf '%s\n' "$1" | sed 's/^/#   got      /'; printf '#   no match %s\n' "$2"
	fi
}
# verify_store [PREFIX]: the title is "PREFIX: verify() finds no problem"
verify_store() { is "$(q 'SELECT * FROM widetable.verify()')" "" "${1:+$1: }verify() finds no problem"; }
finish() {
	if grep -E '(PANIC|TRAP:|terminated by signal)' "$T/server.log"; then echo "not ok - the server log reports no crash"; BAD=1; fi
	exit $BAD
}

TABLE="CREATE FOREIGN TABLE t (k text COLLATE \"C\", n int, v text, more jsonb OPTIONS (family 'm'))
  SERVER widetable OPTIONS (key 'k, n desc', families '{\"d\": {\"versions\": 3}, \"m\": {}}')"
FILL="INSERT INTO t SELECT 'k' || g % 10, g, repeat('v', g % 100), jsonb_build_object('q', g::text) FROM generate_series(1, 2000) g"
SUM="SELECT count(*), sum(n), md5(string_agg(k || n || v || more, ',' ORDER BY k, n)) FROM t"

# w: 400,000 rows; p: 300,000 rows with a key of two columns; r: one row of 500,000 cells, with rc
# in layout 'cells' over the same data
large_tables() {
	q 'CREATE EXTENSION widetable' \
		"CREATE FOREIGN TABLE w (k int, v int, s text) SERVER widetable OPTIONS (key 'k')" \
		"CREATE FOREIGN TABLE p (a int, b int, v int) SERVER widetable OPTIONS (key 'a, b')" \
		"CREATE FOREIGN TABLE r (k int, m jsonb OPTIONS (family 'm')) SERVER widetable OPTIONS (key 'k', families '{\"m\": {}}')" \
		"CREATE FOREIGN TABLE rc (k int, family text, qualifier text COLLATE \"C\", ts timestamptz, value text)
			SERVER widetable OPTIONS (table_name 'public.r', layout 'cells', key 'k')" \
		"INSERT INTO w SELECT g, g % 1000, 'text ' || g FROM generate_series(1, 400000) g" \
		"INSERT INTO p SELECT g / 3, g % 3, g FROM generate_series(1, 300000) g" \
		"INSERT INTO rc SELECT 1, 'm', 'q' || g, NULL, 'v' || g FROM generate_series(1, 500000) g" \
		'ANALYZE w' 'ANALYZE p' >"$T/made" || cat "$T/made"
}
