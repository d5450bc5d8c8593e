--
-- What the statements and commands around a foreign table may rely on: EXPLAIN
-- reads nothing, plans follow ALTER, rows that a view hides stay hidden, dropped
-- and added columns, system columns, inheritance, commands that do not apply.
--
SET client_min_messages = warning;
CREATE SCHEMA man;
SET search_path = man, public;
CREATE ROLE regress_wt_man;
GRANT USAGE ON SCHEMA man TO regress_wt_man;

-- EXPLAIN reads no cell; EXPLAIN ANALYZE does, which shows that the counters work
CREATE FOREIGN TABLE t (a text COLLATE "C", b int, v int, s text) SERVER widetable OPTIONS (key 'a, b');
INSERT INTO t SELECT 'k' || g % 10, g, g * 2, 'text ' || g FROM generate_series(1, 2000) g;
SELECT widetable.flush('t');
CREATE FUNCTION reads() RETURNS bigint LANGUAGE sql AS
$$SELECT rows_read + cells_read + gets + scans FROM widetable.pg_stat_widetable$$;
CREATE FUNCTION explain_reads(query text, options text DEFAULT 'COSTS OFF') RETURNS boolean LANGUAGE plpgsql AS
$$DECLARE before bigint := reads(); BEGIN
	EXECUTE format('EXPLAIN (%s) %s', options, query);
	RETURN reads() <> before;
END$$;
SELECT query, explain_reads(query), explain_reads(query, 'ANALYZE')
FROM (VALUES ('SELECT * FROM t'),
             ('SELECT * FROM t WHERE a = ''k1'' AND b BETWEEN 5 AND 500'),
             ('SELECT * FROM t WHERE a > ''k1'' AND v = 7'),
             ('SELECT a, count(*), sum(v) FROM t GROUP BY a'),
             ('SELECT DISTINCT a FROM t'),
             ('SELECT max(b) FROM t WHERE a = ''k3'''),
             ('SELECT * FROM t x JOIN t y USING (a, b) WHERE x.v = 8'),
             ('SELECT * FROM t WHERE b = ANY (ARRAY(SELECT b FROM t WHERE v < 100)) FOR UPDATE'),
             ('UPDATE t SET v = 2 * b WHERE a = ''k1'' AND b < 50'),
             ('DELETE FROM t WHERE b = -1')) AS q (query);

-- a rescan reuses its cursor: files are opened once
CREATE FUNCTION files(query text) RETURNS SETOF text LANGUAGE plpgsql AS
$$DECLARE l text; BEGIN
	FOR l IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF l ~ 'Foreign Scan|Files|Seeks' THEN RETURN NEXT trim(regexp_replace(l, 'rows=(\d+)\.00', 'rows=\1')); END IF;
	END LOOP;
END$$;
SELECT * FROM files('SELECT s FROM generate_series(1, 500) g, LATERAL (SELECT s FROM t WHERE a = ''k'' || g % 10 AND b = g OFFSET 0) x');
SELECT * FROM files('SELECT (SELECT s FROM t WHERE a = ''k'' || g % 10 AND b = g) FROM generate_series(1, 500) g');

-- a leaky function does not see rows that a security_barrier view hides
CREATE FUNCTION leak(anyelement) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
$$BEGIN IF $1::text ~ '[13579]$' THEN RAISE WARNING 'seen: %', $1; END IF; RETURN true; END$$;
CREATE FUNCTION less_leaky(int, int) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
$$BEGIN IF $1 % 2 = 1 THEN RAISE WARNING 'seen: %', $1; END IF; RETURN $1 < $2; END$$;
CREATE OPERATOR <<< (LEFTARG = int, RIGHTARG = int, FUNCTION = less_leaky, RESTRICT = scalarltsel);
CREATE VIEW even WITH (security_barrier) AS SELECT * FROM t WHERE b % 2 = 0;
CREATE VIEW half WITH (security_barrier) AS SELECT * FROM t WHERE v % 4 = 0 AND a IN ('k2', 'k3', 'k4');
GRANT SELECT, INSERT, UPDATE, DELETE ON even, half TO regress_wt_man;
SET ROLE regress_wt_man;
SELECT count(*) FROM even WHERE leak(b);
SELECT count(*) FROM even WHERE b <<< 11;
SELECT count(*) FROM even WHERE a = 'k4' AND leak(b) AND b < 100 AND v > 3;
SELECT DISTINCT a FROM even WHERE leak(b) ORDER BY a;
SELECT a, count(*), max(b) FROM even WHERE leak(b) GROUP BY a HAVING leak(max(b)) ORDER BY a;
SELECT count(*) FILTER (WHERE leak(b)) FROM even;
SELECT a, b FROM even WHERE leak(b) ORDER BY a DESC, b DESC LIMIT 2;
SELECT min(b), max(b) FROM half WHERE leak(a || '2') AND leak(v);
SELECT count(*) FROM half WHERE (a, b) > ('k2', 100) AND leak(v);
-- a division that would fail on a hidden row (b = 1)
SELECT count(*) FROM even WHERE 10 / (b - 1) > 0;
SELECT count(*) FROM even WHERE a = 'k1' AND 10 / (b - 1) > 0;
UPDATE even SET s = 'changed' WHERE leak(b) AND b < 20 RETURNING a, b, s;
UPDATE even SET v = v WHERE b <<< 10;
DELETE FROM even WHERE leak(b) AND b < 10 RETURNING b;
DELETE FROM half WHERE leak(v) AND a = 'k3';
SELECT a, b FROM even WHERE leak(b) AND b < 50 FOR UPDATE;
RESET ROLE;
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM even WHERE a = 'k4' AND leak(b) AND b < 100;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, count(*) FROM even WHERE leak(b) GROUP BY a;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE even SET s = 'x' WHERE leak(b) AND b < 20;
SELECT count(*), sum(v) FROM t;

