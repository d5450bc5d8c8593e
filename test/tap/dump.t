# dump: widetable_dump and widetable_restore bring back every version of every cell.
. "${0%/*}/common.sh"

new_cluster "max_connections = 40" "temp_file_limit = -1"
# names that a shell or a query may take for something else
ODD='"a"";$(touch '"$T"'/odd) '"'"'x'"'"' %s\ *"'
LINES='"two
lines
"'
q 'CREATE EXTENSION widetable' 'CREATE SCHEMA "S p"' 'CREATE ROLE reader' 'CREATE ROLE nobody_here' \
	"CREATE FOREIGN TABLE t (k text COLLATE \"C\", n int, v text, at timestamptz OPTIONS (timestamp_of 'v'), hits bigint OPTIONS (column 'c:hits'), more jsonb OPTIONS (family 'm'))
		SERVER widetable OPTIONS (key 'k, n desc', families '{\"d\": {\"versions\": 3}, \"c\": {}, \"m\": {\"versions\": 2, \"keep_deleted\": true}, \"e\": {\"ttl\": \"90 days\"}}')" \
	"INSERT INTO t (k, n, v, at, more) SELECT 'k' || g % 50, g, 'v' || g || repeat('x', g % 90), '2020-01-01'::timestamptz + g * interval '1 hour', jsonb_build_object('q' || g % 7, g::text) FROM generate_series(1, 20000) g" \
	"INSERT INTO t (k, n, v, at) SELECT 'k' || g % 50, g, 'old', '2010-01-01' FROM generate_series(1, 20000, 3) g" \
	"UPDATE t SET v = 'new' WHERE n % 11 = 0" "DELETE FROM t WHERE n % 13 = 0" "UPDATE t SET v = NULL WHERE n % 17 = 0" \
	"INSERT INTO t (k, n) SELECT 'empty', g FROM generate_series(1, 100) g" \
	"SELECT count(widetable.increment('t', ROW('k1', g), 'hits', g)) FROM generate_series(1, 100) g" \
	"SELECT widetable.put('t', ROW('brief', 1), 'e:x', 'gone soon', ttl => '1 hour'), widetable.put('t', ROW('brief', 2), 'e:x', 'stays', ttl => '30 days')" \
	"SELECT widetable.put('t', ROW('zero', 0), E'd:\\\\x00\\\\xff', '\\x00ff0a'::bytea, 0)" \
	"CREATE FOREIGN TABLE t_cells (k text COLLATE \"C\", n int, family text, qualifier bytea, ts bigint, value bytea)
		SERVER widetable OPTIONS (table_name 'public.t', key 'k, n desc', layout 'cells')" \
	"CREATE FOREIGN TABLE salted (k int, v text) SERVER widetable OPTIONS (salt_buckets '7')" \
	"INSERT INTO salted SELECT g, 'v' || g FROM generate_series(1, 30000) g" \
	"CREATE FOREIGN TABLE digest (k text OPTIONS (encoding 'md5', column 'd:k'), v text) SERVER widetable" \
	"INSERT INTO digest SELECT 'long name ' || g, g FROM generate_series(1, 1000) g" \
	"CREATE FOREIGN TABLE nothing (k int) SERVER widetable" \
	"CREATE FOREIGN TABLE \"S p\".$ODD (k int, v text) SERVER widetable" "INSERT INTO \"S p\".$ODD VALUES (1, 'odd')" \
	"CREATE FOREIGN TABLE \"S p\".$LINES (k int, v text) SERVER widetable" "INSERT INTO \"S p\".$LINES VALUES (1, 'lines')" \
	"CREATE TABLE h (k int, v text)" "INSERT INTO h VALUES (1, 'ordinary')" \
	"CREATE FOREIGN TABLE pair (k bigint) SERVER widetable" "CREATE TABLE pair_h (k bigint)" "CREATE FOREIGN TABLE late (k int) SERVER widetable" \
	"GRANT SELECT ON t TO reader" >"$T/made" 2>&1
is "$(grep -E 'ERROR|FATAL' "$T/made")" "" "tables of all kinds are made"

# every version, as another way of reading shows it, and what each foreign table shows
all() {
	in_db "$1" "SELECT md5(string_agg(concat_ws(',', k, n, family, qualifier, ts, value), ';' ORDER BY k, n, family, qualifier, ts)), count(*) FROM t_cells" \
		"SELECT md5(string_agg(t::text, ';' ORDER BY k, n)), count(*) FROM t" \
		"SELECT md5(string_agg(s::text || c.ts || c.qualifier, ';' ORDER BY k)), count(*) FROM salted s, widetable.cells('salted', k, 9) c" \
		"SELECT md5(string_agg(s::text || c.ts || c.qualifier || c.value, ';' ORDER BY k, c.qualifier)), count(*) FROM digest s, widetable.cells('digest', k, 9) c" \
		"SELECT * FROM \"S p\".$ODD" "SELECT * FROM \"S p\".$LINES" "SELECT count(*) FROM nothing" "SELECT * FROM h" \
		"SET widetable.as_of = '2020-03-01'" "SELECT md5(string_agg(k || n || v, ';' ORDER BY k, n)), count(*) FROM t"
}
definitions() { "$BIN/pg_dump" -s "$1" | grep -vE '^(--|\\(un)?restrict|SELECT pg_catalog.set_config)'; }
dump() { timeout 120 "$BIN/widetable_dump" "$@" 2>&1; }
restore() { timeout 120 "$BIN/widetable_restore" "$@" 2>&1; }

is "$(all postgres | grep -cE '^[0-9a-f]{32}[|][1-9][0-9]{2}')$(all postgres | grep ERROR)" "5" "there is something to compare"

# pairs of rows in a wide and an ordinary table are written all the time
(i=0; while [ ! -f "$T/enough" ]; do i=$((i + 1)); echo "BEGIN; INSERT INTO pair VALUES ($i); INSERT INTO pair_h VALUES ($i); COMMIT;"; done | "$BIN/psql" -XqAt) >"$T/pairs" 2>&1 &
pairs=$!
await 10 '[1-9]' 'SELECT count(*) FROM pair_h'
is "$(dump -j 4 "$T/dump"; echo $?)" "0" "a database is dumped in four sessions, under load"
: >"$T/enough"
wait $pairs
like "$(find "$T/dump" -name '1.*.cells' | wc -l)" '^[2-9]$' "a table is in several files"
"$BIN/createdb" copy
is "$(restore -j 4 -d copy "$T/dump"; echo $?)" "0" "and restored into an empty database"
is "$(all copy)" "$(all postgres)" "every version of every cell is there, with its timestamp; ordinary tables too"
is "$(definitions copy)" "$(definitions postgres)" "the definitions are the same"
is "$([ -e "$T/odd" ] && echo ran)" "" "no shell has run a table's name"
like "$(in_db copy 'SELECT count(*), sum(k) FROM pair')" '^[1-9]' "some pairs are in the dump"
is "$(in_db copy 'SELECT count(*), sum(k) FROM pair')" "$(in_db copy 'SELECT count(*), sum(k) FROM pair_h')" "wide and ordinary tables are of one moment"
later="SET widetable.clock = '$(date -u -d '+2 hours' '+%F %T')+00'"
is "$(in_db copy "$later" "SELECT n FROM t WHERE k = 'brief'")" "2" "a cell's own time to live is kept"
is "$(in_db copy "SELECT v FROM digest WHERE k = 'long name 7'" "SELECT v FROM salted WHERE k = 77")" "7
v77" "rows are found by digest and salted keys"

# single tables, by any role that may read them
q 'CREATE DATABASE one' >/dev/null
in_db one 'CREATE EXTENSION widetable' 'CREATE SCHEMA "S p"' 'CREATE ROLE owner_there LOGIN' 'GRANT USAGE ON FOREIGN SERVER widetable TO owner_there' \
	'GRANT CREATE, USAGE ON SCHEMA "S p", public TO owner_there' >/dev/null
is "$(dump -t "\"S p\".$ODD" -t "\"S p\".$LINES" "$T/two"; restore -d one "$T/two"; in_db one "SELECT v FROM \"S p\".$ODD" "SELECT v FROM \"S p\".$LINES")" "odd
lines" "tables with any name can be dumped alone"
q 'ALTER ROLE reader LOGIN' 'ALTER ROLE nobody_here LOGIN' >/dev/null
is "$(dump -U reader -c -t t "$T/reader"; echo $?)" "0" "who may read a table may dump its cells"
like "$(dump -U nobody_here -c -t t "$T/nobody")" 'permission denied|no privilege' "others may not"
like "$(dump -U reader -c "$T/part")" 'no privilege to read' "a dump of everything does not leave out what may not be read"
is "$(ls "$T/nobody/contents" "$T/part/contents" 2>/dev/null)" "" "a dump that failed has no list of contents"
like "$(restore -d one -c "$T/nobody")" 'not a complete dump' "and is not restored"
like "$(dump -t h "$T/h")" 'not a wide table' "an ordinary table is refused"
like "$(dump -t 'no such' "$T/no")" 'invalid name syntax' "a name that is none is refused"

