-- What the store of the first release has, in the order in which it came there: `-- FLUSHED` ends
-- what is in sorted files, the rest is in the log only.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET widetable.clock = '2024-01-01 00:00:00+00';
CREATE EXTENSION widetable;
CREATE SCHEMA old;
CREATE TYPE old.mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE old.pair AS (a int, b text);
CREATE DOMAIN old.small AS int CHECK (VALUE < 1000);

-- a key of several columns, one of them backwards; versions, time to live, windows, codecs, Bloom filters
CREATE FOREIGN TABLE old.visits (
    site text COLLATE "C", day date, page bigint OPTIONS (encoding 'unsigned8'),
    hits bigint OPTIONS (column 'c:hits', encoding 'counter'),
    title text OPTIONS (column 'd:title'), score numeric OPTIONS (column 'd:score', encoding 'ordered'),
    seen timestamptz OPTIONS (column 'd:seen', encoding 'reverse'), seen_at timestamptz OPTIONS (timestamp_of 'd:seen'),
    tags jsonb OPTIONS (family 't'), note text OPTIONS (column 'x:note'))
    SERVER widetable OPTIONS (key 'site, day desc, page', families '{
        "d": {"versions": 3, "min_versions": 1, "ttl": "100 years", "compression": "zstd:9", "bloom": "rowcol"},
        "c": {"compression": "none", "block_size": 1024, "in_memory": true},
        "t": {"versions": 2, "bloom": "prefix:3", "keep_deleted": true},
        "x": {"ttl": "1 day", "compaction": "window:1 hour"}}');
CREATE FOREIGN TABLE old.visit_cells (site text COLLATE "C", day date, page bigint OPTIONS (encoding 'unsigned8'),
    family text COLLATE "C", qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'old.visits', layout 'cells', key 'site, day desc, page');
-- salt, digests, delimiters
CREATE FOREIGN TABLE old.salted (k text COLLATE "C", v int OPTIONS (encoding 'decimal')) SERVER widetable OPTIONS (salt_buckets '8');
CREATE FOREIGN TABLE old.digest (url text OPTIONS (encoding 'md5', column 'd:url'), v text) SERVER widetable;
CREATE FOREIGN TABLE old.joined (a text OPTIONS (delimiter '+') COLLATE "C", b text COLLATE "C", v text)
    SERVER widetable OPTIONS (key 'a, b', insert_mode 'error');
-- every type; arrays, composites and ranges are text in this release
CREATE FOREIGN TABLE old.types (k int, b bool, i2 int2, i4 int OPTIONS (encoding 'hex'), f4 float4, f8 float8 OPTIONS (encoding 'ordered'),
    n numeric, t text, vc varchar(10), by bytea, ts timestamptz, d date, tod time, iv interval, u uuid, ip inet, j jsonb, a int[],
    m old.mood, p old.pair, s old.small, r int4range) SERVER widetable;
