# kerberos: foreign tables of a cluster that demands authentication by Kerberos: tickets and keys of the server's and
# of users' own, who may use which, tickets that are missing, wrong or expired, protection of messages.
#
# HBASE_NODES: localhost:port of the master and the region server of a cluster that was started with --kerberos, and
# offers all kinds of protection.  HBASE_KDC: the command that runs its realm (./kdc); KDC_DATA: where that is.
. "${0%/*}/../tap/common.sh"

: "${HBASE_NODES:?}" "${HBASE_KDC:?}" "${KDC_DATA:?}"
VERBOSITY=verbose
REALM=WIDETABLE.TEST
# x SQL...: as q, without the lines about the source.  as ROLE SQL...
x() { q "$@" | grep -v '^LOCATION'; }
as() { (PGUSER=$1; export PGUSER; shift; x "$@"); }
tickets() { kinit -k -t "$KDC_DATA/$1.keytab" -c "$2" "$1"; }

for p in app own stale; do $HBASE_KDC add $p; done
$HBASE_KDC add brief '8 seconds'
# the tickets of the server process
KRB5CCNAME=FILE:$T/tickets KRB5_CONFIG=$KDC_DATA/krb5.conf
export KRB5CCNAME KRB5_CONFIG
new_cluster 'log_min_messages = warning'
kerberos="engine 'hbase', nodes '$HBASE_NODES', timeout '30s', authentication 'kerberos'"
is "$(x 'CREATE EXTENSION widetable' "CREATE SERVER hb FOREIGN DATA WRAPPER widetable OPTIONS ($kerberos)" \
	"CREATE SERVER plain FOREIGN DATA WRAPPER widetable OPTIONS (engine 'hbase', nodes '$HBASE_NODES', timeout '30s')")" '' 'servers'
table() { echo "CREATE FOREIGN TABLE $1 (k text, v text, n bigint OPTIONS (encoding 'counter')) SERVER $2 OPTIONS (key 'k', table_name 'kerberos_t', split_at '[\"m\"]')"; }

# ------------------------------------------------- the tickets of the server

out=$(x "$(table t hb)")
like "$out" '^ERROR:  28000: .*there are no credentials of Kerberos' 'no ticket: an error'
like "$out" '^HINT: .*tickets' '... with a hint'
tickets app "$KRB5CCNAME"
is "$(x "$(table t hb)" "INSERT INTO t (k, v) SELECT 'k' || i, 'v' FROM generate_series(1, 20) i" "INSERT INTO t (k, v) VALUES ('z', 'last')" \
	"SELECT count(*), max(v) FROM t" "SELECT widetable.increment('t', 'z', 'n', 7)" "SELECT widetable.increment('t', 'z', 'n', 7)" \
	"DELETE FROM t WHERE k = 'k3'" "SELECT count(*), sum(n) FROM t" 'SELECT remote_user FROM widetable.pg_stat_widetable_remote')" \
	"21|v
7
14
20|14
app@$REALM" 'a superuser uses the tickets of the server: DDL, changes, increments, reads'
is "$(x 'SET parallel_setup_cost = 0' 'SET parallel_tuple_cost = 0' 'SET min_parallel_table_scan_size = 0' 'SELECT count(*) FROM t')" 20 'a scan that may be parallel'
is "$(x 'CREATE SCHEMA i' 'IMPORT FOREIGN SCHEMA "default" LIMIT TO (kerberos_t) FROM SERVER hb INTO i' 'SELECT count(*) FROM i.kerberos_t')" 20 'IMPORT FOREIGN SCHEMA'

# ------------------------------------------------------- who may use what

x 'CREATE ROLE ann LOGIN' 'CREATE ROLE bob LOGIN' 'GRANT USAGE ON FOREIGN SERVER hb TO ann' 'GRANT SELECT, INSERT ON t TO ann, bob'
out=$(as ann 'SELECT count(*) FROM t')
like "$out" '^ERROR:  42501: role "ann" has no credentials for server "hb"' 'other roles may not use the tickets of the server'
like "$out" '^HINT: .*server_credentials' '... with a hint'
for o in "server_credentials 'true'" "keytab '$KDC_DATA/own.keytab'" "credential_cache 'FILE:$T/tickets'" "principal 'app'"; do
	like "$(as ann "CREATE USER MAPPING FOR ann SERVER hb OPTIONS ($o)")" '^ERROR:  42501: only superusers make or change user mappings' "only superusers set ${o%% *}"
done
x "CREATE USER MAPPING FOR ann SERVER hb OPTIONS (keytab '$KDC_DATA/own.keytab')" "CREATE USER MAPPING FOR bob SERVER hb OPTIONS (server_credentials 'true')"
who='SELECT remote_user FROM widetable.pg_stat_widetable_remote'
x 'GRANT pg_monitor TO ann, bob'
is "$(as ann 'SELECT count(*) FROM t' "$who")" "20
own@$REALM" 'a keytab of a user mapping'
is "$(as bob 'SELECT count(*) FROM t' "$who")" "20
app@$REALM" 'the tickets of the server, which a superuser has given'
like "$(as ann "ALTER USER MAPPING FOR ann SERVER hb OPTIONS (ADD user 'x')")" '^ERROR:  42501' 'the user does not change that mapping'
is "$(x 'SET ROLE ann' 'SELECT count(*) FROM t' 'RESET ROLE' 'SELECT count(*) FROM t' "$who ORDER BY 1")" "20
20
app@$REALM
own@$REALM" 'roles of a session have their own tickets'
x 'ALTER SERVER hb OWNER TO ann' 'GRANT USAGE ON FOREIGN DATA WRAPPER widetable TO ann' >/dev/null
like "$(as ann "ALTER SERVER hb OPTIONS (SET nodes 'localhost:1')")" "^ERROR:  42501: only superusers make or change servers with authentication 'kerberos'" \
	'the owner of a server does not show the credentials to another one'