# only into empty tables, and whole files only
like "$(restore -c -d copy "$T/dump")" 'table .* is not empty' "tables that have rows are not restored into"
is "$(in_db copy 'TRUNCATE t' 'SELECT 1'; restore -c -d copy -j 2 "$T/reader"; all copy)" "1
$(all postgres)" "cells alone are restored into a table that exists"
f=$(ls "$T"/reader/1.*.cells | head -n 1)
dd if=/dev/zero of="$f" bs=1 seek=2000 count=3 conv=notrunc 2>/dev/null
like "$(in_db copy 'TRUNCATE t'; restore -c -d copy "$T/reader")" 'invalid chunk of cells' "a damaged file is an error"
# cut NAME: cuts the file off behind its first chunk, where COPY sees no damage
cut() { perl -e 'open my $f, "+<:raw", $ARGV[0] or die $!; read $f, my $head, 25; truncate $f, 25 + unpack "x21 N", $head or die $!' "$1"; }
in_db copy 'TRUNCATE t' >/dev/null
bytes=$(wc -c <"$f")
cut "$f"
[ "$(wc -c <"$f")" -lt "$bytes" ]; ok $? "a file has several chunks"
like "$(restore -c -d copy "$T/reader")" "has [0-9]* bytes, and not $bytes" "a file that is cut off is an error before anything is written"
rm "$f"
like "$(restore -c -d copy "$T/reader")" 'is missing' "so is a missing one"
is "$(in_db copy 'SELECT count(*) FROM t')" 0 "nothing was written"

