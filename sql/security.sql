--
-- Privileges, and which user owns stored data when names change.
--
SET client_min_messages = warning;
CREATE ROLE regress_wt_owner;
CREATE ROLE regress_wt_other;
GRANT CREATE ON SCHEMA public TO regress_wt_owner, regress_wt_other;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_owner, regress_wt_other;
CREATE SCHEMA sec;
GRANT ALL ON SCHEMA sec TO regress_wt_owner, regress_wt_other;

-- the privilege to use the server is granted by an administrator, and the error says so
CREATE ROLE regress_wt_nobody;
GRANT ALL ON SCHEMA sec TO regress_wt_nobody;
SET ROLE regress_wt_nobody;
CREATE FOREIGN TABLE sec.a (k text COLLATE "C", v text) SERVER widetable;
RESET ROLE;
DROP OWNED BY regress_wt_nobody;
DROP ROLE regress_wt_nobody;

SET ROLE regress_wt_owner;
CREATE FOREIGN TABLE sec.a (k text COLLATE "C", v text, s text, n bigint) SERVER widetable;
INSERT INTO sec.a VALUES ('k1', 'x', 'secret', 1), ('k2', 'y', 'secret', 2);
GRANT SELECT (k, v, n), INSERT (n), UPDATE (n) ON sec.a TO regress_wt_other;

-- the views show the numbers of a table to users with SELECT on it, and to no others
SELECT relation, table_name FROM widetable.pg_stat_widetable_tables WHERE table_name LIKE 'sec.%';
SELECT relation, family FROM widetable.pg_stat_widetable_families WHERE table_name LIKE 'sec.%';
SET ROLE regress_wt_other;
SELECT relation, table_name FROM widetable.pg_stat_widetable_tables WHERE table_name LIKE 'sec.%';
SELECT count(*) FROM widetable.stat_families() WHERE table_name LIKE 'sec.%';
SELECT count(*) FROM widetable.pg_stat_widetable;
SELECT count(*) FROM widetable.pg_stat_widetable_files;

-- functions obey table and column privileges
SELECT widetable.get('sec.a', 'k1');
SELECT * FROM widetable.cells('sec.a', 'k1');
SELECT widetable.split_keys('sec.a', 2);
SELECT widetable.increment('sec.a', 'k1', 'n');
SELECT widetable.increment('sec.a', 'k1', 'd:n');
SELECT widetable.append('sec.a', 'k1', 's', 'x');
SELECT widetable.check_and_mutate('sec.a', 'k1', 's', '=', 'secret', '[]');
SELECT widetable.check_and_mutate('sec.a', 'k1', 'v', '=', 'x', '[{"put": {"s": "y"}}]');
SELECT widetable.delete_row('sec.a', 'k1');
SELECT widetable.delete_family('sec.a', 'k1', 'd');
SELECT widetable.flush('sec.a');
SELECT * FROM widetable.verify('sec.a');
SELECT * FROM widetable.raw_cells('sec.a', 'k1');
EXPLAIN SELECT s FROM sec.a WHERE k = 'k1';

-- keys are data: pg_monitor sees the files, but their keys only with SELECT
RESET ROLE;
SELECT widetable.flush();
GRANT pg_monitor TO regress_wt_other;
SELECT min_key IS NULL AS hidden FROM widetable.pg_stat_widetable_files WHERE table_name = 'sec.a';
SET ROLE regress_wt_other;
SELECT min_key IS NULL AS hidden FROM widetable.pg_stat_widetable_files WHERE table_name = 'sec.a';

-- naming the stored table of another owner, existing or future
CREATE FOREIGN TABLE sec.b (k text COLLATE "C", s text) SERVER widetable OPTIONS (table_name 'sec.a');
CREATE FOREIGN TABLE sec.b (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'sec.future');
ALTER FOREIGN TABLE sec.b OPTIONS (SET table_name 'sec.a');
SET ROLE regress_wt_owner;
CREATE FOREIGN TABLE sec.future (k text COLLATE "C", v text) SERVER widetable;
RESET ROLE;
CREATE FOREIGN TABLE sec.future (k text COLLATE "C", v text) SERVER widetable;
DROP FOREIGN TABLE sec.b;

-- a leaky function does not see rows that a security_barrier view hides
CREATE FUNCTION sec.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
$$BEGIN RAISE WARNING 'seen: %', $1; RETURN true; END$$;
CREATE VIEW sec.barrier WITH (security_barrier) AS SELECT k, v FROM sec.a WHERE v = 'y';
SELECT * FROM sec.barrier WHERE sec.leak(k);
EXPLAIN (COSTS OFF) SELECT * FROM sec.barrier WHERE k = 'k2';
EXPLAIN (COSTS OFF) SELECT * FROM sec.barrier WHERE k LIKE 'k%';
DROP VIEW sec.barrier;

