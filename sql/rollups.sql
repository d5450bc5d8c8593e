-- Roll-ups: aggregates of a wide table by group, kept by the engine in the same transaction.
\set VERBOSITY default
CREATE SCHEMA roll;
SET search_path = roll, public;
SET timezone = 'UTC';

CREATE FOREIGN TABLE visits (cookie text COLLATE "C", at timestamptz, url text COLLATE "C", hits bigint,
	score double precision, tags jsonb OPTIONS (family 't'))
	SERVER widetable OPTIONS (key 'cookie, at desc');
INSERT INTO visits SELECT 'c' || i % 7, '2026-01-01'::timestamptz + i * interval '100 min',
	CASE WHEN i % 5 <> 0 THEN '/p' || i % 4 END, CASE WHEN i % 9 <> 0 THEN i END, i / 4.0, jsonb_build_object('k', i % 3)
	FROM generate_series(1, 60) i;

-- built of the rows that are there
CREATE FOREIGN TABLE by_day (url text COLLATE "C", day date OPTIONS (expr 'at::date'),
	n bigint OPTIONS (aggregate 'count(*)'), with_hits bigint OPTIONS (aggregate 'count(hits)'),
	hits bigint OPTIONS (aggregate 'sum(hits)'), score double precision OPTIONS (aggregate 'sum(score)'),
	visitors bigint OPTIONS (aggregate 'hll(cookie)'))
	SERVER widetable OPTIONS (rollup_of 'visits', key 'url, day desc');
-- what it states does not depend on search_path and time zone
SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'by_day'::regclass AND attnum > 0 ORDER BY attnum;
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'by_day'::regclass;
SELECT * FROM by_day WHERE day = '2026-01-02' ORDER BY url;

-- the same by a query; a sum whose values have gone is zero
CREATE VIEW expected AS SELECT url, at::date AS day, count(*) AS n, count(hits) AS with_hits,
	coalesce(sum(hits)::bigint, 0) AS hits, coalesce(sum(score), 0) AS score FROM visits GROUP BY 1, 2;
CREATE VIEW kept AS SELECT url, day, n, with_hits, coalesce(hits, 0) AS hits, coalesce(score, 0) AS score FROM by_day;
CREATE FUNCTION differences() RETURNS TABLE (what text, url text, day date, n bigint) LANGUAGE sql AS $$
	SELECT 'kept', url, day, n FROM (TABLE kept EXCEPT TABLE expected) x
	UNION ALL SELECT 'expected', url, day, n FROM (TABLE expected EXCEPT TABLE kept) x
	UNION ALL SELECT object || ': ' || problem, NULL, NULL, NULL FROM widetable.verify('visits') $$;
SELECT * FROM differences();

-- every change
INSERT INTO visits VALUES ('x', '2026-01-02', '/p1', 5, 1.5, '{"k": 1}'), ('x', '2026-01-03', '/new', NULL, NULL, NULL);
SELECT * FROM differences();
INSERT INTO visits (cookie, at, hits) VALUES ('x', '2026-01-02', 7);       -- over a row
SELECT * FROM differences();
COPY visits (cookie, at, url, hits) FROM stdin;
y	2026-01-02 10:00	/p1	3
y	2026-01-02 11:00	\N	4
\.
SELECT * FROM differences();
UPDATE visits SET hits = hits + 10 WHERE cookie = 'c2';
UPDATE visits SET hits = NULL WHERE cookie = 'c4';
UPDATE visits SET url = '/moved' WHERE cookie = 'c3';
UPDATE visits SET at = at + interval '1 day' WHERE cookie = 'c5';
UPDATE visits SET tags = '{"other": "column"}' WHERE cookie = 'c6';
SELECT * FROM differences();
DELETE FROM visits WHERE cookie = 'c1';
SELECT * FROM differences();
SELECT widetable.put('visits', ROW('q', '2026-02-02'::timestamptz), 'url', '/put'::text);
SELECT widetable.put('visits', ROW('q', '2026-02-02'::timestamptz), 'hits', 4::bigint);
SELECT widetable.increment('visits', ROW('q', '2026-02-02'::timestamptz), 'hits', 3);
SELECT n, with_hits, hits FROM by_day WHERE url = '/put';
SELECT widetable.put('visits', ROW('q', '2026-02-02'::timestamptz), 'hits', 1::bigint, 5);   -- below the newest
SELECT widetable.delete_column('visits', ROW('q', '2026-02-02'::timestamptz), 'url');
SELECT n, url, hits FROM by_day WHERE day = '2026-02-02';
SELECT widetable.delete_row('visits', ROW('q', '2026-02-02'::timestamptz));
SELECT * FROM by_day WHERE day = '2026-02-02';                           -- a group without rows is not shown
SELECT * FROM differences();