sed 's/^\(part .*\) [0-9]*$/\1/' "$T/reader/contents" >"$T/contents" && mv "$T/contents" "$T/reader/contents"
like "$(restore -c -d copy "$T/reader")" 'does not know' "contents of another form is an error"

# a signal ends the sessions as well; these are stopped at their first chunk
is "$(dump -c -j 2 -t salted "$T/salted"; in_db copy 'TRUNCATE salted' "CREATE FUNCTION block() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(99); END'" \
	"CREATE EVENT TRIGGER block ON ddl_command_end WHEN TAG IN ('CREATE TRIGGER') EXECUTE FUNCTION block()")" "" "sessions can be stopped"
session blocker 4
printf '%s\n' '\c copy' "SELECT 'blocks' FROM pg_advisory_lock(99);" >&4
wait_output blocker blocks
"$BIN/widetable_restore" -c -j 2 -d copy "$T/salted" >"$T/restore.out" 2>&1 &
restorer=$!
WAITING="SELECT count(*) FROM pg_stat_activity WHERE datname = 'copy' AND wait_event = 'advisory'"
await 10 '^2$' "$WAITING"; ok $? "a restore has two sessions"
psqls() { grep -l '[C]REATE TEMP VIEW chunks' /proc/[0-9]*/cmdline 2>/dev/null | wc -l; }
[ "$(psqls)" -ge 2 ]; ok $? "and two clients"
kill "$restorer"
wait "$restorer"; is $? 143 "it ends at a signal"
for _ in $(seq 50); do [ "$(psqls)" = 0 ] && break; sleep 0.1; done
is "$(psqls)" 0 "so do its clients"
exec 4>&-
is "$(await 10 '^0$' "$WAITING"; in_db copy 'DROP EVENT TRIGGER block' 'SELECT count(*) FROM salted')" 0 "and nothing was written"

# one moment with other tools, and a database whose name is like a connection string
NAME="host=nowhere it's \\x"
session exporter 3
echo "SELECT widetable.prefix_end('') IS NULL; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'id ' || pg_export_snapshot();" >&3
wait_output exporter '^id '
q 'INSERT INTO late VALUES (1)' "INSERT INTO h VALUES (2, 'late')" >/dev/null
is "$(dump -s "$(sed -n 's/^id //p' "$T/exporter.out")" "$T/moment"; "$BIN/createdb" "$NAME"; restore -d "$NAME" "$T/moment"
	in_db "$NAME" 'SELECT count(*) FROM late' 'SELECT count(*) FROM h')" "0
1" "an exported snapshot is the moment of the dump"
exec 3>&-
wait
verify_store
finish
