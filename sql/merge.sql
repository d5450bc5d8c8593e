--
-- Families with a merge operator: a put is added to what is there.
--
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE FOREIGN TABLE mg_hits (url text COLLATE "C", n bigint OPTIONS (column 'c:n'), lo bigint OPTIONS (column 'lo:ms'),
        hi bigint OPTIONS (column 'hi:ms'), first timestamptz OPTIONS (column 'lo:at'), last timestamptz OPTIONS (column 'hi:at'),
        cost double precision OPTIONS (column 's:cost'), title text OPTIONS (column 'f:title'))
    SERVER widetable OPTIONS (key 'url', families
        '{"f": {}, "c": {"merge": "sum"}, "lo": {"merge": "min"}, "hi": {"merge": "max"}, "s": {"merge": "sum"}}');
CREATE FOREIGN TABLE mg_hits_cells (url text COLLATE "C", family text, qualifier text COLLATE "C", ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'public.mg_hits', key 'url', layout 'cells');

-- INSERT and COPY add, and replace what has no operator
INSERT INTO mg_hits VALUES ('/a', 1, 20, 20, '2026-01-02', '2026-01-02', 0.5, 'one');
INSERT INTO mg_hits VALUES ('/a', 1, 10, 10, '2026-01-01', '2026-01-01', 0.25, 'two'), ('/b', 1, 7, 7, NULL, NULL, 1, NULL);
COPY mg_hits (url, n, hi) FROM stdin;
/a	40	30
/c	2	5
/a	2	1
\.
SELECT * FROM mg_hits;
-- one statement that adds to a row twice, and a function
SELECT widetable.add('mg_hits', '/a', 'n', 5), widetable.add('mg_hits', '/a', 'n', -1::bigint), widetable.add('mg_hits', '/a', 'cost', 1);
SELECT widetable.add('mg_hits', '/d', 'c:other', 3), widetable.add('mg_hits', '/d', 's:other', 0.5);
SELECT url, n, cost FROM mg_hits ORDER BY url DESC;
SELECT widetable.get('mg_hits', '/d');
SELECT family, qualifier, value FROM mg_hits_cells WHERE url = '/d';
-- put adds, too
SELECT widetable.put('mg_hits', '/c', 'n', 8), widetable.put('mg_hits', '/c', '{"c:n": "90", "f:title": "three"}'::jsonb);
SELECT n, title FROM mg_hits WHERE url = '/c';

-- UPDATE sets, DELETE starts anew
UPDATE mg_hits SET n = 1000 WHERE url = '/a' RETURNING n, lo, hi;
UPDATE mg_hits SET n = n + 1, lo = NULL WHERE url = '/a' RETURNING n, lo, hi;
UPDATE mg_hits h SET n = v.x FROM (VALUES ('/b', 5::bigint)) v(u, x) WHERE h.url = v.u;
INSERT INTO mg_hits (url, n, lo) VALUES ('/a', 1, 77), ('/b', 1, 77);
SELECT url, n, lo, hi FROM mg_hits WHERE url <= '/b';
DELETE FROM mg_hits WHERE url = '/b';
INSERT INTO mg_hits (url, n) VALUES ('/b', 3);
SELECT url, n, lo, hi FROM mg_hits WHERE url = '/b';
-- a row that moves takes along what was added
UPDATE mg_hits SET url = '/z' WHERE url = '/a';
SELECT url, n, lo, hi, cost FROM mg_hits;

-- a transaction sees what it adds; a savepoint undoes it
BEGIN;
INSERT INTO mg_hits (url, n) VALUES ('/b', 10);
SAVEPOINT s;
INSERT INTO mg_hits (url, n) VALUES ('/b', 100);
DELETE FROM mg_hits WHERE url = '/c';
INSERT INTO mg_hits (url, n) VALUES ('/c', 100);
SELECT url, n FROM mg_hits WHERE url < '/d';
ROLLBACK TO s;
INSERT INTO mg_hits (url, n) VALUES ('/b', 1000);
UPDATE mg_hits SET n = 7 WHERE url = '/c';
INSERT INTO mg_hits (url, n) VALUES ('/c', 1);
SELECT url, n FROM mg_hits WHERE url < '/d';
COMMIT;
SELECT url, n FROM mg_hits WHERE url < '/d';