-- objects of the user that are in front of pg_catalog are not called
CREATE FUNCTION sec.pg_event_trigger_ddl_commands() RETURNS TABLE (objid oid, classid oid) LANGUAGE plpgsql AS
$$BEGIN RAISE 'called'; END$$;
SET search_path = sec, public, pg_catalog;
CREATE FOREIGN TABLE sec.c (k text COLLATE "C", v text) SERVER widetable;
DROP FOREIGN TABLE sec.c;
RESET search_path;
DROP FUNCTION sec.pg_event_trigger_ddl_commands();

-- a stored table that has the name of its foreign table is renamed with it: the
-- old name is free, and a new table of that name is empty
ALTER FOREIGN TABLE sec.a RENAME TO a_old;
CREATE FOREIGN TABLE sec.a (k text COLLATE "C", v text) SERVER widetable;
SELECT * FROM sec.a;
SELECT k, v FROM sec.a_old ORDER BY k;
INSERT INTO sec.a VALUES ('new', 'a');
CREATE SCHEMA sec2;
ALTER FOREIGN TABLE sec.a SET SCHEMA sec2;
ALTER SCHEMA sec2 RENAME TO sec3;
CREATE SCHEMA sec2;
CREATE FOREIGN TABLE sec2.a (k text COLLATE "C", v text) SERVER widetable;
SELECT * FROM sec2.a;
SELECT * FROM sec3.a;
SELECT relation, table_name FROM widetable.pg_stat_widetable_tables
WHERE table_name LIKE 'sec%' ORDER BY relation::text COLLATE "C";
BEGIN;
ALTER FOREIGN TABLE sec3.a RENAME TO b;
CREATE FOREIGN TABLE sec3.a (k text COLLATE "C", v text) SERVER widetable;
SELECT * FROM sec3.a;
SELECT * FROM sec3.b;
ROLLBACK;
SELECT * FROM sec3.a;
-- with option table_name the name stays
CREATE FOREIGN TABLE sec2.n (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'sec.n');
ALTER FOREIGN TABLE sec2.n RENAME TO m;
SELECT table_name FROM widetable.pg_stat_widetable_tables WHERE relation = 'sec2.m'::regclass;

-- layout cells with text columns: bytes that are not text are shown as \x...,
-- and what is shown can be used to name them
CREATE FOREIGN TABLE sec.r (k text COLLATE "C", b text OPTIONS (column 'd:\xff'), n bigint) SERVER widetable;
CREATE FOREIGN TABLE sec.r_cells (k text COLLATE "C", family text, qualifier text, ts timestamptz, value text)
    SERVER widetable OPTIONS (table_name 'sec.r', layout 'cells');
INSERT INTO sec.r VALUES ('a', 'x', 1), ('b', 'y', 2);
SELECT k, family, qualifier, value FROM sec.r_cells;
DELETE FROM sec.r_cells WHERE k = 'a' AND qualifier = '\xff';
UPDATE sec.r_cells SET value = value || '!' WHERE k = 'b' AND qualifier = '\xff';
UPDATE sec.r_cells SET value = '\x0000000000000007' WHERE k = 'a' AND qualifier = 'n';
INSERT INTO sec.r_cells (k, family, qualifier, value) SELECT 'c', family, qualifier, value FROM sec.r_cells WHERE k = 'b';
SELECT * FROM sec.r;
-- put accepts what get shows
SELECT widetable.put('sec.r', 'p', '{"d:u": "\\x00ff"}'::jsonb);
SELECT widetable.get('sec.r', 'p');
SELECT value FROM widetable.cells('sec.r', 'p');
-- the last years of the timestamp range
SET widetable.as_of = '294276-12-31';
SELECT count(*) FROM sec.r;
RESET widetable.as_of;

-- DROP EXTENSION drops the event trigger as well, and the stored rows must not
-- reappear in a new table of an old name
DROP EXTENSION widetable CASCADE;
CREATE EXTENSION widetable;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_other;
SET ROLE regress_wt_other;
CREATE FOREIGN TABLE sec.r (k text COLLATE "C", n bigint) SERVER widetable;
SELECT * FROM sec.r;
SELECT table_name FROM widetable.pg_stat_widetable_tables;
RESET ROLE;

DROP SCHEMA sec, sec2, sec3 CASCADE;
DROP OWNED BY regress_wt_owner, regress_wt_other;
DROP ROLE regress_wt_owner, regress_wt_other;
