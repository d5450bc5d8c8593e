-- roll-ups with option follow_ttl: rows that expire do not count any more
SET timezone = 'UTC';
CREATE SCHEMA roll_ttl;
SET search_path = roll_ttl;
\set VERBOSITY default

CREATE FOREIGN TABLE event (id text COLLATE "C", kind text COLLATE "C", n bigint, price double precision)
	SERVER widetable OPTIONS (key 'id', families '{"d": {"ttl": "1 hour"}}');
CREATE FOREIGN TABLE event_cell (id text COLLATE "C", family text, qualifier text, ts timestamptz, value bytea)
	SERVER widetable OPTIONS (table_name 'roll_ttl.event', key 'id', layout 'cells');
INSERT INTO event VALUES ('built', 'a', 1, 0.5);
CREATE FOREIGN TABLE event_kind (kind text COLLATE "C", rows bigint OPTIONS (aggregate 'count(*)'), ns bigint OPTIONS (aggregate 'count(n)'),
	n bigint OPTIONS (aggregate 'sum(n)'), price double precision OPTIONS (aggregate 'sum(price)'))
	SERVER widetable OPTIONS (rollup_of 'event', key 'kind', follow_ttl 'true');
CREATE FOREIGN TABLE event_most (kind text COLLATE "C", least bigint OPTIONS (aggregate 'min(n)'), most bigint OPTIONS (aggregate 'max(n)'))
	SERVER widetable OPTIONS (rollup_of 'event', key 'kind', follow_ttl 'true');

CREATE VIEW expected AS SELECT kind, count(*) AS rows, count(n) AS ns, sum(n)::bigint AS n, sum(price) AS price FROM event GROUP BY kind;
-- groups that differ between the roll-up and the rows, as one snapshot sees them
CREATE FUNCTION differences(OUT which text, OUT kind text) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT 'missing', kind FROM (SELECT * FROM expected EXCEPT SELECT * FROM event_kind) m UNION ALL
	SELECT 'too many', kind FROM (SELECT * FROM event_kind EXCEPT SELECT * FROM expected) m UNION ALL
	SELECT problem, NULL FROM widetable.verify('event') $$;
-- a row whose cells are so old
CREATE PROCEDURE put_old(id text, kind text, n bigint, age interval) LANGUAGE sql AS $$
	INSERT INTO event_cell SELECT id, 'd', q, now() - age, v
		FROM (VALUES ('kind', kind::bytea), ('n', int8send(n)), ('price', float8send(1))) c(q, v) WHERE v IS NOT NULL $$;
