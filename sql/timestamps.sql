-- Layout rows: the engine tests conditions on the timestamps of cells (columns
-- with timestamp_of), and skips files older than a lower bound where that does
-- not change the answer.
\set SHOW_CONTEXT never
\pset null NULL
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
-- flush first, so that the background worker is idle and the counts of cells and files stay the same
SELECT widetable.flush();

-- ------------------------------------------------------- what is pushed down

CREATE FOREIGN TABLE stamp (k int, a text OPTIONS (column 'd:a'), ta timestamptz OPTIONS (timestamp_of 'd:a'),
                            b int OPTIONS (column 'd:b'), tb bigint OPTIONS (timestamp_of 'd:b'),
                            tc timestamptz OPTIONS (timestamp_of 'e:c'))
    SERVER widetable OPTIONS (key 'k', families '{"d": {"versions": 2}, "e": {}}');
SELECT widetable.put('stamp', 1, 'd:a', 'one', 1000000), widetable.put('stamp', 1, 'd:b', '1', 10);
SELECT widetable.put('stamp', 2, 'd:a', 'two', 2000000), widetable.put('stamp', 2, 'd:b', '2', 9223372036854775806);
SELECT widetable.put('stamp', 3, 'd:a', 'far', 9223372036854775806), widetable.put('stamp', 3, 'e:c', 'c', 0);
SELECT widetable.put('stamp', 4, 'd:a', 'first', 0), widetable.put('stamp', 4, 'd:b', '4', 5);
-- Returns the answer with pushdown, and the one without if it differs.
CREATE FUNCTION stamp_where(condition text, rel text DEFAULT 'stamp') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r text;
    plain text;
    plan json;
    q text := format('SELECT string_agg(k::text, '','' ORDER BY k) FROM %I WHERE %s', rel, condition);
BEGIN
    EXECUTE q INTO r;
    EXECUTE 'EXPLAIN (FORMAT json) ' || q INTO plan;
    PERFORM set_config('widetable.enable_pushdown', 'off', false);
    EXECUTE q INTO plain;
    PERFORM set_config('widetable.enable_pushdown', 'on', false);
    RETURN coalesce(r, '-') || CASE WHEN r IS DISTINCT FROM plain THEN ' instead of ' || coalesce(plain, '-') ELSE '' END ||
        CASE WHEN plan::text ~ 'Engine Filter' THEN '' WHEN plan::text ~ 'Filter' THEN ' (not pushed)' ELSE ' (no filter)' END;
END $$;
SELECT c, stamp_where(c) FROM unnest(ARRAY['ta >= ''1970-01-01 00:00:02Z''', 'ta > ''1970-01-01 00:00:02Z''', 'ta < ''1970-01-01 00:00:02Z''',
    'ta <= ''1970-01-01 00:00:02Z''', 'ta = ''1970-01-01 00:00:02Z''', 'ta <> ''1970-01-01 00:00:02Z''', 'ta BETWEEN ''1970-01-01'' AND ''1971-01-01''',
    '''1970-01-01 00:00:02Z'' <= ta', 'NOT ta < ''1970-01-01 00:00:02Z''', 'ta > ''1970-01-01''::date', 'ta <= ''1970-01-01 00:00:01''::timestamp',
    'ta = ''-infinity''', 'ta > ''-infinity''', 'ta >= ''-infinity''', 'ta < ''-infinity''', 'ta <= ''-infinity''', 'ta <> ''-infinity''',
    'ta = ''infinity''', 'ta > ''infinity''', 'ta >= ''infinity''', 'ta < ''infinity''', 'ta <= ''infinity''', 'ta <> ''infinity''',
    'ta > ''5874897-12-31''::date', 'ta < ''5874897-12-31''::date', 'ta = ''5874897-12-31''::date', 'ta >= ''4713-01-01 BC''::date', 'ta < ''4713-01-01 BC''::date',
    'ta >= ''294247-01-10 04:00:54.775806Z''', 'ta > ''294247-01-10 04:00:54.775806Z''', 'ta = ''294247-01-10 04:00:54.775806Z''', 'ta > ''294276-12-31''',
    'ta <> ''294276-12-31''', 'ta >= NULL', 'ta > now() - interval ''1 day''', 'ta IS DISTINCT FROM ''1970-01-01 00:00:02Z''',
    'ta IS NOT DISTINCT FROM ''1970-01-01 00:00:02Z''', 'ta IS DISTINCT FROM NULL',
    'tb >= 10', 'tb > 10', 'tb < 10::smallint', 'tb <= 10', 'tb = 9223372036854775806', 'tb > 9223372036854775806', 'tb > 9223372036854775807',
    'tb <= 9223372036854775807', 'tb >= (-9223372036854775808)', 'tb < (-9223372036854775808)', 'tb <> 10', 'tb IS DISTINCT FROM 10',
    'tc >= ''1970-01-01''', 'tc >= ''1970-01-01'' OR tb < 6', 'tc IS NULL AND tb > 0', 'tb IN (10, 5)', 'tb + 1 > 10', 'ta > tc',
    'tb = 10 OR a = ''two''', 'a = ''two'' AND ta >= ''1970-01-01''']) c;
