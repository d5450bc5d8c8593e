-- The model and its access paths: what a wide table stores, and the few ways to get at it.
--
-- Question: what can be done with a sorted map of row key, family, qualifier, timestamp and value?  The literature on
-- wide-column stores begins with a page of primitives (get, put, delete, scan, increment, versions, expiry).  This
-- script shows each of them in SQL, with the plan that shows its cost, and next to it what those stores do not have.
--
-- To run it by hand, start psql at the top of the source tree, in an empty database with the extension:
--     psql -a -f sql/gallery_model.sql
CREATE SCHEMA gallery_model;
SET search_path = gallery_model;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
\pset null -
\set SHOW_CONTEXT never

-- Shows the plan of a query and what it read: EXPLAIN ANALYZE without the parts that differ from run to run.
CREATE FUNCTION asked(query text) RETURNS TABLE ("the engine was asked" text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
    m text[];
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        CONTINUE WHEN line ~ 'Tombstones|Sort Method|Memory|Workers Launched';
        m := regexp_match(line, '^(\s*)Blocks: (\d+) read, (\d+) cached');
        IF m IS NOT NULL THEN line := m[1] || 'Blocks: ' || CASE m[2]::int + m[3]::int WHEN 0 THEN 'none' WHEN 1 THEN 'one' ELSE 'several' END; END IF;
        "the engine was asked" := regexp_replace(line, ' \(actual[^)]*\)', '');
        RETURN NEXT;
    END LOOP;
END $$;

-- ============================================================ one value by key

-- The simplest table: a key, and one cell with the whole record.
CREATE FOREIGN TABLE record (
    id   text COLLATE "C",                      -- the row key; "C": text in a key sorts by its bytes
    data jsonb OPTIONS (column 'd:')            -- family d, empty qualifier
) SERVER widetable OPTIONS (key 'id');
INSERT INTO record SELECT 'user' || lpad(n::text, 5, '0'), jsonb_build_object('n', n, 'even', n % 2 = 0) FROM generate_series(1, 10000) n;
SELECT widetable.flush('record'), widetable.compact('record');         -- from memory into one sorted file

-- S1: get, put and delete of one value by its key
SELECT data FROM record WHERE id = 'user00042';
SELECT * FROM asked($$SELECT data FROM record WHERE id = 'user00042'$$);
-- A key that does not exist: the Bloom filter of the file answers, and no block is read.
SELECT * FROM asked($$SELECT data FROM record WHERE id = 'user00042?'$$);

-- S11: one read for each request, however large the table is (speeds: doc/benchmarks.md)
SELECT rows, files FROM widetable.pg_stat_widetable_tables WHERE relation = 'record'::regclass;
-- 500 gets over the whole table: the first in each block reads the block from disk, the others find it in the cache.
SELECT count(data) FROM generate_series(1, 10000, 20) n, LATERAL (SELECT data FROM record WHERE id = 'user' || lpad(n::text, 5, '0')) r;
SELECT * FROM asked($$SELECT data FROM record WHERE id = 'user09999'$$);

-- S16: a get is a scan of length one: the same plan and the same result
EXPLAIN (COSTS OFF) SELECT data FROM record WHERE id = 'user00042';
EXPLAIN (COSTS OFF) SELECT data FROM record WHERE id >= 'user00042' AND id <= 'user00042';
SELECT (SELECT array_agg(r) FROM record r WHERE id = 'user00042')
     = (SELECT array_agg(r) FROM record r WHERE id >= 'user00042' AND id <= 'user00042') AS equal;

-- S1: put overwrites, delete removes
INSERT INTO record VALUES ('zoe', '{"n": 1}');                         -- put; a second one overwrites
INSERT INTO record VALUES ('zoe', '{"n": 2}');
SELECT data FROM record WHERE id = 'zoe';
DELETE FROM record WHERE id = 'zoe' RETURNING data;
SELECT count(*) FROM record WHERE id = 'zoe';

-- ==================================================== many columns for one key

-- A family as a map: any number of columns in each row, sorted by name.
CREATE FOREIGN TABLE profile (
    id    text COLLATE "C",
    attrs jsonb OPTIONS (family 'a')
) SERVER widetable OPTIONS (key 'id');
CREATE FOREIGN TABLE profile_cells (id text COLLATE "C", family text, qualifier text, ts bigint, value text)
  SERVER widetable OPTIONS (table_name 'gallery_model.profile', key 'id', layout 'cells');

-- S2: put, get and delete a hash of columns; the cells of one INSERT become visible together
INSERT INTO profile VALUES ('ann', '{"lang": "de", "theme": "dark", "font": "serif"}');
SELECT attrs FROM profile WHERE id = 'ann';
SELECT qualifier, value FROM profile_cells WHERE id = 'ann';
SELECT count(DISTINCT ts) AS moments FROM profile_cells WHERE id = 'ann';
-- Change some columns of the hash: put one, delete another, leave the rest.
UPDATE profile SET attrs = attrs - 'font' || '{"zoom": "110%"}' WHERE id = 'ann' RETURNING attrs;
DELETE FROM profile_cells WHERE id = 'ann' AND qualifier = 'theme';
SELECT attrs FROM profile WHERE id = 'ann';

-- ========================================================== ranges and ceilings

CREATE FOREIGN TABLE letters (k text COLLATE "C", n int) SERVER widetable OPTIONS (key 'k');
INSERT INTO letters SELECT chr(96 + n), n FROM generate_series(1, 26, 2) n;             -- a, c, e, g, ...
SELECT widetable.flush('letters');

-- S3: the ceiling: the first row at or above a key, one row read and nothing sorted
SELECT k FROM letters WHERE k >= 'd' ORDER BY k LIMIT 1;
SELECT * FROM asked($$SELECT k, n FROM letters WHERE k >= 'd' ORDER BY k LIMIT 1$$);
-- The floor is as cheap; most wide-column stores have no primitive for it.
SELECT k FROM letters WHERE k <= 'd' ORDER BY k DESC LIMIT 1;

-- S5: a range: start inclusive, stop exclusive; and all other kinds of bounds
SELECT string_agg(k, ' ') FROM letters WHERE k >= 'c' AND k < 'i';
SELECT string_agg(k, ' ') FROM letters WHERE k > 'c' AND k <= 'i';
SELECT string_agg(k, ' ') FROM letters WHERE k BETWEEN 'c' AND 'i';
EXPLAIN (COSTS OFF) SELECT k FROM letters WHERE k >= 'c' AND k < 'i';
EXPLAIN (COSTS OFF) SELECT k FROM letters WHERE k > 'c' AND k <= 'i';
EXPLAIN (COSTS OFF) SELECT k FROM letters WHERE k BETWEEN 'c' AND 'i' ORDER BY k DESC;
EXPLAIN (COSTS OFF) SELECT k FROM letters WHERE k > 'w';
EXPLAIN (COSTS OFF) SELECT k FROM letters WHERE k LIKE 'ab%';

-- S6: a scan of everything, cut into parts of similar size for the workers of a batch job
WITH cut AS (SELECT convert_from(k, 'UTF8') COLLATE "C" AS k FROM widetable.split_keys('record', 4) k),
     part AS (SELECT coalesce(lag(k) OVER (ORDER BY k), '') AS lo, k AS hi FROM (SELECT k FROM cut UNION ALL SELECT '~') c)
SELECT count(*) AS parts, sum(rows) AS rows, min(rows) > 1000 AS none_is_small
FROM part, LATERAL (SELECT count(*) AS rows FROM record WHERE id >= lo AND id < hi) r;
-- A parallel plan does the same automatically.  These settings make the planner choose one even for this small table.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM record WHERE (data->>'n')::int % 7 = 0;
SELECT count(*) FROM record WHERE (data->>'n')::int % 7 = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- ================================================================== counters

CREATE FOREIGN TABLE hits (
    page text COLLATE "C",
    hour  bigint OPTIONS (column 'h:n'),
    day   bigint OPTIONS (column 'd:n'),
    bytes bigint OPTIONS (column 'd:bytes')
) SERVER widetable OPTIONS (key 'page', families '{"h": {}, "d": {}}');

-- S4: several counters of a row in one atomic call, each with a separate amount; returns the new values
SELECT widetable.increment('hits', '/home', '{"hour": 1, "day": 1, "bytes": 512}'::jsonb);
SELECT * FROM jsonb_to_record(widetable.increment('hits', '/home', '{"hour": 1, "day": 1, "bytes": 700}'::jsonb))
    AS (hour bigint, day bigint, bytes bigint);
SELECT widetable.increment('hits', '/home', 'day', -1);
-- All or nothing: one counter overflows, so the other one keeps its value.
SELECT widetable.increment('hits', '/home', '{"hour": 1, "bytes": 9223372036854775807}'::jsonb);
SELECT * FROM hits;
-- The race of "read, add one, write back" does not exist here: UPDATE locks the row and reads its newest version.
UPDATE hits SET day = day + 1 WHERE page = '/home' RETURNING day;

-- ========================================================== versions and time

-- S12: table, row, family, qualifier, timestamp, value: one stored row, read at five depths
CREATE FOREIGN TABLE employee (
    id        text COLLATE "C",
    name      text OPTIONS (column 'Personal:Name'),
    residence text OPTIONS (column 'Personal:Residence Phone'),
    phone     text OPTIONS (column 'Office:Phone'),
    address   text OPTIONS (column 'Office:Address')
) SERVER widetable OPTIONS (key 'id', families '{"Personal": {"versions": 3}, "Office": {}}');
CREATE FOREIGN TABLE employee_cells (id text COLLATE "C", family text, qualifier text, ts bigint, value text, version int)
  SERVER widetable OPTIONS (table_name 'gallery_model.employee', key 'id', layout 'cells');
SELECT widetable.put('employee', '00001', 'residence', '415-111-1111', 1000);
SELECT widetable.put('employee', '00001', 'residence', '415-111-1234', 2000);
INSERT INTO employee VALUES ('00001', 'John', NULL, '415-212-5544', '1021 Market St');
-- 1: the row
SELECT * FROM employee WHERE id = '00001';
-- 2: row and family
SELECT qualifier, value FROM employee_cells WHERE id = '00001' AND family = 'Personal' AND version = 1;
-- 3: row, family and qualifier: the newest version
SELECT residence FROM employee WHERE id = '00001';
-- 4: all versions of it
SELECT ts, value FROM employee_cells WHERE id = '00001' AND family = 'Personal' AND qualifier = 'Residence Phone';
-- 5: with the timestamp: exactly one version
SELECT value FROM employee_cells WHERE id = '00001' AND family = 'Personal' AND qualifier = 'Residence Phone' AND ts = 1000;
EXPLAIN (COSTS OFF)
SELECT value FROM employee_cells WHERE id = '00001' AND family = 'Personal' AND qualifier = 'Residence Phone' AND ts = 1000;

-- S7: versions by timestamp: the newest, the newest n, as of a time
SELECT ts, convert_from(value, 'UTF8') AS value FROM widetable.cells('employee', '00001', versions => 3) WHERE qualifier = 'Residence Phone';
SET widetable.as_of = '1500';
SELECT residence FROM employee WHERE id = '00001';
RESET widetable.as_of;
-- A late write with an old timestamp is stored, but it is not the newest version.
SELECT widetable.put('employee', '00001', 'residence', '415-111-1200', 1200);
SELECT residence FROM employee WHERE id = '00001';
-- The family keeps three versions: the fourth one displaces the oldest.
SELECT widetable.put('employee', '00001', 'residence', '415-111-9999', 3000);
SELECT version, ts, value FROM employee_cells WHERE id = '00001' AND qualifier = 'Residence Phone';

-- S13: qualifiers with spaces, made by the writer, different in each row, and sometimes data themselves
CREATE FOREIGN TABLE person (
    id    text COLLATE "C",
    phone text  OPTIONS (column 'p:Residence Phone'),       -- a column that every row may have
    rest  jsonb OPTIONS (family 'p')                        -- all other columns of the family
) SERVER widetable OPTIONS (key 'id');
INSERT INTO person VALUES ('00001', '415-111-1234', '{"Favourite colour": "green"}'),
                          ('00002', NULL, '{"visited: Zürich": "2019", "visited: Oslo": "2021"}');
SELECT widetable.put('person', '00002', 'p:a new column', 'without any DDL');
SELECT * FROM person ORDER BY id;
-- Which qualifiers exist?  Finding out needs a scan of the whole table, as in other stores, but it is one statement.
SELECT q AS qualifier, count(*) FROM person, jsonb_object_keys(rest) q GROUP BY q ORDER BY q COLLATE "C";

-- S14: the key is the only index; rows are sorted by it; changing the key moves the row
EXPLAIN (COSTS OFF) SELECT id FROM person WHERE id >= '00002' AND phone = '415-111-1234';
-- Changing the key moves the row with all its versions in one step; a key that exists is an error.
UPDATE employee SET id = '00007' WHERE id = '00001';
SELECT id, ts, value FROM employee_cells WHERE qualifier = 'Residence Phone';
UPDATE person SET id = '00002' WHERE id = '00001';

-- S8: a family with a time to live: expired rows disappear, and compaction frees the space
CREATE FOREIGN TABLE session (
    id    text COLLATE "C",
    token text,
    made  timestamptz OPTIONS (timestamp_of 'token')
) SERVER widetable OPTIONS (key 'id', families '{"s": {"ttl": "1 hour"}}');
-- Ten new rows, a thousand that have expired already, and one that has ten minutes left.
INSERT INTO session SELECT 'fresh ' || n, md5(n::text), now() FROM generate_series(1, 10) n;
INSERT INTO session SELECT 'old ' || n, md5(n::text), now() - interval '2 hours' FROM generate_series(1, 1000) n;
INSERT INTO session VALUES ('soon', 'x', now() - interval '50 minutes');
SELECT count(*) FROM session;
-- Eleven minutes later (tests can set the clock), without VACUUM and without any job:
SELECT set_config('widetable.clock', (now() + interval '11 minutes')::text, false) IS NOT NULL AS later;
SELECT count(*), count(*) FILTER (WHERE id = 'soon') AS soon FROM session;
RESET widetable.clock;
SELECT widetable.flush('session');
SELECT widetable.compact('session');
SELECT rows AS stored FROM widetable.pg_stat_widetable_tables WHERE relation = 'session'::regclass;

-- ====================================================== families and storage

-- S9: Bloom filter, compression, block size and cache are options of a family; counters show their effects
CREATE FOREIGN TABLE tuned (
    id int,
    a text OPTIONS (column 'a:v'),              -- small blocks, compressed, with a Bloom filter
    b text OPTIONS (column 'b:v')               -- large blocks, uncompressed, no filter
) SERVER widetable OPTIONS (key 'id', families
    '{"a": {"block_size": 4096,  "compression": "zstd", "bloom": "row"},
      "b": {"block_size": 65536, "compression": "none", "bloom": "none"}}');
INSERT INTO tuned SELECT 2 * n, 'value number ' || n, 'value number ' || n FROM generate_series(1, 10000) n;
SELECT widetable.flush('tuned'), widetable.compact('tuned');
-- Compression:
SELECT family, options->>'compression' AS compression, rows, file_bytes < raw_bytes / 4 AS "a quarter or less"
FROM widetable.pg_stat_widetable_families WHERE relation = 'tuned'::regclass ORDER BY family;
-- Bloom filter: for a missing key, family a reads no block; family b has no filter and must read one.
SELECT * FROM asked($$SELECT a FROM tuned WHERE id = 4711$$);
-- Block size: the blocks that a scan of 1000 rows reads.
CREATE FUNCTION counter(query text, name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN (SELECT sum(x::bigint) FROM jsonb_path_query(j::jsonb, ('strict $.**."' || name || '"')::jsonpath) x);
END $$;
SELECT counter($$SELECT a FROM tuned WHERE id BETWEEN 5000 AND 7000 AND a IS NOT NULL$$, 'Blocks Read') >
       counter($$SELECT b FROM tuned WHERE id BETWEEN 5000 AND 7000 AND b IS NOT NULL$$, 'Blocks Read') AS "more small blocks";
-- Cache: a block read a moment ago is not read from disk again.
SELECT a FROM tuned WHERE id = 8000 AND a IS NOT NULL;
SELECT counter($$SELECT a FROM tuned WHERE id = 8000 AND a IS NOT NULL$$, 'Blocks Read') AS blocks_read;

-- S18: data that is read together goes into one family; a query opens only the files of the families it reads
CREATE FOREIGN TABLE product (
    id    int,
    name  text    OPTIONS (column 'i:name') NOT NULL,       -- read by most queries
    price numeric OPTIONS (column 'i:price'),
    photo bytea   OPTIONS (column 'p:jpeg')                 -- large, and rarely read
) SERVER widetable OPTIONS (key 'id', families '{"i": {}, "p": {}}');
INSERT INTO product SELECT n, 'product ' || n, n / 100.0, decode(repeat(md5(n::text), 20), 'hex') FROM generate_series(1, 3000) n;
SELECT widetable.flush('product'), widetable.compact('product');
SELECT family, files, pg_size_pretty(raw_bytes) AS size FROM widetable.pg_stat_widetable_families WHERE relation = 'product'::regclass ORDER BY family;
-- One file of one family.  (NOT NULL: each row has a name, so the scan need not check family p for existing rows.)
SELECT * FROM asked($$SELECT avg(price) FROM product WHERE name < 'product 2'$$);

-- S17: names are stored with each cell, so the literature keeps them short: 'f', not 'follows'
CREATE FOREIGN TABLE terse (id int, v int OPTIONS (column 'f:n')) SERVER widetable OPTIONS (key 'id');
CREATE FOREIGN TABLE wordy (id int, v int OPTIONS (column 'follows:number of followed users')) SERVER widetable OPTIONS (key 'id');
INSERT INTO terse SELECT n, n % 100 FROM generate_series(1, 20000) n;
INSERT INTO wordy SELECT n, n % 100 FROM generate_series(1, 20000) n;
SELECT widetable.flush(), widetable.compact('terse'), widetable.compact('wordy');
-- Keys are stored as differences and blocks are compressed, so readable names cost almost nothing.
SELECT w.raw_bytes > 2 * t.raw_bytes AS "more than twice the bytes", w.file_bytes < 1.1 * t.file_bytes AS "less than a tenth more on disk"
FROM widetable.pg_stat_widetable_tables w, widetable.pg_stat_widetable_tables t WHERE w.relation = 'wordy'::regclass AND t.relation = 'terse'::regclass;

-- =========================================================== designing a table

-- S19: the questions of schema design, and a statement with a place for each answer (doc/schema-design.md)
CREATE FOREIGN TABLE event (
    customer bigint,                                        -- which questions?  key: who ...
    at       timestamptz,                                   --   ... when ...
    seq      int,                                           -- ... and what distinguishes rows of one time
    kind     text NOT NULL,                                 -- what does a row hold?  known columns
    amount   numeric,
    extra    jsonb  OPTIONS (family 'x'),                   -- columns with any name: a map
    seen     bigint OPTIONS (column 'c:seen')               -- what is counted?  bigint cells
) SERVER widetable
  OPTIONS (key 'customer, at desc, seq',                    -- in which order?  by customer, newest first
           families '{"d": {"versions": 3},
                      "x": {"ttl": "90 days"},
                      "c": {}}');
EXPLAIN (COSTS OFF) SELECT at, kind FROM event WHERE customer = 1 ORDER BY at DESC LIMIT 10;

-- S20: a table for each question, written together
CREATE FOREIGN TABLE event_by_kind (kind text COLLATE "C", at timestamptz, customer bigint, amount numeric)
  SERVER widetable OPTIONS (key 'kind, at desc, customer');
CREATE FUNCTION event_also() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event_by_kind VALUES (NEW.kind, NEW.at, NEW.customer, coalesce(NEW.amount, 0));
    RETURN NULL;
END $$;
CREATE TRIGGER event_also AFTER INSERT ON event FOR EACH ROW EXECUTE FUNCTION event_also();
INSERT INTO event (customer, at, seq, kind, amount) VALUES
    (1, '2026-01-01 10:00', 1, 'order', 99), (1, '2026-01-02 10:00', 1, 'payment', 99), (2, '2026-01-03 10:00', 1, 'order', 5);
SELECT at, kind, amount FROM event WHERE customer = 1 ORDER BY at DESC;
SELECT at, customer, amount FROM event_by_kind WHERE kind = 'order' ORDER BY at DESC;
-- S20: where the second table has the same rows, it is declared, and the question is put to the first one
CREATE FOREIGN TABLE event_kind (kind text COLLATE "C", at timestamptz, customer bigint, seq int, amount numeric)
  SERVER widetable OPTIONS (index_of 'event', key 'kind, at desc');
SELECT at, customer, amount FROM event WHERE kind = 'order' ORDER BY at DESC;
SELECT at, customer, amount FROM event_kind WHERE kind = 'order' ORDER BY at DESC;
-- Without a trigger: one statement writes both tables.
CREATE FOREIGN TABLE kind_stats (kind text COLLATE "C", events bigint) SERVER widetable OPTIONS (key 'kind');
WITH e AS (INSERT INTO event (customer, at, seq, kind) VALUES (3, '2026-01-04 10:00', 1, 'visit') RETURNING kind)
SELECT widetable.increment('kind_stats', kind, 'events') FROM e;

-- S15: in the literature only a row is atomic.  Here a transaction is:
CREATE TABLE audit (what text);                             -- an ordinary table takes part as well
BEGIN;
INSERT INTO event (customer, at, seq, kind) VALUES (8, '2026-01-05', 1, 'order'), (9, '2026-01-05', 1, 'order');
SELECT widetable.increment('kind_stats', 'order', 'events', 2);
INSERT INTO audit VALUES ('two orders');
ROLLBACK;
SELECT (SELECT count(*) FROM event WHERE customer IN (8, 9)) AS events, (SELECT count(*) FROM event_by_kind WHERE customer IN (8, 9)) AS by_kind,
       (SELECT count(*) FROM kind_stats WHERE kind = 'order') AS counters, (SELECT count(*) FROM audit) AS audit;
-- A trigger takes the place of a constraint: it refuses invalid values.
CREATE FUNCTION event_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.amount < 0 THEN RAISE 'an amount is not negative'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER event_check BEFORE INSERT OR UPDATE ON event FOR EACH ROW EXECUTE FUNCTION event_check();
INSERT INTO event (customer, at, seq, kind, amount) VALUES (1, '2026-02-01', 1, 'order', -1);
