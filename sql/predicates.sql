-- Conditions on cells: which ones the engine tests, and that its answers equal
-- PostgreSQL's.
--
-- The engine skips a row that fails an Engine Filter before a tuple is made.
\set SHOW_CONTEXT never
SET timezone = 'America/New_York';
SET datestyle = 'ISO, YMD';
SET extra_float_digits = 1;

-- another collation than "C"; a server without ICU has one that only its name tells apart
SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'en-x-icu') AS icu \gset
\if :icu
CREATE COLLATION pred_local (provider = icu, locale = 'en');
\else
CREATE COLLATION pred_local (provider = libc, locale = 'C.UTF-8');
\endif

-- ------------------------------------- every type, encoding and operator

-- vals: values in the rows; asked: values in the conditions, also ones that the column cannot hold
CREATE TABLE pred_type (type text, encodings text[], vals text[], asked text[]);
INSERT INTO pred_type VALUES
 ('bool', '{binary,ordered,text}', '{true,false}', '{true,false,NULL::bool}'),
 ('int2', '{binary,ordered,text,decimal,hex}', '{0,1,-1,5,100,-100,32767,-32768}',
  '{0::int2,1::int2,-1,5,100::int8,-32768,32767,32768,-32769,70000::int8,''-9223372036854775808''::int8,9223372036854775807,NULL::int}'),
 ('int2', '{unsigned1,unsigned2,unsigned4,unsigned8}', '{0,1,5,100,127,128,200,255}',
  '{0,1::int2,-1,128,255,256,32768,65536,70000::int8,9223372036854775807,''-9223372036854775808''::int8}'),
 ('int4', '{binary,ordered,text,decimal,hex}', '{0,1,-1,5,100,-100,2147483647,-2147483648}',
  '{0,1::int2,-1,5,2147483647,2147483648,-2147483648,-2147483649,9223372036854775807,NULL::int}'),
 ('int4', '{unsigned1}', '{0,1,5,127,128,255}', '{0,-1,1::int8,127,128::int2,255,256,-2147483648,2147483648}'),
 ('int4', '{unsigned2,unsigned4,unsigned8}', '{0,1,5,127,128,255,40000,65535}',
  '{0,-1,128,40000,65535::int8,65536,2147483647,2147483648,4294967295,4294967296,-5000000000}'),
 ('int8', '{binary,ordered,text,decimal,hex,reverse,counter}', '{0,1,-1,5,-100,5000000000,9223372036854775807,-9223372036854775808}',
  '{0::int8,1::int2,-1,5,5000000000,9223372036854775807,''-9223372036854775808''::int8,NULL::int8}'),
 ('int8', '{unsigned4,unsigned8}', '{0,1,5,128,65536,2147483647,2147483648,4294967295}',
  '{0::int8,-1::int8,1::int2,2147483648,4294967295,4294967296,9223372036854775807,''-9223372036854775808''::int8}'),
 ('float4', '{binary,ordered,text}', '{0,-0.0,1.5,-1.5,0.1,1e-45,-1e-45,3.4e38,NaN,Infinity,-Infinity}',
  '{0::float4,''-0''::float4,1.5::float4,0.1::float4,0.1::float8,1e300::float8,-1e300::float8,1e-50::float8,-1e-50::float8,3.4e38::float8,''NaN''::float8,''NaN''::float4,''Infinity''::float8,''-Infinity''::float4,1e-45::float4}'),
 ('float8', '{binary,ordered,text}', '{0,-0.0,1.5,-1.5,0.1,5e-324,-5e-324,1e300,NaN,Infinity,-Infinity}',
  '{0::float8,''-0''::float8,1.5::float4,0.1::float4,0.1::float8,1e300::float8,5e-324::float8,''NaN''::float8,''NaN''::float4,''Infinity''::float8,''-Infinity''::float4,NULL::float8}'),
 ('numeric', '{ordered,text,decimal}', '{0,1,1.5,1.50,-1.5,100,1e10,-1e-10,NaN}', '{0::numeric,1,1.5,-1.5,100.00,''NaN''::numeric,1e-10,-1e-10,10000000000}'),
 ('text', '{text,bytes,binary,ordered}', '{"",a,ab,abc,abd,b,B,ä,a%,x y}', '{''''::text,''a''::text,''ab''::text,''ac''::text,''ä''::text,''B''::text,''a%''::text,NULL::text}'),
 ('varchar(5)', '{text}', '{"",a,ab,abc,ä}', '{''''::text,''a''::varchar,''ab''::text,''ac''::text}'),
 ('name', '{text}', '{a,ab,abc}', '{''ab''::name,''ab''::text}'),
 ('char(3)', '{text}', '{a,ab,abc}', '{''ab''::char(5)}'),
 ('bytea', '{bytes,binary,ordered}', '{"\\x","\\x00","\\x0001","\\x61","\\xff","\\xff00"}', '{''\\x''::bytea,''\\x00''::bytea,''\\x61''::bytea,''\\xff''::bytea}'),
 ('uuid', '{binary,ordered,text}', '{00000000-0000-0000-0000-000000000001,7f000000-0000-0000-0000-000000000000,ff000000-0000-0000-0000-000000000000}',
  '{''7f000000-0000-0000-0000-000000000000''::uuid,''ff000000-0000-0000-0000-000000000000''::uuid}'),
 ('oid', '{binary,ordered,text}', '{0,1,2147483648,4294967295}', '{0::oid,1::oid,2147483648::oid,4294967295::oid}'),
 ('date', '{binary,ordered,text}', '{1969-12-31,1970-01-01,2024-03-10,infinity,-infinity,5874897-12-31,4713-01-01 BC}',
  '{''1970-01-01''::date,''2024-03-10''::date,''infinity''::date,''-infinity''::date,''2024-03-10 05:00''::timestamp,''2024-03-10''::timestamptz}'),
 ('time', '{binary,ordered,text}', '{00:00,12:30:00.5,23:59:59,24:00}', '{''12:30:00.5''::time,''24:00''::time,''00:00''::time}'),
 ('timestamp', '{binary,ordered,reverse,text}', '{1969-12-31 23:59:59.5,2024-03-10 00:00,2024-03-10 02:30,infinity,-infinity,200000-01-01,294247-01-10 04:00:54.775806,4713-01-01 BC}',
  '{''2024-03-10''::timestamp,''2024-03-10''::date,''2024-03-10 02:30''::timestamptz,''infinity''::timestamp,''-infinity''::date,''5874897-12-31''::date,''294276-12-31''::timestamp,NULL::timestamp}'),
 ('timestamptz', '{binary,ordered,reverse,text}', '{1969-12-31 23:59:59.5Z,2024-03-10 00:00,2024-03-10 03:30,2024-11-03 01:30-04,2024-11-03 01:30-05,infinity,-infinity,200000-01-01,294247-01-10 04:00:54.775806Z,4713-01-01 BC}',
  '{''2024-03-10''::timestamptz,''2024-03-10''::date,''2024-03-10 02:30''::timestamp,''2024-11-03 01:30''::timestamp,''infinity''::timestamptz,''-infinity''::date,''infinity''::timestamp,''5874897-12-31''::date,''294276-12-31''::timestamptz,''294276-12-31''::timestamp,''4714-11-24 BC''::date}'),
 ('inet', '{ordered,text}', '{10.0.0.1,10.0.0.0/8,10.0.0.1/8,::1}', '{''10.0.0.1''::inet,''10.0.0.0/8''::inet,''::1''::inet}'),
 ('jsonb', '{text}', '{"1","{\"a\": 1}"}', '{''1''::jsonb}'),
 ('int4[]', '{text}', '{"{}","{1,2}"}', '{"''{1,2}''::int4[]"}');
