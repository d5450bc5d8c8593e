# lib.sh: functions shared by the scripts in test/ and bench/.  POSIX sh.
#
# They install packages, build in a temporary directory, install the extension
# into a private copy of PostgreSQL, and run a private cluster on a Unix socket.
# Everything is below $WORK, which is removed when the script ends, for whatever
# reason.  The checkout is only read.
#
# The private copy: PostgreSQL's programs find their files relative to
# themselves.  So $WORK/root holds copies of the programs and links to the
# rest, and "make install DESTDIR=$WORK/root" puts the extension there.  The
# machine's own PostgreSQL is not touched, and root is not needed.
#
# Settings: PG_CONFIG (which PostgreSQL; default: Debian's), NO_INSTALL=1 (never
# call apt-get), KEEP=1 (leave $WORK in place), TMPDIR, MAKEFLAGS.

set -u
umask 022
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH LC_ALL=C.UTF-8 TZ=UTC
unset CDPATH PGHOST PGPORT PGUSER PGDATABASE PGDATA PGOPTIONS PGSERVICE PGHOSTADDR PGAPPNAME LANGUAGE MAKELEVEL
# PGXS has its own NO_INSTALL, which makes "make install" do nothing: do not pass ours on
no_install=${NO_INSTALL:-}
unset NO_INSTALL

TOP=$(cd "$(dirname "$0")/.." && pwd) || exit 1
WORK=
SERVER_UP=

say() { printf '%s\n' "# $*"; }
die() { printf '%s\n' "error: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# ---------------------------------------------------------------- packages

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif have sudo; then sudo "$@"
	else
		die "these packages are missing: $MISSING. Install them (this needs root, and there is no sudo here), then try again"
	fi
}

# need_packages NAME...: installs the missing ones (Debian and derivatives)
need_packages() {
	MISSING=
	for p_ in "$@"; do
		case $(dpkg-query -W -f '${Status}' "$p_" 2>/dev/null) in
			*' installed') ;;
			*) MISSING="$MISSING $p_" ;;
		esac
	done
	MISSING=${MISSING# }
	[ -n "$MISSING" ] || return 0
	[ -z "$no_install" ] || die "these packages are missing: $MISSING"
	say "installing with apt-get: $MISSING"
	apt_update
	# the server's package must not create and start a cluster on port 5432
	cc_=
	if [ -z "$(dpkg-query -W postgresql-common 2>/dev/null)" ]; then
		cc_=/etc/postgresql-common/createcluster.d/widetable.conf
		as_root mkdir -p /etc/postgresql-common/createcluster.d
		echo 'create_main_cluster = false' | as_root tee $cc_ >/dev/null
	fi
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q install --no-install-recommends $MISSING \
		>"$WORK/apt.log" 2>&1 </dev/null
	rc_=$?
	[ -z "$cc_" ] || { as_root rm -f $cc_; as_root rmdir /etc/postgresql-common/createcluster.d /etc/postgresql-common 2>/dev/null; }
	[ $rc_ = 0 ] || { tail -20 "$WORK/apt.log" >&2; die "apt-get install failed"; }
}

apt_update() {
	[ -z "${APT_UPDATED:-}" ] || return 0
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update >"$WORK/apt.log" 2>&1 </dev/null ||
		{ tail -20 "$WORK/apt.log" >&2; die "apt-get update failed"; }
	APT_UPDATED=1
}

# usable_pg PG_CONFIG: returns true if that PostgreSQL has a server and its headers
usable_pg() {
	[ -x "$1" ] && [ -f "$("$1" --pgxs 2>/dev/null)" ] && [ -x "$("$1" --bindir)/postgres" ] &&
		[ -f "$("$1" --includedir-server)/postgres.h" ]
}

find_pg() {
	for c_ in $(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -t/ -k5 -rn) "$(command -v pg_config)"; do
		usable_pg "$c_" && { PG_CONFIG=$c_; return 0; }
	done
	return 1
}

