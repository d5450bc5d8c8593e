-- Counters: how often, by whom, in which period?
--
-- Counting is the most frequent write of a busy site.  "Read, add, write back"
-- loses counts if two sessions do it at once.  Here a counter is a cell of 8
-- bytes, and the engine adds to it under the row lock, as part of the transaction.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_counters;
SET search_path = gallery_counters;
CREATE TABLE log (line int, cookie text COLLATE "C", at timestamptz, method text, path text, protocol text, status int,
                  bytes bigint, referer text, agent text);
\copy log FROM PROGRAM 'gzip -dc test/data/access_log.tsv.gz' WITH (FORMAT text, HEADER true)
-- sets the clock ahead, to show what a later reader sees (a setting for tests)
CREATE FUNCTION read_at(later interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN PERFORM set_config('widetable.clock', (now() + later)::text, false); END $$;

-- S53: cookie_urls: how often did this visitor see this page?
--
-- The key is the cookie, the url is a qualifier of family u, the count is the
-- value: one row for each visitor, shown cell by cell.  increment returns the
-- new count; a missing cell counts as 0.
CREATE FOREIGN TABLE cookie_urls (cookie text COLLATE "C", family text, qualifier text, value bigint)
    SERVER widetable OPTIONS (key 'cookie', layout 'cells', families '{"u": {}}');
SELECT widetable.increment('cookie_urls', 'c42', 'u:http://example.org/a');
SELECT widetable.increment('cookie_urls', 'c42', 'u:http://example.org/a');
SELECT widetable.increment('cookie_urls', 'c42', 'u:http://example.org/b', 10);
SELECT widetable.increment('cookie_urls', 'c42', 'u:http://example.org/b', 0) AS just_read;
SELECT qualifier AS url, value AS seen FROM cookie_urls WHERE cookie = 'c42';
SELECT qualifier, value FROM widetable.cells('cookie_urls', 'c42');          -- 8 bytes, as other tools write counters
-- The whole log.  (A backslash in a qualifier is written twice.)
SELECT count(widetable.increment('cookie_urls', cookie, 'u:' || replace(path, '\', '\\'))) AS counted FROM log;
SELECT count(*) AS differ FROM (SELECT cookie, path, count(*) FROM log GROUP BY 1, 2
                                EXCEPT SELECT cookie, qualifier, value FROM cookie_urls) x;
-- The trap: sessions that read the count, add to it and write it back all read
-- the same number.  test/specs/counter-race.spec shows the race, and that
-- increment and UPDATE avoid it: n sessions times m increments give n * m.
SELECT widetable.increment('cookie_urls', 'c42', 'u:x', n) FROM generate_series(1, 4) n;
-- An increment belongs to its transaction.
BEGIN;
SELECT widetable.increment('cookie_urls', 'c42', 'u:http://example.org/a', 1000);
ROLLBACK;
SELECT widetable.increment('cookie_urls', 'c42', 'u:http://example.org/a', 0);

-- S115: the most visited pages: of one visitor, and of all
--
-- For one visitor: read the row and let SQL sort it.
EXPLAIN (COSTS OFF) SELECT qualifier, value FROM cookie_urls WHERE cookie = '108.171.116.194' ORDER BY value DESC LIMIT 10;
SELECT value, left(qualifier, 50) AS url FROM cookie_urls WHERE cookie = '108.171.116.194' ORDER BY value DESC, qualifier LIMIT 3;
-- For all visitors: a sorted store does not sort by value, so clients keep a
-- leaderboard, and it drifts.  Here the leaderboard is a second table with the
-- count in its key, and one transaction changes both.  increment holds the
-- lock of the url's row until the commit, so only one session moves that url.
CREATE FOREIGN TABLE url_count (url text COLLATE "C", n bigint) SERVER widetable OPTIONS (key 'url');
CREATE FOREIGN TABLE url_top (n bigint, url text COLLATE "C", there boolean) SERVER widetable OPTIONS (key 'n desc, url');
CREATE FUNCTION seen(page text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE now bigint := widetable.increment('url_count', page, 'n');
BEGIN
    PERFORM widetable.delete_row('url_top', ROW(now - 1, page));
    INSERT INTO url_top VALUES (now, page, true);
    RETURN now;
END $$;
SELECT max(seen(path)) FROM log;
EXPLAIN (COSTS OFF) SELECT n, url FROM url_top ORDER BY n DESC LIMIT 5;
SELECT n, url FROM url_top ORDER BY n DESC LIMIT 5;
SELECT count(*) AS differ FROM (SELECT url, n FROM url_count EXCEPT SELECT url, n FROM url_top) x;
-- The declared form: an index on the count is the leaderboard.  The planner reads it by
-- itself, and increment moves the entry.  (n > 0, because rows without a count have no entry.)
CREATE FOREIGN TABLE url_by_count (n bigint, url text COLLATE "C") SERVER widetable OPTIONS (index_of 'url_count', key 'n desc, url');
EXPLAIN (COSTS OFF) SELECT n, url FROM url_count WHERE n > 0 ORDER BY n DESC LIMIT 5;
SELECT n, url FROM url_count WHERE n > 0 ORDER BY n DESC LIMIT 5;
BEGIN;
SELECT widetable.increment('url_count', '/robots.txt', 'n', 1000) > 1000 AS counted;
SELECT url FROM url_count WHERE n > 0 ORDER BY n DESC LIMIT 1;
ROLLBACK;
SELECT * FROM widetable.verify('url_count');
-- The last way, for an occasional report, needs no second table:
SELECT qualifier AS url, sum(value) FROM cookie_urls WHERE cookie <> 'c42' GROUP BY 1 ORDER BY 2 DESC LIMIT 2;

-- S51: counters for hour, day and month, each with a separate time to live
--
-- A family for each period; one call increments all three counters or none.
CREATE FOREIGN TABLE page_stats (
    page   text COLLATE "C",
    hour   bigint OPTIONS (column 'h:n'),
    day    bigint OPTIONS (column 'd:n'),
    month  bigint OPTIONS (column 'm:n')
) SERVER widetable OPTIONS (key 'page', families '{"h": {"ttl": "1 hour"}, "d": {"ttl": "1 day"}, "m": {"ttl": "31 days"}}');
SELECT widetable.increment('page_stats', '/home', '{"h:n": 1, "d:n": 1, "m:n": 1}'::jsonb);
SELECT widetable.increment('page_stats', '/home', '{"h:n": 1, "d:n": 1, "m:n": 1}'::jsonb);
SELECT * FROM page_stats;
SELECT read_at('2 hours') \g /dev/null
SELECT * FROM page_stats;
SELECT read_at('2 days') \g /dev/null
SELECT * FROM page_stats;
SELECT read_at('32 days') \g /dev/null
SELECT * FROM page_stats;
RESET widetable.clock;
-- Such a counter expires that long after its last increment.  To keep the
-- counts of each hour, put the hour into the key: then each row expires alone.
CREATE FOREIGN TABLE page_hours (page text COLLATE "C", hour timestamptz, n bigint)
    SERVER widetable OPTIONS (key 'page, hour desc', families '{"d": {"ttl": "60 days"}}');
SELECT count(widetable.increment('page_hours', ROW(path, date_trunc('hour', at)), 'n')) FROM log;
SELECT hour, n FROM page_hours WHERE page = '/projects/xdotool/' ORDER BY hour DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT sum(n) FROM page_hours WHERE page = '/projects/xdotool/' AND hour >= '2015-05-20';
SELECT sum(n) FROM page_hours WHERE page = '/projects/xdotool/' AND hour >= '2015-05-20';

-- S52: count within the present window, else start again
--
-- HBase's increment takes a time range: a base value outside it counts as 0. Here
-- one UPDATE does the same: it reads the timestamp of the cell and locks the row,
-- so no count is lost.  (5 was counted at 50; the window is [100, 200).)
CREATE FOREIGN TABLE windowed (k text COLLATE "C", n bigint, at bigint OPTIONS (timestamp_of 'd:n')) SERVER widetable OPTIONS (key 'k');
INSERT INTO windowed VALUES ('logins', 5, 50);
UPDATE windowed SET n = CASE WHEN at >= 100 AND at < 200 THEN n ELSE 0 END + 1, at = 100 WHERE k = 'logins' RETURNING *;
UPDATE windowed SET n = CASE WHEN at >= 100 AND at < 200 THEN n ELSE 0 END + 1, at = 101 WHERE k = 'logins' RETURNING *;
-- With a real clock: three attempts a minute, and the count restarts by itself.
CREATE FOREIGN TABLE attempts (who text COLLATE "C", n bigint, at timestamptz OPTIONS (timestamp_of 'd:n')) SERVER widetable OPTIONS (key 'who');
INSERT INTO attempts VALUES ('mallory', 3, now() - interval '2 minutes'), ('eve', 3, now() - interval '2 seconds');
UPDATE attempts SET n = CASE WHEN at > now() - interval '1 minute' THEN n ELSE 0 END + 1 RETURNING who, n, n <= 3 AS allowed;
-- In a family with a ttl this is automatic: an expired base value counts as 0.
CREATE FOREIGN TABLE minute (k text COLLATE "C", n bigint, at timestamptz OPTIONS (timestamp_of 'd:n'))
    SERVER widetable OPTIONS (key 'k', families '{"d": {"ttl": "1 minute"}}');
INSERT INTO minute VALUES ('old', 41, now() - interval '2 minutes'), ('new', 41, now());
SELECT k, widetable.increment('minute', k, 'n') FROM (VALUES ('old'), ('new')) x(k);

-- S54: the timestamp is the count: the leader without sorting
--
-- One cell with one version holds a visitor's most visited url.  Its
-- timestamp is the count, so the newest version has the highest count; late
-- and lower writes change nothing, whatever their order.  This works only for
-- counts that never decrease.
CREATE FOREIGN TABLE cookie_stats (cookie text COLLATE "C", url text OPTIONS (column 'c:'), seen bigint OPTIONS (timestamp_of 'c:'))
    SERVER widetable OPTIONS (key 'cookie', families '{"c": {"versions": 1}}');
CREATE FUNCTION visit(who text, page text) RETURNS void LANGUAGE sql AS
    $$ SELECT widetable.put('cookie_stats', who, 'c:', page, ts => widetable.increment('cookie_urls', who, 'u:' || page)) $$;
SELECT count(visit('c7', page)) FROM unnest('{A,A,A,B,B,B,B,B,A}'::text[]) page;
SELECT * FROM cookie_stats WHERE cookie = 'c7';
-- A is put with count 4 after B with 5: the lower version stays invisible, and
-- compaction removes it
SELECT widetable.put('cookie_stats', 'c7', 'c:', 'A', ts => 4);
SELECT * FROM cookie_stats WHERE cookie = 'c7';
SELECT widetable.compact('cookie_stats');
SELECT ts, convert_from(value, 'UTF8') AS url FROM widetable.raw_cells('cookie_stats', 'c7');
-- the whole log in this way, compared with plain SQL
INSERT INTO cookie_stats SELECT cookie, qualifier, value FROM cookie_urls WHERE cookie NOT LIKE 'c%' ORDER BY random();
SELECT count(*) AS visitors, count(*) FILTER (WHERE s.seen <> x.max) AS differ
FROM cookie_stats s JOIN (SELECT cookie, max(value) FROM cookie_urls GROUP BY cookie) x USING (cookie) WHERE cookie NOT LIKE 'c%';

-- S50: the rate of increments
--
-- The literature counts 10,000 increments a second on each server.
-- doc/benchmarks.md has the rates of one PostgreSQL, next to ordinary tables;
-- here one statement makes 10,000 increments over a hundred counters.
CREATE FOREIGN TABLE many (k int, n bigint) SERVER widetable OPTIONS (key 'k');
SELECT count(widetable.increment('many', i % 100, 'n', i)) FROM generate_series(1, 10000) i;
SELECT count(*), sum(n) = 10000 * 10001 / 2 AS right_sum FROM many;
-- All increments of a counter in one transaction are stored as one version.
SELECT count(*) FROM widetable.raw_cells('many', 1);

-- S114: a stream and batches write to one table
--
-- Hits arrive one by one; titles and ranks arrive once a night, for all
-- pages. Each writer has a family of its own. Neither waits for the other
-- (COPY and INSERT lock no rows), and readers see a batch completely or not
-- at all. With two sessions at once: test/specs/stream-and-batch.spec.
CREATE FOREIGN TABLE site (
    url   text COLLATE "C",
    hits  bigint OPTIONS (column 's:hits'),
    title text   OPTIONS (column 'b:title'),
    rank  float8 OPTIONS (column 'b:rank')
) SERVER widetable OPTIONS (key 'url', families '{"s": {}, "b": {}}');
SELECT widetable.increment('site', url, 'hits') FROM (VALUES ('/a'), ('/b'), ('/a')) x(url);
BEGIN;
COPY site (url, title, rank) FROM stdin;
/a	Start	0.9
/b	About	0.4
/c	Contact	0.1
\.
SELECT widetable.increment('site', '/a', 'hits') AS in_the_batch;
SELECT * FROM site;
ROLLBACK;
SELECT * FROM site;                                        -- no batch yet, and no hit is lost
BEGIN;
COPY site (url, title, rank) FROM stdin;
/a	Start	0.9
/b	About	0.4
/c	Contact	0.1
\.
COMMIT;
SELECT widetable.increment('site', '/c', 'hits');
SELECT * FROM site;
-- A late batch carries the time of its data, and does not cover newer data.
CREATE FOREIGN TABLE site_at (url text COLLATE "C", rank float8 OPTIONS (column 'b:rank'), at timestamptz OPTIONS (timestamp_of 'b:rank'))
    SERVER widetable OPTIONS (table_name 'gallery_counters.site', key 'url');
INSERT INTO site_at VALUES ('/a', 0.1, '2015-05-17'), ('/b', 0.1, '2015-05-17'), ('/d', 0.1, '2015-05-17');
SELECT url, rank, at = '2015-05-17' AS late_one FROM site_at;

-- ----------------------------------------------------------------- with SQL
-- A trigger counts: the orders are an ordinary table, the statistics a wide one.
CREATE TABLE orders (id int PRIMARY KEY, product text, price numeric CHECK (price > 0));
CREATE FOREIGN TABLE product_stats (product text COLLATE "C", sold bigint OPTIONS (column 'd:n'), cents bigint) SERVER widetable OPTIONS (key 'product');
CREATE FUNCTION count_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM widetable.increment('product_stats', NEW.product, jsonb_build_object('sold', 1, 'cents', (NEW.price * 100)::bigint));
    RETURN NULL;
END $$;
CREATE TRIGGER count_order AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION count_order();
INSERT INTO orders VALUES (1, 'shoes', 19.99), (2, 'shoes', 25), (3, 'hat', 9.50);
INSERT INTO orders VALUES (4, 'hat', 10), (5, 'shoes', -1);                -- refused, and not counted
SELECT product, sold, cents / 100.0 AS income FROM product_stats;
-- Hours without a visit: an outer join with all hours.
SELECT h AS hour, coalesce(n, 0) AS n
FROM generate_series(timestamptz '2015-05-20 18:00', '2015-05-20 21:00', '1 hour') h
LEFT JOIN page_hours p ON p.page = '/projects/xdotool/' AND p.hour = h ORDER BY h;

-- ------------------------------------------------------------ without locks
-- increment locks the row and returns the new count.  Where nobody asks for the count at
-- once, families with a merge operator count by themselves: INSERT adds, and neither reads
-- nor waits for anybody.  The whole log at once, line by line:
CREATE FOREIGN TABLE page_totals (
    page   text COLLATE "C",
    hits   bigint      OPTIONS (column 'c:hits'),
    bytes  bigint      OPTIONS (column 'c:bytes'),
    first  timestamptz OPTIONS (column 'lo:at'),
    last   timestamptz OPTIONS (column 'hi:at'),
    visitors bigint    OPTIONS (column 'u:cookies')
) SERVER widetable OPTIONS (key 'page', families '{"c": {"merge": "sum"}, "lo": {"merge": "min"}, "hi": {"merge": "max"}, "u": {"merge": "hll"}}');
INSERT INTO page_totals SELECT path, 1, bytes, at, at FROM log;
-- How many different visitors: a count of distinct values, to which a value of any type is added.
SELECT count(*) FROM (SELECT widetable.add('page_totals', path, 'visitors', cookie) FROM log) x;
SELECT * FROM page_totals ORDER BY hits DESC LIMIT 3;
SELECT path, count(DISTINCT cookie) AS exactly FROM log WHERE path IN ('/favicon.ico', '/style2.css', '/reset.css') GROUP BY path ORDER BY count(*) DESC;
SELECT count(*) AS pages, sum(hits) AS hits FROM page_totals;
-- The same as a query over the log, row by row:
SELECT count(*) AS differ FROM (SELECT path, count(*) AS n, sum(bytes) AS b, min(at) AS a, max(at) AS z FROM log GROUP BY path) l
FULL JOIN page_totals p ON p.page = l.path WHERE (n, b, a, z) IS DISTINCT FROM (hits, bytes, first, last);
-- One more visit, from anywhere, in a transaction with whatever else happens
BEGIN;
INSERT INTO page_totals VALUES ('/projects/xdotool/', 1, 500, '2015-05-21', '2015-05-21');
SELECT widetable.add('page_totals', '/projects/xdotool/', 'hits', 1);
SELECT hits, last FROM page_totals WHERE page = '/projects/xdotool/';
ROLLBACK;
SELECT hits, last FROM page_totals WHERE page = '/projects/xdotool/';
-- A sum over the last hour: each value that was added expires by itself.
CREATE FOREIGN TABLE last_hour (host text COLLATE "C", hits bigint OPTIONS (column 'h:hits'), at timestamptz OPTIONS (timestamp_of 'hits'))
    SERVER widetable OPTIONS (key 'host', families '{"h": {"merge": "sum", "ttl": "1 hour"}}');
INSERT INTO last_hour VALUES ('web1', 1, now() - interval '50 min'), ('web1', 10, now() - interval '20 min'), ('web1', 100, now() - interval '1 min');
SELECT hits FROM last_hour;
SELECT read_at('20 min');
SELECT hits FROM last_hour;
SELECT read_at('50 min');
SELECT hits FROM last_hour;
SELECT read_at('65 min');
SELECT hits FROM last_hour;
RESET widetable.clock;
