--
-- The privilege matrix: what each kind of role may do with each object of the
-- extension, and with each form of DML and DDL.
--
-- A row of priv.matrix is a statement.  Each role executes it, and what it did is
-- undone; the result is 'ok', or the SQLSTATE of the error ('.' for 42501, no
-- privilege).  A division by zero, 22012, is 'none': there is no error, but a view
-- shows no row, or the command has done nothing.  prepare is executed before, by the
-- superuser.
--
-- object names what the statement is about.  Each function, view and setting of the
-- extension needs a row: a new one without a row makes this test fail.  To add one:
-- INSERT it below, and judge the line that the test prints.
--
SET client_min_messages = error;
LOAD 'widetable';
CREATE SCHEMA priv;
CREATE SCHEMA priv_new;

-- ---------------------------------------------------------------- the roles

CREATE ROLE regress_wt_none;
CREATE ROLE regress_wt_server;      -- USAGE on the server, CREATE in a schema
CREATE ROLE regress_wt_select;
CREATE ROLE regress_wt_select_some; -- SELECT of some columns
CREATE ROLE regress_wt_insert;
CREATE ROLE regress_wt_upsert;      -- INSERT and UPDATE
CREATE ROLE regress_wt_upsert_some; -- the same, and SELECT, of some columns
CREATE ROLE regress_wt_all;         -- all privileges on the table that 15 has, and nothing else
CREATE ROLE regress_wt_owner;
CREATE ROLE regress_wt_member;      -- of the owner
CREATE ROLE regress_wt_read_all;
CREATE ROLE regress_wt_write_all;
CREATE ROLE regress_wt_monitor;
CREATE ROLE regress_wt_checkpoint;
CREATE ROLE regress_wt_super SUPERUSER;
GRANT regress_wt_owner TO regress_wt_member;
GRANT pg_read_all_data TO regress_wt_read_all;
GRANT pg_write_all_data TO regress_wt_write_all;
GRANT pg_monitor TO regress_wt_monitor;
GRANT pg_checkpoint TO regress_wt_checkpoint;
GRANT USAGE ON SCHEMA priv TO PUBLIC;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_server, regress_wt_owner;
GRANT USAGE, CREATE ON SCHEMA priv_new TO regress_wt_server, regress_wt_owner;

-- --------------------------------------------------------------- the tables

GRANT CREATE ON SCHEMA priv TO regress_wt_owner;
SET ROLE regress_wt_owner;
-- key as text and as another type: the functions have one variant for each
CREATE FOREIGN TABLE priv.t (k text COLLATE "C", v text, s text, n bigint) SERVER widetable;
CREATE FOREIGN TABLE priv.m (k text COLLATE "C", v bigint OPTIONS (column 'c:v'), s bigint OPTIONS (column 'c:s'))
    SERVER widetable OPTIONS (key 'k', families '{"c": {"merge": "sum"}}');
CREATE FOREIGN TABLE priv.i (k int, v text, s text, n bigint) SERVER widetable;
CREATE FOREIGN TABLE priv.c (k text COLLATE "C", family text, qualifier text, ts bigint, value text)
    SERVER widetable OPTIONS (table_name 'priv.t', layout 'cells');
