-- Maps: regions, places and labels by tile, nearby search, and a tree of tiles of several sizes.
--
-- Question: a user looks at a piece of a map.  Which borders, lakes, cities and stations are in it, which of them deserve a
-- label at this scale, and what is nearby?
-- Design (A): a web map splits a square world in four, and each quarter again; a quadkey names a tile with a digit for each split.
-- As a row key, the quadkey turns "in this tile" into a prefix and interleaves the two dimensions, so that places near each other
-- are mostly near each other in the table as well.  What a tile shows is computed beforehand, in a family for each kind of thing.
-- The data: borders and lakes 1:110 million (Natural Earth, public domain), cities (GeoNames, CC BY 4.0), weather stations
-- (Meteostat, CC BY 4.0).
CREATE SCHEMA gallery_places;
SET search_path = gallery_places;
\pset null -
CREATE TEMP TABLE region (layer text, id text, name text, iso text, kind text, parent text, population bigint,
    min_lon float8, min_lat float8, max_lon float8, max_lat float8, points int, geojson jsonb);
\copy region FROM PROGRAM 'gzip -dc test/data/regions.tsv.gz' WITH (FORMAT text, HEADER true)
UPDATE region SET name = translate(name, E'\r', ' '), iso = coalesce(lower(iso), CASE id WHEN 'FRA' THEN 'fr' WHEN 'NOR' THEN 'no' ELSE lower(id) END);
CREATE TEMP TABLE place (id int, name text, ascii_name text, lat float8, lon float8, class text, code text,
    country text, admin1 text, admin2 text, population bigint, elevation int, timezone text, modified date);
\copy place FROM PROGRAM 'gzip -dc test/data/places.tsv.gz' WITH (FORMAT text, HEADER true)
CREATE TEMP TABLE station (station text, name text, country text, region text, lat float8, lon float8, elevation float8, timezone text,
    active bool, wmo text, icao text, ghcn text, names jsonb);
\copy station FROM PROGRAM 'gzip -dc test/data/stations.tsv.gz' WITH (FORMAT text, HEADER true)

-- Shows the plan of a query: what the engine does for it and what it reads.
CREATE FUNCTION asked(query text) RETURNS TABLE ("the engine was asked" text) LANGUAGE plpgsql AS $$
BEGIN
    FOR "the engine was asked" IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        "the engine was asked" := regexp_replace("the engine was asked", ' \(actual[^)]*\)', '');
        IF "the engine was asked" !~ 'Tombstones|Blocks|Sort Method' THEN RETURN NEXT; END IF;
    END LOOP;
END $$;

-- Geometry; feel free to skip it.  widetable.quadkey(lat, lon, zoom) returns the tile of a point; tile() is the inverse.
CREATE FUNCTION tile(quad text, OUT x int, OUT y int, OUT west float8, OUT south float8, OUT east float8, OUT north float8)
IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE n float8 := 2 ^ length(quad);
BEGIN
    x := 0; y := 0;
    FOR i IN 1 .. length(quad) LOOP
        x := 2 * x + substr(quad, i, 1)::int % 2;
        y := 2 * y + substr(quad, i, 1)::int / 2;
    END LOOP;
    west  := 360 * x / n - 180;
    east  := 360 * (x + 1) / n - 180;
    north := degrees(atan(sinh(pi() * (1 - 2 * y / n))));
    south := degrees(atan(sinh(pi() * (1 - 2 * (y + 1) / n))));
END $$;
CREATE FUNCTION quad(x int, y int, zoom int) RETURNS text IMMUTABLE LANGUAGE sql AS $$
    SELECT string_agg((((x >> b) & 1) + 2 * ((y >> b) & 1))::text, '' ORDER BY b DESC) FROM generate_series(0, zoom - 1) b $$;
-- Crops a ring of points to a tile, one side after the other.  (PostGIS has ST_Intersection.)
CREATE FUNCTION crop_ring(ring jsonb, quad text) RETURNS jsonb IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
    t record;
    xs float8[]; ys float8[]; nx float8[]; ny float8[];
    px float8; py float8; d float8; pd float8;
