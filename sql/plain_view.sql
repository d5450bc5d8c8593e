-- plain_view() makes a plain view of a wide table, for programs that do not list foreign tables.
SET client_min_messages = warning;
CREATE SCHEMA pv;
CREATE FOREIGN TABLE pv."Odd name" (k int, "a column" text, m jsonb OPTIONS (family 'm'))
  SERVER widetable OPTIONS (key 'k', families '{"d": {}, "m": {}}');
SELECT widetable.plain_view('pv."Odd name"');
INSERT INTO pv."Odd name_view" VALUES (1, 'one', '{"x": "1"}'), (2, 'two', NULL) RETURNING k;
UPDATE pv."Odd name_view" SET "a column" = 'TWO' WHERE k = 2;
DELETE FROM pv."Odd name_view" WHERE k = 1;
SELECT * FROM pv."Odd name";
-- the view pushes down what the table does
EXPLAIN (COSTS OFF) SELECT "a column" FROM pv."Odd name_view" WHERE k = 2;
SELECT table_name, table_type, is_insertable_into FROM information_schema.tables WHERE table_schema = 'pv' ORDER BY 1;
-- one column more: the view is recreated, and its grants stay
CREATE ROLE pv_reader;
GRANT USAGE ON SCHEMA pv TO pv_reader;
GRANT SELECT ON pv."Odd name_view" TO pv_reader;
ALTER FOREIGN TABLE pv."Odd name" DROP COLUMN m;
ALTER FOREIGN TABLE pv."Odd name" ADD COLUMN n int;
DROP VIEW pv."Odd name_view";
ALTER FOREIGN TABLE pv."Odd name" DROP COLUMN m;
SELECT widetable.plain_view('pv."Odd name"', 'odd');
GRANT SELECT ON pv.odd TO pv_reader;
ALTER FOREIGN TABLE pv."Odd name" ADD COLUMN o int;
SELECT widetable.plain_view('pv."Odd name"', 'odd');
\d pv.odd
-- the view reads with the privileges of the user who queries it
SET ROLE pv_reader;
SELECT * FROM pv.odd;
SELECT widetable.plain_view('pv."Odd name"');
RESET ROLE;
GRANT SELECT ON pv."Odd name" TO pv_reader;
SET ROLE pv_reader;
SELECT * FROM pv.odd;
INSERT INTO pv.odd (k, n) VALUES (3, 3);
RESET ROLE;
-- an existing object of that name is not replaced
CREATE TABLE pv.taken (k int);
SELECT widetable.plain_view('pv."Odd name"', 'taken');
CREATE VIEW pv.mine AS SELECT k FROM pv."Odd name" WHERE k > 1;
SELECT widetable.plain_view('pv."Odd name"', 'mine');
DROP VIEW pv.mine;
SELECT widetable.plain_view('pv.taken');
SELECT widetable.plain_view(NULL) IS NULL AS nothing;
DROP VIEW pv.odd;
DROP FOREIGN TABLE pv."Odd name";
DROP TABLE pv.taken;
DROP SCHEMA pv;
DROP ROLE pv_reader;
