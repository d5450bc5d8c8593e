# upgrade: pg_upgrade, to the same version and to each newer one that ./test/check has found
# ($NEWER), in copy mode and in link mode.  Takes 15 seconds for each.
. "${0%/*}/common.sh"
. "${0%/*}/pg_upgrade.sh"
SUMS="SELECT count(*), md5(string_agg(t::text, ',' ORDER BY k, n)) FROM t"
CELLS="SELECT count(*), md5(string_agg(c::text, ',' ORDER BY k, n, family, qualifier, ts)) FROM c"

answers() { q "$SUMS" "$CELLS" 'SELECT * FROM other ORDER BY k' 'SELECT * FROM ordinary' 'SELECT tableoid::regclass, * FROM parted ORDER BY k' "SELECT widetable.get('t', ROW('k1'::text, 1))"; in_db second "$SUMS" "SELECT * FROM enums ORDER BY k"; }

THIRD="CREATE FUNCTION third(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT \$1 % 3'"
# indexes and roll-ups of a table, and of another one that is dropped
derived() { q 'SELECT id FROM shop.orders WHERE mail = $$m7$$' "SELECT count(*), sum(id) FROM shop.orders WHERE tags->>'a' = '2'" 'SELECT count(*), sum(id) FROM shop.orders WHERE amount > 40' \
	"SELECT md5(string_agg(a::text, ',' ORDER BY amount, id)) FROM shop.by_amount a" 'SELECT * FROM shop.thirds ORDER BY third, even' "SELECT md5(string_agg(o::text, ',' ORDER BY id)) FROM shop.orders o"; }
left() { q "SELECT count(*) FROM pg_class WHERE relname LIKE '$1%' AND relkind = 'f'"; }
upgraded_derived() {
	is "$(derived)" "$want_derived" "$1: indexes and roll-ups show what they showed"
	like "$(q 'SET widetable.enable_index = on' 'SET enable_seqscan = off' "EXPLAIN (COSTS OFF) SELECT id FROM shop.orders WHERE mail = 'm7'")" 'Index: by_mail' "$1: queries use an index"
	like "$(VERBOSITY=verbose q "INSERT INTO shop.orders VALUES (1000, 'm7', 1)")" 'ERROR:  23505' "$1: a unique index is one"
	q "INSERT INTO shop.orders VALUES (1001, 'new', 3, '{\"a\": \"new\"}')" 'UPDATE shop.orders SET amount = amount + 1 WHERE id < 20' 'DELETE FROM shop.orders WHERE id = 30' >"$T/out"
	is "$(cat "$T/out"; q "SELECT id FROM shop.orders WHERE tags->>'a' = 'new'" "SELECT sum(orders) - (SELECT count(*) FROM shop.orders) FROM shop.thirds" "SELECT * FROM widetable.verify('shop.orders')" | tr '\n' ' ')" "1001 0 " "$1: writers keep both"
	like "$(q 'DROP FUNCTION third' | tr '\n' ' ')" 'foreign table shop.thirds depends on function' "$1: a function in a roll-up is not dropped"
	q 'ALTER FOREIGN TABLE shop.orders DROP COLUMN note' >/dev/null
	is "$(left by_note)" 0 "$1: DROP COLUMN drops an index"
	"$2/pg_dump" -Fc --include-foreign-data=widetable -n shop postgres >"$T/dump" 2>"$T/out"; ok $? "$1: pg_dump"
	q 'DROP DATABASE IF EXISTS restored' 'CREATE DATABASE restored TEMPLATE template0' >/dev/null 2>&1
	in_db restored 'CREATE EXTENSION widetable' "$THIRD" >/dev/null
	"$2/pg_restore" -d restored "$T/dump" >"$T/out" 2>&1; ok $? "$1: pg_restore"
	is "$(in_db restored 'SELECT * FROM shop.thirds ORDER BY third, even' "SELECT * FROM widetable.verify('shop.orders')")" "$(q 'SELECT * FROM shop.thirds ORDER BY third, even')" "$1: with indexes and roll-ups"
	q 'DROP DATABASE restored' >/dev/null
	q 'ALTER SCHEMA shop RENAME TO store' "ALTER FOREIGN TABLE store.orders OPTIONS (SET families '{\"d\": {\"versions\": 5}, \"t\": {}}')" 'INSERT INTO store.orders VALUES (1002)' >"$T/out" 2>&1
	is "$(cat "$T/out"; q "SELECT * FROM widetable.verify('store.orders')" 'SELECT sum(orders) - (SELECT count(*) FROM store.orders) FROM store.thirds')" 0 "$1: names are followed, and ALTER builds them anew"
}

