# standby_promoted: the server is promoted while a reader waits for the keeper, and while no keeper
# follows the log.  Takes about 15 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/standbys.sh"
new_cluster "shared_preload_libraries = 'widetable'" "wal_keep_size = 512MB" "autovacuum = off"
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (k int)' "CREATE FOREIGN TABLE w (k int) SERVER widetable OPTIONS (key 'k')" >/dev/null
make_standby one
make_standby two
add() { q BEGIN "INSERT INTO h VALUES ($1)" "INSERT INTO w VALUES ($1)" COMMIT; }
both='SELECT (SELECT count(*) FROM h), (SELECT count(*) FROM w)'
add 1
replayed one; replayed two
is "$(on one "$both") $(on two "$both")" "1|1 1|1" "standbys read"
keeper() { on "$1" 'SELECT keeper_pid FROM widetable.pg_stat_widetable_health'; }

# ---- a reader waits for the keeper
standby_session one reader 5
echo "$both;" >&5
wait_output reader '^1\|1$'
pid=$(keeper one)
kill -STOP "$pid"
add 2
replayed one
# the transaction's snapshot is taken by a statement that does not wait for anything else
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM h; SELECT count(*) FROM w; SELECT 'read';" >&5
await_on one 10 '^active$' "SELECT state FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM h%'"
promote one
sleep 1
kill -CONT "$pid"
wait_output reader '^read$'
is "$(tr '\n' ' ' <"$T/reader.out")" "1|1 2 2 read " "promoted while a reader waits: it sees the rows of both tables"
exec 5>&-

# ---- the keeper ends between the promotion and the end of the log
standby_session two other 6
echo "$both;" >&6
wait_output other '^1\|1$'
replayed two
pid=$(keeper two)
kill -STOP "$pid"
promote two
kill -TERM "$pid"; kill -CONT "$pid"
await_on two 30 '^t$' "SELECT keeper_pid <> $pid FROM widetable.pg_stat_widetable_health"
echo "$both; SELECT 'read';" >&6
wait_output other '(^read|connection to server was lost|Connect again)'
ok $? "the keeper ended after the promotion: a session that has read before does not wait for ever"
is "$(timeout 20 env PGHOST="$T/data.two.s" "$BIN/psql" -XqAtc "$both" 2>&1)" "2|2" "... and another one reads"
exec 6>&-
no_crash one
no_crash two
finish
