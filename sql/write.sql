-- Writing: the meaning of INSERT, UPDATE, DELETE, COPY and TRUNCATE for wide rows.
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE FOREIGN TABLE w (
    id    text COLLATE "C",
    name  text,
    n     bigint,
    note  text  OPTIONS (column 'g:note'),
    tags  jsonb OPTIONS (family 't')
) SERVER widetable
  OPTIONS (key 'id', families '{"f": {"versions": 3}, "g": {}, "t": {}}');

-- INSERT puts one cell for each column that is not NULL.
INSERT INTO w VALUES ('a', 'Ada', 1, NULL, '{"lang": "de", "zip": 8000}'), ('b', 'Bob', NULL, 'hi', NULL);
SELECT * FROM w ORDER BY id;
SELECT family, qualifier, value FROM widetable.cells('w', 'a');
-- It is an upsert: cells of an existing row that INSERT does not name stay.
INSERT INTO w (id, n) VALUES ('a', 2);
INSERT INTO w (id, name) VALUES ('b', 'Bert') RETURNING *;
SELECT * FROM w ORDER BY id;
-- INSERT reads nothing, and the plan shows it.
EXPLAIN (COSTS OFF) INSERT INTO w (id, n) VALUES ('a', 2);
-- An empty value is not NULL.
INSERT INTO w (id, name, tags) VALUES ('e', '', '{"": ""}') RETURNING name IS NULL AS is_null, tags;
SELECT qualifier, value FROM widetable.cells('w', 'e');
DELETE FROM w WHERE id = 'e';

-- A row of NULLs is a row (marker.sql).
INSERT INTO w (id) VALUES ('c');
INSERT INTO w VALUES ('c', NULL, NULL, NULL, '{"x": null}');
SELECT * FROM w WHERE id = 'c';
DELETE FROM w WHERE id = 'c';
ALTER FOREIGN TABLE w OPTIONS (ADD marker 'off');
INSERT INTO w (id) VALUES ('c');
INSERT INTO w VALUES ('c', NULL, NULL, NULL, '{"x": null}');
ALTER FOREIGN TABLE w OPTIONS (DROP marker);

-- Rows that cannot be stored.
INSERT INTO w (name) VALUES ('nobody');
INSERT INTO w VALUES ('', 'empty key');
INSERT INTO w (id, tags) VALUES ('c', '[1, 2]');
SELECT count(*) FROM w WHERE id = 'c';

-- UPDATE writes the columns it names, no others.
UPDATE w SET n = n + 10 WHERE id = 'a' RETURNING id, n, name;
UPDATE w SET n = coalesce(n, 0) + 1;
SELECT id, name, n FROM w ORDER BY id;
-- ... each as a new version:
SELECT qualifier, value FROM widetable.cells('w', 'a', versions => 5) WHERE family = 'f';
-- SET NULL deletes the column with all its versions.
UPDATE w SET note = NULL, n = NULL WHERE id = 'b';
SELECT family, qualifier, value FROM widetable.cells('w', 'b', versions => 5);
-- A map is updated entry by entry: new entries are put, missing ones deleted.
UPDATE w SET tags = tags || '{"zip": "9000", "os": "linux"}' WHERE id = 'a';
UPDATE w SET tags = tags - 'lang' WHERE id = 'a' RETURNING tags;
SELECT qualifier, value FROM widetable.cells('w', 'a') WHERE family = 't';
UPDATE w SET tags = '{"zip": null, "os": "linux", "deep": {"x": [1, 2.50, true]}}' WHERE id = 'a';
SELECT tags, (tags ->> 'deep')::jsonb -> 'x' AS x FROM w WHERE id = 'a';
UPDATE w SET tags = NULL WHERE id = 'a' RETURNING *;
-- A row without values exists, but not without cells.
INSERT INTO w (id, n) VALUES ('z', 1);
UPDATE w SET n = NULL WHERE id = 'z';
SELECT count(*) FROM w WHERE id = 'z';
DELETE FROM w WHERE id = 'z';
INSERT INTO w (id, n) VALUES ('z', 1);
SELECT widetable.delete_column('w', 'z', 'n');
SELECT count(*) FROM w WHERE id = 'z';

