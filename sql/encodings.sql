-- Encodings: how values become bytes.  Values are written as HBase's
-- Bytes.toBytes writes them, so that other tools can read them; key parts are
-- written so that unsigned bytes sort as the SQL type sorts.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';

-- ------------------------------------------------------- keys: bytes in order

-- encode_key shows the bytes of a key.  Integers have their sign bit flipped.
CREATE FOREIGN TABLE enc_int (k int, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_int', k) FROM unnest('{-2147483648,-1,0,1,2147483647}'::int[]) k;

-- desc inverts every byte.
CREATE FOREIGN TABLE enc_desc (k bigint, v text) SERVER widetable OPTIONS (key 'k desc');
SELECT k, widetable.encode_key('enc_desc', k) FROM unnest('{-1,0,1,3}'::bigint[]) k;

-- Floats: -0 is 0, and NaN is one value, above all others, as in SQL.
CREATE FOREIGN TABLE enc_float (k float8, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_float', k)
FROM unnest('{-Infinity,-1,-0,0,1.5,Infinity,NaN}'::float8[]) k;

-- Numerics of any length: class, power of 10000, digits.  Equal numbers have
-- equal bytes, whatever their trailing zeros.
CREATE FOREIGN TABLE enc_numeric (k numeric, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_numeric', k)
FROM unnest('{-Infinity,-12.34,-1,0,0.01,1,1.50,1.5,12.34,9999,10000,1e20,Infinity,NaN}'::numeric[]) WITH ORDINALITY u(k, n)
ORDER BY k, n;

-- Times count microseconds since 1970, dates count days; infinities are outside all.
CREATE FOREIGN TABLE enc_time (k timestamptz, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_time', k)
FROM unnest('{-infinity,1969-12-31 23:59:59.999999Z,1970-01-01Z,2024-01-01Z,infinity}'::timestamptz[]) k;
CREATE FOREIGN TABLE enc_date (k date, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_date', k) FROM unnest('{-infinity,1969-12-31,1970-01-01,2024-02-29,infinity}'::date[]) k;
SELECT widetable.encode_key('enc_time', '294276-12-31'::timestamptz);

-- Addresses: network first, then the length of the mask, then the host.
CREATE FOREIGN TABLE enc_inet (k inet, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_inet', k)
FROM unnest('{10.0.0.0/8,10.0.0.1/8,10.0.0.0/16,10.0.0.0,10.1.0.0/16,::1}'::inet[]) k ORDER BY k;

-- The promise, for many values at once: bytes compare as values do, and come
-- back as they went in.  All counts are 0.
CREATE TABLE enc_numbers AS
    SELECT (((i * 7919) % 20011 - 10000)::numeric * 10::numeric ^ (i % 41 - 20)) AS x FROM generate_series(1, 400) i;
SELECT count(*) FROM enc_numbers a, enc_numbers b
WHERE (a.x < b.x) <> (widetable.encode_key('enc_numeric', a.x) < widetable.encode_key('enc_numeric', b.x));
SELECT count(*) FROM enc_numbers
WHERE (widetable.decode_key('enc_numeric', widetable.encode_key('enc_numeric', x)) ->> 'k')::numeric <> x;
SELECT count(*) FROM enc_numbers a, enc_numbers b
WHERE (a.x::float8 < b.x::float8) <> (widetable.encode_key('enc_float', a.x::float8) < widetable.encode_key('enc_float', b.x::float8));
CREATE TABLE enc_addresses AS
    SELECT ('10.' || i % 3 || '.' || i * 37 % 256 || '.' || i * 91 % 256 || '/' || i % 33)::inet AS x FROM generate_series(1, 200) i
    UNION ALL SELECT ('2001:db8::' || to_hex(i) || '/' || 110 + i % 19)::inet FROM generate_series(1, 100) i;
SELECT count(*) FROM enc_addresses a, enc_addresses b
WHERE (a.x < b.x) <> (widetable.encode_key('enc_inet', a.x) < widetable.encode_key('enc_inet', b.x))
   OR (a.x = b.x) <> (widetable.encode_key('enc_inet', a.x) = widetable.encode_key('enc_inet', b.x));
SELECT count(*) FROM enc_addresses
WHERE (widetable.decode_key('enc_inet', widetable.encode_key('enc_inet', x)) ->> 'k')::inet <> x;

-- --------------------------------------------------------- other key encodings

-- unsigned1, 2, 4 and 8 save bytes; values outside are refused.
CREATE FOREIGN TABLE enc_tile (zoom int OPTIONS (encoding 'unsigned1'), tile int OPTIONS (encoding 'unsigned2'), v text)
    SERVER widetable OPTIONS (key 'zoom, tile');
SELECT widetable.encode_key('enc_tile', 8, 27756);
SELECT widetable.decode_key('enc_tile', '\x086c6c');
SELECT widetable.encode_key('enc_tile', 8, 65536);
SELECT widetable.encode_key('enc_tile', -1, 0);

-- reverse is 2^63-1 - x: newest first.
CREATE FOREIGN TABLE enc_reverse (k bigint OPTIONS (encoding 'reverse'), v text) SERVER widetable;
SELECT widetable.encode_key('enc_reverse', 1234567890123), widetable.decode_key('enc_reverse', '\x7ffffee08e04fb34');

-- hex has a fixed width; decimal is the number as text.
CREATE FOREIGN TABLE enc_hex (k int OPTIONS (encoding 'hex'), v text) SERVER widetable;
SELECT convert_from(widetable.encode_key('enc_hex', k), 'UTF8') FROM unnest('{255,1348509961,-1}'::int[]) k;
SELECT widetable.decode_key('enc_hex', '5060a109'::bytea), widetable.decode_key('enc_hex', 'ffffffff'::bytea);
CREATE FOREIGN TABLE enc_decimal (k bigint OPTIONS (encoding 'decimal'), v text) SERVER widetable;
SELECT convert_from(widetable.encode_key('enc_decimal', k), 'UTF8') FROM unnest('{20,-9223372036854775808}'::bigint[]) k;
SELECT widetable.decode_key('enc_decimal', '20'::bytea);
SELECT widetable.decode_key('enc_decimal', '020'::bytea);

-- md5 and sha1: the digest, for equality only.
CREATE FOREIGN TABLE enc_md5 (k text OPTIONS (encoding 'md5', column 'd:name'), v text) SERVER widetable;
SELECT widetable.encode_key('enc_md5', 'TheFakeMT');
CREATE FOREIGN TABLE enc_sha1 (k text OPTIONS (encoding 'sha1', column 'd:name'), v text) SERVER widetable;
SELECT widetable.encode_key('enc_sha1', 'abc');

-- Bytes that are no key of the table are an error, never a wrong value.
SELECT widetable.decode_key('enc_int', '\x8000');
SELECT widetable.decode_key('enc_int', '\x8000000000');
SELECT widetable.decode_key('enc_date', '\x00000001');
SELECT widetable.decode_key('enc_numeric', '\x3080002711');
SELECT widetable.decode_key('enc_numeric', '\x30800027120000');
SELECT widetable.decode_key('enc_inet', '\x040a000001080a000001');
SELECT widetable.decode_key('enc_hex', '5060A109'::bytea);

-- ------------------------------------------------------------------- values

-- Every type can be a value.  cells() shows the bytes.
CREATE FOREIGN TABLE enc_values (
    k   text,
    boo bool, i2 smallint, i4 int, i8 bigint, f4 float4, f8 float8, num numeric(10,2),
    t   text, vc varchar(5), ch char(3), by bytea, nm name,
    ts  timestamptz, tl timestamp, da date, ti time, iv interval,
    uu  uuid, ip inet, js json, jb jsonb, ar int[],
    u2  int     OPTIONS (encoding 'unsigned2'),
    ord int     OPTIONS (encoding 'ordered'),
    rev bigint  OPTIONS (encoding 'reverse'),
    hex int     OPTIONS (encoding 'hex'),
    txt int     OPTIONS (encoding 'text'),
    cnt bigint  OPTIONS (encoding 'counter')
) SERVER widetable;
INSERT INTO enc_values VALUES (
    'a', true, 258, -1, 1, 1.5, -1, 12.3,
    'abc', 'vc', 'c', '\x00ff', 'nm',
    '2024-01-01 00:00:00.000001Z', '1970-01-01 00:00:01', '2024-02-29', '12:34:56', '1 mon 2 days 03:00:00',
    '00112233-4455-6677-8899-aabbccddeeff', '10.0.0.1/8', '{"a":  1}', '{"b": [1, 2]}', '{1,NULL,3}',
    27756, -1, 1234567890123, 255, -42, 7);
SELECT qualifier, value FROM widetable.cells('enc_values', 'a');
\x on
SELECT * FROM enc_values;
\x off

-- Empty is not absent.
INSERT INTO enc_values (k, t, by, num) VALUES ('b', '', '', NULL);
SELECT t, t IS NULL AS t_null, by, num FROM enc_values WHERE k = 'b';

-- Session settings do not get into the bytes.
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
INSERT INTO enc_values (k, iv, ar) VALUES ('c', '-1 day -02:00', '{9}');
SET intervalstyle = 'postgres';
SET datestyle = 'ISO, YMD';
SELECT iv, ar FROM enc_values WHERE k = 'c';

-- Another foreign table may show the same cells as bytes.  Bytes that do not
-- fit a column's encoding are reported, not guessed, and only when they are read.
CREATE FOREIGN TABLE enc_raw (k text, i8 bytea) SERVER widetable OPTIONS (table_name 'public.enc_values');
INSERT INTO enc_raw VALUES ('d', '\x0001');
SELECT i8 FROM enc_raw WHERE k = 'a';
SELECT t FROM enc_values WHERE k = 'd';
SELECT i8 FROM enc_values WHERE k = 'd';
INSERT INTO enc_values (k, u2) VALUES ('e', 70000);

DROP TABLE enc_numbers, enc_addresses;
DROP FOREIGN TABLE enc_int, enc_desc, enc_float, enc_numeric, enc_time, enc_date, enc_inet, enc_tile, enc_reverse,
    enc_hex, enc_decimal, enc_md5, enc_sha1, enc_values, enc_raw;
