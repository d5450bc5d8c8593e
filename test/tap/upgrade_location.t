# upgrade_location: pg_upgrade with the sorted files in a tablespace.  Takes 15 seconds for each newer
# version that ./test/check has found ($NEWER).
. "${0%/*}/common.sh"
. "${0%/*}/pg_upgrade.sh"

disk=$T/disk OLDV=$("$BIN/postgres" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
mkdir "$disk"
new_cluster "shared_preload_libraries = 'widetable'"
q "CREATE TABLESPACE fast LOCATION '$disk'" "ALTER SYSTEM SET widetable.directory = '$disk'" >/dev/null
stop
start
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" 'SELECT widetable.flush()' "UPDATE t SET v = 'new' WHERE n % 3 = 0" 'CREATE TABLE beside (k int) TABLESPACE fast' 'INSERT INTO beside VALUES (7)' >/dev/null
want=$(q "$SUM" 'SELECT * FROM beside')
like "$want" '^2000\|' "there is a table with its files in the tablespace"
q 'SELECT widetable.prepare_upgrade()' >/dev/null
stop
like "$(ls "$disk"/PG_*/widetable)" 'sst' "the tablespace has the files"

# the same version has the same directory in the tablespace
cluster "$T/data.new" "$BIN"
upgrade "$OLD" "$T/data.new" "$BIN" >"$T/out"
like "$(cat "$T/out")" 'Cannot upgrade to.from the same system catalog version' "to the same version: pg_upgrade refuses"
rm -rf "$T/data.new"

for newbin in $NEWER; do
	v=$("$newbin/postgres" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
	for mode in copy link; do
		name="to $v, $mode"
		from=$T/data.from new=$T/data.new
		cp -a "$OLD" "$from"
		strip_versions "$from" "$newbin"
		cluster "$new" "$newbin"
		echo "widetable.directory = '$disk'" >>"$new/postgresql.conf"
		upgrade "$from" "$new" "$newbin" $([ $mode = link ] && echo --link); ok $? "$name: pg_upgrade"
		cp -a "$from/widetable" "$new/"
		run "$new" "$newbin"
		like "$(q 'SELECT count(*) FROM t' | tr '\n' ' ')" 'ERROR:  the files of wide tables are missing .*PG_'$v "$name: without the tablespace's part the store is not opened"
		halt "$new" "$newbin"
		ok "$([ -e "$new/widetable/upgrade" ]; echo $?)" "$name: nor taken over"
		cp -a $([ $mode = link ] && echo -l) "$disk"/PG_"$OLDV"_*/widetable "$disk"/PG_"$v"_*/
		sum=$(cat "$disk"/PG_"$OLDV"_*/widetable/*.sst | md5sum)
		run "$new" "$newbin"
		is "$(q "$SUM" 'SELECT * FROM beside')" "$want" "$name: the tables show what they showed"
		q "INSERT INTO t VALUES ('after', 1, 'v')" 'SELECT widetable.flush()' 'SELECT widetable.compact()' >/dev/null
		halt "$new" "$newbin" immediate
		run "$new" "$newbin"
		is "$(q "SELECT v FROM t WHERE k = 'after'" "DELETE FROM t WHERE k = 'after'" "$SUM")" "v
$(printf '%s\n' "$want" | head -n 1)" "$name: it goes on"
		verify_store "$name"
		is "$(cat "$disk"/PG_"$OLDV"_*/widetable/*.sst | md5sum)" "$sum" "$name: the old files are not changed"
		halt "$new" "$newbin"
		cat "$new.log" >>"$T/server.log"
		rm -rf "$new" "$new.log" "$from" "$disk"/PG_"$v"_*
	done
done
[ -n "$NEWER" ] || echo "ok - skipped: no newer version of PostgreSQL is here"
finish