-- column privileges; a view reads with the privileges of its owner
GRANT SELECT (a, v), UPDATE (s), INSERT (a, b, s) ON t TO regress_wt_man;
CREATE VIEW owners AS SELECT s FROM t WHERE a = 'k7' AND b < 50;
GRANT SELECT ON owners TO regress_wt_man;
SET ROLE regress_wt_man;
SELECT a, v FROM t WHERE a = 'k7' ORDER BY v LIMIT 1;
SELECT a FROM t WHERE b = 7;
SELECT count(*) FROM t WHERE a = 'k7';
SELECT count(b) FROM t;
SELECT * FROM t LIMIT 1;
SELECT t FROM t LIMIT 1;
SELECT a FROM t WHERE a = 'k7' ORDER BY b LIMIT 1;
SELECT * FROM owners ORDER BY s LIMIT 2;
UPDATE t SET s = 'x' WHERE a = 'k7' AND b = 7;
UPDATE t SET s = 'x' WHERE a = 'none';
UPDATE t SET v = 1 WHERE a = 'none';
UPDATE t SET s = s || 'x' WHERE a = 'none';
UPDATE t SET s = 'x' WHERE a = 'none' RETURNING v;
UPDATE t SET s = 'x' WHERE a = 'none' RETURNING b;
DELETE FROM t WHERE a = 'none';
INSERT INTO t (a, b, s) VALUES ('new', 1, 'x') RETURNING a;
INSERT INTO t (a, b, v) VALUES ('new', 1, 1);
SELECT a FROM t WHERE a = 'k7' LIMIT 1 FOR UPDATE;
TRUNCATE t;
-- the message differs between versions of PostgreSQL
SET client_min_messages = error;
ANALYZE t;
SET client_min_messages = warning;
EXPLAIN SELECT b FROM t;
RESET ROLE;
DELETE FROM t WHERE a = 'new';

