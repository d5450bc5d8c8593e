-- UPDATEs that move a cell to a place that other updated rows leave: whatever the order of the rows, nothing is lost.
\set SHOW_CONTEXT never
\pset null NULL
CREATE FOREIGN TABLE mv (k text COLLATE "C", v text, n text OPTIONS (column 'e:n'))
    SERVER widetable OPTIONS (families '{"d": {"versions": 5}, "e": {"versions": 2}}');
CREATE FOREIGN TABLE mv_cells (k text COLLATE "C", family text, qualifier text, ts bigint, value text, version int)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.mv');
CREATE VIEW mv_all AS SELECT string_agg(format('%s %s:%s@%s=%s', k, family, qualifier, ts, value), ', ' ORDER BY k, family, qualifier, ts) FROM mv_cells;

-- ---------------------------------------------------------- layout cells: ts
INSERT INTO mv_cells VALUES ('1','d','v',2,'v2'), ('1','d','v',3,'v3'), ('1','d','v',4,'v4');
UPDATE mv_cells SET ts = ts - 1;
TABLE mv_all;
UPDATE mv_cells SET ts = ts + 1;
TABLE mv_all;
UPDATE mv_cells SET ts = 6 - ts RETURNING ts, value;
TABLE mv_all;
-- some versions are rewritten in place
UPDATE mv_cells SET ts = CASE ts WHEN 4 THEN 3 WHEN 3 THEN 4 ELSE ts END, value = value || '!';
TABLE mv_all;
-- two versions moved to one place, in either order; or to the place of one that stays
UPDATE mv_cells SET ts = 9;
UPDATE mv_cells SET ts = 3;
UPDATE mv_cells SET ts = 2;
UPDATE mv_cells SET ts = ts - 1 WHERE ts > 2;
UPDATE mv_cells SET ts = ts + 1 WHERE ts < 4;
UPDATE mv_cells SET ts = NULL;
TABLE mv_all;
-- a version moves away, and a value set to NULL frees its place for others
UPDATE mv_cells SET ts = ts - 1, value = CASE WHEN ts = 2 THEN NULL ELSE value END;
TABLE mv_all;
-- within a transaction, over versions that have no timestamp yet
BEGIN;
INSERT INTO mv_cells VALUES ('2','d','p',5,'five'), ('2','d','p',NULL,'late');
UPDATE mv_cells SET ts = CASE ts WHEN 5 THEN NULL ELSE 5 END WHERE k = '2';
SELECT version, ts = 5 AS five, value FROM mv_cells WHERE k = '2' ORDER BY version;
COMMIT;
SELECT version, ts = 5 AS five, value FROM mv_cells WHERE k = '2' ORDER BY version;
BEGIN;
INSERT INTO mv_cells VALUES ('2','d','p',NULL,'later');
UPDATE mv_cells SET ts = NULL WHERE k = '2' AND ts = 5;
ROLLBACK;
BEGIN;
UPDATE mv_cells SET ts = 7 WHERE k = '2' AND ts = 5;
SAVEPOINT s;
UPDATE mv_cells SET ts = 6 WHERE k = '2' AND ts = 7;
UPDATE mv_cells SET ts = 8 WHERE k = '2' AND ts = 6;
ROLLBACK TO s;
UPDATE mv_cells SET ts = 5 WHERE k = '2' AND ts = 7;
COMMIT;
SELECT value FROM mv_cells WHERE k = '2' AND ts = 5;