BEGIN
    t := tile(quad);
    SELECT array_agg((p->>0)::float8 ORDER BY n), array_agg((p->>1)::float8 ORDER BY n) INTO xs, ys FROM jsonb_array_elements(ring) WITH ORDINALITY r(p, n);
    FOR side IN 1 .. 4 LOOP
        nx := '{}'; ny := '{}'; pd := NULL;
        FOR i IN 1 .. cardinality(xs) LOOP
            d := CASE side WHEN 1 THEN xs[i] - t.west WHEN 2 THEN t.east - xs[i] WHEN 3 THEN ys[i] - t.south ELSE t.north - ys[i] END;
            IF pd * d < 0 THEN nx := nx || px + (xs[i] - px) * pd / (pd - d); ny := ny || py + (ys[i] - py) * pd / (pd - d); END IF;
            IF d >= 0 THEN nx := nx || xs[i]; ny := ny || ys[i]; END IF;
            px := xs[i]; py := ys[i]; pd := d;
        END LOOP;
        IF cardinality(nx) = 0 THEN RETURN NULL; END IF;
        IF nx[1] <> px OR ny[1] <> py THEN nx := nx || nx[1]; ny := ny || ny[1]; END IF;        -- a ring ends where it begins
        xs := nx; ys := ny;
    END LOOP;
    RETURN (SELECT jsonb_agg(jsonb_build_array(round(a::numeric, 4), round(b::numeric, 4)) ORDER BY n) FROM unnest(xs, ys) WITH ORDINALITY u(a, b, n));
END $$;
CREATE FUNCTION crop(geojson jsonb, quad text) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
    SELECT jsonb_build_object('type', 'MultiPolygon', 'coordinates', jsonb_agg(jsonb_build_array(c) ORDER BY n))
    FROM jsonb_array_elements(CASE geojson->>'type' WHEN 'Polygon' THEN jsonb_build_array(geojson->'coordinates') ELSE geojson->'coordinates' END)
         WITH ORDINALITY p(polygon, n), crop_ring(polygon->0, quad) c
    WHERE c IS NOT NULL HAVING count(*) > 0
$$;

-- ============================================================ one record by its id

-- S24: region info: the key is a byte for the type of region and its ISO code; one record, so the qualifier is empty
CREATE FOREIGN TABLE region_info (
    kind   smallint OPTIONS (encoding 'unsigned1'),          -- ascii('a'): country, ascii('w'): lake
    id     text COLLATE "C",
    record jsonb    OPTIONS (column 'r:')
) SERVER widetable OPTIONS (key 'kind, id');
SELECT convert_from(widetable.encode_key('region_info', 97::smallint, 'us'), 'UTF8') AS "a + us",
       convert_from(widetable.encode_key('region_info', 98::smallint, 'dj'), 'UTF8') AS "b + dj";
INSERT INTO region_info
SELECT ascii(CASE layer WHEN 'lake_110m' THEN 'w' ELSE 'a' END), CASE layer WHEN 'lake_110m' THEN id ELSE iso END,
       jsonb_strip_nulls(jsonb_build_object('name', name, 'population', population, 'continent', parent))
FROM region;
SELECT record FROM region_info WHERE kind = ascii('a') AND id = 'jp';
EXPLAIN (COSTS OFF) SELECT record FROM region_info WHERE kind = ascii('a') AND id = 'jp';
-- The value is JSON, so SQL can look inside: the regions of one type are a range, and their fields can be queried.
SELECT record->>'continent' AS continent, count(*), sum((record->>'population')::bigint) AS people
FROM region_info WHERE kind = ascii('a') GROUP BY 1 HAVING count(*) > 10 ORDER BY 1;

