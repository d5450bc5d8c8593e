-- indexes with option cell_ttl: cells of their columns may have a time to live of their own
SET timezone = 'UTC';
CREATE SCHEMA index_ttl;
SET search_path = index_ttl;
\set VERBOSITY default

CREATE FOREIGN TABLE session (id int, token text COLLATE "C", who text COLLATE "C", tags jsonb OPTIONS (family 'm'), note text OPTIONS (column 'n:note'))
	SERVER widetable OPTIONS (key 'id', families '{"d": {}, "m": {}, "n": {"versions": 3}}');
CREATE FOREIGN TABLE session_cell (id int, family text, qualifier text, ts timestamptz, value bytea)
	SERVER widetable OPTIONS (table_name 'index_ttl.session', key 'id', layout 'cells');
INSERT INTO session SELECT g, 't' || g, 'w' || g % 50, jsonb_build_object('n' || g % 40, g::text) FROM generate_series(100, 2000) g;
SELECT widetable.put('session', 1, 'd:token', 'built', ttl => '1 hour');
CREATE FOREIGN TABLE bad (token text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'token');
CREATE FOREIGN TABLE by_token (token text COLLATE "C", who text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'token', cell_ttl 'true');
CREATE FOREIGN TABLE by_who (who text COLLATE "C", token text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'who, token', cell_ttl 'true');
CREATE FOREIGN TABLE by_id (id int, who text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'id desc', cell_ttl 'true');
CREATE FOREIGN TABLE by_tag (tag text OPTIONS (qualifier_of 'tags') COLLATE "C", value text OPTIONS (value_of 'tags') COLLATE "C")
	SERVER widetable OPTIONS (index_of 'session', key 'tag, value', cell_ttl 'true');
ANALYZE session;

