--
-- What commands on a table do to its indexes and roll-ups: types, owners, missing key columns, and
-- dependencies that only the options tell of (as after pg_upgrade).
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE FOREIGN TABLE dd (a int, b text COLLATE "C", v int, w bigint, free int) SERVER widetable OPTIONS (key 'a, b');
INSERT INTO dd SELECT i % 7, i::text, i % 3, i, 0 FROM generate_series(1, 50) i;
CREATE FOREIGN TABLE dd_v (v int) SERVER widetable OPTIONS (index_of 'dd', key 'v');
CREATE FOREIGN TABLE dd_sum (v int, n bigint OPTIONS (aggregate 'count(*)'), w bigint OPTIONS (aggregate 'sum(w)'))
    SERVER widetable OPTIONS (rollup_of 'dd', key 'v');

-- the key columns of the table that an index leaves out are added, with their collation
SELECT attname, attnum, atttypid::regtype, attcollation::regcollation FROM pg_attribute WHERE attrelid = 'dd_v'::regclass AND attnum > 0 ORDER BY attnum;
SELECT * FROM dd_v WHERE v = 2 ORDER BY a, b LIMIT 3;
SELECT * FROM widetable.verify('dd');

-- types: of a column that nothing is derived from; of others; by ALTER TABLE too
CREATE FOREIGN TABLE dd_empty (a int, v int, w int, free int) SERVER widetable OPTIONS (key 'a');
CREATE FOREIGN TABLE dd_empty_v (v int) SERVER widetable OPTIONS (index_of 'dd_empty', key 'v');
CREATE FOREIGN TABLE dd_empty_w (a int, n bigint OPTIONS (aggregate 'sum(w)')) SERVER widetable OPTIONS (rollup_of 'dd_empty', key 'a');
ALTER FOREIGN TABLE dd_empty ALTER COLUMN free TYPE bigint;
ALTER FOREIGN TABLE dd_empty ALTER COLUMN v TYPE bigint;
ALTER TABLE dd_empty ALTER v TYPE bigint;
ALTER FOREIGN TABLE dd_empty ALTER COLUMN w TYPE numeric;
ALTER FOREIGN TABLE dd_empty ALTER COLUMN nowhere TYPE bigint;
ALTER TABLE IF EXISTS dd_nowhere ALTER v TYPE bigint;
CREATE TABLE dd_ordinary (v int);
ALTER TABLE dd_ordinary ALTER v TYPE bigint;

-- owners follow, and none but the table's owner makes an index
CREATE ROLE regress_wt_dd;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_dd;
GRANT CREATE ON SCHEMA public TO regress_wt_dd;
ALTER FOREIGN TABLE dd OWNER TO regress_wt_dd;
SELECT relname, relowner::regrole FROM pg_class WHERE relname LIKE 'dd%' AND relkind = 'f' ORDER BY 1;
SET ROLE regress_wt_dd;
INSERT INTO dd VALUES (100, 'x', 2, 5, 0);
SELECT * FROM dd_v WHERE a = 100;
RESET ROLE;
SELECT * FROM widetable.verify('dd');
BEGIN;
ALTER FOREIGN TABLE dd OWNER TO CURRENT_USER;
ROLLBACK;
SELECT relname, relowner::regrole FROM pg_class WHERE relname LIKE 'dd%' AND relkind = 'f' ORDER BY 1;
REASSIGN OWNED BY regress_wt_dd TO CURRENT_USER;
SELECT relname, pg_get_userbyid(relowner) = current_user AS mine FROM pg_class WHERE relname LIKE 'dd%' AND relkind = 'f' ORDER BY 1;

