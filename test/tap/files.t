# files: a flush or compaction is held at three places: after its files are written, after the
# manifest lists them, and before an old file is removed.  Meanwhile the visible rows do not change
# for readers, old snapshots, scans and cursors, and no commit is lost, even after a crash.  Takes
# about 10 seconds.
. "${0%/*}/common.sh"
# without workers, the calling session does flushes and compactions
new_cluster "shared_preload_libraries = 'widetable'" "widetable.workers = 0" "autovacuum = off" "max_parallel_workers_per_gather = 0"
q 'CREATE EXTENSION widetable' "$TABLE" 'CREATE FOREIGN TABLE u (k int, n int) SERVER widetable OPTIONS (key '"'k'"')' >/dev/null
rows="SELECT k, n, v, more FROM t ORDER BY k, n DESC"
# a scan that stops half way while another session holds advisory lock 77
slow="SELECT count(*), sum(n), md5(string_agg(k || n || v || more, ',' ORDER BY k, n)) FROM (SELECT k, n, v, more,
	CASE WHEN n = 1005 THEN pg_advisory_xact_lock_shared(77) END AS x FROM t OFFSET 0) s"

# tell FD NAME SQL...: runs the statements in that session, waits for the end and prints the last
# LINES_ lines
tell() {
	tell_=$(grep -c '^done$' "$T/$2.out")
	fd_=$1 name_=$2
	shift 2
	for s in "$@"; do echo "$s;"; done >&"$fd_"
	echo "SELECT 'done';" >&"$fd_"
	for i in $(seq 600); do [ "$(grep -c '^done$' "$T/$name_.out")" -gt "$tell_" ] && break; sleep 0.05; done
	sed '$d' "$T/$name_.out" | tail -n "${LINES_:-1}"
}
session hold 5
session old 6

# halt PLACE SQL N: a background session runs SQL up to the stop point PLACE; returns once N
# sessions are held
# go TITLE: releases it
halt() {
	tell 5 hold "SELECT pg_advisory_lock($(stop_lock "$1"))" >/dev/null
	q "SET widetable.stop_at = '$1'" "DO \$\$BEGIN $2; END\$\$" >"$T/halted" 5>&- 6>&- &
	halted=$!
	await_stopped "$3"
}
go() { tell 5 hold 'SELECT pg_advisory_unlock_all()' >/dev/null; wait "$halted"; is "$(cat "$T/halted")" "" "$1: the held session completes"; }

# around TITLE PLACE SQL: readers that began before the stop, and commits during it
around() {
	name=$1
	q 'DELETE FROM t' "$FILL" 'SELECT widetable.flush()' "UPDATE t SET v = v || 'x' WHERE n % 3 = 0" "DELETE FROM t WHERE n % 7 = 0" >/dev/null
	[ "$2" = flush-files ] || [ "$2" = flush-manifest ] || q 'SELECT widetable.flush()' >/dev/null
	was=$(q "$SUM")
	list=$(q "$rows")
	tell 5 hold 'SELECT pg_advisory_lock(77)' >/dev/null
	q "$slow" >"$T/slow" 5>&- 6>&- &
	slow_=$!
	await_stopped 1
	# an old snapshot, and a cursor in it
	LINES_=100
	tell 6 old 'BEGIN ISOLATION LEVEL REPEATABLE READ' "DECLARE c CURSOR FOR $rows" 'FETCH 100 FROM c' >"$T/first"
	LINES_=1
	# versions that only these two need have been replaced when the files are written
	q "UPDATE t SET v = 'between' WHERE n % 2 = 0" "DELETE FROM t WHERE n % 13 = 0" >/dev/null
	[ "$2" = flush-files ] || [ "$2" = flush-manifest ] || q 'SELECT widetable.flush()' >/dev/null
	between=$(q "$SUM")
	halt "$2" "$3" 2
	is "$(q "$SUM")" "$between" "$name: a new reader sees the same rows"
	q "UPDATE t SET v = 'new' WHERE n % 5 = 0" "DELETE FROM t WHERE n % 11 = 0" "INSERT INTO t SELECT 'z', g, 'z', '{}' FROM generate_series(1, 300) g" 'INSERT INTO u VALUES (1, 1)' >/dev/null
	is=$(q "$SUM")
	is "$(tell 6 old "$SUM")" "$was" "$name: an old snapshot sees the same rows"
	tell 5 hold 'SELECT pg_advisory_unlock(77)' >/dev/null
	wait "$slow_"
	is "$(cat "$T/slow")" "$was" "$name: a scan that began before returns its snapshot"
	go "$name"
	is "$(q "$SUM")" "$is" "$name: commits made during the stop are visible"
	is "$(tell 6 old "$SUM")" "$was" "$name: afterwards the old snapshot is unchanged"
	LINES_=$(($(printf '%s\n' "$list" | wc -l) - 100))
	tell 6 old 'FETCH ALL FROM c' >"$T/rest"
	LINES_=1
	is "$(cat "$T/first" "$T/rest" | md5sum)" "$(printf '%s\n' "$list" | md5sum)" "$name: its cursor returns the remaining rows"
	tell 6 old COMMIT >/dev/null
	verify_store "$name"
	stop immediate
	start
	exec 5>&- 6>&-

	session hold 5
	session old 6
	is "$(q "$SUM")" "$is" "$name: after a crash every commit is there"
}
around 'flush, files written' flush-files 'PERFORM widetable.flush()'
around 'flush, files listed' flush-manifest 'PERFORM widetable.flush()'
around 'compaction, files written' compact-files 'PERFORM widetable.compact()'
around 'compaction, files listed' compact-manifest 'PERFORM widetable.compact()'

# before an old file is removed other sessions read, write and flush
q 'SELECT widetable.flush()' "UPDATE t SET v = v || 'y' WHERE n % 2 = 0" 'SELECT widetable.flush()' >/dev/null
was=$(q "$SUM")
halt remove-unlink 'PERFORM widetable.compact(); PERFORM widetable.flush()' 1
is "$(q "$SUM")" "$was" 'before a file is removed: a new reader sees the same rows'
q "UPDATE t SET v = 'newer' WHERE n % 2 = 1" 'SELECT widetable.flush()' >/dev/null
is=$(q "$SUM")
go 'before a file is removed'
is "$(q "$SUM")" "$is" 'before a file is removed: commits made during the stop are visible'
verify_store 'before a file is removed'

# DROP of a table whose files are being compacted
for place in compact-files compact-manifest; do
	q 'DROP FOREIGN TABLE IF EXISTS d' "CREATE FOREIGN TABLE d (k int, n int) SERVER widetable OPTIONS (key 'k')" \
		'INSERT INTO d SELECT g, g FROM generate_series(1, 500) g' 'SELECT widetable.flush()' 'UPDATE d SET n = n + 1' 'SELECT widetable.flush()' >/dev/null
	is=$(q "$SUM")
	halt $place 'PERFORM widetable.compact()' 1
	is "$(q "SET lock_timeout = '5s'" 'DROP FOREIGN TABLE d')" "" "$place: DROP FOREIGN TABLE does not wait for the compaction"
	go "table dropped at $place"
	q 'SELECT widetable.flush()' 'SELECT widetable.compact()' >/dev/null
	verify_store "table dropped at $place"
	is "$(q "$SUM")" "$is" "$place: the other tables are unchanged"
	is "$(ls "$T"/data/widetable/*.sst 2>/dev/null | wc -l)" "$(q 'SELECT count(DISTINCT container) FROM widetable.pg_stat_widetable_files')" "$place: no file is left over"
done
finish
