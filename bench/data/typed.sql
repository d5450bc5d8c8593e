-- Users with ten columns of several types, of which about four have a value, in order of the key, and
-- narrow rows of seven small numbers.
CREATE FOREIGN TABLE typed_wide (
    id bigint, name text, city text, age int, score float8, born date, at timestamptz, vip bool, points bigint, level int, note text
) SERVER widetable OPTIONS (key 'id', families '{"u": {}}');
CREATE TABLE typed_cols (
    id bigint PRIMARY KEY, name text, city text, age int, score float8, born date, at timestamptz, vip bool, points bigint, level int, note text
);
CREATE FOREIGN TABLE narrow_wide (k bigint, a int, b int, c int, d int, e int, f int, g int) SERVER widetable OPTIONS (key 'k', families '{"n": {}}');
CREATE TABLE narrow_cols (k bigint PRIMARY KEY, a int, b int, c int, d int, e int, f int, g int);
INSERT INTO typed_cols
SELECT i, CASE WHEN i % 3 <> 0 THEN 'name ' || i END, CASE WHEN i % 5 <> 0 THEN 'city ' || i % 50 END, CASE WHEN i % 2 = 0 THEN i % 90 END,
       CASE WHEN i % 4 <> 0 THEN i % 1000 / 8.0 END, CASE WHEN i % 3 = 0 THEN date '1980-01-01' + (i % 9000)::int END,
       CASE WHEN i % 2 = 1 THEN timestamptz '2026-01-01 00:00+00' + i * interval '1 second' END, CASE WHEN i % 4 = 0 THEN i % 8 = 0 END,
       CASE WHEN i % 3 = 1 THEN i * 3 END, CASE WHEN i % 7 = 0 THEN i % 1000 END, CASE WHEN i % 10 = 0 THEN 'note ' || i END
FROM generate_series(0::bigint, :visits - 1) i;
INSERT INTO typed_wide SELECT * FROM typed_cols;
INSERT INTO narrow_cols SELECT i, i % 7, i % 11, i % 13, i % 17, i % 19, i % 23, i % 29 FROM generate_series(0::bigint, :visits / 3 - 1) i;
INSERT INTO narrow_wide SELECT * FROM narrow_cols;
