-- Keys, blocks and files: how do the bytes lie, and what does that cost?
--
-- The choices in every design for a sorted store: one value or many
-- columns, bytes that sort, hashes and salt, how much to read at once,
-- what stays in memory, where to cut a table for parallel work.  Counters
-- prove each point. The data is a year of hourly weather
-- (test/data/README.md).
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_keys;
SET search_path = gallery_keys;
CREATE FUNCTION counted(what text, query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN (SELECT sum(v::text::bigint) FROM jsonb_path_query(j::jsonb, ('strict $.**."' || what || '"')::jsonpath) v);
END $$;
CREATE TABLE weather (station text COLLATE "C", at timestamptz, temp_f float8, dewpoint_f float8, humidity_pct float8, wind_dir_deg float8,
                      wind_speed_mph float8, wind_gust_mph float8, precip_in float8, pressure_hpa float8, visibility_mi float8);
-- flush first, so that the counts of files and blocks stay the same
SELECT widetable.flush();
\copy weather FROM PROGRAM 'gzip -dc test/data/weather_hourly.tsv.gz' WITH (FORMAT text, HEADER true)

-- S59: one serialised value, or a column for each field
--
-- The same readings twice: as one JSON document in one cell, and as nine cells.
CREATE FOREIGN TABLE as_doc (station text COLLATE "C", at timestamptz, doc jsonb) SERVER widetable OPTIONS (key 'station, at');
CREATE FOREIGN TABLE as_columns (station text COLLATE "C", at timestamptz, temp_f float8, dewpoint_f float8, humidity_pct float8, wind_dir_deg float8,
    wind_speed_mph float8, wind_gust_mph float8, precip_in float8, pressure_hpa float8, visibility_mi float8)
    SERVER widetable OPTIONS (key 'station, at');
INSERT INTO as_doc SELECT station, at, jsonb_strip_nulls(to_jsonb(w) - 'station' - 'at') FROM weather w;
INSERT INTO as_columns SELECT * FROM weather;
SELECT widetable.compact('as_doc'), widetable.compact('as_columns');
-- The whole row is one cell or nine.  One field of it needs the whole
-- document, or just its cell.
SELECT counted('Cells Returned', $$SELECT * FROM as_doc$$) < counted('Cells Returned', $$SELECT * FROM as_columns$$) AS whole_rows_fewer_cells;
EXPLAIN (COSTS OFF) SELECT max((doc ->> 'temp_f')::float8) FROM as_doc WHERE at >= '2013-07-01';
EXPLAIN (COSTS OFF) SELECT max(temp_f) FROM as_columns WHERE at >= '2013-07-01';
SELECT (SELECT max((doc ->> 'temp_f')::float8) FROM as_doc WHERE at >= '2013-07-01') AS doc, (SELECT max(temp_f) FROM as_columns WHERE at >= '2013-07-01') AS columns;
-- Columns have types, so they are smaller, and the engine can test conditions on them.
SELECT widetable.table_size('as_columns') < widetable.table_size('as_doc') AS columns_are_smaller;
EXPLAIN (COSTS OFF) SELECT at FROM as_columns WHERE wind_gust_mph > 60;
SELECT at, wind_gust_mph FROM as_columns WHERE wind_gust_mph > 55;
-- A change writes one cell or the whole document.  Two users who change
-- different fields conflict only in the document.
UPDATE as_columns SET precip_in = 0.01 WHERE station = 'KLGA' AND at = '2013-01-01 06:00';
UPDATE as_doc SET doc = doc || '{"precip_in": 0.01}' WHERE station = 'KLGA' AND at = '2013-01-01 06:00';
SELECT (SELECT count(*) FROM widetable.raw_cells('as_columns', ROW('KLGA', timestamptz '2013-01-01 06:00')) WHERE qualifier = 'precip_in') AS versions_of_the_cell,
       (SELECT sum(octet_length(value)) > 200 FROM widetable.raw_cells('as_doc', ROW('KLGA', timestamptz '2013-01-01 06:00'))) AS document_twice;
-- A view makes the document look like columns.
CREATE VIEW doc_as_columns AS SELECT d.station, d.at, f.* FROM as_doc d, jsonb_to_record(doc) AS f(temp_f float8, dewpoint_f float8, humidity_pct float8,
    wind_dir_deg float8, wind_speed_mph float8, wind_gust_mph float8, precip_in float8, pressure_hpa float8, visibility_mi float8);
SELECT count(*) AS differ FROM (TABLE as_columns EXCEPT TABLE doc_as_columns) x;

-- S70: numbers whose bytes sort as the numbers do
--
-- The trap: decimal text sorts 10 before 9, two's complement sorts -1 after
-- everything.  Key encodings sort as the numbers do: doc/encodings.md.
SELECT string_agg(n::text, ' ' ORDER BY n::text COLLATE "C") AS as_text, string_agg(n::text, ' ' ORDER BY int4send(n)) AS as_int4,
       string_agg(n::text, ' ' ORDER BY n) AS as_numbers FROM unnest('{-10,-9,-1,0,1,9,10,100}'::int[]) n;
CREATE FOREIGN TABLE num (n int, v int) SERVER widetable OPTIONS (key 'n');
CREATE FOREIGN TABLE num_desc (n int, v int) SERVER widetable OPTIONS (key 'n desc');
CREATE FOREIGN TABLE num_binary (n int OPTIONS (encoding 'binary'), v int) SERVER widetable OPTIONS (key 'n');
CREATE FOREIGN TABLE num_float (n float8, v int) SERVER widetable OPTIONS (key 'n');
CREATE FOREIGN TABLE num_numeric (n numeric, v int) SERVER widetable OPTIONS (key 'n');
SELECT n, widetable.encode_key('num', n) AS ordered, widetable.encode_key('num_desc', n) AS descending, widetable.encode_key('num_binary', n) AS "as HBase's toBytes",
       widetable.encode_key('num_float', n::float8) AS float8, widetable.encode_key('num_numeric', n::numeric) AS numeric
FROM unnest('{-1,0,1,3}'::int[]) n;
SELECT bool_and(i = f) AS floats_sort, bool_and(i = m) AS numerics_sort
FROM (SELECT row_number() OVER (ORDER BY x) AS i, row_number() OVER (ORDER BY widetable.encode_key('num_float', x::float8)) AS f,
             row_number() OVER (ORDER BY widetable.encode_key('num_numeric', x)) AS m
      FROM unnest('{-1e300,-100.5,-100,-1,-0.001,0,0.001,0.5,1,1.5,9,10,99.99,1e10,1e300}'::numeric[]) x) r;
-- Binary keys of other programs can be read as well.  They give no ranges and
-- no order for negative numbers, so PostgreSQL sorts, and the result is right.
INSERT INTO num_binary SELECT n, 0 FROM unnest('{-1,0,1}'::int[]) n;
EXPLAIN (COSTS OFF) SELECT n FROM num_binary ORDER BY n;
SELECT n FROM num_binary ORDER BY n;
-- Amounts can be key columns as well: numeric keeps any number of digits.
INSERT INTO num_numeric SELECT x, 1 FROM unnest('{10,9.99,9.999,1000000000000000000000,-5}'::numeric[]) x;
SELECT n FROM num_numeric WHERE n > 0 ORDER BY n DESC LIMIT 3;

-- S71: how many rows at once
--
-- HBase clients set scanner caching: the number of rows in a network round
-- trip. Here the scan runs next to the data and stops when no more rows are
-- requested; LIMIT and cursors limit the rows.
SELECT counted('Cells Returned', $$SELECT temp_f FROM as_columns LIMIT 10$$) < 100 AS limit_reads_few,
       counted('Cells Returned', $$SELECT temp_f FROM as_columns$$) > 8000 AS all_of_them;
BEGIN;
DECLARE readings CURSOR FOR SELECT at, temp_f FROM as_columns WHERE station = 'KLGA' ORDER BY at;
FETCH 3 FROM readings;
FETCH 3 FROM readings;
MOVE 8000 IN readings;
FETCH 1 FROM readings;
COMMIT;

-- S107: hashed keys: short, evenly spread, without ranges
--
-- A key of 16 bytes, whatever the length of the url.  A cell keeps the original,
-- so the table still shows it; = finds it, < and LIKE cannot use the key.
CREATE FOREIGN TABLE by_hash (url text OPTIONS (encoding 'md5', column 'd:url'), title text) SERVER widetable OPTIONS (key 'url');
INSERT INTO by_hash VALUES ('TheFakeMT', 'fake'), ('TheRealMT', 'real'), (repeat('http://example.org/', 50), 'long');
SELECT widetable.encode_key('by_hash', u) AS key, widetable.encode_key('by_hash', u) = decode(md5(u), 'hex') AS is_md5
FROM unnest('{TheFakeMT,TheRealMT}'::text[]) u;
EXPLAIN (COSTS OFF) SELECT title FROM by_hash WHERE url = 'TheRealMT';
SELECT left(url, 20) AS url, title FROM by_hash WHERE url IN ('TheRealMT', repeat('http://example.org/', 50)) ORDER BY title;
EXPLAIN (COSTS OFF) SELECT title FROM by_hash WHERE url > 'TheFake';

-- S108: salted keys
--
-- The rows of the literature: salt, '|', timestamp.  Consecutive writes go to
-- three places.
CREATE FOREIGN TABLE salted_by_hand (salt text OPTIONS (delimiter '|') COLLATE "C", t text COLLATE "C", v int) SERVER widetable OPTIONS (key 'salt, t');
INSERT INTO salted_by_hand VALUES ('0', 't1', 1), ('2', 't2', 2), ('2', 't4', 4), ('0', 't5', 5), ('0', 't6', 6), ('1', 't2', 2), ('2', 't8', 8), ('1', 't9', 9);
SELECT convert_from(widetable.encode_key('salted_by_hand', salt, t), 'UTF8') AS key FROM salted_by_hand;
-- A range of time is now one range in each bucket, and the client merges them.
EXPLAIN (COSTS OFF) SELECT t FROM salted_by_hand WHERE salt IN ('0', '1', '2') AND t >= 't2' AND t < 't9' ORDER BY t;
-- With salt_buckets the table does it: no salt in queries, one order, no Sort.
CREATE FOREIGN TABLE salted (t text COLLATE "C", v int) SERVER widetable OPTIONS (key 't', salt_buckets '3');
INSERT INTO salted SELECT DISTINCT t, v FROM salted_by_hand;
SELECT encode(widetable.encode_key('salted', t), 'escape') AS key FROM salted ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT t FROM salted WHERE t >= 't2' AND t < 't9' ORDER BY t;
SELECT string_agg(t, ' ') FROM (SELECT t FROM salted ORDER BY t) x;
SELECT string_agg(t, ' ') FROM (SELECT t FROM salted WHERE t >= 't2' AND t < 't9' ORDER BY t DESC) x;
-- The trap of the signed hash: the remainder of a negative number is negative.
-- The salts are then -3 to 3, and a reader of the buckets 0 to 3 misses rows.
SELECT array_agg(DISTINCT hashtext(k) % 4 ORDER BY hashtext(k) % 4) AS wrong, array_agg(DISTINCT widetable.salt(k::bytea, 4) ORDER BY widetable.salt(k::bytea, 4)) AS right
FROM (SELECT 'user' || i AS k FROM generate_series(1, 200) i) x;
SELECT k, widetable.salt(k::bytea, 4) AS of_4, widetable.salt(k::bytea, 16) AS of_16 FROM unnest('{a,b,abc,user1,user2}'::text[]) k;

-- S109: the block cache: a narrow row that was just read needs no read from disk
SELECT temp_f FROM as_columns WHERE station = 'KLGA' AND at = '2013-07-04 12:00';
SELECT counted('Blocks Read', q) AS read, counted('Blocks Cached', q) > 0 AS cached
FROM (SELECT $$SELECT temp_f FROM as_columns WHERE station = 'KLGA' AND at = '2013-07-04 12:00'$$) x(q);
SELECT cache_hits AS before FROM widetable.pg_stat_widetable \gset
SELECT sum(n) FROM generate_series(1, 50) i, LATERAL (SELECT count(*) AS n FROM as_columns WHERE station = 'KLGA' AND at = timestamptz '2013-07-04' + i * interval '1 hour') x;
SELECT cache_hits > :before AS hits_counted FROM widetable.pg_stat_widetable;
-- in_memory keeps the blocks of a family in the cache longest.
ALTER FOREIGN TABLE as_columns OPTIONS (ADD families '{"d": {"in_memory": true}}');
SELECT options FROM widetable.pg_stat_widetable_families WHERE relation = 'as_columns'::regclass;

-- S110: a flush writes sorted files that never change
CREATE FOREIGN TABLE flushed (k text COLLATE "C", v int) SERVER widetable OPTIONS (key 'k');
INSERT INTO flushed SELECT chr(97 + i % 8) || i, i FROM generate_series(1, 100) i;
SELECT widetable.flush('flushed');
INSERT INTO flushed SELECT chr(105 + i % 8) || i, i FROM generate_series(1, 100) i;
SELECT widetable.flush('flushed');
-- a file knows its first and last key, so a lookup opens only files that may contain it
SELECT convert_from(min_key, 'UTF8') AS min_key, convert_from(max_key, 'UTF8') AS max_key, rows, cells, tombstones
FROM widetable.pg_stat_widetable_files WHERE relation = 'flushed'::regclass ORDER BY min_key;
SELECT counted('Files Read', $$SELECT * FROM flushed WHERE k = 'b1'$$) AS files_read;
DELETE FROM flushed WHERE k LIKE 'p%';
SELECT widetable.compact('flushed');
SELECT convert_from(min_key, 'UTF8') AS min_key, convert_from(max_key, 'UTF8') AS max_key, rows, cells, tombstones
FROM widetable.pg_stat_widetable_files WHERE relation = 'flushed'::regclass;

-- S23, S111: block size: small for lookups, large for scans
--
-- A block is the unit of reading and decompression.  Neighbouring rows share a
-- block, and the more similar they are the better it compresses.  Three tables
-- with the same content:
CREATE FOREIGN TABLE small (station text COLLATE "C", at timestamptz, temp_f float8, wind_speed_mph float8, pressure_hpa float8)
    SERVER widetable OPTIONS (key 'station, at', families '{"d": {"block_size": 1024}}');
CREATE FOREIGN TABLE usual (station text COLLATE "C", at timestamptz, temp_f float8, wind_speed_mph float8, pressure_hpa float8)
    SERVER widetable OPTIONS (key 'station, at', families '{"d": {"block_size": 16384}}');
CREATE FOREIGN TABLE large (station text COLLATE "C", at timestamptz, temp_f float8, wind_speed_mph float8, pressure_hpa float8)
    SERVER widetable OPTIONS (key 'station, at', families '{"d": {"block_size": 262144}}');
INSERT INTO small SELECT station, at, temp_f, wind_speed_mph, pressure_hpa FROM weather;
INSERT INTO usual SELECT * FROM small;
INSERT INTO large SELECT * FROM small;
SELECT widetable.compact('small'), widetable.compact('usual'), widetable.compact('large');
-- with large blocks a scan touches fewer of them, and the file compresses better
CREATE FUNCTION blocks(query text) RETURNS bigint LANGUAGE sql AS $$ SELECT counted('Blocks Read', query) + counted('Blocks Cached', query) $$;
SELECT blocks('TABLE small') > 4 * blocks('TABLE usual') AS "small: many blocks", blocks('TABLE usual') > 2 * blocks('TABLE large') AS "large: few",
       widetable.table_size('small') > widetable.table_size('usual') AS "small: more bytes", widetable.table_size('usual') > widetable.table_size('large') AS "large: fewer";
-- a lookup reads one block of any size, so there small blocks win: less to
-- read, less to decompress, less of the cache used
SELECT t, blocks(format($$SELECT * FROM %I WHERE station = 'KLGA' AND at = '2013-07-04 12:00'$$, t)) BETWEEN 1 AND 2 AS one_block
FROM unnest('{small,usual,large}'::text[]) t;
SELECT relation, raw_bytes > 2 * file_bytes AS compressed_to_less_than_half FROM widetable.pg_stat_widetable_families
WHERE relation = 'usual'::regclass;

-- S112: split points, for workers that share a table
--
-- Other stores split regions by hand before the load, with a guess.  Here
-- nothing has to be split; split_keys returns keys that cut the stored rows
-- into parts for several clients.
SELECT count(*) AS cuts FROM widetable.split_keys('usual', 4);
CREATE VIEW parts AS
SELECT i, CASE WHEN i > 1 THEN (widetable.decode_key('usual', cuts[i - 1]) ->> 'at')::timestamptz ELSE '-infinity' END AS from_at,
       CASE WHEN i <= cardinality(cuts) THEN (widetable.decode_key('usual', cuts[i]) ->> 'at')::timestamptz ELSE 'infinity' END AS to_at
FROM (SELECT array(SELECT widetable.split_keys('usual', 4)) AS cuts) c, generate_series(1, cardinality(cuts) + 1) i;
SELECT i, rows BETWEEN 1000 AND 4000 AS a_fair_share, sum(rows) OVER () AS together
FROM parts, LATERAL (SELECT count(*) AS rows FROM usual WHERE station = 'KLGA' AND at >= from_at AND at < to_at) x ORDER BY i;
-- Parallel plans divide the table in the same way, automatically.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT at FROM usual WHERE temp_f > 95;
SELECT count(*) FROM (SELECT at FROM usual WHERE temp_f > 95 OFFSET 0) x;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- ----------------------------------------------------------------- with SQL
-- A wrong design is corrected by one statement: the same rows under another
-- key, checked before the old table is dropped, in one transaction.
BEGIN;
CREATE FOREIGN TABLE newest_first (station text COLLATE "C", at timestamptz, temp_f float8, wind_speed_mph float8, pressure_hpa float8)
    SERVER widetable OPTIONS (key 'station, at desc', salt_buckets '4');
INSERT INTO newest_first SELECT * FROM large;
SELECT count(*) AS lost FROM (TABLE large EXCEPT TABLE newest_first) x;
DROP FOREIGN TABLE large;
ALTER FOREIGN TABLE newest_first RENAME TO readings;
COMMIT;
SELECT at, temp_f FROM readings WHERE station = 'KLGA' ORDER BY at DESC LIMIT 2;
