-- Web statistics: the requests, and counters of them.  Run it in test/data; it
-- drops the schema "report" and creates it again.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS report CASCADE;
CREATE SCHEMA report;
CREATE EXTENSION IF NOT EXISTS widetable;

-- one row for each request; the requests of a visitor are adjacent, the newest first
CREATE FOREIGN TABLE report.visits (
  visitor text COLLATE "C", at timestamptz, n int,
  page text OPTIONS (column 'v:page'), status int OPTIONS (column 'v:status'), bytes bigint OPTIONS (column 'v:bytes'),
  referer text OPTIONS (column 'v:referer'), agent text OPTIONS (column 'a:agent'))
  SERVER widetable OPTIONS (key 'visitor, at desc, n', families '{"v": {}, "a": {}}');

-- counters of a page: one in total, and one for each day in a family with a time to live
CREATE FOREIGN TABLE report.pages (
  page text COLLATE "C", total bigint OPTIONS (column 't:hits', encoding 'counter'))
  SERVER widetable OPTIONS (key 'page', families '{"t": {}, "d": {"ttl": "40000 days"}}');
-- the same table with a row for each cell; days are qualifiers, so their number is not fixed
CREATE FOREIGN TABLE report.page_days (
  page text COLLATE "C", family text, qualifier text COLLATE "C", ts timestamptz, value bigint OPTIONS (encoding 'counter'))
  SERVER widetable OPTIONS (table_name 'report.pages', layout 'cells', key 'page');

-- blocks of addresses, by their ends: the first row at or after an address is its block
CREATE FOREIGN TABLE report.blocks (last inet, first inet OPTIONS (column 'b:first'), country text OPTIONS (column 'b:country'))
  SERVER widetable OPTIONS (key 'last', families '{"b": {}}');

CREATE TEMP TABLE log (line_no int, client_ip text, time_utc timestamptz, method text, path text, protocol text, status int,
  bytes bigint, referer text, user_agent text);
\copy log FROM PROGRAM 'gzip -dc access_log.tsv.gz' WITH (FORMAT text, HEADER true)
CREATE TEMP TABLE ip (first inet, last inet, country text);
\copy ip FROM PROGRAM 'gzip -dc geoip4.tsv.gz' WITH (FORMAT text, HEADER true)
INSERT INTO report.blocks SELECT last, first, country FROM ip;

-- requests and counters are written in one transaction, so they always agree
BEGIN;
INSERT INTO report.visits SELECT client_ip, time_utc, line_no, path, status, bytes, referer, user_agent FROM log;
SELECT count(widetable.increment('report.pages', path, jsonb_build_object('t:hits', 1, 'd:' || (time_utc AT TIME ZONE 'UTC')::date, 1)))
  FROM log WHERE status = 200 \g /dev/null
COMMIT;
ANALYZE report.visits;
ANALYZE report.pages;

-- reporting tools see views
SELECT widetable.plain_view('report.visits'), widetable.plain_view('report.pages') \g /dev/null
CREATE VIEW report.by_hour AS
  SELECT date_trunc('hour', at) AS hour, count(*) AS requests, count(DISTINCT visitor) AS visitors, sum(bytes) AS bytes
    FROM report.visits GROUP BY 1;
CREATE VIEW report.visitors AS
  SELECT visitor, count(*) AS requests, min(at) AS first, max(at) AS last FROM report.visits GROUP BY visitor;
-- one lookup in the blocks for each visitor
CREATE VIEW report.by_country AS
  SELECT coalesce(b.country, '?') AS country, count(*) AS visitors, sum(requests) AS requests
    FROM report.visitors v
    LEFT JOIN LATERAL (SELECT first, country FROM report.blocks WHERE last >= v.visitor::inet ORDER BY last LIMIT 1) b ON b.first <= v.visitor::inet
   GROUP BY 1;
