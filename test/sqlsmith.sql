-- The schema of test/sqlsmith: wide and ordinary tables, partitions and a view.
CREATE DATABASE smith;
CREATE ROLE smith LOGIN;
\c smith
SET client_min_messages = warning;
CREATE EXTENSION widetable;
CREATE TABLE plain (id int PRIMARY KEY, a text, b bigint, c numeric, d timestamptz, e bool);
INSERT INTO plain SELECT i, 'a' || (i % 37), i * 7, i / 3.0, '2024-01-01'::timestamptz + i * '1 hour'::interval, i % 2 = 0
    FROM generate_series(1, 400) i;
CREATE FOREIGN TABLE w1 (k text COLLATE "C", at timestamptz, url text, n int, big bigint OPTIONS (column 'c:big'),
    num numeric OPTIONS (column 'c:num'), f float8, ok bool, m jsonb OPTIONS (family 'm'))
    SERVER widetable OPTIONS (key 'k, at desc', families '{"d": {"versions": 3}, "c": {}, "m": {}}');
INSERT INTO w1 SELECT 'k' || (i % 50), '2024-01-01'::timestamptz + i * '1 minute'::interval, CASE WHEN i % 3 > 0 THEN 'u' || i END,
    i, i * 1000, i / 7.0, i / 2.0, i % 2 = 0, CASE WHEN i % 4 = 0 THEN jsonb_build_object('x', i::text, 'y', 'z') END
    FROM generate_series(1, 1000) i;
CREATE FOREIGN TABLE w1c (k text COLLATE "C", at timestamptz, family text, qualifier text, ts timestamptz, value bytea, version int)
    SERVER widetable OPTIONS (table_name 'public.w1', key 'k, at desc', layout 'cells');
CREATE FOREIGN TABLE w2 (id int, sub int, name text, born date, u uuid, b bytea)
    SERVER widetable OPTIONS (key 'id, sub', salt_buckets '3');
INSERT INTO w2 SELECT i % 100, i, 'n' || (i % 11), '2000-01-01'::date + i, md5(i::text)::uuid, decode(md5(i::text), 'hex')
    FROM generate_series(1, 500) i;
CREATE TABLE parts (id int, v text) PARTITION BY RANGE (id);
CREATE TABLE parts_h PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE FOREIGN TABLE parts_w PARTITION OF parts FOR VALUES FROM (100) TO (1000) SERVER widetable;
INSERT INTO parts SELECT i, 'v' || i FROM generate_series(0, 300) i;
CREATE VIEW vw AS SELECT w1.k, w1.n, w2.name, plain.a FROM w1 JOIN w2 ON w1.n = w2.id LEFT JOIN plain ON plain.id = w2.sub;
ANALYZE;
GRANT ALL ON ALL TABLES IN SCHEMA public TO smith;
GRANT ALL ON SCHEMA public TO smith;
