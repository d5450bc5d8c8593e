-- ALTER changes how a foreign table reads stored bytes, never the bytes.  A
-- change keeps what each column shows, or it is refused.
\set SHOW_CONTEXT never

CREATE FUNCTION options_of(rel regclass) RETURNS TABLE (of text, options text[]) LANGUAGE sql AS
    'SELECT ''table'', ftoptions FROM pg_foreign_table WHERE ftrelid = rel
     UNION ALL (SELECT attname, attfdwoptions FROM pg_attribute
                WHERE attrelid = rel AND attnum > 0 AND NOT attisdropped ORDER BY attnum)';

-- ------------------------------------------------------------------- names

-- A renamed column keeps its cell and its place in the key, and a
-- timestamp_of column keeps referring to it.
CREATE FOREIGN TABLE alt (
    k text COLLATE "C", n int, v text, "odd\x41" int, m jsonb OPTIONS (family 't'),
    at timestamptz OPTIONS (timestamp_of 'v')
) SERVER widetable OPTIONS (key 'k, n desc', families '{"f": {}, "t": {}}');
INSERT INTO alt VALUES ('a', 1, 'va', 7, '{"x": "y"}'), ('b', 2, 'vb', 8, NULL);
ALTER FOREIGN TABLE alt RENAME COLUMN v TO w;
ALTER FOREIGN TABLE alt RENAME COLUMN "odd\x41" TO even;
ALTER FOREIGN TABLE alt RENAME COLUMN k TO "Key";
ALTER TABLE alt RENAME COLUMN n TO "No";
ALTER FOREIGN TABLE alt RENAME COLUMN m TO map;
SELECT "Key", "No", w, even, map, at IS NOT NULL AS at FROM alt ORDER BY 1;
SELECT * FROM options_of('alt');
-- rename again, in a cycle
ALTER FOREIGN TABLE alt RENAME COLUMN w TO x;
ALTER FOREIGN TABLE alt RENAME COLUMN even TO w;
ALTER FOREIGN TABLE alt RENAME COLUMN x TO even;
SELECT "Key", even, w, at IS NOT NULL AS at FROM alt ORDER BY 1;
-- a new column cannot take the cell that a renamed column still maps
ALTER FOREIGN TABLE alt ADD COLUMN v text;
-- ROLLBACK undoes the renames and the options that they wrote
BEGIN;
ALTER FOREIGN TABLE alt RENAME COLUMN "Key" TO k;
ALTER FOREIGN TABLE alt RENAME COLUMN k TO kk;
INSERT INTO alt (kk, "No", w) VALUES ('c', 1, 9);
SELECT kk, w FROM alt ORDER BY 1;
ROLLBACK;
SELECT "Key", w FROM alt ORDER BY 1;

-- A command on a parent table renames the columns of its partitions.
CREATE TABLE alt_parent (k text COLLATE "C", v text, i int) PARTITION BY LIST (k);
CREATE FOREIGN TABLE alt_part PARTITION OF alt_parent FOR VALUES IN ('a', 'b') SERVER widetable OPTIONS (key 'k');
INSERT INTO alt_parent VALUES ('a', 'va', 1);
ALTER TABLE alt_parent RENAME COLUMN v TO w;
ALTER TABLE alt_parent RENAME COLUMN k TO kk;
SELECT * FROM alt_parent;
SELECT * FROM options_of('alt_part');
ALTER TABLE alt_parent ALTER COLUMN i TYPE bigint;
DROP TABLE alt_parent;

-- In layout cells the column names determine what the columns show.
CREATE FOREIGN TABLE alt_cells (k text COLLATE "C", n int, family text, qualifier text, ts bigint, value text)
    SERVER widetable OPTIONS (layout 'cells', table_name 'public.alt', key 'k, n desc');
ALTER FOREIGN TABLE alt_cells RENAME COLUMN value TO val;
ALTER FOREIGN TABLE alt_cells RENAME COLUMN k TO kk;
SELECT kk, n, family, qualifier FROM alt_cells ORDER BY 1, 3, 4;