CREATE TYPE pred_mood AS ENUM ('sad', 'fine', 'glad');
CREATE DOMAIN pred_small AS int4 CHECK (VALUE < 1000);
INSERT INTO pred_type VALUES
 ('pred_mood', '{text}', '{sad,fine,glad}', '{''fine''::pred_mood,''glad''::pred_mood}'),
 ('pred_small', '{binary,ordered}', '{0,5,-7,999}', '{5,-7,1000,5000000000}');

CREATE TABLE pred_column AS
    SELECT row_number() OVER () AS no, 'c' || row_number() OVER () AS name, type, encoding, vals, asked,
        CASE WHEN type IN ('text', 'varchar(5)') THEN CASE WHEN encoding IN ('bytes', 'ordered') THEN 'COLLATE "C"' ELSE 'COLLATE pred_local' END END AS coll
    FROM pred_type, unnest(encodings) AS encoding;

DO $$
BEGIN
    EXECUTE (SELECT 'CREATE FOREIGN TABLE pred_w (id int, n int, ' ||
             string_agg(format('%I %s OPTIONS (column %L, encoding %L) %s', name, type, CASE WHEN no % 3 = 0 THEN 'e:' ELSE 'd:' END || name, encoding, coll), ', ' ORDER BY no) ||
             $o$) SERVER widetable OPTIONS (key 'id', families '{"d": {}, "e": {}, "f": {}}')$o$ FROM pred_column);
    EXECUTE (SELECT 'CREATE TABLE pred_h (id int, n int, ' || string_agg(format('%I %s %s', name, type, coll), ', ' ORDER BY no) || ')' FROM pred_column);
    -- the value of a row is pseudo-random, the same in each run
    EXECUTE (SELECT 'INSERT INTO pred_h SELECT id, id, ' ||
             string_agg(format('(%L::%s[])[1 + (hashint4(id * 101 + %s) & 65535) %% %s]', vals, CASE WHEN type LIKE '%[]' THEN 'text' ELSE type END, no, cardinality(vals) + 2) ||
                        CASE WHEN type LIKE '%[]' THEN '::' || type ELSE '' END, ', ' ORDER BY no) ||
             ' FROM generate_series(1, 90) id' FROM pred_column);
