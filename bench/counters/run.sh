#!/bin/sh
# run.sh: counters and small commits beside native tables, by pgbench.
#
#   bench/counters/run.sh [THEME...]      hot random visits update select
#
# The server is the one that PGHOST, PGPORT, ... name; it has the extension, and
# its defaults (fsync, synchronous_commit) are what is measured.  Each theme
# compares variants, the first of which is the measure.  Variants take turns;
# what is printed is the median of their transactions per second, the ratio to
# the first, and the processor time of the server's sessions per transaction,
# which other work on the machine disturbs less.
#
#   ROUNDS=5 SECONDS_EACH=3 CLIENTS="1 8 32" MODE=prepared KEYS=100000
set -u
HERE=$(cd "${0%/*}" && pwd)
ROUNDS=${ROUNDS:-5} T=${SECONDS_EACH:-3} MODE=${MODE:-prepared} KEYS=${KEYS:-100000}
THEMES="${*:-hot random visits update select}"
PGBENCH=${PGBENCH:-pgbench}
OUT=$(mktemp -d) || exit 1
trap 'rm -rf "$OUT"' EXIT

theme() {		# sets clients and the variants of a theme
	case $1 in
	hot) c="8 32"; v="hot-heap hot-function hot-update" ;;
	random) c="1 8 32"; v="random-heap random-function" ;;
	visits) c="1 8 16"; v="visits-heap visits-cells visits-wide" ;;
	update) c="1 8"; v="update-heap update-wide" ;;
	select) c="1 8"; v="select-heap select-wide" ;;
	*) echo "unknown theme: $1" >&2; exit 1 ;;
	esac
	c=${CLIENTS:-$c}
}

# processor time of the sessions that have ended, in clock ticks
ended_ticks() { sed 's/.*) //' "/proc/$POSTMASTER/stat" | awk '{ print $14 + $15 }'; }
median() { sort -n "$1" | awk '{ a[NR] = $1 } END { print (NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2) }'; }

psql -XqAt -v ON_ERROR_STOP=1 -v keys="$KEYS" -f "$HERE/setup.sql" || exit 1
POSTMASTER=$(psql -XqAtc "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)")
TICKS=$(getconf CLK_TCK)
for t in $THEMES; do
	theme "$t"
	for n in $c; do
		rm -f "$OUT"/*
		r=0
		while [ $r -lt "$ROUNDS" ]; do
			for s in $v; do
				# a checkpoint in the middle would hit one of them only
				psql -XqAt -c CHECKPOINT
				from=$(ended_ticks)
				"$PGBENCH" -n -M "$MODE" -c "$n" -j $((n < 2 ? 1 : 2)) -T "$T" -D keys="$KEYS" -D seed=$((r * 100 + n)) \
					-f "$HERE/$s.sql" 2>"$OUT/err" >"$OUT/log" || { cat "$OUT/err"; exit 1; }
				sed -n 's/^tps = \([0-9.]*\) .*/\1/p' "$OUT/log" >>"$OUT/$s.tps"
				sleep 0.1		# the last session ends
				sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$OUT/log" |
					awk -v t=$(($(ended_ticks) - from)) -v hz="$TICKS" '{ print t / hz / $1 * 1e6 }' >>"$OUT/$s.cpu"
			done
			r=$((r + 1))
		done
		base=$(median "$OUT/${v%% *}.tps")
		for s in $v; do
			median "$OUT/$s.tps" | awk -v s="$s" -v n="$n" -v b="$base" -v cpu="$(median "$OUT/$s.cpu")" \
				'{ printf "%-18s %3d clients %9.0f tps  %5.2f  %7.1f us\n", s, n, $1, $1 / b, cpu }'
		done
	done
done
