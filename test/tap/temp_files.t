# temp_files: what a transaction spills counts as PostgreSQL's temporary files do: it obeys
# temp_file_limit, goes to temp_tablespaces, and is in pg_stat_database and in the log.  Takes about
# 10 seconds.
. "${0%/*}/common.sh"
new_cluster 'widetable.memtable_size = 1MB' 'widetable.cache_size = 8MB' 'log_temp_files = 0' 'autovacuum = off'
mkdir "$T/space" && chmod 700 "$T/space"
is "$(q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	'CREATE ROLE r LOGIN' 'GRANT ALL ON w TO r' "CREATE TABLESPACE sp LOCATION '$T/space'" 'GRANT CREATE ON TABLESPACE sp TO r')" "" "the table is created"
# rows N TAG: writes about N * 0.6 kB, in an order that compression of keys does not help
rows() { echo "INSERT INTO w SELECT hashint4(g), '$2' || repeat(md5(g::text), 18) FROM generate_series(1, $1) g"; }
SUM="SELECT count(*), count(DISTINCT left(v, 1)), sum(hashtext(v)::bigint) FROM w"

# -------------------------------------------------------------- the limit
for how in 'one list' thread; do
	# with little memory the session itself writes, with more the helper thread does
	case $how in thread) memory=8MB rows=60000 limit=16MB kb=16384 ;; *) memory=64kB rows=20000 limit=6MB kb=6144 ;; esac
	q "ALTER ROLE r SET widetable.write_memory = '$memory'" "ALTER ROLE r SET temp_file_limit = '$limit'" 'TRUNCATE w' >/dev/null
	like "$(PGUSER=r VERBOSITY=verbose q "$(rows $rows a)" | head -n 1)" "ERROR:  53400: .*temporary file size exceeds \"?temp_file_limit\"? \(${kb}kB\)" "$how: a statement that spills more than temp_file_limit fails"
	like "$(PGUSER=r VERBOSITY=verbose q "$(rows $rows a)")" '^HINT:' "$how: with a hint"
	is "$(q "$SUM")" "0|0|" "$how: and writes nothing"
	is "$(PGUSER=r q "SET temp_file_limit = -1" | grep -c 'permission denied')" 1 "$how: an ordinary role cannot lift the limit"
	want=$(q BEGIN "$(rows 3000 b)" "$SUM" ROLLBACK)
	like "$want" '^3000\|1\|' "$how: what other sessions write is not counted"
	is "$(PGUSER=r q BEGIN "$(rows 3000 b)" 'SAVEPOINT s' "$(rows $rows a)" 'ROLLBACK TO s' COMMIT "$SUM" | grep -v '^DETAIL\|^HINT\|^ERROR.*temp_file_limit')" "$want" "$how: the transaction goes on from a savepoint"
	is "$(PGUSER=r q "DO \$\$BEGIN FOR i IN 1..12 LOOP $(rows 4000 c); COMMIT; END LOOP; END\$\$" "SELECT count(*) FROM w WHERE v LIKE 'c%'")" 4000 "$how: the end of a transaction gives the space back"
	is "$(PGUSER=r q BEGIN "DO \$\$BEGIN FOR i IN 1..12 LOOP BEGIN $(rows 4000 d); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END\$\$" "$(rows 4000 d)" COMMIT "SELECT count(*) FROM w WHERE v LIKE 'd%'")" 4000 "$how: so does the rollback of a subtransaction"
done
# together with PostgreSQL's own files
q "ALTER ROLE r SET widetable.write_memory = '64kB'" "ALTER ROLE r SET temp_file_limit = '6MB'" "ALTER ROLE r SET work_mem = '64kB'" 'TRUNCATE w' >/dev/null
sort="SELECT count(*) FROM (SELECT repeat(md5(g::text), 10) AS x FROM generate_series(1, 12000) g ORDER BY 1 OFFSET 1) s"
is "$(PGUSER=r q "$sort")" 11999 "a sort within the limit"
like "$(PGUSER=r q BEGIN "$(rows 6000 e)" "$sort")" 'ERROR:  temporary file size exceeds "?temp_file_limit"?' "a sort fails if the transaction has spilled"
like "$(PGUSER=r q "INSERT INTO w SELECT hashint4(g), x FROM (SELECT g, repeat(md5(g::text), 10) AS x FROM generate_series(1, 12000) g ORDER BY x OFFSET 1) s")" 'temporary file size exceeds "?temp_file_limit"?' "and a statement that sorts and spills"
q 'ALTER ROLE r RESET ALL' >/dev/null

