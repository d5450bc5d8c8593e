-- Keys: how columns make a row key, and the functions for designing one. Rows
-- are stored in the order of the key's bytes, so the key decides what is cheap.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- ------------------------------------------------------------ composite keys

-- Parts of fixed width are adjacent.  Text that is not the last part ends with
-- 00 01, and a 00 inside it becomes 00 FF: any value is possible, and keys
-- still sort by the text first, then by the number.
CREATE FOREIGN TABLE key_comp (name text COLLATE "C", n int, v text) SERVER widetable OPTIONS (key 'name, n');
SELECT name, n, widetable.encode_key('key_comp', name, n) AS key
FROM (VALUES ('a', 2), ('a', -1), ('ab', 0), ('', 5), ('a b', 1)) x(name, n) ORDER BY key;
CREATE FOREIGN TABLE key_bytes (b bytea, n int, v text) SERVER widetable OPTIONS (key 'b, n');
SELECT b, n, widetable.encode_key('key_bytes', b, n) AS key
FROM (VALUES ('\x61'::bytea, 1), ('\x6100', 1), ('\x610062', 1), ('\x6101', 1), ('\x6162', 1)) x(b, n) ORDER BY key;
SELECT widetable.decode_key('key_bytes', '\x6100ff62000180000001');

-- With fewer columns encode_key returns a prefix: all keys with that name begin
-- with it.  A row value works as well as a list.
SELECT widetable.encode_key('key_comp', 'a') AS prefix, widetable.encode_key('key_comp', ROW('a', 2)) AS key;
SELECT widetable.prefix_end(widetable.encode_key('key_comp', 'a'));

-- Arguments are converted as in an INSERT; a conversion that would lose data is refused.
SELECT widetable.encode_key('key_comp', 'a'::varchar, 2::bigint), widetable.encode_key('key_comp', 'a', '2');
SELECT widetable.encode_key('key_comp', 'a', 2.5);
SELECT widetable.encode_key('key_comp', 'a', 3000000000);
SELECT widetable.encode_key('key_comp', 'a', now());
SELECT widetable.encode_key('key_comp', 'a', 1, 2);
SELECT widetable.encode_key('key_comp', 'a', NULL);
SELECT widetable.encode_key('key_comp', NULL);
SELECT widetable.encode_key(NULL, 'a');
SELECT widetable.encode_key('key_comp', VARIADIC '{a,2}'::text[]), widetable.encode_key('key_comp', ROW('a'));
SELECT widetable.encode_key('key_comp', VARIADIC '{a,NULL}'::text[]);
SELECT widetable.encode_key('key_comp', VARIADIC NULL::text[]);
SELECT widetable.encode_key('key_comp', ROW());
SELECT widetable.encode_key('key_comp', ROW('a', NULL));
SELECT widetable.encode_key('key_comp', ROW('a', 1, 2));

-- Empty text is allowed in a key of several columns.
SELECT widetable.encode_key('key_comp', ''), widetable.encode_key('key_comp', '', 1), widetable.decode_key('key_comp', '\x000180000001');

-- Bytes that are not a key: too short, too long, a broken escape, invalid text.
SELECT widetable.decode_key('key_comp', '\x');
SELECT widetable.decode_key('key_comp', '\x610001');
SELECT widetable.decode_key('key_comp', '\x61000180000001ff');
SELECT widetable.decode_key('key_comp', '\x61000280000001');
SELECT widetable.decode_key('key_comp', '\xff000180000001');
SELECT widetable.decode_key('key_comp', '\x6100ff000180000001');
SELECT widetable.decode_key('key_comp', NULL) IS NULL;

-- desc: newest first.  Descending text always has its terminator.
CREATE FOREIGN TABLE key_desc (who text COLLATE "C", at timestamptz, v text) SERVER widetable
    OPTIONS (key 'who, at desc');