-- flushed, compacted, added to again; conditions, aggregates, order
SELECT widetable.flush();
SELECT widetable.compact('mg_hits');
SELECT url, n FROM mg_hits WHERE n > 5 ORDER BY url;
INSERT INTO mg_hits (url, n) SELECT '/' || chr(97 + i % 4), i FROM generate_series(1, 1000) i;
SELECT url, n FROM mg_hits WHERE n > 5 ORDER BY url DESC;
SELECT count(*), sum(n), max(n) FROM mg_hits;
SELECT widetable.flush();
SELECT count(*), sum(n), max(n) FROM mg_hits;
SELECT url, sum(n) FROM mg_hits GROUP BY url ORDER BY url LIMIT 2;
SELECT url, n FROM mg_hits WHERE url IN ('/a', '/d') AND n < 200000;
SELECT h.url, h.n FROM (VALUES ('/a'), ('/x'), ('/c')) v(u) JOIN mg_hits h ON h.url = v.u ORDER BY 1;

-- what cannot be added, or told apart
SELECT widetable.increment('mg_hits', '/a', 'n', 1);
SELECT widetable.increment('mg_hits', '/a', '{"n": 1}'::jsonb);
SELECT widetable.append('mg_hits', '/a', 'c:n', 'x');
SELECT widetable.check_and_mutate('mg_hits', '/a', 'n', 'is not null', NULL::bigint, '[{"increment": {"n": 1}}]');
SELECT widetable.check_and_mutate('mg_hits', '/a', 'n', '>', 0::bigint, '[{"put": {"n": 1}}]');
SELECT widetable.add('mg_hits', '/a', 'title', 'x');
SELECT widetable.add('mg_hits', '/a', 'n', 'x');
SELECT widetable.add('mg_hits', '/a', 'n', NULL::bigint);
SELECT widetable.add('mg_hits', '/a', 'c:other', 'text');
SELECT widetable.put('mg_hits', '/a', 'c:other', 5);
SELECT widetable.put('mg_hits', '/a', 'n', 5, ttl => '1 day');
SELECT widetable.delete_version('mg_hits', '/a', 'n');
SELECT widetable.delete_column('mg_hits', '/a', 'n', 5);
SELECT widetable.delete_family('mg_hits', '/a', 'c', 5);
SELECT widetable.delete_family_version('mg_hits', '/a', 'c', 5);
INSERT INTO mg_hits_cells (url, family, qualifier, value) VALUES ('/a', 'c', 'n', '\x05');
UPDATE mg_hits_cells SET qualifier = 'm' WHERE url = '/a' AND family = 'c';

-- layout cells: INSERT adds, UPDATE sets, DELETE starts anew
DELETE FROM mg_hits;
INSERT INTO mg_hits_cells (url, family, qualifier, value) VALUES ('/a', 'c', 'n', '\x0000000000000005'), ('/a', 'c', 'n', '\x0000000000000006');
SELECT url, family, qualifier, value FROM mg_hits_cells;
UPDATE mg_hits_cells SET value = '\x0000000000000001' WHERE family = 'c';
INSERT INTO mg_hits_cells (url, family, qualifier, value) VALUES ('/a', 'c', 'n', '\x0000000000000006');
SELECT url, family, qualifier, value FROM mg_hits_cells;
DELETE FROM mg_hits_cells WHERE family = 'c';
SELECT url, family, qualifier, value FROM mg_hits_cells;

-- a chunk of cells has what was added, not what it comes to; TRUNCATE keeps the operator
CREATE FOREIGN TABLE mg_kept (k int, n bigint OPTIONS (column 'c:n'), ts bigint OPTIONS (timestamp_of 'n'))
    SERVER widetable OPTIONS (key 'k', families '{"c": {"merge": "sum", "versions": 3}}');
CREATE FOREIGN TABLE mg_kept_cells (k int, family text, qualifier text COLLATE "C", ts bigint, version int, value bytea)
    SERVER widetable OPTIONS (table_name 'public.mg_kept', key 'k', layout 'cells');
