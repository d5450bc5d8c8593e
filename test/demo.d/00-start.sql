CREATE EXTENSION widetable;
-- roles other than superusers create wide tables after: GRANT USAGE ON FOREIGN SERVER widetable TO ...;
-- ordinary tables that the steps load from and join with
CREATE TABLE stations (station text, name text, country text, region text, lat float8, lon float8, elevation_m float8,
  timezone text, active bool, wmo text, icao text, ghcn text, names jsonb);
\copy stations FROM PROGRAM 'gzip -dc stations.tsv.gz' WITH (FORMAT text, HEADER true)
CREATE TABLE access_log (line_no int, client_ip inet, at timestamptz, method text, path text, protocol text, status int,
  bytes bigint, referer text, user_agent text);
\copy access_log FROM PROGRAM 'gzip -dc access_log.tsv.gz' WITH (FORMAT text, HEADER true)
ANALYZE stations;
ANALYZE access_log;
