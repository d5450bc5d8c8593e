-- What reaches the engine: conditions on the key become ranges of keys.
--
-- Rows are stored in the order of the key's bytes, so a condition on leading
-- key columns selects a range, and reading a range touches nothing else.
-- EXPLAIN shows it as Key Range, in key order.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- Compares each query with an ordinary table that has the same rows.
CREATE FUNCTION push_same(rel text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    wrong bigint;
    n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((SELECT * FROM %1$I_w WHERE %2$s EXCEPT ALL SELECT * FROM %1$I_h WHERE %2$s)
                    UNION ALL (SELECT * FROM %1$I_h WHERE %2$s EXCEPT ALL SELECT * FROM %1$I_w WHERE %2$s)) x',
                   rel, condition) INTO wrong;
    EXECUTE format('SELECT count(*) FROM %1$I_h WHERE %2$s', rel, condition) INTO n;
    RETURN CASE WHEN wrong = 0 THEN format('same, %s rows', n) ELSE format('%s ROWS DIFFER', wrong) END;
END $$;

CREATE FOREIGN TABLE push_w (k text COLLATE "C", v int) SERVER widetable;
CREATE TABLE push_h (k text COLLATE "C", v int);
INSERT INTO push_h SELECT k, row_number() OVER () FROM unnest(ARRAY['a', 'aa', 'ab', E'ab\x01', 'ab!', 'abc', 'abd', 'ac', 'a%b',
    'a_b', 'a\b', 'axb', 'b', 'c', 'd', 'da', 'Zoo', 'zoo', '~', 'ä', 'äb', 'abä', '€']) k;
INSERT INTO push_w SELECT * FROM push_h;

-- ------------------------------------------------------------ one text key

EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k = 'ab';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k >= 'ab' AND k < 'b';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE 'ab' < k AND 'b' >= k;
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k BETWEEN 'ab' AND 'b';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k > 'c';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k IN ('d', 'a', 'x', 'a');
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k = 'd' OR k = 'a' OR 'zz' = k;
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k LIKE 'ab%';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k LIKE 'a\_b';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k ^@ 'ab';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE starts_with(k, 'ab');
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k ~ '^ab[cd]';
-- Nothing is pushed down; PostgreSQL's filter tests the condition.
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k LIKE '%b' OR v = 1;
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k <> 'a';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE lower(k) = 'a';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k NOT IN ('a', 'b');
-- No rows: a contradiction, a NULL constant; a key is never NULL.
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k < 'b' AND k > 'c';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k IS NULL;
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k IS NOT NULL AND k >= 'x';
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k = 'a' AND k = ANY ('{a,b}') AND k LIKE 'a%';
-- A volatile function is evaluated for each row, a stable one once per scan.
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k > random()::text;
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k = current_setting('application_name');

SELECT c, push_same('push', c) FROM unnest(ARRAY[
    $$k = 'ab'$$, $$k = ''$$, $$k >= 'ab' AND k < 'b'$$, $$'ab' < k AND 'b' >= k$$, $$k BETWEEN 'ab' AND 'b'$$,
    $$k > 'c'$$, $$k <= 'Zoo'$$, $$k IN ('d', 'a', 'x', 'a')$$, $$k = ANY ('{d,NULL,a}')$$, $$k = ANY (NULL::text[])$$,
    $$k = ANY ('{}')$$, $$k IN ('a', NULL)$$, $$k NOT IN ('a', 'b')$$, $$k = 'd' OR k = 'a' OR 'zz' = k$$,
    $$k LIKE 'ab%'$$, $$k LIKE 'a\_b'$$, $$k LIKE 'a\%%'$$, $$k LIKE 'a_b'$$, $$k LIKE 'ab'$$, $$k LIKE 'a\\b'$$, $$k LIKE '%b'$$,
    $$k LIKE ''$$, $$k LIKE 'aXbX_%' ESCAPE 'X'$$, $$k LIKE 'ä%'$$, $$k NOT LIKE 'a%'$$, $$k ILIKE 'z%'$$, $$k LIKE ANY ('{a%,b%}')$$,
    $$k ^@ 'ab'$$, $$k ^@ ''$$, $$starts_with(k, 'z')$$, $$starts_with('abc', k)$$, $$k ~ '^ab[cd]'$$, $$k ~ '^ab|^c'$$, $$k ~ 'b$'$$,
    $$k ~ '^(a|b)'$$, $$k ~* '^Z'$$, $$k SIMILAR TO 'ab(c|d)'$$, $$k < 'b' AND k > 'c'$$, $$k IS NULL$$, $$k IS NOT NULL$$,
    $$k IS NOT DISTINCT FROM 'ab'$$, $$k IS DISTINCT FROM 'ab'$$, $$k IS NOT DISTINCT FROM NULL$$, $$k = NULL$$,
    $$k ~>=~ 'ab' AND k ~<~ 'b'$$, $$NOT (k >= 'ab')$$, $$k >= 'ab' OR v < 3$$, $$k >= 'ab' AND v < 9$$,
    $$(k = 'a' OR k = 'b') AND k IN ('b', 'c')$$, $$k > 'a' AND k > 'b' AND k < 'zzz' AND k <= 'd'$$, $$k::varchar = 'a'$$,
    $$k = 'a'::char(3)$$, $$k::char(3) = 'a'$$, $$k >= 'ab'::name$$, $$k = (SELECT 'ab')$$, $$k > (SELECT max(k) FROM push_h WHERE k < 'b')$$,
    $$k = ANY (ARRAY(SELECT k FROM push_h WHERE v < 4))$$]) c;

-- ---------------------------------------------------------------- parameters

-- A generic plan does not know the values, so it pushes down the expressions.
SET plan_cache_mode = force_generic_plan;
PREPARE p_eq(text) AS SELECT * FROM push_w WHERE k = $1;
EXPLAIN (COSTS OFF) EXECUTE p_eq('ab');
EXECUTE p_eq('ab');
EXECUTE p_eq(NULL);
PREPARE p_range(text, text) AS SELECT k FROM push_w WHERE k >= $1 AND k < $2;
EXPLAIN (COSTS OFF) EXECUTE p_range('ab', 'b');
EXECUTE p_range('ab', 'ac');
EXECUTE p_range('b', 'ab');
EXECUTE p_range('b', NULL);
PREPARE p_like(text) AS SELECT k FROM push_w WHERE k LIKE $1;
EXPLAIN (COSTS OFF) EXECUTE p_like('ab%');
EXECUTE p_like('ab%');
EXECUTE p_like('a\_%');
EXECUTE p_like('%oo');
EXECUTE p_like('zoo');
EXECUTE p_like(NULL);
PREPARE p_starts(text) AS SELECT k FROM push_w WHERE k ^@ $1;
EXPLAIN (COSTS OFF) EXECUTE p_starts('ab');
EXECUTE p_starts('ab');
PREPARE p_any(text[]) AS SELECT k FROM push_w WHERE k = ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE p_any('{a}');
EXECUTE p_any('{zoo,a,NULL,nosuch,a}');
EXECUTE p_any('{}');
EXECUTE p_any(NULL);
RESET plan_cache_mode;

-- ------------------------------------------------------------------- order

