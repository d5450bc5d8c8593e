-- Layout cells: every version of every cell is a row.  Conditions on the
-- timestamp, changes through this layout, and reading the past.
\set SHOW_CONTEXT never
\pset null NULL
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
-- flush first, so that the background worker is idle and the counts of cells and files stay the same
SELECT widetable.flush();

CREATE FOREIGN TABLE cell_row (k text COLLATE "C", a text OPTIONS (column 'd:a'), b bigint OPTIONS (column 'd:b'),
                               ta bigint OPTIONS (timestamp_of 'd:a'), m jsonb OPTIONS (family 'e'))
    SERVER widetable OPTIONS (families '{"d": {"versions": 3}, "e": {"versions": 2, "keep_deleted": true}}');
CREATE FOREIGN TABLE cell (k text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text, version int)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.cell_row');
CREATE FOREIGN TABLE cell_tz (k text COLLATE "C", family text COLLATE "C", qualifier bytea, ts timestamptz, value bytea, version int)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.cell_row');
CREATE FOREIGN TABLE cell_int (k text COLLATE "C", family text, qualifier text, ts bigint, value bigint)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.cell_row');
CREATE FOREIGN TABLE cell_dec (k text COLLATE "C", family text, qualifier text, ts bigint, value bigint OPTIONS (encoding 'decimal'))
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.cell_row');

-- --------------------------------------------------------- conditions on ts

-- A condition on ts is a filter: version numbers do not change, and displaced versions do not reappear.
INSERT INTO cell VALUES ('x','d','a',10,'a10'), ('x','d','a',20,'a20'), ('x','d','a',30,'a30'), ('x','d','a',40,'a40'),
    ('x','d','c',15,'c15'), ('y','e','q',5,'q5'), ('y','e','q',25,'q25'), ('z','e','q',9223372036854775806,'far'), ('z','d','zero',0,'zero');
CREATE FUNCTION cell_where(condition text, rel text DEFAULT 'cell') RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text; plain text; q text := format('SELECT string_agg(format(''%%s%%s/%%s'', k, version, value), '' '') FROM (SELECT k, version,
        CASE WHEN pg_typeof(value) = ''bytea''::regtype THEN encode(value::text::bytea, ''escape'') ELSE value::text END AS value
        FROM %I WHERE %s ORDER BY k, family, qualifier, version) x', rel, condition);
BEGIN
    EXECUTE q INTO r;
    SET LOCAL widetable.enable_pushdown = off;
    EXECUTE q INTO plain;
    SET LOCAL widetable.enable_pushdown = on;
    RETURN coalesce(r, '-') || CASE WHEN r IS DISTINCT FROM plain THEN ' instead of ' || coalesce(plain, '-') ELSE '' END;
END $$;
SELECT c, cell_where(c) FROM unnest(ARRAY['true', 'ts >= 30', 'ts > 30', 'ts < 30', 'ts <= 30', 'ts = 30', 'ts = 10', 'ts BETWEEN 15 AND 30',
    'ts > 25 AND ts < 40', 'ts > 40 AND ts < 20', 'ts IN (5, 30, 99)', 'ts = ANY (''{}''::bigint[])', 'ts = ANY (NULL::bigint[])',
    'ts = ANY (''{NULL,15}''::bigint[])', 'ts = 5 OR ts = 15', 'ts > NULL', '30 <= ts', 'ts >= 30::smallint AND ts < 40::int',
    'ts >= 20 AND version = 1', 'ts <= 20 AND version > 1', 'ts < 40 AND version <= 2', 'version IN (2, 3)', 'version = ANY (''{3,NULL}''::int[])',
    'version BETWEEN 2 AND 3', 'version IN (0, -1)', 'ts >= -5', 'ts < 0', 'ts >= 9223372036854775806', 'ts > 9223372036854775806',
    'ts < 9223372036854775807', 'ts <= (-9223372036854775808)', 'k = ''x'' AND family = ''d'' AND qualifier >= ''b'' AND ts > 10',
    'family = ''e'' AND ts < 10']) c;
