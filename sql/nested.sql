--
-- Arrays, composites, ranges and multiranges: what is stored, what reads it, and that reading runs
-- no code of a user.
--
SET client_min_messages = warning;

-- -------------------------------------------------------------------- bytes

CREATE TYPE nest_pair AS (a int, b text);
CREATE DOMAIN nest_small AS int;
CREATE TYPE nest_mood AS ENUM ('sad', 'ok', 'happy');
CREATE FOREIGN TABLE nest_bytes (
    k int, i4 int[], i4_null int[], i4_square int[], i4_from int[], i4_none int[], t text[], by bytea[], mood nest_mood[], num numeric[],
    pair nest_pair, pairs nest_pair[], r int4range, r_open numrange, r_none int4range, m int4multirange, m_none nummultirange,
    old int[] OPTIONS (encoding 'text'))
SERVER widetable;
INSERT INTO nest_bytes VALUES (1, '{1,2}', '{1,NULL,3}', '{{1,2},{3,4}}', '[0:1]={5,6}', '{}', '{a,NULL,""}', '{"\\x00ff"}', '{ok,sad}', '{1.50}',
    '(1,x)', '{"(1,x)","(,)"}', '[1,5)', '[1.5,)', 'empty', '{[1,3),[5,)}', '{}', '{1,2}');
SELECT qualifier, value FROM widetable.cells('nest_bytes', 1);
\x on
SELECT * FROM nest_bytes;
\x off
SELECT array_dims(i4_from) FROM nest_bytes;
SELECT widetable.get('nest_bytes', 1) -> 'd' = to_jsonb(n) - 'k' AS as_to_jsonb FROM nest_bytes n;

-- Keys cannot be nested, and only nested types have the encoding.
CREATE FOREIGN TABLE nest_bad (k int[], v int) SERVER widetable;
CREATE FOREIGN TABLE nest_bad (k int, v int OPTIONS (encoding 'nested')) SERVER widetable;
CREATE FOREIGN TABLE nest_bad (k int, v int[] OPTIONS (encoding 'binary')) SERVER widetable;

-- ---------------------------------------------------------------- round trips

