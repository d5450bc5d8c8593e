# modes: the store's files and directories have the modes of the cluster (initdb -g: the group may
# read), and no file is written through a link that another program put there.
. "${0%/*}/common.sh"

# modes TYPE: the different modes of the store's directories (d) or files (f)
modes() { find "$T/data/widetable" -type "$1" -printf '%m\n' | sort -u | tr '\n' ' '; }

# writes sorted files, of flushes, compactions and a large transaction, and manifests
use_store() {
	q 'CREATE EXTENSION IF NOT EXISTS widetable' "$TABLE" "$FILL" 'SELECT widetable.flush()' >/dev/null
	is "$(modes d)$(modes f)" "$2 $3 " "$1: modes of directories and files"
	q "SET widetable.write_memory = '1MB'" "INSERT INTO t SELECT 'l' || g, g, repeat(md5(g::text), 9), '{}' FROM generate_series(1, 20000) g" >/dev/null
	is "$(modes d)$(modes f)" "$2 $3 " "$1: after a large transaction"
	q 'SELECT widetable.compact()' >/dev/null
	stop fast; start
	q 'SELECT count(*) FROM t' >/dev/null
	is "$(modes d)$(modes f)" "$2 $3 " "$1: after a compaction and a restart"
}

umask 022
INITDB=-g
new_cluster "shared_preload_libraries = 'widetable'"
use_store "initdb -g" 750 640

# names that the store uses next, as links to a file of the same user
echo victim >"$T/victim"
next=$(find "$T/data/widetable" -name '*.sst' -printf '%f\n' | sort | tail -n 1)
plant() {
	for n in $(seq 1 60); do
		f=$(printf '%s/data/widetable/%08x' "$T" $((0x${next%.sst} + n)))
		for end in sst sst.tmp run.tmp; do ln -s "$T/victim" "$f.$end" 2>/dev/null; done
	done
}
plant
q "$FILL" 'SELECT widetable.flush()' "SET widetable.write_memory = '1MB'" \
	"INSERT INTO t SELECT 'm' || g, g, repeat(md5(g::text), 9), '{}' FROM generate_series(1, 20000) g" >"$T/planted"
is "$(cat "$T/planted")" "" "links with the names of new files do not hinder writing"
is "$(cat "$T/victim")" victim "and nothing is written through them"
want=$(q "$SUM")
stop fast
ln -s "$T/victim" "$T/data/widetable/CURRENT.tmp"
for n in $(seq 1 20); do ln -s "$T/victim" "$T/data/widetable/manifest-$(printf %016x "$n")" 2>/dev/null; done
start
is "$(q "$SUM")" "$want" "with links in the place of CURRENT.tmp and of manifests the store opens"
is "$(cat "$T/victim")" victim "and nothing is written through them"
is "$(find "$T/data/widetable" -type l | wc -l)" 0 "the links are removed"
verify_store
stop fast

mv "$T/data" "$T/group"
INITDB=
new_cluster "shared_preload_libraries = 'widetable'"
use_store "initdb" 700 600
finish