# get_tools [PACKAGE...]: installs compiler, libraries, PostgreSQL and these packages;
# sets PG_CONFIG, PG_VERSION and BIN
get_tools() {
	if have dpkg-query; then
		need_packages gcc make libc6-dev libzstd-dev libxxhash-dev libkrb5-dev libprotobuf-c-dev protobuf-c-compiler pkg-config gzip xz-utils perl-base "$@"
		if [ -n "${PG_CONFIG:-}" ]; then :
		elif ! find_pg; then
			MISSING="postgresql-NN postgresql-server-dev-NN"
			[ -z "$no_install" ] || die "there is no PostgreSQL server with its development files"
			apt_update
			v_=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1)
			[ -n "$v_" ] || die "no package postgresql-NN found; set PG_CONFIG"
			need_packages "postgresql-$v_" "postgresql-server-dev-$v_"
			find_pg || die "no usable PostgreSQL after installing postgresql-$v_; set PG_CONFIG"
		fi
	else
		for t_ in cc make gzip perl; do
			have $t_ || die "$t_ is missing, and this is no Debian where the script could install it"
		done
		[ -n "${PG_CONFIG:-}" ] || find_pg || die "PostgreSQL and its development files are missing; set PG_CONFIG"
	fi
	c_=$(command -v "$PG_CONFIG") || die "PG_CONFIG=$PG_CONFIG: no such program"
	PG_CONFIG=$c_
	usable_pg "$PG_CONFIG" || die "$PG_CONFIG: that PostgreSQL lacks its server or its development files"
	BIN=$ROOT$("$PG_CONFIG" --bindir)
	export PG_CONFIG
	PG_VERSION=$(version_of "$PG_CONFIG")
	[ "$PG_VERSION" -ge 15 ] || die "PostgreSQL $PG_VERSION is too old: 15 or newer is needed"
}

# ------------------------------------------------------- several versions

VERSIONS='15 16 17 18'