-- -------------------------------------- layout cells: qualifier, family, key
TRUNCATE mv;
INSERT INTO mv_cells VALUES ('1','d','a',1,'A'), ('1','d','b',1,'B'), ('2','d','c',1,'C'), ('2','e','c',1,'E');
UPDATE mv_cells SET qualifier = CASE qualifier WHEN 'a' THEN 'b' ELSE 'a' END WHERE k = '1';
TABLE mv_all;
UPDATE mv_cells SET qualifier = chr(ascii(qualifier) + 1);
TABLE mv_all;
UPDATE mv_cells SET qualifier = chr(ascii(qualifier) - 1);
TABLE mv_all;
UPDATE mv_cells SET k = CASE k WHEN '1' THEN '2' ELSE '1' END;
TABLE mv_all;
UPDATE mv_cells SET family = CASE family WHEN 'd' THEN 'e' ELSE 'd' END WHERE qualifier = 'c';
TABLE mv_all;
UPDATE mv_cells SET qualifier = 'a';
UPDATE mv_cells SET k = '2', qualifier = 'a' WHERE qualifier = 'c' AND family = 'd';
TABLE mv_all;
-- a join that returns a row twice moves it once
UPDATE mv_cells c SET ts = c.ts + x FROM generate_series(1, 2) x WHERE c.k = '2';
SELECT count(*), count(DISTINCT ts) <= 2 AS moved FROM mv_cells WHERE k = '2';
-- a row trigger can move a version as the statement can
CREATE FUNCTION mv_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.ts := NEW.ts - 1; RETURN NEW; END $$;
CREATE TRIGGER mv_move BEFORE UPDATE ON mv_cells FOR EACH ROW EXECUTE FUNCTION mv_trigger();
TRUNCATE mv;
INSERT INTO mv_cells VALUES ('1','d','v',2,'v2'), ('1','d','v',3,'v3');
UPDATE mv_cells SET value = value || '-';
TABLE mv_all;
DROP TRIGGER mv_move ON mv_cells;
-- many versions and rows
TRUNCATE mv;
ALTER FOREIGN TABLE mv OPTIONS (SET families '{"d": {"versions": 500}, "e": {"versions": 2}}');
INSERT INTO mv_cells SELECT r, 'd', 'v', 10 * i, r || '-' || i FROM generate_series(1, 20) r, generate_series(1, 200) i;
UPDATE mv_cells SET ts = ts - 10;
UPDATE mv_cells SET k = 21 - k::int;
SELECT count(*), sum(ts), bool_and(value = (21 - k::int) || '-' || ts / 10 + 1) FROM mv_cells;

-- ------------------------------------------------------------ layout rows
CREATE FOREIGN TABLE mv_row (k int, v text) SERVER widetable;
INSERT INTO mv_row SELECT i, 'r' || i FROM generate_series(1, 4) i;
UPDATE mv_row SET k = k - 1;
UPDATE mv_row SET k = k + 1;
UPDATE mv_row SET k = 3 - k;
UPDATE mv_row SET k = k + 10;
SELECT string_agg(k || v, ' ' ORDER BY k) FROM mv_row;

-- ---------------------------------------------------------------- timestamp_of
-- The version that the row shows moves to the given time, where it must be the newest one.
CREATE FOREIGN TABLE mv_ts (k text COLLATE "C", v text, vt bigint OPTIONS (timestamp_of 'd:v'))
    SERVER widetable OPTIONS (families '{"d": {"versions": 5}}');
INSERT INTO mv_ts VALUES ('x', 'a', 10), ('x', 'b', 20), ('x', 'c', 30);
UPDATE mv_ts SET v = 'z', vt = 15;
UPDATE mv_ts SET vt = 5;
SELECT * FROM mv_ts;
UPDATE mv_ts SET v = 'z', vt = 25;
SELECT * FROM mv_ts;
UPDATE mv_ts SET vt = 40 RETURNING *;
SELECT ts, convert_from(value, 'UTF8') FROM widetable.cells('mv_ts', 'x', 9);
-- an existing version at the new time is replaced
UPDATE mv_ts SET v = 'y', vt = 20;
SELECT ts, convert_from(value, 'UTF8') FROM widetable.cells('mv_ts', 'x', 9);

-- ------------------------------------------------------------------------ maps
CREATE FOREIGN TABLE mv_map (k int, m jsonb OPTIONS (family 'd')) SERVER widetable OPTIONS (families '{"d": {"versions": 9}}');
INSERT INTO mv_map VALUES (1, '{"a": 1, "b": "2", "ccc": "3", "dd": {"x": 1}, "": "e"}');
UPDATE mv_map SET m = (m || '{"b": 2, "ccc": null, "aa": [1], "zzz": "z", "dd": {"x": 2}}') - 'a' RETURNING m;
SELECT * FROM mv_map;
SELECT qualifier, kind, convert_from(value, 'UTF8') FROM widetable.raw_cells('mv_map', 1);
UPDATE mv_map SET m = '{}';
SELECT * FROM mv_map;
DROP VIEW mv_all;
DROP FOREIGN TABLE mv, mv_cells, mv_row, mv_ts, mv_map;
DROP FUNCTION mv_trigger;

-- --------------------------------------- random moves, compared with an ordinary table
-- A deferred unique constraint checks at the end of the statement, and so does the foreign table.
CREATE FOREIGN TABLE mv_fuzz (k text COLLATE "C", v text, n text OPTIONS (column 'e:n'))
    SERVER widetable OPTIONS (families '{"d": {"versions": 1000}, "e": {"versions": 1000}}');
CREATE FOREIGN TABLE mv_fuzz_cells (k text COLLATE "C", family text, qualifier text, ts bigint, value text)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.mv_fuzz');
CREATE TABLE mv_heap (k text COLLATE "C", family text, qualifier text, ts bigint, value text,
                      UNIQUE (k, family, qualifier, ts) DEFERRABLE INITIALLY IMMEDIATE);
