-- Encodings: how values become bytes.  Cell values are written as HBase's
-- Bytes.toBytes writes them, so that other tools can read them; key parts are
-- written so that unsigned bytes sort as the SQL type does.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';

-- ----------------------------------------------------------------- fixed bytes

-- Fixed bytes that other stores share.  In every line ok must be t. First:
-- keys of one column.
CREATE FUNCTION enc_key(typ text, opt text, dir text, value text) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    bytes bytea;
BEGIN
    EXECUTE format('CREATE FOREIGN TABLE enc_one (k %s OPTIONS (encoding %s), v text) SERVER widetable OPTIONS (key %L)', typ, opt, 'k' || dir);
    EXECUTE format('SELECT widetable.encode_key(''enc_one'', %L::%s)', value, typ) INTO bytes;
    DROP FOREIGN TABLE enc_one;
    RETURN bytes;
END $$;
SELECT typ || dir AS type, opt AS encoding, value, bytes, bytes = decode(want, 'hex') AS ok
FROM (VALUES
    ('text', '''text''', '', 'abc', '616263'),
    ('bytea', '''bytes''', '', '\x616263', '616263'),
    ('smallint', '''binary''', '', '258', '0102'),
    ('int', '''binary''', '', '1', '00000001'),
    ('int', '''binary''', '', '-1', 'ffffffff'),
    ('bigint', '''binary''', '', '1', '0000000000000001'),
    ('bigint', '''binary''', '', '9223372036854775807', '7fffffffffffffff'),
    ('bool', '''binary''', '', 'true', 'ff'),
    ('bool', '''binary''', '', 'false', '00'),
    ('int', '''decimal''', '', '20', '3230'),
    ('int', '''text''', '', '20', '3230'),
    ('int', '''unsigned1''', '', '255', 'ff'),
    ('int', '''unsigned2''', '', '27756', '6c6c'),
    ('int', '''unsigned4''', '', '2147483647', '7fffffff'),
    ('bigint', '''unsigned4''', '', '1357027200', '50e29780'),
    ('bigint', '''unsigned4''', '', '4294967295', 'ffffffff'),
    ('bigint', '''unsigned8''', '', '1', '0000000000000001'),
    ('smallint', '''ordered''', '', '-32768', '0000'),
    ('smallint', '''ordered''', '', '0', '8000'),
    ('int', '''ordered''', '', '0', '80000000'),
    ('int', '''ordered''', '', '1', '80000001'),
    ('int', '''ordered''', '', '-1', '7fffffff'),
    ('int', '''ordered''', '', '-2147483648', '00000000'),
    ('int', '''ordered''', ' desc', '0', '7fffffff'),
    ('int', '''ordered''', ' desc', '1', '7ffffffe'),
    ('int', '''ordered''', ' desc', '3', '7ffffffc'),
    ('bigint', '''ordered''', '', '0', '8000000000000000'),
    ('bigint', '''ordered''', '', '-1', '7fffffffffffffff'),
    ('bigint', '''ordered''', ' desc', '1', '7ffffffffffffffe'),
    ('float8', '''ordered''', '', '0', '8000000000000000'),
    ('float8', '''ordered''', '', '-0', '8000000000000000'),
    ('float8', '''ordered''', '', '1.5', 'bff8000000000000'),
    ('float8', '''ordered''', '', '-1', '400fffffffffffff'),
    ('float8', '''ordered''', '', 'Infinity', 'fff0000000000000'),
    ('float8', '''ordered''', '', '-Infinity', '000fffffffffffff'),
    ('float8', '''ordered''', '', 'NaN', 'ffffffffffffffff'),
    ('float4', '''ordered''', '', '1.5', 'bfc00000'),
    ('float4', '''ordered''', '', '-1', '407fffff'),
    ('float4', '''ordered''', '', 'NaN', 'ffffffff'),
    ('bool', '''ordered''', '', 'true', '01'),
    ('bool', '''ordered''', '', 'false', '00'),
    ('bigint', '''reverse''', '', '1234567890123', '7ffffee08e04fb34'),
    ('bigint', '''reverse''', '', '0', '7fffffffffffffff'),
    ('timestamptz', '''reverse''', '', '1970-01-01 00:00:01Z', '7ffffffffff0bdbf'),
    ('timestamptz', '''binary''', '', '1970-01-01 00:00:01Z', '00000000000f4240'),
    ('timestamptz', '''ordered''', '', '1969-12-31 23:59:59Z', '7ffffffffff0bdc0'),
    ('timestamptz', '''ordered''', '', 'infinity', 'ffffffffffffffff'),
    ('timestamptz', '''ordered''', '', '-infinity', '0000000000000000'),
    ('timestamp', '''ordered''', '', '2000-01-01', '80035d013b37e000'),
    ('date', '''ordered''', '', '1970-01-02', '80000001'),
    ('date', '''binary''', '', '1969-12-31', 'ffffffff'),
    ('time', '''ordered''', '', '24:00:00', '800000141dd76000'),
    ('oid', '''ordered''', '', '4294967295', 'ffffffff'),
    ('uuid', '''ordered''', '', '00112233-4455-6677-8899-aabbccddeeff', '00112233445566778899aabbccddeeff'),
    ('uuid', '''ordered''', ' desc', '00112233-4455-6677-8899-aabbccddeeff', 'ffeeddccbbaa99887766554433221100'),
    ('int', '''hex''', '', '1348509961', '3530363061313039'),
    ('text', '''md5'', column ''d:k''', '', 'TheFakeMT', '48f85477ec1210501901fd5b1579b006'),
    ('text', '''md5'', column ''d:k''', '', 'TheRealMT', '212dc26b6246fad4d2cb3740fc25866f'),
    ('text', '''sha1'', column ''d:k''', '', 'abc', 'a9993e364706816aba3e25717850c26c9cd0d89d'),
    ('text', '''text''', ' desc', 'abc', '9e9d9cfffe'),
    ('bytea', '''bytes''', ' desc', '\x610062', '9eff009dfffe'),
    ('numeric', '''ordered''', '', '0.00', '20'),
    ('numeric', '''ordered''', '', '1', '30800000020000'),
    ('numeric', '''ordered''', '', '12.34', '308000000d0d490000'),
    ('numeric', '''ordered''', '', '10000', '30800100020000'),
    ('numeric', '''ordered''', '', '-1', '107ffffffdffff'),
    ('numeric', '''ordered''', ' desc', '1', 'cf7ffffffdffff'),
    ('numeric', '''ordered''', '', 'NaN', '40'),
    ('inet', '''ordered''', '', '10.0.0.1/8', '040a000000080a000001'),
    ('cidr', '''ordered''', '', '::/0', '06' || repeat('00', 33))
) v(typ, opt, dir, value, want), enc_key(typ, opt, dir, value) bytes;