-- pg_upgrade restores no dependencies: what the options say is enough for writers and queries
DELETE FROM pg_depend WHERE objid IN ('dd_v'::regclass, 'dd_sum'::regclass) AND refobjid = 'dd'::regclass AND deptype = 'a';
\c
SET client_min_messages = warning;
INSERT INTO dd VALUES (101, 'y', 2, 6, 0);
UPDATE dd SET v = 1 WHERE a = 100;
SELECT * FROM dd_v WHERE a >= 100 ORDER BY a;
SELECT * FROM dd_sum ORDER BY v;
SELECT * FROM widetable.verify('dd');
ALTER FOREIGN TABLE dd RENAME TO dd_renamed;
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid IN ('dd_v'::regclass, 'dd_sum'::regclass) ORDER BY 1;
INSERT INTO dd_renamed VALUES (102, 'z', 2, 7, 0);
SELECT * FROM dd_v WHERE a >= 102;
SELECT * FROM widetable.verify('dd_renamed');
-- a command that defines them anew records the dependencies again
ALTER FOREIGN TABLE dd_v OPTIONS (ADD immutable 'false');
SELECT count(*) FROM pg_depend WHERE objid = 'dd_v'::regclass AND refobjid = 'dd_renamed'::regclass AND deptype = 'a' AND refobjsubid = 0;
DROP FOREIGN TABLE dd_empty;
DROP FOREIGN TABLE dd_sum, dd_renamed;
SELECT to_regclass('dd_v');
DROP TABLE dd_ordinary;
REVOKE ALL ON SCHEMA public FROM regress_wt_dd;
REVOKE ALL ON FOREIGN SERVER widetable FROM regress_wt_dd;
DROP ROLE regress_wt_dd;

-- a cell with a time to live of its own, from before there was an index or a roll-up
CREATE FOREIGN TABLE dd_brief (k int, v int, other int) SERVER widetable OPTIONS (key 'k');
SELECT widetable.put('dd_brief', 2, 'd:v', 5, ttl => '1 hour');
CREATE FOREIGN TABLE dd_brief_v (v int) SERVER widetable OPTIONS (index_of 'dd_brief', key 'v');
CREATE FOREIGN TABLE dd_brief_n (v int, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'dd_brief', key 'v');
CREATE FOREIGN TABLE dd_brief_other (other int) SERVER widetable OPTIONS (index_of 'dd_brief', key 'other');
UPDATE dd_brief SET v = 6 WHERE k = 2;
CREATE FOREIGN TABLE dd_brief_v (v int) SERVER widetable OPTIONS (index_of 'dd_brief', key 'v');
SELECT * FROM dd_brief_v;
SELECT * FROM widetable.verify('dd_brief');
DROP FOREIGN TABLE dd_brief;

-- a restore of a dump that has the rows of foreign tables: those of indexes and roll-ups are no error, and change nothing
CREATE FOREIGN TABLE dd_dump (k int, v int) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dd_dump_v (v int) SERVER widetable OPTIONS (index_of 'dd_dump', key 'v');
INSERT INTO dd_dump VALUES (1, 2);
INSERT INTO dd_dump_v VALUES (2, 1);
SET check_function_bodies = off;
INSERT INTO dd_dump_v VALUES (3, 4) RETURNING *;
COPY dd_dump_v FROM stdin;
5	6
\.
UPDATE dd_dump_v SET v = 7;
DELETE FROM dd_dump_v;
SELECT widetable.put('dd_dump_v', '(1,2)', 'd:x', '1');
RESET check_function_bodies;
SELECT * FROM dd_dump_v;
SELECT * FROM widetable.verify('dd_dump');
DROP FOREIGN TABLE dd_dump;

-- what follows from a row that INSERT makes: read only if there was something of the row before
CREATE FOREIGN TABLE dd_new (k int, v int, w int) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dd_new_v (v int, w int) SERVER widetable OPTIONS (index_of 'dd_new', key 'v');
CREATE FOREIGN TABLE dd_new_n (v int, n bigint OPTIONS (aggregate 'count(*)'), s bigint OPTIONS (aggregate 'sum(w)')) SERVER widetable OPTIONS (rollup_of 'dd_new', key 'v');
CREATE FUNCTION dd_same() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE WHEN EXISTS (SELECT FROM widetable.verify('dd_new')) THEN 'DIFFERENT' ELSE 'same' END ||
        coalesce((SELECT string_agg(r::text, ' ' ORDER BY r) FROM dd_new r), '');
