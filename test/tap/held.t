# held: a removed file takes no disk space, even if a session has it open.
. "${0%/*}/common.sh"
new_cluster
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" "SELECT widetable.flush()" >/dev/null
session reader 3
echo "SELECT 'pid', pg_backend_pid(), count(v) FROM t;" >&3
wait_output reader '^pid'
pid=$(sed -n 's/^pid|\([0-9]*\)|2000$/\1/p' "$T/reader.out")
like "$pid" '^[0-9]+$' "a session has read the table"
# sets n and bytes: the removed files that the session has open, and their size
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
ok "$([ $n -gt 0 ]; echo $?)" "compaction removes files that the session has open"
sleep 0.2; held
is "$bytes" 0 "the removed files have size 0"
echo "SELECT 'again', count(v) FROM t WHERE v = 'new';" >&3
exec 3>&-
wait
like "$(tail -n 1 "$T/reader.out")" '^again.2000$' "the session can read the table again"
finish
