-- Rows of NULLs, and tables of keys alone: the marker.
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- ------------------------------------------------- a table of keys alone
-- No column names a family, so there is the default one.
CREATE FOREIGN TABLE follows (a int, b int) SERVER widetable OPTIONS (key 'a, b');
INSERT INTO follows VALUES (1, 2), (1, 3), (2, 1);
COPY follows FROM stdin;
3	1
3	2
\.
INSERT INTO follows VALUES (1, 2);
SELECT * FROM follows;
SELECT count(*) FROM follows;
SELECT a, count(*) FROM follows GROUP BY a ORDER BY a;
SELECT DISTINCT a FROM follows ORDER BY a DESC;
SELECT f.a, g.b FROM follows f JOIN follows g ON g.a = f.b ORDER BY 1, 2;
EXPLAIN (COSTS OFF) SELECT b FROM follows WHERE a = 1 ORDER BY b;
SELECT b FROM follows WHERE a = 1 ORDER BY b;
UPDATE follows SET b = 9 WHERE a = 1 AND b = 3 RETURNING *;
INSERT INTO follows VALUES (1, 2) ON CONFLICT DO NOTHING RETURNING *;
DELETE FROM follows WHERE a = 3 RETURNING *;
SELECT * FROM follows;
-- the marker: first family, empty qualifier, empty value
SELECT family, qualifier, value FROM widetable.cells('follows', ROW(1, 2));
SELECT widetable.get('follows', ROW(1, 2)) AS there, widetable.get('follows', ROW(1, 3)) AS not_there;

-- --------------------------------------------------- INSERT, COPY, UPDATE
CREATE FOREIGN TABLE n (
    id    int,
    a     int,
    b     text,
    c     text  OPTIONS (column 'g:c'),
    m     jsonb OPTIONS (family 'h')
) SERVER widetable OPTIONS (key 'id', families '{"f": {}, "g": {}, "h": {}}');
-- What there is in the store: c (layout cells), and the rows with a marker.
CREATE FOREIGN TABLE n_cells (id int, family text, qualifier text, ts timestamptz, value text)
  SERVER widetable OPTIONS (table_name 'public.n', key 'id', layout 'cells');
CREATE VIEW stored AS SELECT id, string_agg(family || ':' || qualifier || '=' || value, ' ' ORDER BY family, qualifier) AS cells
  FROM n_cells GROUP BY id;

EXPLAIN (COSTS OFF) INSERT INTO n VALUES (1);
INSERT INTO n VALUES (1, NULL, NULL, NULL, NULL), (2, 20, NULL, NULL, NULL), (3, NULL, 'three', NULL, NULL), (4, NULL, NULL, 'four', NULL), (5, NULL, NULL, NULL, '{"k": "v"}') RETURNING *;
INSERT INTO n (id, m) VALUES (6, '{"k": null}'), (7, '{}') RETURNING *;
COPY n (id, a, b) FROM stdin;
8	80	\N
9	\N	\N
\.
SELECT * FROM n ORDER BY id;
-- rows with other cells have no marker
SELECT * FROM stored ORDER BY id;

