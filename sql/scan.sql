-- Reading rows: what a foreign table shows of the stored cells.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET widetable.clock = '2024-01-01 00:00:00Z';

CREATE FOREIGN TABLE scan_visits (
    cookie   text COLLATE "C",
    at       timestamptz,
    url      text,
    referer  text        OPTIONS (column 'r:'),
    seen     timestamptz OPTIONS (timestamp_of 'r:'),
    hits     bigint      OPTIONS (column 'c:hits'),
    tags     jsonb       OPTIONS (family 't')
) SERVER widetable
  OPTIONS (key 'cookie, at desc', families '{"p": {"versions": 5}, "r": {}, "c": {}, "t": {}}');

INSERT INTO scan_visits VALUES
    ('c1', '2024-01-01Z', '/home', NULL, NULL, 3, '{"lang": "de", "os": "plan9"}'),
    ('c1', '2024-01-03Z', '/cart', 'mail', '2024-01-03Z', NULL, NULL),
    ('c2', '2024-01-02Z', NULL, 'ad', '2024-01-02Z', NULL, NULL),
    ('c3', '2024-01-02Z', NULL, NULL, NULL, 7, NULL),
    ('c4', '2024-01-02Z', NULL, NULL, NULL, NULL, '{"": "empty qualifier"}');

-- Rows come in key order: 'at' descends.
SELECT * FROM scan_visits;
-- A missing cell is NULL; a family without cells is NULL as a map.
SELECT cookie, tags IS NULL AS no_tags, tags ->> 'lang' AS lang FROM scan_visits;

-- ------------------------------------------------------------ projection

-- A query reads values only from the families that it needs.  But a row exists
-- if it has a cell in any family, so the columns in the query do not change
-- which rows come back: the other families are checked for existence.
EXPLAIN (COSTS OFF) SELECT url FROM scan_visits;
SELECT url FROM scan_visits;
EXPLAIN (COSTS OFF) SELECT count(*) FROM scan_visits;
SELECT count(*), count(url), count(referer), count(hits), count(tags) FROM scan_visits;
SELECT count(*) FROM scan_visits;
SELECT cookie FROM scan_visits;

-- A condition that is not true for a missing cell makes that check unnecessary.
EXPLAIN (COSTS OFF) SELECT url FROM scan_visits WHERE url <> '/home';
SELECT cookie, url FROM scan_visits WHERE url <> '/home';
EXPLAIN (COSTS OFF) SELECT cookie FROM scan_visits WHERE hits IS NOT NULL;
SELECT cookie FROM scan_visits WHERE hits IS NOT NULL;
-- This condition is true for a missing cell.
EXPLAIN (COSTS OFF) SELECT cookie FROM scan_visits WHERE url IS NULL;
SELECT cookie FROM scan_visits WHERE url IS NULL;
SELECT cookie, coalesce(url, referer) FROM scan_visits WHERE coalesce(url, referer, '?') <> '/home';
-- A NOT NULL column in a family that is read anyway also makes the check unnecessary.
CREATE FOREIGN TABLE scan_notnull (k text COLLATE "C", a text NOT NULL, b text, x text OPTIONS (column 'f:x'))
    SERVER widetable OPTIONS (families '{"d": {}, "f": {}}');
INSERT INTO scan_notnull VALUES ('1', 'a', NULL, 'x'), ('2', 'a', 'b', NULL);
EXPLAIN (COSTS OFF) SELECT b FROM scan_notnull;
SELECT b FROM scan_notnull;
EXPLAIN (COSTS OFF) SELECT x FROM scan_notnull;
SELECT x FROM scan_notnull;

-- HBase's semantics: only rows with a cell in the families that are read.
CREATE FOREIGN TABLE scan_projected (cookie text COLLATE "C", at timestamptz, url text OPTIONS (column 'p:url'), hits bigint OPTIONS (column 'c:hits'))
    SERVER widetable OPTIONS (key 'cookie, at desc', table_name 'public.scan_visits', existence 'projected');
EXPLAIN (COSTS OFF) SELECT hits FROM scan_projected;
SELECT hits FROM scan_projected;
SELECT cookie, url FROM scan_projected;
SELECT count(*) FROM scan_projected;

-- A whole-row reference needs all families.
SELECT v FROM scan_visits v WHERE cookie = 'c4';
EXPLAIN (COSTS OFF) SELECT v FROM scan_visits v WHERE cookie = 'c4';
SELECT tableoid::regclass, cookie FROM scan_visits WHERE cookie = 'c2';

