-- GeoIP: which block of addresses holds this one?
--
-- An address is looked up in a list of intervals.  Sorted stores use a trick:
-- they store each block under its upper end.  The first key at or above the
-- address is the block; its lower end tells whether the address is in the block
-- or in the gap below it.  The lookup reads one row, in the small example of
-- the literature and in 49,474 real blocks (test/data/README.md) alike.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_geoip;
SET search_path = gallery_geoip;
CREATE FUNCTION counted(what text, query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN (SELECT sum(v::text::bigint) FROM jsonb_path_query(j::jsonb, ('strict $.**."' || what || '"')::jsonpath) v);
END $$;

-- S58: GeoIP: the key is the upper end of a block
--
-- The table of the literature: the key is the upper end as eight hex digits, with
-- a cell for each field.  (Addresses are in hex: 50.60.a1.09 is 80.96.161.9.)
CREATE FOREIGN TABLE ip (
    upper_end  text COLLATE "C",
    lower_end  text,
    isp        text,
    lat        float8,
    lon        float8,
    quadkey    text
) SERVER widetable OPTIONS (key 'upper_end', families '{"d": {"versions": 1}}');
INSERT INTO ip VALUES
    ('5060a108', '5060a000', 'A', 52.52, 13.40, widetable.quadkey(52.52, 13.40, 8)),
    ('5060a1d0', '5060a109', 'B', 48.86, 2.35,  widetable.quadkey(48.86, 2.35, 8)),
    ('5060a1ff', '5060a1d1', 'C', 41.90, 12.49, widetable.quadkey(41.90, 12.49, 8));
SELECT isp FROM ip WHERE upper_end >= '5060a109' ORDER BY upper_end LIMIT 1;
EXPLAIN (COSTS OFF) SELECT isp FROM ip WHERE upper_end >= '5060a109' ORDER BY upper_end LIMIT 1;
SELECT address, isp, quadkey FROM unnest('{5060a109,5060a1d0,5060a108,5060a000,5060a200}'::text[]) address
LEFT JOIN LATERAL (SELECT * FROM ip WHERE upper_end >= address ORDER BY upper_end LIMIT 1) x ON true;
-- Or as four bytes: half the length, the same order.
CREATE FOREIGN TABLE ip4 (upper_end bigint OPTIONS (encoding 'unsigned4'), isp text) SERVER widetable OPTIONS (key 'upper_end');
INSERT INTO ip4 SELECT ('x' || upper_end)::bit(32)::bigint, isp FROM ip;
SELECT widetable.encode_key('ip4', upper_end), isp FROM ip4;
SELECT isp FROM ip4 WHERE upper_end >= x'5060a109'::bigint ORDER BY upper_end LIMIT 1;
SELECT isp FROM ip4 WHERE upper_end >= x'ff000000'::bigint ORDER BY upper_end LIMIT 1;
-- Or as inet, which sorts as addresses do: nothing needs to be computed, and
-- version 6 fits into the same table.
CREATE FOREIGN TABLE block (last_ip inet, first_ip inet NOT NULL, country text) SERVER widetable OPTIONS (key 'last_ip');
\copy block (first_ip, last_ip, country) FROM PROGRAM 'gzip -dc test/data/geoip4.tsv.gz' WITH (FORMAT text, HEADER true)
INSERT INTO block VALUES ('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db8::', 'ZZ');
SELECT widetable.compact('block');
SELECT count(*) FROM block;
SELECT * FROM block WHERE last_ip >= '81.2.69.142' ORDER BY last_ip LIMIT 1;
EXPLAIN (COSTS OFF) SELECT * FROM block WHERE last_ip >= '81.2.69.142' ORDER BY last_ip LIMIT 1;
SELECT counted('Cells Returned', q) < 6 AS few_cells, counted('Blocks Read', q) + counted('Blocks Cached', q) < 3 AS few_blocks
FROM (SELECT $$SELECT * FROM block WHERE last_ip >= '81.2.69.142' ORDER BY last_ip LIMIT 1$$) x(q);
SELECT country FROM block WHERE last_ip >= '2001:db8::42' ORDER BY last_ip LIMIT 1;
-- The gap: 81.4.0.1 is in no block.  The condition on the lower end must be
-- outside the LIMIT; inside, the search would go on to the next matching block.
SELECT * FROM block WHERE last_ip >= '81.4.0.1' ORDER BY last_ip LIMIT 1;
SELECT * FROM (SELECT * FROM block WHERE last_ip >= '81.4.0.1' ORDER BY last_ip LIMIT 1) x WHERE first_ip <= '81.4.0.1';
CREATE FUNCTION country_of(address inet) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT country FROM (SELECT * FROM block WHERE last_ip >= address ORDER BY last_ip LIMIT 1) x WHERE first_ip <= address $$;
SELECT country_of('81.2.69.142'), country_of('81.4.0.1'), country_of('2001:db8::1'), country_of('ff02::1');
-- A check: both ends of every hundredth block, and the addresses next to them.
CREATE TABLE sample AS SELECT * FROM (SELECT *, lag(last_ip) OVER w AS before, lead(first_ip) OVER w AS after, row_number() OVER w AS nr FROM block
    WHERE family(last_ip) = 4 WINDOW w AS (ORDER BY last_ip)) x WHERE nr % 100 = 0;
SELECT count(*), count(*) FILTER (WHERE country_of(first_ip) IS DISTINCT FROM country) AS first_wrong, count(*) FILTER (WHERE country_of(last_ip) IS DISTINCT FROM country) AS last_wrong,
       count(*) FILTER (WHERE before < first_ip - 1 AND country_of(first_ip - 1) IS NOT NULL) AS gap_below_wrong,
       count(*) FILTER (WHERE after > last_ip + 1 AND country_of(last_ip + 1) IS NOT NULL) AS gap_above_wrong
FROM sample;
-- Blocks stored under their lower end work as well, read backwards.
CREATE FOREIGN TABLE block_low (first_ip inet, last_ip inet, country text) SERVER widetable OPTIONS (key 'first_ip');
INSERT INTO block_low SELECT first_ip, last_ip, country FROM block WHERE last_ip BETWEEN '81.0.0.0' AND '81.255.255.255';
EXPLAIN (COSTS OFF) SELECT * FROM block_low WHERE first_ip <= '81.2.69.142' ORDER BY first_ip DESC LIMIT 1;
SELECT * FROM block_low WHERE first_ip <= '81.2.69.142' ORDER BY first_ip DESC LIMIT 1;

-- ----------------------------------------------------------------- with SQL
-- A lookup for each visitor of a web site: a join that reads one row for each.
-- (The sample contains only the blocks of every fourth first octet.)
CREATE TABLE log (line int, client inet, at timestamptz, method text, path text, protocol text, status int,
                  bytes bigint, referer text, agent text);
\copy log FROM PROGRAM 'gzip -dc test/data/access_log.tsv.gz' WITH (FORMAT text, HEADER true)
SELECT b.country, count(*) AS visitors, sum(requests) AS requests
FROM (SELECT client, count(*) AS requests FROM log GROUP BY client) v
CROSS JOIN LATERAL (SELECT * FROM block WHERE last_ip >= client ORDER BY last_ip LIMIT 1) b
WHERE b.first_ip <= v.client
GROUP BY b.country ORDER BY visitors DESC, country LIMIT 5;
-- The opposite question: how many addresses does a country have?
SELECT country, count(*) AS blocks, sum(last_ip - first_ip + 1) AS addresses FROM block
WHERE family(last_ip) = 4 GROUP BY country ORDER BY addresses DESC LIMIT 3;
-- Blocks must not overlap: a trigger checks the neighbour before it accepts
-- one. The lock makes concurrent checks run one after the other.
CREATE FUNCTION no_overlap() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE other record;
BEGIN
    PERFORM pg_advisory_xact_lock('gallery_geoip.block'::regclass::int);
    SELECT * INTO other FROM (SELECT * FROM block WHERE last_ip >= NEW.first_ip ORDER BY last_ip LIMIT 1) x WHERE first_ip <= NEW.last_ip;
    IF FOUND THEN
        RAISE EXCEPTION 'addresses % to % belong to %', other.first_ip, other.last_ip, other.country USING ERRCODE = 'exclusion_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER no_overlap BEFORE INSERT ON block FOR EACH ROW EXECUTE FUNCTION no_overlap();
INSERT INTO block VALUES ('81.2.70.0', '81.2.69.200', 'XX');
INSERT INTO block VALUES ('81.4.0.255', '81.4.0.0', 'XX');
SELECT country_of('81.4.0.1');
-- A block is split.  A concurrent lookup sees the old block or both new ones,
-- never a gap.
BEGIN;
DELETE FROM block WHERE last_ip = '81.4.0.255';
INSERT INTO block VALUES ('81.4.0.127', '81.4.0.0', 'XX'), ('81.4.0.255', '81.4.0.128', 'XY');
COMMIT;
SELECT country_of('81.4.0.1'), country_of('81.4.0.200');
