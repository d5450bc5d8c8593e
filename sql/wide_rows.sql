-- A row with very many cells: written, read by qualifier, prefix and range,
-- paged, changed and deleted in parts.  Reading a part never reads the whole
-- row, and never reads the row once per cell.
\set SHOW_CONTEXT never

CREATE FOREIGN TABLE wide_row (k text COLLATE "C", m jsonb OPTIONS (family 'd'))
    SERVER widetable OPTIONS (families '{"d": {"versions": 3}, "e": {}}');
CREATE FOREIGN TABLE wide_part (k text COLLATE "C", p jsonb OPTIONS (family 'd', prefix 'q00042'))
    SERVER widetable OPTIONS (table_name 'public.wide_row');
CREATE FOREIGN TABLE wide_cells (k text COLLATE "C", family text COLLATE "C", qualifier bytea, ts bigint, version int, value text)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.wide_row');
CREATE FOREIGN TABLE wide_text (k text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C", value text)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.wide_row');

-- Returns the cost of a query: cells that the engine read, and blocks.
CREATE FUNCTION wide_cost(query text, OUT cells int, OUT blocks int, OUT sorts int) LANGUAGE plpgsql AS $$
DECLARE r text; m text[];
BEGIN
    sorts := 0;
    FOR r IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        m := regexp_match(r, 'Cells: (\d+) scanned');
        cells := coalesce(m[1]::int, cells);
        m := regexp_match(r, 'Blocks: (\d+) read, (\d+) cached');
        blocks := coalesce(m[1]::int + m[2]::int, blocks);
        sorts := sorts + (r ~ '^ *(-> *)?Sort  *\(')::int;
    END LOOP;
END $$;
-- The queries, each with its expected answer and the most cells it may read.
CREATE TABLE wide_query (no serial, query text, answer text, most int);
INSERT INTO wide_query (query, answer, most) VALUES
    ($$SELECT value FROM wide_cells WHERE k = 'one' AND qualifier = 'q050000'$$, 'v50000', 100),
    ($$SELECT value FROM wide_text WHERE k = 'one' AND qualifier = 'q050000'$$, 'v50000', 100),
    ($$SELECT value FROM wide_cells WHERE k = 'one' AND qualifier = 'none'$$, NULL, 100),
    ($$SELECT value FROM wide_cells WHERE k = 'one' AND qualifier IN ('q099999', 'q000007', 'q050000', 'x')$$, 'v7 v50000 v99999', 200),
    ($$SELECT value FROM wide_cells WHERE k = 'one' AND qualifier LIKE 'q07700%'$$, 'v77000 v77001 v77002 v77003 v77004 v77005 v77006 v77007 v77008 v77009', 100),
    ($$SELECT value FROM wide_text WHERE k = 'one' AND qualifier LIKE 'q09999_'$$, 'v99990 v99991 v99992 v99993 v99994 v99995 v99996 v99997 v99998 v99999', 100),
    ($$SELECT value FROM wide_text WHERE k = 'one' AND qualifier ^@ 'q10000'$$, 'v100000', 100),
    ($$SELECT value FROM wide_cells WHERE k = 'one' AND qualifier >= 'q012345' AND qualifier < 'q012349'$$, 'v12345 v12346 v12347 v12348', 100),
    ($$SELECT value FROM wide_text WHERE k = 'one' AND qualifier > 'q012345' AND qualifier <= 'q012349'$$, 'v12346 v12347 v12348 v12349', 100),
    ($$SELECT value FROM wide_text WHERE k = 'one' AND qualifier BETWEEN 'q099998' AND 'r'$$, 'v99998 v99999 v100000', 100),
    -- pages of a row: 10 after the first 5; after a bookmark; with all versions; of every row, backwards
    ($$SELECT value FROM wide_cells WHERE k = 'one' ORDER BY family, qualifier LIMIT 10 OFFSET 5$$, 'v6 v7 v8 v9 v10 v11 v12 v13 v14 v15', 100),
    ($$SELECT value FROM wide_cells WHERE k = 'one' AND family = 'd' ORDER BY qualifier LIMIT 3$$, 'v1 v2 v3', 100),
    ($$SELECT value FROM wide_cells WHERE k = 'one' AND family = 'd' AND qualifier > 'q070000' ORDER BY qualifier LIMIT 3$$, 'v70001 v70002 v70003', 100),
    ($$SELECT value || '@' || version FROM wide_cells WHERE k = 'small' ORDER BY family, qualifier, version LIMIT 4$$, 'new@1 old@2 z@1 y@1', 100),
    ($$SELECT value FROM wide_cells ORDER BY k DESC, family, qualifier LIMIT 3$$, 'new old z', 200),
    ($$SELECT value FROM wide_cells WHERE k = 'small' AND version <= 1$$, 'new z y', 100),
    ($$SELECT value FROM wide_cells WHERE k = 'small' AND version > 1$$, 'old', 100),
    ($$SELECT value FROM wide_cells WHERE k = 'small' AND version < 1$$, NULL, 100),
    ($$SELECT value FROM wide_cells WHERE k = 'small' AND ts <= 20$$, 'new old', 100),
    -- a part of the map
    ($$SELECT p FROM wide_part WHERE k = 'one' AND p ? '5'$$, '{"0": "v420", "1": "v421", "2": "v422", "3": "v423", "4": "v424", "5": "v425", "6": "v426", "7": "v427", "8": "v428", "9": "v429"}', 100);
CREATE FUNCTION wide_check(OUT no int, OUT query text, OUT answer text, OUT cells int, OUT blocks int, OUT sorts int)
    RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE w record; want text; c refcursor; r text;
BEGIN
    FOR w IN SELECT * FROM wide_query q ORDER BY q.no LOOP
        no := w.no; query := w.query; answer := NULL;
        OPEN c FOR EXECUTE w.query;
        LOOP
            FETCH c INTO r;
            EXIT WHEN NOT FOUND;
            answer := concat_ws(' ', answer, r);
        END LOOP;
        CLOSE c;
        SELECT x.cells, x.blocks, x.sorts FROM wide_cost(w.query) x INTO cells, blocks, sorts;
        -- report wrong answers and queries that read too much
        IF answer IS DISTINCT FROM w.answer OR cells > w.most OR blocks > 10 OR sorts > 0 THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- ------------------------------------------------------------------ writing
INSERT INTO wide_cells (k, family, qualifier, value)
    SELECT 'one', 'd', convert_to('q' || lpad(i::text, 6, '0'), 'UTF8'), 'v' || i FROM generate_series(1, 100000) i;
INSERT INTO wide_cells (k, family, qualifier, ts, value) VALUES ('small', 'd', 'a', 10, 'old'), ('small', 'd', 'a', 20, 'new');
INSERT INTO wide_cells (k, family, qualifier, value) VALUES ('small', 'd', 'b', 'z'), ('small', 'e', 'a', 'y');
-- through the map, in parts
DO $$
BEGIN
    FOR part IN 0 .. 9 LOOP
        INSERT INTO wide_row (k, m)
            SELECT 'map', jsonb_object_agg('q' || lpad(i::text, 6, '0'), 'v' || i)
            FROM generate_series(part * 1000 + 1, part * 1000 + 1000) i;
    END LOOP;
END $$;
SELECT count(*), count(DISTINCT qualifier) FROM wide_cells WHERE k = 'map';
SELECT count(*), min(value) FROM wide_row, jsonb_each_text(m) WHERE k = 'map';

-- ------------------------------------------------------------------ reading
SELECT * FROM wide_check();
SELECT widetable.flush();
SELECT * FROM wide_check();
SELECT widetable.compact();
SELECT * FROM wide_check();
SELECT count(*) AS queries FROM wide_query;
-- what is pushed down and what is not: qualifiers that are not text are shown as \x...
EXPLAIN (COSTS OFF) SELECT * FROM wide_cells WHERE k = 'one' AND family = 'd' AND qualifier > 'q07' AND version = 1 ORDER BY qualifier, version LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM wide_cells WHERE k = 'one' ORDER BY qualifier;
EXPLAIN (COSTS OFF) SELECT * FROM wide_text WHERE k = 'one' AND family = 'd' ORDER BY qualifier;
INSERT INTO wide_cells (k, family, qualifier, value) VALUES ('bytes', 'd', '\xff', 'x'), ('bytes', 'd', 'b', 'y'), ('bytes', 'd', '\x5c', 'z');
SELECT qualifier, value FROM wide_text WHERE k = 'bytes' AND qualifier >= 'A';
SELECT qualifier, value FROM wide_text WHERE k = 'bytes' AND qualifier > '\' AND qualifier < 'a';
SELECT qualifier, value FROM wide_text WHERE k = 'bytes' AND qualifier > 'a';
SELECT qualifier, value FROM wide_text WHERE k = 'bytes' AND qualifier < ']';
SELECT qualifier, value FROM wide_text WHERE k = 'bytes' AND qualifier < '\';
-- the same without pushdown
SET widetable.enable_pushdown = off;
SELECT qualifier, value FROM wide_text WHERE k = 'bytes' AND qualifier > 'a';
SELECT qualifier, value FROM wide_text WHERE k = 'bytes' AND qualifier < ']';
SELECT value || '@' || version AS value FROM wide_cells WHERE k = 'small' AND version <= 1 ORDER BY family, qualifier;
RESET widetable.enable_pushdown;
-- uncommitted writes come in the same order
BEGIN;
INSERT INTO wide_cells (k, family, qualifier, value) VALUES ('small', 'd', 'aa', 'mine'), ('small', 'd', 'a', 'newest'), ('small', 'c', 'a', 'no such family');
ROLLBACK;
BEGIN;
INSERT INTO wide_cells (k, family, qualifier, value) VALUES ('small', 'd', 'aa', 'mine'), ('small', 'd', 'a', 'newest');
SELECT family, convert_from(qualifier, 'UTF8') AS qualifier, version, value FROM wide_cells WHERE k = 'small' ORDER BY family, qualifier, version LIMIT 10;
SELECT value FROM wide_cells WHERE k = 'small' AND qualifier < 'b' AND version = 1;
ROLLBACK;
-- a family that was added later and sorts first
ALTER FOREIGN TABLE wide_row OPTIONS (SET families '{"d": {"versions": 3}, "e": {}, "a": {}}');
INSERT INTO wide_cells (k, family, qualifier, value) VALUES ('small', 'a', 'z', 'first');
SELECT value FROM wide_cells WHERE k = 'small' ORDER BY family, qualifier, version LIMIT 10;
SELECT value FROM wide_cells WHERE k >= 'one' ORDER BY k DESC, family, qualifier LIMIT 2;

-- -------------------------------------------------------- changing, deleting
-- The timeout catches a statement that reads the row once per cell.
SET statement_timeout = '60s';
UPDATE wide_cells SET value = 'w' WHERE k = 'one' AND qualifier >= 'q090000';
SELECT count(*), count(*) FILTER (WHERE value = 'w') AS changed FROM wide_cells WHERE k = 'one';
DELETE FROM wide_cells WHERE k = 'one' AND qualifier >= 'q020000' AND qualifier < 'q070000';
SELECT count(*), min(convert_from(qualifier, 'UTF8') COLLATE "C"), max(convert_from(qualifier, 'UTF8') COLLATE "C") FROM wide_cells WHERE k = 'one' AND qualifier > 'q019998';
SELECT value FROM wide_cells WHERE k = 'one' AND family = 'd' AND qualifier >= 'q019999' ORDER BY qualifier LIMIT 2;
SELECT count(*) FROM (SELECT 1 FROM wide_cells WHERE k = 'one' AND qualifier < 'q010000' FOR UPDATE) x;
SELECT widetable.flush();
SELECT count(*) FROM wide_cells WHERE k = 'one';
BEGIN;
DELETE FROM wide_row WHERE k = 'one';
SELECT count(*) FROM wide_cells WHERE k = 'one';
ROLLBACK;
SELECT count(*) FROM wide_cells WHERE k = 'one';
DELETE FROM wide_row WHERE k = 'one';
SELECT widetable.delete_row('wide_row', 'map');
SELECT k, count(*) FROM wide_cells GROUP BY k ORDER BY k;
SELECT widetable.flush();
SELECT widetable.compact();
SELECT k, count(*) FROM wide_cells GROUP BY k ORDER BY k;
RESET statement_timeout;

DROP FOREIGN TABLE wide_row, wide_cells, wide_text;
DROP TABLE wide_query;
DROP FUNCTION wide_check, wide_cost;