-- Without option table_name, the stored table has the name of the foreign
-- table and is renamed with it.  If another foreign table refers to the stored
-- name, that name stays, and the renamed foreign table gets option table_name.
CREATE SCHEMA alt_s;
CREATE FOREIGN TABLE alt_one (k text, v text) SERVER widetable;
INSERT INTO alt_one VALUES ('1', 'one');
ALTER FOREIGN TABLE alt_one RENAME TO alt_uno;
ALTER FOREIGN TABLE alt_uno SET SCHEMA alt_s;
ALTER SCHEMA alt_s RENAME TO alt_z;
ALTER FOREIGN TABLE alt RENAME TO alt2;
SELECT relation, table_name FROM widetable.pg_stat_widetable_tables WHERE relation::text ~ 'alt' ORDER BY 1;
SELECT * FROM options_of('alt2') LIMIT 1;
SELECT * FROM alt_z.alt_uno;
CREATE FOREIGN TABLE alt_one (k text, v text) SERVER widetable;
SELECT * FROM alt_one;
-- the new name is already in use by a stored table
CREATE FOREIGN TABLE alt_taken (k text, v text) SERVER widetable OPTIONS (table_name 'public.alt_new');
INSERT INTO alt_taken VALUES ('1', 'taken');
ALTER FOREIGN TABLE alt_one RENAME TO alt_new;
SELECT * FROM alt_new;
SELECT * FROM options_of('alt_new') LIMIT 1;
DROP FOREIGN TABLE alt_z.alt_uno, alt_new, alt_taken;

-- ---------------------------------------------------------- the first family

-- The first family is the first one in the option's text.  If another family
-- becomes the first, columns without option column keep their cells.
CREATE FOREIGN TABLE alt_fam (k text, a text, b text OPTIONS (column 'z:b')) SERVER widetable;
INSERT INTO alt_fam VALUES ('1', 'a', 'b');
ALTER FOREIGN TABLE alt_fam OPTIONS (ADD families '{"new": {}, "d": {"versions": 2}}');
SELECT * FROM alt_fam;
SELECT * FROM options_of('alt_fam');
ALTER FOREIGN TABLE alt_fam ADD COLUMN c text;
UPDATE alt_fam SET c = 'c';
ALTER FOREIGN TABLE alt_fam OPTIONS (DROP families);
SELECT * FROM alt_fam;
SELECT family, qualifier FROM widetable.cells('alt_fam', '1');
ALTER FOREIGN TABLE alt_fam OPTIONS (ADD families '{"d": null}');
DROP FOREIGN TABLE alt_fam;

-- -------------------------------------------------------- listed families

-- Option families, where it lists any, lists those of all columns.
CREATE FOREIGN TABLE alt_list (k text, a text, z text OPTIONS (column 'zz:q')) SERVER widetable OPTIONS (families '{"f": {}, "m": {}}');
CREATE FOREIGN TABLE alt_list (k text, a text, z jsonb OPTIONS (family 'zz')) SERVER widetable OPTIONS (families '{"f": {}, "m": {}}');
CREATE FOREIGN TABLE alt_list (k text, a text, z timestamptz OPTIONS (timestamp_of 'zz:q')) SERVER widetable OPTIONS (families '{"f": {}, "m": {}}');
CREATE FOREIGN TABLE alt_list (k text OPTIONS (encoding 'md5', column 'zz:k'), a text) SERVER widetable OPTIONS (families '{"f": {}, "m": {}}');
CREATE FOREIGN TABLE alt_list (k text, a text, m text OPTIONS (column 'm:q')) SERVER widetable OPTIONS (families '{"f": {}, "m": {}}');
ALTER FOREIGN TABLE alt_list ADD COLUMN z text OPTIONS (column 'zz:q');
ALTER FOREIGN TABLE alt_list ALTER COLUMN m OPTIONS (SET column 'zz:q');
-- A family that ALTER leaves out stays.  If columns show it, the option goes on to list it.
INSERT INTO alt_list VALUES ('1', 'a', 'm');
ALTER FOREIGN TABLE alt_list OPTIONS (SET families '{"f": {"versions": 2}}');
SELECT * FROM alt_list;
SELECT * FROM options_of('alt_list') LIMIT 1;
ALTER FOREIGN TABLE alt_list OPTIONS (SET families '{"new": {}, "zz": {"ttl": null}, "odd \"name\" {}": {} } ');
SELECT * FROM alt_list;
SELECT * FROM options_of('alt_list');
ALTER FOREIGN TABLE alt_list ADD COLUMN z text OPTIONS (column 'zz:q'), ADD COLUMN o text OPTIONS (column 'odd "name" {}:q');
-- without the option, or with one that only drops, columns name families
ALTER FOREIGN TABLE alt_list OPTIONS (SET families '{"x": null}');
ALTER FOREIGN TABLE alt_list ADD COLUMN y text OPTIONS (column 'y:q');
ALTER FOREIGN TABLE alt_list OPTIONS (DROP families);
ALTER FOREIGN TABLE alt_list ADD COLUMN x text OPTIONS (column 'x:q');
ALTER FOREIGN TABLE alt_list OPTIONS (ADD families '{"f": {}}');
SELECT * FROM options_of('alt_list') LIMIT 1;
DROP FOREIGN TABLE alt_list;

