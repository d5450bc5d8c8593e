\echo
\echo :b'4. Page visits: newest first, and counters':n
\echo 'The key is the visitor, then the time, descending: a visitor''s latest pages are the first rows.'
\echo
\set ECHO queries
CREATE FOREIGN TABLE visits (
  visitor  inet,
  at       timestamptz,
  line     int,
  path     text NOT NULL,
  status   int,
  referer  text OPTIONS (column 'r:'),
  agent    text OPTIONS (column 'r:agent')
) SERVER widetable
  OPTIONS (key 'visitor, at desc, line', families '{"p": {}, "r": {"ttl": "60 days"}}');
\echo

INSERT INTO visits SELECT client_ip, at, line_no, path, status, referer, user_agent FROM access_log;
\echo

SELECT at, status, path FROM visits WHERE visitor = '50.16.19.13' ORDER BY at DESC LIMIT 4;
\explain

\echo :d'Counters.  Each page has a row; the qualifier is the hour, so a page has as many columns as it needs.':n
CREATE FOREIGN TABLE page_hits (
  path   text COLLATE "C",
  total  bigint OPTIONS (column 't:', encoding 'counter')
) SERVER widetable OPTIONS (key 'path', families '{"t": {}, "h": {"ttl": "30 days"}}');
\echo

SELECT count(*) AS counted FROM (
  SELECT widetable.increment('page_hits', path, jsonb_build_object('t:', 1, to_char(at, '"h:"MM-DD HH24'), 1))
  FROM access_log) AS each_request;

SELECT path, total FROM page_hits ORDER BY total DESC LIMIT 4;

\echo :d'One transaction on two wide tables and an ordinary one.  ROLLBACK undoes all of it:':n
BEGIN;
INSERT INTO visits VALUES ('192.0.2.1', now(), 1, '/projects/xdotool/', 200);
\echo
SELECT widetable.increment('page_hits', '/projects/xdotool/'::text, 'total');
DELETE FROM access_log;
ROLLBACK;
\echo
SELECT (SELECT count(*) FROM visits WHERE visitor = '192.0.2.1') AS visits,
       (SELECT total FROM page_hits WHERE path = '/projects/xdotool/') AS xdotool_total,
       (SELECT count(*) FROM access_log) AS log_lines;