INSERT INTO mg_kept SELECT 1, i, i FROM generate_series(1, 5) i;
SELECT ts, version, value FROM mg_kept_cells;
CREATE TABLE mg_chunks AS SELECT widetable.export_cells('mg_kept') AS c;
BEGIN;
TRUNCATE mg_kept;
INSERT INTO mg_kept VALUES (2, 1, 1), (2, 2, 2);
SELECT widetable.import_cells('mg_kept', c) FROM mg_chunks;
SELECT k, ts, version, value FROM mg_kept_cells;
COMMIT;
SELECT widetable.flush();
SELECT widetable.compact('mg_kept');
SELECT k, ts, version, value FROM mg_kept_cells;
-- with a timestamp that is set the value is, too
UPDATE mg_kept SET n = 100, ts = 9 WHERE k = 1;
SELECT k, ts, version, value FROM mg_kept_cells WHERE k = 1;
SET widetable.as_of = '1970-01-01 00:00:00.000002+00';
SELECT k, n FROM mg_kept;
RESET widetable.as_of;

-- a map shows bytes
CREATE FOREIGN TABLE mg_maps (k int, m jsonb OPTIONS (family 'c')) SERVER widetable OPTIONS (key 'k', families '{"c": {"merge": "sum"}}');
SELECT widetable.add('mg_maps', 1, 'c:a', 5), widetable.add('mg_maps', 1, 'c:b', 6), widetable.add('mg_maps', 1, 'c:a', 5);
SELECT * FROM mg_maps;
INSERT INTO mg_maps VALUES (1, '{"b": "\\x0000000000000001"}');
UPDATE mg_maps SET m = m || '{"a": "\\x0000000000000002"}';
SELECT * FROM mg_maps;
INSERT INTO mg_maps VALUES (1, '{"b": "text"}');

-- definitions
ALTER FOREIGN TABLE mg_kept OPTIONS (SET families '{"c": {"merge": "max", "versions": 3}}');
ALTER FOREIGN TABLE mg_kept OPTIONS (SET families '{"c": {"merge": "sum", "versions": 4}}');
ALTER FOREIGN TABLE mg_kept OPTIONS (SET families '{"c": {"merge": "sum", "versions": 3, "ttl": "1 day"}}');
ALTER FOREIGN TABLE mg_kept OPTIONS (SET families '{"c": {"versions": 3, "block_size": 4096}}');
ALTER FOREIGN TABLE mg_kept ADD COLUMN x int OPTIONS (column 'c:x');
ALTER FOREIGN TABLE mg_kept ADD COLUMN x double precision OPTIONS (column 'c:x');
ALTER FOREIGN TABLE mg_kept ADD COLUMN x bigint OPTIONS (column 'c:x', encoding 'hex');
ALTER FOREIGN TABLE mg_kept ADD COLUMN x bigint OPTIONS (column 'c:x', encoding 'counter');
ALTER FOREIGN TABLE mg_hits OPTIONS (SET families
    '{"f": {"merge": "sum"}, "c": {"merge": "sum"}, "lo": {"merge": "min"}, "hi": {"merge": "max"}, "s": {"merge": "sum"}}');
CREATE FOREIGN TABLE mg_wrong (k int, n bigint OPTIONS (column 'c:n')) SERVER widetable OPTIONS (key 'k', families '{"c": {"merge": "product"}}');
CREATE FOREIGN TABLE mg_wrong (k int, n double precision OPTIONS (column 'c:n')) SERVER widetable OPTIONS (key 'k', families '{"c": {"merge": "or"}}');
CREATE FOREIGN TABLE mg_wrong (k int, n timestamptz OPTIONS (column 'c:n')) SERVER widetable OPTIONS (key 'k', families '{"c": {"merge": "sum"}}');
CREATE FOREIGN TABLE mg_wrong (k int, n bigint OPTIONS (column 'c:n'), x double precision OPTIONS (column 'c:x')) SERVER widetable
    OPTIONS (key 'k', families '{"c": {"merge": "sum"}}');
CREATE FOREIGN TABLE mg_wrong (k int, n bigint OPTIONS (column 'c:n')) SERVER widetable OPTIONS (key 'k', families '{"c": {"merge": "sum", "keep_deleted": true}}');
CREATE FOREIGN TABLE mg_wrong (k int, n text OPTIONS (column 'c:n')) SERVER widetable OPTIONS (table_name 'public.mg_kept', key 'k');
SELECT options->'merge' AS merge FROM widetable.pg_stat_widetable_families WHERE table_name = 'public.mg_kept';

