-- From HBase: how do tables move here, byte for byte?
--
-- A wide table stores what HBase stores: row key, family, qualifier, timestamp,
-- value.  So an export is loaded cell by cell, with its timestamps, through
-- layout cells with a bytea key; a second foreign table then shows the same
-- bytes as typed columns.  Nothing is converted.  At the end of each part a
-- check prints the export again and compares.  The guide: doc/hbase.md.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_from_hbase;
SET search_path = gallery_from_hbase;

-- HBase prints bytes as text with \xHH (Bytes.toStringBinary), also for the
-- backslash.  These functions convert in both directions.
CREATE FUNCTION hbase_bytes(printed text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT decode(coalesce(string_agg(CASE n WHEN 1 THEN encode(convert_to(p, 'UTF8'), 'hex')
                                      ELSE left(p, 2) || encode(convert_to(substr(p, 3), 'UTF8'), 'hex') END, '' ORDER BY n), ''), 'hex')
    FROM unnest(string_to_array(printed, '\x')) WITH ORDINALITY x(p, n) $$;
CREATE FUNCTION hbase_printed(bytes bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT coalesce(string_agg(CASE WHEN b BETWEEN 32 AND 126 AND b <> 92 THEN chr(b) ELSE '\x' || upper(lpad(to_hex(b), 2, '0')) END, '' ORDER BY i), '')
    FROM generate_series(0, length(bytes) - 1) i, get_byte(bytes, i) b $$;
-- Timestamps: milliseconds become microseconds.  Newer shells print a time
-- without a zone: the second argument is the zone of the shell.
CREATE FUNCTION hbase_ts(printed text, zone text DEFAULT 'UTC') RETURNS bigint LANGUAGE sql STABLE STRICT AS $$
    SELECT CASE WHEN printed ~ '^\d+$' THEN printed::bigint * 1000
                ELSE (extract(epoch FROM printed::timestamp AT TIME ZONE zone) * 1000000)::bigint END $$;
SELECT hbase_bytes('caf\xC3\xA9 C:\x5Ctmp\x00'), hbase_printed('\x636166c3a920433a5c746d7000'), hbase_printed(''), hbase_bytes('');
SELECT bool_and(hbase_bytes(hbase_printed(b)) = b) AS there_and_back FROM generate_series(0, 255) i, set_byte('\x41005c', 1, i) b;
SELECT hbase_ts('1700000000123'), hbase_ts('2023-11-14T22:13:20.123'), hbase_ts('2023-11-14T23:13:20.123', 'Europe/Berlin');

-- ----------------------------------------------------- the output of a scan
--
-- echo "scan 'useractions', {VERSIONS => 10}" | hbase shell -n
--
-- The key is that of the literature (S87): int userid, Long.MAX_VALUE - stamp,
-- int id, each as Bytes.toBytes writes it.  The lines contain backslashes, so
-- COPY reads them as CSV with a delimiter and a quote that do not occur.
CREATE TABLE scanned (line text);
COPY scanned FROM stdin WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
ROW                   COLUMN+CELL
 \x00\x00\x00\x01\x7F\xFF\xFEt0\x19\xAD\x9F\x00\x00\x00, column=content:name, timestamp=1700000060100, value=logout
 \x00\x00\x00\x01\x7F\xFF\xFEt0\x1A\x97\xFF\x00\x00\x00+ column=content:name, timestamp=1700000000100, value=login
 \x00\x00\x00\x01\x7F\xFF\xFE\xE0\x8E\x04\xFB4\x00\x00\x00* column=content:name, timestamp=1234567890999, value=renamed it
 \x00\x00\x00\x01\x7F\xFF\xFE\xE0\x8E\x04\xFB4\x00\x00\x00* column=content:name, timestamp=1234567890123, value=first
 \x00\x00\x00\x02\x7F\xFF\xFEt0\x1A"\xCF\x00\x00\x00\x07 column=content:hits, timestamp=1700000030005, value=\x00\x00\x00\x00\x00\x00\x00\x03
 \x00\x00\x00\x02\x7F\xFF\xFEt0\x1A"\xCF\x00\x00\x00\x07 column=content:name, timestamp=1700000030005, value=caf\xC3\xA9, C:\x5Ctmp
 \x00\x00\x00\x02\x7F\xFF\xFEt0\x1A"\xCF\x00\x00\x00\x07 column=content:note, timestamp=1700000030005, value=
4 row(s)
Took 0.0381 seconds
\.
CREATE VIEW scanned_cells AS
SELECT hbase_bytes(substr(line, 2, c - 2)) AS rowkey, split_part(col, ':', 1) AS family, hbase_bytes(substr(col, strpos(col, ':') + 1)) AS qualifier,
       hbase_ts(substr(line, t + 12, v - t - 12)) AS ts, hbase_bytes(substr(line, v + 8)) AS value
FROM scanned, strpos(line, ' column=') c, strpos(line, ', timestamp=') t, strpos(line, ', value=') v, substr(line, c + 8, t - c - 8) col
WHERE line LIKE '% column=%, timestamp=%, value=%';
-- S70, S87: the stored table: as typed columns, and as raw cells
CREATE FOREIGN TABLE useractions (
    userid  int    OPTIONS (encoding 'binary'),
    stamp   bigint OPTIONS (encoding 'reverse'),
    id      int    OPTIONS (encoding 'binary'),
    name    text,
    hits    bigint OPTIONS (encoding 'counter'),
    note    text
) SERVER widetable OPTIONS (key 'userid, stamp, id', families '{"content": {"versions": 3}}');
CREATE FOREIGN TABLE useractions_raw (rowkey bytea, family text, qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'gallery_from_hbase.useractions', key 'rowkey', layout 'cells');
INSERT INTO useractions_raw SELECT * FROM scanned_cells;
SELECT userid, to_timestamp(stamp / 1000.0) AS at, id, name, hits, note IS NULL AS note_absent, note = '' AS note_empty FROM useractions;
-- the newest actions of a user: the query that the key was designed for
EXPLAIN (COSTS OFF) SELECT stamp, name FROM useractions WHERE userid = 1 ORDER BY stamp DESC LIMIT 2;
SELECT stamp, name FROM useractions WHERE userid = 1 ORDER BY stamp DESC LIMIT 2;
-- old versions and their timestamps were loaded as well
SELECT ts, convert_from(value, 'UTF8') AS name FROM widetable.cells('useractions', ROW(1, 1234567890123, 42), 3);
SET widetable.as_of = '1234567890500000';
SELECT name FROM useractions WHERE userid = 1 AND stamp = 1234567890123;
RESET widetable.as_of;
-- S87: are the bytes the same?  The keys made by the typed columns:
SELECT widetable.encode_key('useractions', 1, 1234567890123, 42) = '\x000000017ffffee08e04fb340000002a' AS key_as_in_the_literature;
SELECT count(*) AS rows, count(*) FILTER (WHERE widetable.encode_key('useractions', userid, stamp, id) IN (SELECT rowkey FROM useractions_raw)) AS same_key
FROM useractions;
-- and all cells, printed as HBase printed them:
CREATE VIEW printed AS
SELECT format(' %s column=%s:%s, timestamp=%s, value=%s', hbase_printed(rowkey), family, hbase_printed(qualifier), ts / 1000, hbase_printed(value)) AS line
FROM useractions_raw;
SELECT count(*) AS lines, count(*) FILTER (WHERE line NOT IN (SELECT line FROM scanned)) AS differ FROM printed;
SELECT count(*) AS missing FROM scanned WHERE line LIKE '%column=%' AND line NOT IN (SELECT line FROM printed);

-- A loaded counter can be incremented, and SQL writes HBase's bytes.
BEGIN;
SELECT widetable.increment('useractions', ROW(2, 1700000030000, 7), 'hits') AS hits;
SELECT hbase_printed(value) FROM useractions_raw WHERE family = 'content' AND qualifier = 'hits' LIMIT 1;
ROLLBACK;
-- A table with several kinds of keys: a key that the typed columns cannot decode
-- is an error that names the key; with on_bad_key 'skip' its row is skipped.
INSERT INTO useractions_raw VALUES ('meta', 'content', 'version', 0, '7');
SELECT id FROM useractions;
ALTER FOREIGN TABLE useractions OPTIONS (ADD on_bad_key 'skip');
SELECT id FROM useractions;
DELETE FROM useractions_raw WHERE rowkey = 'meta';

-- ------------------------------------------------- JSON from the REST server
--
-- curl -H 'Accept: application/json' 'http://host:8080/useractions/*?maxversions=10'
--
-- Everything is base64, so there are no escapes.  The same table again.
CREATE TABLE fetched (doc jsonb);
COPY fetched FROM stdin WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
{"Row":[{"key":"AAAAAX///nQwGa2fAAAALA==","Cell":[{"column":"Y29udGVudDpuYW1l","timestamp":1700000060100,"$":"bG9nb3V0"}]},{"key":"AAAAAX///nQwGpf/AAAAKw==","Cell":[{"column":"Y29udGVudDpuYW1l","timestamp":1700000000100,"$":"bG9naW4="}]},{"key":"AAAAAX///uCOBPs0AAAAKg==","Cell":[{"column":"Y29udGVudDpuYW1l","timestamp":1234567890999,"$":"cmVuYW1lZCBpdA=="},{"column":"Y29udGVudDpuYW1l","timestamp":1234567890123,"$":"Zmlyc3Q="}]},{"key":"AAAAAn///nQwGiLPAAAABw==","Cell":[{"column":"Y29udGVudDpoaXRz","timestamp":1700000030005,"$":"AAAAAAAAAAM="},{"column":"Y29udGVudDpuYW1l","timestamp":1700000030005,"$":"Y2Fmw6ksIEM6XHRtcA=="},{"column":"Y29udGVudDpub3Rl","timestamp":1700000030005,"$":""}]}]}
\.
CREATE VIEW fetched_cells AS
SELECT decode(r ->> 'key', 'base64') AS rowkey, convert_from(substr(col, 1, colon - 1), 'UTF8') AS family, substr(col, colon + 1) AS qualifier,
       (c ->> 'timestamp')::bigint * 1000 AS ts, decode(c ->> '$', 'base64') AS value
FROM fetched, jsonb_array_elements(doc -> 'Row') r, jsonb_array_elements(r -> 'Cell') c,
     decode(c ->> 'column', 'base64') col, position('\x3a'::bytea IN col) colon;
SELECT count(*) AS cells, (SELECT count(*) FROM (TABLE fetched_cells EXCEPT TABLE scanned_cells) x) AS differ FROM fetched_cells;
CREATE FOREIGN TABLE by_rest (rowkey bytea, family text, qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (key 'rowkey', layout 'cells', families '{"content": {"versions": 3}}');
INSERT INTO by_rest SELECT * FROM fetched_cells;
SELECT count(*) AS differ FROM (TABLE by_rest EXCEPT TABLE useractions_raw) x;

-- -------------------------------------------------------- tab-separated text
--
-- Large tables come from Hive, Spark or a custom job: a line for each cell,
-- with bytes in hexadecimal and microseconds.  COPY reads that directly.
CREATE FOREIGN TABLE by_copy (rowkey bytea, family text, qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (key 'rowkey', layout 'cells', families '{"content": {"versions": 3}}');
COPY by_copy FROM stdin;
\\x000000017ffffe743019ad9f0000002c	content	\\x6e616d65	1700000060100000	\\x6c6f676f7574
\\x000000017ffffee08e04fb340000002a	content	\\x6e616d65	1234567890123000	\\x6669727374
\\x000000027ffffe74301a22cf00000007	content	\\x6e6f7465	1700000030005000	\\x
\.
SELECT count(*) AS cells, (SELECT count(*) FROM (TABLE by_copy EXCEPT TABLE useractions_raw) x) AS differ FROM by_copy;
--
-- The input of ImportTsv, here with columns HBASE_ROW_KEY, d:name, d:city and
-- HBASE_TS_KEY: a line for each row, loaded straight into columns.  Each cell
-- gets the timestamp of the line, so each column has a timestamp column.
CREATE TABLE tsv (k text, name text, city text, ms bigint);
COPY tsv FROM stdin;
row1	Ann	Berlin	1700000000000
row2	Bob	\N	1700000001000
row1	Ann	Paris	1600000000000
\.
CREATE FOREIGN TABLE people (k text COLLATE "C", name text, city text,
    name_at timestamptz OPTIONS (timestamp_of 'name'), city_at timestamptz OPTIONS (timestamp_of 'city'))
    SERVER widetable OPTIONS (key 'k', families '{"d": {"versions": 3}}');
INSERT INTO people SELECT k, name, city, at, at FROM tsv, to_timestamp(ms / 1000.0) at;
SELECT k, name, city, city_at FROM people;                    -- the highest timestamp wins, not the last line
-- Loading cell by cell gives the same result, and works for tables of any shape.
CREATE FOREIGN TABLE people_cells (k text COLLATE "C", family text, qualifier text, ts bigint, value text)
    SERVER widetable OPTIONS (key 'k', layout 'cells', families '{"d": {"versions": 3}}');
INSERT INTO people_cells SELECT k, 'd', q, ms * 1000, v FROM tsv, LATERAL (VALUES ('name', name), ('city', city)) x(q, v) WHERE v IS NOT NULL;
SELECT qualifier, ts, value FROM people_cells WHERE k = 'row1';
SELECT count(*) AS differ FROM people_cells p
WHERE NOT EXISTS (SELECT FROM widetable.cells('people', p.k, 3) c WHERE (c.qualifier, c.ts, convert_from(c.value, 'UTF8')) = (p.qualifier, p.ts, p.value));

-- ------------------------------------------------------------------- Phoenix
--
-- CREATE TABLE metrics (host VARCHAR NOT NULL, at BIGINT NOT NULL, id INTEGER NOT NULL,
--     n INTEGER, load DOUBLE, note VARCHAR CONSTRAINT pk PRIMARY KEY (host, at DESC, id))
--
-- A VARCHAR in the key ends with 00, numbers have the sign bit flipped, DESC
-- inverts all bytes.  Columns are numbered from \x80\x0B; each row has a cell
-- \x00\x00\x00\x00 that only marks the row as existing.
TRUNCATE scanned;
COPY scanned FROM stdin WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
 web1\x00\x7F\xFF\xFEt0\x19\xAD\x9F\x7F\xFF\xFF\xFF column=0:\x00\x00\x00\x00, timestamp=1700000060500, value=x
 web1\x00\x7F\xFF\xFEt0\x19\xAD\x9F\x7F\xFF\xFF\xFF column=0:\x80\x0B, timestamp=1700000060500, value=\x80\x00\x00\x00
 web1\x00\x7F\xFF\xFEt0\x19\xAD\x9F\x7F\xFF\xFF\xFF column=0:\x80\x0C, timestamp=1700000060500, value=\x80\x00\x00\x00\x00\x00\x00\x01
 web1\x00\x7F\xFF\xFEt0\x19\xAD\x9F\x80\x00\x00\x01 column=0:\x00\x00\x00\x00, timestamp=1700000060500, value=x
 web1\x00\x7F\xFF\xFEt0\x19\xAD\x9F\x80\x00\x00\x01 column=0:\x80\x0B, timestamp=1700000060500, value=\x7F\xFF\xFF\xFD
 web1\x00\x7F\xFF\xFEt0\x19\xAD\x9F\x80\x00\x00\x01 column=0:\x80\x0C, timestamp=1700000060500, value=@\x10\x00\x00\x00\x00\x00\x00
 web1\x00\x7F\xFF\xFEt0\x1A\x97\xFF\x80\x00\x00\x01 column=0:\x00\x00\x00\x00, timestamp=1700000000500, value=x
 web1\x00\x7F\xFF\xFEt0\x1A\x97\xFF\x80\x00\x00\x01 column=0:\x80\x0B, timestamp=1700000000500, value=\x80\x00\x00\x0A
 web1\x00\x7F\xFF\xFEt0\x1A\x97\xFF\x80\x00\x00\x01 column=0:\x80\x0C, timestamp=1700000000500, value=\xBF\xF8\x00\x00\x00\x00\x00\x01
 web1\x00\x7F\xFF\xFEt0\x1A\x97\xFF\x80\x00\x00\x01 column=0:\x80\x0D, timestamp=1700000000500, value=fine
 web10\x00\x7F\xFF\xFEt0\x1A\x9B\xE7\x80\x00\x00\x05 column=0:\x00\x00\x00\x00, timestamp=1700000060500, value=x
 web10\x00\x7F\xFF\xFEt0\x1A\x9B\xE7\x80\x00\x00\x05 column=0:\x80\x0B, timestamp=1700000060500, value=\x80\x00\x00\x07
 web10\x00\x7F\xFF\xFEt0\x1A\x9B\xE7\x80\x00\x00\x05 column=0:\x80\x0D, timestamp=1700000060500, value=another host
\.
-- Declared as in Phoenix: the key with delimiter '\x00' and desc, INTEGER as
-- 'ordered'.
CREATE FOREIGN TABLE metrics (
    host   text   OPTIONS (delimiter '\x00') COLLATE "C",
    at     bigint,
    id     int,
    n      int    OPTIONS (column '0:\x80\x0B', encoding 'ordered'),
    load   float8 OPTIONS (column '0:\x80\x0C'),
    note   text   OPTIONS (column '0:\x80\x0D'),
    marker text   OPTIONS (column '0:\x00\x00\x00\x00')
) SERVER widetable OPTIONS (key 'host, at desc, id', families '{"0": {}}');
CREATE FOREIGN TABLE metrics_raw (rowkey bytea, family text, qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'gallery_from_hbase.metrics', key 'rowkey', layout 'cells');
-- Only DOUBLE needs conversion: Phoenix adds one to the ordered bits.
CREATE FUNCTION phoenix_double(v bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT int8send(CASE WHEN bits < 0 THEN bits # (-9223372036854775808) ELSE ~bits END)
    FROM (SELECT CASE WHEN b = -9223372036854775808 THEN 9223372036854775807 ELSE b - 1 END AS bits
          FROM (SELECT ('x' || encode(v, 'hex'))::bit(64)::bigint AS b) x) y $$;
SELECT v AS phoenix, phoenix_double(v) AS ieee FROM unnest('{"\\x8000000000000001","\\xbff8000000000001","\\x4010000000000000"}'::bytea[]) v;    -- 0, 1.5, -1
INSERT INTO metrics_raw SELECT rowkey, family, qualifier, ts, CASE qualifier WHEN '\x800c' THEN phoenix_double(value) ELSE value END FROM scanned_cells;
SELECT host, to_timestamp(at / 1000) AS at, id, n, load, note FROM metrics;
EXPLAIN (COSTS OFF) SELECT * FROM metrics WHERE host = 'web1' AND at > 1700000000000 ORDER BY at DESC, id;
SELECT at, id, n FROM metrics WHERE host = 'web1' AND at > 1700000000000 ORDER BY at DESC, id;
EXPLAIN (COSTS OFF) SELECT host, at FROM metrics WHERE host >= 'web1' AND host < 'web2' ORDER BY host, at DESC;
SELECT bool_and(rowkey IN (SELECT widetable.encode_key('metrics', host, at, id) FROM metrics)) AS keys_byte_for_byte FROM metrics_raw;
-- New rows look like Phoenix's rows.
INSERT INTO metrics VALUES ('web2', 1700000000001, -7, 5, NULL, 'new', 'x');
SELECT hbase_printed(rowkey) AS rowkey, hbase_printed(qualifier) AS qualifier, hbase_printed(value) AS value FROM metrics_raw WHERE rowkey >= 'web2';
-- Salted tables (SALT_BUCKETS = 4) have the same first byte; a lookup of a
-- loaded row checks its salt.
CREATE FOREIGN TABLE users (name text COLLATE "C", v text OPTIONS (column '0:\x80\x0B')) SERVER widetable OPTIONS (key 'name', salt_buckets '4');
CREATE FOREIGN TABLE users_raw (rowkey bytea, family text, qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'gallery_from_hbase.users', key 'rowkey', layout 'cells', salt_buckets '4');
SELECT name, widetable.encode_key('users', name) AS rowkey FROM unnest('{a,b,abc,user1,user2}'::text[]) name;
-- (The table computes the salt itself, so the load cuts off the exported byte.)
INSERT INTO users_raw SELECT substr(k, 2), '0', '\x800b', 1700000000000000, 'v'
FROM unnest('{"\\x0061","\\x0162","\\x01616263","\\x017573657231","\\x027573657232"}'::bytea[]) k;
SELECT name, v FROM users ORDER BY name;
SELECT v FROM users WHERE name = 'user2';

-- ----------------------------------------------------------------- with SQL
-- Phoenix's table in a new design, with all its timestamps: keys as columns,
-- cells by name, one statement.
CREATE FOREIGN TABLE metrics_cells (host text OPTIONS (delimiter '\x00') COLLATE "C", at bigint, id int, family text, qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'gallery_from_hbase.metrics', key 'host, at desc, id', layout 'cells');
CREATE FOREIGN TABLE readings (host text COLLATE "C", id int, at timestamptz, note text, load float8, n int OPTIONS (encoding 'ordered'))
    SERVER widetable OPTIONS (key 'host, id, at desc');
CREATE FOREIGN TABLE readings_cells (host text COLLATE "C", id int, at timestamptz, family text, qualifier text, ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'gallery_from_hbase.readings', key 'host, id, at desc', layout 'cells');
INSERT INTO readings_cells
SELECT host, id, to_timestamp(at / 1000.0), 'd', name, ts, value
FROM metrics_cells JOIN (VALUES ('\x800b'::bytea, 'n'), ('\x800c', 'load'), ('\x800d', 'note')) names(number, name) ON number = qualifier;
SELECT * FROM readings;
SELECT count(*) AS lost FROM metrics m WHERE NOT EXISTS
    (SELECT FROM readings r WHERE (r.host, r.id, r.at) = (m.host, m.id, to_timestamp(m.at / 1000.0)) AND r.load IS NOT DISTINCT FROM m.load AND r.n = m.n);