EXPLAIN (COSTS OFF) SELECT k FROM stamp WHERE ta >= '1970-01-01' AND tb BETWEEN 1 AND 100;
PREPARE stamp_p(timestamptz) AS SELECT k FROM stamp WHERE ta >= $1 ORDER BY k;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE stamp_p('1970-01-01');
EXECUTE stamp_p('1970-01-01 00:00:02');
EXECUTE stamp_p(NULL);
EXECUTE stamp_p('infinity');
RESET plan_cache_mode;
SELECT t, (SELECT string_agg(k::text, ',' ORDER BY k) FROM stamp WHERE tb >= t) FROM unnest(ARRAY[10, 11, NULL, 5]) t;

-- ------------------------------------------------------------- skipped files

-- three files, each with rows of one period; a delete counts in the period of its file
CREATE FOREIGN TABLE stamp_log (k int, v text OPTIONS (column 'd:v'), at bigint OPTIONS (timestamp_of 'd:v'),
                                note text OPTIONS (column 'd:note'), other int OPTIONS (column 'e:other'))
    SERVER widetable OPTIONS (key 'k', families '{"d": {"versions": 3}, "e": {}}');
DO $$
BEGIN
    FOR f IN 1..3 LOOP
        FOR i IN 1..20 LOOP
            PERFORM widetable.put('stamp_log', 100 * f + i, 'd:v', format('v%s', i), 1000 * f + i);
            PERFORM widetable.put('stamp_log', 100 * f + i, 'd:note', format('n%s', i), 1000 * f + i);
            PERFORM widetable.put('stamp_log', 100 * f + i, 'e:other', i::text, 1000 * f + i);
        END LOOP;
        -- in part, rows of the first file are written again later, or deleted
        PERFORM widetable.put('stamp_log', 101 + f, 'd:v', format('again %s', f), 1000 * f + 30);
        PERFORM widetable.delete_column('stamp_log', 111, 'd:v', 1000 * f + 30);
        COMMIT;
        PERFORM widetable.flush('stamp_log');
        COMMIT;
    END LOOP;