-- counts of distinct values
CREATE FOREIGN TABLE mg_seen (url text COLLATE "C", n bigint OPTIONS (column 'c:n'), visitors bigint OPTIONS (column 'u:v'), words bigint OPTIONS (column 'u:w'))
    SERVER widetable OPTIONS (key 'url', families '{"c": {"merge": "sum"}, "u": {"merge": "hll"}}');
INSERT INTO mg_seen SELECT '/a', 1, i % 1000 FROM generate_series(1, 5000) i;
SELECT * FROM mg_seen;
SELECT widetable.add('mg_seen', '/a', 'visitors', 5), widetable.add('mg_seen', '/a', 'visitors', 5::bigint),
       widetable.add('mg_seen', '/a', 'words', 'one'::text), widetable.add('mg_seen', '/a', 'words', 'two'), widetable.add('mg_seen', '/a', 'words', 'one'),
       widetable.add('mg_seen', '/b', 'u:other', 1.5), widetable.add('mg_seen', '/b', 'visitors', '2026-01-01'::date);
SELECT * FROM mg_seen;
SELECT widetable.flush();
INSERT INTO mg_seen SELECT '/a', 1, i FROM generate_series(1, 100000) i;
SELECT url, n, abs(visitors - 100000) < 3000 AS about, words FROM mg_seen WHERE visitors > 1;
CREATE TEMP TABLE mg_then AS SELECT * FROM mg_seen;
SELECT widetable.flush();
SELECT widetable.compact('mg_seen');
SELECT count(*) AS same FROM mg_seen JOIN mg_then USING (url, n, visitors) WHERE url = '/a';
SELECT sum(words), max(words), count(visitors) FROM mg_seen;
BEGIN;
SAVEPOINT s;
SELECT widetable.add('mg_seen', '/b', 'visitors', i) FROM generate_series(1, 20) i;
SELECT visitors FROM mg_seen WHERE url = '/b';
ROLLBACK TO s;
SELECT visitors FROM mg_seen WHERE url = '/b';
COMMIT;
UPDATE mg_seen SET url = '/c' WHERE url = '/b';
UPDATE mg_seen SET visitors = 5;
UPDATE mg_seen SET visitors = NULL WHERE url = '/a';
INSERT INTO mg_seen VALUES ('/a', 0, 7), ('/a', 0, 7), ('/a', 0, 8);
SELECT url, visitors, words FROM mg_seen;
-- returned is what was added
INSERT INTO mg_seen (url, visitors) VALUES ('/a', 9) RETURNING url, visitors;
SELECT url, visitors FROM mg_seen;
SELECT widetable.put('mg_seen', '/a', 'u:x', 'abcd'::text);
SELECT widetable.put('mg_seen', '/a', 'u:x', 'abc'::text);
CREATE FOREIGN TABLE mg_seen_cells (url text COLLATE "C", family text, qualifier text COLLATE "C", value bytea)
    SERVER widetable OPTIONS (table_name 'public.mg_seen', key 'url', layout 'cells');
INSERT INTO mg_seen_cells VALUES ('/a', 'u', 'x', '\xffff01');
INSERT INTO mg_seen_cells VALUES ('/a', 'u', 'x', '\x000100');
INSERT INTO mg_seen_cells VALUES ('/a', 'u', 'x', '\x000116');
INSERT INTO mg_seen_cells VALUES ('/a', 'u', 'x', '\x000102000101');
INSERT INTO mg_seen_cells VALUES ('/a', 'u', 'x', '\x000101000202'), ('/a', 'u', 'x', '\x000105');
SELECT * FROM mg_seen_cells WHERE qualifier = 'x';
DROP FOREIGN TABLE mg_seen_cells;
SELECT widetable.put('mg_seen', '/a', 'visitors', '\xffff01'::bytea);
CREATE FOREIGN TABLE mg_wrong (k int, v text OPTIONS (column 'u:v')) SERVER widetable OPTIONS (key 'k', families '{"u": {"merge": "hll"}}');
CREATE FOREIGN TABLE mg_wrong (k int, v bigint OPTIONS (column 'u:v', encoding 'hll')) SERVER widetable OPTIONS (key 'k', families '{"u": {}}');
CREATE FOREIGN TABLE mg_wrong (k int, v bigint OPTIONS (column 'u:v')) SERVER widetable OPTIONS (key 'k', families '{"u": {"merge": "hll", "ttl": "1 day"}}');
CREATE FOREIGN TABLE mg_wrong (k text COLLATE "C", v bigint OPTIONS (column 'u:v')) SERVER widetable OPTIONS (table_name 'public.mg_seen', key 'k');
DROP FOREIGN TABLE mg_seen;