SELECT c, cell_where(c, 'cell_tz') FROM unnest(ARRAY['ts >= ''1970-01-01 00:00:00.00003''', 'ts < ''1970-01-01 00:00:00.000010''',
    'ts = ''1970-01-01 00:00:00.00002''', 'ts > ''-infinity''', 'ts <= ''-infinity''', 'ts < ''infinity'' AND k = ''z''', 'ts >= ''infinity''',
    'ts <= ''294276-12-31 23:59:59'' AND k = ''z''', 'ts > ''290000-01-01''', 'ts <= ''1970-01-01''::date', 'ts > ''1970-01-01''::date AND k = ''z''',
    'ts < ''5000000-01-01''::date AND k = ''z''', 'ts < ''1970-01-01 00:00:00.000010''::timestamp']) c;
EXPLAIN (COSTS OFF) SELECT * FROM cell WHERE ts >= 30 AND ts < 40 AND version = 1;
EXPLAIN (COSTS OFF) SELECT * FROM cell WHERE ts = 30;
EXPLAIN (COSTS OFF) SELECT * FROM cell WHERE ts IN (5, 30);
EXPLAIN (COSTS OFF) SELECT * FROM cell_tz WHERE ts >= now() - interval '1 hour';
PREPARE cell_p(bigint, bigint) AS SELECT value FROM cell WHERE ts >= $1 AND ts < $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE cell_p(1, 2);
EXECUTE cell_p(20, 31);
EXECUTE cell_p(30, 20);
EXECUTE cell_p(NULL, 20);
EXECUTE cell_p(5, 6);
RESET plan_cache_mode;
-- several equalities on one key column do not count as several key columns
SELECT cell_where('k = ''x'' AND k = ''x'' COLLATE "POSIX" AND family = ''d'' AND qualifier = ''c''');
SELECT x, c.value FROM (VALUES (10), (31), (NULL), (50), (15)) v(x),
    LATERAL (SELECT value FROM cell WHERE ts >= v.x AND k = 'x' ORDER BY family, version DESC LIMIT 1) c;
-- the versions of a cell come newest first
EXPLAIN (COSTS OFF) SELECT value FROM cell WHERE k = 'x' AND family = 'd' AND qualifier = 'a' ORDER BY ts DESC LIMIT 2;
SELECT value FROM cell WHERE k = 'x' AND family = 'd' AND qualifier = 'a' ORDER BY ts DESC LIMIT 2;
EXPLAIN (COSTS OFF) SELECT value FROM cell WHERE k = 'x' AND family = 'd' AND qualifier = 'a' ORDER BY ts;
-- LIMIT for each of several rows
SELECT t.k, c.* FROM (VALUES ('x'), ('y'), ('none')) t(k),
    LATERAL (SELECT family, qualifier, version, value FROM cell c WHERE c.k = t.k ORDER BY family, qualifier, version LIMIT 2 OFFSET 1) c;