-- through other foreign tables on the stored table
CREATE FOREIGN TABLE visit_cells (cookie text COLLATE "C", at timestamptz, family text, qualifier text, ts bigint, value bytea)
	SERVER widetable OPTIONS (key 'cookie, at desc', layout 'cells', table_name 'roll.visits');
INSERT INTO visit_cells VALUES ('z', '2026-01-05', 'd', 'url', NULL, '/cells');
SELECT url, day, n FROM by_day WHERE url = '/cells';
DELETE FROM visit_cells WHERE cookie = 'z';
SELECT * FROM by_day WHERE url = '/cells';
SELECT * FROM differences();

-- savepoints, exception blocks, rollback
BEGIN;
SAVEPOINT a;
INSERT INTO visits VALUES ('s', '2026-03-01', '/savepoint', 1);
SELECT n FROM by_day WHERE url = '/savepoint';
ROLLBACK TO a;
SELECT n FROM by_day WHERE url = '/savepoint';
INSERT INTO visits VALUES ('s', '2026-03-01', '/savepoint', 2);
COMMIT;
SELECT n, hits FROM by_day WHERE url = '/savepoint';
DO $$ BEGIN
	DELETE FROM visits WHERE cookie = 's';
	RAISE EXCEPTION 'no';
EXCEPTION WHEN raise_exception THEN NULL;
END $$;
SELECT n, hits FROM by_day WHERE url = '/savepoint';
SELECT * FROM differences();

-- the planner reads it as any other table
EXPLAIN (COSTS OFF) SELECT * FROM by_day WHERE url = '/p1' AND day BETWEEN '2026-01-01' AND '2026-01-03';
EXPLAIN (COSTS OFF) SELECT sum(n) FROM by_day WHERE url = '/p1';
SELECT (SELECT sum(n) FROM by_day WHERE url = '/p1') = (SELECT count(*) FROM visits WHERE url = '/p1') AS same,
	(SELECT count(*) FROM by_day) = (SELECT count(*) FROM expected) AS same_groups;
SELECT count(*) FROM by_day WHERE url IS NULL;
-- NULL meets no condition, also none that all values meet
SELECT (SELECT count(*) FROM by_day WHERE url LIKE '%'), (SELECT count(*) FROM by_day WHERE starts_with(url, '')),
	(SELECT count(*) FROM by_day WHERE url ~ '^'), count(url) FROM by_day;

-- the time zone is that of the roll-up, also in a session with another one
SET timezone = 'America/Los_Angeles';
INSERT INTO visits VALUES ('tz', '2026-04-01 20:00', '/tz', 1);            -- the 2nd in UTC
SELECT day FROM by_day WHERE url = '/tz';
DELETE FROM visits WHERE cookie = 'tz';
SELECT * FROM by_day WHERE url = '/tz';
SET timezone = 'UTC';

-- min and max: of rows that are only inserted
CREATE FOREIGN TABLE extremes (cookie text COLLATE "C", first_at timestamptz OPTIONS (aggregate 'min(at)'),
	most bigint OPTIONS (aggregate 'max(hits)'), least double precision OPTIONS (aggregate 'min(score)'))
	SERVER widetable OPTIONS (rollup_of 'visits', key 'cookie');
SELECT count(*) FROM extremes e JOIN (SELECT cookie, min(at) AS a, max(hits) AS b, min(score) AS c FROM visits GROUP BY 1) v
	USING (cookie) WHERE (first_at, most, least) IS DISTINCT FROM (a, b, c);
INSERT INTO visits VALUES ('c0', '2025-01-01', NULL, 1000, -5);
SELECT * FROM extremes WHERE cookie = 'c0';
UPDATE visits SET hits = 2000 WHERE cookie = 'c0' AND at = '2025-01-01';   -- another value that is as large
SELECT * FROM extremes WHERE cookie = 'c0';
UPDATE visits SET url = '/elsewhere' WHERE cookie = 'c0' AND at = '2025-01-01';
UPDATE visits SET hits = 3 WHERE cookie = 'c0' AND at = '2025-01-01';
DELETE FROM visits WHERE cookie = 'c0';
SELECT * FROM differences();
DROP FOREIGN TABLE extremes;
DELETE FROM visits WHERE cookie = 'c0';
SELECT * FROM differences();

