\echo Use "CREATE EXTENSION widetable" to load this file. \quit

-- ------------------------------------------------------------ the wrapper

CREATE FUNCTION @extschema@.handler() RETURNS fdw_handler
    LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'wt_handler';
CREATE FUNCTION @extschema@.validator(text[], oid) RETURNS void
    LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'wt_validator';

CREATE FOREIGN DATA WRAPPER widetable
    HANDLER @extschema@.handler VALIDATOR @extschema@.validator;
COMMENT ON FOREIGN DATA WRAPPER widetable IS 'wide tables: row key, family, qualifier, timestamp, value';
CREATE SERVER widetable FOREIGN DATA WRAPPER widetable;
COMMENT ON SERVER widetable IS 'the store of this cluster';
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;
GRANT USAGE ON FOREIGN SERVER widetable TO PUBLIC;

-- ------------------------------------- foreign tables make engine tables

CREATE FUNCTION @extschema@.ddl_command_end() RETURNS event_trigger
    LANGUAGE C AS 'MODULE_PATHNAME', 'wt_ddl_command_end';
CREATE FUNCTION @extschema@.sql_drop() RETURNS event_trigger
    LANGUAGE C AS 'MODULE_PATHNAME', 'wt_sql_drop';
REVOKE ALL ON FUNCTION @extschema@.ddl_command_end() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.sql_drop() FROM PUBLIC;
CREATE EVENT TRIGGER widetable_ddl_command_end ON ddl_command_end
    EXECUTE FUNCTION @extschema@.ddl_command_end();
CREATE EVENT TRIGGER widetable_sql_drop ON sql_drop
    EXECUTE FUNCTION @extschema@.sql_drop();
-- commands that may drop the trigger above, which is not fired then: this one loads the library, which has a hook
CREATE FUNCTION @extschema@.ddl_command_start() RETURNS event_trigger
    LANGUAGE C AS 'MODULE_PATHNAME', 'wt_ddl_command_start';
REVOKE ALL ON FUNCTION @extschema@.ddl_command_start() FROM PUBLIC;
CREATE EVENT TRIGGER widetable_ddl_command_start ON ddl_command_start
    WHEN TAG IN ('DROP EXTENSION', 'DROP SCHEMA', 'DROP OWNED')
    EXECUTE FUNCTION @extschema@.ddl_command_start();

-- ------------------------------------------------------- cells of one row

CREATE FUNCTION @extschema@.increment(rel regclass, key "any", col text, delta bigint DEFAULT 1)
    RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_increment';
CREATE FUNCTION @extschema@.increment(rel regclass, key "any", deltas jsonb)
    RETURNS jsonb LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_increment_many';
CREATE FUNCTION @extschema@.append(rel regclass, key "any", col text, value text)
    RETURNS text LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_append';
CREATE FUNCTION @extschema@.append(rel regclass, key "any", col text, value bytea)
    RETURNS bytea LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_append';
