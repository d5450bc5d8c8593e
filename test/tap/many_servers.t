# many_servers: a table over several servers, and a range that moves to another one under writers.
# It takes some 20 seconds.
. "${0%/*}/common.sh"

if [ ! -e "$("$BIN/pg_config" --sharedir)/extension/postgres_fdw.control" ]; then
	echo "ok - skipped: this server has no postgres_fdw"
	exit 0
fi
MOVE=$(cd "${0%/*}/../.." && pwd)/examples/many_servers/move_range
PATH=$BIN:$PATH

# ---- three servers: one that programs connect to, and two that have the rows
new_cluster "max_connections = 40"
for s in s1 s2; do
	"$BIN/initdb" -D "$T/data.$s" -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync >/dev/null
	cp "$T/data/postgresql.conf" "$T/data.$s/postgresql.conf"
	second "$T/data.$s"
	there "$T/data.$s" "CREATE EXTENSION widetable" >/dev/null
done
WIDE="CREATE FOREIGN TABLE visits (site text COLLATE \"C\" NOT NULL, at timestamptz NOT NULL, url text, n bigint, seen timestamptz OPTIONS (timestamp_of 'url'), tags jsonb OPTIONS (family 't'))
	SERVER widetable OPTIONS (key 'site, at desc', families '{\"d\": {\"versions\": 3}, \"t\": {}}')"
there "$T/data.s1" "$WIDE" >"$T/made"
there "$T/data.s2" "$WIDE" >>"$T/made"
q "CREATE EXTENSION widetable" "CREATE EXTENSION postgres_fdw" \
	"CREATE SERVER s1 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$T/data.s1.s', dbname 'postgres', async_capable 'true', fetch_size '1000', batch_size '100')" \
	"CREATE SERVER s2 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$T/data.s2.s', dbname 'postgres', async_capable 'true', fetch_size '1000', batch_size '100')" \
	"CREATE USER MAPPING FOR PUBLIC SERVER s1 OPTIONS (user 'postgres', password_required 'false')" \
	"CREATE USER MAPPING FOR PUBLIC SERVER s2 OPTIONS (user 'postgres', password_required 'false')" \
	"CREATE TABLE visits (site text COLLATE \"C\" NOT NULL, at timestamptz NOT NULL, url text, n bigint, seen timestamptz, tags jsonb) PARTITION BY RANGE (site)" \
	"CREATE FOREIGN TABLE visits_1 PARTITION OF visits FOR VALUES FROM (MINVALUE) TO ('n') SERVER s1 OPTIONS (table_name 'visits')" \
	"CREATE FOREIGN TABLE visits_2 PARTITION OF visits FOR VALUES FROM ('n') TO (MAXVALUE) SERVER s2 OPTIONS (table_name 'visits')" >>"$T/made"
is "$(cat "$T/made")" "" "the table over two servers is made"

# ---- statements
q "INSERT INTO visits (site, at, url, n) SELECT chr(97 + g % 26), '2026-01-01'::timestamptz + g * interval '1 minute', '/' || g, g FROM generate_series(0, 2599) g" >"$T/out"
printf 'a\t2025-01-01\t/copied\t1\nz\t2025-01-01\t/copied\t2\n' >"$T/rows"
q "\\copy visits (site, at, url, n) FROM '$T/rows'" >>"$T/out"
is "$(cat "$T/out")$(there "$T/data.s1" "SELECT count(*), min(site), max(site) FROM visits")$(there "$T/data.s2" "SELECT count(*), min(site), max(site) FROM visits")" "1301|a|m1301|n|z" "INSERT and COPY go to the server of the key"
plan() { q "SET TimeZone = 'UTC'" "EXPLAIN (VERBOSE, COSTS OFF) $1"; }
p=$(plan "SELECT url FROM visits WHERE site = 'b' AND at > '2026-01-02' ORDER BY at DESC LIMIT 3")
is "$(echo "$p" | grep -c 'Foreign Scan')$(echo "$p" | grep -c 'visits_2')" "10" "a key is read from one partition"
like "$p" "Remote SQL: SELECT .* FROM public.visits WHERE \(\(at > .*\)\) AND \(\(site = 'b'\)\)" "with its condition"
is "$(echo "$p" | grep -c 'Remote SQL.*LIMIT')" 0 "LIMIT is not sent for a partitioned table"
like "$(plan "SELECT url FROM visits_1 WHERE site = 'b' ORDER BY at DESC LIMIT 3")" "Remote SQL.*LIMIT 3" "it is for the partition"
p=$(plan "SELECT site, at FROM visits WHERE site > 'c' ORDER BY site, at DESC LIMIT 3")
is "$(echo "$p" | grep -E -c 'Sort|Merge')$(echo "$p" | grep -c 'ORDER BY site ASC NULLS LAST, at DESC NULLS FIRST')" "02" "key order over the partitions needs no sort"
is "$(q "SELECT string_agg(site, '' ORDER BY no) FROM (SELECT site, row_number() OVER () no FROM (SELECT site FROM visits WHERE site BETWEEN 'l' AND 'o' ORDER BY site, at DESC LIMIT 300 OFFSET 98) x) y WHERE no % 50 = 1")" "lmmnno" "and crosses the border in order"
p=$(q "SET enable_partitionwise_aggregate = on" "EXPLAIN (VERBOSE, COSTS OFF) SELECT site, count(*), sum(n) FROM visits GROUP BY site")
is "$(echo "$p" | grep -c 'Remote SQL: SELECT .*count(\*), sum(n) FROM public.visits GROUP BY')" 2 "with enable_partitionwise_aggregate groups by the first key column are computed by the servers"
is "$(plan "SELECT count(*) FROM visits" | grep -c 'Async Foreign Scan')" 2 "both servers work at the same time"
p=$(plan "UPDATE visits SET n = n + 1 WHERE site = 'b' AND at = '2026-01-01 00:01+00'")
is "$(echo "$p" | grep -c 'Foreign Update')$(echo "$p" | grep -c 'Remote SQL: UPDATE public.visits SET n = (n + 1)')" "21" "UPDATE by key is one statement for one server"
is "$(q "UPDATE visits SET n = n + 1000 WHERE site = 'b' AND n = 1 RETURNING n" "DELETE FROM visits WHERE url = '/copied'" "SELECT count(*) FROM visits")" "1001
2600" "UPDATE and DELETE"