-- UPDATE that removes the last cell, of one family or of several, in the scan or not
SET widetable.enable_direct_modify = on;
UPDATE n SET a = NULL WHERE id = 2 RETURNING *;
UPDATE n SET b = NULL, a = NULL, c = NULL WHERE id IN (3, 4);
SELECT * FROM stored WHERE id BETWEEN 2 AND 4 ORDER BY id;
SET widetable.enable_direct_modify = off;
UPDATE n SET m = NULL WHERE id = 5;
UPDATE n SET a = NULL WHERE id = 8 RETURNING *;
RESET widetable.enable_direct_modify;
SELECT * FROM stored WHERE id IN (5, 8) ORDER BY id;
-- one that leaves another cell, of whatever family, writes none; cells that no column shows count, too
TRUNCATE n;
INSERT INTO n VALUES (1, 1, 'b', NULL, NULL), (2, 2, NULL, 'c', NULL), (3, 3, NULL, NULL, '{"k": "v"}'), (4, 4, NULL, NULL, NULL), (5, 5, NULL, NULL, NULL), (6, 6, 'b', 'c', '{"k": "v"}');
SELECT widetable.put('n', 4, 'f:other', 'x'), widetable.put('n', 5, 'g:other', 'x');
UPDATE n SET a = NULL;
SELECT * FROM stored ORDER BY id;
SET widetable.enable_direct_modify = off;
UPDATE n SET a = 1;
UPDATE n SET a = NULL;
RESET widetable.enable_direct_modify;
SELECT * FROM stored ORDER BY id;
SELECT count(*) FROM n;
-- a marker stays when the row gets a value again, and is written once
TRUNCATE n;
INSERT INTO n VALUES (1);
UPDATE n SET a = 1;
SELECT * FROM stored;
UPDATE n SET a = NULL;
SELECT * FROM stored;
UPDATE n SET b = NULL, c = NULL;
INSERT INTO n VALUES (1, 7), (1, NULL);
SELECT *, widetable.get('n', 1) FROM n;
-- maps, entry by entry
UPDATE n SET a = NULL, m = '{"x": "1", "y": "2"}' WHERE id = 1;
INSERT INTO n (id, m) VALUES (2, '{"x": "1", "y": "2"}');
UPDATE n SET m = m - 'x' WHERE id = 2;
SELECT * FROM stored WHERE id = 2;
UPDATE n SET m = m - 'y' WHERE id = 2 RETURNING *;
INSERT INTO n (id, m) VALUES (3, '{"x": "1"}');
UPDATE n SET m = '{}' WHERE id = 3 RETURNING *;
INSERT INTO n (id, m) VALUES (4, '{"x": "1"}');
UPDATE n SET m = '{"x": null}' WHERE id = 4 RETURNING *;
SELECT * FROM stored ORDER BY id;

-- a new key takes the marker along, or gets one
TRUNCATE n;
INSERT INTO n VALUES (1, NULL), (2, 2);
UPDATE n SET id = 11 WHERE id = 1 RETURNING *;
UPDATE n SET id = 12, a = NULL WHERE id = 2 RETURNING *;
SELECT * FROM n ORDER BY id;
SELECT * FROM stored ORDER BY id;
UPDATE n SET id = 11 WHERE id = 12;

-- DELETE removes the marker with the row
DELETE FROM n WHERE id = 11 RETURNING *;
DELETE FROM n WHERE a IS NULL;
SELECT count(*) FROM n_cells;

-- in a transaction: savepoints, and the same row several times
BEGIN;
INSERT INTO n VALUES (1);
SAVEPOINT s;
UPDATE n SET a = 5 WHERE id = 1;
UPDATE n SET a = NULL WHERE id = 1;
DELETE FROM n WHERE id = 1;
SELECT count(*) FROM n;
ROLLBACK TO s;
SELECT * FROM n;
INSERT INTO n VALUES (2, 2);
UPDATE n SET a = NULL WHERE id = 2;
UPDATE n SET a = NULL WHERE id = 2;
SELECT * FROM n ORDER BY id;
COMMIT;
SELECT * FROM stored ORDER BY id;
BEGIN;
UPDATE n SET b = 'x' WHERE id = 1;
INSERT INTO n VALUES (3);
ROLLBACK;
SELECT * FROM n ORDER BY id;

-- several cells, one of which is removed and put in one statement
CREATE FOREIGN TABLE two (id int, a int, b int) SERVER widetable OPTIONS (key 'id');
INSERT INTO two VALUES (1, 1, NULL), (2, NULL, 2), (3, 3, 3), (4, NULL, NULL);
UPDATE two SET a = b, b = a;
SELECT * FROM two ORDER BY id;
SELECT k.id, c.qualifier FROM two k, widetable.cells('two', k.id) c ORDER BY 1, 2;
UPDATE two SET a = nullif(a, 2), b = nullif(b, 1);
SELECT * FROM two ORDER BY id;
UPDATE two t SET a = NULL, b = NULL FROM generate_series(1, 3) g WHERE t.id < 4;
SELECT * FROM two ORDER BY id;
SELECT k.id, c.qualifier FROM two k, widetable.cells('two', k.id) c ORDER BY 1, 2;

