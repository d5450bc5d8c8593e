# forged: log records that others than the store write change nothing, and keep nothing closed.  A
# role without privileges writes logical messages that look like records of the log: altered and
# captured copies of real ones, batches in parts, garbage.  Then the server crashes; a standby
# follows and is promoted; a base backup is recovered to a point in time.  Takes about 20 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "wal_level = logical" "wal_keep_size = 512MB" "archive_mode = on" "archive_command = 'cp %p $T/archive/%f'"
mkdir "$T/archive"
q 'CREATE EXTENSION widetable' 'CREATE ROLE nobody LOGIN' 'CREATE TABLE ordinary (n int)' \
	"CREATE FOREIGN TABLE t (k int, v text) SERVER widetable OPTIONS (key 'k', families '{\"d\": {\"versions\": 5}}')" \
	"INSERT INTO t VALUES (1, 'genuine-0001'), (2, 'genuine-0001')" 'SELECT widetable.flush()' >/dev/null
for s in one past; do "$BIN/pg_basebackup" -D "$T/data.$s" -R -c fast --no-sync 2>&1; done
rm "$T/data.past/standby.signal"
second "$T/data.one"

# captured VALUE: the newest record in WAL that ends with the value, in hexadecimal.  A record begins
# behind the head of the engine's records, or behind the prefix of a message.
captured() {
	perl -e 'my ($value, @f) = @ARGV; for my $f (sort { $b cmp $a } @f) { local $/; open(my $h, "<:raw", $f) or die; my $wal = <$h>;
		my $at = rindex($wal, $value); next if $at < 0;
		my $new = rindex($wal, "widetbl1", $at); my $old = rindex($wal, "widetable\0", $at);
		my $from = $new > $old ? $new + 24 : $old + 10; die "no record" if $at - $from > 500;
		print unpack("H*", substr($wal, $from, $at - $from + length $value)); exit }' "$1" "$T"/data/pg_wal/0*
}
# (with the commit before, this one is no time mark)
q 'SELECT pg_switch_wal()' "INSERT INTO t VALUES (1, 'before')" "INSERT INTO t VALUES (1, 'captured-001')" >/dev/null
copy=$(captured captured-001)
like "$copy" '^0101000000000000' "a real record can be read from WAL"
# the same with another value, and a timestamp an hour later
forged=$(perl -e 'my $r = pack("H*", $ARGV[0]); substr($r, 8, 8) = pack("q<", unpack("q<", substr($r, 8, 8)) + 3600e6);
	$r =~ s/captured-001/forged--0001/ or die; print unpack("H*", $r)' "$copy")
q "UPDATE t SET v = 'genuine-0002' WHERE k = 1" >/dev/null

as_nobody() { (PGUSER=nobody; export PGUSER; q "$@"); }
emit() { echo "SELECT FROM pg_logical_emit_message($1, 'widetable', '\\x$2'::bytea)"; }
values='SELECT string_agg(k || v, $$ $$ ORDER BY k) FROM t'
want='1genuine-0002 2genuine-0001'
ignored() { grep -cE 'ignored [0-9]+ log records that were not written by the store, the first at [0-9A-F]+/[0-9A-F]+' "$1"; }

# ---- altered and captured records
as_nobody "$(emit false "$forged")" "$(emit true "$forged")" "$(emit false "$copy")" "$(emit true "$copy")" \
	"$(emit false "7769646574626c3101000000000000000000000000000000$forged")" "$(emit true "7769646574626c3102000000000000000000000000000000$forged")" \
	'BEGIN' "$(emit true "$forged")" 'SAVEPOINT s' "$(emit true "$forged")" 'ROLLBACK TO s' 'SAVEPOINT s' "$(emit true "$forged")" 'COMMIT' \
	'BEGIN' 'SELECT pg_current_xact_id()' "$(emit false "$forged")" "$(emit true "$forged")" 'ROLLBACK' >"$T/out"
# a batch in two records: DATA, and FINISH that names it, or only DATA of a transaction that commits
as_nobody "DO \$\$ DECLARE payload bytea := substr('\\x$forged', 17); ts bytea := substr('\\x$forged'::bytea, 9, 8); x bytea; lsn pg_lsn; big bool;
BEGIN
	FOREACH big IN ARRAY ARRAY[false, true] LOOP
		lsn := pg_logical_emit_message(big, 'widetable', '\\x02010000000000000000000000000000'::bytea || payload);
		x := decode(lpad(to_hex((lsn - '0/0')::bigint), 16, '0'), 'hex');
		x := substr(x, 8, 1) || substr(x, 7, 1) || substr(x, 6, 1) || substr(x, 5, 1) || substr(x, 4, 1) || substr(x, 3, 1) || substr(x, 2, 1) || substr(x, 1, 1);
		PERFORM pg_logical_emit_message(false, 'widetable', '\\x0301000001000000'::bytea || x || ts || decode(lpad(to_hex(length(payload)), 2, '0') || '00000000000000', 'hex'));
		PERFORM pg_logical_emit_message(true, 'widetable', '\\x02010000000000000000000000000000'::bytea || payload);
	END LOOP;
END \$\$" >>"$T/out"
like "$(grep -c ERROR "$T/out")" '^0$' "a role without privileges writes them"
kill_server; : >"$T/server.log"; start
is "$(q "$values")" "$want" "crash: no altered or captured record is applied"
is "$(ignored "$T/server.log")" "1" "crash: the log says once that records were ignored"
q "INSERT INTO t VALUES (3, 'genuine-0003')" >/dev/null
want="$want 3genuine-0003"

# ---- garbage
number=0100000000000000
as_nobody "$(emit false '')" "$(emit true '')" "$(emit false 00)" "$(emit false 01)" "$(emit false 0101)" "$(emit true "${forged%????}")" \
	"$(emit false "$(printf %s "$forged" | cut -c1-40)")" "$(emit false 02010000070000000100000000000000aabb)" \
	"$(emit false 0301000001000000ffffffffffffff7f00000000000000000100000000000000)" \
	"$(emit false "0401000000000000${number}00000000000000000400000000000000deadbeef")" "$(emit false "0401000000000000${number}00000000000000000000000000000000")" \
	"$(emit false "0401000000000000feffffffffffff7f00000000000000000400000000000000deadbeef")" \
	"$(emit false 000200000000000000000000000000)" "$(emit false 00020000000000000000000000000000)" \
	"$(emit false 7769646574626c3103000000000000000000000000000000)" "$(emit false "0101000000000000ffffffffffffff7f0000ffffffffffffff7fffffffffffffff7f")" \
	"SELECT FROM pg_logical_emit_message(false, 'widetable', repeat('x', 40000000))" \
	"SELECT count(pg_logical_emit_message(g % 2 = 0, 'widetable', md5(g::text))) FROM generate_series(1, 5000) g" >"$T/out"
like "$(grep -c ERROR "$T/out")" '^0$' "a role without privileges writes garbage"
kill_server; : >"$T/server.log"; start
is "$(q "$values")" "$want" "crash: garbage is ignored"
is "$(ignored "$T/server.log")" "1" "crash: the log has one line about a flood of it"
verify_store "crash"
q "INSERT INTO t VALUES (4, 'genuine-0004')" 'BEGIN' 'INSERT INTO ordinary VALUES (1)' "INSERT INTO t VALUES (5, 'genuine-0005')" 'COMMIT' >/dev/null
want="$want 4genuine-0004 5genuine-0005"
kill_server; start
is "$(q "$values")" "$want" "crash: what is written afterwards is there"

# ---- logical decoding passes over the log of the store
# (pgoutput begins a message with an M, an insertion with an I)
is "$(q 'CREATE PUBLICATION p FOR TABLE ordinary' "SELECT count(*) FROM pg_create_logical_replication_slot('s', 'pgoutput')" \
	"INSERT INTO t VALUES (6, 'genuine-0006')" 'BEGIN' 'INSERT INTO ordinary VALUES (2)' "INSERT INTO t VALUES (7, 'genuine-0007')" 'COMMIT' \
	"SELECT string_agg(chr(get_byte(data, 0)), '' ORDER BY lsn) FROM pg_logical_slot_get_binary_changes('s', NULL, NULL, 'proto_version', '1', 'publication_names', 'p', 'messages', 'true')" \
	"SELECT pg_drop_replication_slot('s')" | tr '\n' ' ')" \
	"1 BRIC  " "logical decoding shows ordinary rows and none of the store's bytes"
want="$want 6genuine-0006 7genuine-0007"

# ---- a standby that follows, and recovery to a point in time
q "SELECT pg_create_restore_point('here')" "INSERT INTO t VALUES (8, 'too late')" 'SELECT pg_switch_wal()' >/dev/null
lsn=$(q 'SELECT pg_current_wal_lsn()')
for _ in $(seq 50); do [ "$(there "$T/data.one" "SELECT pg_last_wal_replay_lsn() >= '$lsn'")" = t ] && break; sleep 0.2; done
printf '%s\n' "restore_command = 'cp $T/archive/%f %p'" "recovery_target_name = 'here'" "recovery_target_action = 'promote'" >>"$T/data.past/postgresql.conf"
touch "$T/data.past/recovery.signal"
second "$T/data.past"
for _ in $(seq 50); do [ "$(there "$T/data.past" 'SELECT pg_is_in_recovery()')" = f ] && break; sleep 0.2; done
is "$(there "$T/data.past" "$values")" "$want" "point in time: nothing forged is there"
like "$(ignored "$T/data.past.log")" '^[12]$' "point in time: the log says so once or twice"
stop fast
"$BIN/pg_ctl" -D "$T/data.one" -w promote >/dev/null
is "$(there "$T/data.one" "$values")" "$want 8too late" "standby: nothing forged is there after a promotion"
like "$(ignored "$T/data.one.log")" '^[12]$' "standby: the log says so once or twice"
is "$(there "$T/data.one" 'SELECT * FROM widetable.verify()')" "" "standby: verify() finds no problem"
finish