# version_of PG_CONFIG: its major version
version_of() { "$1" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'; }

# pg_of_version VERSION: sets PG_CONFIG to a PostgreSQL of that version: Debian's, the one in
# PATH, or for 16, of which no Debian has packages, the one in a Python package.
# Returns: false if there is none; then WHY says why.
pg_of_version() {
	WHY="not installed"
	for c_ in "/usr/lib/postgresql/$1/bin/pg_config" "$(command -v pg_config)"; do
		[ -x "$c_" ] && [ "$(version_of "$c_")" = "$1" ] || continue
		usable_pg "$c_" && { PG_CONFIG=$c_; return 0; }
		WHY="$c_: without server or development files"
	done
	[ "$1" = 16 ] && get_pgserver
}

# The Python package pgserver consists of PostgreSQL 16.2 with headers, PGXS and the test
# drivers; without ICU, OpenSSL and contrib.  It is unpacked below $WORK, and nothing of it is
# installed.  The files are the same for every Python, so the name of one is given that has them.
get_pgserver() {
	d_=$WORK/pgserver
	PG_CONFIG=$d_/pgserver/pginstall/bin/pg_config
	[ ! -x "$PG_CONFIG" ] || return 0
	WHY="the package pgserver is for Linux on x86-64"
	[ "$(uname -sm)" = 'Linux x86_64' ] || return 1
	pip_='python3 -m pip'
	if ! $pip_ --version >/dev/null 2>&1; then
		WHY="Python's pip is missing, and apt-get cannot install it"
		have dpkg-query || return 1
		(need_packages python3-venv) && python3 -m venv "$WORK/venv" >"$WORK/log/venv" 2>&1 || return 1
		pip_="$WORK/venv/bin/pip"
	fi
	$pip_ install --no-deps --only-binary=:all: --python-version 3.11 --implementation cp --platform manylinux2014_x86_64 \
		--no-compile --no-cache-dir --target "$d_" pgserver==0.1.4 >"$WORK/log/pip" 2>&1 && chmod -R a+rX "$d_" ||
		{ WHY="pip cannot fetch the package pgserver: $(grep -m 1 -i error "$WORK/log/pip")"; rm -rf "$d_"; return 1; }
	WHY="the package pgserver has no usable PostgreSQL 16"
	usable_pg "$PG_CONFIG" && [ "$(version_of "$PG_CONFIG")" = 16 ]
}

# ------------------------------------------------------------ work directory

start_work() {
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	t_=${TMPDIR:-/tmp}
	[ ${#t_} -lt 60 ] && [ -d "$t_" ] && [ -w "$t_" ] || t_=/tmp	# a socket's path has 107 bytes at most
	WORK=$(mktemp -d "$t_/widetable.XXXXXX") || exit 1
	chmod 755 "$WORK"
	mkdir "$WORK/log"
	name_places
}

name_places() {
	SRC=$WORK/src ROOT=$WORK/root PGDATA=$WORK/data SOCKET=$WORK/s
	# the tests need no HOME, and an ordinary user must not read root's
	HOME=$WORK; export HOME
	PSQLRC=/dev/null PSQL_HISTORY=/dev/null; export PSQLRC PSQL_HISTORY
}

cleanup() {
	rc_=$?
	clean_up
	exit $rc_
}

clean_up() {
	trap '' HUP INT TERM
	trap - EXIT
	[ -z "$SERVER_UP" ] || stop_server immediate
	[ -n "$WORK" ] || return 0
	kill_rest
	if [ -n "${KEEP:-}" ]; then say "left in place: $WORK"
	else cd / && rm -rf "$WORK"
	fi
}

# kills every process that runs a program below $WORK
kill_rest() {
	for p_ in /proc/[0-9]*; do
		case $(readlink "$p_/exe" 2>/dev/null) in "$WORK"/*) kill -9 "${p_#/proc/}" 2>/dev/null ;; esac
	done
}

# ------------------------------------------------------------------- build

# build [MAKE ARGUMENT...]: copies the sources to $SRC, builds them there and installs
# the extension into the private copy of PostgreSQL.  Root does it as the user that
# the server runs as.
build() {
	find_user
	mkdir "$SRC" || exit 1
	private_postgres
	[ -z "$AS" ] || chown -Rh "$AS" "$SRC" "$ROOT"
	copy_sources || exit 1
	compile "$@" && install_extension
}

# copy_sources: makes $SRC equal to the checkout.  Copies the files whose checksum
# differs from that of the last copy, with the present time, so that make sees them
# as new, and lists them in $WORK/changed.  Removes the files that the checkout no
# longer has.  Objects are neither copied nor removed.
copy_sources() {
	(cd "$TOP" && find Makefile widetable.control bin program engine hbase fdw sql expected test examples/monitoring examples/many_servers examples/hbase README.md -type f \
		! -name '*.[ado]' ! -name '*.so' ! -name '*.bc' ! -path 'test/engine/build*' ! -path program/widetable_check -exec cksum {} + | sort) >"$WORK/sources.new" || return 1
	[ -f "$WORK/sources" ] || : >"$WORK/sources"
	comm -13 "$WORK/sources" "$WORK/sources.new" | cut -d' ' -f3- >"$WORK/changed"
	cut -d' ' -f3- "$WORK/sources.new" | sort >"$WORK/names.new"
	cut -d' ' -f3- "$WORK/sources" | sort | comm -23 - "$WORK/names.new" >"$WORK/gone"
	(cd "$TOP" && tar -cf - -T "$WORK/changed") | as_pg tar -C "$SRC" -xmf - --no-same-owner --no-same-permissions || return 1
	if [ -s "$WORK/gone" ]; then
		(cd "$SRC" && as_pg xargs rm -f -- widetable.so test/engine/build*/libwide.a) <"$WORK/gone" || return 1
	fi
	mv "$WORK/sources.new" "$WORK/sources"
}

# with_llvm=no: bitcode serves inlining of SQL functions, and there is nothing to inline
compile() {
	as_pg make -C "$SRC" -j"$(nproc 2>/dev/null || echo 2)" PG_CONFIG="$PG_CONFIG" with_llvm=no "$@" >"$WORK/log/make" 2>&1 ||
		{ grep -E -A3 '(error|undefined reference)' "$WORK/log/make" | head -n 40 >&2; tail -n 5 "$WORK/log/make" >&2; return 1; }
}

install_extension() {
	as_pg make -C "$SRC" PG_CONFIG="$PG_CONFIG" with_llvm=no DESTDIR="$ROOT" install >"$WORK/log/install" 2>&1 ||
		{ tail -n 20 "$WORK/log/install" >&2; return 1; }
}

private_postgres() {
	b_=$("$PG_CONFIG" --bindir) l_=$("$PG_CONFIG" --pkglibdir) s_=$("$PG_CONFIG" --sharedir)
	mkdir -p "$BIN" "$ROOT$l_" "$ROOT$s_/extension"
	for f_ in "$b_"/*; do cp "$f_" "$BIN/"; done
	for f_ in "$l_"/*; do
		case ${f_##*/} in pgxs|bitcode|widetable*) ;; *) ln -s "$f_" "$ROOT$l_/" ;; esac
	done
	for f_ in "$s_"/*; do [ "${f_##*/}" = extension ] || ln -s "$f_" "$ROOT$s_/"; done
	for f_ in "$s_"/extension/*; do
		case ${f_##*/} in widetable*) ;; *) ln -s "$f_" "$ROOT$s_/extension/" ;; esac
	done
	# the programs of a Python package find libpq relative to themselves
	for f_ in "$b_"/../../../*.libs; do [ ! -d "$f_" ] || ln -s "$(cd "$f_" && pwd)" "$BIN/../../../"; done
}

# ----------------------------------------------------------------- cluster

# sets AS, the user for server, build and tests: root uses postgres (or nobody), any
# other user itself (empty)
find_user() {
	AS=
	if [ "$(id -u)" = 0 ]; then
		for u_ in postgres nobody; do
			id "$u_" >/dev/null 2>&1 && { AS=$u_; break; }
		done
		[ -n "$AS" ] || die "no user postgres or nobody to run the server as"
	fi
}

# as_pg COMMAND...: runs it as the user that owns the cluster
as_pg() {
	if [ -z "$AS" ]; then "$@"
	elif have setpriv; then setpriv --reuid="$AS" --regid="$(id -g "$AS")" --clear-groups "$@"
	else runuser -u "$AS" -- "$@"
	fi
}

# start_cluster [LINE...]: creates and starts a cluster with these lines of configuration
start_cluster() {
	find_user
	mkdir "$PGDATA" "$SOCKET"
	[ -z "$AS" ] || chown "$AS" "$PGDATA" "$SOCKET"
	chmod 700 "$PGDATA"
	(cd "$PGDATA" && as_pg "$BIN/initdb" -D "$PGDATA" -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync \
		>"$WORK/log/initdb" 2>&1) || { cat "$WORK/log/initdb" >&2; die "initdb failed"; }
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$SOCKET'"
		echo "max_connections = 40"
		echo "shared_buffers = 32MB"
		echo "max_prepared_transactions = 20"
		echo "log_line_prefix = '%m [%p] %b %a '"
		for l_ in "$@"; do printf '%s\n' "$l_"; done
	} >>"$PGDATA/postgresql.conf"
	use_cluster
	start_server || die "the server did not start"
}

# sets the environment by which clients and tests find the server
use_cluster() {
	PSQL=$BIN/psql PGHOST=$SOCKET PGUSER=postgres PGDATABASE=postgres
	export PSQL BIN SOCKET PGDATA PGHOST PGUSER PGDATABASE
}

start_server() {
	SERVER_UP=1
	# the server must not inherit open files, nor the dev cluster's lock (9)
	(cd "$PGDATA" && as_pg "$BIN/pg_ctl" -D "$PGDATA" -l "$PGDATA/server.log" -w -t 120 start >"$WORK/log/pg_ctl" 2>&1 </dev/null 9>&-) || {
		cat "$WORK/log/pg_ctl" >&2
		[ ! -f "$PGDATA/server.log" ] || tail -n 20 "$PGDATA/server.log" >&2
		return 1
	}
}

stop_server() {
	SERVER_UP=
	[ -f "$PGDATA/postmaster.pid" ] || return 0
	(cd "$PGDATA" && as_pg "$BIN/pg_ctl" -D "$PGDATA" -m "${1:-fast}" -w -t 60 stop >/dev/null 2>&1) || :
}

# -------------------------------------------------------- the dev cluster

# A build and a cluster that stay between runs (./test/dev).  $DEV has the same
# files as $WORK in a test run.  $DEV/dev marks the directory and stores PG_CONFIG
# and the arguments of make; $DEV/ready exists once the cluster is complete.
DEV=${WIDETABLE_DEV:-$TOP/.dev}

# returns true if there is a dev cluster that this user can use, running or not
dev_there() { [ -f "$DEV/dev" ] && [ -f "$DEV/ready" ] && [ -w "$DEV" ]; }

# returns true if the dev cluster's server runs
dev_runs() {
	p_=$(head -n 1 "$DEV/data/postmaster.pid" 2>/dev/null) && [ -n "$p_" ] || return 1
	case $(readlink "/proc/$p_/exe") in "$DEV"/*) return 0 ;; esac
	return 1
}

# makes $DEV the directory of this run; waits until no other run uses it
enter_dev() {
	DEV=$(cd "$DEV" && pwd -P) || exit 1
	WORK=$DEV
	name_places
	[ ! -f "$DEV/dev" ] || . "$DEV/dev"
	if have flock; then
		exec 9>"$DEV/lock"
		flock -n 9 || { say "another run uses $DEV: waiting for it"; flock 9; }
	fi
	cd "$DEV" || exit 1
	[ -z "${PG_CONFIG:-}" ] || dev_settings
}

dev_settings() {
	BIN=$ROOT$("$PG_CONFIG" --bindir)
	PG_VERSION=$(version_of "$PG_CONFIG")
	export PG_CONFIG
	find_user
	use_cluster
}

# brings build, installation and server up to date with the checkout
update_dev() {
	copy_sources || return 1
	# shellcheck disable=SC2086
	compile $MAKE_ARGS || return 1
	if ! cmp -s "$SRC/widetable.so" "$ROOT$("$PG_CONFIG" --pkglibdir)/widetable.so"; then
		# a session with the new library must not attach to shared memory of the old one
		stop_server fast
		echo widetable.so >>"$WORK/changed"
	fi
	if [ -s "$WORK/changed" ] && ! install_extension; then
		rm -f "$WORK/sources"		# so that the next run copies and installs everything
		return 1
	fi
	dev_runs || start_server
}

# --------------------------------------------------------- parts and results

PASSED=0
FAILED=0

# part NAME COMMAND...: runs the command, shows its output, counts its results:
# TAP lines ("ok", "not ok"; cmocka, pg_regress 16 and newer, our scripts) and the
# lines of older pg_regress ("test x ... ok").  A command that fails without a
# failed line counts as one failure, and so does a command without any result.
# Returns true if nothing failed.
part() {
	n_=$1; shift
	log_=$WORK/log/$n_
	say "$n_"
	{ "$@" 2>&1 </dev/null; echo $? >"$WORK/rc"; } | tee "$log_" | show_part
	rc_=$(cat "$WORK/rc")
	ok_=$(count_ok "$log_")
	bad_=$(count_bad "$log_")
	[ "$bad_" != 0 ] || [ "$rc_" = 0 ] || { bad_=1; echo "not ok - $n_: exit status $rc_"; tail -n 30 "$log_"; }
	[ "$ok_$bad_" != 00 ] || { bad_=1; echo "not ok - $n_: no results"; }
	PASSED=$((PASSED + ok_))
	FAILED=$((FAILED + bad_))
	say "$n_: $ok_ passed, $bad_ failed"
	[ "$bad_" = 0 ]
}

show_part() {
	if [ -n "${VERBOSE:-}" ]; then cat
	else grep -E --line-buffered "^(not ok|# ${TESTS:+|ok |test }|test .*FAILED|.*(Error|error:|FATAL|PANIC))" || :
	fi
}

count_ok() { grep -cE '^(ok( |$)|(test|     ) .*\.\.\. +ok )' "$1" || :; }
count_bad() { grep -cE '^(not ok( |$)|(test|     ) .*\.\.\. +FAILED)' "$1" || :; }
