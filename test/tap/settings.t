# settings: a bad value of a setting is refused by the statement or the file that gives it, and
# the server goes on.  Where PostgreSQL takes a default instead (the value was given before the
# library was loaded, or is the default of a role or database), reads of wide tables fail until
# the setting has a valid value.  Takes about 10 seconds.
. "${0%/*}/common.sh"
new_cluster
is "$(q 'CREATE EXTENSION widetable' \
	"CREATE FOREIGN TABLE t (k int, v int) SERVER widetable OPTIONS (key 'k', families '{\"d\": {\"versions\": 3}}')" \
	"SELECT widetable.put('t', 1, 'v', 1, 1000)" "SELECT widetable.put('t', 1, 'v', 2, 2000)" 'CREATE ROLE r LOGIN' \
	'GRANT ALL ON t TO r' 'GRANT USAGE ON SCHEMA widetable TO r' 'GRANT USAGE ON FOREIGN SERVER widetable TO r' 'CREATE TABLE h AS SELECT 1 AS one')" "" "the table is created"
LIBRARY="LOAD 'widetable'"
is "$(q "SET widetable.as_of = 1500" 'SELECT v FROM t')" 1 "a read as of a time shows the version of that time"

# every setting, and values that it must refuse
BAD_VALUES="memtable_size none
memtable_size 1kB
cache_size 65GB
max_tables 0
workers 2
workers x
as_of bad
as_of infinity
as_of -infinity
as_of 2024-13-01
as_of 300000-01-01
as_of 9223372036854775808
as_of 12:00
as_of 2024-01-01 Nowhere/Town
clock bad
clock infinity
clock 1969-12-31
clock -1
enable_pushdown maybe
enable_parallel_scan 2
enable_lookup_ahead no one
enable_direct_modify 3
write_memory 1kB
log_bulk often
ignore_missing_wal x
stop_at nowhere
stop_at commit-prepared,nowhere
parallel_snapshot 00"
each_bad_value() { printf '%s\n' "$BAD_VALUES" | while read -r name value; do "$@" "widetable.$name" "$value"; done; }
# Every line of the output must be in order; the last line says so.
none() { printf '%s\n' "$1" | grep -v '^ok$'; }

by_set() {
	got=$(q "$LIBRARY" "SET $1 = '$2'" "SELECT 'alive'")
	case $got in *"parameter \"$1\""*alive) echo ok ;; *) echo "SET $1 = $2: $got" ;; esac
}
is "$(none "$(each_bad_value by_set)")" "" "SET refuses every bad value and names the parameter"
by_set_local() {
	got=$(q "$LIBRARY" BEGIN 'SAVEPOINT s' "SET LOCAL $1 = '$2'" 'ROLLBACK TO s' "SELECT set_config('$1', '$2', true)" ROLLBACK "SELECT 'alive'")
	case $got in *"parameter \"$1\""*"parameter \"$1\""*alive) echo ok ;; *) echo "SET LOCAL $1 = $2: $got" ;; esac
}
is "$(none "$(each_bad_value by_set_local)")" "" "SET LOCAL and set_config() do, too"
by_role() {
	got=$(q "$LIBRARY" "ALTER ROLE r SET $1 = '$2'" "ALTER DATABASE postgres SET $1 = '$2'" "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql SET $1 = '$2' AS 'SELECT 1'" "SELECT 'alive'")
	case $got in *"parameter \"$1\""*"parameter \"$1\""*"parameter \"$1\""*alive) echo ok ;; *) echo "ALTER ROLE SET $1 = $2: $got" ;; esac
}
is "$(none "$(each_bad_value by_role)")" "" "ALTER ROLE, ALTER DATABASE and CREATE FUNCTION with SET do, too"
by_system() {
	got=$(q "$LIBRARY" "ALTER SYSTEM SET $1 = '$2'" "SELECT 'alive'")
	case $got in *"parameter \"$1\""*alive) echo ok ;; *) echo "ALTER SYSTEM SET $1 = $2: $got" ;; esac
}
is "$(none "$(each_bad_value by_system)")" "" "ALTER SYSTEM does, too"
is "$(q 'SELECT count(*) FROM pg_db_role_setting' "SELECT count(*) FROM pg_file_settings WHERE name LIKE 'widetable%'")" '0
0' "nothing of it is stored"

# also with exit_on_error, which makes an error of a process its end
like "$(q "$LIBRARY" 'SET exit_on_error = on' "SET widetable.as_of = '2024-01-01 Nowhere/Town'")" '^FATAL:  invalid value for parameter "widetable.as_of"' "exit_on_error: the statement's error names the parameter"
# a moment does not depend on what else is set later
like "$(q "$LIBRARY" "SET timezone = 'Asia/Tokyo'" "SET widetable.as_of = '2024-01-01 09:00'" "SET timezone = 'UTC'" 'SHOW widetable.as_of')" \
	'^2024-01-01 00:00:00\+00$' "as_of keeps the moment that it meant when it was set"
