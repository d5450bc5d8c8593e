-- system columns of wide tables, but for tableoid, are refused wherever a statement reads them
\set SHOW_CONTEXT never
CREATE FOREIGN TABLE sc_wide (k int, "K 2" text COLLATE "C", v int) SERVER widetable OPTIONS (key 'k, "K 2"');
CREATE FOREIGN TABLE sc_cells (k int, "K 2" text COLLATE "C", family text, qualifier text, ts timestamptz, value text)
    SERVER widetable OPTIONS (table_name 'public.sc_wide', layout 'cells', key 'k, "K 2"');
INSERT INTO sc_wide SELECT g, 'x', g FROM generate_series(1, 5) g;
CREATE TABLE sc_heap (k int, v int);
INSERT INTO sc_heap SELECT g, g FROM generate_series(1, 5) g;

-- target lists
SELECT ctid FROM sc_wide;
SELECT xmin FROM sc_wide;
SELECT xmax, cmin FROM sc_cells;
SELECT ctid FROM sc_cells;
SELECT count(ctid) FROM sc_wide;
SELECT k, count(*) OVER (ORDER BY cmax::text) FROM sc_wide;
SELECT tableoid::regclass, sc_wide FROM sc_wide WHERE k = 1;
SELECT (SELECT xmin FROM sc_wide LIMIT 1);
SELECT (SELECT w.ctid) FROM sc_wide w;
SELECT 1 FROM sc_wide w, LATERAL (SELECT w.ctid AS c OFFSET 0) s WHERE s.c IS NULL;
SELECT DISTINCT ctid FROM sc_wide;
SELECT v FROM sc_wide ORDER BY ctid;
SELECT max(v) FROM sc_wide GROUP BY ctid;
SELECT max(v) FROM sc_wide GROUP BY v HAVING min(ctid) IS NULL;
-- conditions
SELECT * FROM sc_wide WHERE ctid = '(0,1)';
SELECT * FROM sc_wide WHERE ctid = ANY ('{"(0,1)"}'::tid[]);
SELECT * FROM sc_wide WHERE ctid = '(0,1)';
SELECT * FROM sc_wide WHERE NOT xmin = '1';
SELECT * FROM sc_wide w JOIN sc_heap h ON w.ctid = h.ctid;
SELECT * FROM sc_heap h LEFT JOIN sc_wide w ON w.ctid = h.ctid;
SELECT * FROM sc_heap WHERE ctid IN (SELECT ctid FROM sc_wide);
SELECT * FROM sc_heap h WHERE EXISTS (SELECT FROM sc_wide w WHERE w.ctid = h.ctid);
SELECT * FROM sc_wide TABLESAMPLE system (10);
PREPARE sc_q (tid) AS DELETE FROM sc_wide WHERE ctid = $1;
EXECUTE sc_q ('(0,1)');
DEALLOCATE sc_q;
-- changes
UPDATE sc_wide SET v = 0 WHERE ctid = '(0,1)';
DELETE FROM sc_wide WHERE ctid = '(4294967295,0)';
UPDATE sc_wide SET v = length(ctid::text);
DELETE FROM sc_wide w USING sc_heap h WHERE w.ctid = h.ctid;
DELETE FROM sc_wide WHERE k = 1 RETURNING ctid;
UPDATE sc_wide SET v = 0 RETURNING xmin;
UPDATE sc_wide SET k = 0 RETURNING xmin;
UPDATE sc_wide SET v = h.v FROM sc_heap h WHERE h.k = sc_wide.k RETURNING h.ctid, sc_wide.ctid;
INSERT INTO sc_wide VALUES (9, 'x', 9) RETURNING ctid;
INSERT INTO sc_wide VALUES (9, 'x', 9) ON CONFLICT DO NOTHING RETURNING k, cmin;
INSERT INTO sc_wide SELECT k, ctid::text, v FROM sc_wide;
INSERT INTO sc_heap SELECT k, length(ctid::text) FROM sc_wide;
WITH d AS (DELETE FROM sc_wide RETURNING ctid) SELECT count(*) FROM d;
MERGE INTO sc_heap h USING sc_wide w ON h.k = w.k WHEN MATCHED THEN UPDATE SET v = length(w.ctid::text);
INSERT INTO sc_cells VALUES (9, 'x', 'd', 'v', NULL, '1') RETURNING ctid;
SET widetable.enable_direct_modify = off;
UPDATE sc_wide SET v = 0 WHERE ctid = '(0,1)';
DELETE FROM sc_wide WHERE k = 1 RETURNING ctid;
RESET widetable.enable_direct_modify;
BEGIN;
DECLARE sc_c CURSOR FOR SELECT * FROM sc_wide;
FETCH sc_c;
DELETE FROM sc_wide WHERE CURRENT OF sc_c;
ROLLBACK;
-- views, functions
CREATE VIEW sc_view AS SELECT *, ctid AS c FROM sc_wide;
SELECT k FROM sc_view WHERE k = 1;
SELECT c FROM sc_view WHERE k = 1;
UPDATE sc_view SET v = 0 WHERE c <> '(0,1)';
CREATE VIEW sc_checked AS SELECT * FROM sc_wide WHERE ctid <> '(0,1)' WITH CHECK OPTION;
INSERT INTO sc_checked VALUES (9, 'x', 9);
CREATE FUNCTION sc_set() RETURNS SETOF tid LANGUAGE sql STABLE AS 'SELECT ctid FROM sc_wide';
SELECT * FROM sc_set();
CREATE FUNCTION sc_one() RETURNS tid LANGUAGE sql AS 'SELECT ctid FROM sc_wide LIMIT 1';
SELECT sc_one();
DO $$BEGIN DELETE FROM sc_wide WHERE ctid = '(0,1)'; END$$;
EXPLAIN SELECT ctid FROM sc_wide;
-- nothing has changed
SELECT count(*), sum(k), sum(v) FROM sc_wide;
SELECT count(*), sum(k), sum(v) FROM sc_heap;

