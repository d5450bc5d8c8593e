\echo Use "ALTER EXTENSION widetable UPDATE TO '1.1'" to load this file. \quit

-- ----------------------------------------------- the foreign-data wrapper

-- USAGE on the server lets a role make wide tables, which take memory and log from all roles: an administrator grants it.
-- Foreign tables that exist need no USAGE.
REVOKE USAGE ON FOREIGN SERVER widetable FROM PUBLIC;

-- ------------------------------------- foreign tables make engine tables

-- Commands that drop may drop the trigger on sql_drop, which then does not fire. This trigger loads the library, which
-- has a hook. For CREATE FOREIGN TABLE it says which privilege is missing and how it is granted. Before commands by which
-- an index or a roll-up may have to go, or whose names its options have, it records what pg_upgrade has not brought.
DROP EVENT TRIGGER widetable_ddl_command_start;
CREATE EVENT TRIGGER widetable_ddl_command_start ON ddl_command_start
    WHEN TAG IN ('DROP EXTENSION', 'DROP SCHEMA', 'DROP OWNED', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'ALTER TABLE',
        'ALTER SCHEMA', 'ALTER EXTENSION', 'ALTER FUNCTION', 'ALTER ROUTINE', 'ALTER TYPE', 'ALTER DOMAIN',
        'ALTER OPERATOR', 'ALTER COLLATION', 'DROP FOREIGN TABLE',
        'DROP TABLE', 'DROP TYPE', 'DROP DOMAIN', 'DROP COLLATION', 'DROP FUNCTION', 'DROP ROUTINE', 'DROP OPERATOR', 'DROP CAST')
    EXECUTE FUNCTION @extschema@.ddl_command_start();

-- The functions of the event triggers run for every command in the database that defines something. They must not fail
-- where the library is gone (it was removed before the extension) or cannot be loaded, so they are not in the library:
-- they ask first whether it loads, for whatever reason it does not. STABLE: the library must see the snapshot of the
-- command, by which it finds the definition from before; a VOLATILE function takes a new one. They run as the user of the
-- command: PUBLIC needs EXECUTE on what they call, whatever the default privileges are.
CREATE FUNCTION @extschema@.library() RETURNS void
    LANGUAGE C AS 'MODULE_PATHNAME', 'wt_event_trigger_library';
CREATE FUNCTION @extschema@.library_loads() RETURNS boolean LANGUAGE plpgsql STABLE AS
$$
BEGIN
    PERFORM @extschema@.library();
    RETURN true;
EXCEPTION
    WHEN undefined_file THEN
        RAISE WARNING 'the library of extension widetable is missing'
            USING DETAIL = 'The command is executed without it: stored data of wide tables is neither changed nor removed.',
                  HINT = 'Install the library again, or DROP EXTENSION widetable CASCADE.';
        RETURN false;
    WHEN OTHERS THEN
        RAISE WARNING 'the library of extension widetable cannot be loaded: %', SQLERRM
            USING DETAIL = 'The command is executed without it: stored data of wide tables is neither changed nor removed.',
                  HINT = 'Install the library again, or DROP EXTENSION widetable CASCADE.';
        RETURN false;
END
$$;
CREATE FUNCTION @extschema@.ddl_command_end_now() RETURNS void
    LANGUAGE C AS 'MODULE_PATHNAME', 'wt_ddl_command_end';
CREATE FUNCTION @extschema@.sql_drop_now() RETURNS void
    LANGUAGE C AS 'MODULE_PATHNAME', 'wt_sql_drop';
CREATE FUNCTION @extschema@.ddl_command_start_now() RETURNS void
    LANGUAGE C AS 'MODULE_PATHNAME', 'wt_ddl_command_start';
GRANT EXECUTE ON FUNCTION @extschema@.library(), @extschema@.library_loads(), @extschema@.ddl_command_end_now(),
    @extschema@.sql_drop_now(), @extschema@.ddl_command_start_now() TO PUBLIC;
