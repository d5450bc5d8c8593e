-- Hostile bytes as cells and as row keys: a session that reads them gets a value or an error about
-- damaged data, never a crash and never an internal error.  Run by ./test/check sanitize on a server
-- whose library has sanitizers; also by hand:
--
--   psql -X -v rounds=200 -v seed=0.5 -f test/fuzz_cells.sql
--
-- Prints TAP.  Everything is made in a schema of its own and dropped.
\set ON_ERROR_STOP on
\set QUIET on
\pset tuples_only on
\pset format unaligned
\if :{?rounds} \else \set rounds 60 \endif
\if :{?seed} \else \set seed 0.25 \endif
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS widetable;
DROP SCHEMA IF EXISTS fuzz_cells CASCADE;
CREATE SCHEMA fuzz_cells;
SET search_path = fuzz_cells, public;
SELECT setseed(:seed) \g /dev/null

CREATE TYPE pair AS (a int, b text);
CREATE TYPE colour AS ENUM ('red', 'green', 'a much longer label');
CREATE DOMAIN short AS text CHECK (length(value) < 20);
CREATE DOMAIN pairs AS pair[];

-- vals: values of the type, as text; key: usable in a key
CREATE TABLE kinds (id serial, typ text, encoding text, vals text[], key boolean DEFAULT false);
INSERT INTO kinds (typ, encoding, vals, key) VALUES
    ('smallint', 'binary', ARRAY['7'], true), ('int', 'binary', ARRAY['-1'], true), ('bigint', 'binary', ARRAY['9223372036854775807'], true),
    ('int', 'decimal', ARRAY['-20'], true), ('bigint', 'decimal', ARRAY['-9223372036854775808'], true), ('int', 'text', ARRAY['20'], false),
    ('int', 'unsigned1', ARRAY['255'], true), ('bigint', 'unsigned8', ARRAY['1'], true), ('bigint', 'counter', ARRAY['1'], false),
    ('int', 'ordered', ARRAY['0'], true), ('bigint', 'reverse', ARRAY['5'], true), ('bigint', 'hex', ARRAY['-1'], true),
    ('float4', 'binary', ARRAY['1.5'], false), ('float8', 'ordered', ARRAY['-1.5', 'NaN'], true), ('bool', 'ordered', ARRAY['true'], true),
    ('numeric', NULL, ARRAY['12.34', '1e300', 'NaN', '-0.0001'], false), ('numeric', 'ordered', ARRAY['12.34', '-1e200', '0', 'Infinity'], true),
    ('text', 'text', ARRAY['abc', 'ab0'], true), ('varchar(5)', NULL, ARRAY['abc'], false), ('bpchar', NULL, ARRAY['ab '], false),
    ('bytea', NULL, ARRAY['\x0001ff'], true), ('name', NULL, ARRAY['n'], true), ('uuid', NULL, ARRAY['00112233-4455-6677-8899-aabbccddeeff'], true),
    ('timestamptz', 'ordered', ARRAY['2024-01-01', 'infinity'], true), ('timestamptz', 'binary', ARRAY['2024-01-01'], false),
    ('timestamp', 'ordered', ARRAY['1999-01-01'], true), ('date', 'ordered', ARRAY['2024-02-29', 'infinity'], true),
    ('date', 'binary', ARRAY['2024-02-29'], false), ('time', NULL, ARRAY['24:00'], true), ('timetz', NULL, ARRAY['12:00+02'], false),
    ('interval', NULL, ARRAY['1 day -2 h'], false), ('oid', NULL, ARRAY['4294967295'], true),
    ('inet', 'ordered', ARRAY['10.0.0.1/8', '::1'], true), ('cidr', 'ordered', ARRAY['10.0.0.0/8'], true), ('inet', NULL, ARRAY['::1/128'], false),
    ('macaddr', NULL, ARRAY['08:00:2b:01:02:03'], false), ('point', NULL, ARRAY['(1,2)'], false), ('polygon', NULL, ARRAY['((0,0),(1,1),(1,0))'], false),
    ('bit(9)', NULL, ARRAY['101010101'], false), ('varbit', NULL, ARRAY['10101'], false),
    ('json', NULL, ARRAY['{"a": [1, 2]}'], false), ('jsonb', NULL, ARRAY['{"a": [1, null, "x"], "b": {"c": 1e5}}', '[]'], false),
    ('tsvector', NULL, ARRAY['a:1 fat:2,4A cat'], false), ('tsquery', NULL, ARRAY['a & (b | !c)'], false),
    ('int[]', NULL, ARRAY['{1,2,NULL}', '{}', '[2:3][1:2]={{1,2},{3,4}}'], false), ('text[]', NULL, ARRAY['{a,NULL,"b c"}'], false),
    ('numeric[]', NULL, ARRAY['{1.5,2e10}'], false), ('jsonb[]', NULL, ARRAY['{"{\"a\": 1}"}'], false),
    ('pair', NULL, ARRAY['(1,abc)', '(,)'], false), ('pair[]', NULL, ARRAY['{"(1,abc)",NULL}'], false), ('pairs', NULL, ARRAY['{"(1,abc)"}'], false),
    ('int4range', NULL, ARRAY['[1,5)', 'empty', '(,5)'], false), ('tstzrange', NULL, ARRAY['[2024-01-01,)'], false), ('nummultirange', NULL, ARRAY['{[1.5,2),[3,4]}'], false),
    ('colour', NULL, ARRAY['red', 'a much longer label'], true), ('short', NULL, ARRAY['abc'], false), ('xml', NULL, ARRAY['<a>1</a>'], false),
    ('money', NULL, ARRAY['12.34'], false), ('regclass', NULL, ARRAY['pg_class'], false), ('pg_lsn', NULL, ARRAY['1/2345'], false);

