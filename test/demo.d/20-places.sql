\echo
\echo :b'2. Which places are on a tile of the map?  Quadkeys as row keys':n
\echo 'Each zoom level of a web map splits a tile into four; a quadkey names a tile by one digit per level.'
\echo 'Packed into 4 unsigned bytes it is a row key, and a tile of the map is a range of keys.'
\echo
CREATE TABLE places_load (geonameid int, name text, ascii_name text, lat float8, lon float8, feature_class text,
  feature_code text, country text, admin1 text, admin2 text, population bigint, elevation int, timezone text, modified date);
\copy places_load FROM PROGRAM 'gzip -dc places.tsv.gz' WITH (FORMAT text, HEADER true)
\set ECHO queries
CREATE FOREIGN TABLE places (
  tile        bigint OPTIONS (encoding 'unsigned4'),
  id          int,
  name        text NOT NULL,
  country     text,
  population  bigint,
  lat float8  OPTIONS (column 'pos:lat'),
  lon float8  OPTIONS (column 'pos:lon')
) SERVER widetable OPTIONS (key 'tile, id', families '{"i": {}, "pos": {}}');
\echo

INSERT INTO places
SELECT widetable.quadkey_pack(widetable.quadkey(lat, lon, 16)), geonameid, name, country, population, lat, lon
FROM places_load;
\echo
\set ECHO none
SELECT widetable.flush('places') \g /dev/null
\set ECHO queries

SELECT widetable.quadkey(52.5200, 13.4050, 16) AS berlin,
       widetable.quadkey_pack(left(widetable.quadkey(52.52, 13.405, 16), 6), 16) AS "first key of its tile at zoom 6";

SELECT name, country, population FROM places
WHERE tile >= widetable.quadkey_pack('120210', 16) AND tile < widetable.quadkey_pack('120211', 16)
ORDER BY population DESC LIMIT 6;
\explain

\echo :d'Positions are in a separate family and in separate files, which the query above did not open.':n
\echo :d'The next query reads both families:':n
SELECT country, count(*), round(avg(lat)::numeric, 1) AS mean_lat
FROM places
WHERE tile >= widetable.quadkey_pack('120210', 16) AND tile < widetable.quadkey_pack('120211', 16)
GROUP BY country ORDER BY count(*) DESC LIMIT 4;
\explain
\set ECHO none
DROP TABLE places_load;