-- S25: features by their number
CREATE FOREIGN TABLE geonames_info (id int, record jsonb OPTIONS (column 'i:')) SERVER widetable OPTIONS (key 'id');
INSERT INTO geonames_info SELECT id, jsonb_build_object('name', name, 'country', country, 'lat', lat, 'lon', lon, 'population', population) FROM place;
SELECT record FROM geonames_info WHERE id = 1850147;
EXPLAIN (COSTS OFF) SELECT record FROM geonames_info WHERE id = 1850147;

-- =========================================================== borders of a tile

-- Pieces of the borders of Canada, Japan, the USA and the Great Lakes in some large tiles; smaller ones are cut from these.
CREATE TEMP TABLE piece AS
SELECT quad, CASE layer WHEN 'lake_110m' THEN 'w' ELSE 'a' END AS kind, CASE layer WHEN 'lake_110m' THEN id ELSE iso END AS id, path
FROM region, (SELECT DISTINCT widetable.quadkey(lat, lon, 6) AS quad FROM place
              WHERE lat BETWEEN 41.5 AND 45 AND lon BETWEEN -88 AND -78 OR lat BETWEEN 35 AND 36 AND lon BETWEEN 139 AND 140) q,
     tile(quad) t, crop(geojson, quad) path
WHERE (iso IN ('ca', 'us', 'jp') OR id IN ('lake0003', 'lake0004', 'lake0023', 'lake0024'))
  AND min_lon <= east AND max_lon >= west AND min_lat <= north AND max_lat >= south AND path IS NOT NULL;

-- S26: tile bounds: a row for each tile of zoom level 13, a family for each type of region, a cell for each region
CREATE FOREIGN TABLE tile_bounds (
    quad      text COLLATE "C",
    countries jsonb OPTIONS (family 'a'),                   -- {"us": the path of its border within the tile}
    lakes     jsonb OPTIONS (family 'w'),
    cities    jsonb OPTIONS (family 'p')
) SERVER widetable
  OPTIONS (key 'quad', families '{"a": {}, "w": {}, "p": {}}',
           existence 'projected');                          -- a tile without lakes does not answer a question about lakes
CREATE TEMP TABLE wanted AS
SELECT widetable.quadkey(lat, lon, 13) AS quad, jsonb_object_agg(id, json_build_object('type', 'Point', 'coordinates', json_build_array(lon, lat))) AS cities
FROM place WHERE widetable.quadkey(lat, lon, 6) IN (SELECT quad FROM piece) GROUP BY 1;
INSERT INTO tile_bounds (quad, countries, lakes)
SELECT w.quad, jsonb_object_agg(id, cut) FILTER (WHERE kind = 'a'), jsonb_object_agg(id, cut) FILTER (WHERE kind = 'w')
FROM wanted w JOIN piece p ON p.quad = left(w.quad, 6), crop(path, w.quad) cut
WHERE cut IS NOT NULL GROUP BY w.quad;
INSERT INTO tile_bounds (quad, cities) SELECT * FROM wanted;    -- another job, another family: INSERT adds cells to existing rows
SELECT widetable.flush('tile_bounds'), widetable.compact('tile_bounds');
-- 1: all regions of a tile, here at Fort Erie, where the Niagara leaves the lake
SELECT key COLLATE "C" AS family, jsonb_object_keys(value) COLLATE "C" AS region FROM widetable.get('tile_bounds', '0302233111213') g, jsonb_each(g) ORDER BY family, region;
SELECT * FROM asked($$SELECT countries, lakes, cities FROM tile_bounds WHERE quad = '0302233111213'$$);
-- 2: only some types, which reads only the files of their families
SELECT countries->>'us' AS us, lakes->>'lake0004' AS lake0004 FROM tile_bounds WHERE quad = '0302233111213';
SELECT * FROM asked($$SELECT countries, lakes FROM tile_bounds WHERE quad = '0302233111213'$$);
-- 3: one region of one type, through another foreign table on the same rows
CREATE FOREIGN TABLE tile_japan (quad text COLLATE "C", path text OPTIONS (column 'a:jp') NOT NULL)
  SERVER widetable OPTIONS (table_name 'gallery_places.tile_bounds', key 'quad');