is "$(q "$LIBRARY" "SET widetable.as_of = '2024-01-01 00:00:00.5 BC'" 'SHOW widetable.as_of')" '2024-01-01 00:00:00.5+00 BC' "years before our era are shown, too"
is "$(q "$LIBRARY" "SET widetable.as_of = '1500'" 'SHOW widetable.as_of' 'RESET widetable.as_of' "SHOW widetable.as_of" "SET widetable.as_of = 'epoch'" 'SHOW widetable.as_of')" '1500

1970-01-01 00:00:00+00' "microseconds stay as they are"
is "$(q "$LIBRARY" 'BEGIN' "SELECT set_config('widetable.as_of', 'now', true)::timestamptz = now()" COMMIT)" t "now is the present moment"

PARALLEL='SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off'
q "CREATE FOREIGN TABLE p (k int, v int) SERVER widetable OPTIONS (key 'k', families '{\"d\": {\"versions\": 3}}')" \
	'BEGIN' "SET LOCAL widetable.clock = '1000'" 'INSERT INTO p SELECT g, 1 FROM generate_series(1, 30000) g' COMMIT \
	'BEGIN' "SET LOCAL widetable.clock = '2000'" 'INSERT INTO p SELECT g, 2 FROM generate_series(1, 30000) g' COMMIT
like "$(q "$PARALLEL" 'EXPLAIN SELECT sum(v) + bit_xor(0) FROM p')" 'Workers Planned: [1-9]' "a plan with workers"
is "$(q "$LIBRARY" "$PARALLEL" "SET timezone = 'Asia/Tokyo'" "SET widetable.as_of = '1970-01-01 09:00:00.0015'" "SET timezone = 'UTC'" 'SELECT sum(v) FROM p')" 30000 "parallel workers read as of the same moment"

# ------------------------------------------- before the library is loaded
for v in infinity bad; do
	got=$(q "SET widetable.as_of = '$v'" 'SELECT v FROM t' 'SELECT v FROM t' "SELECT widetable.get('t', 1)" 'SELECT one FROM h' 'INSERT INTO t VALUES (2, 2)' \
		'UPDATE t SET v = 3' "DELETE FROM t WHERE k = 2" 'EXPLAIN SELECT * FROM t' "SET widetable.as_of = '1500'" 'SELECT v FROM t' "SET widetable.as_of = ''" 'SELECT v FROM t WHERE k = 1' 'DELETE FROM t WHERE k = 2')
	is "$(printf '%s\n' "$got" | grep -v -e '^DETAIL' -e '^HINT' -e '^LINE' -e ' \^$')" "WARNING:  invalid value for parameter \"widetable.as_of\": \"$v\"
ERROR:  invalid value for parameter \"widetable.as_of\": \"$v\"
ERROR:  invalid value for parameter \"widetable.as_of\": \"$v\"
ERROR:  invalid value for parameter \"widetable.as_of\": \"$v\"
1
ERROR:  invalid value for parameter \"widetable.as_of\": \"$v\"
ERROR:  invalid value for parameter \"widetable.as_of\": \"$v\"
ERROR:  invalid value for parameter \"widetable.as_of\": \"$v\"
1
2" "as_of = $v before the library is loaded: reads fail until it is set"
done
like "$(q "SET widetable.as_of = 'bad'" 'SELECT v FROM t' | grep HINT)" "HINT:  SET widetable.as_of = '' " "the error says how to go on"
is "$(q BEGIN "SET LOCAL widetable.as_of = 'bad'" 'SAVEPOINT s' 'SELECT v FROM t' ROLLBACK 'SELECT v FROM t' | grep -c ERROR)" 1 "the end of the transaction ends a bad SET LOCAL"
is "$(q "SET widetable.as_of = '1500'" 'BEGIN' "SET LOCAL widetable.as_of = 'bad'" "$LIBRARY" ROLLBACK 'SELECT v FROM t' | grep '^[0-9E]')" 1 "and the value before it is there again"
like "$(PGOPTIONS='-c widetable.as_of=infinity' q 'SELECT v FROM t')" 'ERROR:  invalid value for parameter "widetable.as_of": "infinity"' "PGOPTIONS: the read fails"
like "$(PGOPTIONS='-c widetable.clock=bad' q 'SELECT v FROM t')" 'ERROR:  invalid value for parameter "widetable.clock": "bad"' "a bad clock: the read fails"
is "$(PGOPTIONS='-c widetable.clock=bad' q 'INSERT INTO t VALUES (3, 3)' "SELECT widetable.put('t', 3, 'v', 3)" "RESET widetable.clock" 'INSERT INTO t VALUES (3, 3)' "SET widetable.clock = ''" 'SELECT count(*) FROM t' | grep -e '^ERROR' -e '^[0-9]')" 'ERROR:  invalid value for parameter "widetable.clock": "bad"
ERROR:  invalid value for parameter "widetable.clock": "bad"
ERROR:  invalid value for parameter "widetable.clock": "bad"
1' "a bad clock: writes fail"
is "$(q "SET widetable.write_memory = '1kB'" "SET widetable.enable_pushdown = 'maybe'" "SET widetable.memtable_size = 'x'" "SET widetable.stop_at = 'nowhere'" "SET widetable.parallel_snapshot = '00'" 'SELECT v FROM t' | grep -o '^WARNING\|^ERROR\|^[0-9].*' | tr '\n' ' ')" 'WARNING WARNING WARNING WARNING WARNING 2 ' "settings that change no answer get their default"