END $$;
COPY dd_new FROM stdin;
1	1	1
2	1	\N
1	2	2
3	\N	3
\.
SELECT dd_same();
BEGIN;
INSERT INTO dd_new VALUES (4, 1, 1);
INSERT INTO dd_new VALUES (4, 2, 2);
SAVEPOINT a;
INSERT INTO dd_new VALUES (5, 1, 1);
ROLLBACK TO a;
INSERT INTO dd_new VALUES (5, 2);
INSERT INTO dd_new VALUES (5, 3);
DELETE FROM dd_new WHERE k = 1;
INSERT INTO dd_new VALUES (1, 7, 7);
SELECT dd_same();
COMMIT;
SELECT dd_same();
DELETE FROM dd_new WHERE k = 1;
INSERT INTO dd_new VALUES (1, 8, 8);
SELECT dd_same();
BEGIN;
INSERT INTO dd_new VALUES (6, 1, 1);
ROLLBACK;
INSERT INTO dd_new VALUES (6, NULL, NULL), (6, 2, NULL), (7, 7, 7) RETURNING *;
SELECT dd_same();
-- deletes with a timestamp ahead of the clock
SELECT widetable.delete_column('dd_new', 20, 'd:v', ts => 4102444800000000);
SELECT widetable.delete_family('dd_new', 21, 'd', ts => 4102444800000000);
INSERT INTO dd_new VALUES (20, 20, 20), (21, 21, 21);
SELECT dd_same();
-- the index is made in the transaction that has written rows before
BEGIN;
CREATE FOREIGN TABLE dd_late (k int, v int) SERVER widetable OPTIONS (key 'k');
INSERT INTO dd_late VALUES (1, 1), (2, 2);
CREATE FOREIGN TABLE dd_late_v (v int) SERVER widetable OPTIONS (index_of 'dd_late', key 'v');
INSERT INTO dd_late VALUES (1, 3), (4, 4);
TRUNCATE dd_late;
INSERT INTO dd_late VALUES (1, 5), (5, 5), (5, 6);
COMMIT;
SELECT * FROM dd_late_v;
SELECT * FROM widetable.verify('dd_late');
DROP FOREIGN TABLE dd_new, dd_late;
DROP FUNCTION dd_same;

-- values that are not shown as they were written: what follows from them is what is shown
CREATE FOREIGN TABLE dd_price (id int, price numeric OPTIONS (encoding 'ordered'), tags jsonb OPTIONS (family 't')) SERVER widetable OPTIONS (key 'id');
CREATE FOREIGN TABLE dd_price_i (id int, price numeric) SERVER widetable OPTIONS (index_of 'dd_price', key 'id');
CREATE FOREIGN TABLE dd_price_r (p text OPTIONS (expr 'price::text'), kind text OPTIONS (expr 'jsonb_typeof(tags->''a'')'), n bigint OPTIONS (aggregate 'count(*)'))
    SERVER widetable OPTIONS (rollup_of 'dd_price', key 'p, kind', immutable 'true');
INSERT INTO dd_price VALUES (1, 1.00, '{"a": 5}'), (2, 1, '{"a": "x"}');
SELECT * FROM dd_price_i;
SELECT * FROM dd_price_r;
SELECT * FROM widetable.verify('dd_price');
DROP FOREIGN TABLE dd_price;

-- ALTER of a roll-up builds it anew: names, aggregates, the time zone
SET timezone = 'UTC';
CREATE FOREIGN TABLE dd_day (k int, at timestamptz, v int) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dd_day_r (day date OPTIONS (expr 'at::date'), n bigint OPTIONS (aggregate 'count(v)')) SERVER widetable OPTIONS (rollup_of 'dd_day', key 'day');
INSERT INTO dd_day VALUES (1, '2026-01-01 23:30Z', 1), (2, '2026-01-01 12:00Z', 2);
ALTER FOREIGN TABLE dd_day_r RENAME n TO m;
SELECT * FROM dd_day_r;
ALTER FOREIGN TABLE dd_day_r OPTIONS (SET timezone 'Europe/Paris');
SELECT * FROM dd_day_r;
ALTER FOREIGN TABLE dd_day_r ALTER m OPTIONS (SET aggregate 'max(v)');
ALTER FOREIGN TABLE dd_day_r ALTER m OPTIONS (SET aggregate 'max(v)', DROP "column");
INSERT INTO dd_day VALUES (3, '2026-01-02 23:30Z', 3);
SELECT * FROM dd_day_r;
SELECT * FROM widetable.verify('dd_day');
DROP FOREIGN TABLE dd_day;

