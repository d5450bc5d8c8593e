# storm: three sessions create, alter, truncate and drop tables at random while three others read
# and write them.  The only errors are those that ordinary tables give as well; afterwards the store
# is undamaged, no lock or reservation remains, and the directory contains no other files.
# Settings: STORM (seconds, default 10), SEED (default 1).  Takes about 15 seconds.
. "${0%/*}/common.sh"
new_cluster 'widetable.memtable_size = 1MB' 'max_connections = 30' "deadlock_timeout = '100ms'" 'log_min_messages = warning'
W=$T/data/widetable
SECONDS_=${STORM:-10}
TABLES=6
q 'CREATE EXTENSION widetable' 'CREATE TABLE h (x int)' \
	"CREATE FOREIGN TABLE keep (k int, v text) SERVER widetable OPTIONS (key 'k')" "INSERT INTO keep SELECT g, 'v' || g FROM generate_series(1, 1000) g" >/dev/null

# the random statements of one session
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
# The error of GetForeignServerIdByRelId gets the name of its function: TRUNCATE calls it before it
# has the lock (truncate_check_rel), and other callers must not raise it.
cat "$T"/out.* | awk '/^LOCATION:/ && held ~ /for foreign table [0-9]+$/ { held = held " in " $2 }
	/(ERROR|FATAL|PANIC): / { if (held != "") print held; held = $0 } END { if (held != "") print held }' |
	sed 's/^psql:[^ ]* //; s/"[^"]*"/X/g; s/[0-9][0-9]* of/N of/' | sort | uniq -c | sort -rn >"$T/errors"
# Expected: cancelled at the end; two sessions create the same name; table missing or existing;
# column missing; transaction aborted; deadlock; changed by a concurrent session, with PostgreSQL's
# messages.
bad=$(grep -vE 'ERROR:  (57014|23505: duplicate key value violates unique constraint X|42704: foreign table X does not exist|42P01|42P07|42710|42701|42703|25P02|40P01|XX000: (tuple concurrently|cache lookup failed for (relation|attribute|foreign table [0-9]* in GetForeignServerIdByRelId)|could not open relation with OID|relation with OID))' "$T/errors")
is "$bad" "" "the statements raise only expected errors"
n=$(cat "$T"/out.ddl.* "$T"/out.dml.* | grep -c '')
sed 's/^/# /' "$T/errors"
[ "$n" -gt 500 ]; ok $? "the sessions executed more than 500 statements"
is "$(q 'SELECT count(*) FROM keep' 'SELECT widetable.flush()' 'SELECT * FROM widetable.verify()' | tr '\n' ' ')" "1000  " "the untouched rows are there, and verify() finds no problem"
is "$(q 'SELECT row_locks, snapshots, memtable_reserved, files_reserved FROM widetable.pg_stat_widetable')" "0|0|0|0" "no row lock, snapshot or reservation remains"
is "$(q "SELECT count(*) FROM pg_foreign_table" 'SELECT tables FROM widetable.pg_stat_widetable' | uniq | wc -l)" "1" "the store has as many tables as the catalog"
stop immediate; start
is "$(q 'SELECT count(*) FROM keep' 'SELECT * FROM widetable.verify()')" "1000" "after a crash the rows are there, and verify() finds no problem"
is "$(q "SELECT count(*) FROM pg_foreign_table" 'SELECT tables FROM widetable.pg_stat_widetable' | uniq | wc -l)" "1" "after a crash the store has as many tables as the catalog"
q 'SELECT widetable.compact()' >/dev/null
# the files of dropped tables are removed
for _ in $(seq 50); do files=$(ls "$W" | grep -c '\.sst'); [ "$files" = "$(q 'SELECT containers FROM widetable.pg_stat_widetable')" ] && break; sleep 0.1; done
is "$files" "$(q 'SELECT containers FROM widetable.pg_stat_widetable')" "the directory has the listed files and no others"

# verify() reports files that do not belong to the store
touch "$W/00ffffff.sst" "$W/00ffffff.sst.tmp"
is "$(q "SELECT problem FROM widetable.verify() WHERE object ~ '00fffff' ORDER BY object")" "the file does not belong to the store
the temporary file is not in use" "verify() reports a sorted file and a temporary file that do not belong to the store"
stop; start
is "$(q 'SELECT * FROM widetable.verify()'; ls "$W" | grep -c '00fffff')" "0" "the next start removes them"
finish
