-- Aggregates, GROUP BY and DISTINCT on leading key columns, computed in the scan. An ordinary table checks each answer.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET max_parallel_workers_per_gather = 0;
-- flush first, so that the background worker is idle and the counts of cells and files stay the same
SELECT widetable.flush();

CREATE FOREIGN TABLE agg (
	site text COLLATE "C",
	day date,
	no int,
	hits int OPTIONS (column 'n:hits'),
	small smallint OPTIONS (column 'n:small', encoding 'ordered'),
	big bigint OPTIONS (column 'n:big'),
	dec numeric OPTIONS (column 'n:dec'),
	f4 real OPTIONS (column 'n:f4'),
	f8 double precision OPTIONS (column 'n:f8'),
	seen timestamptz OPTIONS (column 't:seen'),
	ok boolean OPTIONS (column 't:ok'),
	name text OPTIONS (column 't:name'),
	must int OPTIONS (column 'm:must') NOT NULL
) SERVER widetable OPTIONS (key 'site, day desc, no', families '{"n": {}, "t": {}, "m": {}}');
CREATE TABLE heap (LIKE agg);
INSERT INTO heap
SELECT 'site ' || i % 5, date '2024-01-01' + i % 11, i,
	nullif(i % 7, 0) * 300000000, (i % 300 - 150)::smallint, nullif(i % 3, 0) * 4000000000000000000, nullif(i % 9, 0) / 7.0,
	(i % 4)::real / 3, nullif(i % 6, 0)::float8 / 7, timestamptz '2024-01-01 12:00' + i * interval '1 hour', nullif(i % 4, 3) = 1,
	CASE WHEN i % 10 > 0 THEN chr(65 + i % 50) || i END, i
FROM generate_series(1, 1500) i;
INSERT INTO agg SELECT * FROM heap;
SELECT widetable.flush();
ANALYZE agg, heap;