-- whose rights: a build and verify() evaluate expressions as the owner; who reads the table evaluates none
CREATE ROLE regress_wt_dd_owner;
CREATE ROLE regress_wt_dd_reader;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_dd_owner, regress_wt_dd_reader;
GRANT CREATE ON SCHEMA public TO regress_wt_dd_owner;
SET ROLE regress_wt_dd_owner;
CREATE FUNCTION dd_as(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'as %', current_user; RETURN $1; END $$;
CREATE FOREIGN TABLE dd_rights (k int, v int) SERVER widetable OPTIONS (key 'k');
INSERT INTO dd_rights VALUES (1, 1);
CREATE FOREIGN TABLE dd_rights_r (v int OPTIONS (expr 'dd_as(v)'), n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'dd_rights', key 'v');
GRANT SELECT ON dd_rights TO regress_wt_dd_reader;
REVOKE EXECUTE ON FUNCTION dd_as FROM PUBLIC;
RESET ROLE;
SELECT * FROM widetable.verify('dd_rights');
ALTER FOREIGN TABLE dd_rights_r ADD COLUMN s bigint OPTIONS (aggregate 'sum(k)');
SET ROLE regress_wt_dd_reader;
SELECT * FROM dd_rights;
RESET ROLE;
DROP FOREIGN TABLE dd_rights;
DROP FUNCTION dd_as;
REVOKE ALL ON SCHEMA public FROM regress_wt_dd_owner;
REVOKE ALL ON FOREIGN SERVER widetable FROM regress_wt_dd_owner, regress_wt_dd_reader;
DROP ROLE regress_wt_dd_owner, regress_wt_dd_reader;

-- an index that is built online can be dropped at once, and afterwards
CREATE FOREIGN TABLE dd_online (k int, v int) SERVER widetable OPTIONS (key 'k');
INSERT INTO dd_online SELECT i, i % 10 FROM generate_series(1, 30000) i;
SET lock_timeout = '60s';
CREATE FOREIGN TABLE dd_online_v (v int) SERVER widetable OPTIONS (index_of 'dd_online', key 'v', build 'online');
DROP FOREIGN TABLE dd_online_v;
CREATE FOREIGN TABLE dd_online_v (v int) SERVER widetable OPTIONS (index_of 'dd_online', key 'v', build 'online');
CREATE PROCEDURE dd_wait() LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. 6000 LOOP
        COMMIT;
        EXIT WHEN NOT EXISTS (SELECT FROM pg_foreign_table, unnest(ftoptions) o WHERE ftrelid = 'dd_online_v'::regclass AND o LIKE 'progress=%');
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$;
CALL dd_wait();
SELECT count(*), sum(k) FROM dd_online_v WHERE v = 3;
EXPLAIN (COSTS OFF) SELECT k FROM dd_online WHERE v = 3 ORDER BY k LIMIT 5;
SELECT * FROM widetable.verify('dd_online');
DROP FOREIGN TABLE dd_online;
DROP PROCEDURE dd_wait;

-- tables of others, in schemas that a role may not use, are no obstacle
CREATE ROLE regress_wt_dd;
CREATE SCHEMA dd_closed;
CREATE FOREIGN TABLE dd_closed.t (k int, v int) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dd_open_v (v int) SERVER widetable OPTIONS (index_of 'dd_closed.t', key 'v');
INSERT INTO dd_closed.t VALUES (1, 2);
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_dd;
GRANT CREATE ON SCHEMA public TO regress_wt_dd;
GRANT SELECT ON dd_open_v TO regress_wt_dd;
SET ROLE regress_wt_dd;
SELECT * FROM dd_open_v;
SELECT * FROM dd_closed.t;
CREATE FOREIGN TABLE dd_own (k int, v int) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dd_own_v (v int) SERVER widetable OPTIONS (index_of 'dd_own', key 'v');
INSERT INTO dd_own VALUES (3, 4);
SELECT * FROM dd_own_v;
CREATE FOREIGN TABLE dd_other (v int) SERVER widetable OPTIONS (index_of 'dd_closed.t', key 'v');
CREATE FOREIGN TABLE dd_other (v int) SERVER widetable OPTIONS (index_of 'dd_none.t', key 'v');
DROP FOREIGN TABLE dd_own;
RESET ROLE;
DROP SCHEMA dd_closed CASCADE;
REVOKE ALL ON SCHEMA public FROM regress_wt_dd;
REVOKE ALL ON FOREIGN SERVER widetable FROM regress_wt_dd;
DROP ROLE regress_wt_dd;

-- a table whose rows are no longer declared to be written once, in the transaction that has written them without locks
CREATE FOREIGN TABLE dd_once (k int, v int) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dd_once_v (v int) SERVER widetable OPTIONS (index_of 'dd_once', key 'v', immutable 'true');
BEGIN;
INSERT INTO dd_once VALUES (1, 1);
ALTER FOREIGN TABLE dd_once_v OPTIONS (SET immutable 'false');
INSERT INTO dd_once VALUES (1, 2);
COMMIT;
SELECT * FROM dd_once_v;
SELECT * FROM widetable.verify('dd_once');
DROP FOREIGN TABLE dd_once;
