-- Visits: who came from where, and what did they do next?
--
-- A web server writes a line for each request.  The questions are about one
-- visitor ("what did she look at, newest first"), about one hour, and about
-- the sites that send visitors.  In a sorted store the key is the whole
-- design: data that is read together must be stored together.  (The site of
-- the literature has two million visitors a day, 4000 requests a second at the
-- peak, 600 bytes each: 20 TB a year, too much to scan for one visitor.)  The
-- data here is a real log of four days (test/data/README.md); client addresses
-- stand for cookies.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = postgres;
CREATE SCHEMA gallery_visits;
SET search_path = gallery_visits;
-- returns a number that EXPLAIN ANALYZE shows
CREATE FUNCTION counted(what text, query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN (SELECT sum(v::text::bigint) FROM jsonb_path_query(j::jsonb, ('strict $.**."' || what || '"')::jsonpath) v);
END $$;
CREATE TABLE log (line int, cookie text COLLATE "C", at timestamptz, method text, path text, protocol text, status int,
                  bytes bigint, referer text, agent text);
\copy log FROM PROGRAM 'gzip -dc test/data/access_log.tsv.gz' WITH (FORMAT text, HEADER true)

-- S38: server logs: a row for each visitor and hour, names that are data
--
-- Four families, because they have four kinds of readers: where visitors came
-- from (r), what they searched for (s), what they looked at (p), what they
-- put into carts (z).  The qualifier is the datum, the value is empty.
CREATE FOREIGN TABLE visits (
    cookie    text COLLATE "C",
    hour      timestamptz,
    referers  jsonb OPTIONS (family 'r'),
    searches  jsonb OPTIONS (family 's'),
    products  jsonb OPTIONS (family 'p'),
    carts     jsonb OPTIONS (family 'z')
) SERVER widetable OPTIONS (key 'cookie, hour', families '{"r": {}, "s": {}, "p": {}, "z": {}}');
INSERT INTO visits (cookie, hour, referers, searches, products)
SELECT cookie, date_trunc('hour', at), jsonb_object_agg(referer, '') FILTER (WHERE referer <> ''),
       jsonb_object_agg(replace(substring(referer FROM '[?&]q=([^&]+)'), '+', ' '), '') FILTER (WHERE referer ~ '[?&]q=[^&]'),
       jsonb_object_agg(path, '')
FROM log GROUP BY 1, 2;
-- shop data, which the log does not have
INSERT INTO visits VALUES
    ('c42', '2015-05-17 10:00', '{"news.example.org/": ""}', '{"blue shoes": ""}', '{"p-100": "", "p-200": ""}', NULL),
    ('c42', '2015-05-17 11:00', NULL, '{"red shoes": ""}', '{"p-300": ""}', '{"cart-7": "p-200, p-300"}');
-- the journey of a visitor: adjacent rows
SELECT hour, referers, searches, products, carts FROM visits WHERE cookie = 'c42' ORDER BY hour;
-- a cell with an empty value exists
SELECT products ? 'p-100' AS looked_at, products ->> 'p-100' = '' AS empty, products ? 'p-999' AS other
FROM visits WHERE cookie = 'c42' AND hour = '2015-05-17 10:00';
SELECT family, qualifier, value FROM widetable.cells('visits', ROW('c42', timestamptz '2015-05-17 10:00'));
-- the searches of a visitor; the other families are only checked for existing rows
EXPLAIN (COSTS OFF) SELECT searches FROM visits WHERE cookie = 'c42';
SELECT q AS search, count(*) FROM visits, jsonb_object_keys(searches) q GROUP BY q ORDER BY count(*) DESC, q COLLATE "C" LIMIT 5;
-- S38: who searched for this?  All rows are looked at, unless the entries of the map have an index
SELECT cookie, hour FROM visits WHERE searches ? 'red shoes';
-- the index also counts them
CREATE FOREIGN TABLE visits_by_search (search text OPTIONS (qualifier_of 'searches') COLLATE "C", cookie text COLLATE "C", hour timestamptz)
    SERVER widetable OPTIONS (index_of 'visits', key 'search');
EXPLAIN (COSTS OFF) SELECT cookie, hour FROM visits WHERE searches ? 'red shoes';
SELECT cookie, hour FROM visits WHERE searches ? 'red shoes';
SELECT search, count(*) FROM visits_by_search GROUP BY search ORDER BY count(*) DESC, search LIMIT 5;

-- S39: the bad key: time first
--
-- Key 'hour, cookie' answers "all visitors in this hour" and no question about one
-- visitor: the engine has to look into each hour.  In a cluster, all writes also
-- go to the one server that holds the current hour.  More: doc/schema-design.md.
CREATE FOREIGN TABLE visits_by_hour (hour timestamptz, cookie text COLLATE "C", pages bigint)
    SERVER widetable OPTIONS (key 'hour, cookie');
INSERT INTO visits_by_hour SELECT date_trunc('hour', at), cookie, count(*) FROM log GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT * FROM visits_by_hour WHERE cookie = '50.16.19.13';                  -- no Key Range
EXPLAIN (COSTS OFF) SELECT * FROM visits_by_hour WHERE hour = '2015-05-18 12:00' ORDER BY cookie;
-- S42: where time must come first, salt spreads the writes, and queries stay
-- as they are: four ranges are merged, so there is no Sort.
CREATE FOREIGN TABLE visits_salted (hour timestamptz, cookie text COLLATE "C", pages bigint)
    SERVER widetable OPTIONS (key 'hour, cookie', salt_buckets '4');
INSERT INTO visits_salted SELECT * FROM visits_by_hour;
EXPLAIN (COSTS OFF) SELECT * FROM visits_salted WHERE hour >= '2015-05-18 12:00' AND hour < '2015-05-18 14:00' ORDER BY hour, cookie;
SELECT (SELECT array_agg((hour, cookie, pages)) FROM (TABLE visits_by_hour ORDER BY hour, cookie) x)
     = (SELECT array_agg((hour, cookie, pages)) FROM (TABLE visits_salted ORDER BY hour, cookie) x) AS same_rows_same_order;
SELECT get_byte(widetable.encode_key('visits_salted', hour, cookie), 0) AS bucket, count(*) > 100 AS a_fair_share
FROM visits_by_hour GROUP BY 1 ORDER BY 1;

-- S40: the good key: visitor, then time backwards
CREATE FOREIGN TABLE page_views (
    cookie   text COLLATE "C",
    at       timestamptz,
    line     int,                       -- separates requests within one second
    url      text NOT NULL,
    referer  text,
    status   int
) SERVER widetable OPTIONS (key 'cookie, at desc, line', families '{"d": {}}');
INSERT INTO page_views (cookie, at, line, url, referer, status) SELECT cookie, at, line, path, referer, status FROM log;
SELECT widetable.flush('page_views');
-- all page views of a visitor, newest first: no Sort
EXPLAIN (COSTS OFF) SELECT at, url FROM page_views WHERE cookie = '101.119.18.35' ORDER BY at DESC;
SELECT at, url FROM page_views WHERE cookie = '101.119.18.35' ORDER BY at DESC, line LIMIT 4;
-- the most recent one: one row is read, whatever their number
SELECT at, url FROM page_views WHERE cookie = '50.16.19.13' ORDER BY at DESC LIMIT 1;
SELECT counted('Cells Returned', $$SELECT at, url FROM page_views WHERE cookie = '50.16.19.13' ORDER BY at DESC LIMIT 1$$) < 5 AS few_cells,
       count(*) AS page_views FROM page_views WHERE cookie = '50.16.19.13';
-- her way through the site: the same rows as a graph and as a timeline
SELECT substring(referer FROM 'semicomplete.com(/.*)') AS from_page, url FROM page_views
WHERE cookie = '101.119.18.35' AND referer LIKE '%semicomplete.com/%' ORDER BY at DESC, line LIMIT 3;
SELECT at, at - lag(at) OVER (ORDER BY at, line) AS after, url FROM page_views
WHERE cookie = '101.119.18.35' ORDER BY at, line LIMIT 3;
-- Distinct pages: the url is the qualifier, and one version is kept. The
-- timestamp of the cell is the time of the visit.
CREATE FOREIGN TABLE visitor_pages (cookie text COLLATE "C", pages jsonb OPTIONS (family 'u'))
    SERVER widetable OPTIONS (key 'cookie', families '{"u": {"versions": 1}}');
CREATE FOREIGN TABLE visitor_page (cookie text COLLATE "C", family text, qualifier text, ts timestamptz, value text)
    SERVER widetable OPTIONS (table_name 'gallery_visits.visitor_pages', key 'cookie', layout 'cells');
INSERT INTO visitor_page SELECT cookie, 'u', path, at, coalesce(referer, '') FROM log;
SELECT qualifier AS page, ts AS last_seen FROM visitor_page WHERE cookie = '50.16.19.13';
SELECT (SELECT count(*) FROM visitor_page) = (SELECT count(*) FROM (SELECT DISTINCT cookie, path FROM log) x) AS each_page_once;

-- S41: the reversed timestamp
--
-- Stores that sort only upwards keep LONG_MAX - timestamp in the key, and each
-- program converts it back.  Here the key column is declared desc (or has
-- encoding 'reverse', exactly the same bytes), and SQL shows the real time.
CREATE FOREIGN TABLE rev (stamp bigint OPTIONS (encoding 'reverse'), v text) SERVER widetable OPTIONS (key 'stamp');
CREATE FOREIGN TABLE backwards (stamp bigint, v text) SERVER widetable OPTIONS (key 'stamp desc');
SELECT widetable.encode_key('rev', 1234567890123), widetable.encode_key('backwards', 1234567890123);
SELECT widetable.reverse_time('2009-02-13 23:31:30.123') = 9223372036854775807 - 1234567890123000 AS microseconds;
INSERT INTO rev VALUES (1000, 'early'), (9999, 'late'), (1234567890123, 'very late');
SELECT * FROM rev ORDER BY stamp DESC LIMIT 2;
EXPLAIN (COSTS OFF) SELECT * FROM rev ORDER BY stamp DESC LIMIT 2;
-- The trap: negative timestamps as decimal text do not reverse the order.
SELECT t FROM unnest('{-1000,-9999,-10000}'::text[]) t ORDER BY t COLLATE "C";

-- S42: neighbours: which of them help and which hurt
--
-- Swap the key columns.  'hour, cookie' keeps the rows of all visitors in an
-- hour together; 'cookie, hour' keeps the rows of a visitor together, so a
-- page about three visitors is three short ranges in one request.
EXPLAIN (COSTS OFF) SELECT * FROM page_views WHERE cookie IN ('c1', 'c2', 'c3') AND at >= '2015-05-18';
-- A leading key column with few values is no obstacle: the scan skips from one value to the next.
CREATE FOREIGN TABLE by_status (status int, at timestamptz, line int, url text) SERVER widetable OPTIONS (key 'status, at, line');
INSERT INTO by_status SELECT status, at, line, path FROM log;
EXPLAIN (COSTS OFF) SELECT count(*) FROM by_status WHERE at >= '2015-05-20 21:00';
SELECT status, count(*) FROM by_status WHERE at >= '2015-05-20 21:00' GROUP BY status ORDER BY status;
-- Benford's law: numbers as text begin with 1 far more often than with 9, so
-- nine equal ranges of first digits are not nine equal shares.
SELECT left(bytes::text, 1) AS digit, round(100.0 * count(*) / sum(count(*)) OVER ()) AS percent
FROM log WHERE bytes > 0 GROUP BY 1 ORDER BY 1;
-- Ask for split points instead: they are taken from the stored keys.
SELECT width_bucket(widetable.encode_key('page_views', cookie, at, line), array(SELECT widetable.split_keys('page_views', 4))) AS part,
       count(*) BETWEEN 250 AND 900 AS a_fair_share
FROM page_views GROUP BY 1 ORDER BY 1;

-- S43: the last five pages: versions instead of rows
CREATE FOREIGN TABLE cookie_stats (cookie text COLLATE "C", page text OPTIONS (column 'r:'))
    SERVER widetable OPTIONS (key 'cookie', families '{"r": {"versions": 5}}');
CREATE FOREIGN TABLE cookie_stats_cells (cookie text COLLATE "C", family text, qualifier text, ts bigint, value text, version int)
    SERVER widetable OPTIONS (table_name 'gallery_visits.cookie_stats', key 'cookie', layout 'cells');
INSERT INTO cookie_stats VALUES ('c42', '/one');
INSERT INTO cookie_stats VALUES ('c42', '/two');
INSERT INTO cookie_stats VALUES ('c42', '/three');
INSERT INTO cookie_stats VALUES ('c42', '/four');
INSERT INTO cookie_stats VALUES ('c42', '/five');
INSERT INTO cookie_stats VALUES ('c42', '/six');
INSERT INTO cookie_stats VALUES ('c42', '/seven');
SELECT page FROM cookie_stats WHERE cookie = 'c42';
SELECT version, value AS page FROM cookie_stats_cells WHERE cookie = 'c42' ORDER BY ts DESC;
-- Compaction does not change the answer.
SELECT widetable.compact('cookie_stats');
SELECT string_agg(value, ' ' ORDER BY ts DESC) FROM cookie_stats_cells WHERE cookie = 'c42';

-- S44: only the last hour: files that are too old are not opened
--
-- Each file knows its lowest and highest timestamp.  With 'window:1 day' files of
-- different days are never merged.  (Four days of the log, a file for each day.)
CREATE FOREIGN TABLE recent (cookie text COLLATE "C", line int, url text, at timestamptz OPTIONS (timestamp_of 'd:url'))
    SERVER widetable OPTIONS (key 'cookie, line', families '{"d": {"compaction": "window:1 day"}}');
INSERT INTO recent SELECT cookie, line, path, at FROM log WHERE at::date = '2015-05-17';
SELECT widetable.flush('recent');
INSERT INTO recent SELECT cookie, line, path, at FROM log WHERE at::date = '2015-05-18';
SELECT widetable.flush('recent');
INSERT INTO recent SELECT cookie, line, path, at FROM log WHERE at::date = '2015-05-19';
SELECT widetable.flush('recent');
INSERT INTO recent SELECT cookie, line, path, at FROM log WHERE at::date = '2015-05-20';
SELECT widetable.flush('recent');
SELECT count(*) AS last_hour FROM recent WHERE at >= timestamptz '2015-05-20 21:05:43' - interval '1 hour';
EXPLAIN (COSTS OFF) SELECT cookie, url FROM recent WHERE at >= '2015-05-20 20:05:43';
SELECT counted('Files Read', $$SELECT cookie, url FROM recent WHERE at >= '2015-05-20 20:05:43'$$) AS files_read,
       counted('Files Skipped by Time', $$SELECT cookie, url FROM recent WHERE at >= '2015-05-20 20:05:43'$$) AS files_skipped;

-- S45: reversed domains: an organisation's hosts side by side
SELECT widetable.reverse_host('hbase.apache.org/book.html');
CREATE FOREIGN TABLE pages (url text COLLATE "C", title text) SERVER widetable OPTIONS (key 'url');
INSERT INTO pages SELECT widetable.reverse_host(u), t FROM (VALUES
    ('hbase.apache.org/book.html', 'Reference guide'), ('hadoop.apache.org/', 'Hadoop'), ('www.apache.org/', 'Apache'),
    ('apache.org.example.com/', 'not Apache'), ('www.postgresql.org/docs/', 'PostgreSQL')) x(u, t);
SELECT * FROM pages WHERE url LIKE 'org.apache.%';
EXPLAIN (COSTS OFF) SELECT * FROM pages WHERE url LIKE 'org.apache.%';

-- S46: inbound traffic: which sites send visitors?
--
-- Key: the reversed host of the referer, then the page it leads to.  The list
-- is a GROUP BY over one ordered scan.
CREATE FOREIGN TABLE inbound (referer text COLLATE "C", page text COLLATE "C", visits bigint) SERVER widetable OPTIONS (key 'referer, page');
INSERT INTO inbound SELECT widetable.reverse_host(substring(referer FROM '^https?://([^/:?]+)')), path, count(*)
FROM log WHERE referer ~ '^https?://[^/:?]+' GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT referer, sum(visits) FROM inbound GROUP BY referer;
SELECT referer, sum(visits) AS visits, count(*) AS pages FROM inbound
WHERE referer NOT LIKE 'com.semicomplete%' GROUP BY referer ORDER BY 2 DESC, 1 LIMIT 5;
-- all hosts of a domain share a prefix
SELECT referer, sum(visits) FROM inbound WHERE referer LIKE 'com.google.%' GROUP BY referer ORDER BY referer LIMIT 3;

-- S57: traffic of an address in each hour
CREATE FOREIGN TABLE ip_tbs (ip inet, hour timestamptz, requests bigint OPTIONS (column 'c:n'), bytes bigint OPTIONS (column 'c:bytes'))
    SERVER widetable OPTIONS (key 'ip, hour', families '{"c": {}}');
SELECT count(widetable.increment('ip_tbs', ROW(cookie::inet, date_trunc('hour', at)), jsonb_build_object('c:n', 1, 'c:bytes', coalesce(bytes, 0))))
FROM log;
-- by address: a prefix; by address and time: a range
SELECT hour, requests, bytes FROM ip_tbs WHERE ip = '101.119.18.35';
EXPLAIN (COSTS OFF) SELECT * FROM ip_tbs WHERE ip = '50.16.19.13' AND hour >= '2015-05-18' AND hour < '2015-05-19';
SELECT sum(requests) FROM ip_tbs WHERE ip = '50.16.19.13' AND hour >= '2015-05-18' AND hour < '2015-05-19';
-- a network is a range, too
SELECT ip, sum(requests) FROM ip_tbs WHERE ip BETWEEN '207.241.237.0' AND '207.241.237.255' GROUP BY ip ORDER BY ip LIMIT 3;

-- ----------------------------------------------------------------- with SQL
-- Sessions: a visitor who is away for half an hour starts a new one.
CREATE VIEW sessions AS
SELECT cookie, session, min(at) AS began, max(at) - min(at) AS lasted, count(*) AS pages
FROM (SELECT cookie, at, count(*) FILTER (WHERE new) OVER (PARTITION BY cookie ORDER BY at) AS session
      FROM (SELECT cookie, at, at - lag(at) OVER (PARTITION BY cookie ORDER BY at) > interval '30 min' AS new FROM page_views) v) s
GROUP BY cookie, session;
SELECT count(*) AS sessions, count(DISTINCT cookie) AS visitors, max(pages) AS longest, avg(pages)::numeric(5,2) FROM sessions;
-- A page view and its counter in one transaction, rolled back together.
BEGIN;
INSERT INTO page_views (cookie, at, line, url) VALUES ('c42', '2015-05-21', 1, '/new');
SELECT widetable.increment('ip_tbs', ROW(inet '192.0.2.1', timestamptz '2015-05-21'), 'c:n');
ROLLBACK;
SELECT (SELECT count(*) FROM page_views WHERE cookie = 'c42') AS views, (SELECT count(*) FROM ip_tbs WHERE ip = '192.0.2.1') AS counters;
-- A join with an ordinary table.
CREATE TABLE watched (cookie text, why text);
INSERT INTO watched VALUES ('50.16.19.13', 'reads one feed all day'), ('c42', 'shopper');
SELECT w.why, v.* FROM watched w, LATERAL (SELECT at, url FROM page_views p WHERE p.cookie = w.cookie ORDER BY at DESC LIMIT 1) v;