CREATE FUNCTION mv_fuzz(rounds int) RETURNS TABLE (moved boolean, refused boolean, wrong bigint) LANGUAGE plpgsql AS $$
DECLARE q text; nmoved int := 0; nrefused int := 0; nwrong int := 0; a text; b text; r int; x int;
BEGIN
    PERFORM setseed(0.5);
    FOR i IN 1 .. rounds LOOP
        IF i % 10 = 1 THEN
            TRUNCATE mv_fuzz; TRUNCATE mv_heap;
            INSERT INTO mv_heap SELECT DISTINCT ON (1, 2, 3, 4) 'k' || (random() * 2)::int, CASE WHEN random() < 0.7 THEN 'd' ELSE 'e' END,
                chr(97 + (random() * 2)::int), (random() * 6)::int, 'v' || s FROM generate_series(1, 25) s;
            INSERT INTO mv_fuzz_cells SELECT * FROM mv_heap;
        END IF;
        r := (random() * 7)::int;
        x := (random() * 4)::int;
        q := CASE r WHEN 0 THEN 'ts = ts + ' || x WHEN 1 THEN 'ts = abs(ts - ' || x || ')' WHEN 2 THEN format('ts = abs(%s - ts)', x + 6)
            WHEN 3 THEN 'ts = CASE ts WHEN 2 THEN 3 WHEN 3 THEN 2 ELSE ts END, value = value || ''+'''
            WHEN 4 THEN 'qualifier = chr(97 + (ascii(qualifier) - 96) % 3)' WHEN 5 THEN format('k = ''k'' || (right(k, 1)::int + %s) %% 3', x)
            WHEN 6 THEN 'family = CASE family WHEN ''d'' THEN ''e'' ELSE ''d'' END, ts = ts + ' || x
            ELSE 'k = CASE qualifier WHEN ''a'' THEN ''k1'' ELSE k END, qualifier = ''a'', ts = ts * 7 + ascii(qualifier) - 97' END
            || CASE (random() * 3)::int WHEN 0 THEN ' WHERE ts > 1' WHEN 1 THEN ' WHERE qualifier <> ''b''' WHEN 2 THEN ' WHERE k = ''k0''' ELSE '' END;
        BEGIN EXECUTE 'UPDATE mv_heap SET ' || q; a := 'done'; EXCEPTION WHEN unique_violation THEN a := SQLSTATE; END;
        BEGIN EXECUTE 'UPDATE mv_fuzz_cells SET ' || q; b := 'done'; EXCEPTION WHEN unique_violation THEN b := SQLSTATE; END;
        nmoved := nmoved + (a = 'done')::int;
        nrefused := nrefused + (a <> 'done')::int;
        IF a <> b OR EXISTS (SELECT * FROM mv_heap EXCEPT SELECT * FROM mv_fuzz_cells) OR EXISTS (SELECT * FROM mv_fuzz_cells EXCEPT SELECT * FROM mv_heap) THEN
            nwrong := nwrong + 1;
            RAISE NOTICE 'round %: % (heap %, cells %)', i, q, a, b;
            EXIT;
        END IF;
    END LOOP;
    RETURN QUERY SELECT nmoved > rounds / 4, nrefused > 0, nwrong::bigint;
END $$;
SELECT * FROM mv_fuzz(300);
-- the same within one transaction, and read again afterwards
BEGIN;
SELECT * FROM mv_fuzz(40);
COMMIT;
SELECT count(*) FROM (TABLE mv_heap EXCEPT TABLE mv_fuzz_cells) x;
DROP FUNCTION mv_fuzz;
DROP TABLE mv_heap;
DROP FOREIGN TABLE mv_fuzz, mv_fuzz_cells;

-- a join delivers rows twice; versions whose keys and qualifiers are the same bytes divided otherwise are different rows
CREATE FOREIGN TABLE mv_divided (k bytea, family text, qualifier bytea, ts bigint, value text)
    SERVER widetable OPTIONS (layout 'cells', families '{"d": {}}');
INSERT INTO mv_divided SELECT k, 'd', q, 1, 'old'
FROM generate_series(1, 3000) i, int4send(i) b, LATERAL (SELECT substr(b, 4) || substr(b, 3, 1) || '\x0000') r(id), -- a family's id
     LATERAL (VALUES ('a'::bytea, id || 'q'), ('a'::bytea || id, 'q'::bytea)) c(k, q);
UPDATE mv_divided SET value = 'new' FROM generate_series(1, 2);
SELECT value, count(*) FROM mv_divided GROUP BY value;
DROP FOREIGN TABLE mv_divided;
