-- Gallery: from a relational schema to wide tables, and back.
--
-- A shop asks: show an order with all its items; who rated this book, and what
-- did this reader rate; everything about a product, of whatever kind.  Its
-- night jobs load files, derive tables, refresh the pages of the morning and
-- build an index that was not planned.
--
-- The pattern behind all of it: data that is read together is stored together, in one
-- row; data that is asked for from two sides is stored twice, in one transaction.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_orders;
SET search_path = gallery_orders, public;
-- Returns the plan of a query, with analyze_it also what it read.
CREATE FUNCTION query_plan(query text, analyze_it boolean DEFAULT false) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (' || CASE WHEN analyze_it THEN 'ANALYZE, TIMING OFF, SUMMARY OFF, ' ELSE '' END || 'FORMAT json) ' || query INTO j;
    RETURN j;
END $$;
-- Flush first, so that the background worker is idle and the counts of files stay the same.
SELECT widetable.flush();

-- ------------------------------------------------- a join, or one wide row

-- S72: normalised: two tables and a join; denormalised: one read
CREATE TABLE orders_n (order_id int PRIMARY KEY, customer text, ordered date);
CREATE TABLE order_items (order_id int, item_id text, qty int, price numeric, PRIMARY KEY (order_id, item_id));
INSERT INTO orders_n SELECT i, 'customer ' || i % 50, '2024-01-01'::date + i % 300 FROM generate_series(1, 2000) i;
INSERT INTO order_items SELECT o, 'item' || lpad(i::text, 2, '0'), 1 + (o + i) % 3, (o * 7 + i * 13) % 100 + 0.5
  FROM generate_series(1, 2000) o, generate_series(1, 4) i;
ANALYZE orders_n, order_items;

-- S73: an order with its items nested: a family for the order, a family for the items
-- The qualifier of an item's cell is the item; the value is the rest of it.
CREATE FOREIGN TABLE orders (
    order_id int,
    customer text,
    ordered  date,
    items    jsonb OPTIONS (family 'items')
) SERVER widetable OPTIONS (key 'order_id', families '{"data": {}, "items": {}}');
INSERT INTO orders SELECT o.*, (SELECT jsonb_object_agg(item_id, jsonb_build_object('qty', qty, 'price', price)) FROM order_items i WHERE i.order_id = o.order_id)
  FROM orders_n o;
-- The same question to both, and the wide row as it is shown.
EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE order_id = 42;
SELECT * FROM orders_n o JOIN order_items i USING (order_id) WHERE o.order_id = 42 ORDER BY item_id;
SELECT * FROM orders WHERE order_id = 42;
-- The planner's costs: one row is cheaper than index, table, index, table.
SELECT (query_plan('SELECT * FROM orders WHERE order_id = 42') -> 0 -> 'Plan' ->> 'Total Cost')::float8 <
       (query_plan('SELECT * FROM orders_n o JOIN order_items i USING (order_id) WHERE o.order_id = 42') -> 0 -> 'Plan' ->> 'Total Cost')::float8
       AS one_row_is_cheaper;