SELECT quad, path::jsonb#>'{coordinates,0,0,0}' AS "begins at" FROM tile_japan WHERE quad LIKE '13300211230%';
SELECT * FROM asked($$SELECT path FROM tile_japan WHERE quad LIKE '13300211230%'$$);
-- In the format of the browser: a FeatureCollection, with names from the other table.
SELECT jsonb_build_object('type', 'FeatureCollection', 'features', jsonb_agg(jsonb_build_object(
           'type', 'Feature', 'id', key, 'properties', jsonb_build_object('name', record->'name'), 'geometry', value::jsonb->'type') ORDER BY key)) AS shortened
FROM tile_bounds, jsonb_each_text(countries || lakes), region_info
WHERE quad = '0302233111213' AND kind IN (ascii('a'), ascii('w')) AND region_info.id = key;

-- S27: tile sizes: numbers of tiles, and their space at 64 kB each (computed, as in the literature)
SELECT zoom, 4 ^ zoom / 1e6 AS "million tiles", pg_size_pretty((4 ^ zoom)::bigint * 65536) AS size, round(40075 / 2 ^ zoom::numeric, 1) AS "km at the equator"
FROM generate_series(12, 15) zoom;

-- S28: coarser tiles: a key of three bytes, one for the zoom level and two for the tile
CREATE FOREIGN TABLE tile_coarse (
    zoom int OPTIONS (encoding 'unsigned1'),
    quad int OPTIONS (encoding 'unsigned2'),                -- zoom levels up to 8
    path jsonb OPTIONS (column 'g:')
) SERVER widetable OPTIONS (key 'zoom, quad');
INSERT INTO tile_coarse
SELECT length(quad), widetable.quadkey_pack(quad), jsonb_build_object('type', 'FeatureCollection', 'features',
       jsonb_agg(jsonb_build_object('type', 'Feature', 'id', id, 'geometry', path) ORDER BY id)) FROM piece GROUP BY quad;
SELECT widetable.encode_key('tile_coarse', 6, widetable.quadkey_pack('030223')::int) AS key;
SELECT jsonb_path_query_array(path, '$.features[*].id') AS regions FROM tile_coarse WHERE zoom = 6 AND quad = widetable.quadkey_pack('030223');
EXPLAIN (COSTS OFF) SELECT path FROM tile_coarse WHERE zoom = 6 AND quad = widetable.quadkey_pack('030223');