CREATE OR REPLACE FUNCTION @extschema@.ddl_command_end() RETURNS event_trigger LANGUAGE plpgsql STABLE AS
$$ BEGIN IF @extschema@.library_loads() THEN PERFORM @extschema@.ddl_command_end_now(); END IF; END $$;
CREATE OR REPLACE FUNCTION @extschema@.sql_drop() RETURNS event_trigger LANGUAGE plpgsql STABLE AS
$$ BEGIN IF @extschema@.library_loads() THEN PERFORM @extschema@.sql_drop_now(); END IF; END $$;
CREATE OR REPLACE FUNCTION @extschema@.ddl_command_start() RETURNS event_trigger LANGUAGE plpgsql STABLE AS
$$ BEGIN IF @extschema@.library_loads() THEN PERFORM @extschema@.ddl_command_start_now(); END IF; END $$;

-- ------------------------------------------------------- merge operators

CREATE FUNCTION @extschema@.add(rel regclass, key "any", col text, value "any")
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_add';
CREATE FUNCTION @extschema@.add(rel regclass, key text, col text, value "any")
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_add';
COMMENT ON FUNCTION @extschema@.add(regclass, "any", text, "any") IS
    'add a value to a cell of a family with a merge operator; reads nothing and waits for nobody';

-- --------------------------------------------------- cells, out and in again

CREATE FUNCTION @extschema@.export_cells(rel regclass, lower bytea DEFAULT NULL, upper bytea DEFAULT NULL)
    RETURNS SETOF bytea LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_export_cells';
CREATE FUNCTION @extschema@.import_cells(rel regclass, cells bytea)
    RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_import_cells';
COMMENT ON FUNCTION @extschema@.export_cells(regclass, bytea, bytea) IS
    'all versions of the cells of rows between two stored keys, as compressed chunks for import_cells';
COMMENT ON FUNCTION @extschema@.import_cells(regclass, bytea) IS
    'writes the cells of a chunk of export_cells, with their timestamps; returns their number';

-- -------------------------------------------------------------- statistics

-- Views of users may depend on the views and functions of version 1.0, and roles may have been granted them.  So the views get
-- their new columns at the end, from new functions, and keep their privileges; the functions of version 1.0 stay.
-- Columns are added at the end.  A library that has more than the function leaves the last ones out.
CREATE FUNCTION @extschema@.store_statistics(
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
        OUT memtable_reserved bigint, OUT files_reserved bigint, OUT worker_pid int,
        OUT clock_ahead interval, OUT oldest_snapshot_pid int, OUT memtable_holder_pid int, OUT keeper_pid int,
        OUT stats_reset timestamptz, OUT file_limit bigint, OUT dead_files bigint, OUT containers bigint, OUT row_lock_bytes bigint,
        OUT row_lock_waiters int)
    RETURNS record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_store';
CREATE FUNCTION @extschema@.file_statistics(
        OUT relid oid, OUT table_name text, OUT family text, OUT file bigint, OUT level int, OUT file_bytes bigint,
        OUT raw_bytes bigint, OUT cells bigint, OUT rows bigint, OUT tombstones bigint,
        OUT min_key bytea, OUT max_key bytea, OUT min_ts bigint, OUT max_ts bigint, OUT min_seq pg_lsn, OUT max_seq pg_lsn,
        OUT container bigint, OUT container_offset bigint)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_files';
CREATE FUNCTION @extschema@.family_statistics(
        OUT relid oid, OUT table_name text, OUT family text, OUT options jsonb, OUT files bigint,
        OUT level_files int[], OUT file_bytes bigint, OUT raw_bytes bigint, OUT cells bigint, OUT rows bigint,
        OUT tombstones bigint, OUT memtable_cells bigint, OUT memtable_bytes bigint)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_families';
CREATE FUNCTION @extschema@.compaction_statistics(
        OUT relid oid, OUT table_name text, OUT family text, OUT kind text, OUT state text, OUT from_level int, OUT to_level int,
        OUT total_bytes bigint, OUT done_bytes bigint, OUT out_bytes bigint,
        OUT started timestamptz, OUT ended timestamptz, OUT pid int)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_compactions';
CREATE FUNCTION @extschema@.stat_progress(
        OUT pid int, OUT kind text, OUT datid oid, OUT table_name text, OUT family text, OUT unit text,
        OUT total bigint, OUT done bigint, OUT started timestamptz)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_progress';
CREATE FUNCTION @extschema@.stat_databases(
        OUT datid oid, OUT tables int, OUT families int, OUT files bigint, OUT file_bytes bigint, OUT memtable_bytes bigint)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_databases';