-- Files and memtables older than the lower bound are not read.
CREATE FUNCTION cell_files(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    FOR r IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF r ~ 'Files|Cells' THEN RETURN NEXT btrim(r); END IF;
    END LOOP;
END $$;
CREATE FOREIGN TABLE cell_age (k text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text, version int)
    SERVER widetable OPTIONS (layout 'cells', families '{"f": {"versions": 9}}');
INSERT INTO cell_age VALUES ('r','f','q1',5,'a'), ('r','f','q2',9,'b');
SELECT widetable.flush();
INSERT INTO cell_age VALUES ('r','f','q1',10,'c'), ('r','f','q2',19,'d');
SELECT widetable.flush();
INSERT INTO cell_age VALUES ('r','f','q1',20,'e'), ('r','f','q2',29,'f');
SELECT widetable.flush();
SELECT cell_files('SELECT * FROM cell_age WHERE ts >= 20');
SELECT cell_files('SELECT * FROM cell_age WHERE ts > 9 AND ts < 20');
SELECT cell_files('SELECT * FROM cell_age WHERE ts < 10');
SELECT cell_files('SELECT * FROM cell_age WHERE ts IN (29, 21)');
SELECT cell_files('SELECT * FROM cell_age WHERE k = ''r'' AND ts = 5');
SELECT cell_files('SELECT * FROM cell_age WHERE ts >= 20 AND ts < 10');
SELECT cell_files('SELECT * FROM cell_age WHERE ts >= 20 ORDER BY k DESC');
SELECT value, version FROM cell_age WHERE ts >= 20 ORDER BY qualifier;
SELECT value, version FROM cell_age WHERE ts < 10 ORDER BY qualifier;
-- the memtable now holds a version older than all files
INSERT INTO cell_age VALUES ('r','f','q3',3,'old');
SELECT cell_files('SELECT * FROM cell_age WHERE ts >= 20');
SELECT value FROM cell_age WHERE ts < 4;
DROP FOREIGN TABLE cell_age;

-- A delete that hides a wanted cell is never skipped: it has no timestamp, or one not below the bound.
INSERT INTO cell VALUES ('t', 'd', 'a', 5, 'a5'), ('t', 'd', 'b', 50, 'b50');
SELECT widetable.flush();
SELECT widetable.delete_column('cell_row', 't', 'd:a', 25);
SELECT widetable.flush();
INSERT INTO cell VALUES ('t', 'd', 'c', 60, 'c60');
SELECT cell_where('k = ''t'' AND ts < 10'), cell_where('k = ''t'' AND ts >= 5'), cell_where('k = ''t'' AND ts >= 30');
DELETE FROM cell_row WHERE k = 't';
SELECT widetable.flush();
SELECT cell_where('k = ''t'' AND ts < 10'), cell_where('k = ''t'' AND ts >= 50');

-- The same at random: the engine tests all kinds of conditions, compared with pushdown switched off.
CREATE FOREIGN TABLE cell_rnd (k int, family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text, version int)
    SERVER widetable OPTIONS (layout 'cells', salt_buckets '3', families '{"f": {"versions": 1}, "g": {"versions": 3}, "h": {"versions": 2, "keep_deleted": true}}');
CREATE FUNCTION cell_rnd_write(seed float8, n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE f text; q text; k int; t bigint;
BEGIN
    PERFORM setseed(seed);
    FOR i IN 1 .. n LOOP
        f := ('{f,g,h}'::text[])[1 + floor(random() * 3)];
        q := ('{a,b,ba,c}'::text[])[1 + floor(random() * 4)];
        k := floor(random() * 4); t := floor(random() * 10);
        CASE floor(random() * 12)
            WHEN 0 THEN PERFORM widetable.delete_column('cell_rnd', k, f || ':' || q, CASE WHEN random() < 0.5 THEN t END);
            WHEN 1 THEN PERFORM widetable.delete_version('cell_rnd', k, f || ':' || q, t);
            WHEN 2 THEN PERFORM widetable.delete_family('cell_rnd', k, f, t);
            ELSE INSERT INTO cell_rnd VALUES (k, f, q, t, 'v' || i);
        END CASE;
    END LOOP;
END $$;
CREATE FUNCTION cell_rnd_read(seed float8, n int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE c text; r text;
BEGIN
    PERFORM setseed(seed);
    FOR i IN 1 .. n LOOP
        c := 'true';
        FOR j IN 0 .. floor(random() * 4) LOOP
            c := c || ' AND ' || CASE floor(random() * 5)
                WHEN 0 THEN format('k %s %s', ('{=,<,>=}'::text[])[1 + floor(random() * 3)], floor(random() * 4))
                WHEN 1 THEN format('family %s', ('{= ''f'',= ''g'',"IN (''g'', ''h'')"}'::text[])[1 + floor(random() * 3)])
                WHEN 2 THEN format('qualifier %s', ('{= ''b'',> ''a'',LIKE ''b%'',"IN (''a'', ''c'')",< ''ba'',^@ ''ba''}'::text[])[1 + floor(random() * 6)])
                WHEN 3 THEN format('version %s %s', ('{=,<,<=,>}'::text[])[1 + floor(random() * 4)], floor(random() * 4))
                ELSE format('ts %s %s', ('{=,<,<=,>,>=}'::text[])[1 + floor(random() * 5)], floor(random() * 10)) END;
        END LOOP;
        r := cell_where(c, 'cell_rnd');
        IF r LIKE '% instead of %' THEN
            RETURN NEXT c || ': ' || r;
        END IF;
    END LOOP;
END $$;
BEGIN;
SELECT cell_rnd_write(0.1, 60);
SELECT cell_rnd_read(0.2, 60);
COMMIT;
SELECT cell_rnd_read(0.2, 60);
SELECT widetable.flush();
SELECT cell_rnd_write(0.3, 60);
SELECT cell_rnd_read(0.4, 60);
SELECT widetable.flush();
BEGIN;
SELECT cell_rnd_write(0.5, 30);
SELECT cell_rnd_read(0.6, 60);
COMMIT;
SET widetable.as_of = '1970-01-01 00:00:00.000005';
SELECT cell_rnd_read(0.7, 60);
RESET widetable.as_of;
SELECT widetable.compact();
SELECT cell_rnd_read(0.8, 60);
SELECT count(*) > 10 AS some FROM cell_rnd;
DROP FOREIGN TABLE cell_rnd;

-- ------------------------------------------------- a limit for each row

-- cell_no numbers the versions of a row in their order, whatever other conditions there are.
CREATE FOREIGN TABLE cell_bad (k text, family text, qualifier text, value text, cell_no bigint) SERVER widetable OPTIONS (layout 'cells');
CREATE FOREIGN TABLE cell_nr (k text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text, version int, cell_no int)
    SERVER widetable OPTIONS (layout 'cells', families '{"f": {"versions": 2}, "g": {}}');
INSERT INTO cell_nr (k, family, qualifier, ts, value)
    SELECT k, f, q, t, k || f || q || t FROM unnest('{r1,r2,r3}'::text[]) k, unnest('{f,g}'::text[]) f, unnest('{a1,a2,b1,b2}'::text[]) q,
        unnest('{10,20}'::int[]) t WHERE NOT (k = 'r3' AND q <> 'a1');
CREATE FUNCTION cell_nrs(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text; plain text; q text := format('SELECT string_agg(format(''%%s/%%s%%s@%%s'', cell_no, k, qualifier, version), '' '' ORDER BY k, cell_no)
        FROM cell_nr WHERE %s', condition);
BEGIN
    EXECUTE q INTO r;
    SET LOCAL widetable.enable_pushdown = off;
    EXECUTE q INTO plain;
    SET LOCAL widetable.enable_pushdown = on;
    RETURN r || CASE WHEN r IS DISTINCT FROM plain THEN ' instead of ' || plain ELSE '' END;
END $$;
SELECT c, cell_nrs(c) FROM unnest(ARRAY['cell_no <= 2', 'cell_no BETWEEN 2 AND 3', 'cell_no = 4', 'cell_no IN (1, 9)', 'cell_no < 1',
    'cell_no <= 4 AND version = 1', 'family = ''g'' AND qualifier >= ''b1'' AND cell_no > 0', 'ts = 10 AND cell_no > 3 AND k = ''r2''',
    'cell_no <= 2 AND cell_no < 2']) c;
EXPLAIN (COSTS OFF) SELECT k, value FROM cell_nr WHERE qualifier = 'b1' AND ts > 5 AND cell_no <= 8;
EXPLAIN (COSTS OFF) SELECT k, value FROM cell_nr WHERE qualifier = 'b1' AND ts > 5;
SELECT k, value, cell_no FROM cell_nr WHERE cell_no <= 2 ORDER BY k DESC;
SELECT * FROM cell_files('SELECT k, value FROM cell_nr WHERE k < ''r3'' AND cell_no <= 3') r WHERE r ~ 'Cells';
UPDATE cell_nr SET cell_no = 1;
BEGIN;
INSERT INTO cell_nr (k, family, qualifier, value) VALUES ('r1', 'f', 'a0', 'own');
SELECT value, cell_no FROM cell_nr WHERE cell_no <= 1;
UPDATE cell_nr SET value = value || '!' WHERE cell_no = 2 AND k < 'r3' RETURNING value, cell_no;
DELETE FROM cell_nr WHERE k = 'r2' AND cell_no > 2 RETURNING value, cell_no;
ROLLBACK;
-- rows that the engine returns in parts
INSERT INTO cell_nr (k, family, qualifier, value) SELECT 'wide', f, 'q' || i, i FROM generate_series(1, 5000) i, unnest('{f,g}'::text[]) f;
SELECT count(*), count(DISTINCT cell_no), min(cell_no), max(cell_no) FROM cell_nr WHERE k = 'wide';
SELECT family, count(*), min(cell_no), max(cell_no) FROM cell_nr WHERE k = 'wide' AND cell_no <= 5002 GROUP BY family ORDER BY family;
SELECT * FROM cell_files('SELECT value FROM cell_nr WHERE k = ''wide'' AND cell_no BETWEEN 6 AND 15') r WHERE r ~ 'Cells';
DROP FUNCTION cell_nrs;
DROP FOREIGN TABLE cell_nr;

-- ------------------------------------------------------------------ changes

INSERT INTO cell (k, family, qualifier, value) VALUES ('i', 'd', 'a', 'first') RETURNING k, family, qualifier, ts IS NOT NULL AS has_ts, value, version;
INSERT INTO cell (k, family, qualifier, ts, value) VALUES ('i', 'd', 'a', NULL, 'second');
INSERT INTO cell VALUES ('i', 'd', 'a', 10, 'old', 7), ('i', 'd', '', 10, 'empty', NULL), ('i', 'd', 'e', 10, '', NULL);	-- the value given for version is ignored
SELECT qualifier, value, version FROM cell WHERE k = 'i' ORDER BY family, qualifier, version;
INSERT INTO cell (k, family, qualifier, value) VALUES ('i', 'd', 'n', NULL);
INSERT INTO cell (k, family, qualifier, value) VALUES ('i', 'd', NULL, 'x');
INSERT INTO cell (k, family, qualifier, value) VALUES ('i', NULL, 'q', 'x');
INSERT INTO cell (k, family, qualifier, value) VALUES ('i', 'none', 'q', 'x');
INSERT INTO cell (k, family, qualifier, value) VALUES (NULL, 'd', 'q', 'x');
INSERT INTO cell (k, family, qualifier, ts, value) VALUES ('i', 'd', 'q', -1, 'x');
-- UPDATE rewrites the version in place, or moves it
INSERT INTO cell VALUES ('u','d','a',10,'a10'), ('u','d','a',20,'a20'), ('u','d','a',30,'a30'), ('u','e','b',10,'b10');
UPDATE cell SET value = value || '!' WHERE k = 'u' AND ts = 20 RETURNING *;
UPDATE cell SET value = value || '?' WHERE k = 'u' AND version = 1 AND family = 'd';
SELECT * FROM cell WHERE k = 'u';
UPDATE cell SET ts = 110 WHERE k = 'u' AND version = 3;
UPDATE cell SET qualifier = 'z' WHERE k = 'u' AND family = 'd' AND ts = 30;
UPDATE cell SET family = 'e', k = 'u2' WHERE k = 'u' AND family = 'd' AND ts = 20;
SELECT * FROM cell WHERE k LIKE 'u%';
UPDATE cell SET value = NULL WHERE k = 'u' AND qualifier = 'z';
UPDATE cell SET ts = NULL WHERE k = 'u' AND qualifier = 'b' RETURNING qualifier, ts > 1000000 AS now;
SELECT k, qualifier, ts > 1000000 AS now, value FROM cell WHERE k LIKE 'u%';
UPDATE cell SET version = 3 WHERE k = 'u';
INSERT INTO cell VALUES ('s','d','a',10,'a10'), ('s','d','a',20,'a20'), ('s','d','a',30,'a30');
UPDATE cell SET ts = ts + 10 WHERE k = 's';
SELECT * FROM cell WHERE k = 's';
-- DELETE removes the selected versions and no others
INSERT INTO cell VALUES ('d','d','a',10,'a10'), ('d','d','a',20,'a20'), ('d','d','a',30,'a30'), ('d','d','b',5,'b5'), ('d','e','b',5,'eb5');
CREATE FUNCTION cell_delete(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    EXECUTE format('WITH gone AS (DELETE FROM cell WHERE k = ''d'' AND %s RETURNING *) SELECT string_agg(value, '' '' ORDER BY value) FROM gone', condition) INTO r;
    r := format('%s, left: %s', r, (SELECT string_agg(value || '@' || version, ' ' ORDER BY family, qualifier, version) FROM cell WHERE k = 'd'));
    RAISE EXCEPTION USING MESSAGE = r;	-- roll back
EXCEPTION WHEN raise_exception THEN
    RETURN r;
END $$;
SELECT c, cell_delete(c) FROM unnest(ARRAY['version > 1', 'version = 1', 'ts >= 20', 'ts < 20', 'ts BETWEEN 5 AND 20', 'ts = 20',
    'family = ''d'' AND qualifier = ''a'' AND version = 2', 'qualifier LIKE ''b%''', 'value = ''a30''', 'true']) c;
EXPLAIN (COSTS OFF) DELETE FROM cell WHERE k = 'd' AND ts < 20;
-- uncommitted versions of this transaction, between versions with explicit timestamps
BEGIN;
INSERT INTO cell (k, family, qualifier, value) VALUES ('o', 'd', 'a', 'now');
INSERT INTO cell VALUES ('o', 'd', 'a', 9223372036854775000, 'future'), ('o', 'd', 'a', 50, 'past');
SELECT value FROM cell WHERE k = 'o' AND family = 'd' AND qualifier = 'a' ORDER BY ts DESC;
UPDATE cell SET value = 'still now' WHERE k = 'o' AND value = 'now' RETURNING version;
UPDATE cell SET value = 'long past' WHERE k = 'o' AND ts = 50 RETURNING version;
SELECT value, version FROM cell WHERE k = 'o';
DELETE FROM cell WHERE k = 'o' AND version = 2 RETURNING value;
SELECT value, version FROM cell WHERE k = 'o';
COMMIT;
SELECT value, version FROM cell WHERE k = 'o';
-- typed values
INSERT INTO cell_int VALUES ('n', 'd', 'b', 10, 7);
SELECT b FROM cell_row WHERE k = 'n';
UPDATE cell_int SET value = value + 1 WHERE k = 'n' RETURNING *;
SELECT widetable.increment('cell_row', 'n', 'b', 5);
SELECT value FROM cell_int WHERE k = 'n' AND qualifier = 'b' ORDER BY ts DESC;
INSERT INTO cell_dec VALUES ('n', 'd', 'dec', 10, 77);
SELECT qualifier, value FROM cell WHERE k = 'n';
SELECT value FROM cell_dec WHERE k = 'n' AND qualifier = 'dec';
SELECT qualifier FROM cell_int WHERE k = 'n';
SELECT value FROM cell_int WHERE k = 'n' AND qualifier = 'dec';

-- ----------------------------------------------------------------- the past

-- A delete hides cells at every time, unless the family keeps deleted cells.
INSERT INTO cell VALUES ('kd','d','a',10,'a10'), ('kd','d','a',20,'a20'), ('kd','e','b',10,'b10'), ('kd','e','b',20,'b20');
DELETE FROM cell_row WHERE k = 'kd';
SELECT cell_where('k = ''kd'''), cell_where('k = ''kd'' AND ts < 15');
SELECT family, ts, value FROM widetable.cells('cell_row', 'kd', 5, until => 15);
SELECT family, ts, value FROM widetable.cells('cell_row', 'kd', 5);
SET widetable.as_of = '1970-01-01 00:00:00.00002';
SELECT * FROM cell WHERE k = 'kd';
SELECT * FROM cell WHERE k = 'kd' AND ts < 20;
EXPLAIN (COSTS OFF) SELECT * FROM cell WHERE k = 'kd' AND ts < 20;
SELECT k, a, m FROM cell_row WHERE k = 'kd';
SELECT widetable.get('cell_row', 'kd'), widetable.get('cell_row', 'x');
DELETE FROM cell WHERE k = 'kd';
RESET widetable.as_of;
-- prepared statements follow the setting, open cursors keep the value they were opened with
INSERT INTO cell VALUES ('p','d','a',10,'a10'), ('p','d','a',20,'a20');
PREPARE cell_q AS SELECT a, ta FROM cell_row WHERE k = 'p';
EXECUTE cell_q;
SET widetable.as_of = '1970-01-01 00:00:00.000010';
EXECUTE cell_q;
SET widetable.as_of = '1970-01-01 00:00:00.000009';
EXECUTE cell_q;
RESET widetable.as_of;
EXECUTE cell_q;
BEGIN;
SET LOCAL widetable.as_of = '1970-01-01 00:00:00.000010';
DECLARE cell_c CURSOR FOR SELECT value FROM cell WHERE k = 'p';
SET LOCAL widetable.as_of = '';
FETCH ALL FROM cell_c;
-- as_of applies to the transaction's own writes, too
SET LOCAL widetable.as_of = '1970-01-01 00:00:00.000010';
INSERT INTO cell VALUES ('p', 'd', 'c', 5, 'c5'), ('p', 'd', 'c', NULL, 'now');
SELECT value FROM cell WHERE k = 'p';
ROLLBACK;

-- ------------------------------------------- two views of one stored table

BEGIN;
INSERT INTO cell_row (k, a) VALUES ('v', '1');
UPDATE cell SET value = '2' WHERE k = 'v';
SELECT a FROM cell_row WHERE k = 'v';
INSERT INTO cell VALUES ('v', 'e', 'm1', 7, 'by cell');
UPDATE cell_row SET m = m || '{"m2": "by map"}' WHERE k = 'v';
SELECT family, qualifier, value, version FROM cell WHERE k = 'v';
DELETE FROM cell WHERE k = 'v' AND qualifier = 'a';
SELECT k, a, m FROM cell_row WHERE k = 'v';
-- but only from the next statement on
WITH w AS (INSERT INTO cell_row (k, a) VALUES ('w', '1') RETURNING k) SELECT k, (SELECT count(*) FROM cell WHERE k = 'w') FROM w;
SELECT count(*) FROM cell WHERE k = 'w';
SAVEPOINT s;
DELETE FROM cell_row WHERE k = 'v';
SELECT count(*) FROM cell WHERE k = 'v';
ROLLBACK TO s;
SELECT count(*) FROM cell WHERE k = 'v';
COMMIT;
SELECT k, a, m FROM cell_row WHERE k IN ('v', 'w');

-- ------------------------------------------ RETURNING shows what was stored

CREATE FOREIGN TABLE cell_ret (k text COLLATE "C", a text, ta bigint OPTIONS (timestamp_of 'd:a'), m jsonb OPTIONS (family 'm'),
                               p jsonb OPTIONS (family 'm', prefix 'p_')) SERVER widetable OPTIONS (families '{"d": {"versions": 3}, "m": {}}');
INSERT INTO cell_ret (k, m, p) VALUES ('m', '{"s": "x", "n": 1.50, "t": true, "z": null, "o": {"a": [1, 2]}}', '{"": "y"}') RETURNING *;
SELECT * FROM cell_ret;
UPDATE cell_ret SET m = m || '{"s": null, "n": 2}', p = '{}' RETURNING *;
SELECT * FROM cell_ret;
INSERT INTO cell_ret (k, a, ta, m) VALUES ('n', 'x', 100, '{}') RETURNING *;
UPDATE cell_ret SET ta = 50 WHERE k = 'n' RETURNING a, ta;
UPDATE cell_ret SET ta = NULL WHERE k = 'n' RETURNING a, ta > 1000000 AS now;
UPDATE cell_ret SET a = 'y', ta = 70 WHERE k = 'n' RETURNING a, ta;
SELECT ts, value FROM widetable.cells('cell_ret', 'n', 3) WHERE ts < 1000000;
UPDATE cell_ret SET ta = 70 WHERE k = 'm' RETURNING a, ta;

-- -------------------------- prefix filters skip files without rows in a range

CREATE FOREIGN TABLE cell_pre (a int, b int, v text) SERVER widetable OPTIONS (key 'a, b', families '{"f": {"bloom": "prefix:4"}}');
INSERT INTO cell_pre SELECT a, b, 'x' FROM generate_series(1, 99, 2) a, generate_series(1, 3) b;
SELECT widetable.flush();
INSERT INTO cell_pre SELECT a, b, 'y' FROM generate_series(2, 100, 2) a, generate_series(1, 3) b;
SELECT widetable.flush();
SELECT cell_files('SELECT * FROM cell_pre WHERE a = 51');
SELECT cell_files('SELECT * FROM cell_pre WHERE a = 52 AND b > 1 ORDER BY a DESC, b DESC');
SELECT cell_files('SELECT * FROM cell_pre WHERE a BETWEEN 51 AND 52');

-- lists with elements that say nothing about the family's bytes, or nothing at all
CREATE FOREIGN TABLE cell_list (k text COLLATE "C", family text, qualifier text COLLATE "C", value text)
  SERVER widetable OPTIONS (layout 'cells', key 'k', families '{"f": {}, "h": {}}');
INSERT INTO cell_list VALUES ('a', 'f', 'q', '1'), ('a', 'h', 'q', '2');
SELECT family FROM cell_list WHERE family = ANY (ARRAY['f', '\x']);
SELECT family FROM cell_list WHERE family IN ('h', '\x', 'g');
PREPARE cell_any (text[]) AS SELECT family FROM cell_list WHERE family = ANY ($1);
EXECUTE cell_any ('{h,"\\x"}');
DEALLOCATE cell_any;
SELECT family FROM cell_list WHERE family LIKE '%f';
SELECT family FROM cell_list WHERE starts_with(family, '') ORDER BY 1;
-- text that is only nearly the text of bytes stands for itself
INSERT INTO cell_list VALUES ('b', 'f', '\xff', 'bytes'), ('b', 'f', '\xff\x', 'text'), ('b', 'f', '\xff\xff\x', 'text'), ('b', 'f', '\x', 'text');
SELECT qualifier, value FROM cell_list WHERE k = 'b' ORDER BY length(qualifier);
SELECT qualifier, value FROM cell_list WHERE qualifier = '\xff\x';

DROP FUNCTION cell_where, cell_files, cell_rnd_write, cell_rnd_read, cell_delete;
DROP FOREIGN TABLE cell_row, cell, cell_tz, cell_int, cell_dec, cell_ret, cell_pre, cell_list;