END $$;
INSERT INTO pred_w SELECT * FROM pred_h WHERE id <= 40;
SELECT widetable.flush();
INSERT INTO pred_w SELECT * FROM pred_h WHERE id > 40;

-- Returns the ids for which a condition is true. pred_wrong() compares with pushdown, without, and the ordinary table.
CREATE FUNCTION pred_ids(rel text, condition text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    ids int[];
BEGIN
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %I WHERE %s', rel, condition) INTO ids;
    RETURN ids;
END $$;
CREATE FUNCTION pred_wrong(condition text, rel text DEFAULT 'pred') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    want int[] := pred_ids(rel || '_h', condition);
    pushed int[] := pred_ids(rel || '_w', condition);
    plain int[];
BEGIN
    -- a sample without pushdown is enough to trust the comparison
    IF pushed IS NOT DISTINCT FROM want AND hashtext(condition) % 4 <> 0 THEN RETURN NULL; END IF;
    PERFORM set_config('widetable.enable_pushdown', 'off', false);
    plain := pred_ids(rel || '_w', condition);
    PERFORM set_config('widetable.enable_pushdown', 'on', false);
    IF pushed IS DISTINCT FROM want THEN RETURN format('PUSHED: %s: %s, not %s', condition, pushed, want); END IF;
    IF plain IS DISTINCT FROM want THEN RETURN format('PLAIN: %s: %s, not %s', condition, plain, want); END IF;
    RETURN NULL;
END $$;
-- Returns what tests the condition: all = the engine alone, part = both, none = PostgreSQL alone
CREATE FUNCTION pred_pushed(condition text, rel text DEFAULT 'pred') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan text;
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM %I_w WHERE %s', rel, condition) LOOP
        plan := concat_ws(E'\n', plan, line);
    END LOOP;
    RETURN CASE WHEN plan !~ 'Engine Filter:' THEN 'none' WHEN plan ~ '\n +Filter:' THEN 'part' ELSE 'all' END;
END $$;

CREATE TABLE pred_case AS
    SELECT no, name, type, encoding, op, a, format('%I %s %s', name, op, a) AS condition
    FROM pred_column, unnest(asked) a, unnest('{=,<>,<,<=,>,>=,IS DISTINCT FROM,IS NOT DISTINCT FROM}'::text[]) op
    WHERE type NOT LIKE 'json%' OR op NOT LIKE '%<%'
    UNION ALL SELECT no, name, type, encoding, op, NULL, format('%I %s', name, op) FROM pred_column, unnest('{IS NULL,IS NOT NULL}'::text[]) op;

CREATE TABLE pred_answer AS SELECT *, pred_wrong(condition) AS wrong, pred_pushed(condition) AS pushed FROM pred_case;
SELECT count(*) > 4000 AS many, count(wrong) AS wrong FROM pred_answer;
SELECT wrong FROM pred_answer WHERE wrong IS NOT NULL LIMIT 10;
-- East of Greenwich the first date begins before the first timestamp.
SET timezone = 'Asia/Kolkata';
SELECT count(pred_wrong(condition)) AS wrong, count(*) > 20 AS some FROM pred_case WHERE type = 'timestamptz' AND a LIKE '%4714%';
SET timezone = 'America/New_York';
-- What is pushed down: each operator, over all types of the constant
SELECT type, encoding, string_agg(op, ' ' ORDER BY op) FILTER (WHERE pushed = '{all}') AS tested_by_the_engine,
       string_agg(op, ' ' ORDER BY op) FILTER (WHERE pushed = '{all,none}') AS depends_on_the_value
FROM (SELECT no, type, encoding, op, array_agg(DISTINCT pushed ORDER BY pushed) AS pushed FROM pred_answer
      WHERE a IS NULL OR a NOT LIKE 'NULL%' GROUP BY no, type, encoding, op) x
GROUP BY no, type, encoding ORDER BY no;

-- Lists as arrays and as IN; operands swapped; ORs over columns and families; random conjunctions.
SELECT count(wrong) AS wrong, count(*) > 300 AS many, string_agg(DISTINCT type || ' ' || encoding, ', ') FILTER (WHERE pushed <> 'all' AND condition NOT LIKE '%NULL%' AND encoding NOT IN ('text', 'decimal', 'hex')) AS not_pushed
FROM (SELECT *, pred_wrong(condition) AS wrong, pred_pushed(condition) AS pushed FROM (
    SELECT type, encoding, format('%I %s (%s)', name, op, list) AS condition
    FROM pred_column, unnest('{IN,NOT IN}'::text[]) op,
         LATERAL (SELECT string_agg(a, ', ') AS list FROM (SELECT a FROM unnest(asked) a WHERE a NOT LIKE 'NULL%' LIMIT 4) x
                  UNION SELECT string_agg(a, ', ') || ', NULL' FROM unnest(asked) a WHERE a NOT LIKE 'NULL%' AND a NOT LIKE '%date'
                  UNION SELECT a FROM unnest(asked) a) y
    WHERE type NOT IN ('name', 'timestamp', 'timestamptz', 'date', 'jsonb', 'int4[]') AND list IS NOT NULL) x OFFSET 0) y;
SELECT count(*) FILTER (WHERE pred_ids('pred_h', a) IS DISTINCT FROM pred_ids('pred_w', a)) AS wrong, count(*) > 400 AS many
FROM (SELECT format('%s %s %I', a, op, name) AS a FROM pred_column, unnest(asked) a, unnest('{=,<,>=}'::text[]) op WHERE type NOT LIKE 'json%') x;
WITH numbered AS (SELECT condition, row_number() OVER (ORDER BY hashtext(condition)) AS n FROM pred_case),
     conditions AS (SELECT format(f, a.condition, b.condition, c.condition) AS condition
                    FROM numbered a JOIN numbered b ON b.n = a.n + 1 JOIN numbered c ON c.n = a.n + 2
                         JOIN (VALUES (0, '%s OR %s'), (1, '%s AND (%s OR %s)'), (2, '%s AND %s'), (3, '(%s OR %s) AND NOT (%s)'), (4, 'NOT (%s OR %s)'), (5, '%s OR (%s AND %s)'), (6, '%s OR %s OR %s')) v (i, f) ON v.i = a.n % 70)
SELECT count(wrong) AS wrong, count(*) FILTER (WHERE pushed = 'all') > 100 AS all_pushed, count(*) FILTER (WHERE pushed = 'part') > 50 AS part
FROM (SELECT *, pred_wrong(condition) AS wrong, pred_pushed(condition) AS pushed FROM conditions OFFSET 0) x;

-- Parameters of a generic plan: the values are unknown at planning time.
SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION pred_generic(name text, op text, asked text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    a text;
    got int[];
    type text;
BEGIN
    FOREACH a IN ARRAY asked LOOP
        EXECUTE format('SELECT pg_typeof(%s)::text', a) INTO type;
        EXECUTE format('PREPARE pred_p (%s) AS SELECT array_agg(id ORDER BY id) FROM pred_w WHERE %I %s $1', type, name, op);
        EXECUTE format('EXECUTE pred_p(%s)', a) INTO got;
        IF got IS DISTINCT FROM pred_ids('pred_h', format('%I %s %s', name, op, a)) THEN
            RETURN NEXT format('%s %s %s: %s', name, op, a, got);
        END IF;
        DEALLOCATE pred_p;
    END LOOP;
END $$;
SELECT g FROM pred_column, unnest('{<>,<=,IS DISTINCT FROM}'::text[]) op, pred_generic(name, op, asked) g WHERE type NOT LIKE 'json%';
RESET plan_cache_mode;

-- ----------------------------------------------------------------- patterns

CREATE FOREIGN TABLE pat_w (id int, a text, b bytea OPTIONS (column 'e:b'), c text OPTIONS (column 'd:c') COLLATE "C", l text OPTIONS (column 'd:l') COLLATE pred_local)
    SERVER widetable OPTIONS (key 'id', families '{"d": {}, "e": {}}');
CREATE TABLE pat_h (id int, a text, b bytea, c text COLLATE "C", l text COLLATE pred_local);
INSERT INTO pat_h SELECT row_number() OVER (), v, convert_to(v, 'UTF8'), v, v FROM unnest(ARRAY['', 'a', 'ab', 'abc', 'ab%', 'ab%c', 'ab_', 'ab\', 'ab\c', 'b', 'B', 'ä', 'äb', 'aä']) v;
INSERT INTO pat_h VALUES (99, NULL, '', NULL, 'ab');
INSERT INTO pat_w SELECT * FROM pat_h;
SELECT c, pred_pushed(c, 'pat'), pred_wrong(c, 'pat') AS wrong, CASE WHEN c !~ '< .b. COLLATE pred|^l > .a.$' THEN cardinality(pred_ids('pat_w', c)) END AS rows FROM unnest(ARRAY[
    $$a LIKE 'ab%'$$, $$a LIKE 'ab%%'$$, $$a LIKE 'ab'$$, $$a LIKE 'ab\%'$$, $$a LIKE 'ab\%%'$$, $$a LIKE 'ab\\%'$$, $$a LIKE 'ab\\\%'$$, $$a LIKE 'ab_'$$, $$a LIKE 'ab_%'$$, $$a LIKE '%b'$$,
    $$a LIKE ''$$, $$a LIKE '%'$$, $$a LIKE 'a%c'$$, $$a LIKE 'ä%'$$, $$a NOT LIKE 'ab%'$$, $$a ILIKE 'B%'$$, $$a LIKE NULL$$, $$a LIKE 'abX%' ESCAPE 'X'$$, $$a ~ '^ab'$$,
    $$a ^@ 'ab'$$, $$a ^@ ''$$, $$starts_with(a, 'ab%')$$, $$starts_with('abc', a)$$, $$a LIKE 'ab%' OR b = 'a'$$, $$a LIKE 'a%c' OR id = 1$$, $$a LIKE 'a%c' OR b IS NULL$$,
    $$b LIKE 'ab%'$$, $$b LIKE 'ab\\%'$$, $$b LIKE '\xc325'::bytea$$, $$a ~>=~ 'ab'$$, $$a ~<~ 'b'$$, $$a < 'b' COLLATE "C"$$, $$a < 'b' COLLATE pred_local$$, $$a = 'b' COLLATE pred_local$$,
    $$c >= 'B'$$, $$c < 'b' COLLATE pred_local$$, $$l > 'a'$$, $$l <> 'a'$$, $$l > 'a' COLLATE "C"$$, $$l LIKE 'ab%'$$, $$a = c$$, $$a || 'x' = 'ax'$$, $$a = 'ab'::varchar$$, $$a = 'ab'::char(4)$$, $$a::char(3) = 'ab'$$,
    $$a IN ('a', 'b') IS TRUE$$, $$coalesce(a, 'a') = 'a'$$]) c;
SET plan_cache_mode = force_generic_plan;
PREPARE pat_like(text) AS SELECT a FROM pat_w WHERE a LIKE $1;
EXPLAIN (COSTS OFF) EXECUTE pat_like('ab%');
EXECUTE pat_like('ab%c');
EXECUTE pat_like('%b');
EXECUTE pat_like(NULL);
PREPARE pat_starts(text) AS SELECT a FROM pat_w WHERE a ^@ $1;
EXPLAIN (COSTS OFF) EXECUTE pat_starts('ab%');
EXECUTE pat_starts('ab%');
RESET plan_cache_mode;

-- --------------------------------------------------------- entries of maps

-- With markers the entry with the empty key is not tested by the engine, see marker.sql.
CREATE FOREIGN TABLE mp_w (id int, a text OPTIONS (column 'm:a'), n int OPTIONS (column 'd:n'), m jsonb OPTIONS (family 'm'), t jsonb OPTIONS (family 'm', prefix 't_'))
    SERVER widetable OPTIONS (key 'id', table_name 'pred_map', marker 'off');
CREATE FOREIGN TABLE mp_raw (id int, x bytea OPTIONS (column 'm:x'), tx bytea OPTIONS (column 'm:t_x'), q bytea OPTIONS (column 'm:\xff'))
    SERVER widetable OPTIONS (key 'id', table_name 'pred_map', marker 'off');
INSERT INTO mp_w VALUES (1, 'a', 1, '{"x": "de", "y": ""}', '{"x": "de"}'), (2, NULL, 2, '{"x": "en"}', NULL), (3, 'b', NULL, NULL, '{"x": "\\xff"}'),
    (4, NULL, 4, NULL, NULL), (5, NULL, NULL, '{"x": "\\xff"}', NULL), (6, 'c', 6, '{"x": "\\x61", "\\y": "z", "": "de"}', '{"": "de", "y": "1"}');
INSERT INTO mp_raw VALUES (7, '\xff', '\xff', NULL), (8, '\x61', '\x00', '\x6465'), (9, '\x6100', NULL, '\x01'), (10, '\x5c786666', NULL, NULL);
CREATE TABLE mp_h AS SELECT * FROM mp_w;
SELECT c, pred_pushed(c, 'mp'), pred_wrong(c, 'mp') AS wrong, pred_ids('mp_w', c) AS ids FROM unnest(ARRAY[
    $$m->>'x' = 'de'$$, $$'de' = m->>'x'$$, $$m->>'x' <> 'de'$$, $$m->>'x' = '\xff'$$, $$m->>'x' <> '\xff'$$, $$m->>'x' = '\x61'$$, $$m->>'x' = 'a'$$, $$m->>'x' = '\x6100'$$, $$m->>'x' IN ('de', '\xff')$$, $$m->>'x' NOT IN ('de', '\xff')$$,
    $$m->>'x' IS NULL$$, $$m->>'x' IS NOT NULL$$, $$m->>'x' IS DISTINCT FROM 'de'$$, $$m->>'x' IS NOT DISTINCT FROM 'de'$$, $$m->>'y' = ''$$, $$m->>'' = 'de'$$, $$m ? 'x'$$, $$NOT m ? 'x'$$, $$m ? 't_x'$$, $$m ? 'a'$$,
    $$m->>'a' IS NULL$$, $$m->>'a' = 'a'$$, $$m->>'t_x' = 'de'$$, $$m->>'t_x' IS NULL$$, $$t->>'x' = 'de'$$, $$t->>'x' = '\xff'$$, $$t->>'' = 'de'$$, $$t ? 'y'$$, $$t->>'y' IS NULL$$, $$m->>'\xff' = 'de'$$, $$m ? '\xff'$$, $$m->>'\y' = 'z'$$,
    $$m->>'x' < 'e' COLLATE "C"$$, $$m->>'x' LIKE 'd%'$$, $$m->>'x' = NULL$$, $$m->>'x' = a$$, $$m->>a = 'de'$$, $$m IS NULL$$, $$m->'x' = '"de"'$$, $$m->>'x' = 'de' OR t->>'x' = '\xff' OR n = 4$$, $$t->>'x' = 'de' AND n = 1 AND a = 'a'$$,
    $$(m->>'x')::text COLLATE "C" = 'en'$$, $$m->>0 = 'de'$$, $$m ?| '{x,y}'$$]) c;
EXPLAIN (COSTS OFF) SELECT n FROM mp_w WHERE m->>'x' = 'de' AND t ? 'x';
SET plan_cache_mode = force_generic_plan;
PREPARE mp_p(text, text[]) AS SELECT id FROM mp_w WHERE m->>'x' = $1 OR t->>'x' = ANY ($2) ORDER BY id;
EXECUTE mp_p('de', '{}');
EXECUTE mp_p('\xff', NULL);
EXECUTE mp_p(NULL, '{de,NULL,"\\xff"}');
PREPARE mp_k(text) AS SELECT id FROM mp_w WHERE m->>$1 = 'de';
EXPLAIN (COSTS OFF) EXECUTE mp_k('x');
EXECUTE mp_k('x');
RESET plan_cache_mode;

-- ------------------------------------------------------------------ EXPLAIN

CREATE FOREIGN TABLE ef (k text COLLATE "C", v int, w text OPTIONS (column 'e:w'), at timestamptz, ok bool OPTIONS (column 'e:ok'), vt timestamptz OPTIONS (timestamp_of 'd:v'), m jsonb OPTIONS (family 'm'))
    SERVER widetable OPTIONS (key 'k', families '{"d": {}, "e": {}, "m": {}}');
INSERT INTO ef SELECT 'k' || i, CASE WHEN i % 3 > 0 THEN i END, 'w' || i % 5, '2024-01-01Z'::timestamptz + i * interval '1 day', i % 2 = 0 FROM generate_series(1, 30) i;
-- A column used only by the engine's filter is not returned as a value.
EXPLAIN (COSTS OFF) SELECT k FROM ef WHERE v = 5;
EXPLAIN (COSTS OFF) SELECT k, v FROM ef WHERE v BETWEEN 5 AND 8 AND w <> 'w1' AND length(w) = 2;
EXPLAIN (COSTS OFF) SELECT k FROM ef WHERE v = 5 OR w = 'w3' OR ok IS NOT TRUE;
EXPLAIN (COSTS OFF) SELECT w FROM ef WHERE v IS NULL;
EXPLAIN (COSTS OFF) SELECT k FROM ef WHERE ok AND NOT ok;
EXPLAIN (COSTS OFF, VERBOSE) SELECT k FROM ef WHERE at > now() - interval '1 day' AND k > 'k2';
EXPLAIN (COSTS OFF) SELECT k FROM ef WHERE vt IS NOT NULL AND vt > '2024-01-01';
EXPLAIN (COSTS OFF) SELECT k FROM ef WHERE v = 5 AND random() < 2 AND v + 1 = 6;
SELECT k, v FROM ef WHERE v = (SELECT max(v) FROM ef WHERE ok);
-- An OR arm that might fail is not evaluated before it is needed.
SET plan_cache_mode = force_generic_plan;
PREPARE ef_fail(int) AS SELECT k FROM ef WHERE v IS NULL OR v IS NOT NULL OR v = 1 / $1;
EXPLAIN (COSTS OFF) EXECUTE ef_fail(0);
EXECUTE ef_fail(0) \g /dev/null
RESET plan_cache_mode;
SET widetable.enable_pushdown = off;
EXPLAIN (COSTS OFF) SELECT k FROM ef WHERE v = 5;
RESET widetable.enable_pushdown;
CREATE FUNCTION pred_analyze(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Engine Filter|Cells|Foreign Scan' THEN RETURN NEXT regexp_replace(line, '\.00 loops', ' loops'); END IF;
    END LOOP;
END $$;
-- For rows that fail, no other family is read.
SELECT pred_analyze($$SELECT w, ok FROM ef WHERE v = 5$$);
SELECT pred_analyze($$SELECT k FROM ef WHERE v = NULL::int$$);
SELECT k, vt IS NULL FROM ef WHERE v = 5;

-- Rows that have only the tested cell, and rows without it.
INSERT INTO ef (k, v) VALUES ('only v', 7);
INSERT INTO ef (k, m) VALUES ('only m', '{"a": "b"}');
SELECT k FROM ef WHERE v = 7 ORDER BY k;
SELECT k FROM ef WHERE v IS NULL AND w IS NULL;
SELECT k FROM ef WHERE v IS DISTINCT FROM 7 AND at IS NULL;
SELECT count(*) FROM ef WHERE v <> 7 OR w IS NULL;

-- With existence 'projected' a tested family counts as a family that is read.
CREATE FOREIGN TABLE ep (k text COLLATE "C", a int OPTIONS (column 'a:a'), b int OPTIONS (column 'b:b'), c int OPTIONS (column 'b:c'))
    SERVER widetable OPTIONS (key 'k', families '{"a": {}, "b": {}}', existence 'projected');
INSERT INTO ep VALUES ('both', 1, 1, 1), ('a', 1, NULL, NULL), ('b', NULL, 1, 1), ('c', NULL, NULL, 1);
SELECT k, a FROM ep WHERE b IS NULL;
SELECT k FROM ep WHERE b = 1;
SELECT k, a FROM ep WHERE b IS NOT DISTINCT FROM 1;
SELECT k FROM ep WHERE b IS NULL;
SET widetable.enable_pushdown = off;
SELECT k FROM ep WHERE b IS NULL;
SELECT k, a FROM ep WHERE b IS NULL;
SELECT k FROM ep WHERE b = 1;
SELECT k, a FROM ep WHERE b IS NOT DISTINCT FROM 1;
RESET widetable.enable_pushdown;

-- The transaction's own writes, writes of the same command, as_of.
BEGIN;
UPDATE ef SET v = 1000 WHERE k = 'k1';
SELECT k, v FROM ef WHERE v > 900;
DELETE FROM ef WHERE v = 1000;
SELECT k, v FROM ef WHERE v > 900;
UPDATE ef SET v = v + 1 WHERE v BETWEEN 5 AND 8 RETURNING k, v;
SELECT k, v FROM ef WHERE v BETWEEN 5 AND 9 ORDER BY v, k;
ROLLBACK;
CREATE FOREIGN TABLE ea (k text COLLATE "C", v int) SERVER widetable OPTIONS (key 'k', families '{"d": {"versions": 5}}');
SELECT widetable.put('ea', 'x'::text, 'd:v', 1, 1000), widetable.put('ea', 'x'::text, 'd:v', 2, 2000);
SET widetable.as_of = '1970-01-01 00:00:00.0015Z';
SELECT * FROM ea WHERE v = 1;
SELECT * FROM ea WHERE v = 2;
RESET widetable.as_of;
SELECT * FROM ea WHERE v = 1;
SELECT * FROM ea WHERE v = 2;

-- Values that change from one scan to the next.
SELECT o.i, (SELECT count(*) FROM ef WHERE v > o.i AND w = 'w' || o.i % 5) AS n FROM generate_series(0, 30, 10) o(i);
SELECT o.i, q.k FROM (VALUES (4), (5), (NULL), (4)) o(i), LATERAL (SELECT k FROM ef WHERE v = o.i OFFSET 0) q;

-- not pushed into lookups: the filter would be opened again and again
EXPLAIN (COSTS OFF) SELECT (SELECT count(*) FROM ef WHERE k = 'k' || o.i AND v > o.i AND w <> 'x') FROM generate_series(0, 30, 10) o(i);

-- FOR UPDATE and UPDATE recheck the newest version of a row.
EXPLAIN (COSTS OFF) UPDATE ef SET w = 'x' WHERE v = 5;
EXPLAIN (COSTS OFF) SELECT k FROM ef WHERE v = 5 FOR UPDATE;
SELECT k, v FROM ef WHERE v = 5 AND w = 'w0' FOR UPDATE;
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE ef SET w = 'x' WHERE v IN (4, 5) AND ok IS NOT NULL RETURNING k, w;
SELECT k FROM ef WHERE w = 'x' ORDER BY k FOR UPDATE;
ROLLBACK;

-- ------------------------------------------------------ bytes of other widths

CREATE FOREIGN TABLE raw (k text COLLATE "C", a bytea, b bytea, u bytea, n int) SERVER widetable OPTIONS (key 'k', table_name 'pred_raw');
CREATE FOREIGN TABLE typed (k text COLLATE "C", a int, b int8, u int8 OPTIONS (column 'd:u', encoding 'unsigned4'), n int) SERVER widetable OPTIONS (key 'k', table_name 'pred_raw');
INSERT INTO raw VALUES ('bad a', '\x0001', '\x0000000000000001', '\x00000001', 1), ('bad u', '\x00000005', '\x0000000000000001', '\x01', 2);
INSERT INTO typed VALUES ('good', 5, 1, 1, 3);
-- the same error as reading the column
SELECT count(*) FROM typed WHERE a = 5;
SELECT count(*) FROM typed WHERE u > 0;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SET widetable.enable_pushdown = off;
SELECT count(*) FROM typed WHERE a = 5;
RESET widetable.enable_pushdown;
UPDATE typed SET n = 0 WHERE a = 5;
-- other conditions exclude the bad cells
SELECT k FROM typed WHERE a = 5 AND k > 'bad b';
SELECT k FROM typed WHERE a = 5 AND n > 1;
SELECT k FROM typed WHERE (a = 6 OR n = 1) AND k = 'bad a';
SELECT k FROM typed WHERE a IS NOT NULL ORDER BY k;
-- every byte but 00 is true
CREATE FOREIGN TABLE bools (k text COLLATE "C", a bool) SERVER widetable OPTIONS (key 'k', table_name 'pred_bools');
CREATE FOREIGN TABLE bools_raw (k text COLLATE "C", a bytea) SERVER widetable OPTIONS (key 'k', table_name 'pred_bools');
INSERT INTO bools_raw VALUES ('00', '\x00'), ('01', '\x01'), ('ff', '\xff');
SELECT k FROM bools WHERE a;
SELECT k FROM bools WHERE NOT a;
SELECT k FROM bools WHERE a >= false AND a < true;
SELECT k FROM bools WHERE a IS DISTINCT FROM true;

DROP FOREIGN TABLE pred_w, pat_w, mp_w, mp_raw, ef, ep, ea, raw, typed, bools, bools_raw;

-- A scan that restarts for each row of a join, while the statement changes
-- rows: its conditions are evaluated again with the same values.
CREATE FOREIGN TABLE ef_join (k int, n int) SERVER widetable;
CREATE FOREIGN TABLE ef_inner (k int, a int, b text, v int) SERVER widetable OPTIONS (key 'k, a');
INSERT INTO ef_join SELECT i, i % 10 FROM generate_series(1, 40) i;
INSERT INTO ef_inner SELECT i % 10, i, 'b' || i, i % 7 FROM generate_series(1, 60) i;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
BEGIN;
UPDATE ef_join x SET n = 9 FROM ef_inner y WHERE x.n = y.k AND y.v BETWEEN 2 AND 5 AND y.b IN ('b2', 'b11', 'b23', 'b37');
SELECT count(*) FILTER (WHERE n = 9) AS nine, count(*) FROM ef_join;
ROLLBACK;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material;
DROP FOREIGN TABLE ef_join, ef_inner;