-- same() runs a statement on both tables; it shows the plan and whether the answers agree (ordered: in the same order).
-- plan() prints EXPLAIN as in 15: later versions name InitPlan results, list windows, print row counts with decimals.
CREATE FUNCTION plan(query text, options text DEFAULT 'COSTS OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		CONTINUE WHEN line ~ '^ *Window: ';
		line := regexp_replace(line, '(InitPlan \d+) \(returns .*\)$', '\1');
		line := regexp_replace(line, '\(InitPlan 1\)\.col1', '$0');
		RETURN NEXT regexp_replace(line, '(rows=\d+)\.00', '\1');
	END LOOP;
END $$;
-- PostgreSQL 16 and later sort below an aggregate that needs sorted input: switched off
DO $$ BEGIN PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate'; END $$;
CREATE FUNCTION same(query text, ordered boolean DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	answers text[] := '{}';
	one text;
	source text;
BEGIN
	RETURN QUERY SELECT plan(replace(query, '$T', 'agg'));
	FOREACH source IN ARRAY ARRAY['agg', 'heap'] LOOP
		EXECUTE format('SELECT string_agg(q::text, chr(10) %s) FROM (%s) q', CASE WHEN ordered THEN '' ELSE 'ORDER BY q::text' END,
					   replace(query, '$T', source)) INTO one;
		answers := answers || coalesce(one, 'nothing');
	END LOOP;
	RETURN NEXT CASE WHEN answers[1] = answers[2] THEN format('-> agree, %s bytes', length(answers[1]))
		ELSE format('-> DIFFER: %s, NOT %s', answers[1], answers[2]) END;
END $$;

-- All rows. count(*) reads no cells.
SELECT * FROM same('SELECT count(*) FROM $T');
SELECT * FROM same('SELECT count(hits), count(name), count(no), count(must), count(1), count(NULL) FROM $T');
SELECT * FROM same('SELECT sum(hits), sum(small), sum(big), sum(dec) FROM $T');
SELECT * FROM same('SELECT avg(hits), avg(small), avg(big), avg(dec) FROM $T');
SELECT * FROM same('SELECT sum(f4)::numeric(10,2), sum(f8)::numeric(10,2), avg(f4)::numeric(10,6), avg(f8)::numeric(10,6) FROM $T');
SELECT * FROM same('SELECT min(hits), max(small), min(big), max(dec), min(dec), min(f4), max(f8) FROM $T');
SELECT * FROM same('SELECT min(seen), max(seen), min(day), max(day), max(no), min(name COLLATE "C"), max(name) FROM $T');
SELECT * FROM same('SELECT bool_and(ok), bool_or(ok), every(ok), bool_and(must > 0) FROM $T');
-- Expressions in aggregates, FILTER and HAVING, expressions over aggregates.
SELECT * FROM same('SELECT sum(hits + small) + 1, max(upper(name)), count(*) FILTER (WHERE ok), sum(hits) FILTER (WHERE small > 0 AND ok) FROM $T');
SELECT * FROM same('SELECT count(*) FROM $T HAVING max(no) > 10000');
-- Key ranges, and clauses that no range covers. Without GROUP BY, no rows still give one result row.
SELECT * FROM same('SELECT count(*), sum(hits), min(name) FROM $T WHERE site = ''site 3'' AND day >= ''2024-01-05''');
SELECT * FROM same('SELECT count(*), sum(hits) FROM $T WHERE site < ''site 2'' AND hits > 1000000 AND name LIKE ''%7''');
SELECT * FROM same('SELECT count(*), sum(hits), max(name), avg(f8), bool_or(ok) FROM $T WHERE site = ''nowhere''');
SELECT * FROM same('SELECT count(*), sum(hits) FROM $T WHERE site IS NULL');
SELECT * FROM same('SELECT site, count(*) FROM $T WHERE site = ''nowhere'' GROUP BY site');

-- Groups by leading key columns, in key order.
SELECT * FROM same('SELECT site, count(*), sum(hits) FROM $T GROUP BY site ORDER BY site', true);
SELECT * FROM same('SELECT site, count(*) FROM $T GROUP BY site ORDER BY site DESC', true);
SELECT * FROM same('SELECT day, site, count(name), avg(dec) FROM $T GROUP BY day, site');
SELECT * FROM same('SELECT site, day, sum(big) FROM $T GROUP BY site, day ORDER BY site, day DESC', true);
SELECT * FROM same('SELECT site, day, no, sum(hits) FROM $T GROUP BY site, day, no');
SELECT * FROM same('SELECT day, count(*) FROM $T WHERE site = ''site 1'' GROUP BY day ORDER BY day DESC', true);
SELECT * FROM same('SELECT count(*), max(no) FROM $T WHERE no % 3 = 0 GROUP BY site HAVING sum(small) < 0 AND count(*) > 5');
SELECT * FROM same('SELECT site || ''!'', count(*) + 1 FROM $T GROUP BY site');
SELECT * FROM same('SELECT rank() OVER (ORDER BY count(*), site), site FROM $T GROUP BY site');

-- One row of each group is enough: the engine skips to the next group.
SELECT * FROM same('SELECT DISTINCT site FROM $T');
SELECT * FROM same('SELECT DISTINCT site FROM $T ORDER BY site DESC LIMIT 2', true);
SELECT * FROM same('SELECT site FROM $T GROUP BY site');
SELECT * FROM same('SELECT DISTINCT site FROM $T WHERE site > ''site 1''');
SELECT * FROM same('SELECT DISTINCT day FROM $T WHERE site = ''site 1''');
SELECT * FROM same('SELECT site, max(day) FROM $T GROUP BY site');
SELECT * FROM same('SELECT site, min(day) FROM $T GROUP BY site');
SELECT * FROM same('SELECT site, min(day) FROM $T GROUP BY site ORDER BY site', true);
SELECT * FROM same('SELECT site, max(day) FROM $T GROUP BY site ORDER BY site', true);
SELECT plan('SELECT site, max(day) FROM agg GROUP BY site', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF');
SELECT plan('SELECT count(*), sum(hits) FROM agg WHERE site = ''site 1'' AND hits > 5', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF');
-- Both ends of a group, or a clause on cells: the scan reads all rows.
SELECT * FROM same('SELECT site, min(day), max(day) FROM $T GROUP BY site');
SELECT * FROM same('SELECT DISTINCT site FROM $T WHERE hits > 1000000000');

-- Aggregates that PostgreSQL computes itself.
SELECT * FROM same('SELECT hits, count(*) FROM $T GROUP BY hits');
SELECT * FROM same('SELECT day, count(*) FROM $T GROUP BY day');
SELECT * FROM same('SELECT count(DISTINCT hits) FROM $T');
SELECT * FROM same('SELECT string_agg(name, '','' ORDER BY no) FROM $T WHERE site = ''site 1'' AND no < 100');
SELECT * FROM same('SELECT stddev(small)::numeric(10,3) FROM $T');
SELECT * FROM same('SELECT site, count(*) FROM $T GROUP BY ROLLUP (site)');
SELECT * FROM same('SELECT count(*) FROM $T WHERE no = (SELECT max(no) FROM $T)');
-- (before PostgreSQL 18 there is a Result node on top)
SELECT s FROM same('SELECT DISTINCT ON (site) site, no FROM $T ORDER BY site, day DESC, no') l, substring(l FROM '(Unique|Foreign Scan.*|agree.*|DIFFER.*)') s WHERE s <> '';
SELECT * FROM same('SELECT DISTINCT site, hits FROM $T');

-- Repeated execution: parameters from outer queries, prepared statements, cursors, views.
SELECT * FROM same('SELECT s, (SELECT sum(hits) FROM $T WHERE site = s) FROM unnest(ARRAY[''site 1'', ''site 4'', ''none'', NULL]) s');
SELECT * FROM same('SELECT n, (SELECT count(*) FROM $T WHERE hits > n AND site < ''site 3'') FROM generate_series(0, 2000000000, 500000000) n');
SELECT * FROM same('SELECT n, x.* FROM generate_series(1, 3) n, LATERAL (SELECT site, count(*) FROM $T WHERE no % 4 = n GROUP BY site) x');
SELECT * FROM same('SELECT n, x.* FROM generate_series(1, 3) n, LATERAL (SELECT DISTINCT site FROM $T WHERE site > ''site '' || n) x');
SET enable_mergejoin = off;
SELECT * FROM same('WITH c AS MATERIALIZED (SELECT site, count(*) AS n FROM $T GROUP BY site) SELECT a.site, a.n, b.n FROM c a JOIN c b USING (site)');
RESET enable_mergejoin;
SET plan_cache_mode = force_generic_plan;
PREPARE counted (text, int) AS SELECT site, count(*), max(no) FROM agg WHERE site >= $1 AND hits > $2 GROUP BY site;
EXPLAIN (COSTS OFF) EXECUTE counted ('site 3', 0);
EXECUTE counted ('site 3', 0);
EXECUTE counted ('site 4', 1500000000);
DEALLOCATE counted;
RESET plan_cache_mode;
CREATE VIEW per_site AS SELECT site, count(*) AS n FROM agg GROUP BY site;
EXPLAIN (COSTS OFF) SELECT * FROM per_site WHERE site > 'site 2';
SELECT * FROM per_site WHERE site > 'site 2';
BEGIN;
DECLARE sites SCROLL CURSOR FOR SELECT site, count(*) FROM agg GROUP BY site;
FETCH 2 FROM sites;
DELETE FROM agg WHERE site > 'site 1';
FETCH 2 FROM sites;
FETCH BACKWARD 3 FROM sites;
-- the aggregate sees the transaction's own writes, also in groups that it skips through
SELECT count(*) FROM agg;
SELECT DISTINCT site FROM agg;
INSERT INTO agg (site, day, no, must) VALUES ('site 0+', '2024-01-01', 1, 1), ('site 9', '2024-01-01', 1, 1);
SELECT site, count(*), max(day) FROM agg GROUP BY site;
SAVEPOINT s;
DELETE FROM agg;
SELECT count(*), max(no) FROM agg;
SELECT DISTINCT site FROM agg;
ROLLBACK TO s;
SELECT site, max(day) FROM agg GROUP BY site;
-- a statement does not see its own writes
INSERT INTO agg (site, day, no, must) SELECT 'site 9', '2024-01-02', count(*), 1 FROM agg;
SELECT site, count(*), max(no) FROM agg WHERE site = 'site 9' GROUP BY site;
ROLLBACK;
-- behind a security barrier: the clause of the barrier is tested first
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM agg WHERE hits > 1000000000;
CREATE FUNCTION tell(int) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;
EXPLAIN (COSTS OFF) SELECT count(*) FROM barrier WHERE tell(hits);
EXPLAIN (COSTS OFF) SELECT count(*) FROM barrier;
-- counting rows needs the SELECT privilege
CREATE ROLE agg_nobody;
SET ROLE agg_nobody;
SELECT count(*) FROM agg;
RESET ROLE;
DROP ROLE agg_nobody;
-- as_of before the first write shows no rows; deleted rows do not count
SET widetable.as_of = '2001-01-01';
SELECT count(*), min(no) FROM agg;
SELECT DISTINCT site FROM agg;
RESET widetable.as_of;
DELETE FROM agg WHERE site = 'site 2';
DELETE FROM heap WHERE site = 'site 2';
UPDATE agg SET hits = NULL, name = 'N' WHERE no % 5 = 0;
UPDATE heap SET hits = NULL, name = 'N' WHERE no % 5 = 0;
SELECT * FROM same('SELECT site, count(*), count(hits), min(name) FROM $T GROUP BY site');
SELECT * FROM same('SELECT DISTINCT site FROM $T');
SET widetable.enable_pushdown = off;
SELECT * FROM same('SELECT site, count(*) FROM $T GROUP BY site');
RESET widetable.enable_pushdown;

-- Salted tables: the scan merges the buckets for groups.
CREATE FOREIGN TABLE agg_salt (a int, b text COLLATE "C", v int) SERVER widetable OPTIONS (key 'a desc, b', salt_buckets '4');
INSERT INTO agg_salt SELECT i % 6, 'b' || i, i FROM generate_series(1, 600) i;
ANALYZE agg_salt;
EXPLAIN (COSTS OFF) SELECT a, count(*), sum(v) FROM agg_salt GROUP BY a ORDER BY a DESC;
SELECT a, count(*), sum(v) FROM agg_salt GROUP BY a ORDER BY a DESC;
EXPLAIN (COSTS OFF) SELECT a, min(b) FROM agg_salt GROUP BY a;
SELECT a, min(b) FROM agg_salt GROUP BY a;
SELECT a, max(b) FROM agg_salt GROUP BY a;
SELECT DISTINCT a FROM agg_salt;
SELECT DISTINCT a FROM agg_salt ORDER BY a;

-- Key parts that end in the largest byte: no key may sort behind such a group.
CREATE FOREIGN TABLE agg_bytes (a int OPTIONS (encoding 'ordered'), b bytea, v int) SERVER widetable OPTIONS (key 'a, b');
INSERT INTO agg_bytes SELECT a, decode(lpad(to_hex(i), 4, '0'), 'hex'), i FROM generate_series(1, 100) i, unnest(ARRAY[-1, 255, 2147483647]) a;
ANALYZE agg_bytes;
EXPLAIN (COSTS OFF) SELECT DISTINCT a FROM agg_bytes;
SELECT DISTINCT a FROM agg_bytes;
SELECT DISTINCT a FROM agg_bytes ORDER BY a DESC;
-- a complete key is a group of its own, also where longer keys begin with its bytes
INSERT INTO agg_bytes VALUES (7, '\x', 1), (7, '\x01', 2), (7, '\x0101', 3), (7, '\x02', 4);
EXPLAIN (COSTS OFF) SELECT a, b, sum(v) FROM agg_bytes WHERE a = 7 GROUP BY a, b;
SELECT a, b, sum(v) FROM agg_bytes WHERE a = 7 GROUP BY a, b;
-- Encodings that do not sort as their values: the rows of a group are adjacent, but the groups are unordered.
CREATE FOREIGN TABLE agg_plain (a int OPTIONS (encoding 'binary'), b int, v int) SERVER widetable OPTIONS (key 'a, b');
INSERT INTO agg_plain SELECT i % 5 - 2, i, i FROM generate_series(1, 50) i;
EXPLAIN (COSTS OFF) SELECT a, sum(v) FROM agg_plain GROUP BY a ORDER BY a;
SELECT a, sum(v) FROM agg_plain GROUP BY a ORDER BY a;
-- A digest is not the value: such key parts are not grouped in the scan.
CREATE FOREIGN TABLE agg_md5 (a text OPTIONS (encoding 'md5', column 'd:a') COLLATE "C", b int, v int) SERVER widetable OPTIONS (key 'a, b');
INSERT INTO agg_md5 SELECT 'x' || i % 3, i, i FROM generate_series(1, 30) i;
EXPLAIN (COSTS OFF) SELECT a, sum(v) FROM agg_md5 GROUP BY a;
SELECT a, sum(v) FROM agg_md5 GROUP BY a ORDER BY 1;
SELECT max(a), min(a), count(a) FROM agg_md5;

-- Layout cells: one row for each cell.
CREATE FOREIGN TABLE agg_cells (site text COLLATE "C", day date, no int, family text, qualifier text, ts timestamptz, value bytea)
SERVER widetable OPTIONS (table_name 'public.agg', layout 'cells', key 'site, day desc, no');
EXPLAIN (COSTS OFF) SELECT count(*) FROM agg_cells WHERE site = 'site 1';
SELECT count(*) FROM agg_cells WHERE site = 'site 1' AND no < 100;
SELECT site, count(*), min(qualifier COLLATE "C") FROM agg_cells WHERE family = 'n' GROUP BY site;
SELECT DISTINCT site FROM agg_cells;

-- Sums out of range, NaN and infinity, cells that do not decode.
CREATE FOREIGN TABLE agg_edge (k int, v bigint, f double precision, g real, d numeric) SERVER widetable;
CREATE FOREIGN TABLE agg_raw (k int, raw text OPTIONS (column 'd:v')) SERVER widetable OPTIONS (table_name 'public.agg_edge');
INSERT INTO agg_edge (k, v, f, g, d) VALUES (1, 9223372036854775807, 1e308, 3e38, 'NaN'), (2, 9223372036854775807, 1e308, 3e38, 'Infinity'),
	(3, -5, 'NaN', 1, '-Infinity'), (4, 1, '-Infinity', '-Infinity', 1.500), (5, 2, '-0', 2, 2);
SELECT sum(v), avg(v), min(v), max(v) FROM agg_edge;
SELECT sum(d), avg(d), min(d), max(d) FROM agg_edge;
SELECT sum(d), avg(d) FROM agg_edge WHERE k >= 4;
SELECT sum(f), avg(f), min(f), max(f) FROM agg_edge WHERE k >= 3;
SELECT sum(f) FROM agg_edge WHERE k < 3;
SELECT avg(f) FROM agg_edge WHERE k < 3;
SELECT sum(g) FROM agg_edge WHERE k < 3;
SELECT avg(g) FROM agg_edge WHERE k < 3;
INSERT INTO agg_raw VALUES (6, 'six');
SELECT count(*), count(v) FROM agg_edge;
SELECT sum(v) FROM agg_edge;
SELECT sum(v) FROM agg_edge WHERE k < 6;

-- Keys that do not decode: an error or a skipped row, whichever columns the query reads.
CREATE FOREIGN TABLE agg_bad (k bytea, v text) SERVER widetable;
INSERT INTO agg_bad VALUES ('\x00000001', 'xxxx'), ('\x0000000200', 'y'), ('\x00000003', 'abcd');
CREATE FOREIGN TABLE agg_strict (k int OPTIONS (encoding 'binary'), v int) SERVER widetable OPTIONS (table_name 'public.agg_bad');
CREATE FOREIGN TABLE agg_lax (k int OPTIONS (encoding 'binary'), v int) SERVER widetable OPTIONS (table_name 'public.agg_bad', on_bad_key 'skip');
SELECT count(*) FROM agg_strict;
SELECT sum(k) FROM agg_strict;
SELECT count(*), sum(v) FROM agg_lax;
SELECT k, count(*) FROM agg_lax GROUP BY k;
-- a cell that neither the engine can compare nor the type can decode
INSERT INTO agg_bad VALUES ('\x00000007', 'yyyyy');
SELECT count(*) FROM agg_lax WHERE v > 5;
DROP FOREIGN TABLE agg_bad, agg_strict, agg_lax;

-- Partitions aggregate on their own, whatever the order of their columns; then ordinary queries around them.
CREATE TABLE agg_parts (site text COLLATE "C", no int, v int) PARTITION BY LIST (site);
CREATE FOREIGN TABLE agg_part1 PARTITION OF agg_parts FOR VALUES IN ('a', 'b') SERVER widetable OPTIONS (key 'site, no');
CREATE FOREIGN TABLE agg_part2 (v int, no int, site text COLLATE "C") SERVER widetable OPTIONS (key 'site, no');
ALTER TABLE agg_parts ATTACH PARTITION agg_part2 FOR VALUES IN ('c', 'd');
INSERT INTO agg_parts SELECT chr(97 + i % 4), i, i FROM generate_series(1, 400) i;
ANALYZE agg_part1, agg_part2;
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT site, count(*), sum(v) FROM agg_parts WHERE v % 2 = 0 AND no <> 7 GROUP BY site HAVING sum(v) > 10;
SELECT site, count(*), sum(v) FROM agg_parts WHERE v % 5 = 0 AND no <> 7 GROUP BY site HAVING sum(v) > 10 ORDER BY site;
RESET enable_partitionwise_aggregate;
SELECT count(*), max(no) FROM agg_parts;
EXPLAIN (COSTS OFF)
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < (SELECT count(*) FROM agg_part1 WHERE no > r.n AND site = 'a')) SELECT count(*) FROM r;
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < (SELECT count(*) FROM agg_part1 WHERE no > r.n AND site = 'a')) SELECT count(*) FROM r;
SELECT plan($$SELECT count(*) FROM agg_part1 WHERE v::text ~ '1$' AND random() >= (SELECT 0)$$);
SELECT count(*) FROM agg_part1 WHERE v::text ~ '1$' AND random() >= (SELECT 0);
EXPLAIN (COSTS OFF) SELECT count(*) FROM agg_part1 WHERE now() > '2000-01-01';
SELECT count(*), count(agg_part1), count(tableoid) FROM agg_part1;
DROP TABLE agg_parts CASCADE;

-- Expressions of integers, evaluated for many rows at a time: also where rows are in memory, and for groups.
INSERT INTO heap SELECT 'site ' || i % 5, date '2024-03-01', i, i, (i % 100)::smallint, -i, NULL, NULL, i, NULL, NULL, 'n' || repeat('ö', i % 3), i
FROM generate_series(1501, 1600) i;
INSERT INTO agg SELECT * FROM heap WHERE no > 1500;
SELECT * FROM same('SELECT sum(hits::bigint * small - must), min(must - small), max(must * small), avg(small + must), count(hits * 0) FROM $T');
SELECT * FROM same('SELECT sum(length(name)), max(octet_length(name)), min(char_length(name)), count(length(name) + hits * 0) FROM $T');
SELECT * FROM same('SELECT sum(coalesce(hits, 0)), sum(coalesce(length(name), -1)), sum(coalesce(hits, must)::bigint) FROM $T');
SELECT * FROM same('SELECT site, sum(coalesce(length(name), 7) * small), max(must + 1) FROM $T GROUP BY site');
SELECT * FROM same('SELECT site, day, no, sum(must - no) FROM $T GROUP BY site, day, no');
-- out of range, and not where it is null
SELECT * FROM same('SELECT sum(hits + NULL), sum(big + nullif(big, big)) FROM $T');
SELECT sum(hits * hits) FROM agg;
SELECT sum(hits * hits) FROM heap;
SELECT sum(small * small) FROM agg WHERE must < 1000;
SELECT max((small * small)::smallint) FROM agg;
SELECT max(small * 300::smallint) FROM agg;
SELECT sum(big + big) FROM agg;
SELECT sum(coalesce(must, hits * hits)) FROM agg;
SELECT sum(coalesce(must, hits * hits)) FROM heap;

-- Rows that are left out for their key are not evaluated with those around them.
CREATE FOREIGN TABLE agg_any (k bytea, a int, b int) SERVER widetable;
CREATE FOREIGN TABLE agg_skip (k int OPTIONS (encoding 'binary'), a int, b int) SERVER widetable OPTIONS (table_name 'public.agg_any', on_bad_key 'skip');
CREATE FOREIGN TABLE agg_bytes_of (k bytea, a bytea OPTIONS (column 'd:a')) SERVER widetable OPTIONS (table_name 'public.agg_any');
INSERT INTO agg_skip SELECT i, 2, 3 FROM generate_series(1, 200) i;
INSERT INTO agg_any VALUES ('\x0000006400', 2000000000, 2000000000);
INSERT INTO agg_bytes_of VALUES ('\x0000009600', 'abc');
SELECT widetable.flush();
SELECT sum(a * b), sum(a + 1), count(a) FROM agg_skip;
-- Errors of expressions where their columns are null, and of their parts without columns.
CREATE DOMAIN agg_must AS int NOT NULL;
CREATE FOREIGN TABLE agg_two (k int, a int OPTIONS (column 'f:a'), x int OPTIONS (column 'g:x')) SERVER widetable OPTIONS (key 'k', families '{"f": {}, "g": {}}');
INSERT INTO agg_two VALUES (1, 1, 1), (2, NULL, 2);
SELECT max(a::agg_must) FROM agg_two;
SELECT count(*) FROM agg_two WHERE a::agg_must > 0;
SELECT sum(a) FILTER (WHERE 1 / coalesce(a, 0) > 0) FROM agg_two;
SELECT sum(a) FROM agg_two WHERE 1 / (k - 2) < 5;
SELECT sum(a) FROM agg_two WHERE 1 / coalesce(a, 0) > 0;
SELECT sum(a) FROM agg_two WHERE a::agg_must > 0;
PREPARE agg_part(int) AS SELECT sum(a + 1 / $1) FROM agg_two WHERE k = 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE agg_part(1);
EXECUTE agg_part(0);
RESET plan_cache_mode;
DEALLOCATE agg_part;
EXPLAIN (COSTS OFF) SELECT sum(a + 1), max(a) FILTER (WHERE x > 0) FROM agg_two;
EXPLAIN (COSTS OFF) SELECT sum(a) FILTER (WHERE a > 1 OR k > 1) FROM agg_two WHERE a <> 7 OR a IS NULL;
EXPLAIN (COSTS OFF) SELECT sum(a) FROM agg_two WHERE a / 2 < 7;
DROP FOREIGN TABLE agg_any, agg_skip, agg_bytes_of, agg_two;
DROP DOMAIN agg_must;

-- A cursor rests between two groups, and the row that begins the next one waits.
BEGIN;
DECLARE direct CURSOR FOR SELECT site, count(*), sum(hits), min(name) FROM agg GROUP BY site ORDER BY site DESC;
DECLARE reader CURSOR FOR SELECT site, count(*), sum(hits), min(upper(name)) FROM agg GROUP BY site ORDER BY site;
FETCH 1 FROM direct;
FETCH 1 FROM reader;
FETCH 2 FROM direct;
FETCH ALL FROM reader;
FETCH ALL FROM direct;
COMMIT;
SELECT site, count(*), sum(hits), min(name), min(upper(name)) FROM heap GROUP BY site ORDER BY site;

DROP VIEW per_site, barrier;
DROP FUNCTION same, plan, tell;
DROP FOREIGN TABLE agg, agg_salt, agg_bytes, agg_plain, agg_md5, agg_cells, agg_edge, agg_raw;
DROP TABLE heap;