like "$(as ann "CREATE SERVER h2 FOREIGN DATA WRAPPER widetable OPTIONS ($kerberos)")" '^ERROR:  42501' '... nor makes such a server'
like "$(x "CREATE USER MAPPING FOR postgres SERVER hb OPTIONS (user 'root')" 'SELECT * FROM t')" '^ERROR:  HV00D: option "user" of a user mapping is not for server "hb"' 'no other name than the ticket'"'"'s'
x 'DROP USER MAPPING FOR postgres SERVER hb'
is "$(x 'CREATE ROLE boss SUPERUSER LOGIN' 'SET ROLE boss' 'SELECT count(*) FROM t' 'RESET ROLE' 'ALTER ROLE boss NOSUPERUSER' 'GRANT SELECT ON t TO boss' \
	'SET ROLE boss' 'SELECT count(*) FROM t' | grep -v HINT)" '20
ERROR:  42501: role "boss" has no credentials for server "hb"' 'who is no superuser any more has no credentials any more'
for o in "keytab 'own.keytab'" "credential_cache 'own'" "credential_cache 'MEMORY:x'" "server_credentials 'perhaps'"; do
	like "$(x "CREATE USER MAPPING FOR postgres SERVER hb OPTIONS ($o)")" '^ERROR:  HV024' "a wrong value: $o"
done
for o in "authentication 'none'" "kerberos_service 'hbase/x'" "rpc_protection 'some'"; do
	like "$(x "CREATE SERVER w FOREIGN DATA WRAPPER widetable OPTIONS ($o)")" '^ERROR:  HV024' "a wrong value: $o"
done

# ------------------------------------------ missing, wrong and expired tickets

# mapping OPTION...: of ann
mapping() { x 'DROP USER MAPPING IF EXISTS FOR ann SERVER hb' "CREATE USER MAPPING FOR ann SERVER hb OPTIONS ($1)"; }
read_t() { as ann 'SELECT count(*) FROM t'; }
mapping "keytab '$T/nothing'"
like "$(read_t)" '^ERROR:  28000: .*the keytab .* cannot be read: No such file' 'a keytab that is not there'
mapping "keytab '$KDC_DATA/own.keytab', principal 'stale'"
like "$(read_t)" '^ERROR:  28000' 'a principal that the keytab does not have'
mapping "keytab '$KDC_DATA/stale.keytab'"
is "$(read_t)" 20 'a keytab'
$HBASE_KDC rekey stale
like "$(read_t)" '^ERROR:  28000' 'a keytab whose key is not valid any more'
mapping "credential_cache 'FILE:$T/ann'"
like "$(read_t)" '^ERROR:  28000: .*there are no credentials of Kerberos' 'a cache that is not there'
tickets brief "FILE:$T/ann"
is "$(read_t)" 20 'a cache of tickets'
sleep 9
like "$(read_t)" '^ERROR:  28000: .*[Ee]xpired' 'its ticket has expired'
tickets own "FILE:$T/ann"
is "$(read_t)" 20 'it has been renewed'
mapping "keytab '$KDC_DATA/brief.keytab'"
is "$(as ann 'SELECT count(*) FROM t' '\! sleep 9' 'SELECT count(*) FROM t' 'SELECT widetable.table_size($$t$$) >= 0')" '20
20
t' 'a session outlives its ticket; it gets another one for a new connection'
x "ALTER SERVER hb OPTIONS (ADD kerberos_service 'nosuch')"
like "$(x 'SELECT * FROM t')" '^ERROR:  28000: .*nosuch/localhost@.* not found in Kerberos database' 'a service that does not exist'
x 'ALTER SERVER hb OPTIONS (DROP kerberos_service)'
out=$(x "$(table p plain)")
like "$out" '^ERROR:  28000: .*Authentication is required' 'a server without authentication: an error'
like "$out" "^HINT: .*authentication 'kerberos'" '... with a hint'

# ------------------------------------------------------------------ protection

for p in authentication integrity privacy; do
	x "ALTER SERVER hb OPTIONS (ADD rpc_protection '$p')"
	is "$(x "INSERT INTO t (k, v) SELECT 'big' || i, repeat('x', 200000) FROM generate_series(1, 30) i" \
		"SELECT count(*), sum(length(v)) FROM t WHERE k LIKE 'big%'" "DELETE FROM t WHERE k LIKE 'big%'" 'SELECT count(*) FROM t')" '30|6000000
20' "messages of some MB: $p"
	x 'ALTER SERVER hb OPTIONS (DROP rpc_protection)'
done

# -------------------------------------------------------- the KDC is not there

# A KDC that does not answer is waited for by the library, some 20 seconds; one that is down is not.
$HBASE_KDC stop
is "$(x 'SELECT count(*) FROM t')" 20 'tickets that are there suffice while the KDC is down'
mapping "keytab '$KDC_DATA/own.keytab'"
like "$(read_t)" '^ERROR:  28000: .*Cannot contact any KDC' 'without them: an error'
$HBASE_KDC start
is "$(read_t)" 20 'the KDC is there again'
is "$(x "SELECT widetable.drop_remote('t')")" '' 'the table is dropped'
# as it is in a session whose client has delegated its tickets
stop
KRB5CCNAME=MEMORY:
start
like "$(x 'SELECT * FROM t')" '^ERROR:  42501: the credentials of the server process are not there' 'delegated tickets are not taken for those of the server'
finish
