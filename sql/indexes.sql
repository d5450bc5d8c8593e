--
-- Indexes: foreign tables with option index_of, whose rows follow from those of another table.
--
\set SHOW_CONTEXT never
\pset null NULL
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- Adds up to nothing if all indexes of the tables agree with them.
CREATE FUNCTION ix_check(VARIADIC tables regclass[]) RETURNS TABLE (of_table regclass, part text, problem text) LANGUAGE sql
    AS $$ SELECT t, v.* FROM unnest(tables) t, widetable.verify(t) v $$;

-- The plan of a query.
CREATE FUNCTION ix_plan(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    -- versions of PostgreSQL differ in the order of a join's condition
    FOR q IN EXECUTE 'EXPLAIN (COSTS OFF) ' || q LOOP
        RETURN NEXT regexp_replace(q, 'Filter: \((\w+\.\w+) = (\w+)\)', 'Filter: (\2 = \1)');
    END LOOP;
END $$;

-- The rows of a query, in their order if it has one; an error as its text.
CREATE FUNCTION ix_rows(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    EXECUTE format('SELECT string_agg(q::text, '' '') FROM (%s) q', q) INTO r;
    IF q !~* 'ORDER BY' THEN
        EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', q) INTO r;
    END IF;
    RETURN r;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;

-- Runs each query with and without indexes: returns how many rows it has, which index it used, and
-- whether the answers are the same.
CREATE FUNCTION ix_compare(VARIADIC queries text[]) RETURNS TABLE (query text, index text, answers text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    plan text;
    a text;
    b text;
    n bigint;
BEGIN
    FOREACH q IN ARRAY queries LOOP
        SELECT string_agg(p, E'\n') INTO plan FROM ix_plan(q) p;
        SET LOCAL widetable.enable_index = on;
        a := ix_rows(q);
        EXECUTE format('SELECT count(*) FROM (%s) q', q) INTO n;
        SET LOCAL widetable.enable_index = off;
        b := ix_rows(q);
        RESET widetable.enable_index;
        query := q;
        index := coalesce(substring(plan FROM '(?n) Index: (.*)$'), 'none');
        answers := CASE WHEN a IS NOT DISTINCT FROM b THEN n || ' rows' ELSE 'DIFFER: ' || coalesce(a, 'NULL') || ' / ' || coalesce(b, 'NULL') END;
        RETURN NEXT;
    END LOOP;
END $$;

-- ------------------------------------------------------------ definitions

CREATE FOREIGN TABLE ix_visits (cookie text COLLATE "C", at timestamptz, url text COLLATE "C", hits int, note text, tags jsonb OPTIONS (family 't'),
        seen bigint OPTIONS (timestamp_of 'url'))
    SERVER widetable OPTIONS (key 'cookie, at desc', families '{"d": {}, "t": {}}');
INSERT INTO ix_visits VALUES ('a', '2026-01-01', '/home', 1, 'first', '{"lang": "de"}'), ('b', '2026-01-02', '/cart', 2, NULL, NULL),
    ('c', '2026-01-03', NULL, 3, 'no url', '{"lang": "en", "os": "plan9"}');
-- one of rows that exist already; the key column that option key leaves out is appended
CREATE FOREIGN TABLE ix_by_url (url text COLLATE "C", cookie text COLLATE "C", at timestamptz, note text)
    SERVER widetable OPTIONS (index_of 'ix_visits', key 'url, at desc');
SELECT * FROM ix_by_url;
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'ix_by_url'::regclass;
CREATE FOREIGN TABLE ix_by_tag (tag text OPTIONS (qualifier_of 'tags') COLLATE "C", val text OPTIONS (value_of 'tags') COLLATE "C",
        who text OPTIONS (column_of 'cookie') COLLATE "C", at timestamptz)
    SERVER widetable OPTIONS (index_of 'public.ix_visits', key 'tag, val');
SELECT * FROM ix_by_tag;
SELECT * FROM ix_by_tag WHERE tag = 'lang' AND val >= 'e';
SELECT who FROM ix_by_tag ORDER BY tag DESC, val DESC;
EXPLAIN (COSTS OFF) SELECT who FROM ix_by_tag WHERE tag = 'lang';
SELECT * FROM ix_check('ix_visits', 'ix_by_url', 'ix_by_tag');

-- what cannot be
CREATE FOREIGN TABLE ix_wrong (nosuch text, cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_visits', key 'nosuch');
CREATE FOREIGN TABLE ix_wrong (hits bigint, cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_visits', key 'hits');
CREATE FOREIGN TABLE ix_wrong (tags jsonb, cookie text COLLATE "C", at timestamptz, hits int) SERVER widetable OPTIONS (index_of 'ix_visits', key 'hits');
CREATE FOREIGN TABLE ix_wrong (seen bigint, cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_visits', key 'seen');
CREATE FOREIGN TABLE ix_wrong (hits int, cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_visits');
CREATE FOREIGN TABLE ix_wrong (hits int OPTIONS (encoding 'md5'), cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_visits', key 'hits');
CREATE FOREIGN TABLE ix_wrong (tag text OPTIONS (qualifier_of 'url'), cookie text COLLATE "C", at timestamptz)
    SERVER widetable OPTIONS (index_of 'ix_visits', key 'tag');
CREATE FOREIGN TABLE ix_wrong (tag int OPTIONS (qualifier_of 'tags'), cookie text COLLATE "C", at timestamptz)
    SERVER widetable OPTIONS (index_of 'ix_visits', key 'tag');
CREATE FOREIGN TABLE ix_wrong (val text OPTIONS (value_of 'tags') COLLATE "C", cookie text COLLATE "C", at timestamptz)
    SERVER widetable OPTIONS (index_of 'ix_visits', key 'val');
CREATE FOREIGN TABLE ix_wrong (tag text OPTIONS (qualifier_of 'tags') COLLATE "C", val text OPTIONS (value_of 'tags'), cookie text COLLATE "C", at timestamptz)
    SERVER widetable OPTIONS (index_of 'ix_visits', key 'tag');
CREATE FOREIGN TABLE ix_wrong (tag text OPTIONS (qualifier_of 'tags', value_of 'tags') COLLATE "C", cookie text COLLATE "C", at timestamptz)
    SERVER widetable OPTIONS (index_of 'ix_visits', key 'tag');
CREATE FOREIGN TABLE ix_wrong (url text COLLATE "C", note text, cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_by_url', key 'note');
CREATE FOREIGN TABLE ix_wrong (a text OPTIONS (column_of 'url')) SERVER widetable;
CREATE FOREIGN TABLE ix_wrong (url text COLLATE "C", cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_visits', key 'url', salt_buckets '4');
CREATE FOREIGN TABLE ix_wrong (url text COLLATE "C", cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_nosuch', key 'url');
CREATE TABLE ix_heap (k text, v text);
CREATE FOREIGN TABLE ix_wrong (v text COLLATE "C", k text COLLATE "C") SERVER widetable OPTIONS (index_of 'ix_heap', key 'v');
CREATE VIEW ix_view AS SELECT * FROM ix_visits;
CREATE FOREIGN TABLE ix_wrong (url text COLLATE "C", cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_view', key 'url');
DROP VIEW ix_view;
CREATE FOREIGN TABLE ix_cells (cookie text COLLATE "C", at timestamptz, family text, qualifier text COLLATE "C", ts bigint, value text)
    SERVER widetable OPTIONS (table_name 'public.ix_visits', key 'cookie, at desc', layout 'cells');
CREATE FOREIGN TABLE ix_wrong (value text COLLATE "C", cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_cells', key 'value');
CREATE FOREIGN TABLE ix_added (k int, n bigint OPTIONS (column 'c:n'), v text OPTIONS (column 'f:v')) SERVER widetable
    OPTIONS (key 'k', families '{"f": {}, "c": {"merge": "sum"}}');
CREATE FOREIGN TABLE ix_wrong (n bigint, k int) SERVER widetable OPTIONS (index_of 'ix_added', key 'n');
DROP FOREIGN TABLE ix_added;
-- on the stored table of an index, or an index on a table that exists
CREATE FOREIGN TABLE ix_wrong (url text COLLATE "C", at timestamptz, cookie text COLLATE "C") SERVER widetable OPTIONS (table_name 'public.ix_by_url', key 'url, at desc, cookie');
CREATE FOREIGN TABLE ix_wrong (url text COLLATE "C", cookie text COLLATE "C", at timestamptz) SERVER widetable
    OPTIONS (index_of 'ix_visits', key 'url', table_name 'public.ix_visits');
-- none of these has left anything
SELECT count(*) FROM pg_class WHERE relname = 'ix_wrong';
SELECT table_name FROM widetable.pg_stat_widetable_tables WHERE table_name LIKE '%ix\_wrong%';

-- of another owner's table
CREATE ROLE regress_wt_index;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_index;
GRANT CREATE ON SCHEMA public TO regress_wt_index;
GRANT SELECT ON ix_visits TO regress_wt_index;
SET ROLE regress_wt_index;
CREATE FOREIGN TABLE ix_wrong (url text COLLATE "C", cookie text COLLATE "C", at timestamptz) SERVER widetable OPTIONS (index_of 'ix_visits', key 'url');
-- who may read a table finds its rows by an index, and may not read that index
SELECT cookie, hits FROM ix_visits WHERE url = '/home';
SELECT * FROM ix_by_url;
RESET ROLE;
REVOKE ALL ON ix_visits FROM regress_wt_index;
REVOKE CREATE ON SCHEMA public FROM regress_wt_index;
REVOKE USAGE ON FOREIGN SERVER widetable FROM regress_wt_index;
DROP ROLE regress_wt_index;

-- an index is not changed by itself
INSERT INTO ix_by_url VALUES ('/x', 'x', '2026-01-01');
UPDATE ix_by_url SET note = 'x';
DELETE FROM ix_by_url;
TRUNCATE ix_by_url;
COPY ix_by_url FROM stdin;
/x	x	2026-01-01	x
\.
SELECT widetable.put('ix_by_url', ROW('/home', '2026-01-01'::timestamptz, 'a'), 'note', 'x');
SELECT widetable.delete_row('ix_by_url', ROW('/home', '2026-01-01'::timestamptz, 'a'));
SELECT widetable.import_cells('ix_by_url', c) FROM widetable.export_cells('ix_by_url') c;
SELECT * FROM ix_by_url FOR UPDATE;
ALTER FOREIGN TABLE ix_by_url OPTIONS (DROP index_of);
-- ALTER of its columns builds it anew
BEGIN;
ALTER FOREIGN TABLE ix_by_url ADD COLUMN hits int;
ALTER FOREIGN TABLE ix_by_url DROP COLUMN note;
SELECT * FROM ix_by_url;
SELECT * FROM widetable.verify('ix_visits');
ROLLBACK;
SELECT * FROM ix_by_url;
SELECT * FROM widetable.verify('ix_visits');
ALTER FOREIGN TABLE ix_by_url OPTIONS (SET key 'url');
ALTER FOREIGN TABLE ix_visits OPTIONS (ADD index_of 'ix_by_url');
CREATE FOREIGN TABLE ix_self (v text COLLATE "C", k int) SERVER widetable OPTIONS (key 'v, k', index_of 'ix_self');
-- nor does a table become an index, or the other way round
CREATE FOREIGN TABLE ix_one (k int, v text COLLATE "C") SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE ix_two (v text COLLATE "C", k int) SERVER widetable OPTIONS (key 'v, k');
INSERT INTO ix_two VALUES ('v', 1);
ALTER FOREIGN TABLE ix_two OPTIONS (ADD index_of 'ix_one');
SELECT * FROM ix_two;
DROP FOREIGN TABLE ix_two;
CREATE FOREIGN TABLE ix_two (v text COLLATE "C", k int) SERVER widetable OPTIONS (key 'v, k', index_of 'ix_one');
ALTER FOREIGN TABLE ix_two OPTIONS (DROP index_of);
DROP FOREIGN TABLE ix_one CASCADE;
ALTER FOREIGN TABLE ix_cells OPTIONS (SET table_name 'public.ix_by_url');
SELECT * FROM ix_by_url;
SELECT * FROM ix_check('ix_visits', 'ix_by_url');

-- its own options and names can change
ALTER FOREIGN TABLE ix_by_url RENAME TO ix_url;
ALTER FOREIGN TABLE ix_url RENAME COLUMN note TO remark;
SELECT * FROM ix_url WHERE url = '/cart';
SELECT cookie, note FROM ix_visits WHERE url = '/cart';
INSERT INTO ix_visits (cookie, at, url, note) VALUES ('d', '2026-01-04', '/cart', 'fourth');
SELECT * FROM ix_url WHERE url = '/cart';
SELECT * FROM ix_check('ix_visits');
DROP FOREIGN TABLE ix_visits CASCADE;
DROP FOREIGN TABLE ix_cells;
SELECT relname FROM pg_class WHERE relname IN ('ix_visits', 'ix_url', 'ix_by_tag');
SELECT table_name FROM widetable.pg_stat_widetable_tables WHERE table_name LIKE 'public.ix%';

-- ---------------------------------------------------------------- queries

CREATE FOREIGN TABLE ix_users (id bigint, name text COLLATE "C", city text COLLATE "C", age int, score double precision, born date,
        active boolean, note text, tags jsonb OPTIONS (family 't'))
    SERVER widetable OPTIONS (key 'id', families '{"d": {}, "t": {}}');
CREATE FOREIGN TABLE ix_users_name (name text COLLATE "C", id bigint, age int) SERVER widetable OPTIONS (index_of 'ix_users', key 'name');
INSERT INTO ix_users SELECT i, 'name' || lpad((i % 1000)::text, 4, '0'), CASE WHEN i % 10 < 4 THEN 'city' || i % 40 END,
        CASE WHEN i % 7 > 0 THEN i % 100 END, i / 4.0, '2000-01-01'::date + i % 500, CASE WHEN i % 3 > 0 THEN i % 50 = 1 END, repeat('note ', 20) || i,
        CASE WHEN i % 5 = 0 THEN jsonb_build_object('lang', 'l' || i % 100, 'n' || i % 10, i::text) END
    FROM generate_series(1, 4000) i;
CREATE FOREIGN TABLE ix_users_city (city text COLLATE "C", age int, id bigint) SERVER widetable OPTIONS (index_of 'ix_users', key 'city, age');
CREATE FOREIGN TABLE ix_users_born (born date, score double precision, id bigint) SERVER widetable OPTIONS (index_of 'ix_users', key 'born desc');
CREATE FOREIGN TABLE ix_users_tags (tag text OPTIONS (qualifier_of 'tags') COLLATE "C", val text OPTIONS (value_of 'tags') COLLATE "C", id bigint)
    SERVER widetable OPTIONS (index_of 'ix_users', key 'tag, val');
SELECT widetable.flush();
ANALYZE ix_users;
SELECT * FROM ix_check('ix_users');

-- one value; several; a range; a prefix
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name IN ('name0007', 'name0008', 'x');
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE born > '2001-05-10';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name LIKE 'name000%';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' AND age BETWEEN 10 AND 13;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' AND age = 3 AND id > 2000;
-- what the index has not is tested in the rows; what it covers, in the index
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007' AND age > 5 AND note LIKE '%7';
-- in the order of the index, in both directions
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name > 'name0500' ORDER BY name LIMIT 3;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name > 'name0500' ORDER BY name DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE born IS NOT NULL ORDER BY born DESC, id LIMIT 3;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE born IS NOT NULL ORDER BY born, id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' ORDER BY age, id LIMIT 3;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' ORDER BY age DESC, id DESC LIMIT 3;
-- rows without age come last in the index: this is another order
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' ORDER BY age NULLS FIRST LIMIT 3;
-- nor has the index rows without a name
EXPLAIN (COSTS OFF) SELECT note FROM ix_users ORDER BY name LIMIT 3;
-- the index alone
EXPLAIN (COSTS OFF) SELECT id, age FROM ix_users WHERE name = 'name0007';
EXPLAIN (COSTS OFF) SELECT id FROM ix_users WHERE name LIKE 'name000%' AND age > 3 ORDER BY name;
EXPLAIN (COSTS OFF) SELECT count(*) FROM ix_users WHERE city = 'city3';
EXPLAIN (COSTS OFF) SELECT id, city, age FROM ix_users WHERE city = 'city3' AND age > 90;
EXPLAIN (COSTS OFF) SELECT city, max(age) FROM ix_users WHERE city IN ('city1', 'city2') GROUP BY city;
-- joins
CREATE TABLE ix_names (n text COLLATE "C");
INSERT INTO ix_names VALUES ('name0001'), ('name0002'), (NULL), ('x');
ANALYZE ix_names;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT ix_plan($$SELECT u.note FROM ix_names JOIN ix_users u ON u.name = n$$);
SELECT ix_plan($$SELECT u.id FROM ix_names JOIN ix_users u ON u.name = n$$);
SELECT ix_plan($$SELECT n, u.id, u.note FROM ix_names LEFT JOIN ix_users u ON u.name = n AND u.age > 5$$);
RESET enable_hashjoin;
RESET enable_mergejoin;
-- entries of a map
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE tags->>'lang' = 'l5';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE tags->>'lang' IN ('l5', 'l10') AND id < 100;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE tags->>'lang' LIKE 'l1%';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE tags ? 'nosuch';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE tags->>'nosuch' IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE tags->>'nosuch' IS NULL;
-- conditions that rows without an entry meet
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007' OR name IS NULL;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name IS NULL;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name IS NOT DISTINCT FROM 'name0007';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE coalesce(name, 'name0007') = 'name0007';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007' OR city = 'city3';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007' OR name > 'name0998';
-- a later column without a value
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' AND age IS NULL;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' AND age IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' AND (age < 5 OR age IS NULL);
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE (city, age) > ('city9', 50);
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE city = 'city3' AND age IS DISTINCT FROM 3;
-- another collation and type
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name COLLATE "POSIX" > 'name0998';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007'::varchar;
-- rows that are locked or changed
EXPLAIN (COSTS OFF) SELECT id FROM ix_users WHERE name = 'name0007' FOR UPDATE;
EXPLAIN (COSTS OFF) UPDATE ix_users SET name = 'x' WHERE name = 'name0007';
EXPLAIN (COSTS OFF) UPDATE ix_users SET id = id + 100000 WHERE name = 'name0007';
EXPLAIN (COSTS OFF) DELETE FROM ix_users WHERE name = 'name0007';
SELECT ix_plan($$UPDATE ix_users u SET note = 'x' FROM ix_names WHERE u.name = n$$);
-- without
SET widetable.enable_index = off;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007';
RESET widetable.enable_index;
SET widetable.as_of = '2100-01-01';
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007';
RESET widetable.as_of;
SET widetable.enable_pushdown = off;
EXPLAIN (COSTS OFF) SELECT note FROM ix_users WHERE name = 'name0007';
RESET widetable.enable_pushdown;

-- Plans differ in what they read, not in what they return.  With rows that have no values, values at
-- the ends, empty maps.
INSERT INTO ix_users (id) VALUES (-1), (-2);
INSERT INTO ix_users (id, name, city, tags) VALUES (-3, '', '', '{"": ""}'), (-4, E'\x01', E'\x7f', '{"lang": ""}'), (-5, E'name0007\x01', 'city3', '{"lang": "l5\u0001"}');
INSERT INTO ix_users (id, city, age, born, score) VALUES (-6, 'city3', 2147483647, 'infinity', 'NaN'), (-7, 'city3', -2147483648, '-infinity', '-Infinity');
UPDATE ix_users SET tags = tags || '{"a": "l60", "b": "60"}' WHERE id = 60;
CREATE TABLE ix_queries (n serial, q text);
COPY ix_queries (q) FROM stdin;
SELECT id, note FROM ix_users WHERE name = 'name0007'
SELECT id, age FROM ix_users WHERE name = 'name0007'
SELECT id FROM ix_users WHERE name = ''
SELECT id, note FROM ix_users WHERE name IN ('name0007', 'name0009', '', NULL, 'x')
SELECT id, note FROM ix_users WHERE name = ANY ('{}'::text[])
SELECT id, note FROM ix_users WHERE name = NULL
SELECT id, note FROM ix_users WHERE name <> 'name0007' AND name < 'name0009'
SELECT id, note FROM ix_users WHERE name BETWEEN 'name0008' AND 'name0010'
SELECT id, note FROM ix_users WHERE name LIKE 'name000%' AND note LIKE '%1'
SELECT id, name FROM ix_users WHERE name LIKE 'name000_' ORDER BY name, id
SELECT id, name FROM ix_users WHERE name >= 'name0007' ORDER BY name, id LIMIT 9
SELECT id, name FROM ix_users WHERE name <= 'name0007' ORDER BY name DESC, id DESC LIMIT 9
SELECT id, name, note FROM ix_users WHERE name >= 'name0990' AND age > 95 ORDER BY name, id
SELECT id, note FROM ix_users WHERE name > 'name0996' OR name < 'name0002'
SELECT id, note FROM ix_users WHERE name = 'name0007' OR name IS NULL
SELECT id, note FROM ix_users WHERE name = 'name0007' OR id = 5
SELECT id, note FROM ix_users WHERE name = 'name0007' OR (name > 'name0998' AND id < 2000)
SELECT id FROM ix_users WHERE name IS NULL
SELECT id FROM ix_users WHERE name IS NOT NULL AND id < 3
SELECT id, note FROM ix_users WHERE name IS NOT DISTINCT FROM 'name0007'
SELECT id FROM ix_users WHERE name IS NOT DISTINCT FROM NULL
SELECT id, born FROM ix_users WHERE born IS NOT NULL ORDER BY born DESC, id LIMIT 12
SELECT id, born, note FROM ix_users WHERE born IS NOT NULL ORDER BY born, id DESC LIMIT 12
SELECT id, born, score FROM ix_users WHERE born > '2001-05-13'
SELECT id, born, score FROM ix_users WHERE born < '2000-01-02' AND score > 100
SELECT id, born FROM ix_users WHERE born = '2000-03-01' ORDER BY born, id
SELECT id, note FROM ix_users WHERE born IN ('infinity', '-infinity')
SELECT id, age FROM ix_users WHERE city = 'city3'
SELECT id, age, note FROM ix_users WHERE city = 'city3' AND age IS NULL
SELECT id, age FROM ix_users WHERE city = 'city3' AND age IS NOT NULL
SELECT id, age FROM ix_users WHERE city = 'city3' AND age > 80
SELECT id, age FROM ix_users WHERE city = 'city3' AND age < 40
SELECT id, age FROM ix_users WHERE city = 'city3' AND age >= 2147483647
SELECT id, age FROM ix_users WHERE city = 'city3' AND age <= -2147483648
SELECT id, age FROM ix_users WHERE city = 'city3' AND (age < 5 OR age IS NULL)
SELECT id, age FROM ix_users WHERE city = 'city3' AND age IS DISTINCT FROM 3
SELECT id, age FROM ix_users WHERE city = 'city3' AND age IS NOT DISTINCT FROM 3
SELECT id, age FROM ix_users WHERE city = 'city3' AND age IN (3, 43, NULL)
SELECT id, age FROM ix_users WHERE city = 'city3' AND NOT age > 40
SELECT id, age FROM ix_users WHERE city = 'city3' ORDER BY age, id
SELECT id, age FROM ix_users WHERE city = 'city3' ORDER BY age DESC, id DESC
SELECT id, age, note FROM ix_users WHERE city = 'city3' ORDER BY age, id LIMIT 5
SELECT id, age, note FROM ix_users WHERE city = 'city3' ORDER BY age DESC, id DESC LIMIT 5
SELECT id, age FROM ix_users WHERE city = 'city3' ORDER BY age NULLS FIRST, id LIMIT 5
SELECT id, age FROM ix_users WHERE city = 'city3' ORDER BY age DESC NULLS LAST, id LIMIT 5
SELECT city, age, id FROM ix_users WHERE city > 'city7' ORDER BY city, age, id
SELECT city, age, id FROM ix_users WHERE city > 'city7' ORDER BY city DESC, age DESC, id DESC
SELECT city, age, id FROM ix_users WHERE (city, age) > ('city3', 90) AND city < 'city32'
SELECT city, age, id FROM ix_users WHERE (city, age) < ('city0', 50)
SELECT city, age, id FROM ix_users WHERE (city, age, id) >= ('city3', 83, 3000) AND city < 'city30' ORDER BY city, age, id
SELECT city, age, id FROM ix_users WHERE (city, age) = ('city3', 3)
SELECT city, count(*), count(age), max(age), min(id) FROM ix_users WHERE city > '' GROUP BY city ORDER BY city
SELECT count(*) FROM ix_users WHERE city > 'city3'
SELECT DISTINCT city FROM ix_users WHERE city IS NOT NULL ORDER BY city
SELECT id, note FROM ix_users WHERE tags->>'lang' = 'l5'
SELECT id, tags FROM ix_users WHERE tags->>'lang' IN ('l5', '', 'l10') AND id < 500
SELECT id, note FROM ix_users WHERE tags->>'lang' LIKE 'l5%'
SELECT id, note FROM ix_users WHERE (tags->>'lang') COLLATE "C" > 'l85' AND (tags->>'lang') COLLATE "C" < 'l95'
SELECT id, note FROM ix_users WHERE tags->>'lang' = 'l5' AND (tags->>'n5') COLLATE "C" > '3'
SELECT id, note FROM ix_users WHERE tags->>'lang' = 'l5' OR tags->>'n5' = '15'
SELECT id, note FROM ix_users WHERE tags->>'lang' = 'l5' OR tags->>'lang' IS NULL AND id < 4
SELECT id FROM ix_users WHERE tags->>'' = ''
SELECT id FROM ix_users WHERE tags->>'lang' = ''
SELECT id FROM ix_users WHERE tags ? ''
SELECT id, tags FROM ix_users WHERE tags ? 'n5' AND id < 100
SELECT id, tags FROM ix_users WHERE tags->>'n5' IS NOT NULL AND id < 100
SELECT id, tags FROM ix_users WHERE tags ? 'n5' AND NOT tags ? 'lang'
SELECT id, tags FROM ix_users WHERE NOT tags ? 'n5' AND id < 30
SELECT id FROM ix_users WHERE tags->>'nosuch' = 'x'
SELECT id FROM ix_users WHERE (tags->>'n5')::int > 3900
SELECT id, tags FROM ix_users WHERE (tags->>'lang') COLLATE "C" >= 'l9' ORDER BY (tags->>'lang') COLLATE "C", id LIMIT 5
SELECT id, note FROM ix_users WHERE tags->>'lang' IS NULL AND id < 8
SELECT id, note FROM ix_users WHERE tags->>'lang' IS NULL AND tags ? 'lang'
SELECT id, note FROM ix_users WHERE tags->>'lang' IS NOT DISTINCT FROM NULL AND id < 8
SELECT id, note FROM ix_users WHERE tags->>'lang' = 'l5' OR tags->>'lang' = 'l10'
SELECT id, note FROM ix_users WHERE tags->>'lang' IS DISTINCT FROM 'l5' AND id < 8
SELECT count(*) FROM ix_users WHERE tags->>'lang' <> 'l5'
SELECT id, note FROM ix_users WHERE born = '2000-03-01' AND tags->>'lang' = 'l60'
SELECT id, note FROM ix_users WHERE born = '2000-03-01' AND tags ? 'n0'
SELECT id, note FROM ix_users WHERE born = '2000-03-01' AND tags->>'lang' IS NULL
SELECT id, note FROM ix_users WHERE born = '2000-03-03' AND (tags->>'lang' IS NULL OR tags->>'lang' = 'x')
SELECT id, note FROM ix_users WHERE tags->>'n0' = '60' OR tags->>'n0' = 'l60'
SELECT id, note FROM ix_users WHERE tags->>'lang' = '60' OR tags->>'lang' = 'l60'
SELECT u.id FROM (VALUES ('l5'), ('l10'), (NULL)) v(x) JOIN ix_users u ON u.tags->>'lang' = x WHERE u.id < 300
SELECT u.id, u.note FROM ix_names JOIN ix_users u ON u.name = n
SELECT n, u.id, u.age FROM ix_names LEFT JOIN ix_users u ON u.name = n AND u.age > 50
SELECT n FROM ix_names WHERE EXISTS (SELECT 1 FROM ix_users u WHERE u.name = n AND u.id > 3000)
SELECT n FROM ix_names WHERE NOT EXISTS (SELECT 1 FROM ix_users u WHERE u.name = n)
SELECT a.id, b.id AS other FROM ix_users a JOIN ix_users b ON b.name = a.name AND b.id > a.id WHERE a.id < 3
SELECT a.id, b.id AS other FROM ix_users a JOIN ix_users b ON b.city = a.city AND b.age = a.age WHERE a.id BETWEEN 1 AND 3
SELECT n, (SELECT max(u.id) FROM ix_users u WHERE u.name = n) FROM ix_names
SELECT n, x.* FROM ix_names, LATERAL (SELECT id FROM ix_users u WHERE u.name >= n ORDER BY name, id LIMIT 2) x
SELECT id, active, note FROM ix_users WHERE active AND name = 'name0001'
\.
SELECT c.* FROM ix_queries, ix_compare(q) c ORDER BY n;
-- indexes of a map by the value, and by another column first
DROP FOREIGN TABLE ix_users_tags;
CREATE FOREIGN TABLE ix_users_values (val text OPTIONS (value_of 'tags') COLLATE "C", tag text OPTIONS (qualifier_of 'tags') COLLATE "C", id bigint)
    SERVER widetable OPTIONS (index_of 'ix_users', key 'val, tag');
SELECT c.* FROM ix_queries, ix_compare(q) c WHERE q LIKE '%tags->%' ORDER BY n;
DROP FOREIGN TABLE ix_users_values, ix_users_born;
CREATE FOREIGN TABLE ix_users_born_tags (born date, tag text OPTIONS (qualifier_of 'tags') COLLATE "C", val text OPTIONS (value_of 'tags') COLLATE "C", id bigint)
    SERVER widetable OPTIONS (index_of 'ix_users', key 'born, tag, val');
SELECT c.* FROM ix_queries, ix_compare(q) c WHERE q LIKE '%born%' ORDER BY n;
-- and by the name alone
CREATE FOREIGN TABLE ix_users_named (tag text OPTIONS (qualifier_of 'tags') COLLATE "C", id bigint) SERVER widetable OPTIONS (index_of 'ix_users', key 'tag');
SELECT c.* FROM ix_queries, ix_compare(q) c WHERE q LIKE '%tags%' ORDER BY n;
SELECT * FROM ix_check('ix_users');

-- joins the other ways
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT c.* FROM ix_queries, ix_compare(q) c WHERE q LIKE '%ix_names%' OR q LIKE '% JOIN %' ORDER BY n;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- cursors: part of the rows, backward, again
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, name FROM ix_users WHERE name >= 'name0998' ORDER BY name, id;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
MOVE ABSOLUTE 0 IN c;
FETCH 1 FROM c;
COMMIT;
-- more rows than are read together
SELECT count(*), sum(id), count(DISTINCT id) FROM (SELECT id, note FROM ix_users WHERE name >= 'name0000' OFFSET 0) s WHERE note <> '';
-- UPDATE and DELETE find the rows that they change by the index that they change
BEGIN;
UPDATE ix_users u SET name = 'joined' FROM ix_names WHERE u.name = n AND u.id > 2000;
SELECT id, name FROM ix_users WHERE name = 'joined';
UPDATE ix_users SET name = name || 'x' WHERE name LIKE 'name000%';
SELECT count(*) FROM ix_users WHERE name LIKE 'name000%x';
SELECT count(*) FROM ix_users WHERE name LIKE 'name000%xx';
UPDATE ix_users SET city = 'city3', age = age + 1 WHERE city = 'city3' AND id BETWEEN 1 AND 500 RETURNING id, age;
DELETE FROM ix_users WHERE city = 'city13' AND age IS NULL RETURNING id;
DELETE FROM ix_users WHERE tags->>'lang' = 'l5';
UPDATE ix_users SET tags = '{"lang": "l10x"}' WHERE tags->>'lang' = 'l10';
SELECT id, tags FROM ix_users WHERE tags->>'lang' LIKE 'l10%' AND id < 500;
SELECT * FROM ix_check('ix_users');
ROLLBACK;
SELECT * FROM ix_check('ix_users');
BEGIN;
SELECT id, name FROM ix_users WHERE name = 'name0002' AND id < 2000 FOR UPDATE;
SELECT id, name FROM ix_users WHERE name = 'name0002' ORDER BY name, id DESC LIMIT 2 FOR UPDATE SKIP LOCKED;
COMMIT;
DROP FOREIGN TABLE ix_users;
DROP TABLE ix_names;

-- types, encodings, collations
CREATE FOREIGN TABLE ix_types (k numeric, kk double precision, num numeric, f double precision, r real, s text, n bigint OPTIONS (encoding 'text'), act boolean, b bytea, u uuid, at timestamptz)
    SERVER widetable OPTIONS (key 'k, kk desc');
CREATE FOREIGN TABLE ix_types_num (num numeric, k numeric, kk double precision) SERVER widetable OPTIONS (index_of 'ix_types', key 'num');
CREATE FOREIGN TABLE ix_types_f (f double precision, r real, k numeric, kk double precision) SERVER widetable OPTIONS (index_of 'ix_types', key 'f, r desc');
CREATE FOREIGN TABLE ix_types_s (s text COLLATE "C", k numeric, kk double precision) SERVER widetable OPTIONS (index_of 'ix_types', key 's');
CREATE FOREIGN TABLE ix_types_n (n bigint, num numeric, f double precision, k numeric, kk double precision) SERVER widetable OPTIONS (index_of 'ix_types', key 'n');
CREATE FOREIGN TABLE ix_types_act (act boolean, at timestamptz, k numeric, kk double precision) SERVER widetable OPTIONS (index_of 'ix_types', key 'act, at desc');
CREATE FOREIGN TABLE ix_types_b (b bytea, u uuid, k numeric, kk double precision) SERVER widetable OPTIONS (index_of 'ix_types', key 'b desc, u');
INSERT INTO ix_types SELECT i, -i, i % 50, i % 60, i % 6, 'S' || i % 100, i % 70, CASE WHEN i % 100 > 1 THEN i % 100 = 2 END, decode(md5((i % 90)::text), 'hex'), NULL,
    '2026-01-01'::timestamptz + i * interval '1 min' FROM generate_series(1, 3000) i;
INSERT INTO ix_types (k, kk, num, f, r, s, n, b, u, at) VALUES ('10000.00', '-0', '7.00', '-0', '-0', 'a', 5, '\x', '00000000-0000-0000-0000-000000000000', 'infinity'),
    ('10001.0', '0', '-0.0', '0', '0', 'B', -5, '\x00', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '-infinity'), ('10002', 'NaN', 'NaN', 'NaN', 'NaN', 'b', 500, '\xff', NULL, NULL),
    ('1e3', '-Infinity', '1e10', '-Infinity', 'Infinity', 'z', NULL, '\xff00', NULL, NULL), ('10004', '1e-300', '-1e-10', 'Infinity', '-Infinity', '', 9223372036854775807, '\xffff', NULL, NULL);
SELECT widetable.flush();
ANALYZE ix_types;
TRUNCATE ix_queries;
COPY ix_queries (q) FROM stdin;
SELECT k, kk, num FROM ix_types WHERE num = 7
SELECT k, num FROM ix_types WHERE num = 0
SELECT k, num FROM ix_types WHERE num < 0
SELECT k, num FROM ix_types WHERE num > 47 AND num < 48.5
SELECT k, num, s FROM ix_types WHERE num IN (7.000, 'NaN')
SELECT k, kk, f, r FROM ix_types WHERE f = 0
SELECT k, kk, f FROM ix_types WHERE f <= 0
SELECT k, kk, f FROM ix_types WHERE f > 57.5 AND f < 59
SELECT k, kk, f, r FROM ix_types WHERE f = 0 AND r = 0
SELECT k, kk, f FROM ix_types WHERE f = 'NaN'
SELECT k, f, r FROM ix_types WHERE f >= 59 ORDER BY f, r DESC, k, kk DESC
SELECT k, f FROM ix_types WHERE f > 57 ORDER BY f DESC, r, k LIMIT 5
SELECT k, kk, s FROM ix_types WHERE s = 'S7'
SELECT k, kk FROM ix_types WHERE s = ''
SELECT k FROM ix_types WHERE s COLLATE "C" > 'S98'
SELECT k FROM ix_types WHERE s COLLATE "C" >= 'a'
SELECT k, s FROM ix_types WHERE s COLLATE "C" >= 'Z' ORDER BY s COLLATE "C"
SELECT k, n FROM ix_types WHERE n = 5
SELECT k, n, num, f FROM ix_types WHERE n < 0
SELECT k, n, num, f FROM ix_types WHERE n = 5 AND num = 7
SELECT k, n FROM ix_types WHERE n > 69 ORDER BY n DESC
SELECT k, n FROM ix_types WHERE n % 1000 = 500
SELECT k FROM ix_types WHERE act
SELECT k FROM ix_types WHERE NOT act AND at > '2026-01-03'
SELECT count(*) FROM ix_types WHERE act IS TRUE
SELECT count(*) FROM ix_types WHERE act IS NOT TRUE
SELECT count(*) FROM ix_types WHERE act IS NOT FALSE
SELECT k FROM ix_types WHERE act IS UNKNOWN AND k > 10000
SELECT k FROM ix_types WHERE act = true AND at BETWEEN '2026-01-01' AND '2026-01-01 12:00'
SELECT k, at FROM ix_types WHERE act ORDER BY at DESC LIMIT 4
SELECT k, b, u FROM ix_types WHERE b > '\\xff'
SELECT k, b, u FROM ix_types WHERE b <= '\\x00'
SELECT k, b FROM ix_types WHERE b >= '\\xfe' ORDER BY b DESC, u, k
SELECT k, kk FROM ix_types WHERE b = '\\x' AND u = '00000000-0000-0000-0000-000000000000'
SELECT k, kk FROM ix_types WHERE b >= '\\xff' AND b < '\\xff80'
\.
SELECT c.* FROM ix_queries, ix_compare(q) c ORDER BY n;
UPDATE ix_types SET num = num, f = -f, kk = -kk WHERE k > 9999;
SELECT c.* FROM ix_queries, ix_compare(q) c WHERE q LIKE '%num%' OR q LIKE '%f %' ORDER BY n;
SELECT * FROM ix_check('ix_types');
DROP FOREIGN TABLE ix_types CASCADE;

-- lookups by an index in parallel workers; keys that are digests, or salted
CREATE TABLE ix_heap2 AS SELECT i % 100 AS i FROM generate_series(1, 2000) i;
CREATE FOREIGN TABLE ix_digest (k text OPTIONS (encoding 'md5', column 'd:k') COLLATE "C", a int, b text) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE ix_digest_a (a int, k text COLLATE "C") SERVER widetable OPTIONS (index_of 'ix_digest', key 'a');
CREATE FOREIGN TABLE ix_salted (k int, a int, b int) SERVER widetable OPTIONS (key 'k', salt_buckets '4');
CREATE FOREIGN TABLE ix_salted_a (a int, k int) SERVER widetable OPTIONS (index_of 'ix_salted', key 'a');
INSERT INTO ix_digest SELECT 'u' || i, i % 200, 'b' || i FROM generate_series(1, 4000) i;
INSERT INTO ix_salted SELECT i, i % 200, i FROM generate_series(1, 4000) i;
SELECT widetable.flush();
ANALYZE ix_heap2, ix_digest, ix_salted;
SELECT c.* FROM ix_compare('SELECT k, b FROM ix_digest WHERE a = 7', 'SELECT k FROM ix_digest WHERE a = 7', 'SELECT k FROM ix_digest WHERE a = 7 AND k = ''u7''',
    'SELECT k, b FROM ix_salted WHERE a = 7', 'SELECT k FROM ix_salted WHERE a < 3 ORDER BY a, k DESC', 'SELECT k, b FROM ix_salted WHERE a > 197 ORDER BY a DESC, k DESC LIMIT 4') c;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SET enable_material = off;
SELECT ix_plan($$SELECT count(*), sum(b) FROM ix_heap2 JOIN ix_salted s ON s.a = i$$);
SELECT count(*), sum(b) FROM ix_heap2 JOIN ix_salted s ON s.a = i;
BEGIN;
UPDATE ix_salted SET a = 1000 + a % 10, k = k + 10000 WHERE a < 10;
DELETE FROM ix_digest WHERE a = 7 AND b < 'b4';
SELECT count(*), sum(b) FROM ix_heap2 JOIN ix_salted s ON s.a = i;
SELECT count(*), sum(b) FROM ix_heap2 JOIN ix_salted s ON s.a = i + 1000;
SELECT * FROM ix_check('ix_salted', 'ix_digest');
COMMIT;
SELECT * FROM ix_check('ix_salted', 'ix_digest');
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_memoize;
RESET enable_material;
DROP FOREIGN TABLE ix_digest, ix_digest_a, ix_salted, ix_salted_a;
DROP TABLE ix_heap2;

-- ---------------------------------------------------------------- changes

-- After every kind of change the index has the entries of the rows, and a row is found by its new
-- values alone.
CREATE FOREIGN TABLE ix_t (k int, a text COLLATE "C", b int, c text OPTIONS (column 'e:c'), n bigint, m jsonb OPTIONS (family 'm'), other text)
    SERVER widetable OPTIONS (key 'k', families '{"d": {"versions": 3}, "e": {}, "m": {}}');
CREATE FOREIGN TABLE ix_t_a (a text COLLATE "C", k int, c text) SERVER widetable OPTIONS (index_of 'ix_t', key 'a');
CREATE FOREIGN TABLE ix_t_cb (c text COLLATE "C", b int, k int, n bigint) SERVER widetable OPTIONS (index_of 'ix_t', key 'c desc, b desc');
CREATE FOREIGN TABLE ix_t_k (b int, k int) SERVER widetable OPTIONS (index_of 'ix_t', key 'k desc, b');
CREATE FOREIGN TABLE ix_t_m (tag text OPTIONS (qualifier_of 'm') COLLATE "C", val text OPTIONS (value_of 'm') COLLATE "C", k int)
    SERVER widetable OPTIONS (index_of 'ix_t', key 'tag, val');
-- All entries, and what is wrong with them.
CREATE FUNCTION ix_state() RETURNS TABLE (by_a text, by_cb text, by_k text, by_m text, wrong bigint) LANGUAGE sql AS $$
    SELECT (SELECT string_agg(a || k || '/' || coalesce(c, '-'), ' ') FROM ix_t_a),
           (SELECT string_agg(c || coalesce(b::text, '-') || '/' || k || coalesce('=' || n, ''), ' ') FROM ix_t_cb),
           (SELECT string_agg(k || '/' || coalesce(b::text, '-'), ' ') FROM ix_t_k),
           (SELECT string_agg(tag || '=' || val || '/' || k, ' ') FROM ix_t_m),
           (SELECT count(*) FROM ix_check('ix_t')) $$;

INSERT INTO ix_t VALUES (1, 'a', 10, 'x', 1, '{"p": "q"}'), (2, 'b', NULL, 'y', NULL, NULL), (3, NULL, 30, NULL, 3, '{"p": "r", "s": "t"}');
INSERT INTO ix_t (k) VALUES (4);
SELECT * FROM ix_state();
-- INSERT and COPY of rows that exist; the same values; one row twice
INSERT INTO ix_t (k, a) VALUES (1, 'a2'), (2, 'b');
INSERT INTO ix_t (k, c, b) VALUES (4, 'first', 1), (4, 'second', 2), (4, 'second', 2);
COPY ix_t (k, a, c) FROM stdin;
5	e	z
2	e	z
5	f	z
\.
SELECT * FROM ix_state();
-- UPDATE of indexed, covered and other columns, to NULL, of the key
UPDATE ix_t SET a = a || '!' WHERE k IN (1, 3, 5);
UPDATE ix_t SET n = 7, other = 'o' WHERE k < 4;
UPDATE ix_t SET other = 'p';
UPDATE ix_t SET a = NULL, b = 5 WHERE k = 5;
UPDATE ix_t SET m = m || '{"s": "new", "u": "v"}' WHERE k = 3;
UPDATE ix_t SET m = m - 'p' WHERE k IN (1, 3);
SELECT * FROM ix_state();
UPDATE ix_t SET k = k + 10 WHERE k <= 2;
UPDATE ix_t SET k = 20, a = 'moved', c = 'c' WHERE a = 'a2!';
SELECT * FROM ix_state();
SELECT k, a FROM ix_t WHERE a = 'a2!';
SELECT k, a FROM ix_t WHERE a = 'moved';
UPDATE ix_t SET a = v.x FROM (VALUES (12, 'joined'), (5, 'joined')) v(i, x) WHERE k = v.i;
INSERT INTO ix_t (k, a) VALUES (5, 'no') ON CONFLICT DO NOTHING;
SELECT * FROM ix_state();
DELETE FROM ix_t WHERE k IN (12, 5) AND a = 'joined';
SELECT * FROM ix_state();
-- functions
SELECT widetable.put('ix_t', 1, 'a', 'put'), widetable.put('ix_t', 1, 'd:b', '5'), widetable.put('ix_t', 1, '{"e:c": "pc", "m:i": "j", "m:k": "l"}'::jsonb),
    widetable.put('ix_t', 1, 'd:unknown', 'x');
SELECT * FROM ix_state();
SELECT widetable.increment('ix_t', 1, 'n', 5), widetable.increment('ix_t', 4, '{"n": 2}'::jsonb), widetable.append('ix_t', 1, 'a', '+more'), widetable.append('ix_t', 1, 'm:i', 'J');
SELECT * FROM ix_state();
SELECT widetable.check_and_mutate('ix_t', 1, 'a', '=', 'put+more', '[{"put": {"a": "checked", "m:k": "L"}}, {"delete": ["c", "m:i"]}, {"increment": {"n": 1}}]'),
    widetable.check_and_mutate('ix_t', 1, 'a', '=', 'nothing', '[{"put": {"a": "wrong"}}]');
SELECT * FROM ix_state();
-- an older version is seen again
SELECT widetable.delete_version('ix_t', 1, 'a');
SELECT * FROM ix_state();
SELECT widetable.delete_column('ix_t', 1, 'a'), widetable.delete_column('ix_t', 1, 'm:k');
SELECT * FROM ix_state();
SELECT widetable.delete_family('ix_t', 4, 'e'), widetable.delete_family('ix_t', 3, 'm');
SELECT * FROM ix_state();
SELECT widetable.delete_row('ix_t', 1), widetable.delete_row('ix_t', 4), widetable.delete_row('ix_t', 99);
SELECT * FROM ix_state();

-- timestamps: below the newest, the same, in the future; and what is written without one behind that
SELECT widetable.put('ix_t', 6, 'a', 'at 1000', 1000), widetable.put('ix_t', 6, 'a', 'at 500', 500), widetable.put('ix_t', 6, 'e:c', 'c', 1000);
SELECT * FROM ix_state();
SELECT widetable.put('ix_t', 6, 'a', 'again', 1000);
SELECT widetable.put('ix_t', 7, 'a', 'far', 4000000000000000), widetable.put('ix_t', 7, 'e:c', 'far', 4000000000000000), widetable.put('ix_t', 7, 'm:x', 'far', 4000000000000000);
SELECT * FROM ix_state();
INSERT INTO ix_t (k, a, c, b) VALUES (7, 'now', 'now', 7);
SELECT widetable.put('ix_t', 7, 'm:x', 'now'), widetable.put('ix_t', 7, 'a', 'past', 2000);
SELECT k, a, c, b, m FROM ix_t WHERE k = 7;
SELECT * FROM ix_state();
UPDATE ix_t SET a = 'set' WHERE k = 7;
SELECT k, a FROM ix_t WHERE k = 7;
SELECT * FROM ix_state();
SELECT widetable.put('ix_t', 7, 'a', 'further', 4000000000000001), widetable.put('ix_t', 7, 'a', 'between', 3999999999999999);
SELECT * FROM ix_state();
SELECT widetable.delete_version('ix_t', 7, 'a', 4000000000000001);
SELECT * FROM ix_state();
SELECT widetable.delete_column('ix_t', 7, 'a', 5000);
SELECT widetable.delete_column('ix_t', 7, 'c');
SELECT * FROM ix_state();
SELECT widetable.delete_family('ix_t', 7, 'd', 4000000000000005);
SELECT widetable.put('ix_t', 7, 'a', 'hidden', 4000000000000005), widetable.put('ix_t', 7, 'a', 'seen', 4000000000000006);
SELECT k, a, c, b, m FROM ix_t WHERE k = 7;
SELECT * FROM ix_state();
DELETE FROM ix_t WHERE k = 7;
SELECT * FROM ix_state();
-- a cell of an indexed column has no time to live of its own; others of the row neither, because
-- ix_t_k has all rows
SELECT widetable.put('ix_t', 6, 'a', 'brief', ttl => '1 hour');
SELECT widetable.put('ix_t', 6, 'm:x', 'brief', ttl => '1 hour');
SELECT widetable.put('ix_t', 6, 'other', 'brief', ttl => '1 hour');

-- other foreign tables on the stored table
CREATE FOREIGN TABLE ix_cells (k int, family text, qualifier text COLLATE "C", ts bigint, value text)
    SERVER widetable OPTIONS (table_name 'public.ix_t', key 'k', layout 'cells');
CREATE FOREIGN TABLE ix_other (id int, text_a text OPTIONS (column 'd:a') COLLATE "C", c text OPTIONS (column 'e:c'), note text OPTIONS (column 'd:note'))
    SERVER widetable OPTIONS (table_name 'public.ix_t', key 'id');
INSERT INTO ix_cells (k, family, qualifier, value) VALUES (8, 'd', 'a', 'cell'), (8, 'e', 'c', 'cc'), (8, 'm', 'y', 'z');
INSERT INTO ix_cells (k, family, qualifier, ts, value) VALUES (8, 'd', 'a', 3000, 'older'), (8, 'd', 'a', 2000, 'oldest');
SELECT * FROM ix_state();
UPDATE ix_cells SET value = 'changed' WHERE k = 8 AND qualifier = 'a' AND ts = 2000;
UPDATE ix_cells SET value = value || '!' WHERE k = 8 AND qualifier IN ('c', 'y');
SELECT * FROM ix_state();
DELETE FROM ix_cells WHERE k = 8 AND qualifier = 'a' AND ts > 3000;
SELECT * FROM ix_state();
DELETE FROM ix_cells WHERE k = 8 AND qualifier = 'a' AND ts = 3000;
UPDATE ix_cells SET qualifier = 'Y' WHERE k = 8 AND family = 'm';
SELECT * FROM ix_state();
UPDATE ix_cells SET k = 9 WHERE k = 8;
SELECT * FROM ix_state();
DELETE FROM ix_cells WHERE k = 9;
INSERT INTO ix_other VALUES (6, 'through', 'another', 'x'), (10, 'ten', NULL, 'x'), (11, NULL, NULL, 'x');
SELECT * FROM ix_state();
UPDATE ix_other SET note = text_a, text_a = NULL WHERE id = 10;
UPDATE ix_other SET id = 12 WHERE id = 6;
DELETE FROM ix_other WHERE id = 11;
SELECT * FROM ix_state();
-- which may have indexes of its own
CREATE FOREIGN TABLE ix_other_note (note text COLLATE "C", id int, c text) SERVER widetable OPTIONS (index_of 'ix_other', key 'note');
INSERT INTO ix_t (k, a, c) VALUES (10, 'both', 'C'), (12, 'both', 'C');
UPDATE ix_other SET note = 'note' WHERE c = 'C';
SELECT * FROM ix_other_note;
SELECT * FROM ix_state();
SELECT * FROM ix_check('ix_other', 'ix_other_note');
SELECT ix_compare('SELECT id, text_a FROM ix_other WHERE note = ''note''', 'SELECT id, c FROM ix_other WHERE note > ''''');
DROP FOREIGN TABLE ix_other_note;

-- a row that a statement changes several times, and reads while it changes it
INSERT INTO ix_t (k, a) SELECT 100 + i % 3, 'r' || i FROM generate_series(1, 10) i;
UPDATE ix_t SET a = 'u' || (SELECT count(*) FROM ix_t x WHERE x.a >= 'r' AND x.a < 's') WHERE a >= 'r' AND a < 's';
WITH w AS (INSERT INTO ix_t (k, a) VALUES (103, 'with') RETURNING a) UPDATE ix_t SET a = w.a FROM w WHERE k = 102;
WITH w AS (DELETE FROM ix_t WHERE k = 101 RETURNING *) INSERT INTO ix_t (k, a) SELECT k + 50, a FROM w;
SELECT * FROM ix_state();

-- savepoints, exceptions, errors
BEGIN;
INSERT INTO ix_t (k, a) VALUES (200, 'before');
SAVEPOINT s1;
UPDATE ix_t SET a = 'within' WHERE k = 200;
DELETE FROM ix_t WHERE a = 'with';
SELECT widetable.put('ix_t', 201, 'a', 'function');
SAVEPOINT s2;
INSERT INTO ix_t (k, a) VALUES (202, 'inner');
RELEASE s2;
SELECT string_agg(a, ' ' ORDER BY a) FROM ix_t WHERE a > '';
ROLLBACK TO s1;
SELECT string_agg(a, ' ' ORDER BY a) FROM ix_t WHERE a > '';
UPDATE ix_t SET a = 'after' WHERE a = 'before';
SELECT * FROM ix_state();
COMMIT;
SELECT * FROM ix_state();
DO $$ BEGIN
    FOR i IN 300..303 LOOP
        BEGIN
            INSERT INTO ix_t (k, a) VALUES (i, 'loop');
            UPDATE ix_t SET a = 'loop' || i WHERE k = i;
            PERFORM widetable.put('ix_t', i + 10, 'a', 'loop' || i);
            PERFORM 1 / (i - 301) / (i - 303);
        EXCEPTION WHEN division_by_zero THEN
            INSERT INTO ix_t (k, a) VALUES (i, 'caught');
        END;
    END LOOP;
END $$;
SELECT * FROM ix_state();
INSERT INTO ix_t (k, a) SELECT i, 'lost' FROM generate_series(310, 312) i WHERE 1 / (312 - i) >= 0;
BEGIN;
UPDATE ix_t SET a = 'lost', c = 'lost', k = k + 1;
ROLLBACK;
SELECT * FROM ix_state();
DELETE FROM ix_t WHERE k >= 100;
-- triggers change other rows, and the row itself
CREATE FUNCTION ix_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.a := upper(NEW.a); RETURN NEW; END $$;
CREATE FUNCTION ix_after() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ix_other VALUES (NEW.k + 1000, 'of ' || (SELECT string_agg(k::text, ',') FROM ix_t WHERE a = NEW.a), NULL, NULL); RETURN NULL; END $$;
CREATE TRIGGER b BEFORE INSERT OR UPDATE ON ix_t FOR EACH ROW EXECUTE FUNCTION ix_before();
CREATE TRIGGER a AFTER INSERT OR UPDATE ON ix_t FOR EACH ROW EXECUTE FUNCTION ix_after();
INSERT INTO ix_t (k, a) VALUES (400, 'trigger'), (401, 'trigger');
UPDATE ix_t SET a = 'triggered' WHERE a = 'TRIGGER' AND k = 400;
DROP TRIGGER a ON ix_t;
DROP TRIGGER b ON ix_t;
DROP FUNCTION ix_before, ix_after;
SELECT * FROM ix_state();
DELETE FROM ix_t WHERE k >= 400;

-- a cursor goes on with the rows of its snapshot, whatever it has changed itself
CREATE FOREIGN TABLE ix_more (k int, a text COLLATE "C" NOT NULL, b int, up text COLLATE "C" GENERATED ALWAYS AS (upper(a)) STORED) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE ix_more_a (a text COLLATE "C", k int) SERVER widetable OPTIONS (index_of 'ix_more', key 'a');
CREATE FOREIGN TABLE ix_more_up (up text COLLATE "C", k int) SERVER widetable OPTIONS (index_of 'ix_more', key 'up');
INSERT INTO ix_more SELECT i, 'v' || i % 50, i FROM generate_series(1, 2000) i;
SELECT widetable.flush();
ANALYZE ix_more;
BEGIN;
DECLARE c CURSOR FOR SELECT k, b FROM ix_more WHERE a >= 'v4' ORDER BY a, k;
FETCH 2 FROM c;
UPDATE ix_more SET a = 'v9' || a WHERE a LIKE 'v4%';
DELETE FROM ix_more WHERE a LIKE 'v5%';
FETCH 2 FROM c;
MOVE FORWARD ALL IN c;
COMMIT;
SELECT count(*) FROM ix_more WHERE a LIKE 'v9v4%';
-- every row has a value of a column that is NOT NULL, and a generated one has an index, too
EXPLAIN (COSTS OFF) SELECT * FROM ix_more ORDER BY a LIMIT 1;
SELECT c.* FROM ix_compare('SELECT k, up FROM ix_more WHERE up = ''V7''', 'SELECT k, a FROM ix_more ORDER BY a, k LIMIT 3') c;
-- a trigger changes the row once more
CREATE FUNCTION ix_again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM widetable.put('ix_more', NEW.k, 'a', NEW.a || ' again'); RETURN NULL; END $$;
CREATE TRIGGER again AFTER INSERT OR UPDATE ON ix_more FOR EACH ROW EXECUTE FUNCTION ix_again();
INSERT INTO ix_more VALUES (3000, 'x', 1), (3001, 'x', 1);
UPDATE ix_more SET b = 2, a = 'y' WHERE a = 'x again' AND k = 3000;
DROP TRIGGER again ON ix_more;
DROP FUNCTION ix_again;
SELECT * FROM ix_more_a WHERE k >= 3000;
\set VERBOSITY terse
INSERT INTO ix_more VALUES (3002, repeat('x', 33000), 1);
\set VERBOSITY default
SELECT * FROM ix_check('ix_more');
DROP FOREIGN TABLE ix_more CASCADE;

-- a transaction whose changes are written to files before it ends
BEGIN;
SET LOCAL widetable.write_memory = '1MB';
INSERT INTO ix_t (k, a, c) SELECT i, 'many' || i, repeat('c', 100) FROM generate_series(1000, 9000) i;
UPDATE ix_t SET a = 'fewer' || k WHERE a LIKE 'many4%';
DELETE FROM ix_t WHERE k BETWEEN 5000 AND 6000;
SELECT count(*) FROM ix_t WHERE a LIKE 'fewer%';
SELECT count(*), count(DISTINCT c) FROM ix_t WHERE a LIKE 'many%';
SELECT * FROM ix_check('ix_t');
COMMIT;
SELECT count(*) FROM ix_t WHERE a LIKE 'fewer%';
SELECT count(*), count(DISTINCT c) FROM ix_t WHERE a LIKE 'many%';
SELECT * FROM ix_check('ix_t');
DELETE FROM ix_t WHERE k >= 1000;
SELECT widetable.flush();
SELECT widetable.compact('ix_t');
SELECT * FROM ix_state();

-- cells of chunks
CREATE TABLE ix_chunks AS SELECT widetable.export_cells('ix_t') AS c;
TRUNCATE ix_t;
SELECT * FROM ix_state();
INSERT INTO ix_t (k, a) VALUES (6, 'new'), (12, 'new'), (13, 'new');
SELECT sum(widetable.import_cells('ix_t', c)) > 0 AS imported FROM ix_chunks;
SELECT * FROM ix_state();
DROP TABLE ix_chunks;
BEGIN;
TRUNCATE ix_other;
SELECT * FROM ix_state();
INSERT INTO ix_t (k, a) VALUES (1, 'truncated');
SELECT * FROM ix_state();
ROLLBACK;
SELECT * FROM ix_state();
TRUNCATE ix_t, ix_other;
SELECT * FROM ix_state();

INSERT INTO ix_t (k, a, c) VALUES (1, 'a', 'x'), (2, 'a', 'y'), (3, 'b', 'x');

-- plans that are kept: as_of, changes of definitions in between
CREATE FOREIGN TABLE ix_kept (k int, a text COLLATE "C", c text) SERVER widetable OPTIONS (key 'k');
INSERT INTO ix_kept SELECT i, 'v' || i, 'x' || i FROM generate_series(10, 2000) i;
INSERT INTO ix_kept VALUES (1, 'a', 'x'), (2, 'a', 'y'), (3, 'b', 'x');
CREATE FOREIGN TABLE ix_kept_a (a text COLLATE "C", k int) SERVER widetable OPTIONS (index_of 'ix_kept', key 'a');
SELECT widetable.flush();
ANALYZE ix_kept;
SET plan_cache_mode = force_generic_plan;
PREPARE ix_p(text) AS SELECT k, c FROM ix_kept WHERE a = $1 ORDER BY k;
PREPARE ix_only(text) AS SELECT k FROM ix_kept WHERE a = $1 ORDER BY k;
PREPARE ix_up(text, text) AS UPDATE ix_kept SET a = $2 WHERE a = $1 RETURNING k, a;
EXECUTE ix_p('a');
EXECUTE ix_only('a');
SET widetable.as_of = '2000-01-01';
EXECUTE ix_p('a');
EXECUTE ix_only('a');
SET widetable.as_of = '2100-01-01';
EXECUTE ix_only('a');
EXPLAIN (COSTS OFF) EXECUTE ix_only('a');
RESET widetable.as_of;
EXECUTE ix_p('a');
EXPLAIN (COSTS OFF) EXECUTE ix_only('a');
BEGIN;
SET LOCAL widetable.as_of = '2000-01-01';
EXECUTE ix_only('a');
ROLLBACK;
EXECUTE ix_only('a');
EXECUTE ix_up('a', 'b');
EXECUTE ix_p('b');
BEGIN;
EXECUTE ix_up('b', 'c');
EXECUTE ix_p('b');
EXECUTE ix_only('c');
ROLLBACK;
EXECUTE ix_p('b');
DROP FOREIGN TABLE ix_kept_a;
EXECUTE ix_p('b');
EXECUTE ix_only('b');
EXECUTE ix_up('b', 'a');
CREATE FOREIGN TABLE ix_kept_a (a text COLLATE "C", k int) SERVER widetable OPTIONS (index_of 'ix_kept', key 'a');
EXECUTE ix_p('a');
EXECUTE ix_only('a');
EXPLAIN (COSTS OFF) EXECUTE ix_only('a');
BEGIN;
DROP FOREIGN TABLE ix_kept_a;
EXECUTE ix_p('a');
UPDATE ix_kept SET a = 'dropped' WHERE k = 1;
SAVEPOINT s;
CREATE FOREIGN TABLE ix_kept_a (a text COLLATE "C", k int) SERVER widetable OPTIONS (index_of 'ix_kept', key 'a');
EXECUTE ix_p('dropped');
UPDATE ix_kept SET a = 'inner' WHERE k = 2;
EXECUTE ix_p('inner');
SELECT * FROM ix_check('ix_kept');
ROLLBACK TO s;
EXECUTE ix_p('dropped');
UPDATE ix_kept SET a = 'outer' WHERE k = 3;
ROLLBACK;
EXECUTE ix_p('a');
SELECT * FROM ix_check('ix_kept');
DEALLOCATE ALL;
RESET plan_cache_mode;
DROP FOREIGN TABLE ix_kept CASCADE;
-- an index that is created in the transaction that has written
BEGIN;
UPDATE ix_t SET other = 'o' || k;
CREATE FOREIGN TABLE ix_t_other (other text COLLATE "C", k int) SERVER widetable OPTIONS (index_of 'ix_t', key 'other');
SELECT * FROM ix_t_other;
UPDATE ix_t SET other = 'p' WHERE k = 2;
SELECT k, a FROM ix_t WHERE other = 'p';
COMMIT;
SELECT * FROM ix_t_other;
SELECT * FROM ix_check('ix_t');

-- ----------------------------------------------------------------- ALTER

ALTER FOREIGN TABLE ix_t RENAME TO ix_renamed;
ALTER FOREIGN TABLE ix_renamed RENAME COLUMN a TO name;
ALTER FOREIGN TABLE ix_renamed RENAME COLUMN k TO id;
ALTER FOREIGN TABLE ix_renamed RENAME COLUMN m TO maps;
SELECT ftrelid::regclass, ftoptions FROM pg_foreign_table WHERE ftrelid::regclass::text LIKE 'ix\_t%' ORDER BY ftrelid::regclass::text COLLATE "C";
SELECT attrelid::regclass, attname, attfdwoptions FROM pg_attribute WHERE attrelid IN ('ix_t_a'::regclass, 'ix_t_m'::regclass) AND attfdwoptions IS NOT NULL ORDER BY attrelid::regclass::text COLLATE "C", attnum;
INSERT INTO ix_renamed (id, name, maps) VALUES (4, 'd', '{"x": "y"}');
SELECT id, name FROM ix_renamed WHERE name = 'd';
SELECT c.* FROM ix_compare('SELECT id FROM ix_renamed WHERE maps->>''x'' = ''y''', 'SELECT id, name, c FROM ix_renamed WHERE name IN (''a'', ''d'')') c;
CREATE SCHEMA ix_schema;
ALTER FOREIGN TABLE ix_renamed SET SCHEMA ix_schema;
ALTER SCHEMA ix_schema RENAME TO "ix Schema";
UPDATE "ix Schema".ix_renamed SET name = 'e' WHERE name = 'd';
SELECT id, name FROM "ix Schema".ix_renamed WHERE name = 'e';
ALTER FOREIGN TABLE ix_t_a RENAME TO ix_t_name;
SELECT ftrelid::regclass, ftoptions FROM pg_foreign_table WHERE ftrelid IN ('ix_t_name'::regclass, 'ix_t_m'::regclass) ORDER BY ftrelid::regclass::text COLLATE "C";
ALTER FOREIGN TABLE "ix Schema".ix_renamed SET SCHEMA public;
ALTER FOREIGN TABLE ix_renamed RENAME TO ix_t;
ALTER FOREIGN TABLE ix_t RENAME COLUMN name TO a;
ALTER FOREIGN TABLE ix_t RENAME COLUMN id TO k;
ALTER FOREIGN TABLE ix_t RENAME COLUMN maps TO m;
ALTER FOREIGN TABLE ix_t_name RENAME TO ix_t_a;
DROP SCHEMA "ix Schema";
SELECT * FROM ix_state();
-- two columns change names with each other
BEGIN;
ALTER FOREIGN TABLE ix_t RENAME COLUMN a TO x;
ALTER FOREIGN TABLE ix_t RENAME COLUMN other TO a;
ALTER FOREIGN TABLE ix_t RENAME COLUMN x TO other;
SELECT k, a, other FROM ix_t WHERE other = 'a';
UPDATE ix_t SET other = 'swapped', a = 'too' WHERE other = 'a' AND k = 1;
SELECT a, k FROM ix_t_a;
SELECT other, k FROM ix_t_other;
SELECT * FROM ix_check('ix_t');
ROLLBACK;
SELECT * FROM ix_state();
-- columns that no index has, that some have
ALTER FOREIGN TABLE ix_t ADD COLUMN extra text OPTIONS (column 'e:extra');
ALTER FOREIGN TABLE ix_t DROP COLUMN extra;
ALTER FOREIGN TABLE ix_t DROP COLUMN other;
SELECT relname FROM pg_class WHERE relname LIKE 'ix\_t%' ORDER BY 1;
-- the cell of a column
ALTER FOREIGN TABLE ix_t ALTER COLUMN c OPTIONS (SET column 'e:d');
SELECT * FROM ix_state();
INSERT INTO ix_t (k, c) VALUES (1, 'of e:d');
SELECT * FROM ix_state();
ALTER FOREIGN TABLE ix_t ALTER COLUMN c OPTIONS (SET column 'e:c');
SELECT * FROM ix_state();
-- versions: with more of them nothing new is seen
INSERT INTO ix_t (k, a) SELECT 1, 'v' || i FROM generate_series(1, 5) i;
ALTER FOREIGN TABLE ix_t OPTIONS (SET families '{"d": {"versions": 1}, "e": {}, "m": {}}');
SELECT widetable.delete_version('ix_t', 1, 'a');
SELECT * FROM ix_state();
ALTER FOREIGN TABLE ix_t OPTIONS (SET families '{"d": {"versions": 5, "min_versions": 1, "ttl": "1 day"}, "e": {}, "m": {}}');
SELECT * FROM ix_state();
ALTER FOREIGN TABLE ix_t OPTIONS (SET families '{"d": {"versions": 5}, "e": {}, "m": {}}');
SELECT * FROM ix_state();
ALTER FOREIGN TABLE ix_t OPTIONS (ADD existence 'projected');
SELECT * FROM ix_state();
DROP FOREIGN TABLE ix_t, ix_cells, ix_other;
DROP FUNCTION ix_state;
DROP TABLE ix_heap;

-- ----------------------------------------------------------- time to live

-- A value that has expired leaves its entry: rows are tested again.
CREATE FOREIGN TABLE ix_brief (k int, a text COLLATE "C", b int OPTIONS (column 'e:b'), m jsonb OPTIONS (family 'm'))
    SERVER widetable OPTIONS (key 'k', families '{"d": {"ttl": "1 hour", "versions": 3}, "e": {}, "m": {"ttl": "1 hour"}}');
CREATE FOREIGN TABLE ix_brief_a (a text COLLATE "C", k int, b int) SERVER widetable OPTIONS (index_of 'ix_brief', key 'a');
CREATE FOREIGN TABLE ix_brief_b (b int, k int) SERVER widetable OPTIONS (index_of 'ix_brief', key 'b');
CREATE FOREIGN TABLE ix_brief_ba (b int, a text COLLATE "C", k int) SERVER widetable OPTIONS (index_of 'ix_brief', key 'b, a');
CREATE FOREIGN TABLE ix_brief_m (tag text OPTIONS (qualifier_of 'm') COLLATE "C", val text OPTIONS (value_of 'm') COLLATE "C", k int)
    SERVER widetable OPTIONS (index_of 'ix_brief', key 'tag, val');
INSERT INTO ix_brief SELECT i, 'v' || i % 3, i % 5, jsonb_build_object('t', i % 4) FROM generate_series(1, 1000) i;
-- these expire in 10 minutes
SELECT count(widetable.put('ix_brief', k, 'a', 'early', (extract(epoch FROM now() - interval '50 minutes') * 1000000)::bigint)),
       count(widetable.put('ix_brief', k, 'e:b', '77'))
FROM generate_series(2001, 2010) k;
SELECT widetable.flush();
ANALYZE ix_brief;
CREATE TABLE ix_brief_queries (n serial, q text);
COPY ix_brief_queries (q) FROM stdin;
SELECT k FROM ix_brief WHERE a = 'early'
SELECT count(*), count(a) FROM ix_brief WHERE b = 77
SELECT k, a, b FROM ix_brief WHERE b = 77 AND a = 'early'
SELECT k, a, b FROM ix_brief WHERE b = 77 AND a IS NULL
SELECT k FROM ix_brief WHERE a = 'v1'
SELECT k, a FROM ix_brief WHERE a >= 'v' AND k < 10
SELECT k, a FROM ix_brief WHERE b = 3 AND k < 20
SELECT k, m FROM ix_brief WHERE m->>'t' = '2' AND k < 20
SELECT k FROM ix_brief WHERE m ? 't'
SELECT k, a FROM ix_brief WHERE a > '' ORDER BY a, k LIMIT 3
SELECT k, b FROM ix_brief WHERE b >= 3 ORDER BY b, k LIMIT 3
\.
SELECT q AS query, answers FROM ix_brief_queries, ix_compare(q) c ORDER BY n;
SELECT set_config('widetable.clock', (now() + interval '20 minutes')::text, false) IS NOT NULL AS later;
SELECT q AS query, answers FROM ix_brief_queries, ix_compare(q) c ORDER BY n;
SELECT set_config('widetable.clock', (now() + interval '2 hours')::text, false) IS NOT NULL AS later;
SELECT q AS query, answers FROM ix_brief_queries, ix_compare(q) c ORDER BY n;
SELECT * FROM ix_check('ix_brief');
RESET widetable.clock;
-- the row gets another value, and the same again
INSERT INTO ix_brief (k, a) VALUES (2001, 'early'), (2002, 'late');
SELECT set_config('widetable.clock', (now() + interval '20 minutes')::text, false) IS NOT NULL AS later;
SELECT k, a, b FROM ix_brief WHERE a IN ('early', 'late');
SELECT * FROM ix_check('ix_brief');
RESET widetable.clock;
DELETE FROM ix_brief WHERE a = 'early';
SELECT count(*) FROM ix_brief WHERE a = 'early';
SELECT * FROM ix_check('ix_brief');
-- another time to live
ALTER FOREIGN TABLE ix_brief OPTIONS (SET families '{"d": {"ttl": null, "versions": 3}, "e": {}, "m": {"ttl": null}}');
SELECT * FROM ix_check('ix_brief');
SELECT set_config('widetable.clock', (now() + interval '2 hours')::text, false) IS NOT NULL AS later;
SELECT q AS query, answers FROM ix_brief_queries, ix_compare(q) c ORDER BY n;
RESET widetable.clock;
ALTER FOREIGN TABLE ix_brief OPTIONS (SET families '{"d": {"ttl": "1 hour", "min_versions": 1, "versions": 3}, "e": {}, "m": {"ttl": "1 hour"}}');
SELECT set_config('widetable.clock', (now() + interval '2 hours')::text, false) IS NOT NULL AS later;
SELECT q AS query, answers FROM ix_brief_queries, ix_compare(q) c ORDER BY n;
SELECT * FROM ix_check('ix_brief');
RESET widetable.clock;
DROP FOREIGN TABLE ix_brief CASCADE;
DROP TABLE ix_brief_queries;
-- of a unique index an expired value is free
CREATE FOREIGN TABLE ix_claims (k int, job text COLLATE "C") SERVER widetable OPTIONS (key 'k', families '{"d": {"ttl": "1 day"}}');
CREATE FOREIGN TABLE ix_claims_job (job text COLLATE "C", k int) SERVER widetable OPTIONS (index_of 'ix_claims', key 'job', unique 'true');
INSERT INTO ix_claims VALUES (1, 'a');
INSERT INTO ix_claims VALUES (2, 'a');
ALTER FOREIGN TABLE ix_claims OPTIONS (SET families '{"d": {"ttl": "00:00:00.1"}}');
INSERT INTO ix_claims VALUES (3, 'b');
SELECT pg_sleep(0.2);
INSERT INTO ix_claims VALUES (4, 'b');
SELECT pg_sleep(0.2);
UPDATE ix_claims SET job = 'b' WHERE k = 3;
SELECT * FROM ix_claims WHERE job = 'a';
SELECT * FROM ix_check('ix_claims');
-- values that come back with more time to live
INSERT INTO ix_claims VALUES (5, 'c');
SELECT pg_sleep(0.2);
ALTER FOREIGN TABLE ix_claims OPTIONS (SET families '{"d": {"ttl": "1 day"}}');
SELECT * FROM ix_check('ix_claims');
SELECT count(*) - (SELECT count(*) FROM ix_claims_job) AS differ FROM ix_claims;
INSERT INTO ix_claims VALUES (5, 'd');
SELECT * FROM ix_check('ix_claims');
DROP FOREIGN TABLE ix_claims CASCADE;

-- ----------------------------------------------------------------- unique

CREATE FOREIGN TABLE ix_people (id int, mail text COLLATE "C", org int, name text) SERVER widetable OPTIONS (key 'id');
INSERT INTO ix_people VALUES (1, 'a@x', 1, 'one'), (2, 'a@x', 1, 'two');
CREATE FOREIGN TABLE ix_people_mail (mail text COLLATE "C", org int, id int) SERVER widetable OPTIONS (index_of 'ix_people', key 'mail, org', unique 'true');
UPDATE ix_people SET org = 2 WHERE id = 2;
CREATE FOREIGN TABLE ix_people_mail (mail text COLLATE "C", org int, id int) SERVER widetable OPTIONS (index_of 'ix_people', key 'mail, org', unique 'true');
\set VERBOSITY sqlstate
INSERT INTO ix_people VALUES (3, 'a@x', 1, 'three');
\set VERBOSITY default
COPY ix_people FROM stdin;
3	b@x	1	three
4	b@x	1	four
\.
UPDATE ix_people SET org = 1;
SELECT widetable.put('ix_people', 5, 'mail', 'a@x'), widetable.put('ix_people', 5, 'org', 1);
SELECT widetable.check_and_mutate('ix_people', 2, 'org', '=', 2, '[{"put": {"org": 1}}]');
SELECT * FROM ix_people;
-- the row's own values; values that another row had before
INSERT INTO ix_people VALUES (1, 'a@x', 1, 'again');
UPDATE ix_people SET id = 10 WHERE id = 1;
UPDATE ix_people SET id = 12, org = 2 WHERE id = 10;
SELECT * FROM ix_people_mail;
UPDATE ix_people SET org = org + 1 WHERE id IN (2, 10);
UPDATE ix_people SET org = org + 1 WHERE id = 2;
UPDATE ix_people SET org = org + 1 WHERE id = 10;
BEGIN;
DELETE FROM ix_people WHERE id = 10;
INSERT INTO ix_people VALUES (11, 'a@x', 2, 'eleven');
SAVEPOINT s;
INSERT INTO ix_people VALUES (12, 'a@x', 2, 'twelve');
ROLLBACK TO s;
SELECT id, name FROM ix_people WHERE mail = 'a@x' AND org = 2;
COMMIT;
-- without a value in one of the columns there is nothing to violate
INSERT INTO ix_people VALUES (20, 'c@x', NULL, NULL), (21, 'c@x', NULL, NULL), (22, NULL, 1, NULL), (23, NULL, 1, NULL);
UPDATE ix_people SET org = 5 WHERE id IN (20, 21);
UPDATE ix_people SET org = 5 WHERE id = 20;
SELECT * FROM ix_people_mail;
DO $$ BEGIN INSERT INTO ix_people (id, org) VALUES (21, 5); EXCEPTION WHEN unique_violation THEN RAISE WARNING '%', SQLERRM; END $$;
INSERT INTO ix_people (id, org) VALUES (21, 6);
SELECT * FROM ix_check('ix_people');
DROP FOREIGN TABLE ix_people CASCADE;

-- -------------------------------------------------------------- immutable

CREATE FOREIGN TABLE ix_log (id int, kind text COLLATE "C", body text) SERVER widetable OPTIONS (key 'id');
CREATE FOREIGN TABLE ix_log_kind (kind text COLLATE "C", id int) SERVER widetable OPTIONS (index_of 'ix_log', key 'kind', immutable 'true');
INSERT INTO ix_log VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, NULL, 'z');
COPY ix_log FROM stdin;
4	a	x
5	\N	y
\.
SELECT * FROM ix_log_kind;
-- UPDATE, DELETE and functions read what they change
UPDATE ix_log SET kind = 'c' WHERE id = 4;
DELETE FROM ix_log WHERE kind = 'b';
SELECT widetable.put('ix_log', 5, 'kind', 'put');
BEGIN;
INSERT INTO ix_log VALUES (6, 'undone', 'x');
ROLLBACK;
SELECT * FROM ix_log_kind;
SELECT * FROM ix_check('ix_log');
-- who breaks the promise leaves an entry, until the index is made anew
INSERT INTO ix_log VALUES (1, 'changed', 'x');
SELECT * FROM ix_check('ix_log', 'ix_log_kind');
SELECT * FROM ix_log_kind;
SELECT * FROM ix_log WHERE kind = 'a';
DROP FOREIGN TABLE ix_log_kind;
-- an option of the table means all of its indexes
ALTER FOREIGN TABLE ix_log OPTIONS (ADD immutable 'true');
CREATE FOREIGN TABLE ix_log_kind (kind text COLLATE "C", id int, body text) SERVER widetable OPTIONS (index_of 'ix_log', key 'kind', unique 'true');
SELECT * FROM ix_check('ix_log');
INSERT INTO ix_log VALUES (7, 'new', 'x');
INSERT INTO ix_log VALUES (8, 'new', 'x');
SELECT * FROM ix_log_kind;
INSERT INTO ix_log VALUES (7, 'newer', 'y');
SELECT * FROM ix_check('ix_log');
ALTER FOREIGN TABLE ix_log OPTIONS (SET immutable 'false');
INSERT INTO ix_log VALUES (1, 'newest', 'z');
SELECT * FROM ix_check('ix_log');
DROP FOREIGN TABLE ix_log CASCADE;

-- ------------------------------------------------------------- partitions

CREATE TABLE ix_parts (k int, day date, a text COLLATE "C", b int) PARTITION BY RANGE (day);
CREATE FOREIGN TABLE ix_part1 PARTITION OF ix_parts FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') SERVER widetable OPTIONS (key 'day, k');
CREATE FOREIGN TABLE ix_part2 PARTITION OF ix_parts FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') SERVER widetable OPTIONS (key 'day, k');
CREATE FOREIGN TABLE ix_part1_a (a text COLLATE "C", day date, k int) SERVER widetable OPTIONS (index_of 'ix_part1', key 'a');
CREATE FOREIGN TABLE ix_part2_a (a text COLLATE "C", day date, k int) SERVER widetable OPTIONS (index_of 'ix_part2', key 'a');
INSERT INTO ix_parts SELECT i, '2026-01-01'::date + i % 59, 'v' || i % 300, i FROM generate_series(1, 3000) i;
SELECT widetable.flush();
ANALYZE ix_part1, ix_part2;
EXPLAIN (COSTS OFF) SELECT * FROM ix_parts WHERE a = 'v7';
EXPLAIN (COSTS OFF) SELECT k, a FROM ix_parts WHERE a >= 'v' ORDER BY a LIMIT 3;
SELECT c.* FROM ix_compare('SELECT * FROM ix_parts WHERE a = ''v7''', 'SELECT k, day, a FROM ix_parts WHERE a >= ''v'' ORDER BY a, day, k LIMIT 13',
    'SELECT k, b FROM ix_parts WHERE a LIKE ''v9%'' AND day < ''2026-01-10''') c;
UPDATE ix_parts SET k = k + 10000 WHERE a = 'v7' AND day < '2026-01-20';
UPDATE ix_parts SET a = 'new' WHERE a = 'v8';
DELETE FROM ix_parts WHERE a = 'v9';
SELECT count(*), min(k), max(k) FROM ix_parts WHERE a = 'v7';
SELECT count(*) FROM ix_parts WHERE a IN ('v8', 'v9', 'new');
SELECT * FROM ix_check('ix_part1', 'ix_part2');
ALTER TABLE ix_parts RENAME COLUMN a TO name;
INSERT INTO ix_parts VALUES (1, '2026-01-01', 'renamed', 1);
SELECT * FROM ix_parts WHERE name = 'renamed';
SELECT * FROM ix_check('ix_part1', 'ix_part2');
TRUNCATE ix_parts;
SELECT count(*) FROM ix_part1_a;
ALTER TABLE ix_parts DROP COLUMN name;
SELECT relname FROM pg_class WHERE relname LIKE 'ix\_part%' ORDER BY 1;
DROP TABLE ix_parts;

-- built online: commands that drop, empty or alter do not wait for the whole build, nor for a builder that has gone
CREATE FOREIGN TABLE ix_live (k bigint, a text COLLATE "C", n int) SERVER widetable OPTIONS (key 'k');
INSERT INTO ix_live SELECT i, 'v' || i % 100, i FROM generate_series(1, 20000) i;
CREATE PROCEDURE ix_wait(x regclass) LANGUAGE plpgsql AS $$ BEGIN
    FOR i IN 1 .. 1200 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_foreign_table WHERE ftrelid = x AND ftoptions::text LIKE '%progress%')
            AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'widetable builder');
        COMMIT;
        PERFORM pg_sleep(0.05);
    END LOOP;
END $$;
SET statement_timeout = '60s';
CREATE FOREIGN TABLE ix_live_a (a text COLLATE "C") SERVER widetable OPTIONS (index_of 'ix_live', key 'a', build 'online');
DROP FOREIGN TABLE ix_live_a;
CREATE FOREIGN TABLE ix_live_a (a text COLLATE "C") SERVER widetable OPTIONS (index_of 'ix_live', key 'a', build 'online');
UPDATE ix_live SET a = 'moved' WHERE k % 1000 = 0;
CALL ix_wait('ix_live_a');
EXPLAIN (COSTS OFF) SELECT k FROM ix_live WHERE a = 'v7';
SELECT count(*) FROM ix_live WHERE a = 'moved';
SELECT * FROM ix_check('ix_live');
SELECT count(*) FROM pg_locks WHERE locktype = 'object' AND classid = 'pg_foreign_table'::regclass;
DROP FOREIGN TABLE ix_live_a;
CREATE FOREIGN TABLE ix_live_a (a text COLLATE "C") SERVER widetable OPTIONS (index_of 'ix_live', key 'a', build 'online');
TRUNCATE ix_live;
INSERT INTO ix_live VALUES (1, 'a', 1), (2, 'b', 2);
CALL ix_wait('ix_live_a');
SELECT k FROM ix_live WHERE a = 'b';
SELECT * FROM ix_check('ix_live');
CREATE FOREIGN TABLE ix_live_n (n int) SERVER widetable OPTIONS (index_of 'ix_live', key 'n', build 'online');
DROP FOREIGN TABLE ix_live CASCADE;
RESET statement_timeout;
DROP PROCEDURE ix_wait;

DROP TABLE ix_queries;
DROP FUNCTION ix_check, ix_plan, ix_rows, ix_compare;
SELECT relname FROM pg_class WHERE relname LIKE 'ix\_%' ORDER BY 1;
SELECT table_name FROM widetable.pg_stat_widetable_tables WHERE table_name LIKE 'public.ix%';

-- ON CONFLICT DO NOTHING leaves out rows that a unique index does not allow, also those of the same command
CREATE FOREIGN TABLE ix_skip (k int, n text COLLATE "C", v int) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE ix_skip_n (n text COLLATE "C") SERVER widetable OPTIONS (index_of 'ix_skip', key 'n', unique 'true');
INSERT INTO ix_skip VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, 3);
INSERT INTO ix_skip VALUES (1, 'z', 9), (4, 'a', 4), (5, 'c', 5), (6, 'c', 6), (7, NULL, 7) ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO ix_skip VALUES (8, 'a', 9);
BEGIN;
DELETE FROM ix_skip WHERE n = 'a';
INSERT INTO ix_skip VALUES (8, 'a', 8), (9, 'b', 9) ON CONFLICT DO NOTHING;
TABLE ix_skip;
ROLLBACK;
TABLE ix_skip;
SELECT * FROM widetable.verify('ix_skip');
DROP FOREIGN TABLE ix_skip;
