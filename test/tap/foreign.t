# foreign: a store directory that does not belong to this server's WAL (a later state, another
# timeline, another cluster) is refused and left unchanged.  Takes about 10 seconds.
. "${0%/*}/common.sh"
new_cluster "shared_preload_libraries = 'widetable'" "max_wal_size = 32MB" "min_wal_size = 32MB"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" 'CREATE TABLE h (n int)' "SELECT widetable.flush()" >/dev/null
early=$(q "$SUM")
# refused DIR PATTERN TITLE: the server in DIR refuses its store, does not change it, and serves
# ordinary tables
refused() {
	files=$(cd "$1/widetable" && cksum ./*)
	out=$(VERBOSITY=verbose there "$1" 'SELECT count(*) FROM t' | tr '\n' ' ')
	like "$out" "55000: the store of widetable does not belong to this server's WAL.*$2" "$3 is refused for reads"
	like "$(there "$1" "INSERT INTO t VALUES ('a', 1, 'b')")" "does not belong to this server's WAL" "$3 is refused for writes"
	is "$(cd "$1/widetable" && cksum ./*)" "$files" "$3 is not changed"
	is "$(there "$1" 'INSERT INTO h VALUES (1)' 'SELECT count(*) > 0 FROM h')" "t" "with $3 ordinary tables work"
}

# ---- a later state of the same server
stop fast
cp -a "$T/data" "$T/data.old"
start
q "UPDATE t SET v = 'later' WHERE k = 'k1'" 'INSERT INTO h SELECT g FROM generate_series(1, 20000) g' 'SELECT widetable.flush()' 'SELECT pg_switch_wal()' >/dev/null
q "UPDATE t SET v = 'later' WHERE k = 'k2'" 'SELECT widetable.flush()' >/dev/null
late=$(q "$SUM")
stop fast
mv "$T/data.old/widetable" "$T/data.old/right"; cp -a "$T/data/widetable" "$T/data.old/widetable"
second "$T/data.old"
refused "$T/data.old" 'WAL ends at' "a store that is newer than the WAL"
stop_second "$T/data.old"; rm -rf "$T/data.old/widetable"; mv "$T/data.old/right" "$T/data.old/widetable"; second "$T/data.old"
is "$(there "$T/data.old" "$SUM")" "$early" "with its own files the server has all its rows"

# ---- another timeline: the old server is promoted and diverges
stop_second "$T/data.old"; touch "$T/data.old/standby.signal"; second "$T/data.old"; "$BIN/pg_ctl" -D "$T/data.old" -w promote >/dev/null
for i in 1 2 3; do there "$T/data.old" 'INSERT INTO h SELECT g FROM generate_series(1, 20000) g' 'SELECT pg_switch_wal()' >/dev/null; done
there "$T/data.old" "UPDATE t SET v = 'other' WHERE k = 'k1'" >/dev/null
other=$(there "$T/data.old" "$SUM")
stop_second "$T/data.old"
mv "$T/data.old/widetable" "$T/data.old/right"; cp -a "$T/data/widetable" "$T/data.old/widetable"
second "$T/data.old"
refused "$T/data.old" 'of timeline 1, which are not in the history' "a store of another timeline"
stop_second "$T/data.old"; rm -rf "$T/data.old/widetable"; mv "$T/data.old/right" "$T/data.old/widetable"; second "$T/data.old"
is "$(there "$T/data.old" "$SUM")" "$other" "with its own files the promoted server has all its rows"
stop_second "$T/data.old"; rm -rf "$T/data.old"

# ---- another cluster
"$BIN/initdb" -D "$T/data.new" -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync >/dev/null
cp "$T/data/postgresql.conf" "$T/data.new/postgresql.conf"
cp -a "$T/data/widetable" "$T/data.new/"
second "$T/data.new"
out=$(VERBOSITY=verbose there "$T/data.new" 'CREATE EXTENSION widetable' "$TABLE" | tr '\n' ' ')
like "$out" "55000: the store of widetable does not belong to this server's WAL.*belongs to another log" "a store of another cluster is refused"
stop_second "$T/data.new"; mv "$T/data.new/widetable" "$T/data.new/away"; second "$T/data.new"
is "$(there "$T/data.new" 'DROP FOREIGN TABLE IF EXISTS t' "$TABLE" "$FILL" "$SUM" | tail -n 1)" "$early" "without the foreign store the server begins with empty tables"
stop_second "$T/data.new"; rm -rf "$T/data.new"

# ---- pg_resetwal after a crash
start
q "UPDATE t SET v = 'only in WAL' WHERE k = 'k3'" >/dev/null
stop immediate
"$BIN/pg_resetwal" -f -D "$T/data" >/dev/null
start
out=$(VERBOSITY=verbose q 'SELECT count(*) FROM t' | tr '\n' ' ')
like "$out" '55000: WAL that wide tables need is missing.*widetable.ignore_missing_wal' "after pg_resetwal the first use fails because WAL is missing"
is "$(q 'SET client_min_messages = error' 'SET widetable.ignore_missing_wal = on' "$SUM")" "$late" "with ignore_missing_wal the rows in files are there"
q "UPDATE t SET v = 'again' WHERE k = 'k3'" >/dev/null
want=$(q "$SUM")
stop immediate; start
is "$(q "$SUM")" "$want" "the opened store can be written, and a crash loses nothing"
verify_store
finish