-- Key parts followed by other parts, salts, tiles.
CREATE FOREIGN TABLE enc_esc (b bytea, c bytea, v text) SERVER widetable OPTIONS (key 'b, c');
CREATE FOREIGN TABLE enc_esc_desc (b bytea, c bytea, v text) SERVER widetable OPTIONS (key 'b desc, c');
CREATE FOREIGN TABLE enc_join (a text OPTIONS (delimiter '+'), b text, v text) SERVER widetable OPTIONS (key 'a, b');
CREATE FOREIGN TABLE enc_salt (k text, v text) SERVER widetable OPTIONS (salt_buckets '4');
SELECT what, bytes, bytes = decode(want, 'hex') AS ok
FROM (VALUES
    ('a 00 b, followed', widetable.encode_key('enc_esc', '\x610062'::bytea), '6100ff620001'),
    ('the same, descending', widetable.encode_key('enc_esc_desc', '\x610062'::bytea), '9eff009dfffe'),
    ('two parts', widetable.encode_key('enc_esc', '\x6100'::bytea, '\x00'::bytea), '6100ff000100'),
    ('AK+foo', widetable.encode_key('enc_join', 'AK', 'foo'), '414b2b666f6f'),
    ('salted a', widetable.encode_key('enc_salt', 'a'), '0061'),
    ('salted user2', widetable.encode_key('enc_salt', 'user2'), '027573657232'),
    ('tile 0121 at 16', decode(lpad(to_hex(widetable.quadkey_pack('0121', 16)), 8, '0'), 'hex'), '19000000'),
    ('tile 12301230', decode(to_hex(widetable.quadkey_pack('12301230')), 'hex'), '6c6c')
) v(what, bytes, want);
SELECT key, n, salt, salt = want AS ok
FROM (VALUES ('a'::bytea, 4, 0), ('b', 4, 1), ('abc', 4, 1), ('user1', 4, 1), ('user2', 4, 2),
             ('abc', 16, 1), ('user1', 16, 5), ('\x80000001', 16, 14)) v(key, n, want), widetable.salt(key, n) salt;

