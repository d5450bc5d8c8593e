# upgrade_damage: pg_upgrade with a store that has damage: it goes along as it is.  Takes 60 seconds.
. "${0%/*}/common.sh"
. "${0%/*}/pg_upgrade.sh"

# without workers, no process but the sessions changes files
new_cluster "shared_preload_libraries = 'widetable'" "widetable.workers = 0" "autovacuum = off" "wal_keep_size = 0" "min_wal_size = 32MB"
q 'CREATE EXTENSION widetable' "CREATE FOREIGN TABLE big (k int, v text) SERVER widetable" "CREATE FOREIGN TABLE small (k int, v text) SERVER widetable" \
	"INSERT INTO big SELECT g, md5(g::text) || md5((-g)::text) FROM generate_series(1, 60000) g" 'SELECT widetable.flush()' 'SELECT widetable.compact()' \
	"INSERT INTO small SELECT g, md5(g::text) FROM generate_series(1, 100) g" >/dev/null
q 'SELECT widetable.flush()' >/dev/null
# the states of the manifest before the last one need WAL that is gone
q 'SELECT pg_switch_wal()' 'CREATE TABLE x (a int)' CHECKPOINT 'SELECT widetable.flush()' 'SELECT pg_switch_wal()' 'DROP TABLE x' CHECKPOINT CHECKPOINT >/dev/null
stop
start
q 'SELECT count(*) FROM small' CHECKPOINT >/dev/null
file=$(q "SELECT lpad(to_hex(container), 8, '0') || '.sst' FROM widetable.pg_stat_widetable_files WHERE table_name LIKE '%big' ORDER BY file_bytes DESC LIMIT 1")
is "$(q "SELECT count(DISTINCT container) FROM widetable.pg_stat_widetable_files")" 2 "the tables are in different files"

damage() {
	case $1 in
		block) printf 'damage' | dd of="$2/widetable/$file" bs=1 seek=60000 conv=notrunc 2>/dev/null ;;
		footer) printf 'damage' | dd of="$2/widetable/$file" bs=1 seek=$(($(wc -c <"$2/widetable/$file") - 20)) conv=notrunc 2>/dev/null ;;
		file) rm "$2/widetable/$file" ;;
		manifest) m=$(ls "$2"/widetable/manifest-* | grep -v copy | tail -n 1); printf 'damage' | dd of="$m" bs=1 seek=$(($(wc -c <"$m") / 2)) conv=notrunc 2>/dev/null ;;
		current) rm "$2/widetable/CURRENT" ;;
	esac
}
# look TITLE KIND
look() {
	is "$(q 'SELECT count(*) FROM small')" 100 "$1: the other table can be read"
	case $2 in
		manifest|current) is "$(q 'SELECT count(*), sum(k) FROM big')" "60000|1800030000" "$1: nothing is lost" ;;
		*)
			like "$(VERBOSITY=verbose q 'SELECT count(*) FROM big')" 'ERROR:  XX001' "$1: what is lost is refused"
			like "$(q 'SELECT table_name FROM widetable.verify() LIMIT 1' 2>&1)" '.' "$1: verify() reports it" ;;
	esac
}

# the damage is there before prepare_upgrade(), or happens to its files
for case in block:before file:before current:before footer:after file:after manifest:after; do
	kind=${case%:*} when=${case#*:} name="$kind, ${case#*:}"
	from=$T/data.from new=$T/data.new
	[ "$when" = before ] || q 'SELECT widetable.prepare_upgrade()' >/dev/null
	stop
	cp -a "$OLD" "$from"
	damage $kind "$from"
	if [ "$when" = before ]; then
		run "$from" "$BIN"
		look "$name, old cluster" $kind
		is "$(q 'SELECT widetable.prepare_upgrade()' 2>&1)" "" "$name: prepare_upgrade()"
		halt "$from" "$BIN"
	fi
	cluster "$new" "$BIN"
	upgrade "$from" "$new" "$BIN"; ok $? "$name: pg_upgrade"
	cp -a "$from/widetable" "$new/"
	run "$new" "$BIN"
	look "$name" $kind
	halt "$new" "$BIN" immediate
	run "$new" "$BIN"
	look "$name, after a crash" $kind
	[ $kind = manifest ] || [ $kind = current ] || {
		q "SELECT count(*) FROM widetable.salvage('big')" >"$T/out" 2>&1
		like "$(q 'SELECT count(*) FROM big')" '^[0-9]+$' "$name: salvage() ends it"
	}
	verify_store "$name"
	halt "$new" "$BIN"
	cat "$new.log" >>"$T/server.log"
	rm -rf "$new" "$new.log" "$from" "$from.log"
	start
done
finish
