#!/bin/sh
# make.sh: makes store.tar.xz and contents.out, a data directory of PostgreSQL 15 with a store of the
# first release of widetable, and what the tables in it show.
#
#   git worktree add DIR 358e0ba
#   ./test/data/first_release/make.sh DIR
#
# fill.sql writes the store, contents.sql shows it.  The server is then killed: the files have what
# was flushed, the log the rest, and a large transaction is open.  Everything of PostgreSQL that the
# tests do not need is taken out of the data directory before, to keep it small: databases, comments,
# the information schema.
. "${0%/*}/../../lib.sh"
HERE=$(cd "${0%/*}" && pwd)
[ $# = 1 ] && [ -f "$1/sql/widetable--1.0.sql" ] && [ ! -e "$1/sql/widetable--1.0--1.1.sql" ] ||
	die "usage: make.sh DIR, a checkout of the first release"
TOP=$(cd "$1" && pwd)

start_work
cd "$WORK" || exit 1
get_tools xz-utils
[ "$PG_VERSION" = 15 ] || die "PostgreSQL 15 is needed, this is $PG_VERSION"
build || exit 1
find_user
mkdir "$PGDATA" "$SOCKET"
[ -z "$AS" ] || chown "$AS" "$PGDATA" "$SOCKET"
chmod 700 "$PGDATA"
as_pg "$BIN/initdb" -D "$PGDATA" -U postgres -A trust --encoding=UTF8 --locale=C --wal-segsize=1 --no-sync >"$WORK/log/initdb" || exit 1
rm "$PGDATA/postgresql.conf"
cat >"$PGDATA/postgresql.conf" <<END
listen_addresses = ''
shared_buffers = 16MB
max_connections = 20
fsync = off
autovacuum = off
full_page_writes = off
wal_recycle = off
min_wal_size = 2MB
max_wal_size = 64MB
timezone = 'UTC'
shared_preload_libraries = 'widetable'
widetable.memtable_size = 1MB
widetable.cache_size = 4MB
END
[ -z "$AS" ] || chown "$AS" "$PGDATA/postgresql.conf"
echo "unix_socket_directories = '$SOCKET'" >>"$PGDATA/postgresql.auto.conf"
use_cluster
start_server || exit 1
"$PSQL" -Xq -v ON_ERROR_STOP=1 >"$WORK/log/trim" 2>&1 <<END || exit 1
UPDATE pg_database SET datistemplate = false;
DROP DATABASE template0;
DROP DATABASE template1;
DROP SCHEMA information_schema CASCADE;
DELETE FROM pg_description;
DELETE FROM pg_collation WHERE collprovider = 'i';
VACUUM FULL;
CHECKPOINT;
SELECT pg_switch_wal();
CHECKPOINT;
END
"$PSQL" -XqAt -v ON_ERROR_STOP=1 -f "$HERE/fill.sql" >"$WORK/log/fill" || exit 1
"$PSQL" -Xq -f "$HERE/contents.sql" >"$HERE/contents.out" 2>&1
printf '%s\n' "BEGIN; SET LOCAL widetable.write_memory = '64kB';" \
	"INSERT INTO old.large SELECT g, 'never ' || g FROM generate_series(10001, 15000) g; INSERT INTO old.ordinary VALUES (3, 'never');" \
	"SELECT pg_sleep(1000);" | "$PSQL" -Xq >/dev/null 2>&1 &
for _ in $(seq 100); do
	[ "$("$PSQL" -XqAtc "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000)%' AND wait_event = 'PgSleep'")" = 1 ] && break
	sleep 0.1
done
stop_server immediate
cd "$PGDATA" || exit 1
rm -rf server.log postmaster.pid postmaster.opts postgresql.auto.conf pg_stat_tmp/* base/pgsql_tmp
find . -name pg_internal.init -o -name '*_fsm' -o -name '*_vm' | xargs rm -f
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - . | xz -9e >"$HERE/store.tar.xz" || exit 1
ls -l "$HERE/store.tar.xz"