CREATE TABLE priv.p (k text COLLATE "C", v text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE priv.p_wide PARTITION OF priv.p FOR VALUES FROM ('a') TO ('m') SERVER widetable;
CREATE TABLE priv.p_heap PARTITION OF priv.p FOR VALUES FROM ('m') TO ('z');
INSERT INTO priv.t VALUES ('k1', 'v', 's', 1), ('k2', 'v', 's', 2);
INSERT INTO priv.i VALUES (1, 'v', 's', 1), (2, 'v', 's', 2);
INSERT INTO priv.p VALUES ('k1', 'v'), ('n1', 'v');
CREATE TABLE priv.chunk AS SELECT widetable.export_cells('priv.t') AS c;
GRANT SELECT ON priv.chunk TO PUBLIC;
GRANT SELECT ON priv.t, priv.i, priv.c, priv.p, priv.m TO regress_wt_select;
GRANT SELECT (k, v) ON priv.t, priv.i, priv.m TO regress_wt_select_some;
GRANT SELECT (k) ON priv.c, priv.p TO regress_wt_select_some;
GRANT INSERT ON priv.t, priv.i, priv.c, priv.p, priv.m TO regress_wt_insert;
GRANT INSERT, UPDATE ON priv.t, priv.i, priv.c, priv.p, priv.m TO regress_wt_upsert;
GRANT INSERT (k, v), UPDATE (v) ON priv.m TO regress_wt_upsert_some;
GRANT SELECT (k, v, n), INSERT (k, v, n), UPDATE (v, n) ON priv.t, priv.i TO regress_wt_upsert_some;
GRANT INSERT, UPDATE (value) ON priv.c TO regress_wt_upsert_some;
GRANT INSERT, UPDATE (v) ON priv.p TO regress_wt_upsert_some;
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON priv.t, priv.i, priv.c, priv.p, priv.m TO regress_wt_all;
RESET ROLE;
SELECT widetable.flush();

-- -------------------------------------------------------------- the machine

CREATE TABLE priv.matrix (no serial, object text, statement text, prepare text);
SET search_path = pg_catalog;

/* What becomes of a statement if the role executes it. */
CREATE FUNCTION priv.outcome(role name, statement text, prepare text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
    result text;
BEGIN
    BEGIN
        IF prepare IS NOT NULL THEN
            EXECUTE replace(prepare, ':role', role);
        END IF;
        EXECUTE format('SET LOCAL ROLE %I', role);
        EXECUTE statement;
        RAISE SQLSTATE 'WT0OK';
    EXCEPTION WHEN OTHERS THEN
        result := SQLSTATE;
    END;
    RETURN CASE result WHEN 'WT0OK' THEN 'ok' WHEN '42501' THEN '.' WHEN '22012' THEN 'none' ELSE result END;
END
$$;

/* The objects of the extension, and its settings, as the matrix names them. */
CREATE FUNCTION priv.objects() RETURNS SETOF text LANGUAGE sql SET search_path = widetable, pg_catalog AS
$$
    SELECT CASE WHEN classid = 'pg_proc'::regclass THEN objid::regprocedure::text
                ELSE (pg_identify_object(classid, objid, 0)).type || ' ' || (pg_identify_object(classid, objid, 0)).identity END
    FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
        AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'widetable')
        AND classid <> 'pg_type'::regclass -- those of views, from PostgreSQL 18 on
    UNION ALL
    SELECT 'setting ' || name FROM pg_settings WHERE name LIKE 'widetable.%'
$$;

-- --------------------------------------------------------------- the matrix

-- statements of SQL on a table
INSERT INTO priv.matrix (object, statement) VALUES
    ('DML', $$SELECT * FROM priv.t$$),
    ('DML', $$SELECT k, v FROM priv.t$$),
    ('DML', $$SELECT v FROM priv.t WHERE s = 's'$$),
    ('DML', $$SELECT count(*) FROM priv.t$$),
    ('DML', $$SELECT sum(n) FROM priv.t GROUP BY k$$),
    ('DML', $$SELECT k FROM priv.t FOR UPDATE$$),
    ('DML', $$EXPLAIN SELECT * FROM priv.t$$),
    ('DML', $$COPY (SELECT * FROM priv.t) TO '/dev/null'$$),
    ('DML', $$INSERT INTO priv.t VALUES ('new', 'v', 's', 1)$$),
    ('DML', $$INSERT INTO priv.t (k, v) VALUES ('new', 'v')$$),
    ('DML', $$INSERT INTO priv.t (k, v) VALUES ('new', 'v') RETURNING s$$),
    ('DML', $$INSERT INTO priv.t (k, v) VALUES ('k1', 'over')$$),
    ('DML', $$INSERT INTO priv.t VALUES ('k1', 'over', 's', 1)$$),
    ('DML', $$INSERT INTO priv.t (k, v) VALUES ('k1', 'over') ON CONFLICT DO NOTHING$$),
    ('DML', $$INSERT INTO priv.t (k, v) SELECT k, v FROM priv.t$$),
    ('DML', $$UPDATE priv.t SET v = 'x'$$),
    ('DML', $$UPDATE priv.t SET v = 'x' WHERE k = 'k1'$$),
    ('DML', $$UPDATE priv.t SET s = 'x' WHERE k = 'k1'$$),
    ('DML', $$UPDATE priv.t SET k = 'k3' WHERE k = 'k1'$$),
    ('DML', $$UPDATE priv.t SET v = 'x' RETURNING s$$),
    ('DML', $$DELETE FROM priv.t$$),
    ('DML', $$DELETE FROM priv.t WHERE k = 'k1'$$),
    ('DML', $$TRUNCATE priv.t$$),
    ('DML', $$MERGE INTO priv.t USING (VALUES (1)) AS x ON true WHEN MATCHED THEN DELETE$$),
    ('DML', $$LOCK TABLE priv.t$$),
    ('DML, layout cells', $$SELECT * FROM priv.c$$),
    ('DML, layout cells', $$INSERT INTO priv.c VALUES ('k1', 'd', 'new', NULL, 'x')$$),
    ('DML, layout cells', $$INSERT INTO priv.c VALUES ('k1', 'd', 'v', NULL, 'over')$$),
    ('DML, layout cells', $$UPDATE priv.c SET value = 'x'$$),
    ('DML, layout cells', $$UPDATE priv.c SET ts = 1 WHERE qualifier = 'v'$$),
    ('DML, layout cells', $$DELETE FROM priv.c$$),
    ('DML, partitioned', $$SELECT * FROM priv.p$$),
    ('DML, partitioned', $$SELECT * FROM priv.p_wide$$),
    ('DML, partitioned', $$INSERT INTO priv.p VALUES ('new', 'v'), ('b', 'v')$$),
    ('DML, partitioned', $$INSERT INTO priv.p VALUES ('k1', 'over')$$),
    ('DML, partitioned', $$INSERT INTO priv.p_wide VALUES ('k1', 'over')$$),
    ('DML, partitioned', $$UPDATE priv.p SET v = 'x'$$),
    ('DML, partitioned', $$UPDATE priv.p SET k = 'b' WHERE k = 'n1'$$),
    ('DML, partitioned', $$UPDATE priv.p SET k = 'k1' WHERE k = 'n1'$$),
    ('DML, partitioned', $$DELETE FROM priv.p$$),
    ('DML, partitioned', $$TRUNCATE priv.p$$);
UPDATE priv.matrix SET prepare = 'GRANT pg_write_server_files TO :role' WHERE statement LIKE 'COPY%TO %';
INSERT INTO priv.matrix (object, statement, prepare) VALUES
    ('DML', $$COPY priv.t FROM '/dev/null'$$, 'GRANT pg_read_server_files TO :role'),
    ('DML', $$COPY priv.t (k, v) FROM '/dev/null'$$, 'GRANT pg_read_server_files TO :role'),
    ('DML, partitioned', $$COPY priv.p FROM '/dev/null'$$, 'GRANT pg_read_server_files TO :role');

-- definitions
INSERT INTO priv.matrix (object, statement) VALUES
    ('server widetable', $$CREATE FOREIGN TABLE priv_new.x (k text, v text) SERVER widetable$$),
    ('server widetable', $$CREATE FOREIGN TABLE priv.x (k text, v text) SERVER widetable$$),
    ('server widetable', $$CREATE FOREIGN TABLE priv_new.x (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'priv.t')$$),
    ('server widetable', $$CREATE FOREIGN TABLE priv_new.x PARTITION OF priv.p FOR VALUES FROM ('z') TO (MAXVALUE) SERVER widetable$$),
    ('server widetable', $$ALTER SERVER widetable OPTIONS (ADD updatable 'false')$$),
    ('server widetable', $$ALTER SERVER widetable OWNER TO regress_wt_owner$$),
    ('server widetable', $$DROP SERVER widetable$$),
    ('server widetable', $$CREATE USER MAPPING FOR CURRENT_USER SERVER widetable$$),
    ('server widetable', $$CREATE USER MAPPING FOR CURRENT_USER SERVER widetable OPTIONS (keytab '/k')$$),
    ('server widetable', $$CREATE USER MAPPING FOR CURRENT_USER SERVER widetable OPTIONS (credential_cache 'FILE:/k')$$),
    ('server widetable', $$CREATE USER MAPPING FOR CURRENT_USER SERVER widetable OPTIONS (server_credentials 'true')$$),
    ('server widetable', $$ALTER SERVER widetable OPTIONS (ADD authentication 'kerberos')$$),
    ('server widetable', $$GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_none; SELECT 1 / has_server_privilege('regress_wt_none', 'widetable', 'USAGE')::int$$),
    ('server widetable', $$IMPORT FOREIGN SCHEMA a FROM SERVER widetable INTO priv_new$$),
    ('foreign-data wrapper widetable', $$CREATE SERVER other FOREIGN DATA WRAPPER widetable$$),
    ('foreign-data wrapper widetable', $$ALTER FOREIGN DATA WRAPPER widetable OPTIONS (SET origin '1')$$),
    ('event trigger widetable_ddl_command_start', $$ALTER EVENT TRIGGER widetable_ddl_command_start DISABLE$$),
    ('event trigger widetable_ddl_command_end', $$ALTER EVENT TRIGGER widetable_ddl_command_end DISABLE$$),
    ('event trigger widetable_sql_drop', $$ALTER EVENT TRIGGER widetable_sql_drop DISABLE$$),
    ('extension widetable', $$ALTER EXTENSION widetable UPDATE$$),
    ('extension widetable', $$ALTER EXTENSION widetable DROP FUNCTION widetable.flake_id()$$),
    ('extension widetable', $$DROP EXTENSION widetable$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t OPTIONS (ADD insert_mode 'error')$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t OPTIONS (ADD families '{"d": {"versions": 2}}')$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.i OPTIONS (ADD table_name 'priv.t')$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t ADD COLUMN w text$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t DROP COLUMN s$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t ALTER COLUMN v SET NOT NULL$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t ALTER COLUMN v OPTIONS (ADD encoding 'text')$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t RENAME COLUMN v TO w$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t RENAME TO t2$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t SET SCHEMA priv_new$$),
    ('DDL', $$ALTER FOREIGN TABLE priv.t OWNER TO regress_wt_server$$),
    ('DDL', $$ALTER TABLE priv.p DETACH PARTITION priv.p_wide$$),
    ('DDL', $$CREATE TRIGGER x BEFORE INSERT ON priv.t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()$$),
    ('DDL', $$CREATE VIEW priv_new.x AS SELECT * FROM priv.t$$),
    ('DDL', $$ANALYZE priv.t; SELECT 1 / count(*) FROM pg_stats WHERE schemaname = 'priv' AND tablename = 't'$$),
    ('DDL', $$COMMENT ON FOREIGN TABLE priv.t IS 'x'$$),
    ('DDL', $$GRANT SELECT ON priv.t TO regress_wt_none; SELECT 1 / has_table_privilege('regress_wt_none', 'priv.t', 'SELECT')::int$$),
    ('DDL', $$DROP FOREIGN TABLE priv.t$$);

-- functions on a row; the key as text and as a value of another type
INSERT INTO priv.matrix (object, statement) VALUES
    ('get(regclass,text)', $$SELECT widetable.get('priv.t', 'k1')$$),
    ('get(regclass,"any")', $$SELECT widetable.get('priv.i', 1)$$),
    ('cells(regclass,text,integer,bigint,bigint)', $$SELECT widetable.cells('priv.t', 'k1')$$),
    ('cells(regclass,"any",integer,bigint,bigint)', $$SELECT widetable.cells('priv.i', 1)$$),
    ('raw_cells(regclass,text)', $$SELECT widetable.raw_cells('priv.t', 'k1')$$),
    ('raw_cells(regclass,"any")', $$SELECT widetable.raw_cells('priv.i', 1)$$),
    ('increment(regclass,text,text,bigint)', $$SELECT widetable.increment('priv.t', 'k1', 'n')$$),
    ('increment(regclass,text,text,bigint)', $$SELECT widetable.increment('priv.t', 'k1', 'd:other')$$),
    ('increment(regclass,"any",text,bigint)', $$SELECT widetable.increment('priv.i', 1, 'n')$$),
    ('increment(regclass,text,jsonb)', $$SELECT widetable.increment('priv.t', 'k1', '{"n": 1}'::jsonb)$$),
    ('increment(regclass,text,jsonb)', $$SELECT widetable.increment('priv.t', 'k1', '{"n": 1, "d:other": 1}'::jsonb)$$),
    ('increment(regclass,"any",jsonb)', $$SELECT widetable.increment('priv.i', 1, '{"n": 1}'::jsonb)$$),
    ('append(regclass,text,text,text)', $$SELECT widetable.append('priv.t', 'k1', 'v', 'x'::text)$$),
    ('append(regclass,text,text,text)', $$SELECT widetable.append('priv.t', 'k1', 's', 'x'::text)$$),
    ('append(regclass,"any",text,text)', $$SELECT widetable.append('priv.i', 1, 'v', 'x'::text)$$),
    ('append(regclass,text,text,bytea)', $$SELECT widetable.append('priv.t', 'k1', 'v', 'x'::bytea)$$),
    ('append(regclass,"any",text,bytea)', $$SELECT widetable.append('priv.i', 1, 'v', 'x'::bytea)$$),
    ('put(regclass,text,text,"any",bigint,interval)', $$SELECT widetable.put('priv.t', 'k1', 'v', 'x')$$),
    ('put(regclass,text,text,"any",bigint,interval)', $$SELECT widetable.put('priv.t', 'k1', 's', 'x')$$),
    ('put(regclass,text,text,"any",bigint,interval)', $$SELECT widetable.put('priv.t', 'k1', 'd:s', 'x')$$),
    ('put(regclass,"any",text,"any",bigint,interval)', $$SELECT widetable.put('priv.i', 1, 'v', 'x')$$),
    ('add(regclass,text,text,"any")', $$SELECT widetable.add('priv.m', 'k1', 'v', 1)$$),
    ('add(regclass,text,text,"any")', $$SELECT widetable.add('priv.m', 'k1', 's', 1)$$),
    ('add(regclass,text,text,"any")', $$SELECT widetable.add('priv.m', 'k1', 'c:s', 1)$$),
    ('add(regclass,"any",text,"any")', $$SELECT widetable.add('priv.m', ROW('k1'), 'v', 1)$$),
    ('put(regclass,text,jsonb)', $$SELECT widetable.put('priv.t', 'k1', '{"v": "x"}'::jsonb)$$),
    ('put(regclass,text,jsonb)', $$SELECT widetable.put('priv.t', 'k1', '{"v": "x", "s": null}'::jsonb)$$),
    ('put(regclass,"any",jsonb)', $$SELECT widetable.put('priv.i', 1, '{"v": "x"}'::jsonb)$$),
    ('delete_row(regclass,text)', $$SELECT widetable.delete_row('priv.t', 'k1')$$),
    ('delete_row(regclass,"any")', $$SELECT widetable.delete_row('priv.i', 1)$$),
    ('delete_family(regclass,text,text,bigint)', $$SELECT widetable.delete_family('priv.t', 'k1', 'd')$$),
    ('delete_family(regclass,"any",text,bigint)', $$SELECT widetable.delete_family('priv.i', 1, 'd')$$),
    ('delete_family_version(regclass,text,text,bigint)', $$SELECT widetable.delete_family_version('priv.t', 'k1', 'd', 1)$$),
    ('delete_family_version(regclass,"any",text,bigint)', $$SELECT widetable.delete_family_version('priv.i', 1, 'd', 1)$$),
    ('delete_column(regclass,text,text,bigint)', $$SELECT widetable.delete_column('priv.t', 'k1', 'v')$$),
    ('delete_column(regclass,"any",text,bigint)', $$SELECT widetable.delete_column('priv.i', 1, 's')$$),
    ('delete_version(regclass,text,text,bigint)', $$SELECT widetable.delete_version('priv.t', 'k1', 'v')$$),
    ('delete_version(regclass,"any",text,bigint)', $$SELECT widetable.delete_version('priv.i', 1, 's')$$),
    ('check_and_mutate(regclass,text,text,text,"any",jsonb,jsonb)', $$SELECT widetable.check_and_mutate('priv.t', 'k1', 'v', '=', 'v', '[]')$$),
    ('check_and_mutate(regclass,text,text,text,"any",jsonb,jsonb)', $$SELECT widetable.check_and_mutate('priv.t', 'k1', 's', '=', 's', '[]')$$),
    ('check_and_mutate(regclass,text,text,text,"any",jsonb,jsonb)', $$SELECT widetable.check_and_mutate('priv.t', 'k1', 'v', '=', 'v', '[{"put": {"v": "x"}}, {"increment": {"n": 1}}, {"append": {"v": "x"}}, {"delete": "v"}]')$$),
    ('check_and_mutate(regclass,text,text,text,"any",jsonb,jsonb)', $$SELECT widetable.check_and_mutate('priv.t', 'k1', 'v', '=', 'v', '[{"put": {"s": "x"}}]')$$),
    ('check_and_mutate(regclass,"any",text,text,"any",jsonb,jsonb)', $$SELECT widetable.check_and_mutate('priv.i', 1, 'v', '=', 'v', '[]')$$);

-- keys
INSERT INTO priv.matrix (object, statement) VALUES
    ('encode_key(regclass,"any")', $$SELECT widetable.encode_key('priv.t', 'k1')$$),
    ('decode_key(regclass,bytea)', $$SELECT widetable.decode_key('priv.t', 'k1')$$),
    ('prefix_end(bytea)', $$SELECT widetable.prefix_end('a')$$),
    ('reverse_time(timestamp with time zone)', $$SELECT widetable.reverse_time(now())$$),
    ('reverse_host(text)', $$SELECT widetable.reverse_host('a.b')$$),
    ('salt(bytea,integer)', $$SELECT widetable.salt('a', 4)$$),
    ('quadkey(double precision,double precision,integer)', $$SELECT widetable.quadkey(1, 1, 4)$$),
    ('quadkey_pack(text,integer)', $$SELECT widetable.quadkey_pack('0123')$$),
    ('flake_id()', $$SELECT widetable.flake_id()$$);

-- administration
INSERT INTO priv.matrix (object, statement) VALUES
    ('flush(regclass)', $$SELECT widetable.flush('priv.t')$$),
    ('flush(regclass)', $$SELECT widetable.flush()$$),
    ('compact(regclass,boolean)', $$SELECT widetable.compact('priv.t')$$),
    ('compact(regclass,boolean)', $$SELECT widetable.compact(major => false)$$),
    ('verify(regclass)', $$SELECT widetable.verify('priv.t')$$),
    ('verify(regclass)', $$SELECT widetable.verify()$$),
    ('salvage(regclass,boolean,regclass)', $$SELECT widetable.salvage('priv.t')$$),
    ('copy_tables(name)', $$SELECT widetable.copy_tables('template1')$$),
    ('prepare_upgrade(boolean)', $$SELECT widetable.prepare_upgrade(false)$$),
    ('split_keys(regclass,integer)', $$SELECT widetable.split_keys('priv.t', 2)$$),
    ('export_cells(regclass,bytea,bytea)', $$SELECT widetable.export_cells('priv.t')$$),
    ('import_cells(regclass,bytea)', $$SELECT widetable.import_cells('priv.t', c) FROM priv.chunk$$),
    ('table_size(regclass)', $$SELECT widetable.table_size('priv.t')$$),
    ('plain_view(regclass,name)', $$SELECT widetable.plain_view('priv.t')$$),
    ('drop_remote(regclass)', $$SELECT widetable.drop_remote('priv.t')$$),
    ('handler()', $$SELECT widetable.handler()$$),
    ('validator(text[],oid)', $$SELECT widetable.validator('{}', 0)$$),
    ('ddl_command_start()', $$SELECT widetable.ddl_command_start()$$),
    ('ddl_command_end()', $$SELECT widetable.ddl_command_end()$$),
    ('sql_drop()', $$SELECT widetable.sql_drop()$$),
    ('library()', $$SELECT widetable.library()$$),
    ('library_loads()', $$SELECT widetable.library_loads()$$),
    ('ddl_command_start_now()', $$SELECT widetable.ddl_command_start_now()$$),
    ('ddl_command_end_now()', $$SELECT widetable.ddl_command_end_now()$$),
    ('sql_drop_now()', $$SELECT widetable.sql_drop_now()$$),
    ('begin_empty()', $$SELECT widetable.begin_empty()$$),
    ('uninstall()', $$SELECT widetable.uninstall()$$);

-- statistics
INSERT INTO priv.matrix (object, statement, prepare) VALUES
    ('stat_store()', $$SELECT widetable.stat_store()$$, NULL),
    ('stat_families()', $$SELECT 1 / count(*) FROM widetable.stat_families() WHERE table_name = 'priv.t'$$, NULL),
    ('stat_files()', $$SELECT 1 / count(*) FROM widetable.stat_files() WHERE table_name = 'priv.t'$$, NULL),
    ('stat_compactions()', $$SELECT widetable.stat_compactions()$$, NULL),
    ('store_statistics()', $$SELECT widetable.store_statistics()$$, NULL),
    ('family_statistics()', $$SELECT 1 / count(*) FROM widetable.family_statistics() WHERE table_name = 'priv.t'$$, NULL),
    ('file_statistics()', $$SELECT 1 / count(*) FROM widetable.file_statistics() WHERE table_name = 'priv.t'$$, NULL),
    ('compaction_statistics()', $$SELECT widetable.compaction_statistics()$$, NULL),
    ('stat_progress()', $$SELECT widetable.stat_progress()$$, NULL),
    ('stat_databases()', $$SELECT widetable.stat_databases()$$, NULL),
    ('reset_statistics()', $$SELECT widetable.reset_statistics()$$, NULL),
    ('reset_clock()', $$SELECT widetable.reset_clock()$$, NULL),
    ('stat_locks()', $$SELECT 1 / count(*) FROM widetable.stat_locks() WHERE table_name = 'priv.t'$$, $$UPDATE priv.t SET v = 'locked'$$),
    ('stat_health()', $$SELECT widetable.stat_health()$$, NULL),
    ('stat_remote()', $$SELECT widetable.stat_remote()$$, NULL),
    ('view widetable.pg_stat_widetable_remote', $$SELECT * FROM widetable.pg_stat_widetable_remote$$, NULL),
    ('view widetable.pg_stat_widetable_health', $$SELECT * FROM widetable.pg_stat_widetable_health$$, NULL),
    ('view widetable.pg_stat_widetable', $$SELECT * FROM widetable.pg_stat_widetable$$, NULL),
    ('view widetable.pg_stat_widetable_tables', $$SELECT 1 / count(*) FROM widetable.pg_stat_widetable_tables WHERE table_name = 'priv.t'$$, NULL),
    ('view widetable.pg_stat_widetable_families', $$SELECT 1 / count(*) FROM widetable.pg_stat_widetable_families WHERE table_name = 'priv.t'$$, NULL),
    ('view widetable.pg_stat_widetable_files', $$SELECT 1 / count(*) FROM widetable.pg_stat_widetable_files WHERE table_name = 'priv.t'$$, NULL),
    ('view widetable.pg_stat_widetable_files', $$SELECT 1 / count(min_key) FROM widetable.pg_stat_widetable_files WHERE table_name = 'priv.t'$$, NULL),
    ('view widetable.pg_stat_widetable_compactions', $$SELECT * FROM widetable.pg_stat_widetable_compactions$$, NULL),
    ('view widetable.pg_stat_widetable_progress', $$SELECT * FROM widetable.pg_stat_widetable_progress$$, NULL),
    ('view widetable.pg_stat_widetable_databases', $$SELECT * FROM widetable.pg_stat_widetable_databases$$, NULL),
    ('view widetable.pg_stat_widetable_locks', $$SELECT 1 / count(*) FROM widetable.pg_stat_widetable_locks WHERE table_name = 'priv.t'$$, $$UPDATE priv.t SET v = 'locked'$$);

-- partitions and other servers: the rights that a call needs are those on the table that it names
INSERT INTO priv.matrix (object, statement) VALUES
    ('key_columns(regclass)', $$SELECT widetable.key_columns('priv.t')$$),
    ('key_columns(regclass)', $$SELECT widetable.key_columns('priv.p')$$),
    ('require_key(regclass,text[])', $$SELECT widetable.require_key('priv.t', '{k}')$$),
    ('get(regclass,text)', $$SELECT widetable.get('priv.p', 'k1')$$),
    ('put(regclass,text,text,"any",bigint,interval)', $$SELECT widetable.put('priv.p', 'k1', 'v', 'x'::text)$$),
    ('increment(regclass,text,text,bigint)', $$SELECT widetable.increment('priv.p', 'k1', 'd:n')$$),
    ('delete_row(regclass,text)', $$SELECT widetable.delete_row('priv.p', 'k1')$$),
    ('raw_cells(regclass,text)', $$SELECT widetable.raw_cells('priv.p', 'k1')$$);

-- settings
INSERT INTO priv.matrix (object, statement) VALUES
    ('setting widetable.as_of', $$SET LOCAL widetable.as_of = '2020-01-01'$$),
    ('setting widetable.clock', $$SET LOCAL widetable.clock = '2020-01-01'$$),
    ('setting widetable.log_bulk', $$SET LOCAL widetable.log_bulk = off$$),
    ('setting widetable.ignore_missing_wal', $$SET LOCAL widetable.ignore_missing_wal = on$$),
    ('setting widetable.write_memory', $$SET LOCAL widetable.write_memory = '1MB'$$),
    ('setting widetable.enable_pushdown', $$SET LOCAL widetable.enable_pushdown = off$$),
    ('setting widetable.enable_parallel_scan', $$SET LOCAL widetable.enable_parallel_scan = off$$),
    ('setting widetable.enable_lookup_ahead', $$SET LOCAL widetable.enable_lookup_ahead = off$$),
    ('setting widetable.enable_direct_modify', $$SET LOCAL widetable.enable_direct_modify = off$$),
    ('setting widetable.enable_index', $$SET LOCAL widetable.enable_index = off$$),
    ('setting widetable.directory', $$SET LOCAL widetable.directory = '/tmp'$$),
    ('setting widetable.cache_size', $$SET LOCAL widetable.cache_size = '2MB'$$),
    ('setting widetable.memtable_size', $$SET LOCAL widetable.memtable_size = '1MB'$$),
    ('setting widetable.row_lock_memory', $$SET LOCAL widetable.row_lock_memory = '1MB'$$),
    ('setting widetable.max_tables', $$SET LOCAL widetable.max_tables = 10$$),
    ('setting widetable.max_tables_per_role', $$SET LOCAL widetable.max_tables_per_role = 10$$),
    ('setting widetable.workers', $$SET LOCAL widetable.workers = 0$$);

-- ---------------------------------------------------------------- the check

-- objects without a row, and rows without an object: none
SELECT o AS "without a row" FROM priv.objects() o WHERE o NOT IN (SELECT object FROM priv.matrix) ORDER BY 1;
SELECT DISTINCT object AS "no such object" FROM priv.matrix
WHERE object NOT LIKE 'D_L%' AND object <> 'extension widetable' AND object NOT IN (SELECT o FROM priv.objects() o) ORDER BY 1;

CREATE TABLE priv.role (no serial, name text, role name);
INSERT INTO priv.role (name, role) VALUES
    ('none', 'regress_wt_none'), ('server', 'regress_wt_server'),
    ('select', 'regress_wt_select'), ('s some', 'regress_wt_select_some'),
    ('insert', 'regress_wt_insert'), ('upsert', 'regress_wt_upsert'), ('u some', 'regress_wt_upsert_some'),
    ('all', 'regress_wt_all'), ('owner', 'regress_wt_owner'), ('member', 'regress_wt_member'),
    ('read_a', 'regress_wt_read_all'), ('writ_a', 'regress_wt_write_all'),
    ('monit', 'regress_wt_monitor'), ('checkp', 'regress_wt_checkpoint'), ('super', 'regress_wt_super');
CREATE FUNCTION priv.line(m priv.matrix) RETURNS text LANGUAGE sql AS
$$
    SELECT string_agg(rpad(priv.outcome(r.role, m.statement, m.prepare), 7), '' ORDER BY r.no) FROM priv.role r
$$;
\pset format unaligned
\pset tuples_only on
BEGIN;
-- USAGE on the server is what a role is given above
REVOKE USAGE ON FOREIGN SERVER widetable FROM PUBLIC;
SELECT string_agg(rpad(name, 7), '' ORDER BY no) || 'statement' FROM priv.role
UNION ALL
SELECT * FROM (SELECT priv.line(m) || m.statement FROM priv.matrix m ORDER BY no) l;
ROLLBACK;
\pset format aligned
\pset tuples_only off

-- nothing is left of what was tried
SELECT * FROM priv.t;
SELECT * FROM priv.i;
SELECT * FROM priv.p;

RESET search_path;
DROP SCHEMA priv, priv_new CASCADE;
DROP OWNED BY regress_wt_none, regress_wt_server, regress_wt_select, regress_wt_select_some, regress_wt_insert,
    regress_wt_upsert, regress_wt_upsert_some, regress_wt_all, regress_wt_owner, regress_wt_member,
    regress_wt_read_all, regress_wt_write_all, regress_wt_monitor, regress_wt_checkpoint, regress_wt_super;
DROP ROLE regress_wt_none, regress_wt_server, regress_wt_select, regress_wt_select_some, regress_wt_insert,
    regress_wt_upsert, regress_wt_upsert_some, regress_wt_all, regress_wt_owner, regress_wt_member,
    regress_wt_read_all, regress_wt_write_all, regress_wt_monitor, regress_wt_checkpoint, regress_wt_super;