-- text and bytes that are appended
CREATE FOREIGN TABLE mg_log (who text COLLATE "C", log text OPTIONS (column 'l:log'), tags varchar OPTIONS (column 'l:tags'), raw bytea OPTIONS (column 'l:raw'),
        ts bigint OPTIONS (timestamp_of 'log'), name text OPTIONS (column 'f:name'))
    SERVER widetable OPTIONS (key 'who', families '{"f": {}, "l": {"merge": "append"}}');
CREATE FOREIGN TABLE mg_log_cells (who text COLLATE "C", family text, qualifier text COLLATE "C", ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'public.mg_log', key 'who', layout 'cells');
INSERT INTO mg_log (who, log, name) VALUES ('ann', 'in;', 'Ann'), ('ann', 'read;', 'Anna'), ('bob', 'in;', 'Bob');
INSERT INTO mg_log (who, log, tags) VALUES ('ann', 'out;', 'x') RETURNING who, log, tags;
COPY mg_log (who, log, raw) FROM stdin;
ann	in;	\\x01
cid		\\x
ann	täglich;	\\x02ff
\.
SELECT widetable.add('mg_log', 'ann', 'tags', 'y'), widetable.add('mg_log', 'ann', 'raw', '\x03'::bytea), widetable.add('mg_log', 'cid', 'log', 5),
       widetable.add('mg_log', 'bob', 'l:more', 'a'), widetable.add('mg_log', 'bob', 'l:more', '\x62'::bytea), widetable.put('mg_log', 'bob', 'l:more', 'c'::text);
SELECT who, log, tags, raw, name FROM mg_log;
SELECT widetable.get('mg_log', 'bob');
SELECT qualifier, value FROM mg_log_cells WHERE who = 'bob';
-- a transaction sees what it appends, in order; conditions and aggregates are those of the whole value
BEGIN;
INSERT INTO mg_log (who, log) VALUES ('bob', 'out;');
SAVEPOINT s;
INSERT INTO mg_log (who, log) VALUES ('bob', 'gone;');
SELECT log FROM mg_log WHERE log = 'in;out;gone;';
ROLLBACK TO s;
INSERT INTO mg_log (who, log) VALUES ('bob', 'in;');
SELECT who, log FROM mg_log WHERE log LIKE 'in;out;%';
UPDATE mg_log SET log = upper(log) WHERE who = 'bob';
INSERT INTO mg_log (who, log) VALUES ('bob', 'end;');
SELECT log FROM mg_log WHERE who = 'bob';
COMMIT;
SELECT widetable.flush();
INSERT INTO mg_log (who, log) SELECT 'cid', i || ',' FROM generate_series(1, 1000) i;
SELECT widetable.compact('mg_log');
SELECT who, log FROM mg_log WHERE log >= 'IN' AND log < 'IO' ORDER BY who;
SELECT who, length(log), log = (SELECT '5' || string_agg(i || ',', '' ORDER BY i) FROM generate_series(1, 1000) i) AS same FROM mg_log WHERE who = 'cid';
SELECT count(log), max(log), sum(length(log)) FROM mg_log WHERE log < 'a';
-- timestamps do not change the order; the last one is shown
INSERT INTO mg_log (who, log, ts) VALUES ('dan', 'a', 30);
INSERT INTO mg_log (who, log, ts) VALUES ('dan', 'b', 10);
INSERT INTO mg_log (who, log, ts) VALUES ('dan', 'c', 20);
SELECT log, ts FROM mg_log WHERE who = 'dan';
-- DELETE starts anew; a row that moves takes along what was appended
DELETE FROM mg_log WHERE who = 'bob';
INSERT INTO mg_log (who, log) VALUES ('bob', 'anew;');
UPDATE mg_log SET who = 'eve' WHERE who = 'dan';
INSERT INTO mg_log (who, log) VALUES ('eve', 'd');
UPDATE mg_log_cells SET value = 'set' WHERE who = 'bob' AND qualifier = 'log';
INSERT INTO mg_log_cells (who, family, qualifier, value) VALUES ('bob', 'l', 'log', '!');
SELECT who, log FROM mg_log WHERE who IN ('bob', 'dan', 'eve');
-- chunks of cells
CREATE TABLE mg_chunks2 AS SELECT widetable.export_cells('mg_log') AS c;
CREATE TEMP TABLE mg_log_then AS SELECT * FROM mg_log;
TRUNCATE mg_log;
SELECT count(widetable.import_cells('mg_log', c)) FROM mg_chunks2;
(TABLE mg_log EXCEPT ALL TABLE mg_log_then) UNION ALL (TABLE mg_log_then EXCEPT ALL TABLE mg_log);
-- with a time to live the parts stay apart: they expire one by one, also after a restore
CREATE FOREIGN TABLE mg_window (k int, log text OPTIONS (column 'l:log')) SERVER widetable OPTIONS (key 'k', families '{"l": {"merge": "append", "ttl": "1 hour"}}');
SELECT widetable.put('mg_window', 1, 'log', i || ';', ts => extract(epoch FROM now() - i * interval '7 minutes')::bigint * 1000000) FROM generate_series(1, 5) i;
INSERT INTO mg_window VALUES (1, 'now;');
SELECT widetable.put('mg_window', 1, 'log', 'old;'::text, ts => 5);
SELECT log FROM mg_window;
CREATE TABLE mg_chunks3 AS SELECT row_number() OVER () AS n, c FROM widetable.export_cells('mg_window') c;
TRUNCATE mg_window;
SELECT widetable.import_cells('mg_window', c) FROM mg_chunks3;
SELECT log FROM mg_window;
-- the parts of a value are in one chunk, however many: chunks may be imported in any order
SELECT count(widetable.put('mg_window', k, 'log', lpad(i || ';', 200, '.'), ts => extract(epoch FROM now())::bigint * 1000000 - 10000000 + i))
    FROM generate_series(2, 4) k, generate_series(1, 6000) i;
