# standby_held: statements on a standby that pin all memtables hold up neither the replay of many
# commits nor readers, and a statement waits for what was replayed when it begins, not in the middle.
# Takes about 15 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/standbys.sh"
new_cluster "shared_preload_libraries = 'widetable'" "widetable.memtable_size = 1MB" "wal_keep_size = 512MB" "autovacuum = off"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE w (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO w SELECT g, g::text FROM generate_series(1, 2000) g" \
	"CREATE FOREIGN TABLE fill (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"CREATE FOREIGN TABLE alias (k int, v text) SERVER widetable OPTIONS (key 'k', table_name 'public.fill')" >/dev/null
make_standby one "max_standby_streaming_delay = -1"
replayed one
fill() { q "INSERT INTO fill SELECT g, repeat(md5(g::text), 10) FROM generate_series($1 * 1000, $1 * 1000 + 999) g"; }

# ---- each statement stops within its scan and pins another memtable: between two of them a memtable is written
for h in 1 2 3 4 5; do
	on one "SELECT count(pg_sleep(CASE WHEN k = 1 THEN 300 ELSE 0 END)) FROM w" >"$T/holder$h" &
	await_on one 10 "^$h\$" "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
	for i in 1 2 3; do fill $h$i; done
	replayed one
done
# 2 MB in 100 commits: at three seconds each that would be five minutes
for i in $(seq 100); do echo "INSERT INTO w VALUES (0, repeat('$((i % 10))', 20000 + $i));"; done >"$T/commits.sql"
"$BIN/psql" -Xq -f "$T/commits.sql"
like "$(on one "SELECT memtable_holder_pid IN (SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep') FROM widetable.pg_stat_widetable")" '^t$' \
	"statements on the standby hold memtables"
replayed one
is "$(on one 'SELECT length(v) FROM w WHERE k = 0')" 20100 "the standby shows 100 commits while all memtables are held"
is "$(on one 'SELECT count(*) FROM w')" 2001 "other statements read"
on one "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >/dev/null
wait
is "$(on one 'SELECT * FROM widetable.verify()')" "" "verify() finds no problem on the standby"

# ---- the keeper stands still: a statement that has begun goes on, a new one waits, and says for what
standby_session one reader 3
echo "SELECT count(*) FROM w; BEGIN; DECLARE c CURSOR FOR SELECT g, (SELECT length(value) FROM widetable.cells('w', g)), length(widetable.get('w', g)::text) FROM generate_series(1, 2000) g; FETCH 1 FROM c; SELECT 'begun';" >&3
wait_output reader begun
keeper=$(on one 'SELECT keeper_pid FROM widetable.pg_stat_widetable_health')
kill -STOP "$keeper"
q "INSERT INTO w VALUES (1, 'changed')" >/dev/null
lsn=$(mark)
await_on one 30 '^t$' "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
echo "MOVE FORWARD 1998 FROM c; FETCH 1 FROM c; SELECT 'moved';" >&3
wait_output reader moved
ok $? "a statement that has begun does not wait for what was replayed since"
echo "COMMIT; SELECT 'new: ' || v FROM w WHERE k = 1;" >&3
await_on one 30 'Extension' "SELECT wait_event_type FROM pg_stat_activity WHERE query LIKE 'SELECT ''new%'"
ok $? "a new statement waits, and has a wait event"
kill -CONT "$keeper"
wait_output reader 'new: changed'
ok $? "it sees what was replayed before it began"

# ---- a stored table is truncated through another foreign table: a statement that has not looked it up yet,
# but an earlier one of the session has, does not take what that one has found
echo "SELECT widetable.get('alias', 11500); BEGIN; DECLARE c CURSOR FOR SELECT CASE g WHEN 1 THEN widetable.get('w', g) ELSE widetable.get('alias', 11500) END IS NULL FROM generate_series(1, 3) g; FETCH 1 FROM c; SELECT 'begun again';" >&3
wait_output reader 'begun again'
kill -STOP "$keeper"
q "TRUNCATE fill" >/dev/null
lsn=$(mark)
await_on one 30 '^t$' "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
echo "FETCH 1 FROM c; FETCH 1 FROM c; SELECT 'both';" >&3
await_on one 10 'Extension' "SELECT wait_event_type FROM pg_stat_activity WHERE query LIKE 'FETCH 1%'"
ok $? "the first lookup in a transaction waits"
kill -CONT "$keeper"
wait_output reader both
is "$(sed -n '/begun again/,/both/p' "$T/reader.out" | tr '\n' ' ')" "begun again t t both " "each call sees the table as it was when its lock was taken"
echo "COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE d CURSOR FOR SELECT count(*) FROM w; FETCH d; SELECT 'now: ' || count(widetable.get('alias', g)) FROM generate_series(1, 3) g; SELECT 'repeatable';" >&3
wait_output reader repeatable
kill -STOP "$keeper"
q "INSERT INTO w VALUES (2, 'changed')" >/dev/null
lsn=$(mark)
await_on one 30 '^t$' "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
echo "SELECT 'later: ' || count(widetable.get('alias', g)) FROM generate_series(1, 3) g;" >&3
wait_output reader 'later: 0'
ok $? "a later statement in REPEATABLE READ, whose snapshot is the transaction's, does not wait"
kill -CONT "$keeper"
exec 3>&-
no_crash one
finish