-- what a later reader sees (a setting for tests)
CREATE FUNCTION read_at(later interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN PERFORM set_config('widetable.clock', (now() + later)::text, false); END $$;
-- what the indexes find, and a scan does not, or the other way round; and the plan for one
CREATE FUNCTION differences(OUT which text, OUT id int) RETURNS SETOF record LANGUAGE plpgsql SET widetable.enable_index FROM CURRENT AS $$
DECLARE
	questions text[] = ARRAY['token = ''a''', 'token = ''b''', 'token >= ''a'' AND token < ''c''', 'token = ''built''', 'who = ''x''', 'who = ''y'' AND token = ''a''', 'who = ''x'' AND token IS NULL',
							 'id < 10', 'tags->>''k'' = ''v''', 'tags ? ''k'''];
	q text; with_index int[]; without int[];
BEGIN
	FOREACH q IN ARRAY questions LOOP
		SET LOCAL widetable.enable_index = on;
		EXECUTE 'SELECT array_agg(id ORDER BY id) FROM session WHERE ' || q INTO with_index;
		SET LOCAL widetable.enable_index = off;
		EXECUTE 'SELECT array_agg(id ORDER BY id) FROM session WHERE ' || q INTO without;
		IF with_index IS DISTINCT FROM without THEN
			which := q || ': ' || coalesce(with_index::text, '') || ' and ' || coalesce(without::text, '');
			RETURN NEXT;
		END IF;
	END LOOP;
	RETURN QUERY SELECT problem, NULL::int FROM widetable.verify('session');
END $$;
EXPLAIN (COSTS OFF) SELECT id FROM session WHERE token = 'a';
EXPLAIN (COSTS OFF) SELECT id FROM session WHERE who = 'y' AND token = 'a';

-- a value goes by itself
SELECT widetable.put('session', 2, 'd:token', 'a', ttl => '1 hour');
SELECT widetable.put('session', 2, 'd:who', 'x');
SELECT widetable.put('session', 3, 'd:token', 'a', ttl => '2 hours');
SELECT widetable.put('session', 3, 'd:who', 'y', ttl => '3 hours');
SELECT widetable.put('session', 4, 'm:k', 'v', ttl => '1 hour');
SELECT widetable.put('session', 4, 'm:other', 'v');
SELECT id FROM session WHERE token = 'a' ORDER BY id;
SELECT * FROM differences();
SELECT read_at('90 minutes');
SELECT id FROM session WHERE token = 'a' ORDER BY id;
SELECT * FROM differences();
SELECT read_at('150 minutes');
SELECT id, token FROM session WHERE who = 'y';
SELECT * FROM differences();
SELECT read_at('5 hours');
SELECT * FROM differences();
RESET widetable.clock;

-- the row changes before that: the value is younger, has another time to live, or none
SELECT widetable.put('session', 2, 'd:token', 'a', ttl => '4 hours');
UPDATE session SET who = 'z' WHERE id = 3;
UPDATE session SET token = 'b' WHERE id = 4;
SELECT widetable.put('session', 4, 'd:token', 'a', ttl => '1 hour');
BEGIN;
SELECT widetable.put('session', 5, 'd:token', 'b', ttl => '1 hour');
SAVEPOINT s;
UPDATE session SET token = 'a' WHERE id = 5;
ROLLBACK TO s;
SELECT id FROM session WHERE token = 'b';
COMMIT;
SELECT * FROM differences();
SELECT read_at('90 minutes');
SELECT id FROM session WHERE token IN ('a', 'b') ORDER BY id;
SELECT * FROM differences();
RESET widetable.clock;
-- what one before it was does not come back: there is one version
SELECT widetable.compact('session');
SELECT read_at('90 minutes');
SELECT token FROM session WHERE id = 4;
SELECT widetable.compact('session');
SELECT token FROM session WHERE id = 4;
SELECT * FROM differences();
RESET widetable.clock;
DELETE FROM session WHERE id IN (2, 5);
SELECT * FROM differences();

-- unique: a value that has expired may be taken again
CREATE FOREIGN TABLE one_token (token text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'token', "unique" 'true', cell_ttl 'true');
SELECT widetable.put('session', 7, 'd:token', 'a', ttl => '1 hour');
DROP FOREIGN TABLE one_token;
SELECT widetable.put('session', 7, 'd:token', 'a', ttl => '1 hour');
CREATE FOREIGN TABLE one_token (token text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'token', "unique" 'true', cell_ttl 'true');
SELECT widetable.delete_row('session', 7);
CREATE FOREIGN TABLE one_token (token text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'token', "unique" 'true', cell_ttl 'true');
SELECT widetable.put('session', 8, 'd:token', 'brief', ttl => '1 microsecond');
SELECT pg_sleep(0.001);
SELECT widetable.put('session', 9, 'd:token', 'brief', ttl => '1 hour');
SELECT * FROM differences();
DROP FOREIGN TABLE one_token;

-- what is refused
SELECT widetable.put('session', 3, 'd:token', 'c', ts => 1000);
SELECT widetable.put('session', 3, 'n:note', 'c', ts => 1000);    -- by_id has all rows
SELECT widetable.put('session', 8, 'd:token', 'brief', ts => 1000);    -- there was one that is not seen any more
SELECT widetable.put('session', 10, 'd:token', 'c', ts => (extract(epoch FROM now()) * 1000000)::bigint + 3600000000, ttl => '1 hour');
INSERT INTO session_cell VALUES (11, 'd', 'token', now() - interval '1 hour', 'b'), (11, 'd', 'who', now() - interval '2 hours', 'x');    -- it is new
SELECT * FROM differences();
DROP FOREIGN TABLE by_id;
SELECT widetable.put('session', 3, 'n:note', 'c', ts => 1000);
ALTER FOREIGN TABLE session OPTIONS (SET families '{"d": {"versions": 2}, "m": {}, "n": {"versions": 3}}');
CREATE FOREIGN TABLE bad (note text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'note', cell_ttl 'true');
CREATE FOREIGN TABLE bad (note text COLLATE "C") SERVER widetable OPTIONS (key 'note', cell_ttl 'true');
CREATE FOREIGN TABLE by_token_only (token text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'token');
DELETE FROM session WHERE id IN (1, 3, 9);
CREATE FOREIGN TABLE by_token_only (token text COLLATE "C") SERVER widetable OPTIONS (index_of 'session', key 'token');
SELECT widetable.put('session', 12, 'd:token', 'c', ttl => '1 hour');
SELECT widetable.put('session', 12, 'd:who', 'x', ttl => '1 hour');
DROP FOREIGN TABLE by_token_only;
CREATE FOREIGN TABLE by_token_kind (token text COLLATE "C", n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'session', key 'token');
SELECT widetable.put('session', 13, 'd:token', 'c', ttl => '1 hour');
DROP FOREIGN TABLE by_token_kind;
ALTER FOREIGN TABLE by_token OPTIONS (SET cell_ttl 'false');
SELECT widetable.delete_row('session', 12);
SELECT * FROM differences();
ALTER FOREIGN TABLE by_token OPTIONS (SET cell_ttl 'false');
EXPLAIN (COSTS OFF) SELECT token FROM session WHERE token = 'a';
SELECT * FROM differences();

\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA index_ttl CASCADE;
