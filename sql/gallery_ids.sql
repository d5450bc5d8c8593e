-- Ids: where does the next number come from?
--
-- A wide table has no serial column, and a single source of keys is a
-- bottleneck. The literature knows three ways: compose the id from time, worker
-- and a sequence; lease blocks from a counter; increment one central counter.
-- This script shows all three, PostgreSQL's sequences, and when to use which.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_ids;
SET search_path = gallery_ids;

-- S47: flake ids: time, worker and sequence, without coordination
--
-- 16 bytes: 64 bits of milliseconds, 48 of worker (cluster and process), 16 of
-- sequence.  The ids are unique everywhere and sort by time, so new rows are
-- adjacent.
CREATE FOREIGN TABLE events (id bytea DEFAULT widetable.flake_id(), what text) SERVER widetable OPTIONS (key 'id');
INSERT INTO events (what) SELECT 'event ' || i FROM generate_series(1, 3000) i;
SELECT count(*) AS rows, count(DISTINCT id) AS ids, min(octet_length(id)), max(octet_length(id)) FROM events;
-- the key order is the order in which the ids were made
SELECT count(*) AS out_of_order
FROM (SELECT what, lag(what) OVER (ORDER BY id) AS before FROM events) x
WHERE substr(what, 7)::int <> substr(before, 7)::int + 1;
EXPLAIN (COSTS OFF) SELECT * FROM events ORDER BY id DESC LIMIT 3;
SELECT what FROM events ORDER BY id DESC LIMIT 3;
-- the parts of an id
CREATE FUNCTION flake_time(id bytea) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
    $$ SELECT to_timestamp(('x' || encode(substr(id, 1, 8), 'hex'))::bit(64)::bigint / 1000.0) $$;
CREATE FUNCTION flake_first(at timestamptz) RETURNS bytea LANGUAGE sql IMMUTABLE AS
    $$ SELECT int8send(floor(extract(epoch FROM at) * 1000)::bigint) $$;
SELECT flake_time('\x0000015b2e9d6f1e00000000002a0001') AS made_at, substr('\x0000015b2e9d6f1e00000000002a0001'::bytea, 9, 6) AS worker,
       substr('\x0000015b2e9d6f1e00000000002a0001'::bytea, 15, 2) AS sequence;
SELECT bool_and(flake_time(id) BETWEEN now() - interval '1 minute' AND clock_timestamp() + interval '1 second') AS just_now,
       count(DISTINCT substr(id, 9, 6)) AS workers FROM events;
-- So a range of time is a range of ids; no time column is needed.
INSERT INTO events VALUES ('\x0000015b2e9d6f1e00000000002a0001', 'long ago'), ('\x0000015b2e9d6f1e00000000002a0002', 'long ago, too');
EXPLAIN (COSTS OFF) SELECT what FROM events
WHERE id >= flake_first('2017-04-01') AND id < flake_first('2017-05-01');
SELECT what FROM events WHERE id >= flake_first('2017-04-01') AND id < flake_first('2017-05-01');
-- An id can be cast to uuid, for programs that expect one.
SELECT encode('\x0000015b2e9d6f1e00000000002a0001', 'hex')::uuid;
-- Random uuids are unique as well, but each new row goes to another place.
-- Use them for keys that must be hard to guess.
CREATE FOREIGN TABLE tokens (id uuid DEFAULT gen_random_uuid(), who text) SERVER widetable OPTIONS (key 'id', insert_mode 'error');
INSERT INTO tokens (who) SELECT 'u' || i FROM generate_series(1, 1000) i;
SELECT count(*), count(DISTINCT id) FROM tokens;

-- S49: one central counter
--
-- One row, one cell, one increment.  The numbers have no gaps: a number and the
-- row that uses it commit together, or neither does.  The price: a transaction
-- that takes a number holds the lock of the counter until it ends.
CREATE FOREIGN TABLE counters (name text COLLATE "C", n bigint) SERVER widetable OPTIONS (key 'name');
CREATE FOREIGN TABLE invoices (id bigint DEFAULT widetable.increment('gallery_ids.counters', 'invoice', 'n'), what text)
    SERVER widetable OPTIONS (key 'id');