-- a cell that the scan does not read, but looks for
CREATE FOREIGN TABLE many (id int, c1 int, c2 int, c3 int, c4 int, c5 int, c6 int, c7 int) SERVER widetable OPTIONS (key 'id');
INSERT INTO many VALUES (1, 1, 1, NULL, NULL, NULL, NULL, NULL), (2, 2, NULL, NULL, NULL, NULL, NULL, 2), (3, 3, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, NULL, NULL, 4, NULL, NULL, NULL, NULL), (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
EXPLAIN (COSTS OFF) UPDATE many SET c1 = NULL;
UPDATE many SET c1 = NULL RETURNING id, c1, c2, c7;
SELECT k.id, c.qualifier FROM many k, widetable.cells('many', k.id) c ORDER BY 1, 2;
UPDATE many SET c2 = NULL, c3 = NULL, c7 = nullif(c7, 2);
SELECT k.id, c.qualifier FROM many k, widetable.cells('many', k.id) c ORDER BY 1, 2;
SELECT count(*) FROM many;

-- ------------------------------------------------------------- triggers
CREATE FUNCTION clear_row() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN NEW.a := NULL; NEW.b := NULL; RETURN NEW; END $$;
CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE NOTICE '% %', TG_OP, (SELECT count(*) FROM two WHERE id = NEW.id); RETURN NULL; END $$;
CREATE TRIGGER clear BEFORE INSERT OR UPDATE ON two FOR EACH ROW EXECUTE FUNCTION clear_row();
CREATE TRIGGER seen AFTER INSERT OR UPDATE ON two FOR EACH ROW EXECUTE FUNCTION seen();
TRUNCATE two;
INSERT INTO two VALUES (1, 1, 1) RETURNING *;
DROP TRIGGER clear ON two;
UPDATE two SET a = 1;
CREATE TRIGGER clear BEFORE INSERT OR UPDATE ON two FOR EACH ROW EXECUTE FUNCTION clear_row();
UPDATE two SET a = 2 RETURNING *;
SELECT k.id, c.qualifier FROM two k, widetable.cells('two', k.id) c ORDER BY 1, 2;

-- ------------------------------------------- existing rows; partitions
CREATE FOREIGN TABLE once (id int, v text) SERVER widetable OPTIONS (key 'id', insert_mode 'error');
INSERT INTO once VALUES (1);
INSERT INTO once VALUES (1, 'x');
INSERT INTO once VALUES (1), (2) ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO once VALUES (3), (3);
SELECT * FROM once ORDER BY id;
CREATE TABLE part (id int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE part_wide PARTITION OF part FOR VALUES FROM (0) TO (10) SERVER widetable OPTIONS (key 'id');
CREATE TABLE part_heap PARTITION OF part FOR VALUES FROM (10) TO (20);
INSERT INTO part VALUES (1, NULL), (2, 'x'), (11, NULL), (12, 'y');
UPDATE part SET v = NULL;
UPDATE part SET id = 3 WHERE id = 11 RETURNING *;
SELECT tableoid::regclass, * FROM part ORDER BY id;
SELECT tableoid::regclass, count(*), count(v) FROM part GROUP BY 1 ORDER BY 1;
DROP TABLE part;
CREATE FOREIGN TABLE salty (id int, v text) SERVER widetable OPTIONS (key 'id', salt_buckets '4');
INSERT INTO salty SELECT i FROM generate_series(1, 9) i;
SELECT * FROM salty ORDER BY id DESC LIMIT 3;
SELECT count(*) FROM salty WHERE v IS NULL;

-- ------------------------------------------------------------ reading
TRUNCATE n;
INSERT INTO n SELECT i, CASE WHEN i % 3 = 0 THEN i END, NULL, CASE WHEN i % 5 = 0 THEN 'c' || i END,
  CASE WHEN i % 7 = 0 THEN jsonb_build_object('k', i) END FROM generate_series(1, 200) i;
SELECT count(*) FROM n_cells WHERE qualifier = '';
CREATE TABLE h AS SELECT * FROM n WHERE false;
INSERT INTO h SELECT i, CASE WHEN i % 3 = 0 THEN i END, NULL, CASE WHEN i % 5 = 0 THEN 'c' || i END,
  CASE WHEN i % 7 = 0 THEN jsonb_build_object('k', i::text) END FROM generate_series(1, 200) i;
-- Each query on the wide table and on the ordinary one.
CREATE FUNCTION same(query text) RETURNS TABLE (same boolean, answer text) LANGUAGE plpgsql AS $$
DECLARE wide text; plain text;
BEGIN
	EXECUTE format('SELECT string_agg(q::text, '';'' ORDER BY q::text) FROM (%s) q', replace(query, '$T', 'n')) INTO wide;
	EXECUTE format('SELECT string_agg(q::text, '';'' ORDER BY q::text) FROM (%s) q', replace(query, '$T', 'h')) INTO plain;
	RETURN QUERY SELECT wide IS NOT DISTINCT FROM plain, left(wide, 60);
END $$;
CREATE TABLE queries (no serial, q text);
INSERT INTO queries (q) VALUES
  ('SELECT * FROM $T'), ('SELECT id FROM $T'), ('SELECT count(*) FROM $T'), ('SELECT count(a), count(c), count(m), sum(a) FROM $T'),
  ('SELECT id FROM $T WHERE a IS NULL'), ('SELECT count(*) FROM $T WHERE a IS NULL'), ('SELECT count(*) FROM $T WHERE c IS NULL AND a IS NULL'),
  ('SELECT count(*) FROM $T WHERE m IS NULL'), ('SELECT count(*) FROM $T WHERE m IS NOT NULL'), ('SELECT count(*) FROM $T WHERE b IS NULL'),
  ('SELECT count(*) FROM $T WHERE b IS NOT NULL'), ('SELECT id, a FROM $T WHERE a IS DISTINCT FROM 3'), ('SELECT id FROM $T WHERE c IS DISTINCT FROM ''c5'''),
  ('SELECT id FROM $T WHERE a = 3 OR a IS NULL'), ('SELECT id FROM $T WHERE m->>''k'' IS NULL'), ('SELECT id FROM $T WHERE m ? ''k'''),
  ('SELECT id FROM $T WHERE NOT coalesce(m ? ''k'', false)'), ('SELECT id, c FROM $T WHERE id BETWEEN 10 AND 30'), ('SELECT id, m FROM $T WHERE id IN (1, 7, 8)'),
  ('SELECT id FROM $T ORDER BY id DESC LIMIT 7'), ('SELECT max(id), min(id) FROM $T'), ('SELECT DISTINCT id / 50 FROM $T'), ('SELECT id, count(*), max(a) FROM $T WHERE id < 9 GROUP BY id'),
  ('SELECT x.id, y.id FROM $T x LEFT JOIN $T y ON y.id = x.id + 1 AND y.a IS NULL WHERE x.id < 40');
SELECT no, s.* FROM queries, same(q) s ORDER BY no;
SELECT widetable.flush('n');
ANALYZE n;
SELECT no, s.same FROM queries, same(q) s WHERE NOT s.same ORDER BY no;
SET widetable.enable_pushdown = off;
SELECT no, s.same FROM queries, same(q) s WHERE NOT s.same ORDER BY no;
RESET widetable.enable_pushdown;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT no, s.same FROM queries, same(q) s WHERE NOT s.same ORDER BY no;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SELECT null_frac FROM pg_stats WHERE tablename = 'n' AND attname IN ('id', 'b') ORDER BY attname;
-- the estimates count these rows
CREATE FUNCTION estimate(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT estimate('SELECT id FROM n') BETWEEN 100 AND 200 AS "all", estimate('SELECT id FROM n WHERE b IS NULL') BETWEEN 100 AND 200 AS "b is null";
SELECT widetable.compact('n');
SELECT no, s.same FROM queries, same(q) s WHERE NOT s.same ORDER BY no;
-- existence 'projected' is about cells: such rows are in queries that read the first family
ALTER FOREIGN TABLE n OPTIONS (ADD existence 'projected');
SELECT count(*), count(a) FROM n WHERE id <= 5;
SELECT id, c FROM n WHERE id <= 5;
ALTER FOREIGN TABLE n OPTIONS (DROP existence);
-- as of a time before the row there is no row
INSERT INTO n VALUES (1000);
SET widetable.as_of = '2020-01-01';
SELECT count(*) FROM n WHERE id = 1000;
RESET widetable.as_of;

-- ------------------------------------------------- functions, layout cells
TRUNCATE n;
-- these are about cells: the row goes with its last one
INSERT INTO n VALUES (1, 1), (2, 2), (3, 3), (4, NULL), (5, NULL), (6, 6), (7, NULL);
SELECT widetable.delete_column('n', 1, 'a'), widetable.delete_family('n', 2, 'f'), widetable.put('n', 3, '{"f:a": null}'),
  widetable.delete_row('n', 4), widetable.delete_column('n', 5, 'f:'),
  widetable.check_and_mutate('n', 6, 'a', '=', 6, '[{"delete": ["f:a"]}]');
SELECT * FROM n ORDER BY id;
DELETE FROM n_cells WHERE id = 7;
SELECT * FROM n ORDER BY id;
-- a row with a marker is a row to them, and its columns are NULL
INSERT INTO n VALUES (1);
SELECT widetable.check_and_mutate('n', 1, 'a', 'is null', NULL, '[{"put": {"f:a": "5"}}]');
SELECT widetable.increment('n', 1, 'h:count'), widetable.append('n', 1, 'b', 'x'), widetable.get('n', 1);
-- layout cells writes none
UPDATE n_cells SET value = NULL;
SELECT * FROM n;
INSERT INTO n_cells (id, family, qualifier) VALUES (1, 'f', 'a');

-- -------------------------------------------------------------- option
ALTER FOREIGN TABLE n OPTIONS (ADD marker 'of');
ALTER FOREIGN TABLE n OPTIONS (ADD marker 'off');
INSERT INTO n VALUES (1);
COPY n (id, a) FROM stdin;
1	\N
\.
INSERT INTO n VALUES (1, 1);
UPDATE n SET a = NULL;
SELECT count(*) FROM n;
ALTER FOREIGN TABLE n OPTIONS (SET marker 'auto');
INSERT INTO n VALUES (1);
ALTER FOREIGN TABLE n OPTIONS (SET marker 'off');
-- what is stored stays
SELECT * FROM n;
SELECT widetable.get('n', 1);
UPDATE n SET a = 1;
UPDATE n SET a = NULL;
SELECT * FROM n;
ALTER FOREIGN TABLE n OPTIONS (DROP marker);
SELECT widetable.get('n', 1);
SELECT * FROM n;
ALTER FOREIGN TABLE n ALTER a SET NOT NULL;

-- A column shows the marker's place: there is none, whatever the option says.
CREATE FOREIGN TABLE taken (id int, r text OPTIONS (column 'r:'), v text OPTIONS (column 'p:v')) SERVER widetable
  OPTIONS (key 'id', families '{"r": {}, "p": {}}', marker 'auto');
INSERT INTO taken VALUES (1);
INSERT INTO taken VALUES (1, '');
UPDATE taken SET r = NULL;
SELECT count(*) FROM taken;
CREATE FOREIGN TABLE taken_time (id int, v text OPTIONS (column 'r:v'), ts bigint OPTIONS (timestamp_of 'r:')) SERVER widetable OPTIONS (key 'id');
INSERT INTO taken_time VALUES (1);
CREATE FOREIGN TABLE taken_key (k text OPTIONS (encoding 'md5', column 'd:'), v text) SERVER widetable OPTIONS (key 'k');
INSERT INTO taken_key VALUES ('abc');
SELECT * FROM taken_key;
UPDATE taken_key SET v = 'x';
UPDATE taken_key SET v = NULL;
SELECT * FROM taken_key;
-- in another family than the first one it is a cell as any other
CREATE FOREIGN TABLE free (id int, v text, r text OPTIONS (column 'r:')) SERVER widetable OPTIONS (key 'id', families '{"p": {}, "r": {}}');
INSERT INTO free VALUES (1, NULL, NULL), (2, NULL, '');
SELECT * FROM free ORDER BY id;
SELECT k.id, c.family, c.qualifier FROM free k, widetable.cells('free', k.id) c ORDER BY 1;

-- A map of the first family does not show the marker, and keeps other values of that cell.
CREATE FOREIGN TABLE map (id int, m jsonb OPTIONS (family 'f')) SERVER widetable OPTIONS (key 'id', families '{"f": {}}');
INSERT INTO map VALUES (1, NULL), (2, '{"": "x"}'), (3, '{"a": "1"}');
INSERT INTO map VALUES (1, '{"": ""}');
INSERT INTO map VALUES (2), (3);
UPDATE map SET m = '{"": "\\x"}' WHERE id = 3;
SELECT *, widetable.get('map', id) FROM map ORDER BY id;
SELECT id FROM map WHERE m ? '' ORDER BY id;
SELECT id FROM map WHERE m ->> '' IS NULL ORDER BY id;
SELECT id FROM map WHERE m ->> '' = '' ORDER BY id;
-- so the engine does not test that entry
EXPLAIN (COSTS OFF) SELECT id FROM map WHERE m ->> '' = 'x' AND m ->> 'a' = 'y';
SELECT id, m IS NOT NULL AS "not null" FROM map ORDER BY id;
SELECT count(*), count(m) FROM map;
UPDATE map SET m = NULL WHERE id > 1;
SELECT *, widetable.get('map', id) FROM map ORDER BY id;
UPDATE map SET m = '{"": "y"}' WHERE id = 1;
UPDATE map SET m = m || '{"b": "2"}' WHERE id < 3;
SELECT *, widetable.get('map', id) FROM map ORDER BY id;
UPDATE map SET m = m - '' WHERE id = 1;
UPDATE map SET m = m - 'b';
SELECT id, m, c.qualifier, c.value FROM map, widetable.cells('map', id) c ORDER BY id, qualifier;
CREATE FOREIGN TABLE prefixed (id int, m jsonb OPTIONS (family 'f', prefix 'a_')) SERVER widetable OPTIONS (key 'id');
INSERT INTO prefixed VALUES (1, NULL), (2, '{"": ""}');
SELECT * FROM prefixed ORDER BY id;

-- Several foreign tables on one stored table: a warning if the marker of one is a value of another.
CREATE FOREIGN TABLE taken_too (id int, v text OPTIONS (column 'r:v')) SERVER widetable OPTIONS (table_name 'public.taken', key 'id');
DROP FOREIGN TABLE taken_too;
CREATE FOREIGN TABLE taken_too (id int, v text OPTIONS (column 'r:v')) SERVER widetable OPTIONS (table_name 'public.taken', key 'id', marker 'off');
ALTER FOREIGN TABLE taken_too OPTIONS (DROP marker);
ALTER FOREIGN TABLE taken_too OPTIONS (ADD marker 'off');
CREATE FOREIGN TABLE n_too (id int, x text OPTIONS (column 'f:')) SERVER widetable OPTIONS (table_name 'public.n', key 'id');
DROP FOREIGN TABLE n_too;

-- -------------------------------------------------------------- families
-- A marker expires as the cells of its family do.
CREATE FOREIGN TABLE brief (id int, v text, w text OPTIONS (column 'l:w')) SERVER widetable
  OPTIONS (key 'id', families '{"s": {"ttl": "1 hour"}, "l": {}}');
INSERT INTO brief VALUES (1, NULL, NULL), (2, NULL, 'w'), (3, NULL, 'w'), (4, 'v', 'w'), (5, 'v', 'w');
UPDATE brief SET w = NULL WHERE id IN (3, 4);
SELECT * FROM brief ORDER BY id;
SELECT set_config('widetable.clock', (now() + interval '70 minutes')::text, false) IS NOT NULL AS later;
SELECT * FROM brief ORDER BY id;
-- a cell that has expired is none
BEGIN;
UPDATE brief SET w = NULL WHERE id = 5 RETURNING *;
SELECT * FROM brief ORDER BY id;
ROLLBACK;
RESET widetable.clock;
CREATE FOREIGN TABLE windowed (id int, v text) SERVER widetable
  OPTIONS (key 'id', families '{"w": {"versions": 3, "compaction": "window:1 day", "keep_deleted": true}}');
INSERT INTO windowed VALUES (1, NULL), (2, 'x');
UPDATE windowed SET v = NULL WHERE id = 2;
SELECT widetable.flush('windowed');
SELECT widetable.compact('windowed');
SELECT * FROM windowed ORDER BY id;
-- Another first family: markers of the former one still make rows.
CREATE FOREIGN TABLE moved (id int, v text) SERVER widetable OPTIONS (key 'id', families '{"a": {}, "b": {}}');
INSERT INTO moved VALUES (1), (2);
ALTER FOREIGN TABLE moved OPTIONS (SET families '{"b": {}, "a": {}}');
INSERT INTO moved VALUES (3);
DELETE FROM moved WHERE id = 2;
SELECT k.id, k.v, c.family FROM moved k, widetable.cells('moved', k.id) c ORDER BY 1;

-- Rows are copied with all of this.
CREATE FOREIGN TABLE copy_of (id int, a int, b text, c text, m jsonb OPTIONS (family 'h')) SERVER widetable OPTIONS (key 'id');
INSERT INTO copy_of SELECT * FROM n;
SELECT * FROM copy_of EXCEPT SELECT * FROM n;
SELECT (SELECT count(*) FROM copy_of) = (SELECT count(*) FROM n) AS same_number;

DROP VIEW stored;
DROP TABLE h, queries;
DROP FUNCTION same, estimate;
DROP FOREIGN TABLE follows, n, n_cells, two, many, once, salty, taken, taken_too, taken_time, taken_key, free, map, prefixed, brief, windowed, moved, copy_of;
DROP FUNCTION clear_row, seen;
