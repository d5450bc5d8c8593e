# export: SET TRANSACTION SNAPSHOT shows wide and ordinary tables as the transaction
# does that has exported its snapshot.
. "${0%/*}/common.sh"

new_cluster "session_preload_libraries = 'widetable'" "max_connections = 30"
q "CREATE EXTENSION widetable" "CREATE FOREIGN TABLE w (k text COLLATE \"C\", n int) SERVER widetable" "CREATE TABLE h (k int)" \
	"INSERT INTO w SELECT 'k' || g, g FROM generate_series(1, 5) g" >/dev/null

session exporter 3
# ask SQL: the next line that the other session prints
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
# committed since: to wide tables alone, and to both
q "INSERT INTO w VALUES ('new', 1)" "BEGIN" "INSERT INTO h VALUES (1)" "INSERT INTO w VALUES ('both', 1)" "COMMIT" "UPDATE w SET n = n + 100" "SELECT widetable.flush()" "SELECT widetable.compact('w')" >/dev/null
both="SELECT (SELECT count(*) FROM h), count(*), sum(n) FROM w"
is "$(q "$both")" "1|7|717" "what is committed"
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "$both" "COMMIT" "$both")" "0|5|15
1|7|717" "with the exported snapshot, and after it"
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "SELECT count(*) FROM h" "$both" "COMMIT")" "0
0|5|15" "the same after another statement"
is "$(q "SET parallel_setup_cost = 0" "SET parallel_tuple_cost = 0" "SET min_parallel_table_scan_size = 0" "BEGIN ISOLATION LEVEL REPEATABLE READ" \
	"SET TRANSACTION SNAPSHOT '$id'" "SELECT count(*), sum(n) FROM w WHERE n > (SELECT min(v) FROM (VALUES (0)) x (v))" "COMMIT")" "5|15" "in a parallel plan"
is "$(ask "SELECT (SELECT count(*) FROM h) || ' ' || count(*) FROM w;")" "0 5" "the exporting transaction itself"
# others have snapshots of their own, also where only wide tables were committed to since, so that
# PostgreSQL's shows the same transactions as the exported one
rr() { PGOPTIONS="-c default_transaction_isolation=repeatable\\ read" q "$@"; }
[ -n "$(ask "COMMIT; SELECT 'done';")" ]
id=$(ask "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();")
is "$(rr "UPDATE w SET n = n + 1 WHERE k = 'k1'" "SELECT n FROM w WHERE k = 'k1'" "UPDATE w SET n = n + 1 WHERE k = 'k1'")" "102" \
	"a session that is always in REPEATABLE READ sees its own commits"
is "$(q "SELECT n FROM w WHERE k = 'k1'")" "103" "and changes the row again"
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "SELECT n FROM w WHERE k = 'k1'" "COMMIT")" "101" "the exported one stays as it is"
# two are offered, and PostgreSQL's are the same
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SELECT pg_export_snapshot() AS id \\gset
\\setenv SECOND :id
\\! \"\$BIN/psql\" -XqAtc 'BEGIN ISOLATION LEVEL REPEATABLE READ' -c \"SET TRANSACTION SNAPSHOT '\$SECOND'\" -c \"SELECT n FROM w WHERE k = 'k1'\" #" "COMMIT")" "103" "of two exporters the right one"
[ -n "$(ask "COMMIT; SELECT 'done';")" ]

# a snapshot of one statement only
id=$(ask "BEGIN; SELECT pg_export_snapshot();")
like "$(q "SELECT 1 LIMIT 0" "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "SELECT count(*) FROM h" "$both" "COMMIT")" \
	"cannot read wide tables with this imported snapshot" "an exporter that keeps none is an error for wide tables"
is "$(q "BEGIN ISOLATION LEVEL REPEATABLE READ" "SET TRANSACTION SNAPSHOT '$id'" "SELECT count(*) FROM h" "COMMIT")" "1" "and none for ordinary ones"
exec 3>&-
wait

finish