-- Added and dropped columns; a column that was never written is NULL.
ALTER FOREIGN TABLE scan_visits ADD COLUMN extra text OPTIONS (column 'p:extra');
ALTER FOREIGN TABLE scan_visits DROP COLUMN seen;
SELECT * FROM scan_visits WHERE cookie = 'c1';
UPDATE scan_visits SET extra = 'new' WHERE cookie = 'c1' AND url = '/home';
SELECT cookie, url, extra FROM scan_visits WHERE extra IS NOT NULL;

-- ------------------------------------------------------------------ maps

-- A map omits the qualifiers that other columns show; a map with a prefix
-- contains only qualifiers with that prefix, and shows them without it.
CREATE FOREIGN TABLE scan_map (
    k text COLLATE "C", name text OPTIONS (column 'm:name'),
    rest jsonb OPTIONS (family 'm'), tag jsonb OPTIONS (family 'm', prefix 'tag_')
) SERVER widetable OPTIONS (families '{"m": {}}');
SELECT widetable.put('scan_map', 'k', '{"m:name": "n", "m:tag_a": "1", "m:tag_b": "2", "m:tag": "3", "m:z": ""}'::jsonb);
SELECT * FROM scan_map;
SELECT tag FROM scan_map;
SELECT name FROM scan_map;
EXPLAIN (COSTS OFF) SELECT tag FROM scan_map;
-- Bytes that are not text show as hexadecimal digits.
SELECT widetable.put('scan_map', 'k', 'm:bytes', '\x00ff'::bytea);
SELECT rest FROM scan_map;

-- ------------------------------------------------- timestamps and versions

SELECT widetable.put('scan_visits', ROW('c9', '2024-01-01Z'::timestamptz), 'p:url', 'v' || n, n * 1000000)
FROM generate_series(1, 7) n;
CREATE FOREIGN TABLE scan_times (cookie text COLLATE "C", at timestamptz, url text OPTIONS (column 'p:url'),
    us bigint OPTIONS (timestamp_of 'p:url'))
    SERVER widetable OPTIONS (key 'cookie, at desc', table_name 'public.scan_visits');
SELECT * FROM scan_times WHERE cookie = 'c9';
-- Reading the past: the newest version at or before a point in time.
SET widetable.as_of = '1970-01-01 00:00:04.5Z';
SELECT * FROM scan_times WHERE cookie = 'c9';
EXPLAIN (COSTS OFF) SELECT * FROM scan_times WHERE cookie = 'c9';
SELECT count(*) FROM scan_visits;
UPDATE scan_times SET url = 'x' WHERE cookie = 'c9';
RESET widetable.as_of;

-- One SQL row for each version of each cell.
CREATE FOREIGN TABLE scan_cells (cookie text COLLATE "C", at timestamptz, family text, qualifier text, ts bigint, value text, version int)
    SERVER widetable OPTIONS (layout 'cells', key 'cookie, at desc', table_name 'public.scan_visits');
SELECT cookie, family, qualifier, ts, value, version FROM scan_cells WHERE cookie = 'c9';
SELECT cookie, family, qualifier, value, version FROM scan_cells WHERE cookie < 'c9' AND family <> 'c';
SELECT cookie, qualifier, value FROM scan_cells WHERE family = 'c';
-- Conditions on family and qualifier reach the engine.
EXPLAIN (COSTS OFF) SELECT value FROM scan_cells WHERE family = 't' AND qualifier IN ('lang', 'os');
SELECT cookie, value FROM scan_cells WHERE family = 't' AND qualifier IN ('lang', 'os');
EXPLAIN (COSTS OFF) SELECT value FROM scan_cells WHERE qualifier LIKE 'ur%' AND version = 1;
SELECT cookie, value FROM scan_cells WHERE qualifier LIKE 'ur%' AND version = 1;
SELECT cookie, family, value FROM scan_cells WHERE family IN ('r', 'nosuch') OR qualifier = '';
SELECT count(*) FROM scan_cells WHERE family = 'nosuch';
-- Qualifiers sort by their bytes.
CREATE FOREIGN TABLE scan_q (k text COLLATE "C", family text, qualifier bytea, value text)
    SERVER widetable OPTIONS (layout 'cells', table_name 'q', families '{"f": {}}');
CREATE FOREIGN TABLE scan_qt (k text COLLATE "C", family text, qualifier text, value text)
    SERVER widetable OPTIONS (layout 'cells', table_name 'q');