INSERT INTO invoices (what) VALUES ('one'), ('two');
BEGIN;
INSERT INTO invoices (what) VALUES ('never sent');
ROLLBACK;
INSERT INTO invoices (what) VALUES ('three');
SELECT * FROM invoices;
-- PostgreSQL's sequences never wait and never roll back: fast, with gaps.
CREATE SEQUENCE order_id;
CREATE FOREIGN TABLE orders (id bigint DEFAULT nextval('gallery_ids.order_id'), what text) SERVER widetable OPTIONS (key 'id');
INSERT INTO orders (what) VALUES ('one'), ('two');
BEGIN;
INSERT INTO orders (what) VALUES ('changed their mind');
ROLLBACK;
INSERT INTO orders (what) VALUES ('four');
SELECT * FROM orders;

-- S48: blocks from the counter
--
-- A client leases a thousand numbers in one increment and assigns them
-- without further calls.  increment returns the last number of the block.
-- Lease in a short separate transaction; unused numbers are a gap.
CREATE FUNCTION lease(counter text, size bigint, OUT first bigint, OUT last bigint) LANGUAGE sql AS
    $$ SELECT n - size + 1, n FROM widetable.increment('gallery_ids.counters', counter, 'n', size) n $$;
SELECT * FROM lease('shipment', 1000);
SELECT * FROM lease('shipment', 1000);
SELECT * FROM lease('shipment', 10);
-- one lease for a whole bulk load
CREATE FOREIGN TABLE shipments (id bigint, what text) SERVER widetable OPTIONS (key 'id', insert_mode 'error');
WITH block AS MATERIALIZED (SELECT * FROM lease('shipment', 500))
INSERT INTO shipments SELECT first + i, 'box ' || i FROM block, generate_series(0, 499) i;
SELECT min(id), max(id), count(*) FROM shipments;
SELECT n FROM counters WHERE name = 'shipment';

-- S42, S108: increasing ids with many writers
--
-- Consecutive numbers all go to the end of the table.  That is the best case
-- for files that are sorted once.  If writes should be spread nevertheless,
-- salt the key: the order of results does not change.
CREATE FOREIGN TABLE spread (id bigint DEFAULT nextval('gallery_ids.order_id'), what text) SERVER widetable OPTIONS (key 'id', salt_buckets '8');
INSERT INTO spread (what) SELECT 'x' FROM generate_series(1, 400);
SELECT count(DISTINCT get_byte(widetable.encode_key('spread', id), 0)) AS buckets FROM spread;
SELECT id - first_value(id) OVER (ORDER BY id) AS nth FROM spread ORDER BY id LIMIT 3;

-- ----------------------------------------------------------------- with SQL
-- Gapless numbers for each year, and the books in an ordinary table with
-- constraints, in one transaction.
CREATE TABLE books (number text PRIMARY KEY, amount numeric NOT NULL CHECK (amount <> 0));
CREATE FUNCTION bill(year int, amount numeric) RETURNS text LANGUAGE sql AS $$
    INSERT INTO books VALUES (format('%s-%s', year, lpad(widetable.increment('gallery_ids.counters', 'bill/' || year, 'n')::text, 4, '0')), amount)
    RETURNING number $$;
SELECT bill(2025, 10), bill(2025, 20), bill(2026, 5);
SELECT bill(2026, 0);                              -- refused: the number is not used up
SELECT bill(2026, 7);
SELECT name, n FROM counters WHERE name LIKE 'bill/%';
-- Are any numbers missing?
SELECT y AS year, i AS missing FROM counters c, LATERAL (SELECT substr(name, 6) AS y) x, generate_series(1, n) i
WHERE name LIKE 'bill/%' AND NOT EXISTS (SELECT FROM books b WHERE b.number = format('%s-%s', y, lpad(i::text, 4, '0')));