# ---- functions
row() { echo "ROW('$1', '2026-01-01 $2+00')"; }
is "$(q "SELECT widetable.increment('visits', $(row b 00:01), 'n'), widetable.increment('visits', $(row o 00:14), 'n', 5)" "SELECT site, n FROM visits WHERE n > 1000 AND at < '2026-01-01 00:10+00' OR n = 19 AND site = 'o' ORDER BY 1" \
	"SELECT widetable.key_columns('visits')")" "1002|19
b|1002
o|19
{site,at}" "increment goes to the servers of the keys"
is "$(q BEGIN "SELECT widetable.increment('visits', $(row b 00:01), 'n')" "UPDATE visits SET n = n + 1 WHERE site = 'b' AND at = '2026-01-01 00:01+00'" \
	"SAVEPOINT s" "SELECT widetable.put('visits', $(row b 00:01), 't:q', 'x'::text), widetable.delete_row('visits', $(row o 00:14))" \
	"SELECT widetable.get('visits', $(row b 00:01)) #- '{d,url}', widetable.get('visits', $(row o 00:14)) IS NULL" \
	"ROLLBACK TO s" "SELECT widetable.get('visits', $(row b 00:01)) #- '{d,url}', widetable.get('visits', $(row o 00:14)) IS NULL" ROLLBACK \
	"SELECT widetable.get('visits', $(row b 00:01)) #- '{d,url}'")" '1003
|
{"d": {"n": 1004}, "t": {"q": "x"}}|t
{"d": {"n": 1004}}|f
{"d": {"n": 1002}}' "functions are in the transactions of postgres_fdw: they see its changes, and savepoints and ROLLBACK undo them"
session other 4
echo "BEGIN; SELECT widetable.get('visits', $(row b 00:01)) #- '{d,url}';" >&4
wait_output other 1002
q "SELECT widetable.increment('visits', $(row b 00:01), 'n')" >/dev/null
echo "SELECT widetable.increment('visits', $(row b 00:01), 'n');" >&4
wait_output other ERROR
like "$(cat "$T/other.out")" "could not serialize access due to concurrent update" "a row that has changed since the transaction began on the server is a serialization error"
echo "ROLLBACK; SELECT widetable.increment('visits', $(row b 00:01), 'n');" >&4
wait_output other '^1004$'
is $? 0 "and succeeds when it is repeated"
exec 4>&-
out=$(VERBOSITY=verbose q "SELECT widetable.increment('visits', $(row b 00:01), 'nowhere')" | tr '\n' ' ')
like "$out" '42703: .*increment\(\) for foreign table "visits_1" on server "s1"' "an error has the SQLSTATE of the server, and names table and server"
stop_second "$T/data.s2"
out=$(VERBOSITY=verbose q "SELECT widetable.increment('visits', $(row o 00:14), 'n')" | tr '\n' ' ')
like "$out" '08001: could not connect to server "s2"' "a server that is down is an error"
is "$(q "SELECT widetable.increment('visits', $(row b 00:01), 'n')")" 1005 "for its rows only"
second "$T/data.s2"
there "$T/data.s2" "CREATE ROLE app LOGIN" >/dev/null
q "CREATE ROLE app LOGIN" "GRANT SELECT, UPDATE, INSERT ON visits TO app" "CREATE USER MAPPING FOR app SERVER s2 OPTIONS (user 'app', password_required 'false')" >/dev/null
like "$(q "SET ROLE app" "SELECT widetable.increment('visits', $(row b 00:01), 'n')" "SELECT widetable.increment('visits', $(row o 00:14), 'n')" | tr '\n' ' ')" \
	'^1006 ERROR:  permission denied for foreign table visits' "the server checks the privileges of the role of the user mapping"
