\echo
\echo :b'1. Which country does an address belong to?  The first key at or above it':n
\echo 'Each block of addresses is stored under its last address.'
\echo
\set ECHO queries
CREATE FOREIGN TABLE ip (last_ip inet, first_ip inet, country text)
  SERVER widetable OPTIONS (key 'last_ip');
\echo
\set ECHO none
\copy ip (first_ip, last_ip, country) FROM PROGRAM 'gzip -dc geoip4.tsv.gz' WITH (FORMAT text, HEADER true)
SELECT widetable.flush('ip') \g /dev/null
\echo :d'COPY has loaded 49,474 blocks.  An address within one of them:':n
\set ECHO queries
SELECT * FROM ip WHERE last_ip >= '81.2.69.142' ORDER BY last_ip LIMIT 1;
\explain

\echo :d'81.4.0.1 is in no block: the next block starts above it, so the query returns no row:':n
SELECT * FROM (SELECT * FROM ip WHERE last_ip >= '81.4.0.1' ORDER BY last_ip LIMIT 1) AS above
WHERE first_ip <= '81.4.0.1';

\echo :d'The same lookup for every visitor in a web server log, an ordinary table':n
\echo :d'(the sample contains the blocks of every fourth first octet only):':n
SELECT block.country, count(*) AS visitors
FROM (SELECT DISTINCT client_ip FROM access_log) AS visitor
CROSS JOIN LATERAL (SELECT * FROM ip WHERE last_ip >= client_ip ORDER BY last_ip LIMIT 1) AS block
WHERE block.first_ip <= visitor.client_ip
GROUP BY block.country ORDER BY visitors DESC, country LIMIT 6;