# ------------------------------------------------------ statistics and log
temp() { q 'SELECT pg_stat_force_next_flush()' "SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = 'postgres'" | tail -n 1; }
before=$(temp)
q "SET widetable.write_memory = '1MB'" "$(rows 10000 f)" 'SELECT pg_stat_force_next_flush()' >/dev/null
after=$(temp)
n=$((${after%|*} - ${before%|*})) b=$((${after#*|} - ${before#*|}))
ok "$([ $n -ge 3 ] && [ $n -le 30 ] && [ $b -gt 4000000 ] && [ $b -lt 14000000 ]; echo $?)" "pg_stat_database counts the files and their bytes ($n, $b)"
like "$(cat "$T/server.log")" 'LOG:  temporary file: path "base/pgsql_tmp/pgsql_tmp[0-9.]*", size [1-9][0-9]{5,}' "log_temp_files logs them"
is "$(ls "$T/data/base/pgsql_tmp" | wc -l)" 0 "no temporary file is left"

# ------------------------------------------------------------ tablespaces
files() { ls -l /proc/"$1"/fd 2>/dev/null | sed -n 's/.* -> \(.*pgsql_tmp.*\)/\1/p'; }
if [ -d /proc/self/fd ]; then
	session spill 3
	echo "SET temp_tablespaces = sp; SET widetable.write_memory = '64kB'; BEGIN; SELECT 'pid ' || pg_backend_pid(); $(rows 5000 g); SELECT 'spilled';" >&3
	wait_output spill spilled
	pid=$(sed -n 's/^pid //p' "$T/spill.out")
	n=$(files "$pid" | grep -c "space/PG_.*/pgsql_tmp/pgsql_tmp.*deleted")
	ok "$([ "$n" -gt 0 ]; echo $?)" "the files are in the temporary tablespace, without names"
	is "$(files "$pid" | grep 'deleted' | grep -vc "space/PG_")" 0 "and nowhere else"
	like "$(q 'DROP TABLESPACE sp')" 'not empty' "the tablespace is in use"
	echo "COMMIT; SELECT 'committed';" >&3
	wait_output spill committed
	is "$(files "$pid" | wc -l)" 0 "the commit closes the files"
	is "$(find "$T/space" -name 'pgsql_tmp?*' | wc -l)" 0 "no file is left in the tablespace"
	# the directory can no longer be written: the default tablespace is used, as by PostgreSQL's sorts
	find "$T/space" -name pgsql_tmp -exec chmod 500 {} +
	echo "TRUNCATE w; BEGIN; $(rows 5000 h); SELECT 'spilled again';" >&3
	wait_output spill 'spilled again'
	ok "$([ "$(files "$pid" | grep -c 'base/pgsql_tmp.*deleted')" -gt 0 ]; echo $?)" "without access to the tablespace the files are in the default one"
	echo "COMMIT; SELECT 'committed again';" >&3
	wait_output spill 'committed again'
	is "$(grep -c ERROR "$T/spill.out")" 0 "without an error"
	find "$T/space" -name pgsql_tmp -exec chmod 700 {} +
	# the tablespace is dropped while the session names it
	is "$(q 'DROP TABLESPACE sp')" "" "the tablespace is dropped"
	echo "TRUNCATE w; $(rows 5000 i); SELECT 'third';" >&3
	wait_output spill third
	like "$(q "$SUM")" '^5000\|1\|' "a dropped temporary tablespace does not matter"
	# neither can be written
	chmod 500 "$T/data/base/pgsql_tmp"
	echo '\\set VERBOSITY verbose' >&3
	echo "$(rows 5000 j); SELECT 'fourth';" >&3
	wait_output spill fourth
	like "$(cat "$T/spill.out")" 'ERROR:  [0-9A-Z]{5}: .*could not create temporary file "base/pgsql_tmp/.*Permission denied' "a directory that cannot be written is an error with its name"
	chmod 700 "$T/data/base/pgsql_tmp"
	echo "$(rows 5000 j); SELECT 'fifth';" >&3
	wait_output spill fifth
	like "$(q "$SUM")" '^5000\|1\|' "and then the session writes again"
	# the process dies
	echo "BEGIN; $(rows 5000 k); SELECT 'sixth';" >&3
	wait_output spill sixth
	kill_server
	exec 3>&-
	wait
	is "$(ls "$T/data/base/pgsql_tmp" | grep -vc '^pgsql_tmp[0-9]*\.[0-9]*$')" 0 "a kill leaves no spill file"
	n=$(du -sk "$T/data/base/pgsql_tmp" | cut -f 1)
	ok "$([ "$n" -lt 1000 ]; echo $?)" "and uses no space ($n kB)"
	start
	is "$(ls "$T/data/base/pgsql_tmp" | wc -l)" 0 "the start removes what PostgreSQL counted with"
fi
# the session's end in the middle of a transaction
q "SET widetable.write_memory = '64kB'" BEGIN "$(rows 5000 l)" >/dev/null
# psql does not wait for its session
await 10 '^0$' "SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp')"
ok $? "the end of a session removes them"
verify_store
finish