-- a server may be built without XML
DO $$ BEGIN PERFORM '<a/>'::xml; EXCEPTION WHEN feature_not_supported THEN DELETE FROM kinds WHERE typ = 'xml'; END $$;

-- b with up to four changes: bits, bytes, lengths and offsets that nearly fit, bytes removed or added
CREATE FUNCTION damage(b bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    at int; n int := length(b);
BEGIN
    FOR i IN 1 .. 1 + floor(random() * 4)::int LOOP
        at := floor(random() * greatest(1, least(n, CASE WHEN random() < 0.5 THEN 24 ELSE n END)))::int;
        CASE floor(random() * 8)::int
            WHEN 0 THEN IF n > 0 THEN b := set_bit(b, at * 8 + floor(random() * 8)::int, floor(random() * 2)::int); END IF;
            WHEN 1 THEN IF n > 0 THEN b := set_byte(b, at, floor(random() * 256)::int); END IF;
            WHEN 2 THEN IF n > 0 THEN b := set_byte(b, at, (get_byte(b, at) + CASE WHEN random() < 0.5 THEN 1 ELSE 255 END) % 256); END IF;
            WHEN 3 THEN IF n > 0 THEN b := set_byte(b, at, (ARRAY[0, 1, 127, 128, 255])[1 + floor(random() * 5)::int]); END IF;
            WHEN 4 THEN b := substr(b, 1, at);
            WHEN 5 THEN b := substr(b, 1, at) || substr(b, at + 2);
            WHEN 6 THEN b := substr(b, 1, at) || decode(repeat((ARRAY['00', 'ff', '7f', '80', '5c'])[1 + floor(random() * 5)::int], 1 + floor(random() * 9)::int), 'hex') || substr(b, at + 1);
            ELSE IF n > 3 THEN b := substr(b, 1, at) || (ARRAY['\xffffffff', '\x7fffffff', '\x00000001', '\x80000000']::bytea[])[1 + floor(random() * 4)::int] || substr(b, at + 5); END IF;
        END CASE;
        n := length(b);
    END LOOP;
    RETURN b;
END $$;

-- Whether an error says that data is damaged or does not fit.  XX000, an internal error, is none of these.
CREATE FUNCTION expected_error(state text) RETURNS boolean LANGUAGE sql AS
$$ SELECT state = 'XX001' OR state LIKE '22%' OR state LIKE '23%' OR state LIKE '54%' OR state IN ('42601', '42602', '42P02', '42704', '42846', '42P01', '3F000', '0A000') $$;

CREATE TABLE outcome (id int, what text, bytes bytea, state text, message text);

-- Reads the cell as the type, as text and in a condition; notes what is wrong with it.
CREATE PROCEDURE try_cell(kind kinds, i int, b bytea) LANGUAGE plpgsql AS $$
DECLARE
    state text; msg text; out text;
BEGIN
    BEGIN
        EXECUTE format('SELECT v::text FROM v%s WHERE k = %L', kind.id, i) INTO out;
        EXECUTE format('SELECT count(*) FROM v%s WHERE k = %L AND v IS NOT NULL AND v::text <> %L', kind.id, i, '~') INTO out;
        state := '00000';
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, msg = MESSAGE_TEXT;
    END;
    INSERT INTO outcome VALUES (kind.id, 'cell', b, state, msg);
END $$;

CREATE PROCEDURE try_key(kind kinds, tab text, b bytea) LANGUAGE plpgsql AS $$
DECLARE
    state text; msg text; out text;
BEGIN
    BEGIN
        EXECUTE format('SELECT widetable.decode_key(%L, %L::bytea)::text', tab, b) INTO out;
        state := '00000';
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, msg = MESSAGE_TEXT;
    END;
    INSERT INTO outcome VALUES (kind.id, 'key', b, state, msg);
END $$;

CREATE PROCEDURE try_kind(kind kinds, rounds int) LANGUAGE plpgsql AS $$
DECLARE
    options text := CASE WHEN kind.encoding IS NULL THEN '' ELSE format('OPTIONS (encoding %L)', kind.encoding) END;
    good bytea[] := '{}'; b bytea; tab text; made boolean := false;
BEGIN
    EXECUTE format('CREATE FOREIGN TABLE v%s (k text, v %s %s) SERVER widetable OPTIONS (families ''{"f": {}}'')', kind.id, kind.typ, options);
    EXECUTE format('CREATE FOREIGN TABLE c%s (k text, family text, qualifier text, value bytea) SERVER widetable OPTIONS (layout ''cells'', table_name %L)',
        kind.id, 'fuzz_cells.v' || kind.id);
    FOR j IN 1 .. cardinality(kind.vals) LOOP
        EXECUTE format('INSERT INTO v%s SELECT %L, %L::%s', kind.id, 'good' || j, kind.vals[j], kind.typ);
    END LOOP;
    EXECUTE format('SELECT array_agg(value) FROM c%s WHERE k LIKE ''good%%''', kind.id) INTO good;
    FOR i IN 1 .. rounds LOOP
        b := damage(good[1 + i % cardinality(good)]);
        EXECUTE format('INSERT INTO c%s VALUES (%L, ''f'', ''v'', %L)', kind.id, i, b);
        CALL try_cell(kind, i, b);
    END LOOP;
    IF NOT kind.key THEN RETURN; END IF;
    FOREACH tab IN ARRAY ARRAY['a', 'd', 'p'] LOOP
        -- alone, descending, in front of another part
        EXECUTE format('CREATE FOREIGN TABLE k%s%s (k %s %s, n text, v text) SERVER widetable OPTIONS (key %L)',
            tab, kind.id, kind.typ, options, CASE tab WHEN 'a' THEN 'k' WHEN 'd' THEN 'k desc' ELSE 'k, n' END);
        FOR j IN 1 .. cardinality(kind.vals) LOOP
            EXECUTE format('SELECT widetable.encode_key(%L, %L::%s %s)', 'k' || tab || kind.id, kind.vals[j], kind.typ,
                CASE tab WHEN 'p' THEN ', ''more''::text' ELSE '' END) INTO b;
            FOR i IN 1 .. rounds / 4 LOOP
                CALL try_key(kind, 'k' || tab || kind.id, damage(b));
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

SELECT format('DO $do$ DECLARE k kinds; BEGIN SELECT * INTO k FROM kinds WHERE id = %s; CALL try_kind(k, %s); END $do$', id, :rounds)
FROM kinds ORDER BY id \gexec

SELECT CASE WHEN bool_and(ok) THEN 'ok' ELSE 'not ok' END || format(' - hostile %ss: %s of %s types, %s decoded', what, count(*), count(DISTINCT id), count(*) FILTER (WHERE state = '00000'))
FROM (SELECT *, state = '00000' OR expected_error(state) AS ok FROM outcome) o GROUP BY what ORDER BY what;
SELECT format('#   %s %s: %s %s (%s)', typ, what, state, min(message), min(bytes::text)) FROM outcome JOIN kinds USING (id)
WHERE state <> '00000' AND NOT expected_error(state) GROUP BY typ, what, state ORDER BY 1 LIMIT 40;
SET client_min_messages = error;
DROP SCHEMA fuzz_cells CASCADE;
