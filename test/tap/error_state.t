# error_state: an error that the extension catches leaves the process as it was: interrupts stay held
# off as often as before.
. "${0%/*}/common.sh"
"${CC:-cc}" -shared -fPIC -O1 -I"$("${PG_CONFIG:-pg_config}" --includedir-server)" -o "$T/error_state.so" "${0%/*}/../host/error_state/error_state.c"
ok $? "the library of the test builds"
new_cluster "shared_preload_libraries = 'widetable'"
q 'CREATE EXTENSION widetable' "$TABLE" "$FILL" "CREATE FUNCTION held_after_flush() RETURNS int AS '$T/error_state' LANGUAGE C" >/dev/null
is "$(q 'SELECT 1 FROM t LIMIT 1' 'SELECT held_after_flush()' 'SELECT held_after_flush()' "SET statement_timeout = 100" 'SELECT pg_sleep(20)')" \
	"1
1
1
ERROR:  canceling statement due to statement timeout" "a failed flush of WAL keeps interrupts held off, and the session accepts cancellations afterwards"
like "$(grep -c 'flush request .* is not satisfied\|request to flush past end' "$T/server.log")" '[1-9]' "and there was a failure"
verify_store
finish
