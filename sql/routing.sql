-- functions on a row of a partitioned table, or of a table on another server, go where the row lives
SELECT count(*) = 0 AS missing FROM pg_available_extensions WHERE name = 'postgres_fdw' \gset
\if :missing
\echo 'skipped: this server has no postgres_fdw'
\quit
\endif
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION postgres_fdw;
RESET client_min_messages;
CREATE ROLE regress_wt_app;
CREATE ROLE regress_wt_some;
DO $$
DECLARE
    who text;
BEGIN
    EXECUTE format('CREATE SERVER rt_loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
        current_database(), split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
    EXECUTE format('CREATE USER MAPPING FOR PUBLIC SERVER rt_loop OPTIONS (user %L, password_required ''false'')', current_user);
END $$;
SET timezone = 'Europe/Berlin';
SET datestyle = 'German';

-- what is on the "other" server: a wide table, and a partitioned one
CREATE SCHEMA rt_far;
CREATE FOREIGN TABLE rt_far.visits (site text COLLATE "C", at timestamptz, url text, n bigint, seen timestamptz, tags jsonb OPTIONS (family 't'))
    SERVER widetable OPTIONS (key 'site, at desc', families '{"d": {"versions": 3}, "t": {}}');
CREATE TABLE rt_far.parted (site text COLLATE "C", at timestamptz, url text, n bigint, seen timestamptz, tags jsonb) PARTITION BY RANGE (site);
CREATE FOREIGN TABLE rt_far.parted_1 PARTITION OF rt_far.parted FOR VALUES FROM (MINVALUE) TO ('t')
    SERVER widetable OPTIONS (key 'site, at desc', families '{"d": {"versions": 3}, "t": {}}');
CREATE FOREIGN TABLE rt_far.parted_2 PARTITION OF rt_far.parted FOR VALUES FROM ('t') TO (MAXVALUE)
    SERVER widetable OPTIONS (key 'site, at desc', families '{"d": {"versions": 3}, "t": {}}');

-- here: other servers, a wide table, an ordinary table, partitions of a partition; no partition from 'y' on
CREATE TABLE visits (tags jsonb, site text COLLATE "C", at timestamptz, url text, n bigint, seen timestamptz) PARTITION BY RANGE (site);
CREATE FOREIGN TABLE visits_far PARTITION OF visits FOR VALUES FROM (MINVALUE) TO ('g') SERVER rt_loop OPTIONS (schema_name 'rt_far', table_name 'visits');
CREATE FOREIGN TABLE visits_here (site text COLLATE "C", tags jsonb OPTIONS (family 't'), at timestamptz, url text, n bigint, seen timestamptz)
    SERVER widetable OPTIONS (key 'site, at desc');
ALTER TABLE visits ATTACH PARTITION visits_here FOR VALUES FROM ('g') TO ('m');
CREATE TABLE visits_heap PARTITION OF visits FOR VALUES FROM ('m') TO ('p');
CREATE FOREIGN TABLE visits_far_parted PARTITION OF visits FOR VALUES FROM ('p') TO ('w') SERVER rt_loop OPTIONS (schema_name 'rt_far', table_name 'parted');
CREATE TABLE visits_sub PARTITION OF visits FOR VALUES FROM ('w') TO ('y') PARTITION BY HASH (site, at);
CREATE FOREIGN TABLE visits_sub_0 PARTITION OF visits_sub FOR VALUES WITH (MODULUS 2, REMAINDER 0)
    SERVER widetable OPTIONS (key 'site, at desc', families '{"d": {}, "t": {}}');
CREATE FOREIGN TABLE visits_sub_1 PARTITION OF visits_sub FOR VALUES WITH (MODULUS 2, REMAINDER 1)
    SERVER widetable OPTIONS (key 'site, at desc', families '{"d": {}, "t": {}}');
SELECT rel, widetable.key_columns(rel) FROM unnest('{visits, visits_far, visits_here, visits_far_parted, visits_sub, rt_far.parted}'::regclass[]) rel;

-- each function, in each kind of partition
CREATE PROCEDURE rt_all(site text) LANGUAGE plpgsql AS
$$
DECLARE
    at CONSTANT text := '1.2.2026 12:00';
    result text;
BEGIN
    FOR result IN
        SELECT unnest(ARRAY[
            widetable.increment('visits', ROW(site, at), 'n')::text,
            widetable.increment('visits', ROW(site, at), 'n', 9)::text,
            widetable.increment('visits', ROW(site, at), '{"n": 1, "t:count": 2}'::jsonb)::text,
            widetable.put('visits', ROW(site, at), 'url', '/a'::text)::text,
            widetable.put('visits', ROW(site, at), 'seen', '1.2.2026 13:00'::text)::text,
            widetable.put('visits', ROW(site, at), 't:i', 5, 1000, '1000 years')::text,
            widetable.put('visits', ROW(site, at), '{"t:lang": "de", "t:x": "y"}'::jsonb)::text,
            widetable.append('visits', ROW(site, at), 'url', '/b'::text)::text,
            widetable.append('visits', ROW(site, at), 't:lang', '\x20'::bytea)::text,
            widetable.check_and_mutate('visits', ROW(site, at), 'n', '>', 10, '[{"put": {"t:y": "z"}}, {"delete": ["t:x"]}]')::text,
            widetable.check_and_mutate('visits', ROW(site, at), 'seen', '=', '1.2.2026 13:00', '[{"increment": {"n": 1}}]')::text,
            widetable.check_and_mutate('visits', ROW(site, at), 't:none', 'is null', NULL::text, '[]', '[{"delete": ["n"]}]')::text])
    LOOP
        RAISE NOTICE '%: %', site, result;
    END LOOP;
    RAISE NOTICE '%: %', site, (SELECT json_agg(c) FROM (SELECT family, qualifier, value FROM widetable.cells('visits', ROW(site, at))) c);
    RAISE NOTICE '%: %', site, widetable.get('visits', ROW(site, at)) #- '{d,seen}';
    RAISE NOTICE '%: %', site, (SELECT row_to_json(v) FROM (SELECT tableoid::regclass, * FROM visits v WHERE v.site = rt_all.site) v);
    PERFORM widetable.delete_version('visits', ROW(site, at), 'n');
    PERFORM widetable.delete_column('visits', ROW(site, at), 'url');
    PERFORM widetable.delete_family_version('visits', ROW(site, at), 't', 1000);
    RAISE NOTICE '%: %', site, widetable.get('visits', ROW(site, at)) #- '{d,seen}';
    PERFORM widetable.delete_family('visits', ROW(site, at), 't');
    RAISE NOTICE '%: %', site, widetable.get('visits', ROW(site, at)) #- '{d,seen}';
    PERFORM widetable.delete_row('visits', ROW(site, at));
    RAISE NOTICE '%: %', site, coalesce(widetable.get('visits', ROW(site, at))::text, 'null');
    RAISE NOTICE '%: %', site, (SELECT count(*) FROM widetable.raw_cells('visits', ROW(site, at)));
END
$$;
CALL rt_all('far');
CALL rt_all('here');
CALL rt_all('parted far 1');
CALL rt_all('tarpit');
CALL rt_all('wsub');
-- the table of another server by its own name
SELECT widetable.increment('visits_far', ROW('a', '1.2.2026'), 'n'), widetable.get('rt_far.visits', ROW('a', '1.2.2026'));
TRUNCATE rt_far.visits;

-- no wide table for the key, or none at all
SELECT widetable.put('visits', ROW('n', now()), 'url', 'x'::text);
SELECT widetable.put('visits', ROW('z', now()), 'url', 'x'::text);
SELECT widetable.increment('visits', ROW('z', now()), 'n');
SELECT widetable.get('visits', ROW('z', now())) IS NULL, (SELECT count(*) FROM widetable.cells('visits', ROW('z', now())));
SELECT widetable.delete_row('visits', ROW('z', now()));
SELECT widetable.get('visits', 'a');
SELECT widetable.get('visits', ROW('a', NULL));
SELECT widetable.get('visits', ROW('a', 5));
SELECT widetable.get('visits', NULL::text);
SELECT widetable.increment('visits', ROW('a', now()), 'nowhere');
SELECT widetable.increment('visits', ROW('a', now()), 'url');
SELECT widetable.increment('visits', ROW('a', now()), NULL);
CREATE TABLE rt_empty (k text) PARTITION BY LIST (k);
SELECT widetable.get('rt_empty', 'a');
CREATE FOREIGN TABLE rt_heap (site text) SERVER rt_loop OPTIONS (table_name 'visits_heap');
SELECT widetable.get('rt_heap', 'a');
CREATE FOREIGN TABLE rt_gone (site text) SERVER rt_loop OPTIONS (table_name 'nowhere');
SELECT widetable.get('rt_gone', 'a');
SELECT widetable.flush('visits');
-- not partitioned by columns of the key; partitions with different keys; LIST and DEFAULT
CREATE TABLE rt_value (k text COLLATE "C", v text) PARTITION BY LIST (v);
CREATE FOREIGN TABLE rt_value_1 PARTITION OF rt_value FOR VALUES IN ('a') SERVER widetable OPTIONS (key 'k');
SELECT widetable.get('rt_value', 'a');
CREATE TABLE rt_expr (k text COLLATE "C", v text) PARTITION BY LIST (lower(k));
CREATE FOREIGN TABLE rt_expr_1 PARTITION OF rt_expr FOR VALUES IN ('a') SERVER widetable OPTIONS (key 'k');
SELECT widetable.get('rt_expr', 'a');
CREATE TABLE rt_list (k text COLLATE "C", v text COLLATE "C") PARTITION BY LIST (k);
CREATE FOREIGN TABLE rt_list_1 PARTITION OF rt_list FOR VALUES IN ('a', 'b') SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE rt_list_2 PARTITION OF rt_list DEFAULT SERVER widetable OPTIONS (key 'k');
SELECT widetable.put('rt_list', 'b', 'v', '1'::text), widetable.put('rt_list', 'c', 'v', '2'::text);
SELECT tableoid::regclass, * FROM rt_list;
CREATE FOREIGN TABLE rt_list_3 PARTITION OF rt_list FOR VALUES IN ('d') SERVER widetable OPTIONS (key 'v');
SELECT widetable.put('rt_list', 'd', 'v', '2'::text);
DROP TABLE rt_empty, rt_value, rt_expr, rt_list;
DROP FOREIGN TABLE rt_heap, rt_gone;

-- one transaction with what postgres_fdw does
BEGIN;
INSERT INTO visits (site, at, n) VALUES ('a', '2026-01-01', 1), ('h', '2026-01-01', 1);
SELECT widetable.increment('visits', ROW('a', '2026-01-01'), 'n'), widetable.increment('visits', ROW('h', '2026-01-01'), 'n');
SAVEPOINT s;
UPDATE visits SET n = n + 10 WHERE site = 'a';
SELECT widetable.increment('visits', ROW('a', '2026-01-01'), 'n'), widetable.increment('visits', ROW('h', '2026-01-01'), 'n');
SELECT site, n FROM visits ORDER BY site;
ROLLBACK TO s;
SELECT site, n FROM visits ORDER BY site;
SELECT widetable.increment('visits', ROW('a', '2026-01-01'), 'url');
ROLLBACK TO s;
SELECT widetable.increment('visits', ROW('a', '2026-01-01'), 'n');
ROLLBACK;
SELECT count(*) FROM visits;
DO $$
BEGIN
    PERFORM widetable.increment('visits', ROW('a', '2026-01-01'), 'n');
    BEGIN
        PERFORM widetable.increment('visits', ROW('a', '2026-01-01'), 'n');
        PERFORM widetable.put('visits', ROW('z', '2026-01-01'), 'n', 1);
    EXCEPTION WHEN check_violation THEN
        RAISE NOTICE '%', SQLERRM;
    END;
END $$;
SELECT site, n FROM visits;
-- for each row, with parameters that are only known then
INSERT INTO visits (site, at, n) SELECT chr(96 + g), '2026-01-01', g FROM generate_series(1, 12) g;
SELECT v.site, (widetable.get('visits', ROW(v.site, v.at)) #> '{d,n}')::int * 2 FROM visits v ORDER BY 1;
SELECT v.site, c.qualifier, c.value FROM visits v, LATERAL widetable.cells('visits', ROW(v.site, v.at)) c WHERE v.site IN ('b', 'k') ORDER BY 1;
PREPARE rt_p (text, timestamptz) AS SELECT widetable.increment('visits', ROW($1, $2), 'n');
EXECUTE rt_p ('b', '2026-01-01');
EXECUTE rt_p ('k', '2026-01-01');
DEALLOCATE rt_p;
BEGIN READ ONLY;
SELECT widetable.increment('visits', ROW('a', '2026-01-01'), 'n');
ROLLBACK;
BEGIN READ ONLY;
SELECT widetable.get('visits', ROW('a', '2026-01-01'));
ROLLBACK;

-- settings and options
SET widetable.as_of = '2026-01-01';
SELECT widetable.get('visits', ROW('a', '2026-01-01'));
SELECT widetable.increment('visits', ROW('a', '2026-01-01'), 'n');
RESET widetable.as_of;
ALTER FOREIGN TABLE visits_far OPTIONS (ADD updatable 'false');
SELECT widetable.increment('visits', ROW('a', '2026-01-01'), 'n');
SELECT widetable.delete_row('visits', ROW('a', '2026-01-01'));
ALTER FOREIGN TABLE visits_far OPTIONS (DROP updatable);
-- a column with another name there: a key column is found, another one is refused
CREATE FOREIGN TABLE rt_names (a text, "when" timestamptz OPTIONS (column_name 'at'), site text OPTIONS (column_name 'site') COLLATE "C", n text OPTIONS (column_name 'url'))
    SERVER rt_loop OPTIONS (schema_name 'rt_far', table_name 'visits');
SELECT widetable.key_columns('rt_names'), widetable.get('rt_names', ROW('a', '2026-01-01'));
SELECT widetable.increment('rt_names', ROW('a', '2026-01-01'), 'n');
SELECT widetable.put('rt_names', ROW('a', '2026-01-01'), '{"n": "1"}'::jsonb);
DROP FOREIGN TABLE rt_names;
-- the definition there changes: what the session knew is checked there
SELECT widetable.require_key('visits_far', '{site,at}'), widetable.require_key('rt_far.visits', '{site,at}');
SELECT widetable.require_key('rt_far.visits', '{at,site}');
DROP FOREIGN TABLE rt_far.visits;
CREATE FOREIGN TABLE rt_far.visits (at timestamptz, site text COLLATE "C", url text, n bigint, seen timestamptz, tags jsonb OPTIONS (family 't'))
    SERVER widetable OPTIONS (key 'at, site', families '{"d": {}, "t": {}}');
SELECT widetable.increment('visits_far', ROW('a', '2026-01-01'), 'n');
SELECT widetable.key_columns('visits_far'), widetable.increment('visits_far', ROW('2026-01-01', 'a'), 'n');
DROP FOREIGN TABLE rt_far.visits;
CREATE FOREIGN TABLE rt_far.visits (site text COLLATE "C", at timestamptz, url text, n bigint, seen timestamptz, tags jsonb OPTIONS (family 't'))
    SERVER widetable OPTIONS (key 'site, at desc', families '{"d": {}, "t": {}}');

-- privileges: those on the table that is named, whatever the role may on the partition, and there
INSERT INTO visits (site, at, n, url) VALUES ('a', '2026-01-01', 1, 'u'), ('h', '2026-01-01', 1, 'u');
GRANT SELECT (site, at, n), INSERT (site, at, n), UPDATE (n) ON visits, visits_far TO regress_wt_some;
SET ROLE regress_wt_some;
SELECT s, widetable.increment('visits', ROW(s, '2026-01-01'), 'n') FROM unnest('{a,h}'::text[]) s;
SELECT widetable.increment('visits_far', ROW('a', '2026-01-01'), 'n'), widetable.increment('visits_far', ROW('a', '2026-01-01'), '{"n": 1}'::jsonb);
SELECT widetable.check_and_mutate('visits', ROW('a', '2026-01-01'), 'n', '>', 0, '[{"put": {"n": 7}}]');
SELECT widetable.put('visits', ROW('a', '2026-01-01'), 'url', 'x'::text);
SELECT widetable.put('visits', ROW('h', '2026-01-01'), 'url', 'x'::text);
SELECT widetable.put('visits_far', ROW('a', '2026-01-01'), 'd:n', 'x'::text);
SELECT widetable.put('visits', ROW('a', '2026-01-01'), 'n', 1, 5);
SELECT widetable.put('visits', ROW('a', '2026-01-01'), '{"n": 1, "url": "x"}'::jsonb);
SELECT widetable.check_and_mutate('visits', ROW('a', '2026-01-01'), 'url', '=', 'u'::text, '[{"put": {"n": 7}}]');
SELECT widetable.check_and_mutate('visits', ROW('a', '2026-01-01'), 'n', '>', 0, '[{"put": {"url": "x"}}]');
SELECT widetable.check_and_mutate('visits', ROW('a', '2026-01-01'), 'n', '>', 0, '[]', '[{"delete": ["n", "url"]}]');
SELECT widetable.check_and_mutate('visits', ROW('a', '2026-01-01'), 'n', '>', 0, '[{"delete": "url"}]');
SELECT widetable.get('visits', ROW('a', '2026-01-01'));
SELECT * FROM widetable.cells('visits', ROW('h', '2026-01-01'));
SELECT * FROM widetable.raw_cells('visits', ROW('a', '2026-01-01'));
SELECT widetable.delete_row('visits', ROW('a', '2026-01-01'));
SELECT widetable.delete_family('visits', ROW('a', '2026-01-01'), 'd');
SELECT widetable.get('visits_here', ROW('h', '2026-01-01'));
SET ROLE regress_wt_app;
SELECT widetable.key_columns('visits');
SELECT widetable.require_key('visits', '{a}');
SELECT widetable.get('visits', ROW('a', '2026-01-01'));
SELECT widetable.put('visits_far', ROW('a', '2026-01-01'), 'n', 1);
RESET ROLE;
GRANT SELECT, INSERT, UPDATE, DELETE ON visits TO regress_wt_app;
SET ROLE regress_wt_app;
SELECT widetable.get('visits', ROW('a', '2026-01-01')), widetable.get('visits', ROW('h', '2026-01-01'));
SELECT widetable.put('visits', ROW('a', '2026-01-01'), 'd:other', 'x'::text), widetable.delete_row('visits', ROW('h', '2026-01-01'));
RESET ROLE;
-- the role of the user mapping has no rights there
DO $$ BEGIN EXECUTE format('CREATE USER MAPPING FOR regress_wt_app SERVER rt_loop OPTIONS (user %L, password_required ''false'')', 'regress_wt_app'); END $$;
ALTER ROLE regress_wt_app LOGIN;
GRANT USAGE ON SCHEMA rt_far TO regress_wt_app;
SET ROLE regress_wt_app;
SELECT widetable.get('visits', ROW('a', '2026-01-01'));
RESET ROLE;
GRANT SELECT ON rt_far.visits TO regress_wt_app;
SET ROLE regress_wt_app;
SELECT widetable.get('visits', ROW('a', '2026-01-01'));
SELECT widetable.increment('visits', ROW('a', '2026-01-01'), 'n');
RESET ROLE;
-- row security of the partitioned table is a condition of statements
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
SET ROLE regress_wt_app;
SELECT widetable.get('visits', ROW('a', '2026-01-01'));
SELECT widetable.get('visits', ROW('h', '2026-01-01'));
RESET ROLE;

DROP TABLE visits;
DROP PROCEDURE rt_all;
SET client_min_messages = warning;
DROP SCHEMA rt_far CASCADE;
DROP SERVER rt_loop CASCADE;
DROP EXTENSION postgres_fdw;
DROP ROLE regress_wt_app, regress_wt_some;