-- Cell values.
CREATE FOREIGN TABLE enc_vector (
    k text,
    i2 smallint, i4 int, i8 bigint, f4 float4, f8 float8, boo bool, cnt bigint OPTIONS (encoding 'counter'),
    num numeric, t text, by bytea,
    s2 smallint OPTIONS (encoding 'decimal'), st int OPTIONS (encoding 'text'),
    u1 int OPTIONS (encoding 'unsigned1'), u2 int OPTIONS (encoding 'unsigned2'),
    u4 bigint OPTIONS (encoding 'unsigned4'), u8 bigint OPTIONS (encoding 'unsigned8'),
    oi2 smallint OPTIONS (encoding 'ordered'), oi4 int OPTIONS (encoding 'ordered'), oi8 bigint OPTIONS (encoding 'ordered'),
    of4 float4 OPTIONS (encoding 'ordered'), of8 float8 OPTIONS (encoding 'ordered'),
    ob bool OPTIONS (encoding 'ordered'), onum numeric OPTIONS (encoding 'ordered'),
    rev bigint OPTIONS (encoding 'reverse'), h4 int OPTIONS (encoding 'hex'), h8 bigint OPTIONS (encoding 'hex'),
    uu uuid, tz timestamptz, da date
) SERVER widetable;
INSERT INTO enc_vector VALUES
    ('1', 258, 1, 1, 1.5, 1.5, true, 1, 12.34, 'abc', '\x616263', 20, 20, 255, 27756, 1357027200, 1,
     0, 0, 0, 1.5, 1.5, true, 1, 1234567890123, 255, 255, '00112233-4455-6677-8899-aabbccddeeff', '1970-01-01 00:00:01Z', '1970-01-02'),
    ('2', -1, -1, 9223372036854775807, -1, -1, false, -1, -1.50, '', '\x', -7, -7, 0, 0, 4294967295, 9223372036854775807,
     -1, -1, -1, -1, -1, false, -1.50, 0, -1, -1, '00000000-0000-0000-0000-000000000000', '-infinity', 'infinity');
SELECT k, column1 AS column, value, value = decode(want, 'hex') AS ok
FROM (VALUES
    ('i2', '0102', 'ffff'), ('i4', '00000001', 'ffffffff'), ('i8', '0000000000000001', '7fffffffffffffff'),
    ('f4', '3fc00000', 'bf800000'), ('f8', '3ff8000000000000', 'bff0000000000000'), ('boo', 'ff', '00'),
    ('cnt', '0000000000000001', 'ffffffffffffffff'), ('num', '31322e3334', '2d312e3530'), ('t', '616263', ''), ('by', '616263', ''),
    ('s2', '3230', '2d37'), ('st', '3230', '2d37'), ('u1', 'ff', '00'), ('u2', '6c6c', '0000'), ('u4', '50e29780', 'ffffffff'),
    ('u8', '0000000000000001', '7fffffffffffffff'), ('oi2', '8000', '7fff'), ('oi4', '80000000', '7fffffff'),
    ('oi8', '8000000000000000', '7fffffffffffffff'), ('of4', 'bfc00000', '407fffff'), ('of8', 'bff8000000000000', '400fffffffffffff'),
    ('ob', '01', '00'), ('onum', '30800000020000', '107ffffffdec76ffff'),
    ('rev', '7ffffee08e04fb34', '7fffffffffffffff'), ('h4', '3030303030306666', '6666666666666666'),
    ('h8', '30303030303030303030303030306666', '66666666666666666666666666666666'),
    ('uu', '00112233445566778899aabbccddeeff', repeat('00', 16)),
    ('tz', '00000000000f4240', '8000000000000000'), ('da', '00000001', '7fffffff')) v,
    LATERAL (VALUES ('1', column2), ('2', column3)) w(k, want), widetable.cells('enc_vector', w.k) c
