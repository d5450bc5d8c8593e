-- Parallel plans return what serial plans return.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

CREATE FOREIGN TABLE par (city text COLLATE "C", id int, v int, b text OPTIONS (column 'x:b')) SERVER widetable OPTIONS (key 'city, id desc');
CREATE FOREIGN TABLE par_salted (id int, v int) SERVER widetable OPTIONS (key 'id', salt_buckets '8');
CREATE FOREIGN TABLE par_log (day date, id int, v int) SERVER widetable OPTIONS (key 'day, id');
CREATE TABLE par_heap (id int, v int);
INSERT INTO par SELECT 'city ' || n % 5, n, n % 97, CASE WHEN n % 3 = 0 THEN 'b' || n END FROM generate_series(1, 3000) n;
INSERT INTO par_salted SELECT n, n % 89 FROM generate_series(1, 3000) n;
INSERT INTO par_log SELECT date '2024-01-01' + n % 30, n, n % 31 FROM generate_series(1, 3000) n;
INSERT INTO par_heap SELECT n, n % 7 FROM generate_series(1, 3000) n;
ANALYZE par, par_salted, par_log, par_heap;
-- some rows in files, some in memtables
SELECT widetable.flush('par');
SELECT widetable.flush('par_log');
UPDATE par SET v = v + 1000 WHERE id % 10 = 0;
DELETE FROM par WHERE id % 100 = 7;
DELETE FROM par_log WHERE day = '2024-01-05';