-- parents with ordinary and wide children
CREATE TABLE sc_parent (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE sc_low PARTITION OF sc_parent FOR VALUES FROM (0) TO (10);
CREATE FOREIGN TABLE sc_high PARTITION OF sc_parent FOR VALUES FROM (10) TO (20) SERVER widetable OPTIONS (key 'k');
CREATE TABLE sc_mid PARTITION OF sc_parent FOR VALUES FROM (20) TO (40) PARTITION BY RANGE (k);
CREATE TABLE sc_mid1 PARTITION OF sc_mid FOR VALUES FROM (20) TO (30);
CREATE FOREIGN TABLE sc_mid2 PARTITION OF sc_mid FOR VALUES FROM (30) TO (40) SERVER widetable OPTIONS (key 'k');
INSERT INTO sc_parent SELECT g, g FROM generate_series(5, 35, 5) g;
SELECT ctid FROM sc_parent;
SELECT ctid FROM sc_parent WHERE k < 10;
SELECT tableoid::regclass, * FROM sc_parent ORDER BY k;
UPDATE sc_parent SET v = 0 WHERE ctid = '(0,1)';
UPDATE sc_parent SET v = 0 WHERE k < 10 AND ctid = '(0,1)';
DELETE FROM sc_parent WHERE ctid IN (SELECT ctid FROM sc_parent LIMIT 1);
INSERT INTO sc_parent VALUES (6, 6) RETURNING ctid;
INSERT INTO sc_parent VALUES (11, 11) RETURNING ctid;
UPDATE sc_parent SET k = k + 10 WHERE k = 5 RETURNING ctid;
UPDATE sc_parent SET v = v + 1 WHERE k >= 10 RETURNING tableoid::regclass, cmin;
SELECT count(*), sum(k), sum(v) FROM sc_parent;
-- PostgreSQL marks rows of such parents with a ctid of its own
UPDATE sc_parent SET v = v + 1;
UPDATE sc_parent SET v = v + 1 WHERE k IN (6, 10) RETURNING tableoid::regclass, k, v;
DELETE FROM sc_parent WHERE k IN (6, 10, 35) RETURNING tableoid::regclass, k;
SELECT tableoid::regclass, * FROM sc_parent ORDER BY k FOR UPDATE;
SELECT * FROM sc_parent WHERE k > 10 ORDER BY k FOR UPDATE;
SELECT ctid, * FROM sc_parent ORDER BY k FOR UPDATE;
SELECT * FROM sc_parent WHERE ctid = '(0,1)' FOR UPDATE;
SELECT p.k FROM sc_parent p, LATERAL (SELECT p.ctid AS c OFFSET 0) s WHERE s.c IS NOT NULL FOR UPDATE OF p;
SELECT p.k, (SELECT max(v) FROM sc_wide w WHERE w.k = p.k AND p.ctid <> '(0,1)') FROM sc_parent p FOR UPDATE OF p;
SELECT p.k FROM sc_parent p WHERE EXISTS (SELECT FROM sc_wide w WHERE w.k * 5 = p.k) ORDER BY 1 FOR UPDATE OF p;
SELECT xmin, * FROM sc_parent ORDER BY k FOR UPDATE;
UPDATE sc_heap h SET v = p.v FROM sc_parent p WHERE p.k = h.k * 5;
UPDATE sc_wide w SET v = p.v FROM sc_parent p WHERE p.k = w.k * 5;
DELETE FROM sc_wide w USING sc_parent p WHERE p.k = w.k * 5 AND p.ctid <> '(0,1)';
DELETE FROM sc_wide w USING sc_parent p WHERE p.k = w.k * 5 AND p.k = 25;
MERGE INTO sc_heap h USING sc_parent p ON h.k * 5 = p.k WHEN MATCHED THEN UPDATE SET v = p.v + 1;
SELECT * FROM sc_heap ORDER BY k;
SELECT * FROM sc_wide ORDER BY k;
-- inheritance
CREATE TABLE sc_base (k int, v int);
INSERT INTO sc_base VALUES (1, 1);
CREATE FOREIGN TABLE sc_child () INHERITS (sc_base) SERVER widetable OPTIONS (key 'k');
INSERT INTO sc_child VALUES (2, 2);
SELECT ctid FROM sc_base;
SELECT ctid FROM ONLY sc_base;
SELECT * FROM sc_base ORDER BY k FOR UPDATE;
UPDATE sc_base SET v = v + 1 RETURNING tableoid::regclass, *;
UPDATE sc_base SET v = v + 1 RETURNING ctid;
DELETE FROM sc_base WHERE ctid = '(0,2)';
-- UNION ALL
SELECT c FROM (SELECT ctid AS c FROM sc_heap UNION ALL SELECT ctid FROM sc_wide) s;
UPDATE sc_heap SET v = s.v FROM (SELECT k, v FROM sc_base UNION ALL SELECT k, v FROM sc_wide WHERE k > 2) s WHERE s.k = sc_heap.k;
SELECT * FROM sc_heap ORDER BY k;
-- triggers need the whole row, and no system column
CREATE FUNCTION sc_note() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE NOTICE '% % %: % %', TG_WHEN, TG_OP, TG_TABLE_NAME, OLD, NEW; RETURN coalesce(NEW, OLD); END$$;
CREATE TRIGGER sc_before BEFORE INSERT OR UPDATE OR DELETE ON sc_parent FOR EACH ROW EXECUTE FUNCTION sc_note();
CREATE TRIGGER sc_after AFTER INSERT OR UPDATE OR DELETE ON sc_parent FOR EACH ROW EXECUTE FUNCTION sc_note();
INSERT INTO sc_parent VALUES (12, 12);
UPDATE sc_parent SET v = 13 WHERE k = 12;
DELETE FROM sc_parent WHERE k = 12;
DROP TABLE sc_parent, sc_base, sc_heap CASCADE;
DROP FUNCTION sc_note, sc_set, sc_one;
DROP FOREIGN TABLE sc_wide, sc_cells CASCADE;