WHERE c.qualifier = column1
ORDER BY k, column1;
\x on
SELECT * FROM enc_vector;
\x off
DROP FOREIGN TABLE enc_vector, enc_esc, enc_esc_desc, enc_join, enc_salt;
DROP FUNCTION enc_key;

-- ------------------------------------------------------- keys: bytes in order

-- encode_key shows the bytes of a key.  Integers have the sign bit flipped.
CREATE FOREIGN TABLE enc_int (k int, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_int', k) FROM unnest('{-2147483648,-1,0,1,2147483647}'::int[]) k;

-- desc inverts every byte.
CREATE FOREIGN TABLE enc_desc (k bigint, v text) SERVER widetable OPTIONS (key 'k desc');
SELECT k, widetable.encode_key('enc_desc', k) FROM unnest('{-1,0,1,3}'::bigint[]) k;

-- Floats: -0 equals 0; NaN is one value above all others, as in SQL.
CREATE FOREIGN TABLE enc_float (k float8, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_float', k)
FROM unnest('{-Infinity,-1,-0,0,1.5,Infinity,NaN}'::float8[]) k;

-- Numerics of any length: class, power of 10000, digits.  Equal numbers have
-- equal bytes, whatever their trailing zeros.
CREATE FOREIGN TABLE enc_numeric (k numeric, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_numeric', k)
FROM unnest('{-Infinity,-12.34,-1,0,0.01,1,1.50,1.5,12.34,9999,10000,1e20,Infinity,NaN}'::numeric[]) WITH ORDINALITY u(k, n)
ORDER BY k, n;

-- Times count microseconds since 1970, dates count days; infinities lie outside the range of all others.
CREATE FOREIGN TABLE enc_time (k timestamptz, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_time', k)
FROM unnest('{-infinity,1969-12-31 23:59:59.999999Z,1970-01-01Z,2024-01-01Z,infinity}'::timestamptz[]) k;
CREATE FOREIGN TABLE enc_date (k date, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_date', k) FROM unnest('{-infinity,1969-12-31,1970-01-01,2024-02-29,infinity}'::date[]) k;
SELECT widetable.encode_key('enc_time', '294276-12-31'::timestamptz);

-- Addresses: network first, then the mask length, then the host.
CREATE FOREIGN TABLE enc_inet (k inet, v text) SERVER widetable;
SELECT k, widetable.encode_key('enc_inet', k)
FROM unnest('{10.0.0.0/8,10.0.0.1/8,10.0.0.0/16,10.0.0.0,10.1.0.0/16,::1}'::inet[]) k ORDER BY k;

-- The same for many values: bytes compare as the values do, and decode to the
-- same value.  All counts are 0.
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

-- unsigned1, 2, 4 and 8 save bytes; values out of range are refused.
CREATE FOREIGN TABLE enc_tile (zoom int OPTIONS (encoding 'unsigned1'), tile int OPTIONS (encoding 'unsigned2'), v text)
    SERVER widetable OPTIONS (key 'zoom, tile');
SELECT widetable.encode_key('enc_tile', 8, 27756);
SELECT widetable.decode_key('enc_tile', '\x086c6c');
SELECT widetable.encode_key('enc_tile', 8, 65536);
SELECT widetable.encode_key('enc_tile', -1, 0);

-- reverse stores 2^63-1 - x, so the newest sorts first.
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

-- md5 and sha1 store the digest, so they support equality only.
CREATE FOREIGN TABLE enc_md5 (k text OPTIONS (encoding 'md5', column 'd:name'), v text) SERVER widetable;
SELECT widetable.encode_key('enc_md5', 'TheFakeMT');
CREATE FOREIGN TABLE enc_sha1 (k text OPTIONS (encoding 'sha1', column 'd:name'), v text) SERVER widetable;
SELECT widetable.encode_key('enc_sha1', 'abc');
-- The same for type name, whose values have no length word.
CREATE FOREIGN TABLE enc_name (k name OPTIONS (encoding 'md5', column 'd:name'), v int) SERVER widetable;
INSERT INTO enc_name VALUES ('b', 1), ('fox', 2), ('', 3), (repeat('n', 63), 4);
SELECT k, v FROM enc_name ORDER BY v;
SELECT k, v FROM enc_name WHERE k = 'fox';
UPDATE enc_name SET k = 'bear' WHERE v = 1;
SELECT k, v FROM enc_name WHERE k = 'bear';
SELECT qualifier, value FROM widetable.cells('enc_name', 'bear') ORDER BY 1;
SELECT widetable.put('enc_name', 'bull'::name, 'd:v', 5);
SELECT k, v FROM enc_name WHERE k = 'bull';

-- Bytes that are not a key of the table are an error, never a wrong value.
SELECT widetable.decode_key('enc_int', '\x8000');
SELECT widetable.decode_key('enc_int', '\x8000000000');
SELECT widetable.decode_key('enc_date', '\x00000001');
SELECT widetable.decode_key('enc_numeric', '\x3080002711');
SELECT widetable.decode_key('enc_numeric', '\x30800027120000');
SELECT widetable.decode_key('enc_inet', '\x040a000001080a000001');
SELECT widetable.decode_key('enc_hex', '5060A109'::bytea);
-- A non-canonical spelling of a value is not a key either: a lookup of the value would
-- not find it.  (-0, a negative NaN, another NaN, another "true".)
SELECT widetable.decode_key('enc_float', '\x7fffffffffffffff');
SELECT widetable.decode_key('enc_float', '\x0007ffffffffffff');
SELECT widetable.decode_key('enc_float', '\xfff8000000000000');
CREATE FOREIGN TABLE enc_bool (k bool OPTIONS (encoding 'binary'), v text) SERVER widetable;
SELECT widetable.decode_key('enc_bool', '\x01');

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

-- An empty value is not a missing one.
INSERT INTO enc_values (k, t, by, num) VALUES ('b', '', '', NULL);
SELECT t, t IS NULL AS t_null, by, num FROM enc_values WHERE k = 'b';

-- Session settings do not affect the bytes.
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
INSERT INTO enc_values (k, iv, ar) VALUES ('c', '-1 day -02:00', '{9}');
SET intervalstyle = 'postgres';
SET datestyle = 'ISO, YMD';
SELECT iv, ar FROM enc_values WHERE k = 'c';

-- Another foreign table may show the same cells as bytes.  Bytes that do not fit
-- a column's encoding are an error, raised only when they are read.
CREATE FOREIGN TABLE enc_raw (k text, i8 bytea) SERVER widetable OPTIONS (table_name 'public.enc_values');
INSERT INTO enc_raw VALUES ('d', '\x0001');
SELECT i8 FROM enc_raw WHERE k = 'a';
SELECT t FROM enc_values WHERE k = 'd';
SELECT i8 FROM enc_values WHERE k = 'd';
INSERT INTO enc_values (k, u2) VALUES ('e', 70000);

DROP TABLE enc_numbers, enc_addresses;
DROP FOREIGN TABLE enc_int, enc_desc, enc_float, enc_numeric, enc_time, enc_date, enc_inet, enc_tile, enc_reverse,
    enc_hex, enc_decimal, enc_md5, enc_sha1, enc_name, enc_bool, enc_values, enc_raw;