new_cluster "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' 'CREATE DATABASE second' "$TABLE" "$FILL" 'SELECT widetable.flush()' \
	"CREATE FOREIGN TABLE c (k text COLLATE \"C\", n int, family text, qualifier bytea, ts bigint, value bytea)
		SERVER widetable OPTIONS (table_name 'public.t', layout 'cells', key 'k, n desc')" \
	"CREATE SCHEMA \"the 2nd\"" "CREATE FOREIGN TABLE \"the 2nd\".o (k int, v text) SERVER widetable" "INSERT INTO \"the 2nd\".o VALUES (1, 'one')" \
	"CREATE FOREIGN TABLE other (k int, v int[]) SERVER widetable OPTIONS (salt_buckets '4')" "INSERT INTO other VALUES (1, '{1,2}'), (2, NULL)" \
	'CREATE TABLE ordinary (k int)' 'INSERT INTO ordinary VALUES (1)' 'CREATE TABLE parted (k int, v text) PARTITION BY RANGE (k)' \
	"CREATE FOREIGN TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (9) SERVER widetable OPTIONS (key 'k')" "INSERT INTO parted VALUES (1, 'p')" \
	"UPDATE t SET v = 'new' WHERE n % 3 = 0" 'DELETE FROM t WHERE n % 7 = 0' >"$T/out"
in_db second 'CREATE EXTENSION widetable' "$TABLE" "$FILL" "CREATE TYPE mood AS ENUM ('sad', 'ok')" "CREATE TYPE pair AS (a int, m mood)" \
	"CREATE FOREIGN TABLE enums (k int, m mood, p pair, a mood[]) SERVER widetable" "INSERT INTO enums VALUES (1, 'ok', '(1,sad)', '{sad,ok}')" >>"$T/out"
q 'CREATE SCHEMA shop' "$THIRD" \
	"CREATE FOREIGN TABLE shop.orders (id int, mail text, amount int, tags jsonb OPTIONS (family 't'), note text) SERVER widetable OPTIONS (key 'id', families '{\"d\": {}, \"t\": {}}')" \
	"CREATE FOREIGN TABLE shop.by_mail (mail text, id int) SERVER widetable OPTIONS (index_of 'shop.orders', key 'mail', unique 'true')" \
	"CREATE FOREIGN TABLE shop.by_tag (tag text OPTIONS (qualifier_of 'tags'), value text OPTIONS (value_of 'tags'), id int) SERVER widetable OPTIONS (index_of 'shop.orders', key 'tag, value')" \
	"INSERT INTO shop.orders SELECT i, 'm' || i, i % 50, jsonb_build_object('a', (i % 4)::text), 'n' FROM generate_series(1, 200) i" \
	"CREATE FOREIGN TABLE shop.by_amount (amount int, id int, mail text) SERVER widetable OPTIONS (index_of 'shop.orders', key 'amount desc')" \
	"CREATE FOREIGN TABLE shop.by_note (note text, id int) SERVER widetable OPTIONS (index_of 'shop.orders', key 'note')" \
	"CREATE FOREIGN TABLE shop.thirds (third int OPTIONS (expr 'third(amount)'), even bool OPTIONS (expr 'id % 2 = 0'), orders bigint OPTIONS (aggregate 'count(*)'), total bigint OPTIONS (aggregate 'sum(amount)'))
		SERVER widetable OPTIONS (rollup_of 'shop.orders', key 'third, even')" \
	"UPDATE shop.orders SET amount = NULL WHERE id % 9 = 0" 'CREATE FOREIGN TABLE shop.gone (k int, v int) SERVER widetable' 'INSERT INTO shop.gone VALUES (1, 1)' \
	"CREATE FOREIGN TABLE shop.gone_x (v int, k int) SERVER widetable OPTIONS (index_of 'shop.gone', key 'v')" \
	"CREATE FOREIGN TABLE shop.gone_y (v int, k int) SERVER widetable OPTIONS (index_of 'shop.gone', key 'v desc')" \
	"CREATE FOREIGN TABLE shop.gone_r (v int, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'shop.gone', key 'v')" >>"$T/out"
is "$(cat "$T/out" | tr -d '\n')" "" "the tables are made"
want=$(answers)
want_derived=$(derived)

# ---- without a preparation pg_upgrade leaves the rows behind; nothing else is said, and TRUNCATE works
stop
cp -a "$OLD" "$T/data.copy"
cluster "$T/data.bare" "$BIN"
upgrade "$T/data.copy" "$T/data.bare" "$BIN"; ok $? "pg_upgrade of a store that is not prepared"
run "$T/data.bare" "$BIN"
like "$(VERBOSITY=verbose q 'SELECT count(*) FROM t')" '^ERROR:  55000: the rows of foreign table "t" are not in this cluster' "without the directory: the rows are not in this cluster"
is "$(q 'TRUNCATE t' 'SELECT count(*) FROM t' "INSERT INTO t VALUES ('a', 1, 'v')" 'SELECT count(*) FROM t' | tr '\n' ' ')" "0 1 " "without the directory: TRUNCATE lets the table begin empty"
halt "$T/data.bare" "$BIN"
rm -rf "$T/data.bare/widetable" "$T/data.bare/widetable.state" "$T/data.bare/pg_replslot/widetable"
cp -a "$OLD/widetable" "$T/data.bare/"
run "$T/data.bare" "$BIN"
like "$(VERBOSITY=verbose q 'SELECT count(*) FROM other' | tr '\n' ' ')" 'ERROR:  55000: the store of widetable does not belong to this server.s WAL .*doc/upgrade' "with the directory of a store that was not prepared: it is refused"
halt "$T/data.bare" "$BIN"
is "$(diff -r "$OLD/widetable" "$T/data.bare/widetable")" "" "and not changed"
rm -rf "$T/data.copy" "$T/data.bare"

# ---- preparing
start
is "$(q 'CREATE ROLE somebody' 'SET ROLE somebody' 'SELECT widetable.prepare_upgrade()')" "ERROR:  permission denied for function prepare_upgrade" "an ordinary role cannot prepare it"
is "$(q 'BEGIN' "INSERT INTO other VALUES (7, '{}')" 'SELECT widetable.prepare_upgrade()' 'ROLLBACK')" "ERROR:  prepare_upgrade() cannot run in a transaction that has changed wide tables" "nor a transaction that has changed wide tables"
session a 3
echo "BEGIN; INSERT INTO other VALUES (3, '{3}'); SELECT 'written';" >&3
wait_output a written
q 'CREATE DATABASE third' >/dev/null
in_db third 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE f (k int, v int) SERVER widetable' 'INSERT INTO f VALUES (1, 1)' >/dev/null
q 'SELECT widetable.prepare_upgrade()' >"$T/prepare.out" 2>&1 &
preparing=$!
await 20 1 "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%prepare_upgrade%' AND wait_event_type = 'Lock'"; ok $? "it waits for a transaction that runs"
for s in 'prepare_upgrade()' 'prepare_upgrade(false)'; do
	is "$(q "SET statement_timeout = '3s'" "SELECT widetable.$s")" "ERROR:  another session runs prepare_upgrade()" "meanwhile no other session calls $s"
done
echo "COMMIT; SELECT 'committed';" >&3
wait_output a committed
wait $preparing
like "$(cat "$T/a.out")" 'cannot be changed: they are prepared for pg_upgrade' "which can change nothing any more"
exec 3>&-
is "$(cat "$T/prepare.out")" "" "prepare_upgrade()"
for s in "INSERT INTO other VALUES (4)" 'DELETE FROM t' 'TRUNCATE t' 'DROP FOREIGN TABLE other' 'CREATE FOREIGN TABLE fresh (k int, v int) SERVER widetable' \
	"SELECT widetable.put('t', ROW('a'::text, 1), 'd:v', 'x'::text)" 'BEGIN; INSERT INTO ordinary VALUES (2); INSERT INTO other VALUES (5); COMMIT' 'DROP DATABASE third'; do
	like "$(VERBOSITY=verbose q "$s" | head -n 1)" '^ERROR:  55000: wide tables cannot be changed' "refused: $s"
done
is "$(answers)" "$want" "reads work"
like "$(q 'CREATE DATABASE copied TEMPLATE second' 'DROP DATABASE copied')" 'WARNING:  wide tables were not copied into database "copied"' "CREATE DATABASE does not copy wide tables"
q 'INSERT INTO ordinary VALUES (3)' 'DELETE FROM ordinary WHERE k = 3' 'SELECT widetable.prepare_upgrade(false)' "INSERT INTO other VALUES (8, NULL)" >/dev/null
ok "$([ ! -e "$OLD/widetable/upgrade" ]; echo $?)" "prepare_upgrade(false) ends it"
# a commit that PostgreSQL does not count as running any more, and whose rows are not in the log
session hold 4
echo "SELECT 'held' FROM pg_advisory_lock($(stop_lock commit-recorded));" >&4
wait_output hold held
q "SET widetable.stop_at = 'commit-recorded'" 'INSERT INTO other VALUES (6, NULL)' 4>&- >"$T/late.out" 2>&1 &
late=$!
await_stopped 1
q 'SELECT widetable.prepare_upgrade()' 4>&- >"$T/prepare.out" 2>&1 &
preparing=$!
await 10 1 "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT widetable.prepare_upgrade%' AND wait_event_type = 'Extension'"; ok $? "it waits for a commit that is not in the log yet"
ok "$([ ! -e "$OLD/widetable/upgrade" ]; echo $?)" "and writes the file only afterwards"
echo 'SELECT pg_advisory_unlock_all();' >&4
wait $late $preparing
exec 4>&-
is "$(cat "$T/late.out" "$T/prepare.out")" "" "both end"
ok "$([ -e "$OLD/widetable/upgrade" ]; echo $?)" "with the file"
is "$(q 'SELECT count(*) FROM other WHERE k = 6' 'SELECT widetable.prepare_upgrade(false)' 'DELETE FROM other WHERE k = 6' | tr -d '\n')" 1 "and the row"
q 'SELECT widetable.prepare_upgrade()' >/dev/null
stop
ok "$([ -e "$OLD/widetable/upgrade" ]; echo $?)" "the file outlasts a stop"
cp -a "$OLD/widetable" "$T/older"
chmod 500 "$OLD/widetable"
start
like "$(q 'SELECT count(*) FROM other')" 'could not remove file "widetable/upgrade"' "the store is not opened as long as the file cannot be removed"
chmod 700 "$OLD/widetable"
is "$(q "DELETE FROM other WHERE k = 8" 'SELECT count(*) FROM other')" 2 "a start of the server ends it, too"
ok "$([ ! -e "$OLD/widetable/upgrade" ]; echo $?)" "and removes the file"
# the worker has not removed the tables of a dropped database yet
is "$(q 'DROP DATABASE third' 'SELECT widetable.prepare_upgrade()')" "" "prepare_upgrade() behind DROP DATABASE"
stop

# ---- clusters that were not made from it
cluster "$T/data.bare" "$BIN"
cp -a "$OLD/widetable" "$T/data.bare/"
run "$T/data.bare" "$BIN"
like "$(VERBOSITY=verbose q 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE x (k int, v int) SERVER widetable' | tr '\n' ' ')" '55000: the store of widetable does not belong .*was not made from it' "a new cluster does not take it over"
halt "$T/data.bare" "$BIN"
# far enough in the log, but without the databases
"$BIN/pg_resetwal" -f -l 0000000100000009000000AA -x 20000 "$T/data.bare" >/dev/null
run "$T/data.bare" "$BIN"
like "$(q 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE x (k int, v int) SERVER widetable' | tr '\n' ' ')" 'was not made from it: there is no database with OID' "nor one with other databases"
halt "$T/data.bare" "$BIN"
is "$(diff -r "$OLD/widetable" "$T/data.bare/widetable")" "" "the directory is not changed"
# copies of the store from before it was opened again
older() { run "$T/data.bare" "$BIN"; like "$(q 'CREATE FOREIGN TABLE x (k int, v int) SERVER widetable' | tr '\n' ' ')" "$1" "$2"; halt "$T/data.bare" "$BIN"; }
rm -rf "$T/data.bare/widetable"
cp -a "$T/older" "$T/data.bare/widetable"
older 'was not made from it: the store in ".*/data" was opened or prepared again' "an older copy of the store is refused"
mv "$OLD/widetable/upgrade" "$T/upgrade.file"
older 'was not made from it: the store in ".*/data" was opened or prepared again' "also if the old cluster was not prepared again"
mv "$T/upgrade.file" "$OLD/widetable/upgrade"
mv "$OLD" "$T/renamed"
older 'there is no database with OID' "that cannot be seen if the old directory is not in its place"
mv "$T/renamed" "$OLD"
rm -rf "$T/data.bare/widetable"
cp -a "$OLD/widetable" "$T/data.bare/widetable"
printf 'x' | dd of="$T/data.bare/widetable/upgrade" bs=1 seek=20 conv=notrunc 2>/dev/null
run "$T/data.bare" "$BIN"
like "$(q 'CREATE EXTENSION widetable' 'CREATE FOREIGN TABLE x (k int, v int) SERVER widetable' | tr '\n' ' ')" 'file "widetable/upgrade" is damaged' "a damaged file"
halt "$T/data.bare" "$BIN"
# a store that is prepared and goes
rm -rf "$T/data.bare/widetable" "$T/data.bare/widetable.state" "$T/data.bare/pg_replslot/widetable"
run "$T/data.bare" "$BIN"
is "$(q 'CREATE FOREIGN TABLE y (k int, v int) SERVER widetable' 'DROP FOREIGN TABLE y' 'SELECT widetable.prepare_upgrade()' 'SELECT widetable.uninstall()')" "" "uninstall() of a prepared store"
ok "$([ ! -e "$T/data.bare/widetable" ]; echo $?)" "removes it with the file"
is "$(q 'CREATE FOREIGN TABLE y (k int, v int) SERVER widetable' 'INSERT INTO y VALUES (1, 2)' 'SELECT * FROM y')" "1|2" "one that begins afterwards is not prepared"
halt "$T/data.bare" "$BIN"
rm -rf "$T/data.bare" "$T/data.bare.log"

# ---- pg_upgrade
for newbin in "$BIN" $NEWER; do
	v=$("$newbin/postgres" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
	for mode in copy link; do
		name="to $v, $mode"
		new=$T/data.new from=$T/data.from
		cp -a "$OLD" "$from"
		strip_versions "$from" "$newbin"
		cluster "$new" "$newbin"
		upgrade "$from" "$new" "$newbin" $([ $mode = link ] && echo --link); ok $? "$name: pg_upgrade"
		is "$(diff -r "$OLD/widetable" "$from/widetable")" "" "$name: pg_upgrade leaves the store as it is"
		if [ $mode = link ]; then cp -al "$from/widetable" "$new/"; else mv "$from/widetable" "$new/"; fi
		[ $mode = link ] || printf '%s\n' "shared_preload_libraries = ''" >>"$new/postgresql.conf"
		run "$new" "$newbin"
		is "$(answers)" "$want" "$name: the tables show what they showed"
		# what the first command there does
		[ $mode = copy ] || is "$(q 'ALTER EXTENSION widetable UPDATE' "SELECT count(DISTINCT objid) FROM pg_depend WHERE refobjid IN ('shop.orders'::regclass, 'shop.gone'::regclass) AND objid IN (SELECT ftrelid FROM pg_foreign_table)" | grep -v NOTICE)" 8 "$name: ALTER EXTENSION records indexes and roll-ups"
		is "$(left gone; q 'DROP FOREIGN TABLE shop.gone' 2>&1 | grep ERROR; left gone)" "$(printf '4\n0')" "$name: DROP of a table drops its indexes and roll-ups"
		ok "$([ ! -e "$new/widetable/upgrade" ]; echo $?)" "$name: the store is this cluster's"
		[ $mode = copy ] || is "$(diff -r "$OLD/widetable" "$from/widetable")" "" "$name: the old cluster's files are not changed"
		q "INSERT INTO other VALUES (9, '{9}')" "UPDATE t SET v = 'upgraded' WHERE k = 'k5'" 'CREATE FOREIGN TABLE fresh (k int, v int) SERVER widetable' 'INSERT INTO fresh VALUES (1, 2)' >"$T/out"
		is "$(cat "$T/out")" "" "$name: writes"
		halt "$new" "$newbin" immediate
		run "$new" "$newbin"
		is "$(q 'SELECT v FROM other WHERE k = 9' "SELECT count(*) > 0 AND bool_and(v = 'upgraded') FROM t WHERE k = 'k5'" 'SELECT * FROM fresh' "SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'widetable'" | tr '\n' ' ')" "{9} t 1|2 1 " "$name: a crash"
		q 'DELETE FROM other WHERE k = 9' 'DROP FOREIGN TABLE fresh' 'SELECT widetable.compact()' >/dev/null
		is "$(q 'SELECT * FROM other ORDER BY k' "SELECT count(*) FROM t"; in_db second "$SUMS")" "$(printf '%s\n' "$want" | sed -n '3,4p'; printf '%s\n' "$want" | sed -n '1s/|.*//p'; printf '%s\n' "$want" | tail -n 2 | head -n 1)" "$name: merged"
		[ $mode = copy ] || is "$(diff -r "$OLD/widetable" "$from/widetable")" "" "$name: the old cluster's files are still what they were"
		upgraded_derived "$name" "$newbin"
		verify_store "$name"
		is "$(in_db second 'SELECT * FROM widetable.verify()' "ALTER EXTENSION widetable UPDATE" 2>&1 | grep -v NOTICE)" "" "$name: verify() in another database"
		halt "$new" "$newbin"
		cat "$new.log" >>"$T/server.log"
		rm -rf "$new" "$new.log" "$from"
	done
done
[ -n "$NEWER" ] || echo "ok - skipped: no newer version of PostgreSQL is here"
finish
