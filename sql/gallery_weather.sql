-- Weather: observations by station and by tile of the map, the last ten minutes, late corrections, and data that expires.
--
-- Question: what is the weather here, and what was it?  Stations send readings; users ask for a place, that is, for a tile of the map.
-- Twenty thousand stations, hourly for fifty years, are 20,000 * 438,000 = 8.8 thousand million readings, too many to scan
-- for an answer.
-- Design (A): readings by station, newest first.  Which tiles a station counts for is computed once; readings are accumulated for
-- each tile and day, so that an answer is one row.  Data needed only for the last minutes is in a family that forgets the rest.
-- The data: a year at LaGuardia, New York (nycflights13, CC0), and the stations of the world (Meteostat, CC BY 4.0).
CREATE SCHEMA gallery_weather;
SET search_path = gallery_weather;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
\pset null -
CREATE TEMP TABLE load (station text, at timestamptz, temp_f float8, dewpoint_f float8, humidity float8, wind_dir float8,
    wind_mph float8, gust_mph float8, rain_in float8, hpa float8, visibility float8);
\copy load FROM PROGRAM 'gzip -dc test/data/weather_hourly.tsv.gz' WITH (FORMAT text, HEADER true)
CREATE TABLE station (id text COLLATE "C", name text, country text, region text, lat float8, lon float8, elevation float8, timezone text,
    active bool, wmo text, icao text COLLATE "C", ghcn text, names jsonb);
\copy station FROM PROGRAM 'gzip -dc test/data/stations.tsv.gz' WITH (FORMAT text, HEADER true)

CREATE FOREIGN TABLE reading (
    station text COLLATE "C",
    at      timestamptz,
    tenths  int,                                            -- degrees Celsius times ten: sums of integers are exact
    rain_mm numeric,
    rest    jsonb OPTIONS (family 'more')                   -- anything else that this station measures
) SERVER widetable OPTIONS (key 'station, at desc', families '{"d": {}, "more": {}}');
INSERT INTO reading
SELECT station, at, round((temp_f - 32) * 50 / 9), round(rain_in::numeric * 25.4, 1), jsonb_strip_nulls(jsonb_build_object('gust_mph', gust_mph, 'hpa', hpa))
FROM load;
SELECT widetable.flush('reading'), widetable.compact('reading');
-- The newest readings of a station, and one day: ranges in key order.
SELECT at, round(tenths / 10.0, 1) AS celsius, rest FROM reading WHERE station = 'KLGA' ORDER BY at DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT at, tenths FROM reading WHERE station = 'KLGA' ORDER BY at DESC LIMIT 3;

-- S37: stations and observations by tile: which tiles a station counts for is computed once ...
CREATE FOREIGN TABLE station_tile (station text COLLATE "C", quad text COLLATE "C", here bool) SERVER widetable OPTIONS (key 'station, quad');
CREATE FOREIGN TABLE tile_station (quad text COLLATE "C", station text COLLATE "C", here bool) SERVER widetable OPTIONS (key 'quad, station');
WITH s AS (INSERT INTO station_tile SELECT icao, left(q, zoom), true
           FROM station, widetable.quadkey(lat, lon, 8) q, unnest('{4,6,8}'::int[]) zoom WHERE icao IS NOT NULL RETURNING *)
INSERT INTO tile_station SELECT quad, station, here FROM s;
SELECT quad FROM station_tile WHERE station = 'KLGA';
SELECT quad, count(*) AS stations, bool_or(station = 'KLGA') AS "LaGuardia" FROM tile_station WHERE quad LIKE '0320%' AND length(quad) = 6 GROUP BY quad HAVING count(*) > 10 ORDER BY quad;

-- S37: ... and readings are accumulated for each tile and day
CREATE FOREIGN TABLE tile_day (
    quad text COLLATE "C",
    day  date,
    n    bigint NOT NULL,                                   -- counters: sums can be accumulated, averages cannot
    sum  bigint,
    low  bigint,
    high bigint
) SERVER widetable OPTIONS (key 'quad, day desc');
INSERT INTO tile_day
SELECT quad, at::date, count(*), sum(tenths), min(tenths), max(tenths) FROM reading JOIN station_tile USING (station) WHERE tenths IS NOT NULL GROUP BY quad, at::date;
SELECT widetable.flush('tile_day'), widetable.compact('tile_day');
-- New York's week in July 2013: seven rows for its 168 readings, whatever the number of stations.
SELECT day, n, round(sum / n / 10.0, 1) AS mean, round(low / 10.0, 1) AS low, round(high / 10.0, 1) AS high
FROM tile_day WHERE quad = widetable.quadkey(40.7, -74.0, 6) AND day BETWEEN '2013-07-15' AND '2013-07-21' ORDER BY day DESC;
EXPLAIN (COSTS OFF) SELECT day, n, sum FROM tile_day WHERE quad = widetable.quadkey(40.7, -74.0, 6) AND day BETWEEN '2013-07-15' AND '2013-07-21' ORDER BY day DESC;