like "$(q "REVOKE UPDATE ON visits FROM app" "SET ROLE app" "SELECT widetable.increment('visits', $(row b 00:01), 'n')")" \
	'permission denied for table visits' "and this one those of the caller"

# ---- what only all versions show
there "$T/data.s1" "SELECT widetable.put('visits', ROW('h', '2020-01-01'), 'url', 'v' || g, g) FROM generate_series(1, 5) g" \
	"SELECT widetable.put('visits', ROW('i', '2020-01-01'), 't:brief', 'x'::text, ttl => '30 days')" >/dev/null

# ---- writers.  Each writes rows of its own, one statement after the other, and notes each that has
# succeeded, until $T/stop is there
q "CREATE FOREIGN TABLE ref (site text COLLATE \"C\", at timestamptz, url text, n bigint, seen timestamptz OPTIONS (timestamp_of 'url'), tags jsonb OPTIONS (family 't'))
	SERVER widetable OPTIONS (key 'site, at desc', families '{\"d\": {\"versions\": 3}, \"t\": {}}')" >/dev/null
statements() { # WRITER ROUND
	awk -v w="$1" -v r="$2" 'BEGIN {
		srand(w * 100000 + r)
		for (i = 1; i <= 200; i++) {
			no = r * 1000 + i
			site = sprintf("%cw%d", 97 + int(rand() * 26), w)
			at = sprintf("2027-01-01 00:%02d+00", int(rand() * 20))
			row = "ROW(\047" site "\047, \047" at "\047)"
			where = "site = \047" site "\047 AND at = \047" at "\047"
			o = int(rand() * 8)
			if (o <= 1) s = "INSERT INTO visits (site, at, url, n) VALUES (\047" site "\047, \047" at "\047, \047/" no "\047, " no ");"
			if (o == 2) s = "SELECT widetable.increment(\047visits\047, " row ", \047n\047, 3);"
			if (o == 3) s = "DELETE FROM visits WHERE " where ";"
			if (o == 4) s = "UPDATE visits SET url = \047u" no "\047 WHERE " where ";"
			if (o == 5) s = "SELECT widetable.put(\047visits\047, " row ", \047t:q\047, \047" no "\047::text);"
			if (o == 6) s = "SELECT widetable.delete_column(\047visits\047, " row ", \047t:q\047);"
			if (o == 7) s = "SELECT widetable.put(\047visits\047, " row ", \047t:old\047, \047" no "\047::text, " 1000 + no ");"
			print s
			q = s; gsub(/\047/, "\047\047", q)
			print "\\if :ERROR\n\\else\n\\qecho \047" q "\047\n\\endif"
		}
	}'
}
writer() {
	r=0
	while [ ! -e "$T/stop" ]; do
		r=$((r + 1))
		statements "$1" $r >"$T/writer.$1.sql"
		{ printf '\\o %s\n' "$T/ignore.$1"; sed "s,^\\\\qecho,\\\\warn," "$T/writer.$1.sql"; } | "$BIN/psql" -XqAt 2>>"$T/ledger.$1"
	done
}
writers=''
for w in 1 2; do : >"$T/ledger.$w"; writer $w & writers="$writers $!"; done
acknowledged() { cat "$T"/ledger.[12] | grep -c ';$'; }
more() { have=$(acknowledged); for _ in $(seq 1200); do [ "$(acknowledged)" -ge $((have + $1)) ] && return 0; sleep 0.05; done; return 1; }
more 60
ok $? "writers write"

# ---- moves: half of the first server's range, then all of the second one's
"$BIN/initdb" -D "$T/data.s3" -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync >/dev/null
cp "$T/data/postgresql.conf" "$T/data.s3/postgresql.conf"
second "$T/data.s3"
there "$T/data.s3" "CREATE EXTENSION widetable" >/dev/null
q "CREATE SERVER s3 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$T/data.s3.s', dbname 'postgres', async_capable 'true')" \
	"CREATE USER MAPPING FOR PUBLIC SERVER s3 OPTIONS (user 'postgres', password_required 'false')" >/dev/null
