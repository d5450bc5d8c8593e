# damage: a byte or a file of the store is lost.  The store opens, other tables can be read and
# written, reads of what is lost raise XX001 and never return less, also after compactions and
# restarts; DROP, TRUNCATE and salvage() end it.  Takes about 80 seconds.
. "${0%/*}/common.sh"
# without workers, the calling session does flushes and compactions
new_cluster "shared_preload_libraries = 'widetable'" "widetable.workers = 0" "autovacuum = off" "max_parallel_workers_per_gather = 0" "wal_keep_size = 0" "min_wal_size = 32MB"
store=$T/data/widetable
q 'CREATE EXTENSION widetable' "$TABLE" \
	"CREATE FOREIGN TABLE u (k int, v text) SERVER widetable OPTIONS (key 'k')" \
	"INSERT INTO t SELECT 'k' || g % 10, g, md5(g::text), jsonb_build_object('q', md5(g::text)) FROM generate_series(1, 4000) g" \
	"INSERT INTO u SELECT g, md5(g::text) FROM generate_series(1, 1000) g" \
	'SELECT widetable.flush()' 'SELECT widetable.compact()' \
	"DELETE FROM t WHERE n % 7 = 0" "UPDATE t SET v = md5(v) WHERE n % 5 = 0" 'SELECT widetable.flush()' \
	'CREATE TABLE truth AS SELECT * FROM t' 'CREATE TABLE truth_u AS SELECT * FROM u' \
	"CREATE FUNCTION look(OUT right_ int, OUT refused int, OUT wrong int) LANGUAGE plpgsql AS \$\$
DECLARE r record; n_ int; ok bool;
BEGIN
	right_ := 0; refused := 0; wrong := 0;
	FOR n_ IN SELECT g FROM generate_series(1, 4000, 13) g LOOP
		BEGIN
			SELECT (SELECT x FROM truth x WHERE x.n = n_) IS NOT DISTINCT FROM (SELECT (t.k, t.n, t.v, t.more)::truth FROM t WHERE t.k = 'k' || n_ % 10 AND t.n = n_) INTO ok;
			IF ok THEN right_ := right_ + 1; ELSE wrong := wrong + 1; END IF;
		EXCEPTION WHEN data_corrupted THEN refused := refused + 1;
		END;
	END LOOP;
END \$\$" \
	'CREATE INDEX ON truth (n)' >/dev/null
# the states of the manifest before the last one need WAL that is gone
q 'SELECT pg_switch_wal()' 'CREATE TABLE x (a int)' CHECKPOINT 'SELECT widetable.flush()' 'SELECT pg_switch_wal()' 'DROP TABLE x' CHECKPOINT CHECKPOINT >/dev/null
stop fast
start
q 'SELECT count(*) FROM u' CHECKPOINT >/dev/null
stop fast
cp -a "$T/data" "$T/good"