-- Add an item: one put, the rest of the order stays untouched.  Remove one, change one.
INSERT INTO orders (order_id, items) VALUES (42, '{"item99": {"qty": 1, "price": 100}}');
UPDATE orders SET items = items - 'item01' WHERE order_id = 42;
UPDATE orders SET items = items || '{"item02": {"qty": 5, "price": 20.5}}' WHERE order_id = 42;
SELECT i.key AS item, (i.value ->> 'qty')::int AS qty, (i.value ->> 'price')::numeric AS price
  FROM orders, jsonb_each(items) e, LATERAL (SELECT e.key, (e.value #>> '{}')::jsonb AS value) i WHERE order_id = 42 ORDER BY 1;
-- A view shows the items as a table.
CREATE VIEW order_item AS
    SELECT o.order_id, o.customer, e.key AS item_id, (v ->> 'qty')::int AS qty, (v ->> 'price')::numeric AS price
      FROM orders o, jsonb_each_text(o.items) e, LATERAL (SELECT e.value::jsonb AS v) x;
SELECT sum(qty * price) AS total FROM order_item WHERE order_id = 42;
SELECT customer, count(DISTINCT order_id) AS orders, sum(qty * price) AS total FROM order_item GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT 3;
-- Or layout cells, where an item is a row that can be read and deleted on its own.
CREATE FOREIGN TABLE order_cells (order_id int, family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value jsonb)
    SERVER widetable OPTIONS (table_name 'gallery_orders.orders', key 'order_id', layout 'cells');
EXPLAIN (COSTS OFF) SELECT value FROM order_cells WHERE order_id = 42 AND family = 'items' AND qualifier = 'item03';
SELECT value FROM order_cells WHERE order_id = 42 AND family = 'items' AND qualifier = 'item03';
DELETE FROM order_cells WHERE order_id = 42 AND family = 'items' AND qualifier = 'item03';
SELECT jsonb_object_keys(items) FROM orders WHERE order_id = 42;
-- Wide-column stores do not have this: one transaction with the stock, which
-- is an ordinary table with a constraint.
CREATE TABLE stock (item_id text PRIMARY KEY, n int CHECK (n >= 0));
INSERT INTO stock VALUES ('item02', 10), ('item99', 1);
BEGIN;
UPDATE stock SET n = n - 1 WHERE item_id = 'item99';
INSERT INTO orders (order_id, customer, items) VALUES (5000, 'Ada', '{"item99": {"qty": 1, "price": 100}}');
COMMIT;
BEGIN;
INSERT INTO orders (order_id, customer, items) VALUES (5001, 'Bob', '{"item99": {"qty": 1, "price": 100}}');
UPDATE stock SET n = n - 1 WHERE item_id = 'item99';     -- sold out: the order is not stored either
COMMIT;
SELECT order_id, customer FROM orders WHERE order_id >= 5000;

-- ------------------------------------------------------------ many to many

-- S74: readers rate books: both sides are queried, so both are stored
CREATE FOREIGN TABLE reader (id text COLLATE "C", name text, ratings jsonb OPTIONS (family 'ratings'))
    SERVER widetable OPTIONS (key 'id', families '{"data": {}, "ratings": {}}');
CREATE FOREIGN TABLE book (id text COLLATE "C", title text, ratings jsonb OPTIONS (family 'ratings'))
    SERVER widetable OPTIONS (key 'id', families '{"data": {}, "ratings": {}}');
INSERT INTO reader (id, name) VALUES ('u1', 'Anna'), ('u2', 'Ben'), ('u3', 'Cleo');
INSERT INTO book (id, title) VALUES ('b1', 'Emma'), ('b2', 'Moby-Dick'), ('b3', 'Kidnapped');
-- One call writes both sides.
CREATE FUNCTION rate(who text, what text, stars int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO reader (id, ratings) VALUES (who, jsonb_build_object(what, stars));
    INSERT INTO book (id, ratings) VALUES (what, jsonb_build_object(who, stars));
$$;
SELECT rate(who, what, stars) FROM (VALUES ('u1', 'b1', 5), ('u1', 'b2', 3), ('u2', 'b2', 4), ('u3', 'b2', 1), ('u3', 'b3', 4)) v(who, what, stars);
-- The four questions: name of a reader, title of a book, ratings by a reader, ratings of a book.
SELECT name FROM reader WHERE id = 'u1';
SELECT title FROM book WHERE id = 'b2';
SELECT key AS book, value AS stars FROM reader, jsonb_each_text(ratings) WHERE id = 'u1' ORDER BY 1;
SELECT key AS reader, value AS stars FROM book, jsonb_each_text(ratings) WHERE id = 'b2' ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT ratings FROM book WHERE id = 'b2';
EXPLAIN (COSTS OFF) SELECT title FROM book WHERE id = 'b2';
-- A changed rating, and one that is rolled back: both sides or none.
SELECT rate('u1', 'b2', 4);
BEGIN;
SELECT rate('u2', 'b3', 1);
ROLLBACK;
CREATE VIEW one_sided AS
    SELECT r.id AS reader, b.key AS book FROM reader r, jsonb_each_text(ratings) b EXCEPT
    SELECT r.key, b.id FROM book b, jsonb_each_text(ratings) r;
SELECT count(*) AS one_sided_ratings FROM one_sided;
-- With names on both sides: a join, which wide-column stores leave to the client.
SELECT u.name, b.title, e.value AS stars FROM reader u, jsonb_each_text(u.ratings) e JOIN book b ON b.id = e.key ORDER BY 1, 2;
SELECT b.title, round(avg(value::int), 1) AS stars FROM book b, jsonb_each_text(ratings) GROUP BY b.title ORDER BY 2 DESC, 1;

-- ------------------------------------------------------------- inheritance

-- S79: products of several kinds in one table: the kind leads the key, missing columns cost nothing
CREATE FOREIGN TABLE product (
    kind   text COLLATE "C",
    id     int,
    title  text NOT NULL,
    price  numeric,
    author text,                       -- books
    pages  int,
    artist text,                       -- records
    tracks text[],
    volt   int                         -- lamps
) SERVER widetable OPTIONS (key 'kind, id');
INSERT INTO product (kind, id, title, price, author, pages)  VALUES ('book', 1, 'Emma', 9.5, 'Jane Austen', 474), ('book', 7, 'Kidnapped', 8, 'R. L. Stevenson', 291);
INSERT INTO product (kind, id, title, price, artist, tracks) VALUES ('record', 2, 'Goldberg Variations', 20, 'G. Gould', '{Aria,Variatio 1}');
INSERT INTO product (kind, id, title, price, volt)           VALUES ('lamp', 3, 'Desk lamp', 35, 230);
-- A view is a table of one kind, with the columns of that kind.  It can be written to.
CREATE VIEW books AS SELECT kind, id, title, price, author, pages FROM product WHERE kind = 'book' WITH CHECK OPTION;
EXPLAIN (COSTS OFF) SELECT title, author FROM books WHERE id = 7;
SELECT * FROM books;
UPDATE books SET price = price - 1 WHERE author LIKE 'Jane%';
INSERT INTO books VALUES ('lamp', 9, 'no book', 1);
-- All kinds together, as one type: a scan of the whole table.
SELECT kind, id, title, price FROM product WHERE price >= 9 ORDER BY kind, id;
SELECT kind, count(*), max(price) FROM product GROUP BY kind ORDER BY kind;
-- The stored cells of a row: three of the seven columns.
SELECT widetable.get('product', ROW('lamp', 3));
-- An unplanned kind needs no DDL: its cells can be written, and a map shows them.
SELECT widetable.put('product', ROW('tea', 4), '{"d:title": "Earl Grey", "d:gram": "125"}');
CREATE FOREIGN TABLE product_any (kind text COLLATE "C", id int, title text, rest jsonb OPTIONS (family 'd'))
    SERVER widetable OPTIONS (table_name 'gallery_orders.product', key 'kind, id');
SELECT * FROM product_any WHERE kind = 'tea';

-- --------------------------------------------------- load, derive, refresh

-- S80: offline jobs: load a file, derive a table from it
-- A year of hourly weather at an airport (test/data): COPY writes directly into the wide table.
CREATE FOREIGN TABLE weather (
    station       text COLLATE "C",
    time_utc      timestamptz,
    temp_f float8, dewpoint_f float8, humidity_pct float8, wind_dir_deg float8, wind_speed_mph float8, wind_gust_mph float8,
    precip_in float8, pressure_hpa float8, visibility_mi float8,
    stored        timestamptz OPTIONS (timestamp_of 'd:temp_f')
) SERVER widetable OPTIONS (key 'station, time_utc desc', insert_mode 'error');
\copy weather (station, time_utc, temp_f, dewpoint_f, humidity_pct, wind_dir_deg, wind_speed_mph, wind_gust_mph, precip_in, pressure_hpa, visibility_mi) FROM PROGRAM 'gzip -dc test/data/weather_hourly.tsv.gz' WITH (FORMAT text, HEADER true)
SELECT count(*), count(wind_gust_mph) AS gusts, min(time_utc), max(time_utc) FROM weather;
CREATE FOREIGN TABLE weather_day (station text COLLATE "C", day date, hours int, low float8, high float8)
    SERVER widetable OPTIONS (key 'station, day desc');
INSERT INTO weather_day SELECT station, time_utc::date, count(*), min(temp_f), max(temp_f) FROM weather GROUP BY 1, 2;
SELECT * FROM weather_day WHERE station = 'KLGA' ORDER BY day DESC LIMIT 3;
SELECT * FROM weather_day ORDER BY high DESC LIMIT 1;

-- S81: for the web pages: a materialised view, and an incremental roll-up
CREATE MATERIALIZED VIEW weather_month AS
    SELECT station, date_trunc('month', day)::date AS month, min(low) AS low, max(high) AS high FROM weather_day GROUP BY 1, 2;
CREATE UNIQUE INDEX ON weather_month (station, month);
SELECT * FROM weather_month ORDER BY month LIMIT 2;
-- A correction arrives.  Which days are stale?  Those with cells stored since the
-- last run: the timestamp of a cell is the time it was stored, and older files
-- are not even opened.
SELECT widetable.flush('weather');
SELECT max(stored) AS last_run FROM weather \gset
UPDATE weather SET temp_f = 100 WHERE station = 'KLGA' AND time_utc = '2013-01-05 12:00';
INSERT INTO weather (station, time_utc, temp_f) VALUES ('KLGA', '2014-01-01 00:00', 20);
SELECT widetable.flush('weather');
PREPARE stale AS SELECT DISTINCT station, time_utc::date AS day FROM weather WHERE stored > :'last_run' ORDER BY 2;
EXECUTE stale;
SELECT jsonb_path_query_first(query_plan('EXECUTE stale', true), 'strict $.**."Files Skipped by Time"') AS files_not_opened;
INSERT INTO weather_day SELECT w.station, w.time_utc::date, count(*), min(w.temp_f), max(w.temp_f)
  FROM weather w JOIN (SELECT DISTINCT station, time_utc::date AS day FROM weather WHERE stored > :'last_run') s
    ON w.station = s.station AND w.time_utc >= s.day AND w.time_utc < s.day + 1 GROUP BY 1, 2;
REFRESH MATERIALIZED VIEW CONCURRENTLY weather_month;
SELECT * FROM weather_month ORDER BY month LIMIT 1;
SELECT count(*) AS wrong_days FROM weather_day d FULL JOIN
    (SELECT station, time_utc::date AS day, min(temp_f) AS low, max(temp_f) AS high FROM weather GROUP BY 1, 2) w USING (station, day)
 WHERE (d.low, d.high) IS DISTINCT FROM (w.low, w.high);

-- ------------------------------------------------- an index, added later

-- S82: an index added when the question comes up
-- "Which hours were freezing, coldest first?"  First the trigger, so that no
-- change is missed; then the backfill.  An index row that both write is the
-- same row.  A row that changes while the backfill runs may leave its old
-- index entry behind; the check below finds it. (The table has insert_mode
-- 'error': an INSERT over an existing row would give the trigger no OLD
-- row.)
CREATE FOREIGN TABLE weather_by_temp (temp_f float8, station text COLLATE "C", time_utc timestamptz, present text)
    SERVER widetable OPTIONS (key 'temp_f, station, time_utc');
CREATE FUNCTION index_temp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.temp_f IS NOT NULL THEN
        DELETE FROM weather_by_temp WHERE temp_f = OLD.temp_f AND station = OLD.station AND time_utc = OLD.time_utc;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.temp_f IS NOT NULL THEN
        INSERT INTO weather_by_temp VALUES (NEW.temp_f, NEW.station, NEW.time_utc, '');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER index_temp AFTER INSERT OR UPDATE OR DELETE ON weather FOR EACH ROW EXECUTE FUNCTION index_temp();
INSERT INTO weather_by_temp SELECT temp_f, station, time_utc, '' FROM weather WHERE temp_f IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT time_utc, temp_f FROM weather_by_temp WHERE temp_f < 32 ORDER BY temp_f LIMIT 3;
SELECT time_utc, temp_f FROM weather_by_temp WHERE temp_f < 32 ORDER BY temp_f, station, time_utc LIMIT 3;
-- From the index to the rows: a join with one lookup for each.
SELECT w.time_utc, w.temp_f, w.wind_speed_mph FROM
    (SELECT * FROM weather_by_temp WHERE temp_f < 32 ORDER BY temp_f, station, time_utc LIMIT 3) i
    JOIN weather w ON w.station = i.station AND w.time_utc = i.time_utc ORDER BY w.temp_f, w.time_utc;
-- A check: is the index complete, and without stale entries?
UPDATE weather SET temp_f = 55 WHERE station = 'KLGA' AND time_utc = '2013-01-05 12:00';
DELETE FROM weather WHERE station = 'KLGA' AND time_utc = '2014-01-01 00:00';
SELECT count(*) AS wrong FROM (SELECT temp_f, station, time_utc FROM weather WHERE temp_f IS NOT NULL) w
  FULL JOIN weather_by_temp i USING (temp_f, station, time_utc) WHERE i.present IS NULL OR w.temp_f IS NULL;

-- S82: the same index declared: it is built in the transaction of its CREATE, and needs no trigger and no check
CREATE FOREIGN TABLE weather_temp (temp_f float8, station text COLLATE "C", time_utc timestamptz)
    SERVER widetable OPTIONS (index_of 'weather', key 'temp_f, station, time_utc');
EXPLAIN (COSTS OFF) SELECT time_utc, temp_f FROM weather WHERE temp_f < 32 ORDER BY temp_f LIMIT 3;
SELECT time_utc, temp_f FROM weather WHERE temp_f < 32 ORDER BY temp_f, station, time_utc LIMIT 3;
-- With a column that the index does not have, the rows are read: one after the other, because of their order.
EXPLAIN (COSTS OFF) SELECT time_utc, temp_f, wind_speed_mph FROM weather WHERE temp_f < 32 ORDER BY temp_f, station, time_utc LIMIT 3;
SELECT time_utc, temp_f, wind_speed_mph FROM weather WHERE temp_f < 32 ORDER BY temp_f, station, time_utc LIMIT 3;
UPDATE weather SET temp_f = NULL WHERE station = 'KLGA' AND time_utc = '2013-01-05 13:00';
DELETE FROM weather WHERE station = 'KLGA' AND time_utc = '2014-01-01 01:00';
SELECT count(*) AS differences FROM (SELECT temp_f, station, time_utc, true AS there FROM weather_temp) d
  FULL JOIN weather_by_temp h USING (temp_f, station, time_utc) WHERE there IS NULL OR present IS NULL;
SELECT * FROM widetable.verify('weather');

-- ------------------------------------------------------------- bulk import

-- S83: bulk import: a large transaction is sorted, written to files, and attached at its commit
-- There is no separate tool and no second format.  Writes that exceed the
-- write memory are sorted on disk, whatever their original order, and do not
-- pass through the memtable.
CREATE FOREIGN TABLE imported (id text COLLATE "C", n int, payload text) SERVER widetable OPTIONS (key 'id');
SET widetable.write_memory = '1MB';
BEGIN;
INSERT INTO imported SELECT md5(i::text), i, repeat(md5((i + 1)::text), 2) FROM generate_series(1, 20000) i;
SELECT count(*) AS seen_by_the_transaction FROM imported;
ROLLBACK;
SELECT count(*) FROM imported;                           -- nothing was attached
INSERT INTO imported SELECT md5(i::text), i, repeat(md5((i + 1)::text), 2) FROM generate_series(1, 20000) i;
SELECT cells, memtable_cells, files >= 1 AS in_files FROM widetable.pg_stat_widetable_families WHERE table_name = 'gallery_orders.imported';
RESET widetable.write_memory;
SELECT count(*), min(id), max(id) FROM imported;
SELECT n FROM imported WHERE id = md5('777');
-- The table is online at once: the next small write is an ordinary one.
UPDATE imported SET n = -n WHERE id = md5('777');
SELECT n FROM imported WHERE id = md5('777');
RESET search_path;