-- As many types as possible: each is stored beside an ordinary column, in both encodings.
CREATE DOMAIN nest_ints AS int[];
CREATE DOMAIN nest_dpair AS nest_pair;
CREATE TYPE nest_deep AS (n int, l nest_pair[], d nest_ints, i nest_dpair, r int4range, m nest_mood, ts timestamptz, dead int, u uuid);
ALTER TYPE nest_deep DROP ATTRIBUTE dead;
CREATE TYPE nest_srange AS RANGE (subtype = nest_small);
CREATE TYPE nest_trange AS RANGE (subtype = text, collation = "C");
CREATE TYPE nest_prange AS RANGE (subtype = nest_pair, multirange_type_name = nest_pmulti);
CREATE TYPE nest_none AS ();
CREATE TABLE nest_row (a int, b text);
CREATE TABLE nest_types (typ text, vals text[]);
INSERT INTO nest_types VALUES
    ('int[]', '{"{}","{1}","{NULL}","{1,NULL,-3}","{{1,2,3},{4,5,6}}","{{{{{{1}}}}}}","[5:6]={1,2}","[-3:-2][0:1]={{1,NULL},{3,4}}"}'),
    ('smallint[]', '{"{1,-32768,NULL}"}'), ('bigint[]', '{"{1,-9223372036854775808,NULL}"}'), ('oid[]', '{"{1,4294967295}"}'),
    ('bool[]', '{"{t,f,NULL}","{t}"}'), ('float4[]', '{"{1.5,NaN,-Infinity,-0,1e-30}"}'), ('float8[]', '{"{1.5,NaN,Infinity,-0,0.1}"}'),
    ('date[]', '{"{2024-02-29,infinity,-infinity,0044-03-15 BC}"}'), ('time[]', '{"{12:34:56.789,24:00}"}'),
    ('timestamp[]', '{"{2024-02-29 12:00:00.000001,infinity}"}'), ('timestamptz[]', '{"{2024-02-29 12:00:00+02,-infinity,NULL}"}'),
    ('uuid[]', '{"{00112233-4455-6677-8899-aabbccddeeff,NULL,a0000000-0000-0000-0000-000000000001}"}'),
    ('text[]', E'{"{}","{a,NULL,\\"NULL\\",\\"\\",\\" a \\",\\"{,}\\",\\"\\\\\\"\\",\\"\\\\\\\\\\"}","{{a},{b}}"}'),
    ('varchar(3)[]', '{"{abc,NULL}"}'), ('char(3)[]', '{"{ab,NULL}"}'), ('name[]', '{"{abc}"}'), ('bytea[]', '{"{\"\\\\x\",\"\\\\x00ff\",NULL}"}'),
    ('numeric[]', '{"{1.50,NaN,-Infinity,1e100,NULL}"}'), ('numeric(6,2)[]', '{"{1.5,-2}"}'), ('interval[]', '{"{1 mon 2 days -03:00:00}"}'),
    ('inet[]', '{"{10.0.0.1/8,::1}"}'), ('jsonb[]', '{"{\"{\\\"a\\\": [1, null]}\",null}"}'), ('box[]', '{"{(1,1),(0,0);(2,2),(1,1)}"}'),
    ('nest_mood[]', '{"{ok,NULL,sad}"}'), ('int2vector', '{"1 2 3",""}'), ('oidvector', '{"1 2"}'), ('int2vector[]', '{"{\"1 2\",\"3\"}"}'),
    ('nest_small[]', '{"{1,NULL}"}'), ('nest_ints', '{"{1,2}"}'), ('nest_ints[]', '{"{\"{1,2}\",NULL,\"{}\"}"}'),
    ('nest_pair', E'{"(1,x)","(,)","(1,)","(,\\"\\")","(1,\\" a,b \\")","(1,\\"(x)\\")","(1,\\"a\\"\\"b\\\\\\\\c\\")"}'),
    ('nest_dpair', '{"(1,x)"}'), ('nest_none', '{"()"}'), ('nest_pair[]', '{"{\"(1,x)\",NULL,\"(,)\"}"}'),
    ('nest_deep', E'{"(1,\\"{\\"\\"(1,x)\\"\\",\\"\\"(2,\\\\\\\\\\"\\"{,}\\\\\\\\\\"\\")\\"\\"}\\",\\"{1,NULL}\\",\\"(3,z)\\",\\"[1,5)\\",happy,\\"2024-01-01 00:00:00+00\\",00112233-4455-6677-8899-aabbccddeeff)","(,,,,,,,)"}'),
    ('int4range', '{"[1,5)","[1,5]","(,5)","[1,)","(,)",empty,"[1,1]"}'), ('int8range', '{"[1,5)"}'), ('daterange', '{"[2024-01-01,infinity]","[-infinity,)"}'),
    ('numrange', '{"[1.50,2.5]","(1,2)","(,2]",empty}'), ('tsrange', E'{"[\\"2024-01-01 00:00:00\\",)"}'), ('tstzrange', E'{"(\\"2024-01-01 00:00:00+02\\",infinity]"}'),
    ('nest_srange', '{"[1,5)"}'), ('nest_trange', E'{"[a,b)","[\\"\\",\\"a,b\\"]","[\\"\\"\\"\\",\\"\\\\\\\\\\"]"}'), ('nest_prange', E'{"[\\"(1,a)\\",\\"(1,b)\\"]"}'),
    ('int4range[]', '{"{\"[1,5)\",NULL,empty}"}'), ('nest_trange[]', '{"{\"[a,\\\"b,c\\\")\"}"}'),
    ('int4multirange', '{"{}","{[1,5)}","{[1,3),[5,)}","{(,)}"}'), ('datemultirange', '{"{[2024-01-01,2024-02-01),[2024-03-01,)}"}'),
    ('nest_tmultirange', E'{"{[a,\\"b,c\\"),[d,)}"}'), ('nest_pmulti', E'{"{[\\"(1,a)\\",\\"(1,b)\\"],[\\"(2,a)\\",)}"}'), ('int4multirange[]', '{"{\"{[1,5)}\",\"{}\"}"}'),
    ('nest_row', '{"(1,x)","(,)"}');