-- A new key moves the row with all its versions.
UPDATE w SET id = 'c', name = 'Cora' WHERE id = 'a';
SELECT * FROM w ORDER BY id;
SELECT qualifier, value FROM widetable.cells('w', 'c', versions => 5);
UPDATE w SET id = 'b' WHERE id = 'c';
UPDATE w SET id = NULL WHERE id = 'c';
-- an unchanged key is not a move
UPDATE w SET id = id, n = 0 WHERE id = 'c';
SELECT * FROM w ORDER BY id;

-- DELETE removes the whole row, including families that this table does not show.
CREATE FOREIGN TABLE w_names (id text COLLATE "C", name text OPTIONS (column 'f:name'))
  SERVER widetable OPTIONS (table_name 'public.w', key 'id', families '{"f": {}}');
DELETE FROM w_names WHERE id = 'c' RETURNING *;
SELECT * FROM w;
SELECT widetable.get('w', 'c');

-- If a join returns a row twice, the row is changed once, as in ordinary tables.
INSERT INTO w (id, n) VALUES ('j', 0);
UPDATE w SET n = w.n + g.i FROM (VALUES (1), (1)) g(i) WHERE id = 'j';
SELECT n FROM w WHERE id = 'j';
WITH d AS (DELETE FROM w USING generate_series(1, 3) WHERE id = 'j' RETURNING id) SELECT count(*) FROM d;

-- COPY
COPY w (id, name, n, tags) FROM stdin;
c1	one	1	{"k": "v"}
c2	two	\N	\N
c3	\N	3	\N
\.
COPY w (id, n) FROM stdin;
c4	4
c5	\N
\.
SELECT * FROM w WHERE id LIKE 'c%' ORDER BY id;
COPY (SELECT id, name FROM w ORDER BY id) TO stdout;
INSERT INTO w (id, n) SELECT 's' || lpad(i::text, 4, '0'), i FROM generate_series(1, 2000) i;
SELECT count(*), sum(n) FROM w WHERE id LIKE 's%';
UPDATE w SET n = n * 2 WHERE id >= 's0001' AND id <= 's0010';
DELETE FROM w WHERE id > 's0010' AND id <= 's2000';
SELECT count(*), sum(n) FROM w WHERE id LIKE 's%';

-- A statement does not see its own rows.
INSERT INTO w (id, n) SELECT id || 'x', n FROM w WHERE id LIKE 's%';
SELECT count(*) FROM w WHERE id LIKE 's%';
UPDATE w SET id = id || '!' WHERE id LIKE 's%';
SELECT count(*), min(id), max(id) FROM w WHERE id LIKE 's%';

-- TRUNCATE, and its rollback.
BEGIN;
TRUNCATE w;
SELECT count(*) FROM w;
INSERT INTO w (id, n) VALUES ('t', 1);
SELECT id, n FROM w;
ROLLBACK;
SELECT count(*) > 0 AS "back again" FROM w;
TRUNCATE w;
SELECT count(*) FROM w;

-- -------------------------------------------- inserting existing rows
CREATE FOREIGN TABLE users (login text COLLATE "C", mail text)
  SERVER widetable OPTIONS (key 'login', insert_mode 'error');
INSERT INTO users VALUES ('ada', 'ada@example.org');
INSERT INTO users VALUES ('ada', 'other@example.org');
INSERT INTO users VALUES ('bob', 'b@example.org'), ('bob', 'b2@example.org');
EXPLAIN (COSTS OFF) INSERT INTO users VALUES ('ada', 'x');
INSERT INTO users VALUES ('ada', 'x'), ('bob', 'b@example.org'), ('bob', 'b2@example.org')
  ON CONFLICT DO NOTHING RETURNING *;
SELECT * FROM users ORDER BY login;
INSERT INTO users VALUES ('ada', 'x') ON CONFLICT (login) DO NOTHING;
INSERT INTO w (id, n) VALUES ('q', 1), ('q', 2) ON CONFLICT DO NOTHING;
SELECT id, n FROM w;
-- a deleted row does not exist
BEGIN;
DELETE FROM users WHERE login = 'ada';
INSERT INTO users VALUES ('ada', 'new@example.org');
COMMIT;
SELECT * FROM users ORDER BY login;