END $$;
CREATE FUNCTION stamp_files(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    FOR r IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF r ~ 'Files|Cells|Engine Filter' THEN RETURN NEXT btrim(r); END IF;
    END LOOP;
END $$;
-- the cell alone; with other cells of its family, which may be in any file; with another family
SELECT q, stamp_files(q) FROM unnest(ARRAY['SELECT k, v, at FROM stamp_log WHERE at > 3020', 'SELECT k, note FROM stamp_log WHERE at > 3020',
    'SELECT k, other FROM stamp_log WHERE at > 3020', 'SELECT k, note FROM stamp_log WHERE at > 1020', 'SELECT count(*) FROM stamp_log WHERE at > 2000',
    'SELECT k FROM stamp_log WHERE at < 1010', 'SELECT k FROM stamp_log WHERE at > 3020 OR note IS NULL']) q;
SELECT * FROM stamp_log WHERE at > 3019;
SELECT k, note, other FROM stamp_log WHERE at >= 2020 AND note IN ('n5', 'n20', 'n6') ORDER BY k DESC;
-- only the newest version counts: an older version within the bounds does not match
SELECT * FROM stamp_log WHERE at BETWEEN 2025 AND 3000;
SELECT * FROM stamp_log WHERE k = 104 AND at > 3000;
-- changes of the rows found
BEGIN;
UPDATE stamp_log SET note = note || '!' WHERE at > 3018 RETURNING k, note;
DELETE FROM stamp_log WHERE at BETWEEN 3019 AND 3025;
SELECT k, v, note FROM stamp_log WHERE at > 3017;
-- the transaction's own rows have the current time
INSERT INTO stamp_log VALUES (9, 'now', NULL, 'new');
SELECT k, v, note, at > 1000000000000000 AS recent FROM stamp_log WHERE at > 6000;
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE stamp_log SET note = note || '!' WHERE at > 3018 RETURNING k, note, other;
ROLLBACK;

-- ------------------------------------------------------------ at random

-- Puts, deletes of every kind and cells that expire; later ones mostly have later timestamps; over several files.
CREATE FUNCTION stamp_change(rel regclass, epoch int, n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k int;
    col text;
    ts bigint;
BEGIN
    FOR i IN 1..n LOOP
        k := random() * 24;
        col := (ARRAY['d:a', 'd:a', 'd:b', 'd:c', 'e:x', 'e:y'])[1 + trunc(random() * 6)];
        ts := 1000 + 12 * epoch + trunc(random() * 20);
        CASE trunc(random() * 16)
            WHEN 0 THEN PERFORM widetable.delete_family(rel, k, left(col, 1), CASE WHEN random() < 0.9 OR epoch <> 2 THEN ts END);
            WHEN 1 THEN PERFORM widetable.delete_column(rel, k, col, CASE WHEN random() < 0.9 OR epoch <> 2 THEN ts END);
            WHEN 2 THEN PERFORM widetable.delete_version(rel, k, col, ts);
            WHEN 3 THEN PERFORM widetable.delete_family_version(rel, k, left(col, 1), ts);
            WHEN 4 THEN PERFORM widetable.put(rel, k, col, 'gone' || i, ts, interval '1 s');
            ELSE PERFORM widetable.put(rel, k, col, 'v' || trunc(random() * 4), ts);
        END CASE;
    END LOOP;
END $$;
CREATE FUNCTION stamp_condition() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    n int := trunc(random() * 12);
    ts bigint := 1000 + CASE WHEN random() < 0.5 THEN 19 + 12 * trunc(random() * 6) ELSE trunc(random() * 90) END;
    op text := (ARRAY['>=', '>', '=', '>=', '>', '<', '<=', '<>'])[1 + trunc(random() * 8)];
BEGIN
    RETURN CASE n
        WHEN 0 THEN 'a = ''v1''' WHEN 1 THEN 'c IS NULL' WHEN 2 THEN 'k BETWEEN 5 AND 15' WHEN 3 THEN 'x IN (''v1'', ''v2'')'
        WHEN 4 THEN format('tb %s %L::timestamptz', op, 'epoch'::timestamptz + ts * interval '1 us')
        WHEN 5 THEN format('tb BETWEEN %L AND %L', 'epoch'::timestamptz + ts * interval '1 us', 'epoch'::timestamptz + (ts + 15) * interval '1 us')
        WHEN 6 THEN format('(tx %s %s OR ta >= %s)', op, ts, ts)
        WHEN 7 THEN format('tx %s %s', op, ts)
        WHEN 8 THEN format('(ta = %s OR ta > %s)', ts - 10, ts)
        ELSE format('ta %s %s', op, ts) END;
END $$;
CREATE FUNCTION stamp_random(rel regclass, asked int, state text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    q text;
    r text;
    plain text;
    rows bigint := 0;
BEGIN
    FOR i IN 1..asked LOOP
        q := (ARRAY['k', 'k, ta', 'k, a', 'k, a, ta', 'k, c', 'k, c, tb, x', 'count(*) AS k', 'k, b, tb', 'k, m', 'k, tx', '*'])[1 + trunc(random() * 11)];
        q := format('SELECT %s FROM %s WHERE %s', q, rel, stamp_condition()) || CASE WHEN random() < 0.5 THEN ' AND ' || stamp_condition() ELSE '' END ||
            ' ORDER BY k' || CASE WHEN random() < 0.3 THEN ' DESC' ELSE '' END;
        q := format('SELECT string_agg(s::text, '' '') FROM (%s) s', q);
        IF random() < 0.2 THEN
            PERFORM set_config('widetable.as_of', ('epoch'::timestamptz + (1000 + trunc(random() * 80)) * interval '1 us')::text, false);
        END IF;
        EXECUTE q INTO r;
        PERFORM set_config('widetable.enable_pushdown', 'off', false);
        EXECUTE q INTO plain;
        PERFORM set_config('widetable.enable_pushdown', 'on', false);
        IF r IS DISTINCT FROM plain THEN
            RETURN NEXT format('%s, %s, as of %s: %s: %s instead of %s', rel, state, current_setting('widetable.as_of'), q, r, plain);
        END IF;
        PERFORM set_config('widetable.as_of', '', false);
        rows := rows + length(r) - length(replace(r, '(', ''));
    END LOOP;
    IF rows < asked THEN RETURN NEXT 'too few rows: ' || rows; END IF;
END $$;
SELECT setseed(0.162);
CREATE PROCEDURE stamp_round(families text, existence text) LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    EXECUTE format('CREATE FOREIGN TABLE stamp_any (k int, a text OPTIONS (column ''d:a''), ta bigint OPTIONS (timestamp_of ''d:a''),
        b text OPTIONS (column ''d:b''), tb timestamptz OPTIONS (timestamp_of ''d:b''), c text OPTIONS (column ''d:c''),
        x text OPTIONS (column ''e:x''), tx bigint OPTIONS (timestamp_of ''e:x''), m jsonb OPTIONS (family ''e''))
        SERVER widetable OPTIONS (key ''k'', families %L, existence %L)', families, existence);
    FOR epoch IN 0..5 LOOP
        PERFORM stamp_change('stamp_any', epoch, 60);
        COMMIT;
        FOR r IN SELECT stamp_random('stamp_any', 15, 'memory ' || epoch) LOOP RAISE NOTICE '%', r; END LOOP;
        IF epoch <> 4 THEN
            PERFORM widetable.flush('stamp_any');
            COMMIT;
        END IF;
    END LOOP;
    FOR r IN SELECT stamp_random('stamp_any', 200, 'files') LOOP RAISE NOTICE '%', r; END LOOP;
    -- uncommitted changes on top of the files
    PERFORM stamp_change('stamp_any', 3, 40);
    FOR r IN SELECT stamp_random('stamp_any', 60, 'own') LOOP RAISE NOTICE '%', r; END LOOP;
    COMMIT;
    PERFORM widetable.compact('stamp_any', false);
    COMMIT;
    FOR r IN SELECT stamp_random('stamp_any', 60, 'some compacted') LOOP RAISE NOTICE '%', r; END LOOP;
    PERFORM widetable.compact('stamp_any');
    PERFORM stamp_change('stamp_any', 6, 30);
    COMMIT;
    FOR r IN SELECT stamp_random('stamp_any', 60, 'compacted') LOOP RAISE NOTICE '%', r; END LOOP;
    EXECUTE 'DROP FOREIGN TABLE stamp_any';
    COMMIT;
END $$;
CALL stamp_round('{"d": {}, "e": {}}', 'any');
CALL stamp_round('{"d": {"versions": 2}, "e": {"versions": 2}}', 'projected');
CALL stamp_round('{"d": {"versions": 3, "keep_deleted": true}, "e": {"versions": 3, "ttl": "1 day", "min_versions": 2}}', 'any');

-- A cell at the end of time, where no later timestamp exists: a change that reads the cell first replaces
-- that version, and a delete takes it away.
CREATE FOREIGN TABLE stamp_end (k int, v int, n bigint OPTIONS (encoding 'counter'), j text) SERVER widetable OPTIONS (families '{"d": {"versions": 3}}');
CREATE FOREIGN TABLE stamp_end_cells (k int, family text, qualifier text, ts bigint, value bytea)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.stamp_end');
SELECT count(*) FROM (VALUES (1, 0), (2, 1), (3, 2)) e(k, before),
    LATERAL (VALUES (widetable.put('stamp_end', k, 'v', 10 * k, ts => 9223372036854775807 - before)),
                    (widetable.put('stamp_end', k, 'n', 10 * k, ts => 9223372036854775807 - before)),
                    (widetable.put('stamp_end', k, 'j', 'x', ts => 9223372036854775807 - before))) p;
UPDATE stamp_end SET v = v + 1 RETURNING k, v;
BEGIN;
UPDATE stamp_end SET v = v + 1, j = j || 'y';
SAVEPOINT a;
UPDATE stamp_end SET v = 0;
ROLLBACK TO a;
SELECT k, widetable.increment('stamp_end', k, 'n', 5) FROM stamp_end ORDER BY k;
UPDATE stamp_end SET v = v + 1;
SELECT * FROM stamp_end;
COMMIT;
SELECT k, widetable.append('stamp_end', k, 'j', 'z') IS NOT NULL AS appended FROM stamp_end ORDER BY k;
SELECT widetable.flush('stamp_end');
SELECT * FROM stamp_end;
SELECT k, qualifier, 9223372036854775807 - ts AS before_end, value FROM stamp_end_cells WHERE ts > 9e18 ORDER BY k, qualifier, ts DESC;
UPDATE stamp_end SET v = NULL WHERE k = 1;
DELETE FROM stamp_end WHERE k = 2;
SELECT widetable.compact('stamp_end');
SELECT * FROM stamp_end;
DROP FOREIGN TABLE stamp_end, stamp_end_cells;

DROP FOREIGN TABLE stamp, stamp_log;