# again: the cluster as it was, stopped
again() { stop immediate; rm -rf "$T/data"; cp -a "$T/good" "$T/data"; }
# flip FILE OFFSET: changes a byte; an offset below 0 is from the end
flip() {
	at=$2
	[ "$at" -ge 0 ] || at=$(($(wc -c <"$1") + at))
	b=$(od -An -tu1 -j "$at" -N 1 "$1" | tr -d ' ')
	# shellcheck disable=SC2059
	printf "\\$(printf %o $((b ^ 4)))" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
# others TITLE: the other table, and the store, work
others() {
	is "$(q 'SELECT count(*) FROM (TABLE u EXCEPT TABLE truth_u) x')|$(q 'SELECT count(*) FROM u')" "0|1000" "$1: another table can be read"
	is "$(q "INSERT INTO u VALUES (5000, 'x')" 'SELECT v FROM u WHERE k = 5000' 'DELETE FROM u WHERE k = 5000' 'SELECT count(*) FROM u')" "x
1000" "$1: and written"
}
# whole TITLE: nothing is lost
whole() {
	others "$1"
	is "$(q 'SELECT count(*) FROM (TABLE truth EXCEPT TABLE t) x')" "0" "$1: all rows are there"
	is "$(q 'SELECT refused + wrong FROM look()')" "0" "$1: look-ups find them"
	verify_store "$1"
}
# hit TITLE: rows of t are refused, or right
hit() {
	others "$1"
	like "$(q 'SELECT refused > 0, wrong FROM look()')" '^t\|0$' "$1: look-ups are refused or right"
	like "$(VERBOSITY=verbose q 'SELECT count(*) FROM t')" 'ERROR:  XX001' "$1: a read of all is refused"
	like "$(q 'SELECT count(*) FROM t')" 'DETAIL:  Table "public.t", family "[dm]", file [0-9a-f]+\.sst, offset [0-9]+, rows with keys from ' "$1: the error says where"
}
# at_rest STATUS TITLE: widetable_check ends with that status, and changes nothing
at_rest() {
	sum=$(cat "$store"/* 2>/dev/null | md5sum; ls "$store")
	"$BIN/widetable_check" "$T/data" >"$T/check.out"
	is "$?" "$1" "$2: exit status of widetable_check"
	is "$(cat "$store"/* 2>/dev/null | md5sum; ls "$store")" "$sum" "$2: it changes nothing"
}
# copied FAMILY TITLE LOOK: salvage() into another table copies all that is not in the ranges that it
# reports, with all versions and timestamps, and nothing else; t is as it was
copied() {
	q "CREATE FOREIGN TABLE c (k text COLLATE \"C\", n int, v text, more jsonb OPTIONS (family 'm'))
	SERVER widetable OPTIONS (key 'k, n desc', families '{\"d\": {\"versions\": 3}, \"m\": {}}')" \
		"CREATE TABLE gone AS SELECT * FROM widetable.salvage('t', copy_to => 'c')" >/dev/null
	is "$(q "SELECT count(*) > 0 FROM gone WHERE lost_from IS NOT NULL AND family = '$1'" "SELECT count(*) FROM gone WHERE lost_from IS NULL")" "t
2" "$2: salvage() into a table says what is not copied"
	is "$(q "SELECT count(*) FROM truth x JOIN c USING (k, n) WHERE c.v IS NOT NULL AND (x.v IS DISTINCT FROM c.v OR (c.more IS NOT NULL AND x.more IS DISTINCT FROM c.more))" \
		"SELECT count(*) FROM c WHERE n > 0 AND NOT EXISTS (SELECT FROM truth x WHERE x.k = c.k AND x.n = c.n)")" "0
0" "$2: nothing else is copied"
	is "$(q "SELECT count(*) FROM truth x LEFT JOIN c USING (k, n) WHERE c.v IS DISTINCT FROM x.v AND NOT EXISTS (SELECT FROM gone WHERE family = 'd'
		AND widetable.encode_key('t', x.k, x.n) >= lost_from AND (widetable.encode_key('t', x.k, x.n) <= lost_to OR substr(widetable.encode_key('t', x.k, x.n), 1, length(lost_to)) = lost_to))")" "0" "$2: all outside of these ranges is copied"
	q 'SELECT widetable.flush()' "SELECT widetable.compact('c')" >/dev/null
	is "$(q "SELECT sum(cells_kept) = (SELECT sum(cells + memtable_cells) FROM widetable.pg_stat_widetable_families WHERE table_name = 'public.c') FROM gone")" "t" "$2: it counts what it copies"
	is "$(q 'SELECT right_, refused FROM look()')" "$3" "$2: the damaged table is as it was"
	like "$(q "SELECT * FROM widetable.salvage('t', copy_to => 'c')")" 'It has rows' "$2: a table with rows is refused"
	q 'DROP FOREIGN TABLE c' 'DROP TABLE gone' >/dev/null
}
newest_file() { q "SELECT lpad(to_hex(container), 8, '0') || '.sst' FROM widetable.pg_stat_widetable_files WHERE table_name = 'public.t' AND family = '$1' ORDER BY $2 LIMIT 1"; }

start
big=$(newest_file d 'file_bytes DESC')
small=$(newest_file d 'file_bytes')
[ -n "$big" ] && [ "$big" != "$small" ]
ok $? "the table has files ($big, $small)"
stop immediate
at_rest 0 'no damage'
"$BIN/widetable_check" "$store" >"$T/check.out"
is "$?|$(cat "$T/check.out")" "0|" "widetable_check takes the directory of the store, too"
manifest=$(sed 's/ .*//' "$store/CURRENT")

# CURRENT and the manifest: nothing is lost
for what in 'rm CURRENT' 'flip CURRENT' 'rm manifest' 'rm copy' 'flip header' 'flip first' 'flip last' 'cut manifest' 'flip copy'; do
	again
	case $what in
		'rm CURRENT') rm "$store/CURRENT" ;;
		'flip CURRENT') flip "$store/CURRENT" 12 ;;
		'rm manifest') rm "$store/$manifest" ;;
		'rm copy') rm "$store/$manifest.copy" ;;
		'flip header') flip "$store/$manifest" 9 ;;
		'flip first') flip "$store/$manifest" 60 ;;
		'flip last') flip "$store/$manifest" -20 ;;
		'cut manifest') truncate -s 50 "$store/$manifest" ;;
		'flip copy') flip "$store/$manifest.copy" 60 ;;
	esac
	case $what in
		'rm copy' | 'flip copy' | 'cut manifest') at_rest 0 "$what" ;;
		*) at_rest 1 "$what" ;;
	esac
	start
	whole "$what"
	stop fast
	start
	is "$(q 'SELECT count(*) FROM u')" "1000" "$what: after a restart"
done