CREATE FUNCTION nest_round_trip(typ text, val text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; bytes bytea; again bytea;
BEGIN
    EXECUTE format('DELETE FROM nest_rt; INSERT INTO nest_rt VALUES (1, %1$L::%2$s, %1$L::%2$s)', val, typ);
    FOR r IN EXECUTE format('SELECT v::text = e.e::text AND t::text = e.e::text AND pg_column_size(v) = pg_column_size(e.e) AND pg_column_size(t) = pg_column_size(e.e) AS same,
            v, t, e.e FROM nest_rt, (SELECT %L::%s) e(e)', val, typ) LOOP
        IF NOT r.same THEN RETURN format('%s: %s | %s | %s', val, r.e, r.v, r.t); END IF;
        -- the bytes of the value that was read are those of the value that was written
        SELECT value INTO bytes FROM widetable.cells('nest_rt', 1) WHERE qualifier = 'v';
        UPDATE nest_rt SET v = t;
        SELECT value INTO again FROM widetable.cells('nest_rt', 1) WHERE qualifier = 'v';
        IF bytes <> again THEN RETURN format('%s: %s | %s', val, bytes, again); END IF;
        -- as bytes, which are checked
        PERFORM widetable.put('nest_rt', 1, 'v', bytes);
        RETURN NULL;
    END LOOP;
    RETURN format('%s: no row', val);
END $$;
CREATE FUNCTION nest_all() RETURNS TABLE (typ text, wrong text) LANGUAGE plpgsql AS $$
DECLARE t nest_types; val text;
BEGIN
    FOR t IN SELECT * FROM nest_types LOOP
        EXECUTE format('CREATE FOREIGN TABLE nest_rt (k int, v %1$s, t %1$s OPTIONS (encoding ''text'')) SERVER widetable', t.typ);
        FOREACH val IN ARRAY t.vals LOOP
            typ := t.typ; wrong := nest_round_trip(t.typ, val);
            IF wrong IS NOT NULL THEN RETURN NEXT; END IF;
        END LOOP;
        EXECUTE 'DROP FOREIGN TABLE nest_rt';
    END LOOP;
END $$;
SELECT count(*) AS types, sum(cardinality(vals)) AS values FROM nest_types;
SELECT * FROM nest_all();

-- Toasted and expanded values, and one of many elements.
CREATE TABLE nest_big (k int, l int[], p nest_pair, x text[]);
ALTER TABLE nest_big ALTER l SET STORAGE EXTERNAL, ALTER x SET STORAGE EXTENDED;
INSERT INTO nest_big SELECT 1, array_agg(i), ROW(1, string_agg(i::text, ' '))::nest_pair, array_agg(repeat('x', 100)) FROM generate_series(1, 100000) i;
CREATE FOREIGN TABLE nest_toast (k int, l int[], p nest_pair, x text[]) SERVER widetable;
INSERT INTO nest_toast SELECT * FROM nest_big;
SELECT t.l = b.l AS l, t.p = b.p AS p, t.x = b.x AS x FROM nest_toast t, nest_big b;
DO $$ DECLARE a int[] := '{1}'; p nest_pair; BEGIN a[3] := 3; p.b := 'y'; INSERT INTO nest_toast VALUES (2, a, p); END $$;
SELECT l, p FROM nest_toast WHERE k = 2;
DROP TABLE nest_big;
DROP FOREIGN TABLE nest_toast;

-- ------------------------------------------------- values in the text form

-- Cells written before there was this encoding, or by hand.
CREATE FOREIGN TABLE nest_v (k int, l int[], t text[], p nest_pair, ps nest_pair[], r int4range, m int4multirange, n numeric[], b box[], d nest_deep) SERVER widetable;
CREATE FOREIGN TABLE nest_c (k int, family text, qualifier text, value text) SERVER widetable OPTIONS (layout 'cells', table_name 'public.nest_v');
INSERT INTO nest_c VALUES (1, 'd', 'l', '{1,NULL,3}'), (1, 'd', 't', '{a,"b\"c",NULL,"NULL",d\ e}'), (1, 'd', 'p', '(1,"x ""y"" \\")'),
    (1, 'd', 'ps', '{"(1,\"a,b\")","(,)"}'), (1, 'd', 'r', '[1,4]'), (1, 'd', 'm', '{[1,2],[3,4],empty,[9,)}'), (1, 'd', 'n', '{1.50,NaN}'),
    (1, 'd', 'b', '{(1,1),(0,0);(2,2),(1,1)}'), (1, 'd', 'd', '(1,"{""(1,x)""}",{7},"(2,y)",empty,sad,,)'),
    (2, 'd', 'l', E' [0:1] = \n{ "1" , +2 } '), (2, 'd', 't', '{{ a , b c },{null,"" }} '), (2, 'd', 'p', ' ( 1 , a ) '), (2, 'd', 'r', ' EMPTY '), (2, 'd', 'm', ' { } ');
SELECT * FROM nest_v;
-- fewer fields than attributes: these were added later
INSERT INTO nest_c VALUES (3, 'd', 'p', '(7)'), (3, 'd', 'd', '(1)');
SELECT p, d FROM nest_v WHERE k = 3;

-- Values are compared, not bytes.
SELECT widetable.check_and_mutate('nest_v', 1, 'l', '=', '{1,NULL,3}'::int[], '[]') AS l, widetable.check_and_mutate('nest_v', 1, 'd:l', '=', '{1,NULL,3}', '[]') AS text,
    widetable.check_and_mutate('nest_v', 1, 'r', '=', '[1,5)'::int4range, '[]') AS r, widetable.check_and_mutate('nest_v', 1, 'p', '<>', '(1,x)'::nest_pair, '[]') AS p;
SELECT count(*) FROM nest_v WHERE l = '{1,NULL,3}' AND r = '[1,5)' AND p = ROW(1, 'x "y" \')::nest_pair;
SELECT widetable.put('nest_v', 4, 'd:other', '{1,2}'::int[]), widetable.put('nest_v', 4, 'd:bare', '{1,2}');
SELECT widetable.check_and_mutate('nest_v', 4, 'd:other', '=', '{1,2}'::int[], '[]') AS other, widetable.check_and_mutate('nest_v', 4, 'd:bare', '=', '{1,2}'::int[], '[]') AS bare,
    widetable.check_and_mutate('nest_v', 4, 'd:other', '<', '{1,3}'::int[], '[]') AS less;
SELECT widetable.append('nest_v', 4, 'l', '{1}');

-- Text that is none of the type.
CREATE FUNCTION nest_read(col text, val text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
    DELETE FROM nest_v WHERE k = 9;
    INSERT INTO nest_c VALUES (9, 'd', col, val);
    EXECUTE format('SELECT %I FROM nest_v WHERE k = 9', col) INTO s;
    RETURN s;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT l AS text, nest_read('l', l) FROM unnest(ARRAY['', '{', '{1', '{1,', '{1,}', '{,1}', '{}}', '{1}x', '{{1},2}', '{1,{2}}', '{{1},{2,3}}', '{{}}', '{a}', '{"1}', '{"1"2}', '{1"2"}',
    '{99999999999}', '[1]={1,2}', '[2:1]={}', '[1:2]', '[1:2]={1}', '[1:2]={{1},{2}}', '[1:1][1:1]={1}', '[2147483647]={1}', '[2147483647:2147483647]={1}', '[x]={1}', '{{{{{{{1}}}}}}}', '1', '{\', '(1)']) l;
SELECT p AS text, nest_read('p', p) FROM unnest(ARRAY['', '(', '(1', '(1,', '(1,x', '(1,x,y)', '(1,x))', '(x,1)', '(1,"x)', '(1,x\', '1,x', '{}', '()']) p;
SELECT r AS text, nest_read('r', r) FROM unnest(ARRAY['', '[', '[1', '[1,', '[1,2', '[1,2]x', '[2,1]', '[1,2,3]', '(1)', 'empt', 'emptyx', '[a,b]', '["1,2]', '[1,2147483647]', '["",1]', '{[1,2)}']) r;
SELECT m AS text, nest_read('m', m) FROM unnest(ARRAY['', '{', '{[1,2)', '{[1,2),}', '{[1,2)}}', '{[2,1)}', '[1,2)', '{,}']) m;
SELECT nest_read('l', '[1:2147483647]={1}');

-- -------------------------------------------------------- types that change

INSERT INTO nest_v (k, p, ps) VALUES (5, '(1,x)', '{"(2,y)",NULL}');
ALTER TYPE nest_pair ADD ATTRIBUTE c numeric;
INSERT INTO nest_v (k, p) VALUES (6, '(3,z,1.5)');
SELECT k, p, ps FROM nest_v WHERE k IN (1, 5, 6);
ALTER TYPE nest_pair DROP ATTRIBUTE a;
SELECT k, p, ps FROM nest_v WHERE k IN (5, 6);
ALTER TYPE nest_pair ADD ATTRIBUTE a int;
SELECT k, p, ps FROM nest_v WHERE k IN (5, 6);
DELETE FROM nest_v WHERE k < 5;
-- another type of what is inside: its text is converted, or does not fit
ALTER FOREIGN TABLE nest_v ALTER l TYPE bigint[], ALTER n TYPE float8[];
INSERT INTO nest_v (k, l, n, t) VALUES (7, '{1,-2,NULL}', '{1.5,NULL}', '{2024-01-01,b}');
SELECT l, n, t FROM nest_v WHERE k = 7;
ALTER FOREIGN TABLE nest_v ALTER l TYPE text[], ALTER n TYPE numeric(5,2)[], ALTER r TYPE int8range;
SELECT l, n, r FROM nest_v WHERE k = 7;
ALTER FOREIGN TABLE nest_v ALTER l TYPE smallint[], ALTER t TYPE date[], ALTER n TYPE bytea[];
SELECT l FROM nest_v WHERE k = 7;
SELECT t FROM nest_v WHERE k = 7;
SELECT n FROM nest_v WHERE k = 7;
-- refused: not as text, and not as something without an inside
ALTER FOREIGN TABLE nest_v ALTER l TYPE text;
ALTER FOREIGN TABLE nest_v ALTER l TYPE int;
-- another kind
ALTER FOREIGN TABLE nest_v ALTER l TYPE nest_pair, ALTER t TYPE text[];
SELECT l FROM nest_v WHERE k = 7;
-- the option decides what is written; either form is read
CREATE FOREIGN TABLE nest_a (k int, v int[]) SERVER widetable;
INSERT INTO nest_a VALUES (1, '{1,2}');
ALTER FOREIGN TABLE nest_a ALTER v OPTIONS (encoding 'text');
INSERT INTO nest_a VALUES (2, '{1,2}');
SELECT k, v, value FROM nest_a, widetable.cells('nest_a', k);
ALTER FOREIGN TABLE nest_a ALTER v OPTIONS (SET encoding 'nested');
SELECT k, v, value FROM nest_a, widetable.cells('nest_a', k);
DROP FOREIGN TABLE nest_a, nest_v, nest_c, nest_bytes;

-- ------------------------------------------------------ nothing runs on read

-- The owner of types and tables; whoever reads them is somebody else.
CREATE ROLE regress_wt_nest;
CREATE SCHEMA nest AUTHORIZATION regress_wt_nest;
SET ROLE regress_wt_nest;
CREATE TABLE nest.log (who text, what text);
CREATE FUNCTION nest.ok(v int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN INSERT INTO nest.log VALUES (current_user, coalesce(v::text, 'NULL')); RETURN coalesce(v < 100, true); END $$;
GRANT ALL ON nest.log TO PUBLIC;
CREATE DOMAIN nest.d AS int CHECK (nest.ok(VALUE));
CREATE DOMAIN nest.dd AS nest.d CHECK (nest.ok(VALUE + 1));
CREATE DOMAIN nest.dt AS varchar(5) CHECK (nest.ok(length(VALUE)));
CREATE TYPE nest.c AS (a nest.d, b nest.dt);
CREATE DOMAIN nest.dc AS nest.c CHECK (nest.ok((VALUE).a));
CREATE DOMAIN nest.dl AS nest.d[] CHECK (nest.ok(cardinality(VALUE)));
CREATE TYPE nest.cc AS (c nest.c, dc nest.dc, l nest.dd[], dl nest.dl);
CREATE TYPE nest.r AS RANGE (subtype = nest.d, multirange_type_name = nest.m);
CREATE TYPE nest.mood AS ENUM ('sad', 'ok');
CREATE FUNCTION nest.json(nest.mood) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM nest.ok(0); RETURN '1'; END $$;
CREATE FUNCTION nest.json(nest.r) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM nest.ok(0); RETURN '1'; END $$;
CREATE FUNCTION nest.mood(int) RETURNS nest.mood LANGUAGE plpgsql AS $$ BEGIN PERFORM nest.ok(0); RETURN 'ok'; END $$;
CREATE CAST (nest.mood AS json) WITH FUNCTION nest.json(nest.mood);
CREATE CAST (nest.r AS json) WITH FUNCTION nest.json(nest.r);
CREATE CAST (int AS nest.mood) WITH FUNCTION nest.mood(int) AS IMPLICIT;
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_nest;
SET ROLE regress_wt_nest;
CREATE FOREIGN TABLE nest.t (k int, s nest.d, l nest.d[], c nest.c, dc nest.dc, dl nest.dl, dls nest.dl[], cc nest.cc, ccs nest.cc[], r nest.r, rs nest.r[], m nest.m,
    mood nest.mood, moods nest.mood[], n int) SERVER widetable OPTIONS (families '{"d": {"versions": 5}}');
CREATE FOREIGN TABLE nest.o (k int, s nest.d, l nest.d[] OPTIONS (encoding 'text'), c nest.c OPTIONS (encoding 'text'), dc nest.dc OPTIONS (encoding 'text'), dl nest.dl OPTIONS (encoding 'text'),
    dls nest.dl[] OPTIONS (encoding 'text'), cc nest.cc OPTIONS (encoding 'text'), ccs nest.cc[] OPTIONS (encoding 'text'), r nest.r OPTIONS (encoding 'text'), rs nest.r[] OPTIONS (encoding 'text'),
    m nest.m OPTIONS (encoding 'text'), mood nest.mood, moods nest.mood[] OPTIONS (encoding 'text'), n int) SERVER widetable;
INSERT INTO nest.t VALUES (1, 1, '{2,NULL}', '(3,x)', '(4,y)', '{5}', '{"{6}",NULL}', '("(7,z)","(8,)",{9},{10})', '{"(,,,)","(\"(11,a)\",,,)"}', '[12,13)', '{"[14,15)"}', '{[16,17),[18,)}',
    'ok', '{sad,ok}', 1);
INSERT INTO nest.o SELECT * FROM nest.t;
CREATE FOREIGN TABLE nest.cells (k int, family text, qualifier text, ts bigint, value nest.d[]) SERVER widetable OPTIONS (layout 'cells', table_name 'nest.o');
CREATE FOREIGN TABLE nest.e (k nest.mood, v int) SERVER widetable;
INSERT INTO nest.e VALUES ('ok', 1);
RESET ROLE;
SELECT count(*) > 20 AS checks_ran_on_write FROM nest.log;
TRUNCATE nest.log;

\x on
SELECT * FROM nest.t;
SELECT * FROM nest.o;
\x off
SELECT widetable.get('nest.t', 1);
SELECT widetable.get('nest.t', 1) = widetable.get('nest.o', 1) AS same;
SELECT count(*) FROM widetable.cells('nest.t', 1), widetable.raw_cells('nest.t', 1);
SELECT value FROM nest.cells WHERE qualifier = 'l';
SELECT count(*) FROM nest.t WHERE l IS NOT NULL AND (c).b = 'x' AND NOT isempty(r) AND l::int[] @> '{2}' AND (cc).c.a = 7;
SELECT min(l::int[]), count(c), count(m), count(dc), array_agg(cc) IS NOT NULL AS agg FROM nest.t;
SELECT count(*) FROM nest.t a JOIN nest.o b ON a.c = b.c AND a.r = b.r AND a.ccs = b.ccs AND a.m = b.m;
COPY (SELECT l, c, cc, r, m FROM nest.t) TO STDOUT;
ANALYZE nest.t;
ANALYZE nest.o;
DO $$ BEGIN EXECUTE 'EXPLAIN ANALYZE SELECT * FROM nest.t WHERE c IS NOT NULL'; END $$;
UPDATE nest.t SET n = 2;
UPDATE nest.t SET n = 3 WHERE (c).a = 3 RETURNING l, c;
BEGIN; DELETE FROM nest.t RETURNING cc; ROLLBACK;
SELECT widetable.check_and_mutate('nest.t', 1, 'n', '=', 3, '[{"put": {"n": "4"}}]');
BEGIN; SET LOCAL widetable.as_of = '2100-01-01'; SELECT l, cc FROM nest.t; COMMIT;
SELECT l, cc FROM nest.t FOR UPDATE;
CREATE TEMP TABLE nest_copy AS SELECT * FROM nest.t;
SELECT count(*) AS errors FROM widetable.verify('nest.t') v WHERE v::text LIKE '%error%';
-- a key of an enum takes no cast of a user, either
SELECT widetable.get('nest.e', 5);
SELECT widetable.get('nest.e', 'ok'::text), widetable.get('nest.e', 'ok'::nest.mood);
SELECT * FROM nest.log;

-- Writes check, whatever way they take.
INSERT INTO nest.t (k, l) VALUES (2, '{100}');
INSERT INTO nest.t (k, cc) VALUES (2, '(,,{100},)');
SELECT widetable.put('nest.t', 2, 'l', '{100}'), 'not here';
SELECT widetable.put('nest.t', 2, '{"c": "(100,x)"}'), 'not here';
-- bytes, in both forms
SELECT widetable.put('nest.t', 2, 'l', '{100}'::bytea), 'not here';
SELECT widetable.put('nest.t', 2, 'l', '\x00410401000000010000000100000064'::bytea), 'not here';
SELECT widetable.put('nest.t', 2, 'r', '\x0052040204000000640400000065'::bytea), 'not here';
BEGIN; SELECT widetable.delete_column('nest.o', 1, 'l'), widetable.append('nest.o', 1, 'l', '{1,100}'), 'not here'; ROLLBACK;
SELECT widetable.put('nest.t', 2, 'l', '\x00410401000000010000000100000063'::bytea);
SELECT l FROM nest.t WHERE k = 2;
-- not checked: bytes that the cell view writes
INSERT INTO nest.cells (k, family, qualifier, value) SELECT 3, 'd', 'l', '{99}';
CREATE FOREIGN TABLE nest.raw (k int, family text, qualifier text, value bytea) SERVER widetable OPTIONS (layout 'cells', table_name 'nest.t');
INSERT INTO nest.raw VALUES (3, 'd', 'l', '{100}');
SELECT l FROM nest.t WHERE k = 3;
DROP SCHEMA nest CASCADE;
REVOKE USAGE ON FOREIGN SERVER widetable FROM regress_wt_nest;
DROP ROLE regress_wt_nest;

-- ------------------------------------------------------------- hostile bytes

-- Whatever the bytes are: a value or an error, and a value that was read can be written.
CREATE FOREIGN TABLE nest_h (k int, i int[], b bool[], u uuid[], t text[], n numeric[], p nest_pair, d nest_deep, ds nest_deep[], r int4range, tr nest_trange, pr nest_prange, m int4multirange, pm nest_pmulti)
    SERVER widetable;
CREATE FOREIGN TABLE nest_x (k int, family text, qualifier text, value bytea) SERVER widetable OPTIONS (layout 'cells', table_name 'public.nest_h');
CREATE FUNCTION nest_try(col text, val bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text; again text;
BEGIN
    DELETE FROM nest_h WHERE k = 9;
    INSERT INTO nest_x VALUES (9, 'd', col, val);
    EXECUTE format('SELECT %1$I::text FROM nest_h WHERE k = 9', col) INTO s;
    EXECUTE format('UPDATE nest_h SET %1$I = %1$I WHERE k = 9', col);
    EXECUTE format('SELECT %1$I::text FROM nest_h WHERE k = 9', col) INTO again;
    RETURN CASE WHEN s = again THEN 'value ' || s ELSE 'CHANGED ' || s || ' ' || again END;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT col, val, nest_try(col, val) FROM (VALUES
    ('i', '\x'::bytea), ('i', '\x00'), ('i', '\x0041'), ('i', '\x004104'), ('i', '\x00410400'), ('i', '\x0041040000'), ('i', '\x004104010000000100000001'),
    ('i', '\x00410407'), ('i', '\x0041ff01'), ('i', '\x00418001'), ('i', '\x00417e01'), ('i', '\x00410401ffffffff00000001'), ('i', '\x004104017fffffff00000001'), ('i', '\x0041040107ffffff00000001'),
    ('i', '\x0041840107ffffff00000001ff'), ('i', '\x00410001070000000000000101'), ('i', '\x00410402000100000000000100010000000000010000'), ('i', '\x00410401000000017fffffff00000001'),
    ('i', '\x004104010000000000000001'), ('i', '\x00410401000000010000000100000005ff'), ('i', '\x0043'), ('i', '\x0045'),
    ('i', '\x0041000100000001000000010231'), ('i', '\x0041000100000001000000010378'), ('i', '\x00410e010000000100000001024104'), ('i', '\x00410e01000000010000000100'),
    ('b', '\x004102010000000100000001'), ('b', '\x00410201000000010000000107'), ('b', '\x00418201000000090000000100fe'), ('b', '\x004182010000000900000001ffff010101'),
    ('t', '\x0041000100000001000000010180'), ('t', '\x004100010000000100000001028000'), ('t', '\x00410001000000010000000102ff'), ('t', '\x0041000100000001000000010200'), ('t', '\x004100010000000100000001ffffffffff7f'),
    ('t', '\x00410401000000010000000100000005'), ('t', '\x0041010100000001000000010300ff'),
    ('p', '\x0043'), ('p', '\x0043020002'), ('p', '\x004300000161'), ('p', '\x00436300'), ('p', '\x004302000161020001'), ('p', '\x0043010400'), ('p', '\x00430104040000000102000178'), ('p', '\x0043020001610100'),
    ('p', '\x00438080808080808080'), ('p', '\x0043020f0161'), ('p', '\x00430284'), ('d', '\x00430204040000000104040000000a'), ('d', '\x0043020e0341'), ('d', '\x004308020101'), ('d', '\x00430102020101'),
    ('r', '\x005204'), ('r', '\x00520401'), ('r', '\x00520418'), ('r', '\x0052040a'), ('r', '\x00520403'), ('r', '\x005204ff'), ('r', '\x0052040004000000050400000001'), ('r', '\x0052040604000000010400000005'),
    ('r', '\x00520406040000000104 7fffffff'), ('r', '\x0052000201310132'), ('r', '\x00520010017a'), ('r', '\x00520e10017a'), ('r', '\x00520410040000000100'),
    ('tr', '\x005200000162 0161'), ('m', '\x004d04'), ('m', '\x004d0418'), ('m', '\x004d0408'), ('m', '\x004d040204000000010400000003020400000002040000000901'), ('m', '\x004d0402040000000504000000030204')) v(col, val);

-- Random changes of good values.
CREATE TEMP TABLE nest_seen (state text, n int);
DO $$
DECLARE
    cols text[] := '{i,b,u,t,n,p,d,ds,r,tr,pr,m,pm}';
    col text; bytes bytea; res text;
BEGIN
    PERFORM setseed(0.5);
    INSERT INTO nest_h VALUES (1, '{1,NULL,3}', '{t,f,NULL}', '{00112233-4455-6677-8899-aabbccddeeff}', '{a,NULL,"b c"}', '{1.5,NaN}', '(x,1.5,1)',
        '(1,"{""(x,1.5,1)""}",{7},"(y,,2)","[1,5)",sad,2024-01-01,00112233-4455-6677-8899-aabbccddeeff)', NULL, '[1,5)', '[a,b)', '["(x,,1)","(y,,2)"]', '{[1,3),[5,)}', '{["(x,,1)","(y,,2)"]}');
    UPDATE nest_h SET ds = ARRAY[d, NULL, d];
    FOR i IN 1 .. 3000 LOOP
        col := cols[1 + floor(random() * cardinality(cols))];
        SELECT value INTO bytes FROM widetable.cells('nest_h', 1) WHERE qualifier = col;
        FOR j IN 1 .. 1 + floor(random() * 3) LOOP
            CASE floor(random() * 5)
                WHEN 0 THEN bytes := set_byte(bytes, floor(random() * length(bytes))::int, floor(random() * 256)::int);
                WHEN 1 THEN bytes := set_bit(bytes, floor(random() * 8 * length(bytes))::bigint, floor(random() * 2)::int);
                WHEN 2 THEN bytes := substr(bytes, 1, 1 + floor(random() * length(bytes))::int);
                WHEN 3 THEN bytes := bytes || substr(bytes, floor(random() * length(bytes))::int + 1, 8);
                ELSE bytes := overlay(bytes PLACING '\x00ff'::bytea FROM 1 + floor(random() * length(bytes))::int FOR floor(random() * 3)::int);
            END CASE;
            EXIT WHEN length(bytes) < 2;
        END LOOP;
        res := nest_try(col, bytes);
        IF res LIKE 'CHANGED%' THEN RAISE EXCEPTION '% %: %', col, bytes, res; END IF;
        INSERT INTO nest_seen VALUES (CASE WHEN res LIKE 'value %' THEN 'value' ELSE left(res, 5) END, 1);
    END LOOP;
END $$;
SELECT state FROM nest_seen GROUP BY state HAVING state NOT IN ('value', 'XX001') ORDER BY state;
SELECT count(*) FILTER (WHERE state = 'value') > 100 AS values, count(*) FILTER (WHERE state = 'XX001') > 1000 AS errors FROM nest_seen;

-- A type of great depth: an error if the stack is too small.
BEGIN;
DO $$
DECLARE body bytea := '\x4301000178'; len int;
BEGIN
    CREATE TYPE nest_d0 AS (a text);
    FOR i IN 1 .. 400 LOOP
        EXECUTE format('CREATE TYPE nest_d%s AS (a nest_d%s)', i, i - 1);
        len := length(body);
        body := '\x43010e'::bytea || CASE WHEN len < 128 THEN set_byte('\x00', 0, len) ELSE set_byte(set_byte('\x0000', 0, len % 128 + 128), 1, len / 128) END || body;
    END LOOP;
    CREATE FOREIGN TABLE nest_deepest (k int, v nest_d400) SERVER widetable;
    CREATE FOREIGN TABLE nest_deepest_raw (k int, v bytea) SERVER widetable OPTIONS (table_name 'public.nest_deepest');
    INSERT INTO nest_deepest_raw VALUES (1, '\x00'::bytea || body);
END $$;
SELECT count(*) FROM (SELECT v FROM nest_deepest OFFSET 0) d WHERE v IS DISTINCT FROM NULL;
SET LOCAL max_stack_depth = '100kB';
SELECT count(*) FROM (SELECT v FROM nest_deepest OFFSET 0) d WHERE v IS DISTINCT FROM NULL;
ROLLBACK;

DROP FOREIGN TABLE nest_h, nest_x;
DROP TABLE nest_types, nest_row;
DROP DOMAIN nest_ints, nest_dpair, nest_small CASCADE;
DROP TYPE nest_none, nest_deep, nest_trange, nest_prange, nest_pair, nest_mood CASCADE;
DROP FUNCTION nest_round_trip, nest_all, nest_read, nest_try;