CREATE OR REPLACE VIEW @extschema@.pg_stat_widetable AS SELECT * FROM @extschema@.store_statistics();
CREATE OR REPLACE VIEW @extschema@.pg_stat_widetable_families AS
    SELECT f.relid::regclass AS relation, f.table_name, f.family, f.options, f.files, f.level_files, f.file_bytes, f.raw_bytes,
           f.cells, f.rows, f.tombstones, f.memtable_cells, f.memtable_bytes
    FROM @extschema@.family_statistics() f;
CREATE OR REPLACE VIEW @extschema@.pg_stat_widetable_tables AS
    SELECT f.relid::regclass AS relation, f.table_name, count(*)::int AS families, sum(f.files)::bigint AS files,
           sum(f.file_bytes)::bigint AS file_bytes, sum(f.raw_bytes)::bigint AS raw_bytes,
           sum(f.cells)::bigint AS cells, max(f.rows)::bigint AS rows, sum(f.tombstones)::bigint AS tombstones,
           sum(f.memtable_cells)::bigint AS memtable_cells, sum(f.memtable_bytes)::bigint AS memtable_bytes,
           sum(f.file_bytes + f.memtable_bytes)::bigint AS total_bytes
    FROM @extschema@.family_statistics() f
    GROUP BY f.relid, f.table_name;
CREATE VIEW @extschema@.pg_stat_widetable_databases AS
    SELECT t.datid, d.datname, t.tables, t.families, t.files, t.file_bytes, t.memtable_bytes,
           t.file_bytes + t.memtable_bytes AS total_bytes
    FROM @extschema@.stat_databases() t LEFT JOIN pg_catalog.pg_database d ON d.oid = t.datid;
CREATE OR REPLACE VIEW @extschema@.pg_stat_widetable_files AS
    SELECT f.relid::regclass AS relation, f.table_name, f.family, f.file, f.level, f.file_bytes, f.raw_bytes, f.cells, f.rows,
           f.tombstones, f.min_key, f.max_key, f.min_ts, f.max_ts, f.min_seq, f.max_seq, f.container, f.container_offset
    FROM @extschema@.file_statistics() f;
CREATE OR REPLACE VIEW @extschema@.pg_stat_widetable_compactions AS
    SELECT c.relid::regclass AS relation, c.table_name, c.family, c.kind, c.state, c.from_level, c.to_level,
           c.total_bytes, c.done_bytes, c.out_bytes, c.started, c.ended, c.pid
    FROM @extschema@.compaction_statistics() c;
CREATE VIEW @extschema@.pg_stat_widetable_progress AS
    SELECT p.pid, p.kind, d.datname AS database, p.table_name, p.family, p.unit, p.total, p.done, p.started
    FROM @extschema@.stat_progress() p LEFT JOIN pg_catalog.pg_database d ON d.oid = p.datid;

CREATE FUNCTION @extschema@.reset_statistics()
    RETURNS void LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_reset_statistics';
CREATE FUNCTION @extschema@.reset_clock()
    RETURNS interval LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_reset_clock';
COMMENT ON FUNCTION @extschema@.reset_statistics() IS
    'let the counters of pg_stat_widetable begin at 0';
COMMENT ON FUNCTION @extschema@.reset_clock() IS
    'let timestamps begin at the clock again after it was ahead; returns by how much they were';

REVOKE ALL ON FUNCTION @extschema@.store_statistics(), @extschema@.file_statistics(), @extschema@.compaction_statistics(),
    @extschema@.stat_progress(), @extschema@.stat_databases(), @extschema@.reset_statistics(), @extschema@.reset_clock()
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.store_statistics(), @extschema@.file_statistics(), @extschema@.compaction_statistics(),
    @extschema@.stat_progress(), @extschema@.stat_databases() TO pg_monitor;
GRANT SELECT ON @extschema@.pg_stat_widetable_progress, @extschema@.pg_stat_widetable_databases TO pg_monitor;

-- ------------------------------------------------- the store's beginning, end and health

CREATE FUNCTION @extschema@.begin_empty()
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_begin_empty';
COMMENT ON FUNCTION @extschema@.begin_empty() IS
    'begin with empty tables where the store is missing; superuser only';
