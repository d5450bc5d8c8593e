# storm: sessions make, alter, empty and drop tables that others write and read,
# for ten seconds.  No error but those that ordinary tables would give, no damage,
# and no file that belongs to nothing.
. "${0%/*}/common.sh"
new_cluster 'widetable.memtable_size = 1MB' 'max_connections = 30' "deadlock_timeout = '100ms'" 'log_min_messages = warning'
W=$T/data/widetable
SECONDS_=${STORM:-10}
TABLES=6
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (x int)' \
	"CREATE FOREIGN TABLE keep (k int, v text) SERVER widetable OPTIONS (key 'k')" "INSERT INTO keep SELECT g, 'v' || g FROM generate_series(1, 1000) g" >/dev/null

# the statements of one session, at random
cat >"$T/statements.pl" <<'PERL'
use strict;
use warnings;
my ($kind, $seed, $tables) = @ARGV;
srand($seed);
sub n { return int(rand($_[0])); }
sub t { return 's' . (1 + n($tables)); }
sub create { return "CREATE FOREIGN TABLE $_[0] (k int, v text, n int OPTIONS (column 'e:n')) SERVER widetable OPTIONS (key 'k', families '{\"d\": {\"versions\": 2}, \"e\": {}}');"; }
sub end { return rand() < 0.5 ? 'ROLLBACK;' : 'COMMIT;'; }
my $many = "SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, 1500) g";
sub ddl
{
	my ($r, $x) = (rand(), t());
	return create($x) if $r < 0.30;
	return "DROP FOREIGN TABLE $x;" if $r < 0.40;
	return "TRUNCATE $x;" if $r < 0.50;
	return "TRUNCATE $x, " . t() . ';' if $r < 0.55;
	return "ALTER FOREIGN TABLE $x ADD COLUMN IF NOT EXISTS extra" . n(3) . ' text;' if $r < 0.62;
	return "ALTER FOREIGN TABLE $x DROP COLUMN IF EXISTS extra" . n(3) . ';' if $r < 0.69;
	return "ALTER FOREIGN TABLE $x OPTIONS (SET families '{\"d\": {\"versions\": " . (1 + n(3)) . "}, \"e\": {}}');" if $r < 0.78;
	return "ALTER FOREIGN TABLE $x RENAME TO " . t() . ';' if $r < 0.82;
	return "SELECT widetable.compact('$x');" if $r < 0.86;
	return "ANALYZE $x;" if $r < 0.89;
	return "BEGIN; DROP FOREIGN TABLE $x; " . create($x) . " INSERT INTO $x $many; " . end() if $r < 0.95;
	return "BEGIN; SAVEPOINT a; DROP FOREIGN TABLE $x; ROLLBACK TO a; TRUNCATE $x; INSERT INTO $x VALUES (1, 'x'); " . end();
}
sub dml
{
	my ($r, $x) = (rand(), t());
	return "INSERT INTO $x SELECT g, md5(g::text), g FROM generate_series(1, " . n(200) . ') g;' if $r < 0.40;
	return "INSERT INTO $x $many;" if $r < 0.45;
	return "UPDATE $x SET v = left(v || 'y', 40) WHERE k < " . n(100) . ';' if $r < 0.60;
	return "DELETE FROM $x WHERE k % 3 = 1;" if $r < 0.70;
	return "SELECT count(*), max(v) FROM $x;" if $r < 0.80;
	return "BEGIN; INSERT INTO h VALUES (1); INSERT INTO $x VALUES (1, 'x'); SELECT count(*) FROM " . t() . '; ' . end() if $r < 0.90;
	return "BEGIN; DECLARE c CURSOR FOR SELECT * FROM $x; FETCH 5 FROM c; UPDATE keep SET v = v WHERE k = " . n(1000) . '; FETCH 5 FROM c; COMMIT;';
}
print $kind eq 'ddl' ? ddl() : dml(), "\n" for 1 .. 100000;
PERL
statements() { perl "$T/statements.pl" "$1" "$2" $TABLES; }
for i in 1 2 3; do statements ddl $((${SEED:-1} * 10 + i)) >"$T/ddl.$i"; done
for i in 1 2 3; do statements dml $((${SEED:-1} * 10 + i)) >"$T/dml.$i"; done
for i in ddl.1 ddl.2 ddl.3 dml.1 dml.2 dml.3; do
	timeout -s INT "$SECONDS_" "$BIN/psql" -XqAt -v VERBOSITY=verbose -f "$T/$i" >"$T/out.$i" 2>&1 &
done
wait
# with the place in PostgreSQL for the one that several places give: TRUNCATE looks at the table before it has the lock (truncate_check_rel)
cat "$T"/out.* | awk '/^LOCATION:/ && held ~ /for foreign table [0-9]+$/ { held = held " in " $2 }
	/(ERROR|FATAL|PANIC): / { if (held != "") print held; held = $0 } END { if (held != "") print held }' |
	sed 's/^psql:[^ ]* //; s/"[^"]*"/X/g; s/[0-9][0-9]* of/N of/' | sort | uniq -c | sort -rn >"$T/errors"
# cancelled at the end; two make one name (in pg_class); no such table, or there is one; no such column; aborted; deadlock; locked or changed by others, as ordinary tables would say
bad=$(grep -vE 'ERROR:  (57014|23505: duplicate key value violates unique constraint X|42704: foreign table X does not exist|42P01|42P07|42710|42701|42703|25P02|40P01|XX000: (tuple concurrently|cache lookup failed for (relation|attribute|foreign table [0-9]* in GetForeignServerIdByRelId)|could not open relation with OID|relation with OID))' "$T/errors")
is "$bad" "" "no unexpected error"
n=$(cat "$T"/out.ddl.* "$T"/out.dml.* | grep -c '')
sed 's/^/# /' "$T/errors"
[ "$n" -gt 500 ]; ok $? "there was a storm"
is "$(q 'SELECT count(*) FROM keep' 'SELECT widetable.flush()' 'SELECT * FROM widetable.verify()' | tr '\n' ' ')" "1000  " "verify finds nothing"
is "$(q 'SELECT row_locks, snapshots, memtable_reserved, files_reserved FROM widetable.pg_stat_widetable')" "0|0|0|0" "nothing is held"
is "$(q "SELECT count(*) FROM pg_foreign_table" 'SELECT tables FROM widetable.pg_stat_widetable' | uniq | wc -l)" "1" "there are as many stored tables as foreign tables"
stop immediate; start
is "$(q 'SELECT count(*) FROM keep' 'SELECT * FROM widetable.verify()')" "1000" "nor after a crash"
is "$(q "SELECT count(*) FROM pg_foreign_table" 'SELECT tables FROM widetable.pg_stat_widetable' | uniq | wc -l)" "1" "nor are there other tables"
q 'SELECT widetable.compact()' >/dev/null
# all that was dropped is removed from the directory
for _ in $(seq 50); do files=$(ls "$W" | grep -c '\.sst'); [ "$files" = "$(q 'SELECT files FROM widetable.pg_stat_widetable')" ] && break; sleep 0.1; done
is "$files" "$(q 'SELECT files FROM widetable.pg_stat_widetable')" "the directory has the files of these tables and no other"

# verify() would see others
touch "$W/00ffffff.sst" "$W/00ffffff.sst.tmp"
is "$(q "SELECT problem FROM widetable.verify() WHERE object ~ '00fffff' ORDER BY object")" "the file belongs to nothing
nobody writes the file" "verify() sees files that belong to nothing"
stop; start
is "$(q 'SELECT * FROM widetable.verify()'; ls "$W" | grep -c '00fffff')" "0" "which the next start removes"
finish
