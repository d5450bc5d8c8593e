-- Online changes of a family's options: what was hidden stays hidden and what
-- was visible stays visible, whether the data is in memory, in files or
-- compacted, and whether the changing transaction has ended or not.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TEMP TABLE seen (n serial, name text, stage text, answer text);

-- play() runs one case: a transaction for each element of `before`, then the changes, then the question.
-- {t} stands for the table; an element that begins with { is a new value of the family's options.
CREATE FUNCTION pg_temp.say(ours text, s text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF s LIKE '{"%' THEN
		s := format('ALTER FOREIGN TABLE {t} OPTIONS (SET families %L)', '{"d": ' || s || '}');
	END IF;
	EXECUTE replace(s, '{t}', ours);
END $$;
CREATE PROCEDURE pg_temp.play(name text, families text, before text[], change text[], question text)
LANGUAGE plpgsql AS $$
DECLARE
	s text;
	answer text;
	state text;
	ours text := 'fc_' || name;
BEGIN
	FOREACH state IN ARRAY '{memory,flushed,compacted,one transaction}'::text[] LOOP
		EXECUTE format('CREATE FOREIGN TABLE %I (k text COLLATE "C", v text) SERVER widetable OPTIONS (families %L)',
					   ours, '{"d": ' || families || '}');
		COMMIT;
		FOREACH s IN ARRAY before LOOP
			PERFORM pg_temp.say(ours, s);
			COMMIT;
		END LOOP;
		FOREACH s IN ARRAY change LOOP
			IF state = 'flushed' THEN
				PERFORM widetable.flush();
			ELSIF state = 'compacted' THEN
				PERFORM widetable.compact(ours::regclass);
			END IF;
			PERFORM pg_temp.say(ours, s);
			IF state <> 'one transaction' THEN
				COMMIT;
			END IF;
		END LOOP;
		EXECUTE replace(question, '{t}', ours) INTO answer;
		INSERT INTO seen (name, stage, answer) VALUES (name, state, answer);
		COMMIT;
		EXECUTE replace(question, '{t}', ours) INTO answer;
		INSERT INTO seen (name, stage, answer) VALUES (name, state || ', then committed', answer);
		PERFORM widetable.flush();
		COMMIT;
		EXECUTE replace(question, '{t}', ours) INTO answer;
		INSERT INTO seen (name, stage, answer) VALUES (name, state || ', then flushed', answer);
		PERFORM widetable.compact(ours::regclass);
		COMMIT;
		EXECUTE replace(question, '{t}', ours) INTO answer;
		INSERT INTO seen (name, stage, answer) VALUES (name, state || ', then compacted', answer);
		EXECUTE format('DROP FOREIGN TABLE %I', ours);
		COMMIT;
	END LOOP;
END $$;

\set versions '''SELECT string_agg(convert_from(value, ''''UTF8'''') || ''''@'''' || ts, '''' '''') FROM widetable.cells(''''{t}'''', ''''a'''', 9)'''

-- Ten changes that only add: no version is lost.
CALL pg_temp.play('more_versions', '{"versions": 1}', ARRAY[]::text[],
  '{"{\"versions\": 5}", "SELECT widetable.put(''{t}'', ''a'', ''v'', ''v'' || n, n) FROM generate_series(1, 5) n",
    "{\"versions\": 6}", "{\"versions\": 7}", "{\"versions\": 8}", "{\"versions\": 9}"}', :versions);
CALL pg_temp.play('longer_ttl', '{"ttl": "1 hour"}', ARRAY[]::text[],
  '{"{\"ttl\": \"1 year\"}",
    "SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', (extract(epoch FROM now()) * 1000000 - 86400000000.0)::bigint)",
    "{\"ttl\": \"2 years\"}", "{\"ttl\": \"3 years\"}", "{\"ttl\": \"4 years\"}", "{\"ttl\": \"5 years\"}",
    "{\"ttl\": \"6 years\"}"}', 'SELECT v FROM {t}');

-- keep_deleted: an earlier delete hides at every time, a later one only from its own time on.
CALL pg_temp.play('keep', '{}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 10)", "SELECT widetable.delete_column(''{t}'', ''a'', ''v'', 20)"}',
  '{"{\"keep_deleted\": true}"}',
  'SELECT count(*) FROM widetable.cells(''{t}'', ''a'', 9, until => 15)');
CALL pg_temp.play('keep_off_on', '{"keep_deleted": true}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 10)", "SELECT widetable.delete_column(''{t}'', ''a'', ''v'', 20)"}',
  '{"{\"keep_deleted\": false}", "{\"keep_deleted\": true}"}',
  'SELECT count(*) FROM widetable.cells(''{t}'', ''a'', 9, until => 15)');

-- min_versions does not bring back expired versions; versions that it protected go when it is lowered, not before.
CALL pg_temp.play('more_min', '{"ttl": "10 seconds"}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 1000)"}', '{"{\"ttl\": \"10 seconds\", \"min_versions\": 1}"}', :versions);
CALL pg_temp.play('more_min_2', '{"ttl": "10 seconds", "min_versions": 1, "versions": 3}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 1000)", "SELECT widetable.put(''{t}'', ''a'', ''v'', ''y'', 2000)"}',
  '{"{\"ttl\": \"10 seconds\", \"min_versions\": 2, \"versions\": 3}"}', :versions);
CALL pg_temp.play('more_min_then_delete', '{"ttl": "10 seconds", "min_versions": 1, "versions": 3}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 1000)", "SELECT widetable.put(''{t}'', ''a'', ''v'', ''y'', 2000)"}',
  '{"{\"ttl\": \"10 seconds\", \"min_versions\": 2, \"versions\": 3}", "SELECT widetable.delete_version(''{t}'', ''a'', ''v'', 2000)"}',
  :versions);
CALL pg_temp.play('no_ttl_no_min', '{"ttl": "10 seconds", "min_versions": 1}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 1000)"}', '{"{\"ttl\": null, \"min_versions\": 0}"}', :versions);
CALL pg_temp.play('no_ttl_then_no_min', '{"ttl": "10 seconds", "min_versions": 1}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 1000)"}',
  '{"{\"ttl\": null, \"min_versions\": 1}", "{\"min_versions\": 0}"}', :versions);

-- Fewer versions: only versions that are alive at the time of the change count.
CALL pg_temp.play('fewer', '{"versions": 3}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''a'', 10)", "SELECT widetable.put(''{t}'', ''a'', ''v'', ''b'', 20)",
    "SELECT widetable.delete_version(''{t}'', ''a'', ''v'', 20)"}', '{"{\"versions\": 1}"}', :versions);
CALL pg_temp.play('fewer_and_more', '{"versions": 3}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''v'' || n, n) FROM generate_series(1, 3) n"}',
  '{"{\"versions\": 1}", "{\"versions\": 3}"}', :versions);
CALL pg_temp.play('expired_and_not', '{}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 1000)"}',
  '{"{\"ttl\": \"00:00:00.000001\"}", "{\"ttl\": null}"}', 'SELECT v FROM {t}');

-- A transaction that writes before it changes the options.
CALL pg_temp.play('written_before', '{"versions": 1}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''old'', 1)"}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 2)", "{\"versions\": 3}",
    "SELECT widetable.put(''{t}'', ''a'', ''v'', ''y'', 3)"}', :versions);

-- keep_deleted and deletes without a timestamp: they take effect at their commit.
CALL pg_temp.play('untimed', '{"keep_deleted": true, "versions": 3}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 10)"}',
  '{"SELECT widetable.delete_column(''{t}'', ''a'', ''v'')", "SELECT widetable.put(''{t}'', ''a'', ''v'', ''y'', 20)",
    "UPDATE {t} SET v = NULL"}',
  'SELECT concat((SELECT count(*) FROM widetable.cells(''{t}'', ''a'', 9) WHERE qualifier = ''v''), '' now, '',
     (SELECT count(*) FROM widetable.cells(''{t}'', ''a'', 9, until => 4102444800000000) WHERE qualifier = ''v''), '' in 2100, '',
     (SELECT string_agg(convert_from(value, ''UTF8''), '' '') FROM widetable.cells(''{t}'', ''a'', 9, until => 1000000)), '' in 1970'')');
CALL pg_temp.play('untimed_row', '{"keep_deleted": true}',
  '{"SELECT widetable.put(''{t}'', ''a'', ''v'', ''x'', 10)"}', '{"DELETE FROM {t}"}',
  'SELECT concat((SELECT count(*) FROM widetable.cells(''{t}'', ''a'', 9)), '' now, '',
     (SELECT count(*) FROM widetable.cells(''{t}'', ''a'', 9, until => 4102444800000000)), '' in 2100, '',
     (SELECT count(*) FROM widetable.cells(''{t}'', ''a'', 9, until => 1000000)), '' in 1970'')');

-- Several changes in one transaction are one change, so that case has a separate answer.
SELECT name, one AS "one transaction", CASE WHEN count(DISTINCT coalesce(answer, '-')) = 1 THEN coalesce(min(answer), '-')
       ELSE string_agg(stage || ': ' || coalesce(answer, '-'), E'\n' ORDER BY n) END AS answer
  FROM (SELECT *, stage LIKE 'one%' AS one FROM seen) x GROUP BY name, one ORDER BY min(n);

-- as_of: a deleted row shows before its delete, not after it.
CREATE FOREIGN TABLE fc_as_of (k text COLLATE "C", v text) SERVER widetable OPTIONS (families '{"d": {"keep_deleted": true}}');
SELECT widetable.put('fc_as_of', 'a', 'v', 'x', 10);
BEGIN;
DELETE FROM fc_as_of;
SET LOCAL widetable.as_of = '2000-01-01';
SELECT * FROM fc_as_of;
SET LOCAL widetable.as_of = '2100-01-01';
SELECT * FROM fc_as_of;
COMMIT;
SET widetable.as_of = '2000-01-01';
SELECT * FROM fc_as_of;
SET widetable.as_of = '2100-01-01';
SELECT * FROM fc_as_of;
RESET widetable.as_of;
-- moving a row deletes it under its old key
SELECT widetable.put('fc_as_of', 'b', 'v', 'y', 10);
UPDATE fc_as_of SET k = 'c' WHERE k = 'b';
SET widetable.as_of = '2100-01-01';
SELECT * FROM fc_as_of;
RESET widetable.as_of;
DROP FOREIGN TABLE fc_as_of;

-- The family remembers eight changes; after that a compaction has to make room.
CREATE FOREIGN TABLE fc_many (k text COLLATE "C", v text) SERVER widetable OPTIONS (families '{"d": {"versions": 1}}');
CREATE PROCEDURE pg_temp.change(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		EXECUTE format('ALTER FOREIGN TABLE fc_many OPTIONS (SET families %L)', format('{"d": {"versions": %s}}', i % 7 + 3));
		PERFORM widetable.put('fc_many', 'a', 'v', 'v' || i, i);
		COMMIT;
	END LOOP;
END $$;
CALL pg_temp.change(8);
ALTER FOREIGN TABLE fc_many OPTIONS (SET families '{"d": {"versions": 20}}');
ALTER FOREIGN TABLE fc_many OPTIONS (SET families '{"d": {"compression": "none"}}');
SELECT string_agg(ts::text, ' ') FROM widetable.cells('fc_many', 'a', 20);
-- (a concurrent transaction that began before the changes would keep them alive)
CREATE PROCEDURE pg_temp.change_again() LANGUAGE plpgsql AS $$
BEGIN
	FOR attempt IN 1 .. 1000 LOOP
		PERFORM widetable.compact('fc_many');
		COMMIT;
		BEGIN
			ALTER FOREIGN TABLE fc_many OPTIONS (SET families '{"d": {"versions": 20, "compression": "none"}}');
			EXIT;
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
			PERFORM pg_sleep(0.01);
		END;
	END LOOP;
END $$;
CALL pg_temp.change_again();
SELECT string_agg(ts::text, ' ') FROM widetable.cells('fc_many', 'a', 20);
CALL pg_temp.change(7);
SELECT string_agg(ts::text, ' ') FROM widetable.cells('fc_many', 'a', 20);
DROP FOREIGN TABLE fc_many;

-- The clock stands still within a snapshot: REPEATABLE READ, and a cursor.
CREATE FOREIGN TABLE fc_brief (k text COLLATE "C", v text) SERVER widetable OPTIONS (families '{"d": {}}');
SELECT widetable.put('fc_brief', n::text, 'v', 'x', ttl => '1 second') FROM generate_series(1, 3) n;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM fc_brief;
SELECT pg_sleep(1.1);
SELECT count(*) FROM fc_brief;
SELECT widetable.compact('fc_brief');
SELECT count(*) FROM fc_brief;
COMMIT;
SELECT count(*) FROM fc_brief;
SELECT widetable.put('fc_brief', n::text, 'v', 'x', ttl => '1 second') FROM generate_series(1, 3) n;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM fc_brief ORDER BY k;
FETCH c;
SELECT pg_sleep(1.1);
SELECT count(*) FROM fc_brief;
SELECT widetable.compact('fc_brief');
FETCH ALL c;
COMMIT;
SELECT widetable.compact('fc_brief');
SELECT count(*) FROM widetable.raw_cells('fc_brief', '1');
DROP FOREIGN TABLE fc_brief;
