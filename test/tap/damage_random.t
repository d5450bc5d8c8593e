# damage_random: one file of the store after the other is flipped, zeroed, cut, emptied, replaced or
# removed, by a seed (DAMAGE_SEED, DAMAGE_ROUNDS, DAMAGE_VERBOSE).  After each the server runs; a read is right or
# fails with a clear error; where one fails, verify() and widetable_check name damage; flush,
# compaction and a crash change none of that.  Ends some seconds after DAMAGE_SECONDS, 60.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.workers = 0" "autovacuum = off" "max_parallel_workers_per_gather = 0" "wal_keep_size = 0" "min_wal_size = 32MB"
store=$T/data/widetable
q 'CREATE EXTENSION widetable' "$TABLE" \
	"CREATE FOREIGN TABLE u (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO t SELECT 'k' || g % 10, g, md5(g::text), jsonb_build_object('q', md5(g::text)) FROM generate_series(1, 2000) g" \
	"INSERT INTO u SELECT g, md5(g::text) FROM generate_series(1, 300) g" 'SELECT widetable.flush()' 'SELECT widetable.compact()' \
	"DELETE FROM t WHERE n % 7 = 0" "UPDATE t SET v = md5(v) WHERE n % 5 = 0" "DELETE FROM u WHERE k % 11 = 0" 'SELECT widetable.flush()' \
	"INSERT INTO t SELECT 'k' || g % 10, g, md5(g::text), jsonb_build_object('q', md5(g::text)) FROM generate_series(2001, 2300) g" 'SELECT widetable.flush()' \
	'CREATE TABLE truth AS SELECT * FROM t' 'CREATE TABLE truth_u AS SELECT * FROM u' 'CREATE INDEX ON truth (n)' \
	"CREATE FUNCTION look(OUT refused int, OUT wrong int, OUT other text) LANGUAGE plpgsql AS \$\$
DECLARE q_ text; ok bool;
BEGIN
	refused := 0; wrong := 0; other := '';
	FOR q_ IN SELECT format('SELECT (SELECT x FROM truth x WHERE x.n = %1\$s) IS NOT DISTINCT FROM (SELECT (t.k, t.n, t.v, t.more)::truth FROM t WHERE t.k = %2\$L AND t.n = %1\$s)', g, 'k' || g % 10) FROM generate_series(1, 2300, 31) g
		UNION ALL SELECT format('SELECT (SELECT v FROM truth_u WHERE k = %1\$s) IS NOT DISTINCT FROM (SELECT v FROM u WHERE k = %1\$s)', g) FROM generate_series(1, 300, 13) g
		UNION ALL VALUES ('SELECT (SELECT count(*) FROM t) = (SELECT count(*) FROM truth)'), ('SELECT (SELECT count(*) FROM u) = (SELECT count(*) FROM truth_u)'),
			('SELECT NOT EXISTS (TABLE truth EXCEPT TABLE t)'), ('SELECT NOT EXISTS (TABLE t EXCEPT TABLE truth)'), ('SELECT NOT EXISTS (TABLE truth_u EXCEPT TABLE u)'),
			('SELECT (SELECT string_agg(n::text, '','' ORDER BY n) FROM t WHERE k = ''k3'') = (SELECT string_agg(n::text, '','' ORDER BY n) FROM truth WHERE k = ''k3'')') LOOP
		BEGIN
			EXECUTE q_ INTO ok;
			IF ok IS NOT TRUE THEN wrong := wrong + 1; other := q_; END IF;
		EXCEPTION WHEN data_corrupted THEN refused := refused + 1;
			WHEN OTHERS THEN refused := refused + 1; other := SQLSTATE || ' ' || SQLERRM;
		END;
	END LOOP;
END \$\$" >/dev/null
# the states of the manifest before the last one need WAL that is gone
q 'SELECT pg_switch_wal()' 'CREATE TABLE x (a int)' CHECKPOINT 'SELECT widetable.flush()' 'SELECT pg_switch_wal()' 'DROP TABLE x' CHECKPOINT CHECKPOINT >/dev/null
stop fast
cp -a "$T/data" "$T/good"
(cd "$store" && find . -type f | sort) >"$T/files"

