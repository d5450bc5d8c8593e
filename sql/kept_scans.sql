-- A session keeps scans for its next statements: whatever happens in between, each
-- execution returns what a new scan would return.
CREATE FOREIGN TABLE kept (a bigint, b text COLLATE "C", x text, y bigint, m jsonb OPTIONS (family 'g'))
  SERVER widetable OPTIONS (key 'a, b', families '{"f": {"versions": 3}, "g": {}}');
INSERT INTO kept VALUES (1, 'a', 'one', 1, '{"p": "q"}'), (1, 'b', 'two', 2, NULL), (2, 'a', 'three', 3, NULL);
SET plan_cache_mode = force_generic_plan;
PREPARE cell(bigint, text) AS SELECT x FROM kept WHERE a = $1 AND b = $2;
PREPARE row_of(bigint) AS SELECT * FROM kept WHERE a = $1 ORDER BY b;
PREPARE last(bigint) AS SELECT b, x FROM kept WHERE a = $1 ORDER BY b DESC LIMIT 1;
EXECUTE cell(1, 'a');
EXECUTE row_of(1);
EXECUTE last(1);
-- no rows, a NULL key, then a row again
EXECUTE cell(9, 'a');
EXECUTE cell(NULL, 'a');
EXECUTE cell(1, NULL);
EXECUTE row_of(NULL);
EXECUTE cell(1, 'b');
EXECUTE last(2);
-- changes committed since the last execution
UPDATE kept SET x = 'new' WHERE a = 1 AND b = 'b';
EXECUTE cell(1, 'b');
EXECUTE last(1);
SELECT widetable.flush();
EXECUTE cell(1, 'b');
EXECUTE row_of(1);
-- uncommitted changes, savepoints, and no trace of them after the rollback
BEGIN;
EXECUTE cell(1, 'b');
INSERT INTO kept VALUES (1, 'c', 'own', 4, NULL);
EXECUTE cell(1, 'c');
EXECUTE last(1);
SAVEPOINT s;
UPDATE kept SET x = 'undone' WHERE a = 1;
EXECUTE row_of(1);
ROLLBACK TO s;
EXECUTE row_of(1);
ROLLBACK;
EXECUTE row_of(1);
EXECUTE last(1);
BEGIN;
EXECUTE last(1);
DELETE FROM kept WHERE a = 1 AND b = 'b';
COMMIT;
EXECUTE last(1);
EXECUTE cell(1, 'b');
-- two executions of one plan at the same time, both stopped midway
INSERT INTO kept SELECT 3, 'k' || lpad(i::text, 3, '0'), 'v' || i, i, NULL FROM generate_series(1, 300) i;
BEGIN;
DECLARE c1 CURSOR FOR SELECT b FROM kept WHERE a = 3 ORDER BY b;
DECLARE c2 CURSOR FOR SELECT b FROM kept WHERE a = 3 ORDER BY b;
FETCH 2 FROM c1;
FETCH 3 FROM c2;
FETCH 1 FROM c1;
CLOSE c1;
SELECT count(*), max(b) FROM (SELECT b FROM kept WHERE a = 3 ORDER BY b OFFSET 0) s;
FETCH 1 FROM c2;
COMMIT;
SELECT count(*), max(b) FROM (SELECT b FROM kept WHERE a = 3 ORDER BY b OFFSET 0) s;
-- the plan of a query run inside the same query
CREATE FUNCTION other(bigint, text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  SELECT x INTO r FROM kept WHERE a = $1 AND b > $2 ORDER BY b LIMIT 1;
  IF r IS NULL OR $1 < 3 THEN RETURN r; END IF;
  IF $2 > 'k003' THEN RETURN r; END IF;
  RETURN r || ' ' || other($1, 'k' || lpad((substr($2, 2)::int + 1)::text, 3, '0'));
END $$;
SELECT other(3, 'k001');
SELECT b, other(a, b) FROM kept WHERE a = 3 AND b < 'k003';
-- an error leaves a scan open
SELECT 1 / (y - 2) FROM kept WHERE a = 3;
SELECT count(*) FROM (SELECT y FROM kept WHERE a = 3 OFFSET 0) s;
EXECUTE cell(3, 'k002');
-- a subquery that is never evaluated, and one that is
SELECT CASE WHEN i > 9 THEN (SELECT x FROM kept WHERE a = 3 AND b = 'k' || i) ELSE 'none' END FROM generate_series(1, 2) i;
SELECT CASE WHEN i > 1 THEN (SELECT x FROM kept WHERE a = 3 AND b = 'k00' || i) ELSE 'none' END FROM generate_series(1, 2) i;
-- lookups from a join
SELECT i, k.x FROM generate_series(298, 302) i LEFT JOIN kept k ON k.a = 3 AND k.b = 'k' || i ORDER BY i;
-- layout cells: the conditions on cells determine what is read
CREATE FOREIGN TABLE kept_cells (a bigint, b text COLLATE "C", family text, qualifier text COLLATE "C", ts timestamptz, version int, value text)
  SERVER widetable OPTIONS (table_name 'public.kept', key 'a, b', layout 'cells');
INSERT INTO kept_cells (a, b, family, qualifier, ts, value)
  SELECT 5, 'c', 'f', q, '2020-01-01 00:00+00'::timestamptz + v * interval '1 hour', q || v FROM unnest(ARRAY['x', 'y', 'z']) q, generate_series(1, 3) v;
PREPARE some_cells(text, text, int) AS SELECT qualifier, version, value FROM kept_cells
  WHERE a = 5 AND b = 'c' AND family = $1 AND qualifier = $2 AND version <= $3;
PREPARE since(timestamptz) AS SELECT qualifier, version, value FROM kept_cells WHERE a = 5 AND b = 'c' AND ts >= $1;
PREPARE since_date(date) AS SELECT qualifier, version, value FROM kept_cells WHERE a = 5 AND b = 'c' AND ts >= $1;
PREPARE any_cells(text[]) AS SELECT qualifier, version, value FROM kept_cells WHERE a = 5 AND b = 'c' AND qualifier = ANY ($1) AND version = 1;
EXECUTE some_cells('f', 'x', 2);
EXECUTE some_cells('f', 'x', 2);
EXECUTE some_cells('f', 'x', 1);
EXECUTE some_cells('f', 'z', 1);
EXECUTE some_cells('g', 'z', 1);
EXECUTE some_cells('f', NULL, 1);
EXECUTE some_cells('f', 'z', 1);
EXECUTE since('2020-01-01 03:00+00');
EXECUTE since('2020-01-01 02:00+00');
EXECUTE since('2020-01-01 03:00+00');
SET timezone = 'UTC';
EXECUTE since_date('2020-01-01');
SET timezone = 'Etc/GMT+3';
EXECUTE since_date('2020-01-01');
SET timezone = 'UTC';
EXECUTE since_date('2020-01-01');
RESET timezone;
EXECUTE any_cells('{x,z}');
EXECUTE any_cells('{x,z}');
EXECUTE any_cells('{x}');
EXECUTE any_cells('{xz}');
SELECT q, c.value FROM unnest(ARRAY['z', 'x', 'none', repeat('long', 200), 'x', 'y']) q
  LEFT JOIN LATERAL (SELECT value FROM kept_cells WHERE a = 5 AND b = 'c' AND family = 'f' AND qualifier = q AND version = 1 OFFSET 0) c ON true
  WHERE length(q) < 100 OR c.value IS NOT NULL;
INSERT INTO kept_cells (a, b, family, qualifier, ts, value) VALUES (5, 'c', 'f', 'x', '2021-01-01', 'newer');
EXECUTE some_cells('f', 'x', 2);
BEGIN;
DELETE FROM kept_cells WHERE a = 5 AND qualifier = 'x' AND version = 1;
EXECUTE some_cells('f', 'x', 2);
ROLLBACK;
EXECUTE some_cells('f', 'x', 2);
DROP FOREIGN TABLE kept_cells;
-- REPEATABLE READ, then as_of
BEGIN ISOLATION LEVEL REPEATABLE READ;
EXECUTE cell(1, 'a');
COMMIT;
SET widetable.as_of = '2000-01-01';
EXECUTE cell(1, 'a');
RESET widetable.as_of;
EXECUTE cell(1, 'a');
-- FOR UPDATE reads with another scan
BEGIN;
SELECT x FROM kept WHERE a = 1 AND b = 'a' FOR UPDATE;
EXECUTE cell(1, 'a');
COMMIT;
-- privileges are checked at each execution
CREATE ROLE regress_kept;
GRANT SELECT ON kept TO regress_kept;
SET ROLE regress_kept;
EXECUTE cell(1, 'a');
RESET ROLE;
REVOKE SELECT ON kept FROM regress_kept;
GRANT SELECT (a, b) ON kept TO regress_kept;
SET ROLE regress_kept;
EXECUTE cell(1, 'a');
RESET ROLE;
EXECUTE cell(1, 'a');
REVOKE SELECT (a, b) ON kept FROM regress_kept;
DROP ROLE regress_kept;
-- subtransactions that fail afterwards; cursors that survive a rollback to a savepoint and the commit
CREATE FUNCTION failing(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
  o text := '';
BEGIN
  FOR i IN 1 .. n LOOP
    BEGIN
      SELECT x INTO r FROM kept WHERE a = 3 AND b = 'k00' || i;
      o := o || ' ' || r;
      IF i % 2 = 0 THEN PERFORM 1 / 0; END IF;
    EXCEPTION WHEN division_by_zero THEN o := o || ' failed';
    END;
  END LOOP;
  RETURN o;
END $$;
SELECT failing(5);
DROP FUNCTION failing(int);
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT b FROM kept WHERE a = 3 AND b < 'k006' ORDER BY b;
FETCH 1 FROM held;
SAVEPOINT s;
DECLARE gone CURSOR FOR SELECT b FROM kept WHERE a = 3 ORDER BY b;
FETCH 1 FROM gone;
FETCH 1 FROM held;
INSERT INTO kept VALUES (3, 'k0025', 'undone', 0, NULL);
EXECUTE cell(3, 'k0025');
ROLLBACK TO s;
EXECUTE cell(3, 'k0025');
FETCH 1 FROM held;
COMMIT;
EXECUTE cell(3, 'k003');
FETCH ALL FROM held;
CLOSE held;
-- a changed definition, changed family options, TRUNCATE
ALTER FOREIGN TABLE kept ALTER COLUMN x OPTIONS (ADD column 'f:z');
EXECUTE cell(1, 'a');
EXECUTE row_of(1);
ALTER FOREIGN TABLE kept ALTER COLUMN x OPTIONS (DROP column);
EXECUTE cell(1, 'a');
ALTER FOREIGN TABLE kept ADD COLUMN w text;
EXECUTE cell(1, 'a');
SELECT * FROM kept WHERE a = 1 ORDER BY b;
ALTER FOREIGN TABLE kept OPTIONS (SET families '{"f": {"ttl": "1 day"}, "g": {}}');
SET widetable.clock = '2100-01-01';
EXECUTE cell(1, 'a');
RESET widetable.clock;
EXECUTE cell(1, 'a');
TRUNCATE kept;
EXECUTE cell(1, 'a');
INSERT INTO kept (a, b, x) VALUES (1, 'a', 'again');
EXECUTE cell(1, 'a');
-- more scans than a session keeps
SELECT count(*) FROM generate_series(1, 12) i, LATERAL (SELECT 1 FROM kept WHERE a = i) s;
DO $$
DECLARE n text := ''; r text;
BEGIN
  FOR round IN 1 .. 2 LOOP
    FOREACH r IN ARRAY ARRAY['a', 'b', 'x', 'y', 'm', 'w', 'a, x', 'b, x', 'x, y', 'x, m', 'y, m'] LOOP
      EXECUTE format('SELECT count(*)::text FROM (SELECT %s FROM kept WHERE a = 1 OFFSET 0) s', r) INTO r;
      n := n || r;
    END LOOP;
  END LOOP;
  RAISE NOTICE '%', n;
END $$;
DROP FOREIGN TABLE kept;
EXECUTE cell(1, 'a');
DROP FUNCTION other;
RESET plan_cache_mode;
DEALLOCATE ALL;