TRUNCATE mg_chunks3;
INSERT INTO mg_chunks3 SELECT row_number() OVER (), c FROM widetable.export_cells('mg_window') c;
TRUNCATE mg_window;
SELECT count(*) FROM mg_chunks3;
SELECT 'SELECT widetable.import_cells(''mg_window'', c) FROM mg_chunks3 WHERE n = ' || n FROM mg_chunks3 ORDER BY n DESC \gexec
SELECT k, length(log), log = (SELECT string_agg(lpad(i || ';', 200, '.'), '' ORDER BY i) FROM generate_series(1, 6000) i) AS same FROM mg_window WHERE k > 1;
-- what cannot be
SELECT widetable.append('mg_log', 'ann', 'log', 'x');
SELECT widetable.put('mg_log', 'ann', 'log', 'x'::text, ttl => '1 day');
SELECT widetable.delete_column('mg_log', 'ann', 'log', 5);
SELECT widetable.add('mg_log', 'ann', 'name', 'x');
SELECT widetable.add('mg_log', 'ann', 'log', '\xff'::bytea);
ALTER FOREIGN TABLE mg_log ADD COLUMN n bigint OPTIONS (column 'l:n');
ALTER FOREIGN TABLE mg_log ADD COLUMN n varchar(9) OPTIONS (column 'l:n');
ALTER FOREIGN TABLE mg_log ADD COLUMN n json OPTIONS (column 'l:n');
ALTER FOREIGN TABLE mg_log OPTIONS (SET families '{"f": {}, "l": {"merge": "append", "ttl": "1 hour"}}');
ALTER FOREIGN TABLE mg_log OPTIONS (SET families '{"f": {"merge": "append"}, "l": {}}');
CREATE FOREIGN TABLE mg_wrong (k int, v text OPTIONS (column 'l:v')) SERVER widetable OPTIONS (key 'k', families '{"l": {"merge": "append", "versions": 2}}');
CREATE FOREIGN TABLE mg_log_by (log text COLLATE "C", who text COLLATE "C") SERVER widetable OPTIONS (index_of 'mg_log', key 'log');
DROP FOREIGN TABLE mg_log, mg_log_cells, mg_window;
DROP TABLE mg_chunks2, mg_chunks3;

DROP FOREIGN TABLE mg_hits, mg_hits_cells, mg_kept, mg_kept_cells, mg_maps;
DROP TABLE mg_chunks;