SELECT at, widetable.encode_key('key_desc', 'u', at) AS key
FROM (VALUES ('2024-01-01Z'::timestamptz), ('2024-06-01Z'), ('2023-01-01Z')) x(at) ORDER BY key;
CREATE FOREIGN TABLE key_desc_text (t text COLLATE "C", v text) SERVER widetable OPTIONS (key 't desc');
SELECT t, widetable.encode_key('key_desc_text', t) AS key FROM unnest('{a,ab,b,""}'::text[]) t ORDER BY key;
SELECT widetable.decode_key('key_desc_text', widetable.encode_key('key_desc_text', 'ab'));

-- A delimiter joins text parts with one character, as keys made by hand do.
CREATE FOREIGN TABLE key_delim (follower text OPTIONS (delimiter '+'), followed text, name text) SERVER widetable
    OPTIONS (key 'follower, followed');
SELECT convert_from(widetable.encode_key('key_delim', 'AK', 'foo'), 'UTF8'),
       convert_from(widetable.encode_key('key_delim', 'AK'), 'UTF8');
SELECT widetable.decode_key('key_delim', 'AK+foo+bar'::bytea);
SELECT widetable.encode_key('key_delim', 'A+K', 'foo');
INSERT INTO key_delim VALUES ('AK', 'foo', '1'), ('AKx', 'bar', '2'), ('AK', '', '3'), ('', 'AK', '4'), ('A', 'K+foo', '5');
INSERT INTO key_delim VALUES ('A+K', 'foo', '6');
-- Equality is exact; a value that contains the delimiter matches no row.
EXPLAIN (COSTS OFF) SELECT name FROM key_delim WHERE follower = 'AK';
SELECT * FROM key_delim WHERE follower = 'AK' ORDER BY followed;
SELECT * FROM key_delim WHERE follower = 'AK+foo' OR follower = 'A+K';
SELECT * FROM key_delim WHERE follower IN ('A', 'AK+', '') ORDER BY follower;
SELECT * FROM key_delim WHERE follower = 'A' AND followed = 'K+foo';

-- \x00 is the byte zero that ends Phoenix's texts: VARCHAR, BIGINT DESC, and
-- VARCHAR DESC, which is inverted with its terminator, also as the last part.
-- No text contains that byte, so the order is kept.
CREATE FOREIGN TABLE key_phoenix (a text OPTIONS (delimiter '\x00') COLLATE "C", b bigint, v text) SERVER widetable OPTIONS (key 'a, b desc');
CREATE FOREIGN TABLE key_phoenix_desc (a text OPTIONS (delimiter '\x00') COLLATE "C", b text OPTIONS (delimiter '\x00') COLLATE "C", v text)
    SERVER widetable OPTIONS (key 'a, b desc');
SELECT a, b, widetable.encode_key('key_phoenix', a, b) AS key FROM (VALUES ('a', 1), ('a', -1), ('ab', 1), ('', 0), (E'a\x01', 0)) x(a, b) ORDER BY key;
SELECT a, b, widetable.encode_key('key_phoenix_desc', a, b) AS key FROM (VALUES ('a', 'x'), ('a', 'xy'), ('a', ''), ('b', 'z')) x(a, b) ORDER BY key;
SELECT widetable.decode_key('key_phoenix', '\x6100' || '\x7ffffffffffffffe'::bytea), widetable.decode_key('key_phoenix_desc', '\x610087ff');
SELECT widetable.decode_key('key_phoenix_desc', '\x610087');
SELECT widetable.encode_key('key_phoenix', 'a'), widetable.encode_key('key_phoenix_desc', 'a');
CREATE FOREIGN TABLE key_bad (a text OPTIONS (delimiter '\x01'), b int, v text) SERVER widetable OPTIONS (key 'a, b');
CREATE FOREIGN TABLE key_bad (a bytea OPTIONS (delimiter '\x00'), b int, v text) SERVER widetable OPTIONS (key 'a, b');