-- a sum of doubles cannot lose what would make it NaN for ever
BEGIN;
INSERT INTO visits VALUES ('nan', '2026-01-01', '/nan', 1, 'NaN'), ('nan', '2026-01-02', '/nan', 1, 'Infinity');
SAVEPOINT a;
DELETE FROM visits WHERE cookie = 'nan';
ROLLBACK TO a;
UPDATE visits SET score = 1 WHERE cookie = 'nan';
ROLLBACK;
SELECT * FROM differences();

-- names follow, and what it is of
ALTER FOREIGN TABLE visits RENAME COLUMN hits TO clicks;
ALTER FOREIGN TABLE visits RENAME COLUMN at TO seen;
INSERT INTO visits VALUES ('r', '2026-01-02', '/renamed', 5);
SELECT n, hits FROM by_day WHERE url = '/renamed';
SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'by_day'::regclass AND attname IN ('hits', 'day');
ALTER FOREIGN TABLE visits RENAME COLUMN clicks TO hits;
ALTER FOREIGN TABLE visits RENAME COLUMN seen TO at;
ALTER SCHEMA roll RENAME TO rolled;
SET search_path = rolled, public;
INSERT INTO visits VALUES ('r', '2026-01-03', '/renamed', 6);
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'by_day'::regclass;
SELECT * FROM differences();
ALTER SCHEMA rolled RENAME TO roll;
SET search_path = roll, public;

ALTER FOREIGN TABLE by_day RENAME COLUMN hits TO total;
ALTER FOREIGN TABLE by_day RENAME COLUMN n TO number;
INSERT INTO visits VALUES ('r', '2026-01-04', '/renamed', 7);
SELECT * FROM differences();
SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'by_day'::regclass AND attname IN ('total', 'number');
ALTER FOREIGN TABLE by_day ADD COLUMN hits bigint OPTIONS (aggregate 'sum(hits)');
ALTER FOREIGN TABLE by_day ALTER COLUMN total OPTIONS (SET column 'min:hits');
ALTER FOREIGN TABLE by_day RENAME COLUMN total TO hits;
ALTER FOREIGN TABLE by_day RENAME COLUMN number TO n;

-- rows that are written once: INSERT reads nothing
CREATE FOREIGN TABLE log (id bigint, kind text, size bigint) SERVER widetable OPTIONS (key 'id', immutable 'true');
CREATE FOREIGN TABLE log_kinds (kind text, n bigint OPTIONS (aggregate 'count(*)'), size bigint OPTIONS (aggregate 'sum(size)'))
	SERVER widetable OPTIONS (rollup_of 'log', key 'kind');
INSERT INTO log SELECT i, 'k' || i % 3, i FROM generate_series(1, 1000) i;
SELECT * FROM log_kinds;
SELECT * FROM widetable.verify('log');
-- what a promise that is not kept does is found
INSERT INTO log VALUES (1, 'k0', 1);
SELECT * FROM widetable.verify('log');

-- rows with a time to live still count when they have expired, and cannot be changed
CREATE FOREIGN TABLE short (id bigint, kind text) SERVER widetable OPTIONS (key 'id', families '{"d": {"ttl": "1 day"}}');
CREATE FOREIGN TABLE short_kinds (kind text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'short', key 'kind');
INSERT INTO short VALUES (1, 'a'), (2, 'a');
SELECT * FROM short_kinds;
DELETE FROM short WHERE id = 1;
UPDATE short SET kind = 'b' WHERE id = 1;
SELECT * FROM short_kinds;

