-- tables of run.sh; keys: of the random ones
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS widetable;
DROP TABLE IF EXISTS hot_heap, random_heap, visits_heap, visits_cells, point_heap;
DROP FOREIGN TABLE IF EXISTS hot_wide, random_wide, visits_wide, point_wide;

CREATE TABLE hot_heap (k int PRIMARY KEY, n bigint);
INSERT INTO hot_heap VALUES (1, 0);
CREATE FOREIGN TABLE hot_wide (k int, n bigint) SERVER widetable OPTIONS (key 'k');
INSERT INTO hot_wide VALUES (1, 0);

CREATE TABLE random_heap (k int PRIMARY KEY, n bigint);
CREATE FOREIGN TABLE random_wide (k int, n bigint) SERVER widetable OPTIONS (key 'k');
INSERT INTO random_heap SELECT g, 0 FROM generate_series(1, :keys) g;
INSERT INTO random_wide SELECT g, 0 FROM generate_series(1, :keys) g;

-- a visit: who, when (drawn by the script), and five cells
CREATE TABLE visits_heap (id bigint PRIMARY KEY, url text, ip text, agent text, status int, ms int);
CREATE TABLE visits_cells (row bigint, family text, qualifier text, ts bigint, value text,
	PRIMARY KEY (row, family, qualifier, ts));
CREATE FOREIGN TABLE visits_wide (id bigint, url text, ip text, agent text, status int, ms int)
	SERVER widetable OPTIONS (key 'id');

CREATE TABLE point_heap (k int PRIMARY KEY, n bigint, v text);
CREATE FOREIGN TABLE point_wide (k int, n bigint, v text) SERVER widetable OPTIONS (key 'k');
INSERT INTO point_heap SELECT g, 0, md5(g::text) FROM generate_series(1, :keys) g;
INSERT INTO point_wide SELECT g, 0, md5(g::text) FROM generate_series(1, :keys) g;
SET client_min_messages = warning;
VACUUM ANALYZE hot_heap, random_heap, visits_heap, visits_cells, point_heap;
ANALYZE hot_wide, random_wide, point_wide;