CREATE FUNCTION @extschema@.put(rel regclass, key "any", col text, value "any", ts bigint DEFAULT NULL, ttl interval DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_put';
CREATE FUNCTION @extschema@.put(rel regclass, key "any", cells jsonb)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_put_many';
CREATE FUNCTION @extschema@.delete_row(rel regclass, key "any")
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_row';
CREATE FUNCTION @extschema@.delete_family(rel regclass, key "any", family text, ts bigint DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_family';
CREATE FUNCTION @extschema@.delete_column(rel regclass, key "any", col text, ts bigint DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_column';
CREATE FUNCTION @extschema@.delete_version(rel regclass, key "any", col text, ts bigint DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_version';
CREATE FUNCTION @extschema@.delete_family_version(rel regclass, key "any", family text, ts bigint)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_family_version';
CREATE FUNCTION @extschema@.check_and_mutate(rel regclass, key "any", col text, op text, expected "any",
                                             mutations jsonb, otherwise jsonb DEFAULT NULL)
    RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_check_and_mutate';
CREATE FUNCTION @extschema@.get(rel regclass, key "any")
    RETURNS jsonb LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_get';
CREATE FUNCTION @extschema@.cells(rel regclass, key "any", versions int DEFAULT 1,
                                  since bigint DEFAULT NULL, until bigint DEFAULT NULL,
                                  OUT family text, OUT qualifier text, OUT ts bigint, OUT value bytea)
    RETURNS SETOF record LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_cells';
CREATE FUNCTION @extschema@.raw_cells(rel regclass, key "any",
                                      OUT family text, OUT qualifier text, OUT ts bigint, OUT seq pg_lsn,
                                      OUT kind text, OUT value bytea)
    RETURNS SETOF record LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_raw_cells';

-- The same with the key as text, for keys given as an untyped literal or
-- parameter: "any" alone would leave the type of a parameter undetermined.

CREATE FUNCTION @extschema@.increment(rel regclass, key text, col text, delta bigint DEFAULT 1)
    RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_increment';
CREATE FUNCTION @extschema@.increment(rel regclass, key text, deltas jsonb)
    RETURNS jsonb LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_increment_many';
CREATE FUNCTION @extschema@.append(rel regclass, key text, col text, value text)
    RETURNS text LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_append';
CREATE FUNCTION @extschema@.append(rel regclass, key text, col text, value bytea)
    RETURNS bytea LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_append';
CREATE FUNCTION @extschema@.put(rel regclass, key text, col text, value "any", ts bigint DEFAULT NULL, ttl interval DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_put';
CREATE FUNCTION @extschema@.put(rel regclass, key text, cells jsonb)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_put_many';
CREATE FUNCTION @extschema@.delete_row(rel regclass, key text)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_row';
CREATE FUNCTION @extschema@.delete_family(rel regclass, key text, family text, ts bigint DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_family';
CREATE FUNCTION @extschema@.delete_column(rel regclass, key text, col text, ts bigint DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_column';
CREATE FUNCTION @extschema@.delete_version(rel regclass, key text, col text, ts bigint DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_version';
CREATE FUNCTION @extschema@.delete_family_version(rel regclass, key text, family text, ts bigint)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_delete_family_version';
CREATE FUNCTION @extschema@.check_and_mutate(rel regclass, key text, col text, op text, expected "any",
                                             mutations jsonb, otherwise jsonb DEFAULT NULL)
    RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_check_and_mutate';
CREATE FUNCTION @extschema@.get(rel regclass, key text)
    RETURNS jsonb LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_get';
CREATE FUNCTION @extschema@.cells(rel regclass, key text, versions int DEFAULT 1,
                                  since bigint DEFAULT NULL, until bigint DEFAULT NULL,
                                  OUT family text, OUT qualifier text, OUT ts bigint, OUT value bytea)
    RETURNS SETOF record LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_cells';
CREATE FUNCTION @extschema@.raw_cells(rel regclass, key text,
                                      OUT family text, OUT qualifier text, OUT ts bigint, OUT seq pg_lsn,
                                      OUT kind text, OUT value bytea)
    RETURNS SETOF record LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_raw_cells';

COMMENT ON FUNCTION @extschema@.increment(regclass, "any", text, bigint) IS
    'add to a counter, atomically and in the transaction; returns the new value';
COMMENT ON FUNCTION @extschema@.increment(regclass, "any", jsonb) IS
    'add to several counters of a row, all or nothing; returns the new values';
COMMENT ON FUNCTION @extschema@.append(regclass, "any", text, text) IS
    'append to a value, atomically and in the transaction; returns the new value';
COMMENT ON FUNCTION @extschema@.put(regclass, "any", text, "any", bigint, interval) IS
    'write one cell, optionally with its own timestamp and time to live';
COMMENT ON FUNCTION @extschema@.put(regclass, "any", jsonb) IS
    'write several cells of a row';
COMMENT ON FUNCTION @extschema@.delete_row(regclass, "any") IS
    'delete everything of a row';
COMMENT ON FUNCTION @extschema@.delete_family(regclass, "any", text, bigint) IS
    'delete the cells of a row in a family, up to a timestamp';
COMMENT ON FUNCTION @extschema@.delete_column(regclass, "any", text, bigint) IS
    'delete all versions of a cell, up to a timestamp';
COMMENT ON FUNCTION @extschema@.delete_version(regclass, "any", text, bigint) IS
    'delete one version of a cell, the newest by default';
COMMENT ON FUNCTION @extschema@.delete_family_version(regclass, "any", text, bigint) IS
    'delete the cells of a row in a family that have exactly this timestamp';
COMMENT ON FUNCTION @extschema@.check_and_mutate(regclass, "any", text, text, "any", jsonb, jsonb) IS
    'test a cell and change the row, atomically; true when the test held';
COMMENT ON FUNCTION @extschema@.get(regclass, "any") IS
    'a whole row as {"family": {"qualifier": value}}';
COMMENT ON FUNCTION @extschema@.cells(regclass, "any", integer, bigint, bigint) IS
    'the cells of a row with their versions';
COMMENT ON FUNCTION @extschema@.raw_cells(regclass, "any") IS
    'everything stored of a row, deletes included (owner only)';

-- -------------------------------------------------------------------- keys

CREATE FUNCTION @extschema@.encode_key(rel regclass, VARIADIC parts "any")
    RETURNS bytea LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_encode_key';
CREATE FUNCTION @extschema@.decode_key(rel regclass, key bytea)
    RETURNS jsonb LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_decode_key';
CREATE FUNCTION @extschema@.prefix_end(prefix bytea)
    RETURNS bytea LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_prefix_end';
CREATE FUNCTION @extschema@.reverse_time(at timestamptz)
    RETURNS bigint LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_reverse_time';
CREATE FUNCTION @extschema@.reverse_host(host text)
    RETURNS text LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_reverse_host';
CREATE FUNCTION @extschema@.salt(key bytea, buckets int)
    RETURNS int LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_salt';
CREATE FUNCTION @extschema@.quadkey(lat float8, lon float8, zoom int)
    RETURNS text LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_quadkey';
CREATE FUNCTION @extschema@.quadkey_pack(quadkey text, zoom int DEFAULT NULL)
    RETURNS bigint LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_quadkey_pack';
CREATE FUNCTION @extschema@.flake_id()
    RETURNS bytea LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'wt_sql_flake_id';

-- ---------------------------------------------------------- administration

CREATE FUNCTION @extschema@.flush(rel regclass DEFAULT NULL)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_flush';
CREATE FUNCTION @extschema@.compact(rel regclass DEFAULT NULL, major boolean DEFAULT true)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_compact';
CREATE FUNCTION @extschema@.verify(rel regclass DEFAULT NULL, OUT object text, OUT problem text)
    RETURNS SETOF record LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_verify';
CREATE FUNCTION @extschema@.copy_tables(database name)
    RETURNS int LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_copy_tables';
CREATE FUNCTION @extschema@.split_keys(rel regclass, n int)
    RETURNS SETOF bytea LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_split_keys';
CREATE FUNCTION @extschema@.table_size(rel regclass)
    RETURNS bigint LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_table_size';
CREATE FUNCTION @extschema@.plain_view(rel regclass, name name DEFAULT NULL)
    RETURNS regclass LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_plain_view';
COMMENT ON FUNCTION @extschema@.plain_view(regclass, name) IS
    'an ordinary view of the table, for programs that do not list foreign tables';

-- -------------------------------------------------------------- statistics

CREATE FUNCTION @extschema@.stat_store(
        OUT state text, OUT segment_bytes bigint, OUT processes int,
        OUT visible_lsn pg_lsn, OUT flushed_lsn pg_lsn, OUT restart_lsn pg_lsn,
        OUT memtable_bytes bigint, OUT memtable_limit bigint, OUT memtables_waiting bigint,
        OUT cache_bytes bigint, OUT cache_limit bigint, OUT cache_hits bigint, OUT cache_misses bigint,
        OUT tables int, OUT families int, OUT files bigint, OUT file_bytes bigint,
        OUT commits bigint, OUT cells_written bigint, OUT log_bytes bigint,
        OUT gets bigint, OUT scans bigint, OUT rows_read bigint, OUT cells_read bigint,
        OUT bloom_checks bigint, OUT bloom_skips bigint,
        OUT flushes bigint, OUT flush_bytes bigint,
        OUT compactions bigint, OUT compact_read_bytes bigint, OUT compact_write_bytes bigint,
        OUT files_deleted bigint, OUT stalls bigint, OUT stall_ms float8,
        OUT row_locks bigint, OUT row_lock_waits bigint, OUT spills bigint, OUT spilled_bytes bigint,
        OUT snapshots int, OUT oldest_snapshot pg_lsn, OUT pins int,
        OUT memtable_reserved bigint, OUT files_reserved bigint, OUT worker_pid int)
    RETURNS record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_store';
CREATE FUNCTION @extschema@.stat_families(
        OUT relid oid, OUT table_name text, OUT family text, OUT options jsonb, OUT files bigint,
        OUT level_files int[], OUT file_bytes bigint, OUT raw_bytes bigint, OUT cells bigint, OUT rows bigint,
        OUT tombstones bigint, OUT memtable_cells bigint)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_families';
CREATE FUNCTION @extschema@.stat_files(
        OUT relid oid, OUT table_name text, OUT family text, OUT file bigint, OUT level int, OUT file_bytes bigint,
        OUT raw_bytes bigint, OUT cells bigint, OUT rows bigint, OUT tombstones bigint,
        OUT min_key bytea, OUT max_key bytea, OUT min_ts bigint, OUT max_ts bigint, OUT min_seq pg_lsn, OUT max_seq pg_lsn)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_files';
CREATE FUNCTION @extschema@.stat_compactions(
        OUT relid oid, OUT table_name text, OUT family text, OUT kind text, OUT state text, OUT from_level int, OUT to_level int,
        OUT total_bytes bigint, OUT done_bytes bigint, OUT out_bytes bigint,
        OUT started timestamptz, OUT ended timestamptz)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_compactions';
CREATE FUNCTION @extschema@.stat_locks(
        OUT pid int, OUT datid oid, OUT relid oid, OUT table_name text, OUT key bytea, OUT key_bytes int, OUT bucket int,
        OUT tag bigint, OUT granted boolean, OUT holder int)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_locks';

CREATE VIEW @extschema@.pg_stat_widetable AS SELECT * FROM @extschema@.stat_store();
CREATE VIEW @extschema@.pg_stat_widetable_families AS
    SELECT f.relid::regclass AS relation, f.table_name, f.family, f.options, f.files, f.level_files, f.file_bytes, f.raw_bytes,
           f.cells, f.rows, f.tombstones, f.memtable_cells
    FROM @extschema@.stat_families() f;
CREATE VIEW @extschema@.pg_stat_widetable_tables AS
    SELECT f.relid::regclass AS relation, f.table_name, count(*)::int AS families, sum(f.files)::bigint AS files,
           sum(f.file_bytes)::bigint AS file_bytes, sum(f.raw_bytes)::bigint AS raw_bytes,
           sum(f.cells)::bigint AS cells, max(f.rows)::bigint AS rows, sum(f.tombstones)::bigint AS tombstones,
           sum(f.memtable_cells)::bigint AS memtable_cells
    FROM @extschema@.stat_families() f
    GROUP BY f.relid, f.table_name;
CREATE VIEW @extschema@.pg_stat_widetable_files AS
    SELECT f.relid::regclass AS relation, f.table_name, f.family, f.file, f.level, f.file_bytes, f.raw_bytes, f.cells, f.rows,
           f.tombstones, f.min_key, f.max_key, f.min_ts, f.max_ts, f.min_seq, f.max_seq
    FROM @extschema@.stat_files() f;
CREATE VIEW @extschema@.pg_stat_widetable_compactions AS
    SELECT c.relid::regclass AS relation, c.table_name, c.family, c.kind, c.state, c.from_level, c.to_level,
           c.total_bytes, c.done_bytes, c.out_bytes, c.started, c.ended
    FROM @extschema@.stat_compactions() c;
CREATE VIEW @extschema@.pg_stat_widetable_locks AS
    SELECT l.pid, d.datname AS database, l.relid::regclass AS relation, l.table_name, l.key, l.key_bytes, l.bucket, l.tag,
           l.granted, l.holder
    FROM @extschema@.stat_locks() l LEFT JOIN pg_catalog.pg_database d ON d.oid = l.datid;

REVOKE ALL ON FUNCTION @extschema@.stat_store(), @extschema@.stat_files(), @extschema@.stat_compactions(),
    @extschema@.verify(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.stat_store(), @extschema@.stat_files(), @extschema@.stat_compactions(),
    @extschema@.verify(regclass) TO pg_monitor;
-- stat_families and stat_locks check themselves: users of a view need the right to call its functions
GRANT SELECT ON @extschema@.pg_stat_widetable_tables, @extschema@.pg_stat_widetable_families,
    @extschema@.pg_stat_widetable_locks TO PUBLIC;
GRANT SELECT ON @extschema@.pg_stat_widetable, @extschema@.pg_stat_widetable_files,
    @extschema@.pg_stat_widetable_compactions TO pg_monitor;
