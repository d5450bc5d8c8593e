# export: after SET TRANSACTION SNAPSHOT a transaction sees wide and ordinary tables as the
# exporting transaction does.
. "${0%/*}/common.sh"

new_cluster "session_preload_libraries = 'widetable'" "max_connections = 30"
q "CREATE EXTENSION widetable" "CREATE FOREIGN TABLE w (k text COLLATE \"C\", n int) SERVER widetable" "CREATE TABLE h (k int)" \
	"INSERT INTO w SELECT 'k' || g, g FROM generate_series(1, 5) g" >/dev/null

session exporter 3
# ask SQL: sends a statement to the other session and prints the next line of its output
ask() {
	n=$(($(wc -l <"$T/exporter.out") + 1))
	printf '%s\n' "$1" >&3
	for _ in $(seq 20); do
		[ "$(wc -l <"$T/exporter.out")" -ge $n ] && break
		sleep 0.1
	done
	sed -n "${n}p" "$T/exporter.out"
}

id=$(ask "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();")
# later commits: to wide tables only, and to both kinds of table
q "INSERT INTO w VALUES ('new', 1)" "BEGIN" "INSERT INTO h VALUES (1)" "INSERT INTO w VALUES ('both', 1)" "COMMIT" "UPDATE w SET n = n + 100" "SELECT widetable.flush()" "SELECT widetable.compact('w')" >/dev/null
both="SELECT (SELECT count(*) FROM h), count(*), sum(n) FROM w"
is "$(q "$both")" "1|7|717" "a new transaction sees the later commits"
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "$both" "COMMIT" "$both")" "0|5|15
1|7|717" "a transaction with the exported snapshot sees none of them, the next one sees all"
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "SELECT count(*) FROM h" "$both" "COMMIT")" "0
0|5|15" "the imported snapshot stays the same in later statements"
is "$(q "SET parallel_setup_cost = 0" "SET parallel_tuple_cost = 0" "SET min_parallel_table_scan_size = 0" "BEGIN ISOLATION LEVEL REPEATABLE READ" \
	"SET TRANSACTION SNAPSHOT '$id'" "SELECT count(*), sum(n) FROM w WHERE n > (SELECT min(v) FROM (VALUES (0)) x (v))" "COMMIT")" "5|15" "a parallel plan uses the imported snapshot"
is "$(ask "SELECT (SELECT count(*) FROM h) || ' ' || count(*) FROM w;")" "0 5" "the exporting transaction sees the same"
# Other sessions keep their own snapshots, even if all later commits are to wide tables only: then
# PostgreSQL's snapshots are equal to the exported one.
rr() { PGOPTIONS="-c default_transaction_isolation=repeatable\\ read" q "$@"; }
[ -n "$(ask "COMMIT; SELECT 'done';")" ]
id=$(ask "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();")
is "$(rr "UPDATE w SET n = n + 1 WHERE k = 'k1'" "SELECT n FROM w WHERE k = 'k1'" "UPDATE w SET n = n + 1 WHERE k = 'k1'")" "102" \
	"a session with REPEATABLE READ as its default sees its own earlier commits"
is "$(q "SELECT n FROM w WHERE k = 'k1'")" "103" "it can change the same row again"
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "SELECT n FROM w WHERE k = 'k1'" "COMMIT")" "101" "the exported snapshot is unchanged"
# two exported snapshots that are equal for PostgreSQL
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SELECT pg_export_snapshot() AS id \\gset
\\setenv SECOND :id
\\! \"\$BIN/psql\" -XqAtc 'BEGIN ISOLATION LEVEL REPEATABLE READ' -c \"SET TRANSACTION SNAPSHOT '\$SECOND'\" -c \"SELECT n FROM w WHERE k = 'k1'\" #" "COMMIT")" "103" "of two exported snapshots the named one is imported"
[ -n "$(ask "COMMIT; SELECT 'done';")" ]

# READ COMMITTED: the exported snapshot belongs to one statement
id=$(ask "BEGIN; SELECT pg_export_snapshot();")
like "$(q "SELECT 1 LIMIT 0" "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "SELECT count(*) FROM h" "$both" "COMMIT")" \
	"cannot read wide tables with this imported snapshot" "reading wide tables with the snapshot of a READ COMMITTED exporter fails"
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "SELECT count(*) FROM h" "COMMIT")" "1" "reading ordinary tables with it succeeds"
exec 3>&-
wait

finish
