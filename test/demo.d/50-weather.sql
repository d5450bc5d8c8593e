\echo
\echo :b'5. A year of weather, joined with an ordinary table':n
\echo
CREATE TABLE weather_load (station text, at timestamptz, temp_f float8, dewpoint_f float8, humidity_pct float8,
  wind_dir_deg float8, wind_speed_mph float8, wind_gust_mph float8, precip_in float8, pressure_hpa float8, visibility_mi float8);
\copy weather_load FROM PROGRAM 'gzip -dc weather_hourly.tsv.gz' WITH (FORMAT text, HEADER true)
\set ECHO queries
CREATE FOREIGN TABLE weather (
  station  text COLLATE "C",
  at       timestamptz,
  temp_f   float8,
  wind_mph float8,
  rain_in  float8,
  rest     jsonb OPTIONS (family 'more')          -- other measurements
) SERVER widetable
  OPTIONS (key 'station, at desc', families '{"d": {}, "more": {}}');
\echo

INSERT INTO weather
SELECT station, at, temp_f, wind_speed_mph, precip_in,
       jsonb_strip_nulls(jsonb_build_object('gust', wind_gust_mph::text, 'pressure', pressure_hpa::text))
FROM weather_load;
\echo

\echo :d'The latest readings of the airports in New York.  Each station of the ordinary table needs one':n
\echo :d'lookup; the order of the key is the requested order:':n
SELECT s.name, w.at, w.temp_f, w.wind_mph, w.rest
FROM stations AS s
CROSS JOIN LATERAL (SELECT * FROM weather WHERE station = s.icao ORDER BY at DESC LIMIT 3) AS w
WHERE s.country = 'US' AND s.region = 'NY'
ORDER BY s.name, w.at DESC;
\explain

\echo :d'A hot day in July: a range of the key.  Plain SQL does the rest:':n
SELECT date_trunc('day', at)::date AS day, count(*) AS readings, min(temp_f), max(temp_f)
FROM weather
WHERE station = 'KLGA' AND at >= '2013-07-17' AND at < '2013-07-21'
GROUP BY day ORDER BY day;
\explain
\set ECHO none
DROP TABLE weather_load;
SELECT widetable.flush() \g /dev/null
\echo :b'The tables now':n
SELECT relation AS "table", families, rows, cells, files, pg_size_pretty(raw_bytes) AS "keys and values",
       pg_size_pretty(file_bytes) AS "in files"
FROM widetable.pg_stat_widetable_tables WHERE relation IS NOT NULL ORDER BY relation::text;