-- prepared plans follow later changes
PREPARE one (text, int) AS SELECT * FROM t WHERE a = $1 AND b = $2;
PREPARE total AS SELECT count(*), sum(v) FROM t WHERE a = 'k1';
PREPARE change (int) AS UPDATE t SET v = v + 1 WHERE a = 'k1' AND b = $1;
PREPARE add (int) AS INSERT INTO t (a, b, v) VALUES ('p', $1, $1);
SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION look(int) RETURNS SETOF text LANGUAGE plpgsql AS
$$DECLARE r record; BEGIN FOR r IN SELECT * FROM t WHERE a = 'k1' AND b = $1 LOOP RETURN NEXT r::text; END LOOP; END$$;
EXECUTE one ('k1', 11);
EXECUTE total;
EXECUTE change (11);
EXECUTE add (1);
SELECT look(11);
ALTER FOREIGN TABLE t ADD COLUMN n numeric;
EXECUTE one ('k1', 11);
DEALLOCATE one;
PREPARE one (text, int) AS SELECT v, s, n FROM t WHERE a = $1 AND b = $2;
EXECUTE one ('k1', 11);
EXECUTE total;
EXECUTE change (11);
EXECUTE add (2);
SELECT look(11);
UPDATE t SET n = 1.5 WHERE a = 'k1' AND b = 11;
ALTER FOREIGN TABLE t RENAME COLUMN v TO w;
SELECT look(11);
EXECUTE change (11);
ALTER FOREIGN TABLE t RENAME COLUMN w TO v;
EXECUTE change (11);
EXECUTE one ('k1', 11);
ALTER FOREIGN TABLE t ALTER COLUMN n OPTIONS (ADD column 'd:other');
EXECUTE one ('k1', 11);
SELECT look(11);
ALTER FOREIGN TABLE t ALTER COLUMN n OPTIONS (SET column 'd:n');
EXECUTE one ('k1', 11);
ALTER FOREIGN TABLE t OPTIONS (ADD families '{"e": {}, "d": {"versions": 3}}');
EXECUTE one ('k1', 11);
EXECUTE change (11);
ALTER FOREIGN TABLE t OPTIONS (ADD salt_buckets '4');
ALTER FOREIGN TABLE t OPTIONS (ADD updatable 'false');
EXECUTE change (11);
EXECUTE add (3);
ALTER FOREIGN TABLE t OPTIONS (DROP updatable);
ALTER SERVER widetable OPTIONS (ADD updatable 'false');
EXECUTE change (11);
EXECUTE add (3);
ALTER SERVER widetable OPTIONS (DROP updatable);
EXECUTE change (11);
EXECUTE one ('k1', 11);
SET widetable.enable_pushdown = off;
EXECUTE one ('k1', 11);
EXECUTE total;
SET widetable.enable_direct_modify = off;
EXECUTE change (11);
RESET widetable.enable_pushdown;
RESET widetable.enable_direct_modify;
SET widetable.as_of = '2001-01-01';
EXECUTE one ('k1', 11);
EXECUTE total;
EXECUTE change (11);
SELECT look(11);
RESET widetable.as_of;
EXECUTE one ('k1', 11);
TRUNCATE t;
EXECUTE one ('k1', 11);
EXECUTE total;
EXECUTE add (4);
SELECT * FROM t;
BEGIN;
DROP FOREIGN TABLE t CASCADE;
CREATE FOREIGN TABLE t (a text COLLATE "C", b int, s text, n numeric, v int) SERVER widetable OPTIONS (key 'b, a');
EXECUTE add (5);
EXECUTE one ('p', 5);
SELECT * FROM look(11);
EXECUTE total;
COMMIT;
EXECUTE one ('p', 5);
EXECUTE add (6);
SELECT * FROM t;
DEALLOCATE ALL;
RESET plan_cache_mode;

-- dropped and added columns
CREATE FOREIGN TABLE c (k int, x text, y int, z jsonb OPTIONS (family 'm')) SERVER widetable OPTIONS (key 'k', families '{"d": {}, "m": {}}');
INSERT INTO c VALUES (1, 'one', 10, '{"q": "1"}'), (2, 'two', 20, NULL);
ALTER FOREIGN TABLE c DROP COLUMN x;
SELECT * FROM c;
SELECT c FROM c;
SELECT row_to_json(c) FROM c;
INSERT INTO c VALUES (3, 30, '{"q": "3"}') RETURNING c;
UPDATE c SET y = y + 1 RETURNING *, c;
UPDATE c SET z = z || '{"r": "4"}' WHERE k = 1 RETURNING c;
ALTER FOREIGN TABLE c ADD COLUMN u text DEFAULT 'dflt', ADD COLUMN k2 text;
SELECT * FROM c;
INSERT INTO c (k, y) VALUES (4, 40) RETURNING c;
COPY c (k, y, z, u) FROM stdin;
5	50	{"q": "5"}	five
6	60	\N	\N
\.
DELETE FROM c WHERE k = 2 RETURNING c;
SELECT c.*, c IS NULL AS empty FROM c ORDER BY k DESC;
SELECT a.k, b FROM c a JOIN c b USING (k) WHERE b.y > 35 ORDER BY 1;
SELECT k, y FROM c WHERE y = 31 FOR UPDATE;
ALTER FOREIGN TABLE c ADD COLUMN x text;
SELECT k, x FROM c WHERE x IS NOT NULL;
ALTER FOREIGN TABLE c DROP COLUMN k;

-- system columns
SELECT tableoid::regclass, k FROM c WHERE k = 1;
SELECT tableoid::regclass, count(*) FROM c GROUP BY 1;
SELECT ctid, k FROM c WHERE k = 1;
SELECT xmin FROM c WHERE k = 1;
UPDATE c SET y = 0 WHERE k = 1 RETURNING tableoid::regclass, k;
INSERT INTO c (k, y) VALUES (7, 1) RETURNING tableoid::regclass, k;
SELECT k FROM c WHERE ctid = '(0,1)';
SELECT k FROM c WHERE tableoid = 'c'::regclass AND k = 1;