-- writing to it, definitions that are refused
INSERT INTO by_day VALUES ('a', '2026-01-01', 1);
UPDATE by_day SET n = 1;
TRUNCATE by_day;
SELECT widetable.put('by_day', ROW('a', '2026-01-01'::date), 'n', 1::bigint);
CREATE FOREIGN TABLE bad (url text, n bigint) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url, n');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'median(hits)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (url text, n integer OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'sum(score)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'sum(nothing)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'sum(hits) FROM x')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (url text OPTIONS (expr 'url), (hits'), n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (url text OPTIONS (expr 'random()::text'), n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (url text OPTIONS (expr '(SELECT max(url) FROM roll.visits)'), n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
CREATE FOREIGN TABLE bad (day integer OPTIONS (expr 'at::date'), n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'day');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'by_day', key 'url');
CREATE FOREIGN TABLE bad (cookie text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visit_cells', key 'cookie');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'pg_class', key 'url');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url', families '{"x": {}}');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (key 'url');
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url', timezone 'Nowhere');
CREATE FOREIGN TABLE sums (k int, n bigint) SERVER widetable OPTIONS (key 'k', families '{"d": {"merge": "sum"}}');
CREATE FOREIGN TABLE bad (k int, n bigint OPTIONS (aggregate 'sum(n)')) SERVER widetable OPTIONS (rollup_of 'sums', key 'k');
-- ALTER of its columns builds it anew
BEGIN;
ALTER FOREIGN TABLE by_day ALTER COLUMN with_hits OPTIONS (SET aggregate 'max(hits)');
SELECT url, day, with_hits FROM by_day WHERE day = '2026-01-02' ORDER BY url;
SELECT * FROM widetable.verify('visits');
ROLLBACK;
SELECT * FROM differences();
-- and so does ALTER of its time zone
BEGIN;
ALTER FOREIGN TABLE by_day OPTIONS (SET timezone 'Asia/Tokyo');
SELECT * FROM widetable.verify('visits');
SELECT count(*) > 0 AS other_days FROM differences();
ALTER FOREIGN TABLE by_day OPTIONS (DROP timezone);
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'by_day'::regclass;
SELECT * FROM differences();
ROLLBACK;
SELECT * FROM differences();
CREATE ROLE roll_other;
GRANT USAGE ON FOREIGN SERVER widetable TO roll_other;
GRANT ALL ON SCHEMA roll TO roll_other;
GRANT ALL ON visits TO roll_other;
SET ROLE roll_other;
CREATE FOREIGN TABLE bad (url text, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');
SELECT count(*) FROM by_day;
-- who may change the table changes the roll-up, without a right to it
INSERT INTO visits VALUES ('o', '2026-01-02', '/other', 5);
RESET ROLE;
SELECT n FROM by_day WHERE url = '/other';
REVOKE ALL ON FOREIGN SERVER widetable FROM roll_other;
DROP OWNED BY roll_other;
DROP ROLE roll_other;

-- what an expression says depends neither on the settings of the session that writes it, nor on those of another one
BEGIN;
SET LOCAL datestyle = 'SQL, DMY';
CREATE FOREIGN TABLE halves (half text OPTIONS (expr 'CASE WHEN at < ''1/2/2026''::timestamptz THEN lower(url) END')
	COLLATE "C", n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'half');
COMMIT;
SELECT attfdwoptions FROM pg_attribute WHERE attrelid = 'halves'::regclass AND attnum = 1;
CREATE SCHEMA hijack;
CREATE FUNCTION hijack.lower(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'hijacked'::text $$;
\c
SET timezone = 'UTC';
SET search_path = hijack, pg_catalog, roll, public;
SET datestyle = 'SQL, DMY';
INSERT INTO visits VALUES ('hijack', '2026-01-20', '/HIJACK', 5);
RESET datestyle;
SET search_path = roll, public;
SELECT * FROM halves WHERE half LIKE '%hijack%';
SELECT * FROM differences();
DROP SCHEMA hijack CASCADE;
DROP FOREIGN TABLE halves;
CREATE FOREIGN TABLE bad (url text OPTIONS (expr 'url) HAVING (true'), n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'visits', key 'url');

-- functions in expressions have the rights of the table's owner when it is built or compared, and no others when an index is
CREATE ROLE roll_owner;
GRANT USAGE ON FOREIGN SERVER widetable TO roll_owner;
GRANT ALL ON SCHEMA roll TO roll_owner;
SET ROLE roll_owner;
CREATE TABLE callers (name text);
CREATE FUNCTION note() RETURNS int LANGUAGE sql VOLATILE AS $$ INSERT INTO roll.callers VALUES (current_user) RETURNING 0 $$;
CREATE FUNCTION noted(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM roll.note(); RETURN x; END $$;
CREATE FOREIGN TABLE owned (id int, v int) SERVER widetable OPTIONS (key 'id');
INSERT INTO owned SELECT i, i FROM generate_series(1, 5) i;
CREATE FOREIGN TABLE owned_kinds (k int OPTIONS (expr 'noted(v) % 2 + noted(0)'), n bigint OPTIONS (aggregate 'count(*)'))
	SERVER widetable OPTIONS (rollup_of 'owned', key 'k');
RESET ROLE;
\c
SET timezone = 'UTC';
SET search_path = roll, public;
SELECT count(*) FROM owned;
SELECT * FROM widetable.verify('owned');
ALTER FOREIGN TABLE owned OPTIONS (ADD families '{"d": {"versions": 3}}');
CREATE FOREIGN TABLE owned_v (v int, id int) SERVER widetable OPTIONS (index_of 'owned', key 'v', build 'online');
DO $$ BEGIN
	FOR i IN 1 .. 600 LOOP
		EXIT WHEN EXISTS (SELECT FROM pg_foreign_table WHERE ftrelid = 'roll.owned_v'::regclass AND NOT ftoptions::text LIKE '%progress%');
		PERFORM pg_sleep(0.05);
	END LOOP;
END $$;
SELECT DISTINCT name FROM callers;
SELECT * FROM owned_kinds;
SELECT * FROM widetable.verify('owned');
DROP FOREIGN TABLE owned CASCADE;
DROP FUNCTION noted, note;
DROP TABLE callers;
REVOKE ALL ON FOREIGN SERVER widetable FROM roll_owner;
DROP OWNED BY roll_owner;
DROP ROLE roll_owner;

-- what expressions name besides columns may be renamed
CREATE SCHEMA tools;
CREATE TYPE tools.mood AS ENUM ('low', 'high');
CREATE FUNCTION tools.mood_of(x int) RETURNS tools.mood LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN CASE WHEN x > 5 THEN 'high' ELSE 'low' END; END $$;
CREATE FUNCTION tools.is_high(m tools.mood) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN m::text = 'high'; END $$;
CREATE FOREIGN TABLE tools.day (id int, v int) SERVER widetable OPTIONS (key 'id');
CREATE FOREIGN TABLE tools.day_mood (high bool OPTIONS (expr 'tools.is_high(tools.mood_of(v))'), n bigint OPTIONS (aggregate 'count(*)'),
	highs bigint OPTIONS (aggregate 'count(nullif(tools.mood_of(v), ''low''::tools.mood))')) SERVER widetable OPTIONS (rollup_of 'tools.day', key 'high');
INSERT INTO tools.day VALUES (1, 1), (2, 9);
CREATE VIEW day_options AS SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'tools.day_mood'::regclass AND attnum > 0 ORDER BY attnum;
ALTER FUNCTION tools.is_high RENAME TO "Is high";
ALTER TYPE tools.mood RENAME TO "Mood";
INSERT INTO tools.day VALUES (3, 10);
SELECT * FROM day_options;
CREATE SCHEMA other_tools;
ALTER FUNCTION tools."Is high" SET SCHEMA other_tools;
BEGIN;
ALTER SCHEMA other_tools RENAME TO "Other tools";
INSERT INTO tools.day VALUES (4, 11);
SELECT * FROM day_options;
ROLLBACK;
ALTER SCHEMA tools RENAME TO craft;
UPDATE craft.day SET v = 2 WHERE id = 2;
SELECT * FROM day_options;
SELECT * FROM craft.day_mood;
SELECT * FROM widetable.verify('craft.day');
DO $$ BEGIN ALTER FUNCTION craft.mood_of RENAME TO mood_from; END $$;
INSERT INTO craft.day VALUES (5, 12);
SELECT * FROM day_options WHERE attname = 'high';
-- one that names what is not there is in nobody's way, and works again when it is
SET session_replication_role = replica;    -- no event triggers
ALTER FUNCTION craft.mood_from RENAME TO gone;
RESET session_replication_role;
CREATE FUNCTION unrelated() RETURNS int LANGUAGE sql AS 'SELECT 1';
ALTER FUNCTION unrelated RENAME TO unrelated_too;
DROP FUNCTION unrelated_too;
ALTER FUNCTION craft.gone RENAME TO mood_from;
INSERT INTO craft.day VALUES (6, 13);
SELECT * FROM craft.day_mood;
SELECT * FROM widetable.verify('craft.day');
DROP VIEW day_options;
DROP SCHEMA craft, other_tools CASCADE;

-- a query must not decide which rows exist
CREATE FOREIGN TABLE vague (id int, v int) SERVER widetable OPTIONS (key 'id', existence 'projected');
CREATE FOREIGN TABLE vague_v (v int, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'vague', key 'v');
ALTER FOREIGN TABLE vague OPTIONS (DROP existence);
CREATE FOREIGN TABLE vague_v (v int, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'vague', key 'v');
ALTER FOREIGN TABLE vague OPTIONS (ADD existence 'projected');
DROP FOREIGN TABLE vague;

-- the end: with the table, with a column, by itself
TRUNCATE visits;
SELECT count(*) FROM by_day;
INSERT INTO visits VALUES ('t', '2026-01-02', '/truncated', 5);
SELECT n FROM by_day WHERE url = '/truncated';
SELECT * FROM differences();
DROP FUNCTION differences();
DROP VIEW kept, expected;
ALTER FOREIGN TABLE visits DROP COLUMN score;
SELECT to_regclass('by_day') IS NULL AS dropped;
INSERT INTO visits VALUES ('t', '2026-01-03', '/truncated', 5);
DROP FOREIGN TABLE log;
SELECT to_regclass('log_kinds') IS NULL AS dropped;
\set VERBOSITY terse
DROP SCHEMA roll CASCADE;