-- a stored table with a name of its own, shown twice, and a plain one beside ordinary tables
CREATE FOREIGN TABLE old."Odd.name" (k int, v text) SERVER widetable OPTIONS (table_name 'the odd "one"');
CREATE FOREIGN TABLE old.odd2 (k int, v text) SERVER widetable OPTIONS (table_name 'the odd "one"');
CREATE TABLE old.ordinary (k int, v text);
CREATE TABLE old.parted (k int, v text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE old.part_1 PARTITION OF old.parted FOR VALUES FROM (0) TO (100) SERVER widetable OPTIONS (key 'k');
CREATE TABLE old.part_2 PARTITION OF old.parted FOR VALUES FROM (100) TO (200);
CREATE FOREIGN TABLE old.series (sensor int, at timestamptz, v float8) SERVER widetable
    OPTIONS (key 'sensor, at desc', families '{"d": {"compaction": "window:1 day", "bloom": "none"}}');
CREATE FOREIGN TABLE old.large (k int, v text) SERVER widetable;
CREATE FOREIGN TABLE old.gone (k int, v text) SERVER widetable;
CREATE FOREIGN TABLE old.emptied (k int, v text) SERVER widetable;

INSERT INTO old.visits (site, day, page, title, score, seen, tags, note)
    SELECT 's' || g % 3, date '2024-01-01' + g % 4, g, 'page ' || g, g * 1.25, timestamptz '2024-01-01 00:00:00+00' + g * interval '1 s',
        jsonb_build_object('tag' || g % 5, g, 'b', g), 'expired' FROM generate_series(1, 60) g;
SELECT count(widetable.increment('old.visits', ROW('s1'::text, date '2024-01-02', 1::bigint), 'hits', g)) FROM generate_series(1, 20) g;
INSERT INTO old.salted SELECT 'k' || g, g FROM generate_series(1, 50) g;
INSERT INTO old.digest SELECT 'http://a.example/' || g, 'v' || g FROM generate_series(1, 10) g;
INSERT INTO old.joined VALUES ('a', 'b', 'ab'), ('a', 'c', 'ac'), ('b', '', 'b');
INSERT INTO old.types VALUES
    (1, true, -2, 255, 1.5, -2.5, 12345.678900, 'text', 'varchar', '\x0001ff', '2024-02-29 12:34:56.789+00', '2024-02-29', '12:34:56.789',
     '1 month 2 days 03:04:05', '00112233-4455-6677-8899-aabbccddeeff', '10.1.2.3/8', '{"a": [1, null]}', '{1,NULL,3}', 'happy', '(7,"x y")', 999, '[1,5)'),
    (3, NULL, 0, 0, 'NaN', '-Infinity', 'NaN', '', '', '', '-infinity', 'infinity', NULL, NULL, NULL, '::1', '"s"', '{}', 'sad', '(,)', -1, 'empty');
INSERT INTO old.types (k, t) VALUES (2, 'two');
INSERT INTO old."Odd.name" VALUES (1, 'one'), (2, 'two');
INSERT INTO old.parted SELECT g, 'p' || g FROM generate_series(95, 105) g;
INSERT INTO old.series SELECT g % 3, timestamptz '2024-01-01 00:00:00+00' + g * interval '1 hour', g / 4.0 FROM generate_series(1, 200) g;
INSERT INTO old.gone SELECT g, 'gone' FROM generate_series(1, 20) g;
INSERT INTO old.emptied SELECT g, 'emptied' FROM generate_series(1, 20) g;
-- a family that is dropped again
ALTER FOREIGN TABLE old.salted OPTIONS (ADD families '{"d": {}, "extra": {}}');
SELECT widetable.put('old.salted', 'k7'::text, 'extra:q', 'dropped'::text);
SELECT widetable.flush();
ALTER FOREIGN TABLE old.salted OPTIONS (SET families '{"d": {}, "extra": null}');
-- newer versions of some rows, deletes of every kind, in a second generation of files
SET widetable.clock = '2024-01-02 00:00:00+00';
UPDATE old.visits SET title = 'second ' || page WHERE page % 4 = 0;
UPDATE old.visits SET seen_at = seen_at + interval '1 min' WHERE page % 7 = 0;
UPDATE old.visits SET tags = tags || '{"more": "m"}' WHERE page % 5 = 0;
DELETE FROM old.visits WHERE page IN (10, 20);
SELECT widetable.delete_column('old.visits', ROW('s0'::text, date '2024-01-04', 3::bigint), 'title');
SELECT widetable.delete_family('old.visits', ROW('s0'::text, date '2024-01-03', 6::bigint), 't');
SELECT widetable.delete_version('old.visits', ROW('s0'::text, date '2024-01-01', 12::bigint), 'title');
SELECT widetable.append('old.visits', ROW('s1'::text, date '2024-01-02', 1::bigint), 'title', ' and more'::text);
TRUNCATE old.emptied;
DROP FOREIGN TABLE old.gone;
UPDATE old.odd2 SET v = 'TWO' WHERE k = 2;
-- a large transaction: sorted files at its commit, whose bytes are in the log as well
BEGIN;
SET LOCAL widetable.write_memory = '64kB';
INSERT INTO old.large SELECT g, repeat('large ' || g % 7 || ' ', 20) FROM generate_series(1, 5000) g;
SAVEPOINT s;
DELETE FROM old.large WHERE k > 100;
ROLLBACK TO s;
COMMIT;
SELECT widetable.flush();
-- FLUSHED
-- the log before this is not needed any more, nor are the old rows of the catalogs
DELETE FROM pg_statistic;
VACUUM FULL;
CHECKPOINT;
SELECT pg_switch_wal();
CHECKPOINT;
SET widetable.clock = '2024-01-03 00:00:00+00';
INSERT INTO old.visits (site, day, page, title, score) VALUES ('log', '2024-01-03', 100, 'in the log', 0.5);
UPDATE old.visits SET title = 'third ' || page WHERE page % 8 = 0;
SELECT count(widetable.increment('old.visits', ROW('s1'::text, date '2024-01-02', 1::bigint), 'hits', 1000)) FROM generate_series(1, 5);
DELETE FROM old.salted WHERE k = 'k1';
INSERT INTO old.emptied VALUES (1, 'after TRUNCATE');
BEGIN;
INSERT INTO old.ordinary VALUES (1, 'both');
INSERT INTO old.joined VALUES ('both', 'x', 'with an ordinary row');
COMMIT;
BEGIN;
INSERT INTO old.joined VALUES ('rolled', 'back', 'never');
SAVEPOINT s;
INSERT INTO old.ordinary VALUES (2, 'never');
ROLLBACK;
CREATE FOREIGN TABLE old.late (k int, v text) SERVER widetable OPTIONS (families '{"late": {"versions": 2}}');
INSERT INTO old.late VALUES (1, 'made after the last flush');
ALTER FOREIGN TABLE old.late RENAME TO later;
BEGIN;
SET LOCAL widetable.write_memory = '64kB';
INSERT INTO old.large SELECT g, 'second ' || g FROM generate_series(5001, 8000) g;
COMMIT;