-- One transaction stores a reading and adds it to all its totals.  UPDATE and increment lock the row, so concurrent readings
-- are not lost; a reading that is sent twice has the same key and counts once.
CREATE FUNCTION observe(who text, at timestamptz, tenths int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE q text;
BEGIN
    INSERT INTO reading (station, at, tenths) VALUES (who, at, tenths) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN 'known'; END IF;
    FOR q IN SELECT quad FROM station_tile s WHERE s.station = who LOOP
        PERFORM widetable.increment('tile_day', ROW(q, at::date), jsonb_build_object('n', 1, 'sum', tenths));
        UPDATE tile_day t SET low = least(low, tenths), high = greatest(high, tenths) WHERE t.quad = q AND t.day = at::date;
    END LOOP;
    RETURN 'counted';
END $$;
SELECT observe('KLGA', '2013-12-31 00:00', -22), observe('KLGA', '2013-12-31 01:00', -31), observe('KLGA', '2013-12-31 01:00', -31);
SELECT * FROM tile_day WHERE day = '2013-12-31' ORDER BY quad;
-- Do the totals agree with the readings?  A check that a store without joins cannot make.
SELECT count(*) AS rows, count(*) FILTER (WHERE (n, sum, low, high) IS DISTINCT FROM (o.c, o.s, o.l, o.h)) AS wrong
FROM tile_day FULL JOIN (SELECT quad, at::date AS day, count(*) AS c, sum(tenths) AS s, min(tenths) AS l, max(tenths) AS h
    FROM reading JOIN station_tile USING (station) WHERE tenths IS NOT NULL GROUP BY quad, at::date) o USING (quad, day);

-- S55: an average over the last ten minutes: a family that forgets, and avg() at the time of the question
CREATE FOREIGN TABLE recent (
    station text COLLATE "C",
    at      timestamptz,
    wind    float8,
    since   timestamptz OPTIONS (timestamp_of 'wind')       -- the age of the reading, not of its INSERT
) SERVER widetable OPTIONS (key 'station, at desc', families '{"w": {"ttl": "10 minutes"}}');
SELECT date_trunc('second', now()) + interval '1 hour' AS base \gset
INSERT INTO recent SELECT 'KLGA', t, wind, t
FROM (VALUES (1, 10), (3, 20), (5, 30), (7, 40), (9, 50), (11, 999)) v(minutes, wind), LATERAL (SELECT :'base'::timestamptz - minutes * interval '1 min' AS t) x;
-- Tests can set the clock: here to an hour from now, then to five and a half minutes later.  Nothing is deleted, and no job
-- has to run.
SET widetable.clock = :'base';
SELECT count(*), avg(wind) FROM recent WHERE station = 'KLGA';
SELECT :'base'::timestamptz + interval '5.5 min' AS later \gset
SET widetable.clock = :'later';
SELECT count(*), avg(wind) FROM recent WHERE station = 'KLGA';
SELECT :'base'::timestamptz + interval '11 min' AS later \gset
SET widetable.clock = :'later';
SELECT count(*), avg(wind) FROM recent WHERE station = 'KLGA';
RESET widetable.clock;
-- Or in a single cell with many versions instead of rows: the same average.
CREATE FOREIGN TABLE recent_wide (station text COLLATE "C", wind text, since timestamptz OPTIONS (timestamp_of 'wind'))
  SERVER widetable OPTIONS (key 'station', families '{"w": {"ttl": "10 minutes", "versions": 1000}}');
CREATE FOREIGN TABLE recent_cells (station text COLLATE "C", family text, qualifier text, ts timestamptz, value text)
  SERVER widetable OPTIONS (table_name 'gallery_weather.recent_wide', key 'station', layout 'cells');
INSERT INTO recent_wide SELECT station, wind, since FROM recent;
SET widetable.clock = :'base';
SELECT count(*), avg(value::float8) FROM recent_cells WHERE station = 'KLGA';
RESET widetable.clock;

-- S56: readings older than sixty days (5,184,000 seconds) are dropped
CREATE FOREIGN TABLE reading_60 (
    station text COLLATE "C",
    at      timestamptz,
    tenths  int,
    since   timestamptz OPTIONS (timestamp_of 'tenths')
) SERVER widetable OPTIONS (key 'station, at desc', families '{"d": {"ttl": "60 days"}}');
SELECT extract(epoch FROM interval '60 days') AS seconds;
-- The year 2013, moved to end half an hour ago: 8,700 rows are written, and those of the last sixty days are visible.
INSERT INTO reading_60 SELECT station, t, tenths, t FROM reading, LATERAL (SELECT at + (now() - interval '30 min' - timestamptz '2013-12-31 01:00') AS t) x WHERE tenths IS NOT NULL;
SELECT count(*) AS visible, (SELECT count(*) FROM reading WHERE at >= timestamptz '2013-12-31 01:30' - interval '60 days' AND tenths IS NOT NULL) AS expected FROM reading_60;
SELECT widetable.flush('reading_60');
-- data that other sessions may still read stays until they end: here a moment at most
DO $$ BEGIN
    FOR i IN 1 .. 100 LOOP
        PERFORM widetable.compact('reading_60');
        EXIT WHEN (SELECT rows FROM widetable.pg_stat_widetable_tables WHERE relation = 'reading_60'::regclass) = (SELECT count(*) FROM reading_60);
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;
SELECT (SELECT rows FROM widetable.pg_stat_widetable_tables WHERE relation = 'reading_60'::regclass) = (SELECT count(*) FROM reading_60) AS "nothing else is stored";

-- S113: late data and edits: the version with the highest timestamp wins, not the one that came last
CREATE FOREIGN TABLE forecast (
    station text COLLATE "C",
    day     date,
    tenths  int,
    made    timestamptz OPTIONS (timestamp_of 'tenths')     -- the timestamp of the version is when the forecast was made
) SERVER widetable OPTIONS (key 'station, day', families '{"d": {"versions": 10}}');
INSERT INTO forecast VALUES ('KLGA', '2014-01-03', -20, '2014-01-02 06:00');
INSERT INTO forecast VALUES ('KLGA', '2014-01-03', -95, '2014-01-02 18:00');
INSERT INTO forecast VALUES ('KLGA', '2014-01-03', -60, '2014-01-02 12:00');      -- delayed in a queue
SELECT tenths, made FROM forecast WHERE station = 'KLGA' AND day = '2014-01-03';
SELECT to_timestamp(ts / 1e6) AS made, ('x' || encode(value, 'hex'))::bit(32)::int AS tenths FROM widetable.cells('forecast', ROW('KLGA', '2014-01-03'), 10);
-- What was the forecast at one o'clock in the afternoon?
SET widetable.as_of = '2014-01-02 13:00';
SELECT tenths, made FROM forecast WHERE station = 'KLGA' AND day = '2014-01-03';
RESET widetable.as_of;

-- =================================================== beyond what wide-column stores offer

-- The longest runs of days with frost: window functions over an aggregate over a key range.
SELECT min(day) AS first, max(day) AS last, count(*) AS days
FROM (SELECT day, day - row_number() OVER (ORDER BY day)::int AS run FROM tile_day WHERE quad = widetable.quadkey(40.7, -74.0, 8) AND low < 0) d
GROUP BY run ORDER BY days DESC, first LIMIT 3;
-- How do nearby stations compare in elevation, and which have readings?  Wide and ordinary tables in one join.
SELECT s.name, s.elevation, (SELECT count(*) FROM reading r WHERE r.station = t.station) AS readings
FROM tile_station t JOIN station s ON s.icao = t.station WHERE t.quad = widetable.quadkey(40.78, -73.88, 8) ORDER BY s.elevation, s.name COLLATE "C";
-- Rain by month, and its share of the year.
SELECT to_char(at, 'YYYY-MM') AS month, sum(rain_mm) AS mm, round(100 * sum(rain_mm) / sum(sum(rain_mm)) OVER (), 1) AS "% of year"
FROM reading WHERE station = 'KLGA' GROUP BY 1 ORDER BY 2 DESC LIMIT 3;
