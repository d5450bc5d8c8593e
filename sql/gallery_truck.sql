-- The truck with air conditioning: what one gives up for a wide-column store, given back one statement at a time.
--
-- Question: "we need the scale of rows and columns, but must we do without ...?"  The literature is frank about it: the
-- store is a truck that carries a lot, so do not expect air conditioning.  It has no sorting or searching by value, no
-- GROUP BY, no join, no index, no text search, no computing where the data is, no data types, no serial keys.
-- A foreign table has all of them, because PostgreSQL has them.  The data: 8,239 cities, a quarter
-- of all above 15,000 people (GeoNames, CC BY 4.0).
CREATE SCHEMA gallery_truck;
SET search_path = gallery_truck;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
\pset null -
\set SHOW_CONTEXT never
CREATE TEMP TABLE places (geonameid int, name text, ascii_name text, lat float8, lon float8, feature_class text,
    feature_code text, country text, admin1 text, admin2 text, population bigint, elevation int, timezone text, modified date);
\copy places FROM PROGRAM 'gzip -dc test/data/places.tsv.gz' WITH (FORMAT text, HEADER true)

-- The key answers one question: the cities of a country.  The questions below are those it does not answer.
CREATE FOREIGN TABLE city (
    country    text COLLATE "C",
    id         int,
    name       text COLLATE "C" NOT NULL,
    population bigint,
    zone       text,
    changed    date,
    lat        float8 OPTIONS (column 'pos:lat'),
    lon        float8 OPTIONS (column 'pos:lon')
) SERVER widetable OPTIONS (key 'country, id', families '{"i": {}, "pos": {}}');
INSERT INTO city SELECT country, geonameid, ascii_name, population, timezone, modified, lat, lon FROM places;
SELECT widetable.flush('city');

-- S10: sort by value
SELECT name, country, population FROM city ORDER BY population DESC LIMIT 5;

-- S10: search by value; the engine tests the bytes and makes rows only of what fits
SELECT name, country, population FROM city WHERE population BETWEEN 1000000 AND 1020000 ORDER BY population;
EXPLAIN (COSTS OFF) SELECT name, country, population FROM city WHERE population BETWEEN 1000000 AND 1020000;

-- S10: GROUP BY; the groups of the key are made in the scan
SELECT country, count(*), sum(population), max(population) FROM city WHERE country >= 'D' AND country < 'E' GROUP BY country ORDER BY country;
EXPLAIN (COSTS OFF) SELECT country, count(*), sum(population), max(population) FROM city WHERE country >= 'D' AND country < 'E' GROUP BY country ORDER BY country;
SELECT split_part(zone, '/', 1) AS part, count(*) FROM city GROUP BY part HAVING count(*) > 500 ORDER BY count(*) DESC;

-- S10: join, here with an ordinary table: one range of the wide table for each of its rows
CREATE TABLE country (code text COLLATE "C" PRIMARY KEY, name text, joined date);
INSERT INTO country VALUES ('FI', 'Finland', '1995-01-01'), ('EE', 'Estonia', '2004-05-01'), ('LV', 'Latvia', '2004-05-01');
SELECT k.name, c.name AS "largest that we have", c.population
FROM country k, LATERAL (SELECT name, population FROM city WHERE country = k.code ORDER BY population DESC LIMIT 1) c ORDER BY joined, k.name;

-- S10: secondary index: a second wide table, kept by a trigger in the same transaction
CREATE FOREIGN TABLE city_by_name (name text COLLATE "C", country text COLLATE "C", id int, here bool)
  SERVER widetable OPTIONS (key 'name, country, id');
INSERT INTO city_by_name SELECT name, country, id, true FROM city;
CREATE FUNCTION city_index() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN DELETE FROM city_by_name WHERE (name, country, id) = (OLD.name, OLD.country, OLD.id); END IF;
    IF TG_OP <> 'DELETE' THEN INSERT INTO city_by_name VALUES (NEW.name, NEW.country, NEW.id, true); END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER city_index AFTER INSERT OR UPDATE OR DELETE ON city FOR EACH ROW EXECUTE FUNCTION city_index();
SELECT c.name, c.country, c.population FROM city_by_name i JOIN city c USING (country, id) WHERE i.name = 'San Fernando' ORDER BY country, id;
EXPLAIN (COSTS OFF) SELECT c.name, c.country, c.population FROM city_by_name i JOIN city c USING (country, id) WHERE i.name = 'San Fernando';
BEGIN;
UPDATE city SET name = 'Saigon' WHERE country = 'VN' AND name = 'Ho Chi Minh City';
SELECT name, country FROM city_by_name WHERE name IN ('Saigon', 'Ho Chi Minh City');
ROLLBACK;
SELECT name, country FROM city_by_name WHERE name IN ('Saigon', 'Ho Chi Minh City');