-- ------------------------------------------------------------------ the key

ALTER FOREIGN TABLE alt2 OPTIONS (SET key '"Key", "No"');
ALTER FOREIGN TABLE alt2 OPTIONS (SET key '"No" desc, "Key"');
ALTER FOREIGN TABLE alt2 OPTIONS (SET key '"Key"');
ALTER FOREIGN TABLE alt2 OPTIONS (ADD salt_buckets '4');
ALTER FOREIGN TABLE alt2 ALTER COLUMN "No" TYPE bigint;
ALTER FOREIGN TABLE alt2 ALTER COLUMN "No" OPTIONS (ADD encoding 'unsigned4');
ALTER FOREIGN TABLE alt2 ALTER COLUMN "Key" OPTIONS (ADD delimiter '+');
ALTER FOREIGN TABLE alt2 DROP COLUMN "No";
SELECT "Key", "No", w FROM alt2 ORDER BY 1;
-- changes that leave the bytes as they are need no empty table: text and varchar, the collation
ALTER FOREIGN TABLE alt2 ALTER COLUMN "Key" TYPE varchar(10) COLLATE "POSIX";
ALTER FOREIGN TABLE alt2 ALTER COLUMN "Key" OPTIONS (ADD encoding 'bytes');
SELECT "Key", "No", w FROM alt2 WHERE "Key" = 'b';
-- with no rows left every change is allowed, also if this transaction has deleted them
CREATE FOREIGN TABLE alt_key (k int, v text) SERVER widetable;
INSERT INTO alt_key VALUES (1, 'v');
BEGIN;
DELETE FROM alt_key;
ALTER FOREIGN TABLE alt_key ALTER COLUMN k TYPE bigint, OPTIONS (ADD salt_buckets '3');
INSERT INTO alt_key VALUES (5000000000, 'big');
SELECT * FROM alt_key;
ALTER FOREIGN TABLE alt_key OPTIONS (DROP salt_buckets);
ROLLBACK;
SELECT * FROM alt_key;
BEGIN;
DELETE FROM alt_key;
INSERT INTO alt_key VALUES (2, 'v');
ALTER FOREIGN TABLE alt_key OPTIONS (ADD salt_buckets '3');
ROLLBACK;
TRUNCATE alt_key;
ALTER FOREIGN TABLE alt_key OPTIONS (ADD salt_buckets '3');
DROP FOREIGN TABLE alt_key;
-- Without option key the first column is the key.  It cannot be dropped while
-- there are rows, not even together with its type.
CREATE DOMAIN alt_domain AS text;
CREATE FOREIGN TABLE alt_key (k alt_domain, v text) SERVER widetable;
INSERT INTO alt_key VALUES ('k', 'v');
ALTER FOREIGN TABLE alt_key DROP COLUMN k;
DROP DOMAIN alt_domain CASCADE;
SELECT * FROM alt_key;

-- ------------------------------------------------------------------- values

-- A column may change between types that are stored as text; if the bytes
-- depend on the type, it may not.  Options only say how bytes are read.
CREATE FOREIGN TABLE alt_val (k text, t text, i int) SERVER widetable;
INSERT INTO alt_val VALUES ('1', '42', 42);
ALTER FOREIGN TABLE alt_val ALTER COLUMN t TYPE numeric;
SELECT * FROM alt_val;
ALTER FOREIGN TABLE alt_val ALTER COLUMN t TYPE date;
ALTER FOREIGN TABLE alt_val ALTER COLUMN i TYPE bigint;
ALTER FOREIGN TABLE alt_val ALTER COLUMN i TYPE real;
ALTER FOREIGN TABLE alt_val ADD COLUMN b bigint;
UPDATE alt_val SET b = i, i = NULL;
ALTER FOREIGN TABLE alt_val DROP COLUMN b, ADD COLUMN bytes bytea OPTIONS (column 'd:b');
SELECT * FROM alt_val;
ALTER FOREIGN TABLE alt_val ALTER COLUMN t OPTIONS (ADD column 'd:other');
SELECT * FROM alt_val;