-- ----------------------------------------------------------- timestamps
CREATE FOREIGN TABLE stamped (
    id text COLLATE "C",
    v  text,
    at bigint OPTIONS (timestamp_of 'f:v'),
    u  text,
    ut timestamptz OPTIONS (timestamp_of 'f:u')
) SERVER widetable OPTIONS (key 'id', families '{"f": {"versions": 3}}');
INSERT INTO stamped VALUES ('a', 'x', 10, 'y', '2020-01-01') RETURNING *;
INSERT INTO stamped (id, v, at) VALUES ('a', 'older', 5);
SELECT * FROM stamped;
SELECT qualifier, ts, value FROM widetable.cells('stamped', 'a', 3);
-- without a timestamp the cell is stamped at commit
INSERT INTO stamped (id, v) VALUES ('b', 'now') RETURNING at > 1600000000000000 AS stamped, ut;
SELECT at > 1600000000000000 AS stamped FROM stamped WHERE id = 'b';
INSERT INTO stamped (id, v, at) VALUES ('c', 'x', -1);
INSERT INTO stamped (id, u, ut) VALUES ('c', 'x', 'infinity');
-- UPDATE of the timestamp moves the version
UPDATE stamped SET at = 7 WHERE id = 'a' RETURNING v, at;
SELECT qualifier, ts, value FROM widetable.cells('stamped', 'a', 3);
-- an updated version is newer than the one it replaces, even if that one lies in the future
INSERT INTO stamped (id, v, at) VALUES ('f', 'future', 9000000000000000000);
UPDATE stamped SET v = 'newer' WHERE id = 'f';
SELECT id, v, at FROM stamped WHERE id = 'f';

-- ------------------------------------- generated columns, triggers, NOT NULL
CREATE FOREIGN TABLE gen (
    id  text COLLATE "C",
    a   int,
    b   int,
    s   int GENERATED ALWAYS AS (a + b) STORED,
    who text NOT NULL,
    CHECK (a > 0)
) SERVER widetable OPTIONS (key 'id', families '{"f": {}}');
INSERT INTO gen (id, a, b, who) VALUES ('x', 1, 2, 'me') RETURNING s;
UPDATE gen SET b = 10 RETURNING s;
SELECT qualifier, value FROM widetable.cells('gen', 'x') ORDER BY qualifier;
INSERT INTO gen (id, a, b) VALUES ('y', 1, 2);
UPDATE gen SET who = NULL;
CREATE FUNCTION stamp_who() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.who := coalesce(NEW.who, '') || '+trigger';
    RAISE NOTICE '% %', TG_OP, NEW.id;
    RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON gen FOR EACH ROW EXECUTE FUNCTION stamp_who();
INSERT INTO gen (id, a, b, who) VALUES ('y', 1, 1, 'you') RETURNING *;
UPDATE gen SET b = 2 WHERE id = 'y' RETURNING *;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'after %: % -> %', TG_OP, OLD, NEW;
    RETURN NULL;
END $$;
CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON gen FOR EACH ROW EXECUTE FUNCTION tell();
UPDATE gen SET a = 5 WHERE id = 'y';
DELETE FROM gen WHERE id = 'y';
SELECT * FROM gen;

-- a view WITH CHECK OPTION
CREATE VIEW small AS SELECT id, a, b, who FROM gen WHERE a < 100 WITH CHECK OPTION;
INSERT INTO small VALUES ('v', 100, 1, 'me');
UPDATE small SET a = 1000 WHERE id = 'x';
SELECT id, a FROM gen;

-- ---------------------------------------------- digests and salt in keys
CREATE FOREIGN TABLE pages (
    url   text OPTIONS (encoding 'md5', column 'd:url'),
    title text
) SERVER widetable OPTIONS (key 'url', families '{"d": {}}', salt_buckets '4');
INSERT INTO pages VALUES ('http://a', 'A'), ('http://b', 'B');
SELECT * FROM pages ORDER BY url;
UPDATE pages SET title = 'A2' WHERE url = 'http://a';
UPDATE pages SET url = 'http://c' WHERE url = 'http://b';
DELETE FROM pages WHERE title = 'none';
SELECT * FROM pages ORDER BY url;
DELETE FROM pages WHERE url = 'http://a';
SELECT * FROM pages ORDER BY url;