-- Limits: a key has 1 to 32767 bytes.
CREATE FOREIGN TABLE key_text (k text, v text) SERVER widetable;
SELECT widetable.encode_key('key_text', '');
SELECT length(widetable.encode_key('key_text', repeat('x', 32767)));
SELECT length(widetable.encode_key('key_text', repeat('x', 32768)));
-- The limit applies to the encoded bytes, with salt, escapes and terminators.
CREATE FOREIGN TABLE key_long (k text, n int, v text) SERVER widetable OPTIONS (key 'k, n', salt_buckets '2');
SELECT length(widetable.encode_key('key_long', repeat('x', 32760), 1));
SELECT length(widetable.encode_key('key_long', repeat('x', 32761), 1));
INSERT INTO key_long VALUES (repeat('x', 32760), 1, 'fits');
INSERT INTO key_long VALUES (repeat('x', 32761), 1, 'does not');
SELECT length(k), n, v FROM key_long;
SELECT length(widetable.encode_key('key_bytes', decode(repeat('00', 16380), 'hex'), 1));
SELECT length(widetable.encode_key('key_bytes', decode(repeat('00', 16381), 'hex'), 1));
-- A constant in a condition may be longer than any key.
SELECT count(*) FROM key_long WHERE k = repeat('x', 40000);
SELECT count(*) FROM key_long WHERE k > repeat('x', 40000);
SELECT count(*) FROM key_long WHERE k < repeat('x', 40000) AND k >= repeat('x', 100);
SELECT count(*) FROM key_long WHERE k IN (repeat('x', 40000), repeat('x', 32760)) AND n = 1;
SELECT count(*) FROM key_long WHERE k LIKE repeat('x', 40000) || '%';

-- An enum, and a domain: the base type determines the encoding.
CREATE TYPE key_mood AS ENUM ('sad', 'ok');
CREATE FOREIGN TABLE key_enum (k key_mood OPTIONS (encoding 'text'), v text) SERVER widetable;
SELECT widetable.encode_key('key_enum', 'ok'), widetable.decode_key('key_enum', 'sad'::bytea);
SELECT widetable.decode_key('key_enum', 'glad'::bytea);
-- a cast to json has no part in it
CREATE FUNCTION key_mood_json(key_mood) RETURNS json LANGUAGE sql AS $$SELECT json_build_object('mood', $1::text)$$;
CREATE CAST (key_mood AS json) WITH FUNCTION key_mood_json;
SELECT widetable.decode_key('key_enum', 'ok'::bytea);
DROP CAST (key_mood AS json);
DROP FUNCTION key_mood_json;
CREATE DOMAIN key_positive AS int CHECK (VALUE > 0);
CREATE FOREIGN TABLE key_domain (k key_positive, v text) SERVER widetable;
SELECT widetable.encode_key('key_domain', 1);

-- Equal numerics are one key: 1.0 and 1.00 are the same row, read as 1 or
-- with the scale of the column.  The same holds for 0 and -0.
CREATE FOREIGN TABLE key_numeric (k numeric, v text) SERVER widetable;
CREATE FOREIGN TABLE key_scale (k numeric(10,2), v text) SERVER widetable OPTIONS (table_name 'public.key_numeric');
INSERT INTO key_numeric VALUES (1.0, 'first');
INSERT INTO key_numeric VALUES (1.00, 'again'), (100, 'hundred');
SELECT * FROM key_numeric WHERE k = 1.000;
SELECT * FROM key_scale;
CREATE FOREIGN TABLE key_float (k float8, v text) SERVER widetable;
INSERT INTO key_float VALUES ('0', 'zero'), ('-0', 'minus zero'), ('NaN', 'nan');
SELECT * FROM key_float WHERE k = 0 OR k = 'NaN' ORDER BY k;

-- Other types are refused: they have no order-preserving bytes.
DO $$
DECLARE
    t text;
    message text;
    hint text;
    last_hint text;