-- Rows come in key order, in both directions, without a sort, and the scan
-- stops when LIMIT is reached.
EXPLAIN (COSTS OFF) SELECT k FROM push_w ORDER BY k LIMIT 3;
SELECT k FROM push_w ORDER BY k LIMIT 3;
EXPLAIN (COSTS OFF) SELECT k FROM push_w ORDER BY k DESC LIMIT 3;
SELECT k FROM push_w ORDER BY k DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT k FROM push_w WHERE k < 'b' ORDER BY k DESC NULLS LAST;
SELECT k FROM push_w WHERE k < 'b' ORDER BY k DESC NULLS LAST;
EXPLAIN (COSTS OFF) SELECT k FROM push_w WHERE k IN ('b', 'ab', 'zoo') ORDER BY k DESC;
SELECT k FROM push_w WHERE k IN ('b', 'ab', 'zoo') ORDER BY k DESC;
-- Prints a plan as 15 does: 17 prints the value of an InitPlan differently.
CREATE FUNCTION push_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(regexp_replace(line, '\(InitPlan 1\)\.col1', '$0', 'g'), '(InitPlan 1)$', '\1 (returns $0)');
    END LOOP;
END $$;
SELECT push_plan($q$SELECT max(k) FROM push_w$q$) AS "QUERY PLAN";
SELECT min(k), max(k) FROM push_w;
SELECT min(k), max(k) FROM push_w WHERE k > 'b' AND k < 'd';
EXPLAIN (COSTS OFF) SELECT v FROM push_w ORDER BY v LIMIT 1;
SELECT (SELECT array_agg(k) FROM (SELECT k FROM push_w ORDER BY k) x) = (SELECT array_agg(k ORDER BY k) FROM push_h) AS same_order;
-- A query for three rows reads at most three rows.
CREATE FUNCTION push_cells(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN jsonb_path_query_first(j::jsonb, '$.**."Cells Returned"');
END $$;
CREATE FUNCTION push_scanned(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN jsonb_path_query_first(j::jsonb, '$.**."Cells Scanned"');
END $$;
SELECT push_cells($$SELECT * FROM push_w ORDER BY k DESC LIMIT 3$$) <= 4 AS stops_early;

-- -------------------------------------------------------- a composite key

CREATE FOREIGN TABLE comp_w (u int, ts timestamptz, id int, v text) SERVER widetable OPTIONS (key 'u, ts desc, id');
CREATE TABLE comp_h (u int, ts timestamptz, id int, v text);
INSERT INTO comp_h SELECT u, '2024-01-01Z'::timestamptz + d * interval '1 day', id, format('%s/%s/%s', u, d, id)
FROM generate_series(-2, 3) u, generate_series(0, 9) d, generate_series(-1, 1) id;
INSERT INTO comp_w SELECT * FROM comp_h;

-- Equality on leading columns, then one range.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 AND ts >= '2024-01-03Z' AND ts < '2024-01-05Z';
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 AND ts = '2024-01-03Z' AND id > 0;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 AND ts = '2024-01-03Z' AND id = 0;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u IN (1, 2) AND ts IN ('2024-01-03Z', '2024-01-04Z') AND id = 0;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u IN (1, 2) AND ts > '2024-01-09Z';
-- A gap in the key columns: the range does not include id.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 AND id = 0;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE ts = '2024-01-03Z' AND id = 0;
-- The newest rows of one user, and the next page: no sort, and no row read too many.
EXPLAIN (COSTS OFF) SELECT ts, id FROM comp_w WHERE u = 1 ORDER BY ts DESC LIMIT 4 OFFSET 5;
SELECT ts, id FROM comp_w WHERE u = 1 ORDER BY ts DESC, id LIMIT 4 OFFSET 5;
EXPLAIN (COSTS OFF) SELECT ts, id FROM comp_w WHERE u = 1 ORDER BY ts LIMIT 4;
SELECT ts, id FROM comp_w WHERE u = 1 ORDER BY ts, id DESC LIMIT 4;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w ORDER BY u, ts DESC, id;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w ORDER BY u DESC, ts, id DESC;
SET enable_incremental_sort = off;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w ORDER BY u, ts, id;
RESET enable_incremental_sort;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w ORDER BY ts DESC;
SELECT (SELECT array_agg(v) FROM (SELECT v FROM comp_w ORDER BY u DESC, ts, id DESC) x)
     = (SELECT array_agg(v ORDER BY u DESC, ts, id DESC) FROM comp_h) AS same_order;
-- The page after a row as a row comparison: all key columns must have the same direction.
CREATE FOREIGN TABLE page_w (a int, b text COLLATE "C", c int, v int) SERVER widetable OPTIONS (key 'a, b, c');
CREATE TABLE page_h (a int, b text COLLATE "C", c int, v int);
INSERT INTO page_h SELECT a, b, c, 1 FROM generate_series(1, 4) a, unnest('{x,xy,y,""}'::text[]) b, generate_series(1, 3) c;
INSERT INTO page_w SELECT * FROM page_h;
EXPLAIN (COSTS OFF) SELECT * FROM page_w WHERE (a, b, c) > (2, 'x', 2) ORDER BY a, b, c LIMIT 3;
SELECT a, b, c FROM page_w WHERE (a, b, c) > (2, 'x', 2) ORDER BY a, b, c LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM page_w WHERE (a, b, c) < (2, 'x', 2) ORDER BY a DESC, b DESC, c DESC LIMIT 3;
SELECT a, b, c FROM page_w WHERE (a, b, c) < (2, 'x', 2) ORDER BY a DESC, b DESC, c DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM page_w WHERE a = 2 AND (b, c) >= ('x', 2) AND (b, c) < ('y', 1);
EXPLAIN (COSTS OFF) SELECT * FROM page_w WHERE (a, c) > (2, 2);

SELECT c, push_same('comp', c) FROM unnest(ARRAY[
    $$u = 1$$, $$u = 1 AND ts >= '2024-01-03Z' AND ts < '2024-01-05Z'$$, $$u = 1 AND ts > '2024-01-03Z' AND ts <= '2024-01-05Z'$$,
    $$u = 1 AND ts = '2024-01-03Z' AND id > 0$$, $$u = 1 AND ts = '2024-01-03Z' AND id = 0$$, $$u = 1 AND id = 0$$,
    $$u IN (1, 2) AND ts IN ('2024-01-03Z', '2024-01-04Z') AND id = 0$$, $$u IN (1, 2, -1) AND ts > '2024-01-09Z'$$,
    $$u < 0$$, $$u > -2 AND u <= 1 AND ts < '2024-01-02Z'$$, $$ts = '2024-01-03Z' AND id = 0$$, $$u = 99$$, $$u = 1 AND ts > 'infinity'$$,
    $$u = 1 AND ts < 'infinity' AND ts > '-infinity'$$, $$u = 1 AND ts > '294270-01-01'$$, $$u = 1 AND ts < '294270-01-01'$$,
    $$u = 1 AND ts >= date '2024-01-05'$$, $$u = 1 AND ts < timestamp '2024-01-05'$$, $$u = 1 AND ts = date '2024-01-05'$$,
    $$u = 1 AND ts > date '294270-01-01'$$, $$u = 1 AND ts <= date 'infinity'$$, $$u = 1 AND ts < now()$$,
    -- numbers of another width or type
    $$u = 1::bigint$$, $$u = 1::smallint$$, $$u > 3000000000$$, $$u < 3000000000$$, $$u = 3000000000$$, $$u >= -3000000000$$,
    $$u IN (1, 3000000000)$$, $$u = 1.0$$, $$u > 1.5$$, $$u = 1.5::float8$$, $$u < 'infinity'::float8$$,
    $$(u, ts) < (1, '2024-01-03Z')$$, $$(u, ts) >= (1, '2024-01-03Z')$$, $$(u, id) > (1, 0)$$, $$(u, ts, id) <= (1, '2024-01-03Z', 0)$$,
    $$u = 1 AND (ts, id) < ('2024-01-03Z', 0)$$, $$u + 0 = 1$$, $$u = id$$, $$u = 1 OR u = 2 AND id = 0$$]) c;
SELECT c, push_same('page', c) FROM unnest(ARRAY[
    $$(a, b, c) > (2, 'x', 2)$$, $$(a, b, c) >= (2, 'x', 2)$$, $$(a, b, c) < (2, 'x', 2)$$, $$(a, b, c) <= (2, 'x', 2)$$,
    $$(a, b, c) > (2, NULL, 2)$$, $$(a, b, c) <= (2, NULL, 2)$$, $$(a, b, c) < (2, 'x', NULL)$$, $$(a, b, c) >= (NULL, 'x', 2)$$,
    $$a = 2 AND (b, c) >= ('x', 2) AND (b, c) < ('y', 1)$$, $$(a, c) > (2, 2)$$, $$(a, v) <= (2, 1)$$, $$(a, b) > (2, '')$$,
    $$a = 2 AND b = 'x' AND (a, b, c) > (2, 'x', 1) AND c < 3$$, $$a = 3 AND b LIKE 'x%'$$, $$a = 3 AND b LIKE 'x' AND c = 2$$,
    $$a = 3 AND b ^@ 'x' AND c = 2$$, $$a IN (1, 3) AND b IN ('', 'xy') AND c IN (1, 2, 9)$$, $$a IN (1, 3) AND b LIKE 'x%'$$,
    $$a = 3 AND b > 'x' AND b <= 'y' AND c = 1$$, $$a = 1 AND b = ''$$, $$b = 'x'$$, $$a IS NULL$$, $$a = 1 AND b IS NULL$$,
    $$(a, b, c) = (2, 'x', 2)$$, $$(a, b, c) IN ((2, 'x', 2), (3, 'y', 1))$$, $$a = 1 AND a = 2$$, $$(a, b, c) <> (2, 'x', 2)$$]) c;

-- ----------------------------------------------------------- other types

CREATE FOREIGN TABLE bytes_w (k bytea, d date, v int) SERVER widetable OPTIONS (key 'k, d');
CREATE TABLE bytes_h (k bytea, d date, v int);
INSERT INTO bytes_h SELECT k, d, 1 FROM unnest('{"\\x","\\x00","\\x0001","\\x00ff","\\x01","\\x61","\\x6100","\\x610062","\\x6162","\\xfe","\\xff","\\xffff","\\xff00"}'::bytea[]) k,
    unnest('{2024-01-01,2024-02-01,-infinity,infinity}'::date[]) d;
INSERT INTO bytes_w SELECT * FROM bytes_h;
SELECT c, push_same('bytes', c) FROM unnest(ARRAY[
    $$k = '\x00'$$, $$k > '\x00' AND k < '\x61'$$, $$k >= '\x00' AND k <= '\x6100'$$, $$k LIKE 'a%'::bytea$$, $$k LIKE '\\377%'::bytea$$, $$k LIKE '\x0025'::bytea$$,
    $$k = '\xff' AND d > '2024-01-01'$$, $$k IN ('\xff', '\x', '\x00') AND d >= '2024-02-01'$$, $$k = '\x'$$, $$k > '\xff'$$, $$k >= '\xffff'$$,
    $$k = '\x61' AND d < 'infinity'$$, $$(k, d) > ('\x61', '2024-01-01')$$, $$(k, d) <= ('\xff', '2024-01-01')$$]) c;
SELECT (SELECT array_agg((k, d)) FROM (SELECT k, d FROM bytes_w ORDER BY k DESC, d DESC) x)
     = (SELECT array_agg((k, d) ORDER BY k DESC, d DESC) FROM bytes_h) AS same_order;

-- an equality and a bound on one part are no range
CREATE FOREIGN TABLE flag_w (b bool, v int) SERVER widetable;
EXPLAIN (COSTS OFF) SELECT * FROM flag_w WHERE b AND b >= false;

-- a point at the edge of an interval, where nothing marks the end of the key
CREATE FOREIGN TABLE raw_w (k bytea, v int) SERVER widetable;
CREATE TABLE raw_h (k bytea, v int);
INSERT INTO raw_h SELECT k, 1 FROM unnest('{"\\x61","\\x6100"}'::bytea[]) k UNION ALL SELECT '\x6100'::bytea || set_byte('\x00', 0, n), 2 FROM generate_series(0, 255) n;
INSERT INTO raw_w SELECT * FROM raw_h;
SELECT c, push_same('raw', c) FROM unnest(ARRAY[
    $$k > '\x61' AND k = '\x6100'$$, $$k <> '\x61' AND k = '\x6100'$$, $$k > '\x61' AND k IN ('\x61', '\x6100', '\x610001')$$, $$k > '\x61' AND k <= '\x6100'$$]) c;

-- points in time that the key cannot hold
CREATE FOREIGN TABLE edge_w (k timestamptz, v int) SERVER widetable;
CREATE TABLE edge_h (k timestamptz, v int);
INSERT INTO edge_h SELECT k, 1 FROM unnest('{-infinity,4713-01-01 BC,2024-01-01,294246-12-31,infinity}'::timestamptz[]) k;
INSERT INTO edge_w SELECT * FROM edge_h;
SELECT v, c, push_same('edge', format('k %s %s', c, v)) FROM unnest(ARRAY[$$'5874897-12-31'::date$$, $$'294276-12-31'::timestamptz$$, $$'infinity'::date$$]) v,
    unnest('{<,<=,=,<>,>=,>}'::text[]) c;

CREATE FOREIGN TABLE many_w (n numeric, f float8, b bool, s int2 OPTIONS (encoding 'unsigned1'), v int) SERVER widetable OPTIONS (key 'n desc, f, b, s');
CREATE TABLE many_h (n numeric, f float8, b bool, s int2, v int);
INSERT INTO many_h SELECT n, f, b, s, 1 FROM unnest('{-1.5,0,1,1.10,100,NaN}'::numeric[]) n, unnest('{-1,0,2.5,Infinity,NaN}'::float8[]) f,
    unnest('{t,f}'::bool[]) b, unnest('{0,200}'::int2[]) s;
INSERT INTO many_w SELECT * FROM many_h;
EXPLAIN (COSTS OFF) SELECT * FROM many_w WHERE n = 1.1 AND f > 0 AND b;
EXPLAIN (COSTS OFF) SELECT * FROM many_w WHERE n = 1.1 AND f = 0 AND NOT b AND s > 300;
SELECT c, push_same('many', c) FROM unnest(ARRAY[
    $$n = 1.1$$, $$n = 1.100$$, $$n > 0$$, $$n >= 1 AND n < 100$$, $$n = 'NaN'$$, $$n = 1$$, $$n < 'NaN' AND n > -2$$, $$n = 1.1 AND f > 0 AND b$$,
    $$n = 1.1 AND f = 0 AND NOT b AND s > 300$$, $$n = 1.1 AND f = '-0' AND b$$, $$n = 1.1 AND f = 'NaN'$$, $$n = 1.1 AND f < 'NaN'$$,
    $$n = 1.1 AND f > 0::float4$$, $$n = 0 AND f = 2.5 AND b AND s < 300$$, $$n = 0 AND f = 2.5 AND b AND s >= -5$$, $$n = 0 AND f = 2.5 AND b AND s = -5$$,
    $$n = 0 AND f = 2.5 AND b = true AND s <= 200$$, $$n = 0 AND f = 2.5 AND b IS TRUE$$, $$n = 0 AND f = 2.5 AND b > false$$, $$n > 1.5::float8$$]) c;

-- desc on text; a delimiter; encodings that do not preserve the order.
CREATE FOREIGN TABLE odd_w (a text OPTIONS (delimiter '+') COLLATE "C", b text COLLATE "C", v int) SERVER widetable OPTIONS (key 'a, b desc');
CREATE TABLE odd_h (a text COLLATE "C", b text COLLATE "C", v int);
INSERT INTO odd_h SELECT a, b, 1 FROM unnest('{AK,AKx,AK!,B,""}'::text[]) a, unnest('{foo,bar,fo,foot,""}'::text[]) b;
INSERT INTO odd_w SELECT * FROM odd_h;
EXPLAIN (COSTS OFF) SELECT * FROM odd_w WHERE a = 'AK' AND b LIKE 'fo%';
EXPLAIN (COSTS OFF) SELECT * FROM odd_w WHERE a > 'AK';
EXPLAIN (COSTS OFF) SELECT * FROM odd_w ORDER BY a, b DESC;
EXPLAIN (COSTS OFF) SELECT * FROM odd_w WHERE a = 'AK' ORDER BY b;
SELECT c, push_same('odd', c) FROM unnest(ARRAY[
    $$a = 'AK'$$, $$a = 'AK+'$$, $$a LIKE 'AK%'$$, $$a LIKE 'AK+%'$$, $$a ^@ 'AK' AND b = 'foo'$$, $$a > 'AK'$$, $$a = 'AK' AND b LIKE 'fo%'$$,
    $$a = 'AK' AND b > 'fo'$$, $$a = 'AK' AND b <= 'fo'$$, $$a = 'AK' AND b < 'foo' AND b >= 'bar'$$, $$a = 'AK' AND b = ''$$, $$a IN ('AK+', 'B')$$]) c;
-- The delimiter 00 is below every text, so the order is preserved, as with escapes.
CREATE FOREIGN TABLE nul_w (a text OPTIONS (delimiter '\x00') COLLATE "C", b text OPTIONS (delimiter '\x00') COLLATE "C", v int) SERVER widetable OPTIONS (key 'a, b desc');
CREATE TABLE nul_h (a text COLLATE "C", b text COLLATE "C", v int);
INSERT INTO nul_h SELECT a, b, 1 FROM unnest(ARRAY['AK', 'AKx', 'AK!', E'AK\x01', 'B', '', E'\x01']) a, unnest(ARRAY['foo', 'bar', 'fo', 'foot', '', E'\x01', E'fo\x01']) b;
INSERT INTO nul_w SELECT * FROM nul_h;
EXPLAIN (COSTS OFF) SELECT * FROM nul_w WHERE a > 'AK' AND a <= 'B' ORDER BY a, b DESC;
EXPLAIN (COSTS OFF) SELECT * FROM nul_w WHERE a = 'AK' AND b < 'foo' ORDER BY b DESC;
SELECT (SELECT array_agg((a, b)) FROM (SELECT a, b FROM nul_w ORDER BY a, b DESC) x) = (SELECT array_agg((a, b) ORDER BY a, b DESC) FROM nul_h) AS same_order;
SELECT (SELECT array_agg((a, b)) FROM (SELECT a, b FROM nul_w ORDER BY a DESC, b) x) = (SELECT array_agg((a, b) ORDER BY a DESC, b) FROM nul_h) AS same_order;
SELECT c, push_same('nul', c) FROM unnest(ARRAY[
    $$a = 'AK'$$, $$a = ''$$, $$a LIKE 'AK%'$$, $$a LIKE 'AK'$$, $$a ^@ 'AK' AND b = 'foo'$$, $$a > 'AK'$$, $$a >= 'AK'$$, $$a < 'AK'$$, $$a <= 'AK'$$, $$a > ''$$,
    $$a BETWEEN 'AK' AND 'AKx'$$, $$a = 'AK' AND b LIKE 'fo%'$$, $$a = 'AK' AND b > 'fo'$$, $$a = 'AK' AND b >= 'fo'$$, $$a = 'AK' AND b < 'fo'$$, $$a = 'AK' AND b <= 'fo'$$,
    $$a = 'AK' AND b < 'foo' AND b >= 'bar'$$, $$a = 'AK' AND b = ''$$, $$a = 'AK' AND b > ''$$, $$a IN ('AK', 'B') AND b IN ('', 'fo')$$, $$(a, b) > ('AK', 'fo')$$, $$(a, b) <= ('AK', 'fo')$$,
    $$b = 'fo'$$, $$b > 'fo'$$, $$a <> 'AK'$$]) c;
CREATE FOREIGN TABLE hex_w (h int OPTIONS (encoding 'hex'), d int OPTIONS (encoding 'decimal'), v int) SERVER widetable OPTIONS (key 'h, d');
CREATE TABLE hex_h (h int, d int, v int);
INSERT INTO hex_h SELECT h, d, 1 FROM unnest('{-1,0,9,10,255}'::int[]) h, unnest('{-1,0,9,10,255}'::int[]) d;
INSERT INTO hex_w SELECT * FROM hex_h;
EXPLAIN (COSTS OFF) SELECT * FROM hex_w WHERE h = 10 AND d IN (9, 255);
EXPLAIN (COSTS OFF) SELECT * FROM hex_w WHERE h > 9 ORDER BY h;
SELECT c, push_same('hex', c) FROM unnest(ARRAY[$$h = 10 AND d IN (9, 255)$$, $$h > 9$$, $$h = -1 AND d < 10$$, $$h = 3000000000$$]) c;
CREATE FOREIGN TABLE rev_w (t bigint OPTIONS (encoding 'reverse'), v int) SERVER widetable;
CREATE TABLE rev_h (t bigint, v int);
INSERT INTO rev_h SELECT t, 1 FROM unnest('{-9223372036854775808,-5,0,3,100,9223372036854775807}'::bigint[]) t;
INSERT INTO rev_w SELECT * FROM rev_h;
EXPLAIN (COSTS OFF) SELECT t FROM rev_w WHERE t > 0 ORDER BY t DESC;
SELECT t FROM rev_w WHERE t > 0 ORDER BY t DESC;
SELECT c, push_same('rev', c) FROM unnest(ARRAY[$$t > 0$$, $$t <= 3$$, $$t < -5$$, $$t >= -9223372036854775808$$, $$t = 100::smallint$$, $$t BETWEEN -5 AND 3$$]) c;

-- ------------------------------------------------------------------- salt

CREATE FOREIGN TABLE salt_w (a text COLLATE "C", b int, v int) SERVER widetable OPTIONS (key 'a, b', salt_buckets '8');
CREATE TABLE salt_h (a text COLLATE "C", b int, v int);
INSERT INTO salt_h SELECT a, b, 1 FROM unnest('{x,xy,y,z}'::text[]) a, generate_series(1, 9) b;
INSERT INTO salt_w SELECT * FROM salt_h;
SELECT c, push_same('salt', c) FROM unnest(ARRAY[$$a = 'x'$$, $$a = 'x' AND b = 3$$, $$a = 'x' AND b > 3$$, $$a LIKE 'x%'$$, $$a > 'x'$$,
    $$a IN ('x', 'z') AND b IN (1, 5, 77)$$, $$(a, b) >= ('xy', 7)$$, $$b = 2$$, $$true$$]) c;
SELECT (SELECT array_agg((a, b)) FROM (SELECT a, b FROM salt_w WHERE b > 2 ORDER BY a DESC, b DESC) x)
     = (SELECT array_agg((a, b) ORDER BY a DESC, b DESC) FROM salt_h WHERE b > 2) AS same_order;
EXPLAIN (COSTS OFF) SELECT * FROM salt_w WHERE a = 'x' ORDER BY b DESC LIMIT 2;
SELECT * FROM salt_w WHERE a = 'x' ORDER BY b DESC LIMIT 2;

-- ------------------------------------------------------ AND, OR and rows

-- An OR becomes the ranges of all its arms, each combined with the other conditions.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 OR u = 3 AND ts > '2024-01-05Z';
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE (u < -1 OR u > 2) AND ts = '2024-01-05Z';
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 AND (ts < '2024-01-03Z' OR ts > '2024-01-08Z');
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE (u = 1 OR u = 2 AND id = 0) AND (ts < '2024-01-03Z' OR ts > '2024-01-08Z');
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k LIKE 'ab%' OR k ^@ 'z' OR k = 'd';
EXPLAIN (COSTS OFF) SELECT * FROM page_w WHERE (a, b, c) IN ((2, 'x', 2), (3, 'y', 1), (3, 'zz', 1));
-- Adjacent and overlapping ranges are joined.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u < 1 OR u BETWEEN 0 AND 2;
-- An arm with conditions beyond the key: its ranges, and the clause tested again.
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k LIKE 'ab%c' OR k = 'd';
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 AND v LIKE '%2' OR u = 2;
-- An arm without a condition on the key: all rows.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 OR v = 'x';
-- The page after a row in a key with descending columns: a row comparison in
-- the direction of the key does not exist, so it is written out ...
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 AND (ts < '2024-01-05Z' OR ts = '2024-01-05Z' AND id > 0) ORDER BY ts DESC, id LIMIT 3;
SELECT ts, id FROM comp_w WHERE u = 1 AND (ts < '2024-01-05Z' OR ts = '2024-01-05Z' AND id > 0) ORDER BY ts DESC, id LIMIT 3;
-- ... and a row comparison over columns of different directions.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE (u, ts, id) < (1, '2024-01-03Z', 0);
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE (u, ts, v) >= (1, '2024-01-03Z', 'x');
SET plan_cache_mode = force_generic_plan;
PREPARE p_page(int, timestamptz, int) AS SELECT u, ts, id FROM comp_w WHERE (u, ts, id) > ($1, $2, $3) ORDER BY u, ts DESC, id LIMIT 2;
EXPLAIN (COSTS OFF) EXECUTE p_page(1, '2024-01-09Z', 0);
EXECUTE p_page(1, '2024-01-09Z', 0);
EXECUTE p_page(1, NULL, 0);
EXECUTE p_page(3, '2024-01-10Z', 0);
PREPARE p_or(int, int, timestamptz) AS SELECT count(*) FROM comp_w WHERE u = $1 OR (u = $2 AND ts >= $3);
EXPLAIN (COSTS OFF) EXECUTE p_or(1, 2, '2024-01-09Z');
EXECUTE p_or(1, 2, '2024-01-09Z');
EXECUTE p_or(1, NULL, '2024-01-09Z');
EXECUTE p_or(2, 2, '2024-01-09Z');
RESET plan_cache_mode;

SELECT c, push_same('comp', c) FROM unnest(ARRAY[
    $$u = 1 OR u = 3 AND ts > '2024-01-05Z'$$, $$(u < -1 OR u > 2) AND ts = '2024-01-05Z'$$, $$u < 1 OR u BETWEEN 0 AND 2$$,
    $$(u = 1 OR u = 2 AND id = 0) AND (ts < '2024-01-03Z' OR ts > '2024-01-08Z')$$, $$u = 1 AND v LIKE '%2' OR u = 2$$,
    $$u = 1 OR v = '2/2/0'$$, $$(u, ts, id) < (1, '2024-01-03Z', 0)$$, $$(u, ts, id) >= (1, '2024-01-03Z', 0)$$, $$(u, ts, id) > (1, NULL, 0)$$,
    $$(u, ts, v) >= (1, '2024-01-03Z', '1/2/0')$$, $$(ts, u) > ('2024-01-03Z', 1)$$, $$(id, u) <= (0, 1)$$, $$(u, ts) < (3000000000, '2024-01-03Z')$$,
    $$(u, ts) < (1, date '2024-01-03')$$, $$u <> 1$$, $$u <> 1 AND u <> 3$$, $$u <> NULL$$, $$u <> 3000000000$$, $$u = 1 AND id <> 0$$, $$NOT (u = 1 AND id > 0)$$,
    $$NOT (u < 1 OR id = 1)$$, $$u = 1 OR u IS NULL$$, $$u = 1 OR (u IS NOT NULL AND id = 0)$$, $$(u = 1 OR id = 1) AND (u = 2 OR id = 0)$$]) c;
SELECT c, push_same('page', c) FROM unnest(ARRAY[
    $$(a, b, c) IN ((2, 'x', 2), (3, 'y', 1), (3, 'zz', 1))$$, $$a = 2 AND b = 'x' OR a = 3 AND b LIKE 'x%' AND c = 1$$,
    $$b LIKE 'x%' OR b = '' OR a = 1$$, $$(a, c) > (2, 2) OR a = 1$$, $$(c, a) > (2, 2)$$]) c;
SELECT c, push_same('push', c) FROM unnest(ARRAY[
    $$k LIKE 'ab%' OR k ^@ 'z' OR k = 'd'$$, $$k < 'ab' OR k >= 'c' AND k <> 'd'$$, $$k LIKE 'a%' AND k <> 'ab'$$, $$k > 'b' OR k LIKE '%b'$$]) c;
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k LIKE ANY ('{ab%,z%}');
SELECT c, push_same('push', c) FROM unnest(ARRAY[$$k LIKE ANY ('{ab%,z%}')$$, $$k LIKE ANY ('{ab%,NULL,%b}')$$, $$k LIKE ANY ('{}')$$,
    $$k < ANY ('{b,ab}')$$, $$k LIKE ALL ('{a%,%b}')$$, $$k <> ALL ('{a,b}')$$, $$k LIKE '%'$$, $$k LIKE 'ab%%'$$, $$k LIKE 'ab%c'$$, $$k LIKE 'a\%'$$]) c;
-- Hundreds of arms.
SELECT push_same('page', string_agg(format('a = %s AND b = %L AND c > %s', n % 5, CASE WHEN n % 2 = 0 THEN 'x' ELSE 'xy' END, n % 4), ' OR '))
FROM generate_series(1, 300) n;

-- ------------------------------------------------- later key columns alone

-- Conditions that ranges cannot express go to the key filter: it tests the
-- bytes of the keys, and seeks to the next key that can match.
CREATE FOREIGN TABLE gap_w (a int, b int, c text COLLATE "C", d int, v int) SERVER widetable OPTIONS (key 'a, b desc, c, d desc');
CREATE TABLE gap_h (a int, b int, c text COLLATE "C", d int, v int);
INSERT INTO gap_h SELECT a, b, c, d, 1 FROM generate_series(1, 6) a, generate_series(-20, 30) b, unnest('{"",p,pq,q}'::text[]) c, generate_series(1, 4) d;
INSERT INTO gap_w SELECT * FROM gap_h;
SELECT widetable.flush('gap_w');
EXPLAIN (COSTS OFF) SELECT * FROM gap_w WHERE b = 5;
EXPLAIN (COSTS OFF) SELECT * FROM gap_w WHERE a IN (2, 3) AND c = 'p' AND d = 1;
EXPLAIN (COSTS OFF) SELECT * FROM gap_w WHERE a > 2 AND b BETWEEN 3 AND 5 AND c LIKE 'p%' ORDER BY a DESC, b LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM gap_w WHERE b = 5 AND d = 1 AND v = 1;
-- The scan reads no more cells than the matching rows have.
SELECT push_cells($$SELECT * FROM gap_w WHERE b = 5$$) AS rows_96,
       push_cells($$SELECT * FROM gap_w WHERE b = 5 ORDER BY a DESC, b$$) AS rows_96,
       push_cells($$SELECT * FROM gap_w WHERE b = 5 AND d = 1$$) AS rows_24,
       push_cells($$SELECT * FROM gap_w WHERE b = 5 ORDER BY a LIMIT 7$$) AS rows_7;
SELECT push_scanned($$SELECT * FROM gap_w WHERE b = 5$$) < 200 AS skips,
       push_scanned($$SELECT * FROM gap_w WHERE b IN (-3, 5) AND c = 'pq' AND d = 3 ORDER BY a DESC$$) < 200 AS skips_backward;
SELECT c, push_same('gap', c) FROM unnest(ARRAY[
    $$b = 5$$, $$b > 28$$, $$b < -18$$, $$b IN (-20, 30, 31)$$, $$b <> 5$$, $$c = ''$$, $$c LIKE 'p%'$$, $$c > 'p'$$, $$d = 1$$, $$d > 3$$, $$d < 2$$,
    $$b = 5 AND d = 1$$, $$a > 3 AND b = 0 AND c <> 'p' AND d IN (1, 4)$$, $$a = 2 AND c = 'q'$$, $$a = 2 AND d = 9$$, $$(b, c) > (5, 'p')$$, $$(b, d) <= (5, 2)$$,
    $$b = 5 OR d = 1 AND c = 'p'$$, $$b = 5 AND a = 1 OR b = 6 AND a = 2 OR c = 'q' AND d = 4$$, $$b = 99$$, $$b = 3000000000$$, $$b > 3000000000$$, $$b = NULL$$]) c;
SELECT c, push_same('many', c) FROM unnest(ARRAY[$$f = 2.5$$, $$b$$, $$NOT b AND s = 200$$, $$b IS NOT TRUE$$, $$f > 0 AND s = 0$$, $$f = 2.5::float4$$]) c;
SELECT c, push_same('bytes', c) FROM unnest(ARRAY[$$d = '2024-02-01'$$, $$d > '2024-01-01'$$, $$k <> '\x00' AND d = 'infinity'$$]) c;
SELECT c, push_same('odd', c) FROM unnest(ARRAY[$$b = 'fo'$$, $$b LIKE 'fo%'$$, $$b < 'foo'$$, $$a > 'AK' AND b = ''$$]) c;
SELECT c, push_same('hex', c) FROM unnest(ARRAY[$$d = 10$$, $$d IN (-1, 255)$$, $$d <> 10$$]) c;
SELECT c, push_same('salt', c) FROM unnest(ARRAY[$$b = 2$$, $$b > 7$$, $$a > 'x' AND b = 9$$, $$b = 1 OR a = 'y'$$]) c;
SELECT * FROM salt_w WHERE b IN (2, 9) ORDER BY a DESC, b DESC LIMIT 3;
-- A join supplies values to an OR.
EXPLAIN (COSTS OFF) SELECT count(*) FROM (VALUES (1, 3), (2, 2), (NULL, 4)) x(p, q) JOIN comp_w ON u = p OR u = q AND id = 0;
SELECT count(*) FROM (VALUES (1, 3), (2, 2), (NULL, 4)) x(p, q) JOIN comp_w ON u = p OR u = q AND id = 0;
SELECT count(*) FROM (VALUES (1, 3), (2, 2), (NULL, 4)) x(p, q) JOIN comp_h ON u = p OR u = q AND id = 0;
-- The same over uncommitted writes and deletes of the transaction.
BEGIN;
DELETE FROM gap_w WHERE b = 5 AND a < 4;
DELETE FROM gap_h WHERE b = 5 AND a < 4;
INSERT INTO gap_w SELECT 9, 5, 'n', n, n FROM generate_series(1, 3) n;
INSERT INTO gap_h SELECT 9, 5, 'n', n, n FROM generate_series(1, 3) n;
SELECT c, push_same('gap', c) FROM unnest(ARRAY[$$b = 5$$, $$b >= 5 AND c = 'n'$$, $$d = 2 AND b > 4 AND b < 7$$]) c;
SELECT a, c, d FROM gap_w WHERE b = 5 AND d = 2 ORDER BY a DESC, b, c DESC LIMIT 3;
ROLLBACK;
-- DELETE finds its rows in the same way.
EXPLAIN (COSTS OFF) DELETE FROM gap_w WHERE b = 5 AND d = 2;
-- Fuzzy row keys: some bytes of the key are given, others are not.
CREATE FOREIGN TABLE fuzzy_w (u text OPTIONS (delimiter '_') COLLATE "C", act text OPTIONS (delimiter '_') COLLATE "C",
    y text OPTIONS (delimiter '_') COLLATE "C", m text COLLATE "C", v int)
    SERVER widetable OPTIONS (key 'u, act, y, m');
INSERT INTO fuzzy_w SELECT lpad(u::text, 4, '0'), lpad(a::text, 2, '0'), y::text, lpad(m::text, 2, '0'), u
FROM generate_series(1, 8) u, generate_series(90, 99) a, generate_series(2011, 2014) y, generate_series(1, 12) m;
SELECT widetable.flush('fuzzy_w');
EXPLAIN (COSTS OFF) SELECT * FROM fuzzy_w WHERE act = '99' AND m = '01';
SELECT count(*), min(u), max(u), min(y), max(y) FROM fuzzy_w WHERE act = '99' AND m = '01';
SELECT push_cells($$SELECT * FROM fuzzy_w WHERE act = '99' AND m = '01'$$) AS rows_32;

-- In layout cells, where one stored row is several SQL rows.
CREATE FOREIGN TABLE cgap (a int, b int, family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text)
    SERVER widetable OPTIONS (layout 'cells', key 'a, b desc');
CREATE VIEW cgap_w AS SELECT a, b, qualifier, value FROM cgap;
CREATE TABLE cgap_h (a int, b int, qualifier text, value text);
INSERT INTO cgap_h SELECT a, b, q, a || '/' || b FROM generate_series(1, 5) a, generate_series(1, 20) b, unnest('{x,y}'::text[]) q;
INSERT INTO cgap (a, b, family, qualifier, value) SELECT a, b, 'd', qualifier, value FROM cgap_h;
EXPLAIN (COSTS OFF) SELECT * FROM cgap WHERE b = 5 AND qualifier = 'x';
SELECT c, push_same('cgap', c) FROM unnest(ARRAY[$$b = 5$$, $$b > 18 AND qualifier = 'x'$$, $$a = 1 AND b < 3 OR a = 3$$, $$(a = 1 AND qualifier = 'x') OR b = 7$$,
    $$b <> 5 AND (a, b) > (2, 7)$$, $$a = 2 OR qualifier = 'y'$$, $$(a = 2 AND qualifier = 'y') OR (a = 3 AND b = 1 AND qualifier = 'x')$$]) c;

-- ----------------------------------------------------------- order, again

-- Local time compared with a point in time: an approximate range, and the clause tested again.
CREATE FOREIGN TABLE local_w (d date, t timestamp, f real, v int) SERVER widetable OPTIONS (key 'd, t, f');
CREATE TABLE local_h (d date, t timestamp, f real, v int);
SET timezone = 'Europe/Berlin';
INSERT INTO local_h SELECT '2024-03-31'::date + d, '2024-03-31'::timestamp + t * interval '30 min', f, 1
FROM generate_series(-6, 6) d, generate_series(-8, 12) t, unnest('{-1,0.1,1.5,NaN}'::real[]) f;
INSERT INTO local_w SELECT * FROM local_h;
EXPLAIN (COSTS OFF) SELECT * FROM local_w WHERE d >= '2024-04-01 12:00Z'::timestamptz;
SELECT c, push_same('local', c) FROM unnest(ARRAY[$$d >= '2024-04-01 12:00Z'::timestamptz$$, $$d < '2024-04-01'::timestamp$$, $$d > 'infinity'::timestamptz$$,
    $$d = '2024-03-31'::timestamptz$$, $$d = '2024-03-31' AND t > '2024-03-31 01:10Z'::timestamptz$$, $$t <= '2024-03-31 00:40Z'::timestamptz$$,
    $$t = '2024-03-31'::date$$, $$t >= '2024-03-31'::date AND t <> '2024-03-31'::date$$, $$f = 0.1$$, $$f = 0.1::real$$, $$f > 0.1$$, $$f >= 0.1 AND f < 1.5$$, $$f < 1e300$$, $$f > -1e300$$,
    $$f >= 1.5::float8 AND f < 'NaN'$$, $$f = 'NaN'::float8$$]) c;
SET timezone = 'UTC';
-- Columns bound to one value may be missing from ORDER BY, or be at any place in it.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 ORDER BY ts DESC, u, id LIMIT 2;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u = 1 AND ts = '2024-01-03Z' ORDER BY id DESC NULLS LAST LIMIT 2;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w ORDER BY u NULLS FIRST, ts DESC NULLS LAST, id NULLS FIRST LIMIT 2;
-- A list of values: sorted by all key columns, but not by the later ones alone.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u IN (1, 3) ORDER BY u, ts DESC LIMIT 2;
EXPLAIN (COSTS OFF) SELECT * FROM comp_w WHERE u IN (1, 3) ORDER BY ts DESC LIMIT 2;
-- Key order covers a prefix of ORDER BY: an incremental sort.
EXPLAIN (COSTS OFF) SELECT * FROM comp_w ORDER BY u, ts DESC, v LIMIT 4;
SELECT v FROM comp_w ORDER BY u, ts DESC, v DESC LIMIT 4;
-- The third page of ten rows reads thirty rows, no more.
CREATE FOREIGN TABLE actions_w (userid int, stamp timestamptz, id int, name text) SERVER widetable OPTIONS (key 'userid, stamp desc, id');
INSERT INTO actions_w SELECT u, '2024-01-01Z'::timestamptz + n * interval '1 minute', n, 'act' || n FROM generate_series(1, 3) u, generate_series(1, 200) n;
EXPLAIN (COSTS OFF) SELECT id, name, stamp FROM actions_w WHERE userid = 1 ORDER BY stamp DESC LIMIT 10 OFFSET 20;
SELECT id, name FROM actions_w WHERE userid = 1 ORDER BY stamp DESC LIMIT 3 OFFSET 20;
SELECT push_cells($$SELECT id, name, stamp FROM actions_w WHERE userid = 1 ORDER BY stamp DESC LIMIT 10 OFFSET 20$$) AS thirty_cells;
-- The next page without OFFSET, from the last row of the page before.
EXPLAIN (COSTS OFF) SELECT id FROM actions_w WHERE userid = 1 AND (stamp, id) < ('2024-01-01 03:00Z', 180) ORDER BY stamp DESC LIMIT 3;
SELECT id FROM actions_w WHERE userid = 1 AND (stamp, id) < ('2024-01-01 03:00Z', 180) ORDER BY stamp DESC LIMIT 3;
-- An inverted index: the rows of one word are sorted by document, so two words can be merged.
CREATE FOREIGN TABLE words_w (word text COLLATE "C", doc int, n int) SERVER widetable OPTIONS (key 'word, doc');
INSERT INTO words_w SELECT w, d, d FROM unnest('{hash,join,tree}'::text[]) w, generate_series(1, 3000) d WHERE CASE w WHEN 'hash' THEN d % 5 = 0 WHEN 'join' THEN d % 3 > 0 ELSE true END;
ANALYZE words_w;
-- Both joins cost about the same; which is less depends on where the rows are, in memory or in files.
SET enable_mergejoin = off;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT a.doc FROM words_w a JOIN words_w b USING (doc) WHERE a.word = 'hash' AND b.word = 'join' ORDER BY doc LIMIT 10;
SELECT array_agg(doc) FROM (SELECT a.doc FROM words_w a JOIN words_w b USING (doc) WHERE a.word = 'hash' AND b.word = 'join' ORDER BY doc LIMIT 10) x;
SELECT push_cells($$SELECT a.doc, a.n, b.n FROM words_w a JOIN words_w b USING (doc) WHERE a.word = 'hash' AND b.word = 'join' ORDER BY doc LIMIT 10$$) < 100 AS stops_early;
RESET enable_mergejoin;
RESET enable_memoize;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT a.doc FROM words_w a JOIN words_w b USING (doc) WHERE a.word = 'hash' AND b.word = 'join' ORDER BY doc LIMIT 10;
SELECT array_agg(doc) FROM (SELECT a.doc FROM words_w a JOIN words_w b USING (doc) WHERE a.word = 'hash' AND b.word = 'join' ORDER BY doc LIMIT 10) x;
SELECT push_cells($$SELECT a.doc, a.n, b.n FROM words_w a JOIN words_w b USING (doc) WHERE a.word = 'hash' AND b.word = 'join' ORDER BY doc LIMIT 10$$) < 100 AS stops_early;
RESET enable_nestloop;
-- The first and the last key, of the table and of a range: one row is read.
SELECT push_plan($q$SELECT max(ts) FROM comp_w WHERE u = 1$q$) AS "QUERY PLAN";
SELECT min(ts), max(ts) FROM comp_w WHERE u = 1;
-- Foreign tables as partitions, merged in key order.
CREATE TABLE part_p (a int, b int, v int) PARTITION BY RANGE (a);
CREATE FOREIGN TABLE part_1 PARTITION OF part_p FOR VALUES FROM (0) TO (10) SERVER widetable OPTIONS (key 'a, b');
CREATE FOREIGN TABLE part_2 PARTITION OF part_p FOR VALUES FROM (10) TO (20) SERVER widetable OPTIONS (key 'a, b');
INSERT INTO part_p SELECT a, b, a * b FROM generate_series(0, 19) a, generate_series(1, 9) b;
EXPLAIN (COSTS OFF) SELECT * FROM part_p ORDER BY a, b LIMIT 3;
SELECT * FROM part_p WHERE b = 9 ORDER BY a DESC, b LIMIT 12;
EXPLAIN (COSTS OFF) SELECT * FROM part_p WHERE a = 12 AND b > 5 OR a = 3;

-- ------------------------------------------------------------- many values

-- Lists are sorted and each key is read once; a product of lists that gets too
-- large is not expanded, and the filter tests the rest.
SELECT push_same('salt', format('a IN (''x'', ''y'', %s) AND b IN (%s)', string_agg(quote_literal('x' || n), ','), string_agg(n::text, ',')))
FROM generate_series(0, 300) n;
SELECT push_same('comp', format('u IN (%s) AND id IN (0,1)', string_agg(n::text, ','))) FROM generate_series(-3000, 3000) n;
-- Keys longer than the limit cannot exist, but have a place in the order.
SELECT push_same('push', format('k >= %L', repeat('b', 40000))), push_same('push', format('k < %L', repeat('b', 40000))),
       push_same('push', format('k = %L', repeat('b', 40000)));

-- For debugging: pushdown switched off.
SET widetable.enable_pushdown = off;
EXPLAIN (COSTS OFF) SELECT * FROM push_w WHERE k = 'ab' ORDER BY k;
RESET widetable.enable_pushdown;

-- ------------------------------------------------------ random conditions

-- A few hundred random conditions, the same ones in each run.
CREATE FUNCTION push_random(rel text, cols text[], consts text[], n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    ops text[] := '{=,<,<=,>,>=,=,=}';
    condition text;
    c int;
    result text;
    bad int := 0;
    x bigint := 42;
BEGIN
    FOR i IN 1 .. n LOOP
        condition := 'true';
        x := (x * 1103515245 + 12345) % 2147483648;
        FOR j IN 0 .. (x / 65536) % 3 + 1 LOOP
            x := (x * 1103515245 + 12345) % 2147483648;
            c := (x / 65536) % array_length(cols, 1) + 1;
            x := (x * 1103515245 + 12345) % 2147483648;
            condition := condition || format(' AND %s %s ', cols[c], ops[(x / 65536) % array_length(ops, 1) + 1]);
            x := (x * 1103515245 + 12345) % 2147483648;
            condition := condition || consts[(c - 1) * (array_length(consts, 1) / array_length(cols, 1))
                                             + (x / 65536) % (array_length(consts, 1) / array_length(cols, 1)) + 1];
        END LOOP;
        result := push_same(rel, condition);
        IF result !~ '^same' THEN
            bad := bad + 1;
            RAISE WARNING '%: %', condition, result;
        END IF;
    END LOOP;
    RETURN format('%s conditions, %s wrong', n, bad);
END $$;
SELECT push_random('comp', '{u,ts,id}', ARRAY['-2', '0', '1', '3', '7',
    $$'2024-01-01Z'$$, $$'2024-01-03Z'$$, $$'2024-01-05Z'$$, $$'2024-01-10Z'$$, $$'2025-01-01Z'$$, '-1', '0', '1', '2', '-5'], 150);
SELECT push_random('page', '{a,b,c}', ARRAY['0', '1', '2', '4', $$''$$, $$'x'$$, $$'xy'$$, $$'zz'$$, '1', '2', '3', '4'], 150);
SELECT push_random('bytes', '{k,d}', ARRAY[$$'\x'$$, $$'\x00'$$, $$'\x00ff'$$, $$'\x61'$$, $$'\xff'$$,
    $$'2024-01-01'$$, $$'2024-02-01'$$, $$'infinity'$$, $$'-infinity'$$, $$'2024-01-15'$$], 100);
SELECT push_random('many', '{n,f,s}', ARRAY['1.1', '-1.5', $$'NaN'$$, '0', '0', $$'-Infinity'$$, '2.5', $$'NaN'$$, '-1', '0', '200', '300'], 100);
SELECT push_random('odd', '{a,b}', ARRAY[$$'AK'$$, $$'AK+'$$, $$'B'$$, $$''$$, $$'fo'$$, $$'foo'$$, $$''$$, $$'bar'$$], 100);
SELECT push_random('gap', '{a,b,c,d}', ARRAY['0', '1', '3', '6', '-20', '5', '29', '31', $$''$$, $$'p'$$, $$'pp'$$, $$'q'$$, '1', '2', '4', '5'], 100);
SELECT push_random('salt', '{a,b}', ARRAY[$$'x'$$, $$'xy'$$, $$'y'$$, '1', '5', '9'], 100);

-- A generic plan: the values of a list that are not known while planning do not shift those of
-- the conditions behind it.
CREATE FOREIGN TABLE shift_w (k uuid, d time, v text) SERVER widetable OPTIONS (key 'k, d');
INSERT INTO shift_w SELECT ('00000000-0000-0000-0000-00000000000' || i)::uuid, make_time(h, 0, 0), i || 'x' || h
    FROM generate_series(0, 5) i, generate_series(0, 5) h;
SET plan_cache_mode = force_generic_plan;
PREPARE shift(uuid, uuid, time, time) AS SELECT v FROM shift_w
    WHERE (k = $1 OR k = '00000000-0000-0000-0000-000000000003' OR k = '00000000-0000-0000-0000-000000000001') AND k > $2 AND d <> $3 AND (d = $4 OR d = '03:00')
        AND k = '00000000-0000-0000-0000-000000000003' AND (k, d) >= ('00000000-0000-0000-0000-000000000002', '02:00')
        AND (d > '01:00' OR k <> $1) AND (d < '05:00' OR k <= '00000000-0000-0000-0000-000000000004');
EXECUTE shift('00000000-0000-0000-0000-000000000004', '00000000-0000-0000-0000-000000000001', '01:00', '02:00');
DEALLOCATE shift;
RESET plan_cache_mode;

DROP FUNCTION push_random, push_same, push_cells, push_scanned, push_plan;
DROP TABLE part_p;
DROP VIEW cgap_w;
DROP FOREIGN TABLE push_w, comp_w, page_w, bytes_w, many_w, odd_w, nul_w, hex_w, rev_w, salt_w, gap_w, fuzzy_w, flag_w, raw_w, edge_w, cgap, local_w, actions_w, words_w, shift_w;
DROP TABLE push_h, comp_h, page_h, bytes_h, many_h, odd_h, hex_h, rev_h, salt_h, gap_h, cgap_h, local_h, raw_h, edge_h;