# defaults of a role
is "$(q "ALTER ROLE r SET widetable.as_of = 'infinity'")" "" "without the library PostgreSQL accepts any value as a role's default"
is "$(PGUSER=r q 'SELECT one FROM h' 'SELECT v FROM t' 'RESET widetable.as_of' 'SELECT v FROM t' "SET widetable.as_of = '1500'" 'SELECT v FROM t' | grep -e '^ERROR' -e '^[0-9]')" 'ERROR:  permission denied for table h
ERROR:  invalid value for parameter "widetable.as_of": "infinity"
ERROR:  invalid value for parameter "widetable.as_of": "infinity"
1' "the role's reads fail, after RESET, too"

# -------------------------------------------------------- configuration files
set_conf "widetable.as_of = 'infinity'"
q 'SELECT pg_reload_conf()' >/dev/null
await 10 infinity 'SHOW widetable.as_of'
like "$(q 'SELECT v FROM t')" 'ERROR:  invalid value for parameter "widetable.as_of": "infinity"' "a bad value in the file: reads fail"
set_conf "widetable.as_of = ''" "shared_preload_libraries = 'widetable'"
stop; start
is "$(q 'SELECT v FROM t')" 2 "the server starts with the library preloaded"
like "$(PGUSER=r q 'SELECT v FROM t')" 'ERROR:  invalid value for parameter "widetable.as_of": "infinity"' "preloaded: the reads of the role with the bad default fail"
q 'ALTER ROLE r RESET widetable.as_of'
like "$(PGOPTIONS='-c widetable.as_of=infinity' q 'SELECT v FROM t')" 'FATAL:  invalid value for parameter "widetable.as_of": "infinity"' "preloaded: PGOPTIONS with a bad value are refused"
like "$(PGOPTIONS='-c widetable.workers=0' q 'SELECT v FROM t')" 'cannot be changed' "preloaded: PGOPTIONS with a setting of the server are refused"

before=$(cat "$T/data/postgresql.conf")
by_reload() {
	{ printf '%s\n' "$before"; echo "$1 = '$2'"; } >"$T/data/postgresql.conf"
	q 'SELECT pg_reload_conf()' >/dev/null
	await 10 t "SELECT count(*) > 0 FROM pg_file_settings WHERE name = '$1' AND setting = '$2'"
	got=$(q 'SELECT v FROM t')
	[ "$got" = 2 ] && echo ok || echo "reload with $1 = $2: $got"
}
is "$(none "$(each_bad_value by_reload)")" "" "a reload with a bad value: the server goes on with the old one"
n=$(grep -c 'contains errors; unaffected changes were applied' "$T/server.log")
ok "$([ "$n" -ge 15 ]; echo $?)" "the log says that the file has errors ($n times)"
for v in as_of clock; do like "$(cat "$T/server.log")" "LOG:  invalid value for parameter \"widetable.$v\": \"infinity\"" "the log names widetable.$v"; done
by_start() {
	{ printf '%s\n' "$before"; echo "$1 = '$2'"; } >"$T/data/postgresql.conf"
	stop immediate
	start >/dev/null || { echo "start with $1 = $2: failed"; return; }
	got=$(q 'SELECT one FROM h' 'SELECT v FROM t')
	case $1.$got in
		widetable.as_of.*"parameter \"$1\": \"$2\""*|widetable.clock.*"parameter \"$1\": \"$2\""*) echo ok ;;
		widetable.as_of.*|widetable.clock.*) echo "start with $1 = $2: $got" ;;
		*".1
2") echo ok ;;
		*) echo "start with $1 = $2: $got" ;;
	esac
}
BAD_VALUES="as_of infinity
clock bad
memtable_size none
workers 2
log_bulk often
parallel_snapshot 00
stop_at nowhere"
is "$(none "$(each_bad_value by_start)")" "" "the server starts with a bad value; as_of and clock make reads fail"
like "$(cat "$T/server.log")" 'WARNING:  invalid value for parameter "widetable.as_of": "infinity"' "the log names it"
# a parallel query on ordinary tables works with a bad as_of; its workers get the setting, too
printf '%s\n' "$before" "widetable.as_of = 'infinity'" >"$T/data/postgresql.conf"
stop; start
is "$(q 'SET force_parallel_mode = on' 'SET debug_parallel_query = on' 'SET parallel_setup_cost = 0' 'SET parallel_tuple_cost = 0' 'SET min_parallel_table_scan_size = 0' 'SELECT sum(one) FROM h' | grep -v unrecognized)" 1 "a parallel query on ordinary tables runs"
printf '%s\n' "$before" >"$T/data/postgresql.conf"
stop; start
verify_store
finish