-- A column can become NOT NULL if each row has the cell.
CREATE FOREIGN TABLE alt_null (k text, a text OPTIONS (column 'f:a'), b text OPTIONS (column 'g:b')) SERVER widetable;
INSERT INTO alt_null VALUES ('1', 'a', 'b'), ('2', 'a', NULL);
ALTER FOREIGN TABLE alt_null ALTER COLUMN a SET NOT NULL;
ALTER FOREIGN TABLE alt_null ALTER COLUMN b SET NOT NULL;
ALTER FOREIGN TABLE alt_null ADD COLUMN c text NOT NULL;
ALTER FOREIGN TABLE alt_null ALTER COLUMN a OPTIONS (SET column 'g:b');
INSERT INTO alt_null VALUES ('2', 'a', 'b');
ALTER FOREIGN TABLE alt_null ALTER COLUMN b SET NOT NULL;
ALTER FOREIGN TABLE alt_null RENAME COLUMN a TO aa;
SELECT * FROM alt_null;
TRUNCATE alt_null;
ALTER FOREIGN TABLE alt_null ADD COLUMN c text NOT NULL;

-- --------------------------------------------- two tables on one stored table

-- Both must make keys in the same way; each error names the other table.
CREATE FOREIGN TABLE alt_bad (k text, n int, v text) SERVER widetable
    OPTIONS (table_name 'public.alt', key 'k, n');
CREATE FOREIGN TABLE alt_bad (k text, n bigint, v text) SERVER widetable
    OPTIONS (table_name 'public.alt', key 'k, n desc');
CREATE FOREIGN TABLE alt_bad (k text, n int, v text) SERVER widetable
    OPTIONS (table_name 'public.alt', key 'k, n desc', salt_buckets '2');
CREATE FOREIGN TABLE alt_bad (k text, v text) SERVER widetable OPTIONS (table_name 'public.alt');
ALTER FOREIGN TABLE alt2 OPTIONS (SET families '{"f": {"versions": 2}, "t": {}}');
CREATE FOREIGN TABLE alt_bad (k text, n int, v text) SERVER widetable
    OPTIONS (table_name 'public.alt', key 'k, n desc', families '{"f": {"versions": 3}}');
-- the error names the first option that differs
CREATE FOREIGN TABLE alt_same (k text, n int, family text, qualifier text, value text) SERVER widetable OPTIONS (layout 'cells',
    table_name 'public.alt', key 'k, n desc', families '{"t": {"ttl": "90 minutes", "bloom": "prefix:3", "compression": "zstd:7", "compaction": "window:1 day"}}');
CREATE FOREIGN TABLE alt_bad (k text, n int, family text, qualifier text, value text) SERVER widetable OPTIONS (layout 'cells',
    table_name 'public.alt', key 'k, n desc', families '{"f": {"versions": 2}, "t": {"ttl": null, "bloom": "prefix:3", "compression": "none", "compaction": "window:90 minutes"}}');
ALTER FOREIGN TABLE alt2 OPTIONS (SET families '{"f": {}, "t": {"ttl": "90 minutes"}}');
ALTER FOREIGN TABLE alt2 OPTIONS (SET families '{"f": {}, "t": {"bloom": "row"}}');
ALTER FOREIGN TABLE alt2 OPTIONS (SET families '{"f": {}, "t": {"compression": "zstd:7"}}');
ALTER FOREIGN TABLE alt2 OPTIONS (SET families '{"f": {}, "t": {"compaction": "leveled"}}');
DROP FOREIGN TABLE alt_same;
TRUNCATE alt2;
ALTER FOREIGN TABLE alt2 OPTIONS (ADD salt_buckets '4');
INSERT INTO alt2 ("Key", "No", w) VALUES ('a', 1, 5);
-- Showing the same bytes as another type is allowed, and so is showing the
-- whole key as bytes.
CREATE FOREIGN TABLE alt_raw (k bytea, w int OPTIONS (column 'f:odd\\x41')) SERVER widetable OPTIONS (table_name 'public.alt');
SELECT * FROM alt_raw;
CREATE FOREIGN TABLE alt_time (at timestamptz, v text) SERVER widetable OPTIONS (key 'at desc');
CREATE FOREIGN TABLE alt_micro (us bigint OPTIONS (encoding 'reverse'), v text) SERVER widetable
    OPTIONS (table_name 'public.alt_time');