-- Returns the rows with and without workers, their order, and which of the relevant nodes the plan has.
CREATE FUNCTION par_rows(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE r text[];
BEGIN
	EXECUTE 'SELECT array_agg(q::text) FROM (' || query || ' OFFSET 0) q' INTO r;
	RETURN r;
END $$;
CREATE FUNCTION par_check(query text, VARIADIC settings text[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text; l text; nodes text; serial text[]; parallel text[]; ordered boolean = query ~ 'ORDER BY [^()]*$';
BEGIN
	PERFORM set_config('widetable.enable_parallel_scan', 'off', true);
	serial = par_rows(query);
	PERFORM set_config('widetable.enable_parallel_scan', 'on', true), set_config('parallel_setup_cost', '0', true),
		set_config('parallel_tuple_cost', '0', true), set_config('min_parallel_table_scan_size', '0', true),
		set_config('cpu_tuple_cost', '0.1', true), set_config('parallel_leader_participation', 'off', true);
	FOREACH s IN ARRAY settings LOOP
		PERFORM set_config(split_part(s, '=', 1), split_part(s, '=', 2), true);
	END LOOP;
	FOR l IN EXECUTE 'EXPLAIN (COSTS off) SELECT array_agg(q::text) FROM (' || query || ' OFFSET 0) q' LOOP
		l = substring(l FROM '(Gather Merge|Gather|Parallel Foreign Scan|Foreign Scan)');
		IF l <> '' THEN nodes = concat_ws(', ', nodes, l); END IF;
	END LOOP;
	FOR i IN 1..2 LOOP
		parallel = par_rows(query);
		IF ordered AND parallel IS DISTINCT FROM serial THEN
			RETURN format('wrong: %s, serial %s', parallel, serial);
		ELSIF (SELECT array_agg(x ORDER BY x) FROM unnest(parallel) x) IS DISTINCT FROM (SELECT array_agg(x ORDER BY x) FROM unnest(serial) x) THEN
			RETURN format('wrong: %s rows, serial %s', cardinality(parallel), cardinality(serial));
		END IF;
		PERFORM set_config('parallel_leader_participation', 'on', true);
	END LOOP;
	FOREACH s IN ARRAY settings LOOP
		PERFORM set_config(split_part(s, '=', 1), 'on', true);
	END LOOP;
	RETURN format('%s rows: %s', coalesce(cardinality(serial), 0), nodes);
END $$;

-- A scan shared between processes: the whole table, ranges, lists, no rows.
-- (the engine does not know bit_xor, so that it does not aggregate alone)
SELECT par_check('SELECT count(*), sum(v), min(b), max(id), bit_xor(v) FROM par');
SELECT par_check('SELECT * FROM par WHERE v % 10 = 3');
SELECT par_check($$SELECT * FROM par WHERE city > 'city 1' AND city < 'city 4' AND b IS NOT NULL$$);
SELECT par_check($$SELECT * FROM par WHERE city IN ('city 0', 'city 2', 'city 4') AND id BETWEEN 100 AND 2000$$);
SELECT par_check($$SELECT * FROM par_log WHERE day IN ('2024-01-05', '2024-01-07', '2024-01-30', '2024-03-01')$$);
SELECT par_check($$SELECT * FROM par WHERE city = 'nowhere' AND id > 3$$);
SELECT par_check('SELECT * FROM par_salted');
SELECT par_check('SELECT id FROM par_salted WHERE id BETWEEN 1000 AND 2000');
-- Values computed elsewhere in the query.
SELECT par_check('SELECT * FROM par_log WHERE day >= (SELECT min(day) + 20 FROM par_log)');
SELECT par_check($$SELECT * FROM par WHERE city = ANY (ARRAY(SELECT 'city ' || v % 3 FROM par_heap WHERE id <= 5))$$);
-- Sorted output: each process returns its rows in order.
SELECT par_check('SELECT * FROM par WHERE v % 10 = 3 ORDER BY city, id DESC');
SELECT par_check('SELECT * FROM par WHERE v % 10 = 3 ORDER BY city DESC, id');
SELECT par_check('SELECT day, id, v FROM par_log WHERE day > ''2024-01-10'' AND v = 3 ORDER BY day, id');
SELECT par_check('SELECT day, count(*), bit_xor(v) FROM par_log GROUP BY day ORDER BY day', 'enable_hashagg=off');
SELECT par_check('SELECT id, v FROM par_salted WHERE v = 5 ORDER BY id');
SELECT par_check('SELECT * FROM (SELECT * FROM par WHERE v % 10 = 3 ORDER BY city, id DESC LIMIT 20) l ORDER BY city, id DESC');
-- Joins: both sides shared, one side read whole, lookups.
SELECT par_check('SELECT a.id, b.v FROM par a JOIN par_log b ON a.v = b.v + 50 WHERE a.id % 5 = 0', 'enable_mergejoin=off', 'enable_nestloop=off');
SELECT par_check('SELECT a.id, b.v FROM par a JOIN par_salted b USING (id)', 'enable_parallel_hash=off', 'enable_mergejoin=off', 'enable_nestloop=off');
SELECT par_check('SELECT h.id, b.v FROM par_heap h JOIN par_salted b USING (id)', 'enable_hashjoin=off', 'enable_mergejoin=off');
SELECT par_check('SELECT a.id, b.id FROM par_log a JOIN par_log b ON a.day = b.day AND a.id = b.id + 30', 'enable_hashjoin=off', 'enable_nestloop=off');
SELECT par_check('SELECT id FROM par a WHERE NOT EXISTS (SELECT FROM par_log b WHERE b.v = a.v)', 'enable_nestloop=off', 'enable_mergejoin=off');
-- A parallel plan that is executed repeatedly.
SELECT par_check('SELECT h.id, l.* FROM (SELECT id FROM par_heap WHERE id <= 5) h LEFT JOIN LATERAL (SELECT count(*), bit_xor(v) FROM par_log OFFSET h.id * 0) l ON true', 'enable_material=off', 'enable_memoize=off');
SELECT par_check('SELECT * FROM (SELECT v FROM par_heap WHERE id <= 3) h CROSS JOIN (SELECT day, id FROM par_log WHERE v = 30) l', 'enable_material=off', 'enable_hashjoin=off');
-- Partitions, one of them an ordinary table.
CREATE TABLE par_all (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE par_p1 PARTITION OF par_all FOR VALUES FROM (0) TO (1000) SERVER widetable OPTIONS (key 'id');
CREATE FOREIGN TABLE par_p2 PARTITION OF par_all FOR VALUES FROM (1000) TO (2000) SERVER widetable OPTIONS (key 'id');
CREATE TABLE par_p3 PARTITION OF par_all FOR VALUES FROM (2000) TO (3000);
INSERT INTO par_all SELECT n, n % 10 FROM generate_series(0, 2999) n;
SELECT par_check('SELECT v, count(*) FROM par_all GROUP BY v');
SELECT par_check('SELECT * FROM par_all WHERE id BETWEEN 990 AND 1010 ORDER BY id');
-- Layout cells.
CREATE FOREIGN TABLE par_cells (row text, family text, qualifier text, ts timestamptz, value text) SERVER widetable
	OPTIONS (layout 'cells', key 'row');
INSERT INTO par_cells (row, family, qualifier, value) SELECT 'r' || n % 300, 'd', 'q' || n, n FROM generate_series(1, 3000) n;
SELECT par_check('SELECT row, qualifier, value FROM par_cells');
SELECT par_check('SELECT row, qualifier, value FROM par_cells ORDER BY row, qualifier');
-- A table that was never written to.
CREATE FOREIGN TABLE par_empty (id int, v int) SERVER widetable OPTIONS (key 'id');
SELECT par_check('SELECT count(*) FROM par_empty');

-- as_of, and a fixed clock for expiry.
CREATE FOREIGN TABLE par_ttl (row text, family text, qualifier text, ts timestamptz, value text) SERVER widetable
	OPTIONS (layout 'cells', key 'row', families '{"d": {"ttl": "1 hour", "versions": 2}}');
INSERT INTO par_ttl SELECT 'r' || n, 'd', 'q', '2024-05-01 10:00', '1' FROM generate_series(1, 1000) n;
INSERT INTO par_ttl SELECT 'r' || n, 'd', 'q', '2024-05-01 10:30', '2' FROM generate_series(501, 1500) n;
SET widetable.clock = '2024-05-01 10:40';
SELECT par_check('SELECT value, count(*) FROM par_ttl GROUP BY value'), par_rows('SELECT value, count(*) FROM par_ttl GROUP BY value ORDER BY value');
SET widetable.clock = '2024-05-01 11:10';
SELECT par_check('SELECT value, count(*) FROM par_ttl GROUP BY value'), par_rows('SELECT value, count(*) FROM par_ttl GROUP BY value ORDER BY value');
SET widetable.clock = '2024-05-01 10:40';
SET widetable.as_of = '2024-05-01 10:10';
SELECT par_check('SELECT value, count(*) FROM par_ttl GROUP BY value'), par_rows('SELECT value, count(*) FROM par_ttl GROUP BY value ORDER BY value');
RESET widetable.as_of;
RESET widetable.clock;

-- Only the leader knows the writes of its transaction, so there are no workers after a write.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
CREATE FUNCTION par_workers(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE l text; r text;
BEGIN
	FOR l IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || query LOOP
		IF l ~ 'Workers' THEN r = concat_ws(', ', r, trim(regexp_replace(l, '[1-9]$', 'some'))); END IF;
	END LOOP;
	RETURN coalesce(r, 'not parallel');
END $$;
SET plan_cache_mode = force_generic_plan;
PREPARE par_sum AS SELECT count(*), sum(v) + bit_xor(0) AS sum FROM par;
PREPARE par_join AS SELECT count(*), sum(h.v) FROM par_heap h JOIN par_salted s USING (id);
EXECUTE par_sum;
EXECUTE par_join;
SELECT par_workers('EXECUTE par_sum'), par_workers('EXECUTE par_join');
BEGIN;
INSERT INTO par VALUES ('city 9', 9999, 1000000, NULL);
DELETE FROM par WHERE city = 'city 0';
DELETE FROM par_salted WHERE id <= 10;
-- a plan made before the write, one made after it, and one on ordinary tables only
SELECT par_workers('EXECUTE par_sum'), par_workers('EXECUTE par_join');
EXECUTE par_sum;
EXECUTE par_join;
SELECT par_workers('SELECT count(*) FROM par'), par_workers('SELECT count(*) FROM par_heap');
SELECT count(*), sum(v) FROM par;
ROLLBACK;
SELECT par_workers('EXECUTE par_sum'), par_workers('EXECUTE par_join');
EXECUTE par_sum;
-- after ROLLBACK TO the first savepoint no writes remain
BEGIN;
SAVEPOINT a;
DELETE FROM par;
EXECUTE par_sum;
ROLLBACK TO a;
EXECUTE par_sum;
COMMIT;
-- FOR UPDATE and UPDATE
SELECT par_workers('SELECT * FROM par WHERE v = 3 FOR UPDATE'), par_workers('UPDATE par_log SET v = v');

-- Functions in workers read with the statement's snapshot, or fail.
CREATE FUNCTION par_count() RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN RETURN (SELECT count(*) FROM par_salted); END';
SELECT par_workers('SELECT par_count() FROM par_heap WHERE id <= 10');
SELECT DISTINCT par_count() FROM par_heap WHERE id <= 10;
BEGIN;
DELETE FROM par_salted WHERE id <= 10;
SELECT DISTINCT par_count() FROM par_heap WHERE id <= 10;
ROLLBACK;
BEGIN;
DELETE FROM par_salted WHERE id <= 10;
ALTER FUNCTION par_count PARALLEL RESTRICTED;
SELECT DISTINCT par_count() FROM par_heap WHERE id <= 10;
ROLLBACK;
-- Writing during a parallel query fails.
CREATE FUNCTION par_write() RETURNS void LANGUAGE plpgsql PARALLEL RESTRICTED AS 'BEGIN INSERT INTO par_log VALUES (''2024-01-01'', 0, 0); END';
SELECT par_write(), bit_xor(v) FROM par;
-- An error in a worker, then the next statement.
SELECT sum(1 / (v - 42)) FROM par;
EXECUTE par_sum;

-- Users cannot set parallel_snapshot; enable_parallel_scan switches parallel scans off.
SET widetable.parallel_snapshot = 'x';
SET widetable.enable_parallel_scan = off;
SELECT par_workers('SELECT count(*) FROM par');
DEALLOCATE ALL;
RESET ALL;
DROP FUNCTION par_rows, par_check, par_workers, par_count, par_write;
DROP TABLE par_heap, par_all;
DROP FOREIGN TABLE par, par_salted, par_log, par_cells, par_empty, par_ttl;