seed=${DAMAGE_SEED:-1} rounds=${DAMAGE_ROUNDS:-40} until=$(($(date +%s) + ${DAMAGE_SECONDS:-60})) state=$seed
echo "# seed $seed; files: $(tr '\n' ' ' <"$T/files")"
# pick N: sets n to a number from 0 to N - 1
pick() { state=$(((state * 1103515245 + 12345) % 2147483648)); n=$((state / 65536 % $1)); }
# write_byte FILE OFFSET VALUE
write_byte() {
	# shellcheck disable=SC2059
	printf "\\$(printf %03o "$3")" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
damage() {
	size=$(wc -c <"$1")
	pick 12; kind=$n; at=0
	# offsets are anywhere, or near the end, where files say how to read the rest
	if [ "$size" -gt 0 ]; then
		pick 2
		if [ "$n" = 0 ] || [ "$size" -lt 300 ]; then pick 32768; at=$(((n * 32768 + state / 65536 % 32768) % size)); else pick 300; at=$((size - 1 - n)); fi
	fi
	case $kind in
		0) rm "$1"; what=removed ;;
		1) truncate -s "$at" "$1"; what="cut at $at" ;;
		2) : >"$1"; what=emptied ;;
		3) dd if=/dev/zero of="$1" bs=1 seek="$at" count=$((size - at < 512 ? size - at : 512)) conv=notrunc 2>/dev/null; what="zeroes at $at" ;;
		4) dd if=/dev/zero bs=4096 count=1 2>/dev/null >>"$1"; what="zeroes behind it" ;;
		5) yes "$state" | head -c "$size" >"$1"; what="other bytes" ;;
		6) chmod 000 "$1"; what="unreadable" ;;
		*) [ "$size" -gt 0 ] || return
			b=$(od -An -tu1 -j "$at" -N 1 "$1" | tr -d ' '); pick 8
			write_byte "$1" "$at" $((b ^ (1 << n))); what="flip at $at" ;;
	esac
}
round=0 refusals=0 closed=0 nclosed=0 failed=0
# fault TEXT: this round shows a fault
fault() { echo "not ok - round $round ($file, $what): $*"; BAD=1; failed=1; }
# look_once WHEN: reads are right or refused with 53XXX, 55000, XX001 or 58030
look_once() {
	seen=$(q 'SELECT * FROM look()')
	case $seen in
		[0-9]*'|0|'*) ;;
		*) fault "$1: $seen" ;;
	esac
	case $seen in
		*'|0|' | *'|0|55000'* | *'|0|58'*) ;;
		*) fault "$1: an error is not clear: $seen" ;;
	esac
}
while [ "$round" -lt "$rounds" ] && [ "$(date +%s)" -lt "$until" ]; do
	round=$((round + 1))
	rm -rf "$T/data"; cp -a "$T/good" "$T/data"
	pick "$(wc -l <"$T/files")"; file=$(sed -n "$((n + 1))p" "$T/files"); what=none
	damage "$store/$file"
	"$BIN/widetable_check" "$T/data" >"$T/check.out" 2>&1; checked=$?
	[ "$checked" -le 1 ] || fault "widetable_check: status $checked"
	start || { fault 'the server does not start'; continue; }
	look_once 'after the start'
	problems=$(q 'SELECT count(*) FROM widetable.verify()')
	case $seen in
		0\|*) ;;
		*) refusals=$((refusals + 1))
			[ "$checked" = 1 ] || fault "widetable_check finds nothing, but reads are refused: $seen"
			[ "$problems" != 0 ] || fault "verify() finds nothing, but reads are refused: $seen" ;;
	esac
	case $seen in *55000* | *58P01* | *58030*) closed=1; nclosed=$((nclosed + 1)) ;; *) closed=0 ;; esac
	before=${seen%%|*}
	[ -z "${DAMAGE_VERBOSE:-}" ] || echo "# $round $file, $what: check $checked, verify $problems, look $seen"
	pick 4
	if [ "$n" -gt 0 ]; then
		q "INSERT INTO t SELECT k, -n, v, more FROM truth WHERE n % 3 = 0" "DELETE FROM t WHERE k = 'k3' AND n = -3" 'SELECT widetable.flush()' 'SELECT widetable.compact()' >"$T/work.out"
		q 'DELETE FROM truth WHERE n < 0' "INSERT INTO truth SELECT k, -n, v, more FROM truth WHERE n % 3 = 0 AND n > 0" "DELETE FROM truth WHERE n = -3" >/dev/null
		# the insertion may be refused; then it is not in the truth
		[ "$(q 'SELECT count(*) > 0 FROM t WHERE k = '"'k3' AND n = -1233")" = t ] || q 'DELETE FROM truth WHERE n < 0' >/dev/null
		look_once 'after compactions'
		pick 2; [ "$n" = 0 ] && stop immediate || stop fast
		start || { fault 'the server does not start again'; continue; }
		look_once 'after a restart'
		[ "${seen%%|*}" -ge "$before" ] || fault "reads that were refused ($before) are not any more: $seen"
	fi
	if [ "$before" != 0 ] && [ "$closed" = 0 ]; then
		pick 2
		case $n in
			0) like_=$(q 'TRUNCATE t' 'TRUNCATE u' 'SELECT count(*) FROM t' 'SELECT count(*) FROM u') ;;
			1) like_=$(q 'DROP FOREIGN TABLE t' 'DROP FOREIGN TABLE u' 'SELECT 0' 'SELECT 0') ;;
		esac
		[ "$like_" = "0
0" ] || fault "TRUNCATE or DROP: $like_"
		[ "$(q 'SELECT widetable.flush()' 'SELECT widetable.compact()' 'SELECT widetable.flush()' 'SELECT count(*) FROM widetable.verify()' | tail -n 1)" = 0 ] || fault "verify() after TRUNCATE or DROP: $(q 'SELECT * FROM widetable.verify()')"
	fi
	grep -E '(PANIC|TRAP:|terminated by signal)' "$T/server.log" && fault 'a crash'
	: >"$T/server.log"
	stop immediate
done
echo "# $round rounds, reads refused in $refusals, store closed in $nclosed"
is "$failed" 0 "$round rounds"
[ "$refusals" -gt 2 ]
ok $? "some of them lost something"
finish