INSERT INTO alt_time VALUES ('1970-01-01 00:00:01Z', 'v');
SELECT * FROM alt_micro;
CREATE FOREIGN TABLE alt_digest (k text OPTIONS (encoding 'md5', column 'd:k'), v text) SERVER widetable;
CREATE FOREIGN TABLE alt_digest_raw (k bytea, family text, qualifier text, value text) SERVER widetable
    OPTIONS (table_name 'public.alt_digest', layout 'cells');

-- ------------------------------------------------------------ family options

-- The view shows every option, and each can be altered while the table is in use.
CREATE FOREIGN TABLE alt_opt (k text, v text OPTIONS (column 'f:v')) SERVER widetable;
INSERT INTO alt_opt VALUES ('1', 'v');
SELECT family, options FROM widetable.pg_stat_widetable_families WHERE relation = 'alt_opt'::regclass;
ALTER FOREIGN TABLE alt_opt OPTIONS (ADD families '{"f": {"versions": 3, "min_versions": 2, "ttl": "90 minutes", "keep_deleted": true,
    "bloom": "rowcol", "block_size": 4096, "compression": "none", "in_memory": true, "compaction": "window:1 day"}}');
SELECT family, options FROM widetable.pg_stat_widetable_families WHERE relation = 'alt_opt'::regclass;
ALTER FOREIGN TABLE alt_opt OPTIONS (SET families '{"f": {"bloom": "prefix:3", "compression": "zstd:7", "ttl": null}, "g": {"bloom": "none"}}');
SELECT family, options FROM widetable.pg_stat_widetable_families WHERE relation = 'alt_opt'::regclass ORDER BY 1;
-- null drops the family and its data when the transaction commits
SELECT widetable.put('alt_opt', '1', 'g:x', 'x');
BEGIN;
ALTER FOREIGN TABLE alt_opt OPTIONS (SET families '{"f": {}, "g": null}');
SELECT widetable.get('alt_opt', '1');
ROLLBACK;
SELECT widetable.get('alt_opt', '1');
ALTER FOREIGN TABLE alt_opt OPTIONS (SET families '{"f": {}, "g": null}');
SELECT widetable.get('alt_opt', '1');
ALTER FOREIGN TABLE alt_opt OPTIONS (SET families '{"f": {}, "g": {}}');
SELECT widetable.get('alt_opt', '1');
-- only the command that sets null drops the family, and not if another table uses it
CREATE FOREIGN TABLE alt_opt2 (k text, x text OPTIONS (column 'g:x')) SERVER widetable OPTIONS (table_name 'public.alt_opt');
INSERT INTO alt_opt2 VALUES ('1', 'kept');
ALTER FOREIGN TABLE alt_opt OPTIONS (SET families '{"g": null}');
ALTER FOREIGN TABLE alt_opt2 RENAME COLUMN x TO y;
DROP FOREIGN TABLE alt_opt2;
ALTER FOREIGN TABLE alt_opt OPTIONS (SET families '{"g": null}');
CREATE FOREIGN TABLE alt_opt2 (k text, x text OPTIONS (column 'g:x')) SERVER widetable OPTIONS (table_name 'public.alt_opt');
INSERT INTO alt_opt2 VALUES ('1', 'kept');
ALTER FOREIGN TABLE alt_opt ADD COLUMN w text OPTIONS (column 'f:w');
SELECT * FROM alt_opt2;

-- ------------------------------------------------------- types of key columns

-- Enum labels are stored as text: equality compares labels, the order is PostgreSQL's.
CREATE TYPE alt_mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN alt_small AS int CHECK (VALUE BETWEEN 1 AND 9);
CREATE FOREIGN TABLE alt_types (m alt_mood, s alt_small, l int[], r int4range, d alt_small) SERVER widetable OPTIONS (key 'm, s');
INSERT INTO alt_types VALUES ('ok', 1, '{1,2}', '[1,3)', 5), ('happy', 2, NULL, '(,)', 6), ('sad', 3, '{}', NULL, NULL);
SELECT * FROM alt_types WHERE m >= 'ok' ORDER BY m;
EXPLAIN (COSTS OFF) SELECT * FROM alt_types WHERE m = 'ok' AND s > 0;
SELECT * FROM alt_types WHERE m = 'ok' AND s > 0;
SELECT widetable.put('alt_types', ROW('ok', 1), 'd', 10);
SELECT widetable.put('alt_types', ROW('ok', 1), '{"d": 0}');
CREATE FOREIGN TABLE alt_bad (k int[], v text) SERVER widetable;
CREATE FOREIGN TABLE alt_bad (k int4range, v text) SERVER widetable;
CREATE FOREIGN TABLE alt_bad (k alt2, v text) SERVER widetable;

