-- A wide table with real data and its plain view; run in test/data.
CREATE EXTENSION widetable;
CREATE FOREIGN TABLE places (
  geonameid int, name text, country text, population bigint, lat float8, lon float8,
  more jsonb OPTIONS (family 'm'))
  SERVER widetable OPTIONS (key 'geonameid', families '{"d": {}, "m": {}}');
CREATE TEMP TABLE p (geonameid int, name text, ascii_name text, lat float8, lon float8, feature_class text, feature_code text,
  country text, admin1 text, admin2 text, population bigint, elevation_dem int, timezone text, modified date);
\copy p FROM PROGRAM 'gzip -dc places.tsv.gz' WITH (FORMAT text, HEADER true)
INSERT INTO places SELECT geonameid, name, country, population, lat, lon, jsonb_build_object('timezone', timezone, 'code', feature_code) FROM p;
SELECT widetable.plain_view('places') \g /dev/null