-- generated columns
CREATE FOREIGN TABLE g (k int, v int, twice int GENERATED ALWAYS AS (v * 2) STORED) SERVER widetable OPTIONS (key 'k');
INSERT INTO g VALUES (1, 10), (2, 20) RETURNING *;
UPDATE g SET v = v + 1 WHERE k = 1 RETURNING *;
UPDATE g SET twice = 5;
SELECT * FROM g WHERE twice > 30;

-- inheritance and partitions
CREATE TABLE p (k int, v int);
CREATE FOREIGN TABLE p1 (extra text) INHERITS (p) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE p2 (v int, k int, own text) SERVER widetable OPTIONS (key 'k');
ALTER FOREIGN TABLE p2 INHERIT p;
INSERT INTO p VALUES (1, 1);
INSERT INTO p1 VALUES (2, 2, 'e');
INSERT INTO p2 (k, v) VALUES (3, 3);
SELECT tableoid::regclass, * FROM p ORDER BY k;
SELECT * FROM ONLY p;
UPDATE p SET v = v * 10 RETURNING tableoid::regclass, k, v;
DELETE FROM p WHERE k = 2 RETURNING p;
ALTER TABLE p ADD COLUMN late int DEFAULT 5;
INSERT INTO p1 (k, late) VALUES (4, 6);
SELECT p FROM p ORDER BY k;
SELECT * FROM p1;
ALTER TABLE p RENAME COLUMN v TO val;
SELECT k, val FROM p ORDER BY k;
ALTER TABLE p DROP COLUMN val;
SELECT * FROM p ORDER BY k;
SELECT sum(late) FROM p;
EXPLAIN (COSTS OFF) SELECT * FROM p WHERE k = 3;
DROP TABLE p CASCADE;
CREATE TABLE part (k int, v int) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10) SERVER widetable OPTIONS (key 'k');
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (10) TO (20);
CREATE FOREIGN TABLE part3 (v int, dropped int, k int) SERVER widetable OPTIONS (key 'k');
ALTER FOREIGN TABLE part3 DROP COLUMN dropped;
ALTER TABLE part ATTACH PARTITION part3 FOR VALUES FROM (20) TO (30);
INSERT INTO part SELECT g, g FROM generate_series(0, 29) g;
SELECT tableoid::regclass, count(*), sum(v) FROM part GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM part WHERE k = 25;
UPDATE part SET v = -v WHERE k IN (5, 15, 25) RETURNING tableoid::regclass, *;
INSERT INTO part1 VALUES (50, 1);
SELECT * FROM part WHERE k = 50;
COPY part FROM stdin;
3	33
13	33
23	33
\.
SELECT part, tableoid::regclass FROM part WHERE v = 33;
TRUNCATE part;
SELECT count(*) FROM part;
ALTER TABLE part DETACH PARTITION part3;
DROP FOREIGN TABLE part3;
DROP TABLE part;

-- commands that do not apply, or only in part
SELECT count(*) FROM c TABLESAMPLE BERNOULLI (50);
CREATE INDEX ON c (y);
ALTER FOREIGN TABLE c ADD PRIMARY KEY (k);
VACUUM c;
VACUUM (ANALYZE) c;
CLUSTER c;
REINDEX TABLE c;
COPY c TO stdout;
COPY (SELECT k, y FROM c WHERE k < 4 ORDER BY k) TO stdout;
CREATE PUBLICATION man_pub FOR TABLE c;
ALTER FOREIGN TABLE c ENABLE ROW LEVEL SECURITY;
CREATE MATERIALIZED VIEW mat AS SELECT k, y FROM c WHERE k < 4;
UPDATE c SET y = 99 WHERE k = 1;
REFRESH MATERIALIZED VIEW mat;
SELECT * FROM mat ORDER BY k;
CREATE TABLE like_c (LIKE c);
CREATE TABLE of_c AS TABLE c WITH NO DATA;
IMPORT FOREIGN SCHEMA anything FROM SERVER widetable INTO man;
BEGIN;
LOCK TABLE c IN ACCESS SHARE MODE;
ROLLBACK;
BEGIN;
DECLARE cur SCROLL CURSOR FOR SELECT k FROM c ORDER BY k;
FETCH 2 FROM cur;
FETCH BACKWARD 1 FROM cur;
FETCH LAST FROM cur;
FETCH FIRST FROM cur;
COMMIT;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT k FROM c WHERE k < 5 ORDER BY k;
COMMIT;
FETCH ALL FROM held;
CLOSE held;
DROP SCHEMA man CASCADE;
DROP OWNED BY regress_wt_man;
DROP ROLE regress_wt_man;