-- S29: finer requests: a tile of level 16 is cut from its parent of level 13, the first 13 digits: still one get
SELECT key, jsonb_array_length(crop(value::jsonb, '0302233111213012')#>'{coordinates,0,0}') AS points
FROM tile_bounds, jsonb_each_text(countries) WHERE quad = left('0302233111213012', 13);
EXPLAIN (COSTS OFF) SELECT countries FROM tile_bounds WHERE quad = left('0302233111213012', 13);

-- ============================================================ what is in a tile?

-- S30: a points index: key = tile, then id; rows are what other stores have columns for.  The literature's eleven rows:
CREATE FOREIGN TABLE tile_sample (quad text OPTIONS (delimiter '-') COLLATE "C", id text COLLATE "C", here bool)
  SERVER widetable OPTIONS (key 'quad, id');
INSERT INTO tile_sample SELECT split_part(k, '-', 1), split_part(k, '-', 2), true
FROM unnest('{012100-a,012100-b,012101-c,012102-d,012102-e,012110-f,012121-g,012121-h,012121-i,012123-j,012200-k}'::text[]) k;
SELECT string_agg(id, ' ') AS "tile 0121" FROM tile_sample WHERE quad >= '012100' AND quad < '012200';
SELECT string_agg(id, ' ') AS "tile 012121" FROM tile_sample WHERE quad >= '012121' AND quad < '012122';
-- The upper end is exclusive: it is the next tile.  The prefix gives the same rows, and leaves nothing to compute wrongly.
SELECT string_agg(id, ' ') AS "tile 0121" FROM tile_sample WHERE quad LIKE '0121%';
EXPLAIN (COSTS OFF) SELECT id FROM tile_sample WHERE quad LIKE '0121%';

-- S31: quadkeys packed into bits: two for each digit; sixteen digits fill an unsigned integer of four bytes
SELECT widetable.quadkey_pack('12301230') AS "12301230", to_hex(widetable.quadkey_pack('12301230')) AS hex,
       to_hex(widetable.quadkey_pack('0121', 16)) AS "0121 at level 16", to_hex(widetable.quadkey_pack('3333333333333333')) AS last;

-- Cities, weather stations and lakes of the world: a family for each feature class, a cell named by the feature code.
CREATE FOREIGN TABLE tile_places (
    quad bigint OPTIONS (encoding 'unsigned4'),
    id   text COLLATE "C",
    p    jsonb OPTIONS (family 'P'),                        -- populated places:  {"PPLC": "Vienna"}
    s    jsonb OPTIONS (family 'S'),                        -- spots, buildings:  {"STNM": "a weather station"}
    h    jsonb OPTIONS (family 'H')                         -- waters:            {"LK": "Lake Superior"}
) SERVER widetable OPTIONS (key 'quad, id', existence 'projected');
CREATE FOREIGN TABLE tile_place_cells (quad bigint OPTIONS (encoding 'unsigned4'), id text COLLATE "C",
                                       family text COLLATE "C", qualifier text COLLATE "C", value text)
  SERVER widetable OPTIONS (table_name 'gallery_places.tile_places', key 'quad, id', layout 'cells');
CREATE FUNCTION at(lat float8, lon float8) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$ SELECT widetable.quadkey_pack(widetable.quadkey(lat, lon, 16)) $$;
INSERT INTO tile_places (quad, id, p) SELECT at(lat, lon), id, jsonb_build_object(code, ascii_name) FROM place;
INSERT INTO tile_places (quad, id, s) SELECT at(lat, lon), station, jsonb_build_object('STNM', name) FROM station;
INSERT INTO tile_places (quad, id, h) SELECT at((min_lat + max_lat) / 2, (min_lon + max_lon) / 2), id, jsonb_build_object('LK', name) FROM region WHERE layer = 'lake_110m';
SELECT widetable.flush('tile_places'), widetable.compact('tile_places');
-- A tile is also a range of numbers: from its first tile of level 16 to the first one of its neighbour.
CREATE FUNCTION first_of(quad text) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$ SELECT widetable.quadkey_pack(quad, 16) $$;
CREATE FUNCTION next_of(quad text) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$ SELECT widetable.quadkey_pack(quad, 16) + (4 ^ (16 - length(quad)))::bigint $$;
SELECT to_hex(first_of('0302')) AS first, to_hex(next_of('0302')) AS next;

-- S30: everything of a tile, in one range
SELECT id, p, s FROM tile_places WHERE quad >= first_of('120221300') AND quad < next_of('120221300');
EXPLAIN (COSTS OFF) SELECT id, p, s, h FROM tile_places WHERE quad >= first_of('120221300') AND quad < next_of('120221300');

-- S33: a feature class is a family; a query selects one, several or all by naming columns
SELECT * FROM asked($$SELECT id, h FROM tile_places WHERE quad >= first_of('0302') AND quad < next_of('0302')$$);
SELECT h->>'LK' COLLATE "C" AS lake FROM tile_places WHERE quad >= first_of('0302') AND quad < next_of('0302') AND h ? 'LK' ORDER BY lake;
-- Codes nest by prefix: PPLA, PPLA2 ... are seats of administrations, PPLC is a capital.
SELECT qualifier, value FROM tile_place_cells WHERE quad >= first_of('120221') AND quad < next_of('120221') AND family = 'P' AND qualifier LIKE 'PPLA%' ORDER BY 1, 2 LIMIT 6;
EXPLAIN (COSTS OFF) SELECT qualifier, value FROM tile_place_cells WHERE quad >= first_of('120221') AND quad < next_of('120221') AND family = 'P' AND qualifier LIKE 'PPLA%';
-- And a query across all tiles:
SELECT qualifier, count(*) FROM tile_place_cells WHERE family IN ('P', 'S') GROUP BY qualifier HAVING count(*) > 500 ORDER BY 2 DESC;

-- S32: importance: three families; a map of a continent reads the first, a map of a town reads all
CREATE FOREIGN TABLE tile_labels (
    quad bigint OPTIONS (encoding 'unsigned4'),
    id   int,
    high text OPTIONS (column 'high:'),                     -- above a million people
    mid  text OPTIONS (column 'mid:'),                      -- above 100,000
    low  text OPTIONS (column 'low:')
) SERVER widetable OPTIONS (key 'quad, id', families '{"high": {}, "mid": {}, "low": {}}', existence 'projected');
INSERT INTO tile_labels SELECT at(lat, lon), id, CASE WHEN population >= 1e6 THEN ascii_name END,
    CASE WHEN population < 1e6 AND population >= 1e5 THEN ascii_name END, CASE WHEN population < 1e5 THEN ascii_name END FROM place;
SELECT widetable.flush('tile_labels'), widetable.compact('tile_labels');
SELECT string_agg(high, ', ' ORDER BY high COLLATE "C") AS "a quarter of the world" FROM tile_labels WHERE quad >= first_of('03') AND quad < next_of('03');
SELECT * FROM asked($$SELECT high FROM tile_labels WHERE quad >= first_of('03') AND quad < next_of('03')$$);
SELECT string_agg(coalesce(high, mid, low), ', ' ORDER BY coalesce(high, mid, low) COLLATE "C") AS "around the Niagara" FROM tile_labels WHERE quad >= first_of('030223311') AND quad < next_of('030223311');

-- S34: nearby search: the tile and its eight neighbours, a short range for each
CREATE FUNCTION around(quad text) RETURNS SETOF text IMMUTABLE LANGUAGE sql AS $$
    SELECT quad((x + dx + (1 << length($1))) % (1 << length($1)), y + dy, length($1))
    FROM tile($1), generate_series(-1, 1) dx, generate_series(-1, 1) dy WHERE y + dy BETWEEN 0 AND (1 << length($1)) - 1 $$;
CREATE FUNCTION km(lat1 float8, lon1 float8, lat2 float8, lon2 float8) RETURNS float8 IMMUTABLE LANGUAGE sql AS $$
    SELECT 2 * 6371 * asin(sqrt(sind((lat2 - lat1) / 2) ^ 2 + cosd(lat1) * cosd(lat2) * sind((lon2 - lon1) / 2) ^ 2)) $$;
-- The trap: the nearest place may be in the next tile.  Near Detroit (42.33, -83.05), in its own tile of level 8:
SELECT coalesce(high, mid, low) AS name, round(km(42.33, -83.05, (record->>'lat')::float8, (record->>'lon')::float8)) AS km
FROM tile_labels JOIN geonames_info USING (id)
WHERE quad >= first_of(widetable.quadkey(42.33, -83.05, 8)) AND quad < next_of(widetable.quadkey(42.33, -83.05, 8)) ORDER BY km, name LIMIT 4;
-- and with the eight neighbours:
SELECT coalesce(high, mid, low) AS name, round(km(42.33, -83.05, (record->>'lat')::float8, (record->>'lon')::float8)) AS km
FROM around(widetable.quadkey(42.33, -83.05, 8)) a, tile_labels JOIN geonames_info USING (id)
WHERE quad >= first_of(a) AND quad < next_of(a) ORDER BY km, name LIMIT 4;
-- Several ranges written out in one query are one scan.
EXPLAIN (COSTS OFF) SELECT id, high FROM tile_labels
WHERE quad >= first_of('03022331') AND quad < next_of('03022331') OR quad >= first_of('03022332') AND quad < next_of('03022332') OR quad >= first_of('03022330') AND quad < next_of('03022330');

-- ==================================================== tiles of several sizes

-- S35: a multi-scale quadtree: unchanging areas are stored at a coarser level, padded with '~', which sorts after digits
CREATE FOREIGN TABLE quadtree (tile text COLLATE "C", what text) SERVER widetable OPTIONS (key 'tile');
INSERT INTO quadtree SELECT t, 'tile ' || rtrim(t, '~') FROM unnest('{0111230~~,011123100,011123101,011123102,011123103,01112311~,
    011123120,011123121,011123122,011123123,01112313~,011130~~~}'::text[]) t;
SELECT widetable.flush('quadtree'), widetable.compact('quadtree');
-- The first row at or above the tile is the tile itself, or the coarser tile that contains it.
SELECT r AS requested, f.* FROM unnest('{011123012,011123101,011123112,011123121,011123130,011130222}'::text[]) r,
    LATERAL (SELECT tile, what FROM quadtree WHERE tile >= r ORDER BY tile LIMIT 1) f;
SELECT * FROM asked($$SELECT tile, what FROM quadtree WHERE tile >= '011123112' ORDER BY tile LIMIT 1$$);
-- The trap: where the tree has a hole, the first row above is another place.  The same statement can check this:
SELECT r AS requested, f.tile AS found FROM unnest('{011123112,010000000}'::text[]) r LEFT JOIN
    LATERAL (SELECT tile FROM quadtree WHERE tile >= r ORDER BY tile LIMIT 1) f ON starts_with(r, rtrim(f.tile, '~'));

-- S36: zoomed out: all stored tiles in 011123, of any size, or the one coarser tile that covers it
SELECT tile FROM quadtree WHERE tile >= '011123000' AND tile < '011123~';
CREATE FUNCTION tiles_of(wanted text) RETURNS SETOF text STABLE LANGUAGE sql AS $$
    SELECT tile FROM quadtree WHERE tile LIKE wanted || '%'
    UNION ALL
    SELECT tile FROM (SELECT tile FROM quadtree WHERE tile >= rpad(wanted, 9, '0') ORDER BY tile LIMIT 1) f
    WHERE starts_with(wanted, rtrim(tile, '~')) AND NOT starts_with(tile, wanted)
$$;
SELECT array_agg(t) AS "01112312" FROM tiles_of('01112312') t;
SELECT array_agg(t) AS "01113012" FROM tiles_of('01113012') t;
-- Splitting a tile is one transaction: no reader finds it missing or stored twice.
BEGIN;
WITH gone AS (DELETE FROM quadtree WHERE tile = '01112311~' RETURNING what)
INSERT INTO quadtree SELECT '01112311' || n, what FROM gone, generate_series(0, 3) n;
COMMIT;
SELECT tile, what FROM quadtree WHERE tile >= '011123112' ORDER BY tile LIMIT 1;

-- =================================================== beyond what wide-column stores offer

-- Which cities lie inside a country that is not theirs?  A join by location.  (The borders are accurate to some 50 km.)
WITH border AS MATERIALIZED (
    SELECT iso, (SELECT ('(' || string_agg(format('(%s,%s)', q->0, q->1), ',') || ')')::polygon FROM jsonb_array_elements(geojson#>'{coordinates,0}') q) AS shape
    FROM region WHERE iso IN ('at', 'ch', 'hu'))
SELECT iso AS within, count(*) AS cities, string_agg(record->>'name', ', ') FILTER (WHERE lower(record->>'country') <> iso) AS "of another country"
FROM geonames_info JOIN border ON point((record->>'lon')::float8, (record->>'lat')::float8) <@ shape GROUP BY iso ORDER BY iso;
-- A city that moves: the UPDATE of the key moves it to its new tile, in all tables or in none.
BEGIN;
UPDATE tile_labels SET quad = at(48.2, 16.37) WHERE quad = at(42.33143, -83.04575) AND id = 4990729;
UPDATE geonames_info SET record = record || '{"lat": 48.2, "lon": 16.37}' WHERE id = 4990729;
SELECT coalesce(high, mid, low) FROM tile_labels WHERE quad = at(48.2, 16.37);
ROLLBACK;
