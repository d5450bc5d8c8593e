# pg_upgrade.sh: helpers of the tap scripts that call pg_upgrade, from the cluster of common.sh.
OLD=$T/data

# cluster DIR BIN: an empty cluster for pg_upgrade, with checksums if $OLD has them: the default depends on the version
cluster() {
	options=--data-checksums
	if "$BIN/pg_controldata" -D "$OLD" | grep -q 'checksum version: *0$'; then
		options=; "$2/initdb" --help | grep -q no-data-checksums && options=--no-data-checksums
	fi
	"$2/initdb" -D "$1" -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 --no-sync $options >"$T/initdb.log" 2>&1 || { cat "$T/initdb.log"; exit 1; }
	grep -vE '^(unix_socket_directories|port)' "$OLD/postgresql.conf" | sed -n '/^listen_addresses/,$p' >>"$1/postgresql.conf"
	echo "unix_socket_directories = '$T/s'" >>"$1/postgresql.conf"
}
# upgrade NEWDIR NEWBIN OPTION...: pg_upgrade from $OLD, or a copy of it
upgrade() {
	from=$1 to=$2 newbin=$3; shift 3
	(cd "$T" && "$newbin/pg_upgrade" -b "$BIN" -B "$newbin" -d "$from" -D "$to" -U postgres -s "$T" -N "$@") >"$T/upgrade.log" 2>&1 || {
		tail -n 30 "$T/upgrade.log" | sed "s,^,# ,"; find "$to/pg_upgrade_output.d" -name '*.log' -exec tail -n 5 {} + 2>/dev/null | sed "s,^,# ,"; return 1; }
}
# Late minor releases keep versions of attributes, which pg_dump of an earlier release takes for
# options: strip_versions DIR BIN removes them from what pg_upgrade is to bring to such a release.
strip_versions() {
	grep -q pg_attver "$2/pg_dump" && return
	for d in postgres template1 second; do
		echo "UPDATE pg_attribute SET attoptions = NULL WHERE attoptions::text LIKE '%pg_attver%'" | "$BIN/postgres" --single -D "$1" "$d" >/dev/null 2>&1
	done
}
run() { "$2/pg_ctl" -D "$1" -l "$1.log" -w -t 60 start >"$T/ctl.log" 2>&1 </dev/null || { tail -n 20 "$1.log"; return 1; }; }
halt() { "$2/pg_ctl" -D "$1" -m "${3:-fast}" -w -t 60 stop >/dev/null 2>&1; }