# sorted files: blocks, index, filter, the end, all of it
size=$(wc -c <"$T/good/widetable/$big")
for what in 'rm file' 'cut file' 'flip data' 'flip footer' 'flip meta' 'empty file'; do
	again
	case $what in
		'rm file') rm "$store/$big" ;;
		'cut file') truncate -s $((size / 2)) "$store/$big" ;;
		'flip data') flip "$store/$big" $((size / 3)) ;;
		'flip footer') flip "$store/$big" -30 ;;
		'flip meta') flip "$store/$big" -100 ;;
		'empty file') : >"$store/$big" ;;
	esac
	at_rest 1 "$what"
	like "$(cat "$T/check.out")" "^public.t, family d, file .*$big" "$what: widetable_check names the table"
	start
	hit "$what"
	like "$(q 'SELECT * FROM widetable.verify()')" "^public.t, family d, file .*$big" "$what: verify() names the table"
	before=$(q 'SELECT right_, refused FROM look()')
	q "INSERT INTO t SELECT k, -n, v, more FROM truth WHERE n % 3 = 0" 'SELECT widetable.flush()' 'SELECT widetable.compact()' >/dev/null
	q "DELETE FROM t WHERE k = 'nobody'" 'SELECT widetable.flush()' "SELECT widetable.compact('u')" >/dev/null
	is "$(q 'SELECT right_, refused FROM look()')" "$before" "$what: after compactions"
	stop fast
	start
	hit "$what, after a restart"
	stop immediate
	start
	is "$(q 'SELECT right_, refused FROM look()')" "$before" "$what: after a crash"
	case $what in
		'rm file')
			is "$(q 'TRUNCATE t' 'SELECT count(*) FROM t' "INSERT INTO t SELECT * FROM truth" 'SELECT count(*) FROM (TABLE truth EXCEPT TABLE t) x')" "0
0" "$what: TRUNCATE works"
			q 'SELECT widetable.compact()' >/dev/null
			verify_store "$what, TRUNCATE" ;;
		'cut file')
			is "$(q 'DROP FOREIGN TABLE t')" "" "$what: DROP works"
			q 'SELECT widetable.flush()' 'SELECT widetable.compact()' 'SELECT widetable.flush()' >/dev/null
			is "$(ls "$store/$big" 2>/dev/null)" "" "$what: DROP frees the file"
			verify_store "$what, DROP" ;;
		*)
			copied 'd' "$what" "$before"
			lost=$(q "SELECT count(*) > 0, sum(rows_lost) FILTER (WHERE lost_from IS NULL) > 0 FROM widetable.salvage('t', dry_run => true)")
			is "$lost" "t|t" "$what: salvage() says what would be lost"
			like "$(q 'SELECT count(*) FROM t')" 'ERROR' "$what: dry_run changes nothing"
			is "$(q "SELECT count(*) > 0, sum(rows_lost) FILTER (WHERE lost_from IS NULL) > 0 FROM widetable.salvage('t')")" "$lost" "$what: salvage() says the same"
			q "CREATE TABLE saved AS SELECT * FROM t WHERE n > 0" >/dev/null
			is "$(q 'SELECT count(*) > 0 FROM saved')" "t" "$what: all can be read afterwards"
			[ "$what" != 'flip data' ] || is "$(q 'SELECT count(*) < 500 FROM (TABLE truth EXCEPT TABLE saved) x')" "t" "$what: little is lost"
			q 'SELECT widetable.compact()' >/dev/null
			verify_store "$what, salvage()" ;;
	esac
	others "$what, ended"
done

# a file that is there again
again
is "$(q_=$("$BIN/widetable_check" "$T"); echo "$?")" "1" "widetable_check of a directory without a store"
mv "$store/$small" "$T/away"
start
hit 'file away'
stop fast
mv "$T/away" "$store/$small"
start
whole 'file is back'
is "$(q "SELECT count(*) FROM widetable.salvage('t')")" "0" "file is back: nothing to salvage"

# salvage() with wrong arguments
q 'CREATE FOREIGN TABLE c (k text COLLATE "C", n int, v text) SERVER widetable OPTIONS (key '"'k, n desc'"')' \
	'CREATE FOREIGN TABLE o (k text) SERVER widetable OPTIONS (key '"'k'"')' 'CREATE TABLE heap (a int)' >/dev/null
like "$(VERBOSITY=verbose q "SELECT widetable.salvage('heap')")" 'ERROR:  42809' "salvage() of an ordinary table"
like "$(VERBOSITY=verbose q "SELECT widetable.salvage('t', copy_to => 'heap')")" 'ERROR:  42809' "salvage() into one"
like "$(VERBOSITY=verbose q "SELECT widetable.salvage('t', copy_to => 't')")" 'ERROR:  55000.*' "salvage() of a table into itself"
like "$(VERBOSITY=verbose q "SELECT widetable.salvage('t', copy_to => 'o')")" 'ERROR:  55000.*' "salvage() into a table with another key"
like "$(VERBOSITY=verbose q "SELECT widetable.salvage('t', copy_to => 'c')")" 'ERROR:  42704.*' "salvage() into a table without the families"
like "$(VERBOSITY=verbose q "SELECT widetable.salvage('t', true, 'c')")" 'ERROR:  22023.*' "salvage() with dry_run and copy_to"
is "$(q 'SELECT count(*) FROM c')" "0" "nothing was written"
q 'CREATE ROLE nobody' >/dev/null
like "$(VERBOSITY=verbose q 'SET ROLE nobody' "SELECT widetable.salvage('t')")" 'ERROR:  42501' "salvage() is for superusers"
finish