SUM="SELECT count(*), md5(string_agg(site || at || url || n || coalesce(tags::text, ''), ',' ORDER BY site, at)) FROM visits WHERE length(site) = 1"
before=$(q "$SUM")
cells() { there "$1" "SELECT md5(string_agg(concat_ws(',', site, at, family, qualifier, ts, encode(value, 'hex')), ';' ORDER BY site, at, family, qualifier, ts)) FROM (
	SELECT v.site, v.at, c.* FROM visits v, LATERAL widetable.cells('visits', ROW(v.site, v.at), 100) c WHERE length(site) = 1 AND site >= '$2' AND site < '$3') x"; }
versions=$(cells "$T/data.s1" g n)
"$MOVE" -v -c "host=$T/s" -f "host=$T/data.s1.s" -t "host=$T/data.s3.s" -b g -n 4 visits visits_1 visits s3 visits_3 >"$T/move.out" 2>&1
is $? 0 "a range moves to a new server under writers"
sed 's/^/# /' "$T/move.out"
is "$(cells "$T/data.s3" g n)" "$versions" "with all versions and their timestamps"
is "$(there "$T/data.s1" "SELECT max(site) < 'g' FROM visits")$(there "$T/data.s3" "SELECT min(site) >= 'g' FROM visits")" "tt" "and is gone at the old place"
more 60
ok $? "writers go on"
"$MOVE" -v -a -c "host=$T/s" -f "host=$T/data.s2.s" -t "host=$T/data.s1.s" -n 4 visits visits_2 visits s1 visits_4 >"$T/move.out" 2>&1
is "$(cat "$T/move.out")" "move_range: public.visits of server s1 is another partition of public.visits" "a range does not move to the table of another partition"
there "$T/data.s3" "CREATE DATABASE more" >/dev/null
more_db() { (PGHOST=$T/data.s3.s; in_db more "$@"); }
more_db "CREATE EXTENSION widetable" "$WIDE" "INSERT INTO visits (site, at, n) VALUES ('c', now(), 1)"
q "CREATE SERVER s4 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$T/data.s3.s', dbname 'more')" \
	"CREATE USER MAPPING FOR PUBLIC SERVER s4 OPTIONS (user 'postgres', password_required 'false')" >/dev/null
move_all() { "$MOVE" -v -a -k -c "host=$T/s" -f "host=$T/data.s2.s" -t "host=$T/data.s3.s dbname=more" -n 4 visits visits_2 visits s4 visits_4 >"$T/move.out" 2>&1; }
partitions() { q "SELECT string_agg(inhrelid::regclass::text, ',' ORDER BY inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'visits'::regclass"; }
move_all
is "$(cat "$T/move.out")" "move_range: public.visits has other rows on the new server" "nor to a table that has other rows"
is "$(partitions)" "visits_1,visits_2,visits_3" "then nothing has changed"
more_db "TRUNCATE visits"
move_all
is $? 0 "a whole partition moves"
sed 's/^/# /' "$T/move.out"
is "$(partitions)" "visits_1,visits_3,visits_4" "and another takes its place"
there "$T/data.s3" "CREATE DATABASE third" >/dev/null
(PGHOST=$T/data.s3.s; in_db third "CREATE EXTENSION widetable")
q "CREATE SERVER s5 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$T/data.s3.s', dbname 'third')" \
	"CREATE USER MAPPING FOR PUBLIC SERVER s5 OPTIONS (user 'postgres', password_required 'false')" >/dev/null
there "$T/data.s1" "SELECT widetable.flush()" >/dev/null
"$MOVE" -v -c "host=$T/s" -f "host=$T/data.s1.s" -t "host=$T/data.s3.s dbname=third" -n 4 visits visits_1 visits s5 visits_5 >"$T/move.out" 2>&1
is $? 0 "half of what is left moves, without a border"
sed 's/^/# /' "$T/move.out"
more 60
: >"$T/stop"
# shellcheck disable=SC2086
wait $writers
is "$(grep -h ERROR "$T"/ledger.[12] | sort | uniq -c)" "" "no writer has seen an error"

# ---- what was acknowledged is there, and nothing else
grep -h ';$' "$T"/ledger.[12] | sed "s/visits/ref/" >"$T/replay.sql"
"$BIN/psql" -XqAt -f "$T/replay.sql" >"$T/replay.out" 2>&1
CONTENT="count(*), md5(string_agg(concat_ws('|', site, at, url, n, tags), ',' ORDER BY site, at))"
is "$(q "SELECT $CONTENT FROM visits WHERE length(site) = 3")" "$(q "SELECT $CONTENT FROM ref")" "the rows are what the writers were told"
is "$(q "$SUM")" "$before" "the other rows are what they were"
is "$(q "SELECT count(*) FROM visits v WHERE (site >= 'g' AND site < 'n') <> (tableoid = 'visits_3'::regclass)")" 0 "each row is where it belongs"
for s in s1 s2 s3; do is "$(there "$T/data.$s" 'SELECT * FROM widetable.verify()')" "" "$s: verify() finds no problem"; done
finish
