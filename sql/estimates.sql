-- Planner estimates: rows of key ranges and lookups, and the effect of ANALYZE.
\set SHOW_CONTEXT never

-- Returns whether the estimate of the (first) plan node on this table is within a factor of 2.
CREATE FUNCTION est_rows(query text, node text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    rows float8;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    WITH RECURSIVE nodes AS (
        SELECT plan -> 0 -> 'Plan' AS n
        UNION ALL
        SELECT c FROM nodes, json_array_elements(n -> 'Plans') c
    )
    SELECT (n ->> 'Plan Rows')::float8 INTO rows FROM nodes WHERE n ->> 'Relation Name' = node;
    RETURN rows;
END $$;
CREATE FUNCTION est_good(query text, node text, truth float8) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN r BETWEEN truth / 2 AND truth * 2 THEN 'good' ELSE format('%s rows, are %s', r, truth) END
    FROM est_rows(query, node) r
$$;

CREATE FUNCTION est_cost(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;

CREATE FOREIGN TABLE est (a int, b int, v text, c int, d int OPTIONS (column 'g:d'))
    SERVER widetable OPTIONS (key 'a, b');
INSERT INTO est SELECT g % 50, g, 'value ' || g, g % 20, (g % 20) * 3 FROM generate_series(1, 20000) g;
CREATE TABLE est_outer AS SELECT g AS x, g AS y FROM generate_series(1, 10) g;
ANALYZE est_outer;

-- The whole table, ranges of the key, a part of the key
SELECT est_good('SELECT * FROM est', 'est', 20000);
SELECT est_good('SELECT * FROM est WHERE a < 10', 'est', 4000);
SELECT est_good('SELECT * FROM est WHERE a BETWEEN 20 AND 21', 'est', 800);
SELECT est_good('SELECT * FROM est WHERE a = 7', 'est', 400);
SELECT est_good('SELECT * FROM est WHERE a = 7 AND b < 10000', 'est', 200);
SELECT est_good('SELECT * FROM est WHERE a IN (1, 2, 3)', 'est', 1200);
SELECT est_good('SELECT * FROM est WHERE (a, b) = (7, 57)', 'est', 1);

-- Values unknown at planning time: a whole key gives one row; for a part of
-- the key the planner tries keys of the table, also without ANALYZE.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT est_good('SELECT * FROM est_outer JOIN est ON a = x AND b = y', 'est', 1);
SELECT est_good('SELECT * FROM est_outer JOIN est ON a = x', 'est', 400);
RESET enable_hashjoin;
RESET enable_mergejoin;
SET plan_cache_mode = force_generic_plan;
PREPARE est_prepared (int) AS SELECT * FROM est WHERE a = $1;
SELECT est_good('EXECUTE est_prepared(1)', 'est', 400);
RESET plan_cache_mode;

-- Overwritten rows count once.
UPDATE est SET v = 'other' WHERE a < 25;
SELECT est_good('SELECT * FROM est', 'est', 20000);

-- Other columns: the statistics of ANALYZE, multiplied by the selectivity of
-- the key range; extended statistics if they exist.
ANALYZE est;
SELECT est_good('SELECT * FROM est WHERE c = 3', 'est', 1000);
SELECT est_good('SELECT * FROM est WHERE c = 3 AND a < 25', 'est', 500);
CREATE STATISTICS est_stats (dependencies) ON c, d FROM est;
ANALYZE est;
SELECT est_good('SELECT * FROM est WHERE c = 3 AND d = 9', 'est', 1000);

-- Deleted rows do not count.  (Before a compaction the estimate depends on
-- where the deletes and the rows are: test/engine/estimate_test.c.)
DELETE FROM est WHERE b % 2 = 0;
SELECT widetable.compact('est');
SELECT est_good('SELECT * FROM est', 'est', 10000);

-- Salted keys
CREATE FOREIGN TABLE est_salted (k bigint, v int) SERVER widetable OPTIONS (table_name 'est_salted', salt_buckets '4');
INSERT INTO est_salted SELECT g, g % 10 FROM generate_series(1, 10000) g;
ANALYZE est_salted;
SELECT est_good('SELECT * FROM est_salted', 'est_salted', 10000);
SELECT est_good('SELECT * FROM est_salted WHERE k BETWEEN 1000 AND 3000', 'est_salted', 2000);
SELECT est_good('SELECT * FROM est_salted WHERE v = 3', 'est_salted', 1000);

-- One file for each of 60 windows: with so many files, the estimate compares only some of them.
-- Each window of the first table has other rows, each window of the second has the same rows.
CREATE FOREIGN TABLE est_windows (k int, v int, at timestamptz OPTIONS (timestamp_of 'd:v'))
    SERVER widetable OPTIONS (families '{"d": {"compaction": "window:1 hour"}}');
CREATE FOREIGN TABLE est_again (k int, v int, at timestamptz OPTIONS (timestamp_of 'd:v'))
    SERVER widetable OPTIONS (families '{"d": {"compaction": "window:1 hour"}}');
DO $$ BEGIN
    FOR i IN 0 .. 59 LOOP
        INSERT INTO est_windows SELECT g * 7919 % 30000, g, timestamptz '2026-01-01 00:00+00' + i * interval '1 hour'
            FROM generate_series(500 * i, 500 * i + 499) g;
        INSERT INTO est_again SELECT g, i, timestamptz '2026-01-01 00:00+00' + i * interval '1 hour' FROM generate_series(1, 200) g;
        COMMIT;
        PERFORM widetable.flush('est_windows'), widetable.flush('est_again');
    END LOOP;
END $$;
SELECT relation::regclass, count(*) >= 60 AS a_file_each FROM widetable.pg_stat_widetable_files
    WHERE relation IN ('est_windows'::regclass, 'est_again'::regclass) GROUP BY 1 ORDER BY 1;
ANALYZE est_windows;
SELECT est_good('SELECT * FROM est_windows', 'est_windows', 30000);
SELECT est_good('SELECT * FROM est_windows WHERE k < 3000', 'est_windows', 3000);
SELECT est_good('SELECT * FROM est_again', 'est_again', 200);
-- Files excluded by their timestamps cost nothing.
SELECT est_good($$SELECT * FROM est_windows WHERE at >= '2026-01-03 11:00+00'$$, 'est_windows', 500);
SELECT est_cost($$SELECT * FROM est_windows WHERE at >= '2026-01-03 11:00+00'$$) < 0.1 * est_cost($$SELECT * FROM est_windows WHERE at >= '2026-01-01'$$) AS cheap;
SELECT est_cost($$SELECT * FROM est_windows WHERE at >= '2027-01-01'$$) < 0.1 * est_cost($$SELECT * FROM est_windows WHERE at >= '2026-01-01'$$) AS cheap;

-- An empty table.
CREATE FOREIGN TABLE est_empty (k bigint, v int) SERVER widetable;
ANALYZE est_empty;
SELECT est_rows('SELECT * FROM est_empty', 'est_empty');

DROP FOREIGN TABLE est, est_salted, est_windows, est_again, est_empty;
DROP TABLE est_outer;
DROP FUNCTION est_good, est_rows, est_cost;
