-- Keys: how columns make a row key, and the small tools for designing one.
-- The key decides what is cheap: rows are stored in the order of its bytes.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- ------------------------------------------------------------ composite keys

-- Parts of a fixed width stand next to each other.  Text that is not the last
-- part ends with 00 01, and a 00 inside becomes 00 FF: any value may be there,
-- and keys still sort by text first, then by number.
CREATE FOREIGN TABLE key_comp (name text COLLATE "C", n int, v text) SERVER widetable OPTIONS (key 'name, n');
SELECT name, n, widetable.encode_key('key_comp', name, n) AS key
FROM (VALUES ('a', 2), ('a', -1), ('ab', 0), ('', 5), ('a b', 1)) x(name, n) ORDER BY key;
CREATE FOREIGN TABLE key_bytes (b bytea, n int, v text) SERVER widetable OPTIONS (key 'b, n');
SELECT b, n, widetable.encode_key('key_bytes', b, n) AS key
FROM (VALUES ('\x61'::bytea, 1), ('\x6100', 1), ('\x610062', 1), ('\x6101', 1), ('\x6162', 1)) x(b, n) ORDER BY key;
SELECT widetable.decode_key('key_bytes', '\x6100ff62000180000001');

-- With fewer columns encode_key gives a prefix: all keys of that name begin so.
-- A row value does as well as a list.
SELECT widetable.encode_key('key_comp', 'a') AS prefix, widetable.encode_key('key_comp', ROW('a', 2)) AS key;
SELECT widetable.prefix_end(widetable.encode_key('key_comp', 'a'));

-- Arguments are converted as in an INSERT; what would lose something is refused.
SELECT widetable.encode_key('key_comp', 'a'::varchar, 2::bigint), widetable.encode_key('key_comp', 'a', '2');
SELECT widetable.encode_key('key_comp', 'a', 2.5);
SELECT widetable.encode_key('key_comp', 'a', 3000000000);
SELECT widetable.encode_key('key_comp', 'a', now());
SELECT widetable.encode_key('key_comp', 'a', 1, 2);
SELECT widetable.encode_key('key_comp', 'a', NULL);
SELECT widetable.encode_key('key_comp', NULL);

-- desc: newest first.  Text that descends always has its terminator.
CREATE FOREIGN TABLE key_desc (who text COLLATE "C", at timestamptz, v text) SERVER widetable
    OPTIONS (key 'who, at desc');
SELECT at, widetable.encode_key('key_desc', 'u', at) AS key
FROM (VALUES ('2024-01-01Z'::timestamptz), ('2024-06-01Z'), ('2023-01-01Z')) x(at) ORDER BY key;
CREATE FOREIGN TABLE key_desc_text (t text COLLATE "C", v text) SERVER widetable OPTIONS (key 't desc');
SELECT t, widetable.encode_key('key_desc_text', t) AS key FROM unnest('{a,ab,b,""}'::text[]) t ORDER BY key;
SELECT widetable.decode_key('key_desc_text', widetable.encode_key('key_desc_text', 'ab'));

-- A delimiter joins text parts by a character, as hand-made keys do.
CREATE FOREIGN TABLE key_delim (follower text OPTIONS (delimiter '+'), followed text, name text) SERVER widetable
    OPTIONS (key 'follower, followed');
SELECT convert_from(widetable.encode_key('key_delim', 'AK', 'foo'), 'UTF8'),
       convert_from(widetable.encode_key('key_delim', 'AK'), 'UTF8');
SELECT widetable.decode_key('key_delim', 'AK+foo+bar'::bytea);
SELECT widetable.encode_key('key_delim', 'A+K', 'foo');

-- Limits: a key has 1 to 32767 bytes.
CREATE FOREIGN TABLE key_text (k text, v text) SERVER widetable;
SELECT widetable.encode_key('key_text', '');
SELECT length(widetable.encode_key('key_text', repeat('x', 32767)));
SELECT length(widetable.encode_key('key_text', repeat('x', 32768)));

