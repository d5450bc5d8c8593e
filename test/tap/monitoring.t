# monitoring: each query of examples/monitoring runs for a role with pg_monitor and has the columns
# that are listed with it; the dashboard uses only metrics that exist.
. "${0%/*}/common.sh"
EXAMPLES=$(cd "${0%/*}/../.." && pwd)/examples/monitoring
new_cluster "shared_preload_libraries = 'widetable'" 'autovacuum = off'
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE t (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO t SELECT g, 'v' FROM generate_series(1, 100) g" 'CREATE ROLE watcher LOGIN IN ROLE pg_monitor' >/dev/null

# postgres_exporter.yml: a file with the query, and one with its columns, for each name
awk -v t="$T/q." '
	/^widetable_/ { name = $1; sub(":", "", name); names = names " " name; part = "" }
	/^  query: \|/ { part = "query"; next }
	/^  metrics:/ { part = "metrics"; next }
	part == "query" && /^    / { print substr($0, 5) > (t name ".sql") }
	part == "metrics" && /^    - / { sub(":", "", $2); column = $2 }
	part == "metrics" && /usage:/ { print column > (t name ".columns"); print name "_" column > (t "metrics") }
	END { print names > (t "names") }' "$EXAMPLES/postgres_exporter.yml"
is "$(wc -w <"$T/q.names" | tr -d ' ')" 10 'there are ten queries'
# shellcheck disable=SC2013
for name in $(cat "$T/q.names"); do
	PGUSER=watcher "$BIN/psql" -XqA -v ON_ERROR_STOP=1 -f "$T/q.$name.sql" >"$T/out" 2>&1
	ok $? "$name: the query runs"
	is "$(head -n 1 "$T/out" | tr '|' '\n' | sort)" "$(sort "$T/q.$name.columns")" "$name: it has the columns of the metrics"
	ok "$([ "$(wc -l <"$T/out")" -gt 2 ]; echo $?)" "$name: it has rows"
	# the beginning of a block of sql_exporter.collector.yml to the next one, without its indentation
	awk -v n="$name" '/^  - query_name:/ { on = $3 == n; next } on && /^      / { print substr($0, 7) }' "$EXAMPLES/sql_exporter.collector.yml" >"$T/other.sql"
	is "$(cat "$T/other.sql")" "$(cat "$T/q.$name.sql")" "$name: sql_exporter has the same query"
done
# labels are no metrics
awk '/metric_name:/ { print $3 }' "$EXAMPLES/sql_exporter.collector.yml" | sort >"$T/other"
is "$(cat "$T/other")" "$(grep -v -e _datname$ -e _relation$ "$T/q.metrics" | sort)" 'sql_exporter has the same metrics'

# the dashboard
cp "$EXAMPLES/grafana.json" "$T/data/"
q "SELECT DISTINCT m[1] FROM jsonb_path_query(pg_read_file('grafana.json')::jsonb, '\$.panels[*].targets[*].expr') e, regexp_matches(e #>> '{}', 'widetable_[a-z_]+', 'g') m ORDER BY 1" >"$T/used"
ok "$([ "$(wc -l <"$T/used")" -gt 20 ]; echo $?)" 'the dashboard is JSON and has metrics'
is "$(sort "$T/used" | comm -23 - "$T/other")" "" 'they all exist'
is "$(q "SELECT count(*) FROM (SELECT id FROM jsonb_path_query(pg_read_file('grafana.json')::jsonb, '\$.panels[*].id') id GROUP BY id HAVING count(*) > 1) d")" 0 'no two panels have one id'
is "$(q "SELECT count(*) FROM jsonb_path_query(pg_read_file('grafana.json')::jsonb, '\$.panels[*].gridPos') g WHERE (g->>'x')::int + (g->>'w')::int > 24")" 0 'no panel is wider than the page'
finish