-- ------------------------------------------------- one SQL row for each cell
CREATE FOREIGN TABLE c (
    id text COLLATE "C", family text, qualifier text, ts bigint, value text, version int
) SERVER widetable OPTIONS (table_name 'public.stamped', key 'id', layout 'cells', families '{"f": {}}');
INSERT INTO c (id, family, qualifier, ts, value) VALUES ('k', 'f', 'v', 1, 'one'), ('k', 'f', 'v', 2, 'two'), ('k', 'f', '', 3, 'empty');
SELECT * FROM c WHERE id = 'k' ORDER BY qualifier, ts DESC;
SELECT id, v, at FROM stamped WHERE id = 'k';
UPDATE c SET value = 'TWO' WHERE id = 'k' AND ts = 2;
DELETE FROM c WHERE id = 'k' AND ts = 3;
SELECT * FROM c WHERE id = 'k' ORDER BY qualifier, ts DESC;
DELETE FROM c WHERE id = 'k' AND version = 1 RETURNING *;
SELECT id, v, at FROM stamped WHERE id = 'k';
UPDATE c SET ts = 20 WHERE id = 'k';
UPDATE c SET qualifier = 'w', id = 'l' WHERE id = 'k';
SELECT * FROM c WHERE id >= 'k' ORDER BY id;
UPDATE c SET version = 3 WHERE id = 'l';
INSERT INTO c (id, family, qualifier, value) VALUES ('k', 'nix', 'q', 'x');
INSERT INTO c (id, qualifier, value) VALUES ('k', 'q', 'x');
INSERT INTO c (id, family, value) VALUES ('k', 'f', 'x');
INSERT INTO c (id, family, qualifier) VALUES ('k', 'f', 'q');
INSERT INTO c (id, family, qualifier, value, ts) VALUES ('k', 'f', 'q', 'x', -5);
-- versions of the same transaction
BEGIN;
INSERT INTO c (id, family, qualifier, value) VALUES ('m', 'f', 'q', 'mine'), ('m', 'f', 'r', 'other');
UPDATE c SET value = 'changed' WHERE id = 'm' AND qualifier = 'q';
DELETE FROM c WHERE id = 'm' AND qualifier = 'r';
SELECT id, qualifier, value, version FROM c WHERE id = 'm';
COMMIT;
SELECT id, qualifier, value, version FROM c WHERE id = 'm';

-- ------------------------------------------------------------- partitions
CREATE TABLE parts (k text COLLATE "C", v text) PARTITION BY LIST (k);
CREATE FOREIGN TABLE parts_a PARTITION OF parts FOR VALUES IN ('a', 'b') SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE parts_c PARTITION OF parts FOR VALUES IN ('c') SERVER widetable OPTIONS (key 'k');
CREATE TABLE parts_heap PARTITION OF parts DEFAULT;
INSERT INTO parts VALUES ('a', '1'), ('b', '2'), ('c', '3'), ('z', '4');
COPY parts FROM stdin;
a	10
y	5
\.
SELECT tableoid::regclass, * FROM parts ORDER BY k;
UPDATE parts SET v = v || '!' WHERE k IN ('a', 'z') RETURNING tableoid::regclass, *;
DELETE FROM parts WHERE v = '3';
UPDATE parts SET k = 'c' WHERE k = 'y';
SELECT tableoid::regclass, * FROM parts ORDER BY k;
INSERT INTO parts VALUES ('c', 'again'), ('z', 'too') ON CONFLICT DO NOTHING;
SELECT tableoid::regclass, * FROM parts ORDER BY k, v;
-- a row cannot leave a foreign partition
UPDATE parts SET k = 'z' WHERE k = 'a';
UPDATE parts_a SET k = 'z' WHERE k = 'a';
INSERT INTO parts_a VALUES ('z', 'x');
UPDATE parts SET k = 'a' WHERE k = 'b';
DELETE FROM parts WHERE k = 'a' RETURNING tableoid::regclass, *;
UPDATE parts SET k = 'a' WHERE k = 'b' RETURNING *;

-- ---------------------------------------------------------- read-only tables
CREATE FOREIGN TABLE fixed (id text COLLATE "C", v text) SERVER widetable
  OPTIONS (key 'id', updatable 'false', truncatable 'false');
INSERT INTO fixed VALUES ('a', 'x');
UPDATE fixed SET v = 'x';
TRUNCATE fixed;
SELECT widetable.put('fixed', 'a', 'v', 'x');

DROP TABLE parts;
DROP VIEW small;
DROP FOREIGN TABLE w, w_names, users, stamped, c, gen, pages, fixed;
DROP FUNCTION stamp_who(), tell();