-- S10: secondary index, declared: no trigger, and the question names the table
CREATE FOREIGN TABLE city_name (name text COLLATE "C", country text COLLATE "C", id int)
  SERVER widetable OPTIONS (index_of 'city', key 'name');                   -- the city's key is appended
SELECT name, country, population FROM city WHERE name = 'San Fernando' ORDER BY country, id;
EXPLAIN (COSTS OFF) SELECT name, country, population FROM city WHERE name = 'San Fernando';
BEGIN;
UPDATE city SET name = 'Saigon' WHERE country = 'VN' AND name = 'Ho Chi Minh City';
SELECT name, country FROM city WHERE name IN ('Saigon', 'Ho Chi Minh City');
ROLLBACK;
SELECT name, country FROM city WHERE name IN ('Saigon', 'Ho Chi Minh City');
-- Both have the same entries.
SELECT count(*) AS differences FROM (SELECT name, country, id, true AS there FROM city_name) d FULL JOIN city_by_name h USING (name, country, id)
WHERE there IS NULL OR here IS NULL;
SELECT * FROM widetable.verify('city');

-- S10: text match: patterns and full text
SELECT name FROM city WHERE country = 'DE' AND name ~* '(stein|stadt)$' ORDER BY name LIMIT 6;
SELECT name, country FROM city WHERE to_tsvector('simple', name) @@ to_tsquery('simple', 'new & (city | town)') ORDER BY name, country;

-- S10: computing at the server, where the data is: kilometres from Vienna, and what PostgreSQL has besides
CREATE FUNCTION km(lat1 float8, lon1 float8, lat2 float8, lon2 float8) RETURNS float8 IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
    SELECT 2 * 6371 * asin(sqrt(sind((lat2 - lat1) / 2) ^ 2 + cosd(lat1) * cosd(lat2) * sind((lon2 - lon1) / 2) ^ 2)) $$;
SELECT name, country, round(km(48.2085, 16.3721, lat, lon)) AS km FROM city WHERE population > 100000 ORDER BY km, name LIMIT 4;
SELECT country, name, population, rank() OVER (PARTITION BY country ORDER BY population DESC),
       round(100.0 * population / sum(population) OVER (PARTITION BY country), 1) AS "% of country"
FROM city WHERE country IN ('AT', 'HU') ORDER BY rank, country LIMIT 6;

-- S10: data types: of the key, in its order, and of the values
CREATE FOREIGN TABLE reading (
    host  inet,                                             -- 9.0.0.0 sorts before 10.0.0.0
    day   date,
    load  numeric,
    span  tstzrange,
    tags  text[],
    id    uuid
) SERVER widetable OPTIONS (key 'host, day desc');
INSERT INTO reading VALUES
    ('10.0.0.1', '2026-01-01', 0.10, '[2026-01-01, 2026-01-02)', '{db,eu}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'),
    ('9.0.0.1',  '2026-01-01', 12.5, '[2026-01-01 10:00, 2026-01-01 12:00)', '{web}', NULL),
    ('9.0.0.1',  '2026-02-01', 0.2,  NULL, '{web,eu}', NULL);
SELECT host, day, load + 0.3 AS load, upper(span) - lower(span) AS span, 'eu' = ANY (tags) AS eu FROM reading ORDER BY host, day DESC;
INSERT INTO reading (host, day, load) VALUES ('9.0.0.1', '2026-02-30', 1);

-- S10: serial keys
CREATE FOREIGN TABLE note (id bigserial, body text) SERVER widetable OPTIONS (key 'id', insert_mode 'error');
INSERT INTO note (body) VALUES ('first'), ('second') RETURNING id, body;

-- And what only the truck has: any columns, in any row, without DDL.
ALTER FOREIGN TABLE city OPTIONS (SET families '{"i": {}, "pos": {}, "x": {}}');
ALTER FOREIGN TABLE city ADD COLUMN more jsonb OPTIONS (family 'x');
UPDATE city SET more = '{"mayor since": "1990-10-03", "boroughs": 12}' WHERE country = 'DE' AND name = 'Berlin';
SELECT name, more->>'boroughs' AS boroughs FROM city WHERE country = 'DE' AND more ? 'boroughs';