CREATE FUNCTION @extschema@.uninstall()
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_uninstall';
COMMENT ON FUNCTION @extschema@.uninstall() IS
    'remove the files and the replication slot of a store without tables; superuser only';
REVOKE ALL ON FUNCTION @extschema@.begin_empty(), @extschema@.uninstall() FROM PUBLIC;

CREATE FUNCTION @extschema@.stat_health(
        OUT state text, OUT in_recovery boolean, OUT applied_lsn pg_lsn, OUT lag_bytes bigint, OUT lag_seconds float8,
        OUT slot text, OUT worker_pid int, OUT keeper_pid int, OUT last_error text, OUT last_error_time timestamptz)
    RETURNS record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_health';
CREATE VIEW @extschema@.pg_stat_widetable_health AS SELECT * FROM @extschema@.stat_health();
REVOKE ALL ON FUNCTION @extschema@.stat_health() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.stat_health() TO pg_monitor;
GRANT SELECT ON @extschema@.pg_stat_widetable_health TO pg_monitor;

-- ---------------------------------------------------- connections to other engines

CREATE FUNCTION @extschema@.stat_remote(
        OUT engine text, OUT server oid, OUT userid oid, OUT remote_user text, OUT since timestamptz, OUT waits bigint,
        OUT wait_time float8, OUT retries bigint, OUT errors bigint, OUT last_error text, OUT last_error_time timestamptz)
    RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_stat_remote';
CREATE VIEW @extschema@.pg_stat_widetable_remote AS
    SELECT r.engine, s.srvname AS server, pg_catalog.pg_get_userbyid(r.userid) AS usename, r.remote_user, r.since, r.waits,
           r.wait_time, r.retries, r.errors, r.last_error, r.last_error_time
    FROM @extschema@.stat_remote() r LEFT JOIN pg_catalog.pg_foreign_server s ON s.oid = r.server;
COMMENT ON VIEW @extschema@.pg_stat_widetable_remote IS
    'connections of this session to tables of other engines';
REVOKE ALL ON FUNCTION @extschema@.stat_remote() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.stat_remote() TO pg_monitor;
GRANT SELECT ON @extschema@.pg_stat_widetable_remote TO pg_monitor;

-- ------------------------------------------------------------ administration

CREATE FUNCTION @extschema@.prepare_upgrade(prepare boolean DEFAULT true)
    RETURNS void LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_prepare_upgrade';
COMMENT ON FUNCTION @extschema@.prepare_upgrade(boolean) IS
    'before pg_upgrade: everything goes to files, and wide tables cannot be changed until the server is restarted';
REVOKE ALL ON FUNCTION @extschema@.prepare_upgrade(boolean) FROM PUBLIC;

-- ------------------------------------------------------- tables of other engines

CREATE FUNCTION @extschema@.drop_remote(rel regclass)
    RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_drop_remote';
COMMENT ON FUNCTION @extschema@.drop_remote(regclass) IS
    'drop the table that another engine has for a foreign table; not in a transaction block';

-- ------------------------------------------------------------------ damage

-- Makes readable what can be read of the damaged files of a table; what cannot is given up.  With
-- copy_to, copies it into that table instead.
CREATE FUNCTION @extschema@.salvage(rel regclass, dry_run boolean DEFAULT false, copy_to regclass DEFAULT NULL,
    OUT family text, OUT file text, OUT lost_from bytea, OUT lost_to bytea, OUT rows_lost bigint, OUT cells_lost bigint, OUT cells_kept bigint, OUT problem text)
    RETURNS SETOF record LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_salvage';
REVOKE ALL ON FUNCTION @extschema@.salvage(regclass, boolean, regclass) FROM PUBLIC;

-- -------------------------------------------------- partitions and other servers

CREATE FUNCTION @extschema@.key_columns(rel regclass)
    RETURNS text[] LANGUAGE C STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_key_columns';
CREATE FUNCTION @extschema@.require_key(rel regclass, columns text[])
    RETURNS regclass LANGUAGE C STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_require_key';
COMMENT ON FUNCTION @extschema@.key_columns(regclass) IS
    'the names of the columns of the row key, in order; also of a partitioned table and of a table on another server';
COMMENT ON FUNCTION @extschema@.require_key(regclass, text[]) IS
    'the table, if its row key has these columns: in calls that another server sends';