BEGIN
    FOREACH t IN ARRAY '{interval,timetz,money,char(3),"\"char\"",bit(3),varbit,macaddr,pg_lsn,json,jsonb,xml,int[],point,int4range,tsvector,regclass}'::text[] LOOP
        BEGIN
            EXECUTE format('CREATE FOREIGN TABLE key_type (k %s, v text) SERVER widetable', t);
            RAISE NOTICE '% is taken', t;
        EXCEPTION WHEN feature_not_supported THEN
            GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
            RAISE NOTICE '%', message;
            IF hint IS DISTINCT FROM last_hint THEN
                RAISE NOTICE '    %', hint;
            END IF;
            last_hint := hint;
        END;
    END LOOP;
END $$;

-- ---------------------------------------------------- bytes from other writers

-- The same stored table with bytea columns, to write what another writer could have written.
CREATE FOREIGN TABLE key_raw (k bytea, a bytea, j bytea) SERVER widetable;
CREATE FOREIGN TABLE key_read (n int, a int, j jsonb) SERVER widetable OPTIONS (table_name 'public.key_raw');
INSERT INTO key_raw VALUES ('\x80000001', '\x00000007', '{"x": 1}'), ('\x80000002', '\x0007', NULL), ('\x80000003', NULL, '{"x"'), ('\x80000004', '\x00000008', '\xff'),
    ('\x8000', '\x00000001', '{}'), ('\x8000000001', '\x00000002', '{}');
-- An error names the table, the column and the key; an error of a type's
-- input function keeps its own message and names the row in the context.
SELECT * FROM key_read WHERE n = 1;
SELECT a FROM key_read WHERE n = 2;
SELECT j FROM key_read WHERE n = 2;
SELECT j FROM key_read WHERE n = 4;
\set SHOW_CONTEXT errors
SELECT j FROM key_read WHERE n = 3;
SELECT widetable.get('key_read', 3);
\set SHOW_CONTEXT never
-- A key that does not decode is an error; with on_bad_key 'skip' the scan skips the row and counts it.
SELECT count(*) FROM key_read;
ALTER FOREIGN TABLE key_read OPTIONS (ADD on_bad_key 'skip');
SELECT n FROM key_read ORDER BY n DESC;
SELECT count(*) FROM key_read;
CREATE FUNCTION key_explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        IF line ~ 'Bad' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;
SELECT key_explain('SELECT n FROM key_read WHERE n > 3');
SELECT key_explain('SELECT n FROM key_read');
-- Without SELECT on the key column, an error does not show the key.
CREATE ROLE regress_key_value;
GRANT SELECT (a) ON key_read TO regress_key_value;
SET ROLE regress_key_value;
SELECT a FROM key_read;
RESET ROLE;

-- --------------------------------------------------------------------- salt

-- Keys that only grow all go to one place; a hash byte in front spreads them.
-- Queries do not change.  The hash is Phoenix's.
SELECT k, widetable.salt(k::bytea, 4) AS of_4, widetable.salt(k::bytea, 16) AS of_16
FROM unnest('{a,b,abc,user1,user2}'::text[]) k;
SELECT widetable.salt('\x80000001', 16);
CREATE FOREIGN TABLE key_salted (k text, v text) SERVER widetable OPTIONS (salt_buckets '4');
SELECT k, widetable.encode_key('key_salted', k) FROM unnest('{a,b,user2}'::text[]) k;
SELECT widetable.decode_key('key_salted', '\x0275736572ff'), widetable.decode_key('key_salted', '\x027573657232');
SELECT widetable.decode_key('key_salted', '\x027573657232');
-- Salt needs all key columns: for fewer, encode_key returns the prefix that is the same in every bucket.
SELECT widetable.encode_key('key_long', 'a') AS prefix, widetable.encode_key('key_long', 'a', 1) AS key;
SELECT widetable.salt('a', 1), widetable.salt('\x', 256);
SELECT widetable.salt('a', 0);
SELECT widetable.salt('a', 257);