-- what a later reader sees (a setting for tests)
CREATE FUNCTION read_at(later interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN PERFORM set_config('widetable.clock', (now() + later)::text, false); END $$;

SELECT * FROM event_kind;
INSERT INTO event VALUES ('i1', 'a', 2, 1), ('i2', 'b', NULL, 1), ('i3', NULL, 5, 1);
CALL put_old('o1', 'a', 10, '50 minutes');
CALL put_old('o2', 'old', 20, '50 minutes');
CALL put_old('o3', 'a', 100, '70 minutes');    -- has expired already
SELECT * FROM event_kind;
SELECT * FROM event_most;
SELECT * FROM differences();
SELECT kind, min(n), max(n) FROM event GROUP BY kind EXCEPT SELECT * FROM event_most;

-- the old ones go first, then all; a group goes with its last row
SELECT read_at('20 minutes');
SELECT * FROM event_kind;
SELECT * FROM event_most;
SELECT * FROM differences();
SELECT kind, min(n), max(n) FROM event GROUP BY kind EXCEPT SELECT * FROM event_most;
SELECT read_at('2 hours');
SELECT * FROM event_kind;
SELECT * FROM differences();
RESET widetable.clock;

-- a row goes: what it has added goes now, and its expiry changes nothing
DELETE FROM event WHERE id = 'o1';    -- it may be an extreme
DROP FOREIGN TABLE event_most;
DELETE FROM event WHERE id = 'o1';
SELECT * FROM event_kind WHERE kind = 'a';
SELECT read_at('20 minutes');
SELECT * FROM event_kind WHERE kind = 'a';
RESET widetable.clock;

-- a row is written again as a whole: it lives longer
CREATE FOREIGN TABLE event_most (kind text COLLATE "C", least bigint OPTIONS (aggregate 'min(n)'), most bigint OPTIONS (aggregate 'max(n)'))
	SERVER widetable OPTIONS (rollup_of 'event', key 'kind', follow_ttl 'true');
INSERT INTO event VALUES ('o2', 'old', 20, 1);    -- it may be an extreme
DROP FOREIGN TABLE event_most;
INSERT INTO event VALUES ('o2', 'old', 20, 1);
SELECT * FROM event_kind WHERE kind = 'old';
SELECT read_at('20 minutes');
SELECT * FROM event_kind WHERE kind = 'old';
SELECT * FROM event WHERE kind = 'old';
RESET widetable.clock;

-- moves to another group, twice in one transaction, with savepoints
CALL put_old('m', 'from', 7, '50 minutes');
BEGIN;
INSERT INTO event VALUES ('m', 'via', 8, 1);
SELECT * FROM event_kind WHERE n IN (7, 8);
SAVEPOINT s;
DELETE FROM event WHERE id = 'm';
ROLLBACK TO s;
INSERT INTO event VALUES ('m', 'to', 9, 1);
SELECT * FROM event_kind WHERE n IN (7, 8, 9);
COMMIT;
SELECT * FROM event_kind WHERE n IN (7, 8, 9);
SELECT read_at('20 minutes');
SELECT * FROM event_kind WHERE kind IN ('from', 'via', 'to');
SELECT * FROM differences();
RESET widetable.clock;

-- what makes cells of one row expire at different times
UPDATE event SET n = 3 WHERE id = 'i1';
SELECT widetable.put('event', 'i1', 'd:n', 3);
SELECT widetable.put('event', 'i1', 'd:other', 3);
INSERT INTO event (id, n) VALUES ('i1', 3);
SELECT widetable.put('event', 'p', 'd:n', 3, ttl => '5 minutes');
INSERT INTO event_cell VALUES ('later', 'd', 'kind', now(), 'a'), ('later', 'd', 'n', now() - interval '1 minute', int8send(1));
-- in a transaction it may become whole again
BEGIN;
INSERT INTO event VALUES ('whole', 'w', 1, 1);
UPDATE event SET n = 3 WHERE id = 'whole';
SELECT * FROM event_kind WHERE kind = 'w';
COMMIT;
SELECT * FROM event WHERE id = 'i1';
SELECT * FROM differences();

-- COPY; flushed and compacted
COPY event FROM stdin;
c1	a	100	0.25
c2	c	\N	0.25
\.
SELECT widetable.flush('event_kind');
CALL put_old('c3', 'c', 1, '50 minutes');
SELECT widetable.flush('event_kind');
SELECT widetable.compact('event_kind');
SELECT * FROM event_kind WHERE kind IN ('a', 'c');
SELECT read_at('20 minutes');
SELECT widetable.compact('event_kind');
SELECT * FROM event_kind WHERE kind IN ('a', 'c');
RESET widetable.clock;

-- another time to live: rows that have expired do not come back, the others live as long as the option says now
ALTER FOREIGN TABLE event OPTIONS (SET families '{"d": {"ttl": "3 hours"}}');
SELECT * FROM differences();
SELECT read_at('1 hour');
SELECT * FROM event_kind WHERE kind IN ('a', 'c');
SELECT * FROM differences();
RESET widetable.clock;
INSERT INTO event VALUES ('after', 'a', 1000, 1);
SELECT read_at('170 minutes');
SELECT * FROM event_kind WHERE kind = 'a';
SELECT * FROM differences();
RESET widetable.clock;

-- what is refused: other families, and what cannot follow
ALTER FOREIGN TABLE event OPTIONS (SET families '{"d": {}}');
ALTER FOREIGN TABLE event OPTIONS (SET families '{"d": {"ttl": "3 hours", "min_versions": 1}}');
ALTER FOREIGN TABLE event OPTIONS (SET families '{"d": {"ttl": "3 hours"}, "e": {"ttl": "2 hours"}}');
ALTER FOREIGN TABLE event OPTIONS (SET families '{"d": {"ttl": "3 hours"}, "e": {"ttl": "3 hours"}}');
CREATE FOREIGN TABLE event_f (id text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'roll_ttl.event', key 'id', families '{"f": {}}');
CREATE FOREIGN TABLE bad (kind text COLLATE "C", n bigint OPTIONS (aggregate 'hll(id)')) SERVER widetable OPTIONS (rollup_of 'event', key 'kind', follow_ttl 'true');
CREATE FOREIGN TABLE bad (kind text COLLATE "C") SERVER widetable OPTIONS (key 'kind', follow_ttl 'true');
CREATE FOREIGN TABLE bad (kind text COLLATE "C", n bigint) SERVER widetable OPTIONS (index_of 'event', key 'n', follow_ttl 'true');
INSERT INTO event VALUES ('last', 'l', 1, 1);
SELECT * FROM differences();

-- a table with cells of several timestamps has none
ALTER FOREIGN TABLE event_kind OPTIONS (DROP follow_ttl);
SELECT count(*) FROM event_kind;
DROP FOREIGN TABLE event_kind;
SELECT pg_sleep(0.001);
UPDATE event SET n = 4 WHERE id = 'last';
CREATE FOREIGN TABLE event_kind (kind text COLLATE "C", rows bigint OPTIONS (aggregate 'count(*)'))
	SERVER widetable OPTIONS (rollup_of 'event', key 'kind', follow_ttl 'true');
DELETE FROM event WHERE id = 'last';
-- nor has one of which a cell has a time to live of its own, also if no column shows it
SELECT widetable.put('event', 'own', 'd:other', 1, ttl => '5 minutes');
CREATE FOREIGN TABLE event_kind (kind text COLLATE "C", rows bigint OPTIONS (aggregate 'count(*)'))
	SERVER widetable OPTIONS (rollup_of 'event', key 'kind', follow_ttl 'true');
DELETE FROM event WHERE id = 'own';
CREATE FOREIGN TABLE event_kind (kind text COLLATE "C", rows bigint OPTIONS (aggregate 'count(*)'))
	SERVER widetable OPTIONS (rollup_of 'event', key 'kind');
ALTER FOREIGN TABLE event_kind OPTIONS (ADD follow_ttl 'true');
SELECT * FROM event_kind;
SELECT read_at('10 hours');
SELECT * FROM event_kind;
RESET widetable.clock;

\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA roll_ttl CASCADE;
