# held: a session that has a file open keeps no disk when the file has gone.
. "${0%/*}/common.sh"
new_cluster
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" "SELECT widetable.flush()" >/dev/null
session reader 3
echo "SELECT 'pid', pg_backend_pid(), count(v) FROM t;" >&3
wait_output reader '^pid'
pid=$(sed -n 's/^pid|\([0-9]*\)|2000$/\1/p' "$T/reader.out")
like "$pid" '^[0-9]+$' "a session has read the table"
# how many files that are gone it has open, and their bytes
held() {
	n=0 bytes=0
	for f in /proc/"$pid"/fd/*; do
		case $(readlink "$f") in */widetable/*.sst" (deleted)")
			n=$((n + 1)) bytes=$((bytes + $(stat -L -c %s "$f"))) ;;
		esac
	done
}
q "UPDATE t SET v = 'new'" "SELECT widetable.flush()" "SELECT widetable.compact()" >/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do held; [ $n -gt 0 ] && break; sleep 0.5; done
ok "$([ $n -gt 0 ]; echo $?)" "files that it has open are gone"
sleep 0.2; held
is "$bytes" 0 "and have no bytes any more"
echo "SELECT 'again', count(v) FROM t WHERE v = 'new';" >&3
exec 3>&-
wait
like "$(tail -n 1 "$T/reader.out")" '^again.2000$' "the session reads on"
finish
