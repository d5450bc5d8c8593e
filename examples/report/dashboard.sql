-- Writes the numbers of the dashboard as tab-separated files to the current directory.
\set ON_ERROR_STOP 1
\pset format unaligned
\pset fieldsep '\t'
\pset footer off
SET timezone = 'UTC';
-- requests by hour, including hours without requests
\o hours.tsv
SELECT to_char(h, 'YYYY-MM-DD HH24:MI') AS hour, coalesce(requests, 0) AS requests, coalesce(visitors, 0) AS visitors
  FROM (SELECT min(hour) AS a, max(hour) AS z FROM report.by_hour) r,
       generate_series(a, z, interval '1 hour') h LEFT JOIN report.by_hour ON hour = h ORDER BY h;
-- the busiest pages, from the counters
\o pages.tsv
SELECT page, total AS hits FROM report.pages ORDER BY total DESC, page LIMIT 10;
-- compares the counters with the requests
\o check.tsv
SELECT count(*) AS pages_that_differ FROM report.pages p
  FULL JOIN (SELECT page, count(*) AS n FROM report.visits WHERE status = 200 GROUP BY page) v USING (page) WHERE p.total IS DISTINCT FROM v.n;
-- where visitors come from
\o countries.tsv
SELECT country, visitors, requests FROM report.by_country WHERE country <> '?' ORDER BY visitors DESC, country LIMIT 12;
-- the path of the busiest visitor, newest first: a prefix of the key, so nothing is sorted
\o journey.tsv
SELECT at, page, status FROM report.visits
 WHERE visitor = (SELECT visitor FROM report.visitors ORDER BY requests DESC, visitor LIMIT 1) ORDER BY visitor, at DESC LIMIT 20;
-- hits by day, from the counters: reads only the family of days
\o days.tsv
SELECT qualifier AS day, sum(value) AS hits FROM report.page_days WHERE family = 'd' GROUP BY day ORDER BY day;
\o