INSERT INTO scan_q SELECT 'k', 'f', q, encode(q, 'hex')
FROM unnest(ARRAY['\x', '\x00', '\x61', '\x6100', '\x6162', '\x62', '\xff']::bytea[]) q;
SELECT qualifier, value FROM scan_q;
SELECT qualifier FROM scan_q WHERE qualifier >= '\x6100' AND qualifier < '\x62';
EXPLAIN (COSTS OFF) SELECT qualifier FROM scan_q WHERE qualifier >= '\x6100' AND qualifier < '\x62';
SELECT qualifier FROM scan_q WHERE qualifier = '\x';
SELECT qualifier FROM scan_q WHERE qualifier LIKE 'a%'::bytea;
SELECT qualifier FROM scan_qt WHERE qualifier < 'a' COLLATE "C";
SELECT qualifier FROM scan_qt WHERE qualifier IN ('\xff', 'ab', '');

-- -------------------------------------------------------- special keys

-- md5 keys: the key is the digest, a cell holds the text.
CREATE FOREIGN TABLE scan_md5 (who text OPTIONS (encoding 'md5', column 'd:who'), v int) SERVER widetable;
INSERT INTO scan_md5 SELECT 'user ' || n, n FROM generate_series(1, 20) n;
EXPLAIN (COSTS OFF) SELECT v FROM scan_md5 WHERE who = 'user 7';
SELECT who, v FROM scan_md5 WHERE who = 'user 7';
SELECT who, v FROM scan_md5 WHERE who IN ('user 8', 'nobody', 'user 9') ORDER BY who;
SELECT count(*) FROM scan_md5 WHERE who > 'user 7' COLLATE "C";

-- A salted key: writes spread over buckets, scans keep the order.
CREATE FOREIGN TABLE scan_salt (n int, v text) SERVER widetable OPTIONS (salt_buckets '4');
INSERT INTO scan_salt SELECT n, 'v' || n FROM generate_series(1, 40) n;
EXPLAIN (COSTS OFF) SELECT n FROM scan_salt WHERE n > 10 ORDER BY n LIMIT 5;
SELECT n FROM scan_salt WHERE n > 10 ORDER BY n LIMIT 5;
SELECT n, v FROM scan_salt WHERE n BETWEEN 8 AND 12 ORDER BY n DESC;
SELECT n, v FROM scan_salt WHERE n IN (3, 33, 99) ORDER BY n;
SELECT count(*), sum(n), min(n), max(n) FROM scan_salt;

-- A key that does not decode is an error or skipped, whichever columns the query reads.
CREATE FOREIGN TABLE scan_raw (k bytea, v text) SERVER widetable OPTIONS (table_name 'raw');
INSERT INTO scan_raw VALUES ('\x80000001', 'good'), ('\x800001', 'short'), ('\x80000002', 'good');
CREATE FOREIGN TABLE scan_bad (n int, v text) SERVER widetable OPTIONS (table_name 'raw');
SELECT * FROM scan_bad;
SELECT v FROM scan_bad;
ALTER FOREIGN TABLE scan_bad OPTIONS (ADD on_bad_key 'skip');
SELECT * FROM scan_bad;
SELECT v FROM scan_bad;
SELECT count(*) FROM scan_bad;

-- --------------------------------------------------------------- locking

-- FOR UPDATE locks the rows that it returns and reads their newest version.
SELECT cookie, url FROM scan_visits WHERE cookie = 'c1' AND url = '/home' FOR UPDATE;
SELECT cookie, url FROM scan_visits WHERE cookie = 'c1' FOR SHARE SKIP LOCKED;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM scan_salt;
UPDATE scan_salt SET v = v || '!' WHERE n < 3;
SELECT n, v FROM scan_salt WHERE n < 4 ORDER BY n FOR UPDATE;
UPDATE scan_salt SET v = v || '!' WHERE n < 3 RETURNING n, v;
DELETE FROM scan_salt WHERE n = 3;
SELECT n, v FROM scan_salt WHERE n < 5 ORDER BY n;
ROLLBACK;
SELECT n, v FROM scan_salt WHERE n < 4 ORDER BY n;

-- A cursor shows the rows at its opening; a scan can rewind.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT n FROM scan_salt ORDER BY n;
FETCH 2 FROM c;
INSERT INTO scan_salt VALUES (0, 'zero');
FETCH BACKWARD ALL FROM c;
FETCH 3 FROM c;
SELECT min(n) FROM scan_salt;
ROLLBACK;

-- ----------------------------------------------------------------- ANALYZE

ANALYZE scan_salt;
SELECT reltuples FROM pg_class WHERE relname = 'scan_salt';
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'scan_salt' ORDER BY attname;

RESET widetable.clock;
DROP FOREIGN TABLE scan_visits, scan_notnull, scan_projected, scan_map, scan_times, scan_cells, scan_q, scan_qt,
    scan_md5, scan_salt, scan_raw, scan_bad;