-- split_keys divides a table into parts of similar size; a small table into fewer.
CREATE FOREIGN TABLE key_split (k text, v text) SERVER widetable;
CREATE FOREIGN TABLE key_split_salted (k text, v text) SERVER widetable OPTIONS (salt_buckets '3');
SELECT count(*) AS none FROM widetable.split_keys('key_split', 4);
INSERT INTO key_split VALUES ('a', '1'), ('b', '2'), ('c', '3');
SELECT count(*) <= 2 AND bool_and(k > 'a' AND k <= 'c') AS few FROM widetable.split_keys('key_split', 100) k;
SELECT count(*) AS none FROM widetable.split_keys('key_split', 1);
INSERT INTO key_split SELECT 'k' || n, repeat(md5(n::text), 3) FROM generate_series(1, 10000) n;
INSERT INTO key_split_salted SELECT 'k' || n, repeat(md5(n::text), 3) FROM generate_series(1, 10000) n;
CREATE FUNCTION key_parts(rel regclass, n int, OUT keys bigint, OUT rising boolean, OUT even boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('WITH s AS MATERIALIZED (SELECT k, lag(k) OVER () AS before FROM widetable.split_keys(%1$L, %2$s) k),
                         parts AS (SELECT count(*) AS c FROM %1$s t GROUP BY (SELECT count(*) FROM s WHERE widetable.encode_key(%1$L, t.k) >= s.k))
                    SELECT (SELECT count(*) FROM s), (SELECT bool_and(before IS NULL OR k > before) FROM s),
                           (SELECT min(c) > 5000 / %2$s AND max(c) < 20000 / %2$s FROM parts)', rel, n) INTO keys, rising, even;
END $$;
SELECT rel, n, p.* FROM unnest('{key_split,key_split_salted}'::regclass[]) rel, unnest('{2,3,8}'::int[]) n, key_parts(rel, n) p;
SELECT widetable.flush('key_split'), widetable.flush('key_split_salted');
SELECT rel, n, p.* FROM unnest('{key_split,key_split_salted}'::regclass[]) rel, unnest('{2,3,8}'::int[]) n, key_parts(rel, n) p;
SELECT widetable.split_keys('key_split', 0);
SELECT count(*) AS none FROM widetable.split_keys('key_split', NULL);

-- ---------------------------------------------------------- helper functions

-- The first key after all keys with a prefix; NULL if there is none.
SELECT p, widetable.prefix_end(p) FROM unnest('{"\\x6162","\\x61ff","\\xfeff","\\xff","\\xffff","\\x"}'::bytea[]) p;

-- Reversed time, for keys made by hand: a later time is a smaller number.
SELECT widetable.reverse_time('1970-01-01Z'), widetable.reverse_time('2024-01-01Z'), widetable.reverse_time('infinity');
SELECT widetable.reverse_time('1969-12-31Z');
SELECT widetable.reverse_time('-infinity');
SELECT widetable.reverse_time('294276-12-31Z');

-- Reversed host names: a site and everything below it form one range.
SELECT h, widetable.reverse_host(h)
FROM unnest('{hbase.apache.org/book.html,https://hbase.apache.org/book.html,apache.org:8080,localhost,10.1.2.3/x,"",a.,"[::1]:80/x","http://[2001:db8::1]/a.b","https://me:p@ss@www.x.org/a@b.c","x.org?at=http://b.c"}'::text[]) h;

-- Map tiles: the key of a tile is the prefix of all tiles inside it.
SELECT widetable.quadkey(35.68, 139.77, z) FROM generate_series(0, 12, 4) z;
SELECT widetable.quadkey(90, 180, 3), widetable.quadkey(-90, -180, 3), widetable.quadkey(0, 0, 3);
SELECT widetable.quadkey(91, 0, 3);
SELECT widetable.quadkey('NaN', 0, 3);
SELECT widetable.quadkey(0, 180.001, 3);
SELECT widetable.quadkey(0, 0, 32);
SELECT widetable.quadkey(0, 0, -1);
SELECT widetable.quadkey(0, 0, NULL) IS NULL AS null, length(widetable.quadkey(0, 0, 31)), widetable.quadkey(0, 0, 0) = '' AS world;

-- Packed: two bits for each digit, left-aligned if a zoom is given, so that a
-- tile is a range of numbers.
SELECT widetable.quadkey_pack('12301230'), to_hex(widetable.quadkey_pack('0121', 16)) AS "from",
       to_hex(widetable.quadkey_pack('0122', 16)) AS "to";
SELECT widetable.quadkey_pack('124');
SELECT widetable.quadkey_pack('0123', 3);
SELECT widetable.quadkey_pack(''), widetable.quadkey_pack(repeat('3', 31)), widetable.quadkey_pack('3', 31), widetable.quadkey_pack(NULL, 3);
SELECT widetable.quadkey_pack(repeat('3', 32));
SELECT widetable.quadkey_pack('1', -1);

-- Unique ids that increase with time.
SELECT count(DISTINCT id) AS ids, bool_and(id > before) AS rising, min(length(id)) AS bytes
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM (SELECT n, widetable.flake_id() AS id FROM generate_series(1, 1000) n) x) y;

-- Showing how a table makes its keys needs SELECT on the table.
CREATE ROLE regress_key_reader;
SET ROLE regress_key_reader;
SELECT widetable.encode_key('key_comp', 'a', 1);
RESET ROLE;
GRANT SELECT (name, n) ON key_comp TO regress_key_reader;
SET ROLE regress_key_reader;
SELECT widetable.encode_key('key_comp', 'a', 1);
RESET ROLE;
SELECT widetable.encode_key('pg_class', 'a');

-- Volatility, strictness and parallel safety of the functions.
SELECT proname, provolatile AS volatile, proisstrict AS strict, proparallel AS parallel
FROM pg_proc WHERE pronamespace = 'widetable'::regnamespace
    AND proname = ANY ('{encode_key,decode_key,prefix_end,split_keys,reverse_time,reverse_host,salt,quadkey,quadkey_pack,flake_id}') ORDER BY proname;

DROP FUNCTION key_explain(text), key_parts(regclass, int);
DROP FOREIGN TABLE key_numeric, key_scale, key_float, key_raw, key_read, key_long, key_split, key_split_salted;
DROP FOREIGN TABLE key_comp, key_bytes, key_desc, key_desc_text, key_delim, key_phoenix, key_phoenix_desc, key_text, key_enum, key_domain, key_salted;
DROP TYPE key_mood;
DROP DOMAIN key_positive;
DROP ROLE regress_key_reader, regress_key_value;

-- A key of type name: equality, ranges, prefixes and order, compared with names and with texts.
CREATE FOREIGN TABLE range_name (k name, n int, v int) SERVER widetable OPTIONS (key 'k, n desc');
INSERT INTO range_name SELECT repeat('b', i) || 'x', i, i FROM generate_series(1, 62) i;
INSERT INTO range_name VALUES ('a', 1, 1), ('B', 2, 2), (repeat('b', 63), 3, 3), (repeat('c', 63), 4, 4);
EXPLAIN (COSTS OFF) SELECT v FROM range_name WHERE k = 'bx';
SELECT v FROM range_name WHERE k = 'bx';
SELECT v FROM range_name WHERE k = 'bx'::text;
SELECT v FROM range_name WHERE k = ANY ('{a,B,zz}'::name[]) ORDER BY k;
EXPLAIN (COSTS OFF) SELECT v FROM range_name WHERE k > 'bx' ORDER BY k DESC, n LIMIT 2;
SELECT v FROM range_name WHERE k > 'bx' ORDER BY k DESC, n LIMIT 2;
EXPLAIN (COSTS OFF) SELECT v FROM range_name WHERE k LIKE 'bbx%';
SELECT v FROM range_name WHERE k LIKE 'bbx%' OR k ~ '^bbbx$' ORDER BY v;
-- a text longer than any name sorts directly after its truncated form
SELECT v FROM range_name WHERE k = repeat('b', 64);
SELECT v FROM range_name WHERE k >= repeat('b', 63) AND k < repeat('b', 64);
SELECT v FROM range_name WHERE k > repeat('b', 64) AND k >= repeat('c', 63);
SELECT v FROM range_name WHERE k > repeat('c', 64);
SELECT count(*) FROM range_name WHERE k <> repeat('b', 64);
SELECT min(k), max(k::text) FROM range_name;
EXPLAIN (COSTS OFF) SELECT a.v FROM range_name a JOIN pg_class c ON c.relname = a.k AND c.relkind = 'zz' ;
DROP FOREIGN TABLE range_name;

-- Hints on keys that are too long, and what they say works.
CREATE FOREIGN TABLE key_blob (k bytea, v bytea) SERVER widetable;
INSERT INTO key_blob VALUES (repeat('x', 40000)::bytea, '');
INSERT INTO key_blob SELECT sha256(b), b FROM (SELECT repeat('x', 40000)::bytea AS b) s;
SELECT length(k), length(v) FROM key_blob;
CREATE FOREIGN TABLE key_blob_cells (k text, family text, qualifier text, ts timestamptz, value text)
    SERVER widetable OPTIONS (table_name 'public.key_blob', layout 'cells', key 'k');
INSERT INTO key_blob_cells VALUES (repeat('x', 40000), 'd', 'v', NULL, '');
CREATE FOREIGN TABLE key_digits (k numeric, v int) SERVER widetable;
INSERT INTO key_digits VALUES (repeat('7', 80000)::numeric, 1);
CREATE FOREIGN TABLE key_words (a text, b int, v int) SERVER widetable OPTIONS (key 'b, a');
INSERT INTO key_words VALUES (repeat('x', 40000), 1, 1);
DROP FOREIGN TABLE key_blob, key_blob_cells, key_digits, key_words;
-- Layout cells shows digests as bytea: a last column alone, another one as part of the whole key.
CREATE FOREIGN TABLE key_digest (a text OPTIONS (encoding 'md5', column 'd:a'), b int, v int)
    SERVER widetable OPTIONS (key 'a, b', salt_buckets '2');
INSERT INTO key_digest VALUES ('hello', 1, 1);
CREATE FOREIGN TABLE key_digest_cells (a text OPTIONS (encoding 'md5', column 'd:a'), b int, qualifier text)
    SERVER widetable OPTIONS (table_name 'public.key_digest', layout 'cells', key 'a, b', salt_buckets '2');
CREATE FOREIGN TABLE key_digest_cells (a text OPTIONS (encoding 'md5', column 'd:a'), qualifier text)
    SERVER widetable OPTIONS (table_name 'public.key_digest', layout 'cells', key 'a');
CREATE FOREIGN TABLE key_digest_cells (k bytea, qualifier text)
    SERVER widetable OPTIONS (table_name 'public.key_digest', layout 'cells', key 'k', salt_buckets '2');
CREATE FOREIGN TABLE key_digest_cells (k bytea, qualifier text)
    SERVER widetable OPTIONS (table_name 'public.key_digest', layout 'cells', key 'k');
SELECT k, qualifier FROM key_digest_cells;
DROP FOREIGN TABLE key_digest, key_digest_cells;
CREATE FOREIGN TABLE key_digest (a int, b text OPTIONS (encoding 'sha1', column 'd:b'), v int)
    SERVER widetable OPTIONS (key 'a, b', salt_buckets '2');
INSERT INTO key_digest VALUES (1, 'hello', 1);
CREATE FOREIGN TABLE key_digest_cells (a int, b text OPTIONS (encoding 'sha1', column 'd:b'), qualifier text)
    SERVER widetable OPTIONS (table_name 'public.key_digest', layout 'cells', key 'a, b', salt_buckets '2');
CREATE FOREIGN TABLE key_digest_cells (a int, b bytea, qualifier text)
    SERVER widetable OPTIONS (table_name 'public.key_digest', layout 'cells', key 'a, b', salt_buckets '2');
SELECT a, b, qualifier FROM key_digest_cells;
DROP FOREIGN TABLE key_digest, key_digest_cells;