-- An enum, and a domain: the base type counts.
CREATE TYPE key_mood AS ENUM ('sad', 'ok');
CREATE FOREIGN TABLE key_enum (k key_mood OPTIONS (encoding 'text'), v text) SERVER widetable;
SELECT widetable.encode_key('key_enum', 'ok'), widetable.decode_key('key_enum', 'sad'::bytea);
SELECT widetable.decode_key('key_enum', 'glad'::bytea);
CREATE DOMAIN key_positive AS int CHECK (VALUE > 0);
CREATE FOREIGN TABLE key_domain (k key_positive, v text) SERVER widetable;
SELECT widetable.encode_key('key_domain', 1);

-- --------------------------------------------------------------------- salt

-- Keys that only grow end up in one place; a hash byte in front spreads them.
-- Queries do not change.  The hash is Phoenix's.
SELECT k, widetable.salt(k::bytea, 4) AS of_4, widetable.salt(k::bytea, 16) AS of_16
FROM unnest('{a,b,abc,user1,user2}'::text[]) k;
SELECT widetable.salt('\x80000001', 16);
CREATE FOREIGN TABLE key_salted (k text, v text) SERVER widetable OPTIONS (salt_buckets '4');
SELECT k, widetable.encode_key('key_salted', k) FROM unnest('{a,b,user2}'::text[]) k;
SELECT widetable.decode_key('key_salted', '\x0275736572ff'), widetable.decode_key('key_salted', '\x027573657232');
SELECT widetable.decode_key('key_salted', '\x027573657232');

-- ------------------------------------------------------------- small helpers

-- The first key behind all keys with a prefix; NULL when there is none.
SELECT p, widetable.prefix_end(p) FROM unnest('{"\\x6162","\\x61ff","\\xfeff","\\xff","\\xffff","\\x"}'::bytea[]) p;

-- Reversed time: later is smaller, for keys that are made by hand.
SELECT widetable.reverse_time('1970-01-01Z'), widetable.reverse_time('2024-01-01Z'), widetable.reverse_time('infinity');
SELECT widetable.reverse_time('1969-12-31Z');

-- Reversed host names: a site and everything below it are one range.
SELECT h, widetable.reverse_host(h)
FROM unnest('{hbase.apache.org/book.html,https://hbase.apache.org/book.html,apache.org:8080,localhost,10.1.2.3/x,""}'::text[]) h;

-- Tiles of the world: a tile's key is the prefix of all tiles in it.
SELECT widetable.quadkey(35.68, 139.77, z) FROM generate_series(0, 12, 4) z;
SELECT widetable.quadkey(90, 180, 3), widetable.quadkey(-90, -180, 3), widetable.quadkey(0, 0, 3);
SELECT widetable.quadkey(91, 0, 3);
SELECT widetable.quadkey(0, 0, 32);

-- Packed: two bits a digit, left-aligned when a zoom is given, so that a tile
-- is a range of numbers.
SELECT widetable.quadkey_pack('12301230'), to_hex(widetable.quadkey_pack('0121', 16)) AS "from",
       to_hex(widetable.quadkey_pack('0122', 16)) AS "to";
SELECT widetable.quadkey_pack('124');
SELECT widetable.quadkey_pack('0123', 3);

-- Ids in order of time: never the same, always rising.
SELECT count(DISTINCT id) AS ids, bool_and(id > before) AS rising, min(length(id)) AS bytes
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM (SELECT n, widetable.flake_id() AS id FROM generate_series(1, 1000) n) x) y;

-- Reading how a table makes its keys needs the right to read the table.
CREATE ROLE regress_key_reader;
SET ROLE regress_key_reader;
SELECT widetable.encode_key('key_comp', 'a', 1);
RESET ROLE;
GRANT SELECT (name, n) ON key_comp TO regress_key_reader;
SET ROLE regress_key_reader;
SELECT widetable.encode_key('key_comp', 'a', 1);
RESET ROLE;
SELECT widetable.encode_key('pg_class', 'a');

DROP FOREIGN TABLE key_comp, key_bytes, key_desc, key_desc_text, key_delim, key_text, key_enum, key_domain, key_salted;
DROP TYPE key_mood;
DROP DOMAIN key_positive;
DROP ROLE regress_key_reader;