-- --------------------------------------------------------------------- limits

-- One byte over a limit is an error that names the limit, and nothing is written.
CREATE FOREIGN TABLE alt_lim (k text COLLATE "C", m jsonb OPTIONS (family 'f'), v bytea OPTIONS (column 'f:v'))
    SERVER widetable;
INSERT INTO alt_lim (k, v) VALUES (repeat('k', 32767), 'v');
INSERT INTO alt_lim (k, v) VALUES (repeat('k', 32768), 'v');
INSERT INTO alt_lim (k, v) VALUES ('', 'v');
SELECT widetable.put('alt_lim', 'q', 'f:' || repeat('q', 65535), '1');
SELECT length(widetable.get('alt_lim', repeat('k', 32768))::text);
DO $$ BEGIN PERFORM widetable.put('alt_lim', 'q', 'f:' || repeat('q', 65536), '1');
EXCEPTION WHEN program_limit_exceeded THEN RAISE NOTICE '%', SQLERRM; END $$;
DO $$ BEGIN INSERT INTO alt_lim (k, m) VALUES ('r', jsonb_build_object(repeat('q', 65536), '1'));
EXCEPTION WHEN program_limit_exceeded THEN RAISE NOTICE '%', SQLERRM; END $$;
-- (a value of 20 MB; the limit of 256 MB would take too long)
INSERT INTO alt_lim (k, v) VALUES ('v', decode(repeat('00', 20000000), 'hex'));
SELECT length(k) AS key, length(v) AS value,
    (SELECT max(length(q)) FROM jsonb_object_keys(m) q) AS qualifier FROM alt_lim ORDER BY 1, 2;
-- families: names of at most 127 bytes, at most 64 families in a stored table, over all its foreign tables
DO $$ BEGIN EXECUTE format('CREATE FOREIGN TABLE alt_fams (k text, v text) SERVER widetable OPTIONS (families %L)',
    json_build_object(repeat('f', 127), '{}'::json)); END $$;
DO $$ BEGIN EXECUTE format('ALTER FOREIGN TABLE alt_fams OPTIONS (SET families %L)',
    (SELECT json_object_agg('f' || i, '{}'::json) FROM generate_series(1, 63) i)); END $$;
SELECT families FROM widetable.pg_stat_widetable_tables WHERE relation = 'alt_fams'::regclass;
ALTER FOREIGN TABLE alt_fams ADD COLUMN w text OPTIONS (column 'one_more:w');
CREATE FOREIGN TABLE alt_bad (k text, w text) SERVER widetable OPTIONS (table_name 'public.alt_fams', families '{"one_more": {}}');
DO $$ BEGIN EXECUTE format('CREATE FOREIGN TABLE alt_bad (k text, v text) SERVER widetable OPTIONS (families %L)',
    (SELECT json_object_agg('f' || i, '{}'::json) FROM generate_series(1, 65) i)); END $$;
CREATE FOREIGN TABLE alt_bad (k text, v text) SERVER widetable OPTIONS (families '{"12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678": {}}');
-- foreign tables on one stored table: all of them are compared, however many there are
DO $$ BEGIN FOR i IN 1..260 LOOP
    EXECUTE format('CREATE FOREIGN TABLE alt_many%s (k text, v text) SERVER widetable OPTIONS (table_name ''alt_many'', families %L)',
        i, CASE WHEN i = 260 THEN '{"f": {"versions": 2}}' ELSE '{"f": {}}' END);
    COMMIT; END LOOP; END $$;
CREATE FOREIGN TABLE alt_bad (k text, v text) SERVER widetable OPTIONS (table_name 'alt_many', families '{"f": {"versions": 3}}');
SELECT count(*) FROM widetable.pg_stat_widetable_families WHERE relation::text LIKE 'alt_many%';
DO $$ BEGIN FOR i IN 1..260 LOOP EXECUTE 'DROP FOREIGN TABLE alt_many' || i; COMMIT; END LOOP; END $$;
