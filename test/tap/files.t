# files: somebody halts where a flush or a compaction has written its files, where
# the manifest has switched to them, and before an old file goes.  Others read and
# write meanwhile; nothing that they see changes, nor does what they write get lost.
. "${0%/*}/common.sh"
# flushes and compactions are done by the sessions that ask for them
new_cluster "shared_preload_libraries = 'widetable'" "widetable.workers = 0" "autovacuum = off" "max_parallel_workers_per_gather = 0"
q 'CREATE EXTENSION widetable' "$TABLE" 'CREATE FOREIGN TABLE u (k int, n int) SERVER widetable OPTIONS (key '"'k'"')' >/dev/null
rows="SELECT k, n, v, more FROM t ORDER BY k, n DESC"
# a scan that halts in the middle of its rows while somebody holds lock 77
slow="SELECT count(*), sum(n), md5(string_agg(k || n || v || more, ',' ORDER BY k, n)) FROM (SELECT k, n, v, more,
	CASE WHEN n = 1005 THEN pg_advisory_xact_lock_shared(77) END AS x FROM t OFFSET 0) s"

# tell FD NAME SQL...: in that session, until all is done
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

# halt PLACE SQL N: somebody does it, up to there; N sessions halt then
halt() {
	tell 5 hold "SELECT pg_advisory_lock($(stop_lock "$1"))" >/dev/null
	q "SET widetable.stop_at = '$1'" "DO \$\$BEGIN $2; END\$\$" >"$T/halted" 5>&- 6>&- &
	halted=$!
	await_stopped "$3"
}
go() { tell 5 hold 'SELECT pg_advisory_unlock_all()' >/dev/null; wait "$halted"; is "$(cat "$T/halted")" "" "$1: it comes to its end"; }

# around NAME PLACE SQL: readers that began before, commits meanwhile
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
	# a snapshot from before, and a cursor in it
	LINES_=100
	tell 6 old 'BEGIN ISOLATION LEVEL REPEATABLE READ' "DECLARE c CURSOR FOR $rows" 'FETCH 100 FROM c' >"$T/first"
	LINES_=1
	# what these two still need has been replaced when the files are made
	q "UPDATE t SET v = 'between' WHERE n % 2 = 0" "DELETE FROM t WHERE n % 13 = 0" >/dev/null
	[ "$2" = flush-files ] || [ "$2" = flush-manifest ] || q 'SELECT widetable.flush()' >/dev/null
	between=$(q "$SUM")
	halt "$2" "$3" 2
	is "$(q "$SUM")" "$between" "$name: others read the same"
	q "UPDATE t SET v = 'new' WHERE n % 5 = 0" "DELETE FROM t WHERE n % 11 = 0" "INSERT INTO t SELECT 'z', g, 'z', '{}' FROM generate_series(1, 300) g" 'INSERT INTO u VALUES (1, 1)' >/dev/null
	is=$(q "$SUM")
	is "$(tell 6 old "$SUM")" "$was" "$name: an old snapshot, too"
	tell 5 hold 'SELECT pg_advisory_unlock(77)' >/dev/null
	wait "$slow_"
	is "$(cat "$T/slow")" "$was" "$name: and a scan from before"
	go "$name"
	is "$(q "$SUM")" "$is" "$name: commits from meanwhile are there"
	is "$(tell 6 old "$SUM")" "$was" "$name: the old snapshot stays"
	LINES_=$(($(printf '%s\n' "$list" | wc -l) - 100))
	tell 6 old 'FETCH ALL FROM c' >"$T/rest"
	LINES_=1
	is "$(cat "$T/first" "$T/rest" | md5sum)" "$(printf '%s\n' "$list" | md5sum)" "$name: its cursor goes on"
	tell 6 old COMMIT >/dev/null
	verify_store "$name"
	stop immediate
	start
	exec 5>&- 6>&-

	session hold 5
	session old 6
	is "$(q "$SUM")" "$is" "$name: and after a crash"
}
around 'files of a flush are written' flush-files 'PERFORM widetable.flush()'
around 'files of a flush are listed' flush-manifest 'PERFORM widetable.flush()'
around 'files of a compaction are written' compact-files 'PERFORM widetable.compact()'
around 'files of a compaction are listed' compact-manifest 'PERFORM widetable.compact()'

# a file is about to go: others read, write and make files
q 'SELECT widetable.flush()' "UPDATE t SET v = v || 'y' WHERE n % 2 = 0" 'SELECT widetable.flush()' >/dev/null
was=$(q "$SUM")
halt collect-unlink 'PERFORM widetable.compact(); PERFORM widetable.flush()' 1
is "$(q "$SUM")" "$was" 'a file goes: others read the same'
q "UPDATE t SET v = 'newer' WHERE n % 2 = 1" 'SELECT widetable.flush()' >/dev/null
is=$(q "$SUM")
go 'a file goes'
is "$(q "$SUM")" "$is" 'a file goes: commits from meanwhile are there'
verify_store 'a file goes'

# a table is dropped whose files are being compacted
for place in compact-files compact-manifest; do
	q 'DROP FOREIGN TABLE IF EXISTS d' "CREATE FOREIGN TABLE d (k int, n int) SERVER widetable OPTIONS (key 'k')" \
		'INSERT INTO d SELECT g, g FROM generate_series(1, 500) g' 'SELECT widetable.flush()' 'UPDATE d SET n = n + 1' 'SELECT widetable.flush()' >/dev/null
	is=$(q "$SUM")
	halt $place 'PERFORM widetable.compact()' 1
	is "$(q "SET lock_timeout = '5s'" 'DROP FOREIGN TABLE d')" "" "$place: a table can be dropped"
	go "a table is dropped at $place"
	q 'SELECT widetable.flush()' 'SELECT widetable.compact()' >/dev/null
	verify_store "a table is dropped at $place"
	is "$(q "$SUM")" "$is" "$place: the other tables are as they were"
	is "$(ls "$T"/data/widetable/*.sst 2>/dev/null | wc -l)" "$(q 'SELECT count(*) FROM widetable.pg_stat_widetable_files')" "$place: no file is left over"
done
finish
