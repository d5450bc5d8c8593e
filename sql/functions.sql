-- Functions on one row: operations that SQL statements on a foreign table cannot express.
CREATE FOREIGN TABLE fn (
    id     text COLLATE "C",
    title  text,
    hits   bigint OPTIONS (column 'c:hits', encoding 'counter'),
    level  int,
    rank   bigint OPTIONS (column 'c:rank', encoding 'ordered'),
    doc    jsonb
) SERVER widetable
  OPTIONS (key 'id', families '{"f": {"versions": 3}, "c": {"versions": 3}, "x": {"versions": 5}}');

-- ---------------------------------------------------------------- counters
-- A missing cell counts as 0 (T71); the function returns the new value.
SELECT widetable.increment('fn', 'a', 'hits');
SELECT widetable.increment('fn', 'a', 'c:hits', 4);
SELECT widetable.increment('fn', 'a', 'hits', -7);
SELECT value FROM widetable.cells('fn', 'a') WHERE qualifier = 'hits';
SELECT widetable.increment('fn', 'zero', 'hits', 0);
SELECT value FROM widetable.cells('fn', 'zero');
SELECT hits FROM fn WHERE id = 'a';
-- Several counters at once, all or none; a cell named twice gets the sum.
SELECT widetable.increment('fn', 'b', '{"hits": 5, "x:n": 10}'::jsonb);
SELECT widetable.increment('fn', 'b', '{"hits": 1, "c:hits": 2, "x:n": -1}'::jsonb);
SELECT widetable.increment('fn', 'b', '{}'::jsonb);
-- A cell that is not a counter (T75 .. T80): nothing changes.
SELECT widetable.put('fn', 'b', 'x:two', '12');
SELECT widetable.put('fn', 'b', 'x:zero', '');
SELECT widetable.increment('fn', 'b', 'x:two');
SELECT widetable.increment('fn', 'b', 'x:zero');
SELECT widetable.increment('fn', 'b', '{"hits": 1, "x:two": 1}'::jsonb);
SELECT widetable.increment('fn', 'b', 'hits', 0);
SELECT widetable.increment('fn', 'b', 'level');
SELECT widetable.increment('fn', 'b', 'rank');
SELECT widetable.increment('fn', 'b', '{"hits": 1.5}'::jsonb);
SELECT widetable.increment('fn', 'b', '{"hits": "1"}'::jsonb);
SELECT widetable.increment('fn', 'b', '{"hits": null}'::jsonb);
SELECT widetable.increment('fn', 'b', '[1]'::jsonb);
SELECT widetable.increment('fn', 'b', '{"hits": 1}');
-- Out of range (T78, T79).
SELECT widetable.put('fn', 'max', 'hits', 9223372036854775807), widetable.put('fn', 'min', 'hits', -9223372036854775808);
SELECT widetable.increment('fn', 'max', 'hits');
SELECT widetable.increment('fn', 'min', 'hits', -1);
SELECT widetable.increment('fn', 'max', '{"hits": 99999999999999999999}'::jsonb);
-- A counter in the future: the new value gets a higher timestamp (T83).
SELECT widetable.put('fn', 'later', 'hits', 5, ts => 9000000000000000000);
SELECT widetable.increment('fn', 'later', 'hits');
SELECT ts, value FROM widetable.cells('fn', 'later', 2);
-- After a delete the counter starts again at 0 (T84).
SELECT widetable.delete_column('fn', 'a', 'hits');
SELECT widetable.increment('fn', 'a', 'hits', 3);
-- The transaction sees its own writes at once, also within one statement.
BEGIN;
SELECT widetable.increment('fn', 'own', 'hits', i) FROM generate_series(1, 4) i;
INSERT INTO fn (id, hits) VALUES ('own', 100);
SELECT widetable.increment('fn', 'own', 'hits');
SAVEPOINT s;
SELECT widetable.increment('fn', 'own', 'hits', 1000);
ROLLBACK TO s;
SELECT widetable.increment('fn', 'own', 'hits');
COMMIT;
SELECT hits FROM fn WHERE id = 'own';
SELECT count(*) FROM widetable.cells('fn', 'own', 3);

-- ------------------------------------------------------------------ append
SELECT widetable.append('fn', 'a', 'title', 'x'::text);
SELECT widetable.append('fn', 'a', 'title', 'yz'::text);
SELECT widetable.append('fn', 'a', 'x:bin', '\x00ff'::bytea), widetable.append('fn', 'a', 'x:bin', '\x01'::bytea);
SELECT widetable.append('fn', 'a', 'x:bin', 'text'::text);
SELECT widetable.append('fn', 'a', 'title', '\xff'::bytea);
SELECT widetable.append('fn', 'a', 'level', '1'::text);
SELECT title FROM fn WHERE id = 'a';

-- --------------------------------------------------------------------- put
-- Mapped cells are stored as the column's type, other cells as the text or bytea given.
SELECT widetable.put('fn', 'p', 'title', 'T', ts => 10);
SELECT widetable.put('fn', 'p', 'level', 7), widetable.put('fn', 'p', 'x:a', 7), widetable.put('fn', 'p', 'x:b', '\x0102'::bytea);
SELECT widetable.put('fn', 'p', 'f:level', '8');
SELECT widetable.put('fn', 'p', 'level', 'many');
SELECT widetable.put('fn', 'p', 'x:\x00ff', 'bytes in the qualifier');
SELECT family, qualifier, value FROM widetable.cells('fn', 'p');
SELECT widetable.put('fn', 'p', '{"title": "T2", "level": 9, "doc": {"a": [1]}, "x:a": 7.50, "x:t": true, "x:b": null}');
SELECT * FROM fn WHERE id = 'p';
SELECT widetable.get('fn', 'p');
SELECT widetable.put('fn', 'p', '["no"]');
SELECT widetable.put('fn', 'p', 'x:a', 'x', ts => -1);
SELECT widetable.put('fn', 'p', 'x:a', 'x', ttl => '0');
-- a cell with a time to live
SELECT widetable.put('fn', 'ttl', 'x:a', 'gone', ts => 1000000, ttl => '1 minute'),
       widetable.put('fn', 'ttl', 'x:b', 'here', ttl => '1 day');
SELECT widetable.get('fn', 'ttl');

-- ------------------------------------------------------------------ reading
SELECT widetable.get('fn', 'nobody') IS NULL AS "not there";
SELECT widetable.put('fn', 'v', 'title', i::text, ts => i * 10) FROM generate_series(1, 4) i;
SELECT ts, value FROM widetable.cells('fn', 'v');
SELECT ts, value FROM widetable.cells('fn', 'v', 10);
-- since is inclusive, until is exclusive; versions limits the count before that
SELECT ts, value FROM widetable.cells('fn', 'v', 10, 20, 40);
SELECT ts, value FROM widetable.cells('fn', 'v', 1, until => 40);
SELECT ts, value FROM widetable.cells('fn', 'v', 10, 30, 30);
SELECT ts, value FROM widetable.cells('fn', 'v', 10, 40, 20);
SELECT ts, value FROM widetable.cells('fn', 'v', 0);

-- ----------------------------------------------------------------- deleting
-- delete_version removes the newest version, so the one before shows again (T43)
SELECT widetable.delete_version('fn', 'v', 'title');
SELECT ts, value FROM widetable.cells('fn', 'v', 10);
SELECT widetable.delete_version('fn', 'v', 'title', 20);
SELECT widetable.delete_version('fn', 'v', 'title', 15);
SELECT ts, value FROM widetable.cells('fn', 'v', 10);
SELECT widetable.delete_version('fn', 'nobody', 'title');
-- delete_column up to a timestamp (T45), then completely
SELECT widetable.put('fn', 'd', 'title', i::text, ts => i * 10) FROM generate_series(1, 3) i;
SELECT widetable.delete_column('fn', 'd', 'title', 20);
SELECT ts, value FROM widetable.cells('fn', 'd', 10);
SELECT widetable.delete_column('fn', 'd', 'title');
SELECT widetable.get('fn', 'd');
-- a delete hides what was written before it, and nothing else (T53 .. T55)
SELECT widetable.put('fn', 'd', 'title', 'written after', ts => 15);
SELECT ts, value FROM widetable.cells('fn', 'd', 10);
-- families (T47 .. T51)
SELECT widetable.put('fn', 'df', 'x:1', 'a', ts => 10), widetable.put('fn', 'df', 'x:2', 'b', ts => 11), widetable.put('fn', 'df', 'title', 't', ts => 10);
SELECT widetable.delete_family('fn', 'df', 'x', 10);
SELECT widetable.get('fn', 'df');
SELECT widetable.put('fn', 'df', 'x:3', 'c', ts => 10), widetable.put('fn', 'df', 'x:3', 'd', ts => 20);
SELECT widetable.delete_family_version('fn', 'df', 'x', 10);
SELECT qualifier, ts, value FROM widetable.cells('fn', 'df', 10) WHERE family = 'x';
SELECT widetable.delete_family('fn', 'df', 'x');
SELECT widetable.get('fn', 'df');
SELECT widetable.delete_family('fn', 'df', 'nix');
SELECT widetable.delete_row('fn', 'df');
SELECT widetable.get('fn', 'df');
-- the history, with tombstones
SELECT family, qualifier, ts, kind, value, seq IS NOT NULL AS has_seq FROM widetable.raw_cells('fn', 'd') WHERE family = 'f';

-- --------------------------------------------------------- check and mutate
SELECT widetable.put('fn', 'm', '{"title": "b", "level": 5}');
-- cell OP expected, compared as the column's type (T93 .. T101)
SELECT op, widetable.check_and_mutate('fn', 'm', 'title', op, x, '[]')
FROM (VALUES ('=', 'b'), ('=', 'a'), ('<>', 'a'), ('<>', 'b'), ('>', 'a'), ('>', 'b'), ('>=', 'b'), ('<', 'c'), ('<', 'b'), ('<=', 'b')) t(op, x);
SELECT widetable.check_and_mutate('fn', 'm', 'level', '>', 3, '[]'), widetable.check_and_mutate('fn', 'm', 'level', '<', '10', '[]');
SELECT widetable.put('fn', 'm', 'level', -1);
SELECT widetable.check_and_mutate('fn', 'm', 'level', '<', 0, '[]');
-- a missing cell: only IS NULL is true
SELECT op, widetable.check_and_mutate('fn', 'm', 'x:no', op, 'a'::text, '[]')
FROM (VALUES ('='), ('<>'), ('<'), ('>'), ('is null'), ('is not null')) t(op);
SELECT widetable.check_and_mutate('fn', 'm', 'x:zero', 'IS NULL', NULL, '[{"put": {"x:zero": ""}}]');
SELECT widetable.check_and_mutate('fn', 'm', 'x:zero', 'IS NULL', NULL, '[]');
-- unmapped cells compare by bytes
SELECT widetable.put('fn', 'm', 'x:raw', '\x80'::bytea);
SELECT widetable.check_and_mutate('fn', 'm', 'x:raw', '>', '\x7f'::bytea, '[]');
-- all mutations in order, or none of them (T105, T110)
SELECT widetable.check_and_mutate('fn', 'm', 'title', '=', 'b', '[
    {"put": {"x:owner": "me", "level": 1}},
    {"delete": ["x:raw", "x:zero"]},
    {"increment": {"hits": 2, "x:n": 1}},
    {"append": {"title": "+"}},
    {"put": {"x:gone": "1"}}, {"delete": ["x:gone"]},
    {"delete": ["x:back"]}, {"put": {"x:back": "1"}}]');
SELECT widetable.get('fn', 'm');
SELECT widetable.check_and_mutate('fn', 'm', 'title', '=', 'b+', '[{"put": {"x:owner": "you"}}, {"increment": {"x:owner": 1}}]');
SELECT widetable.check_and_mutate('fn', 'm', 'title', '=', 'no', '[{"put": {"x:owner": "A"}}]', '[{"put": {"x:owner": "B"}}]');
SELECT widetable.get('fn', 'm') -> 'x' -> 'owner' AS owner;
-- the new version has a higher timestamp than the version that was checked (T107)
SELECT widetable.put('fn', 'm', 'title', 'future', ts => 9000000000000000000);
SELECT widetable.check_and_mutate('fn', 'm', 'title', '=', 'future', '[{"put": {"title": "c"}}]');
SELECT title FROM fn WHERE id = 'm';
SELECT widetable.check_and_mutate('fn', 'm', 'title', '~', 'x', '[]');
SELECT widetable.check_and_mutate('fn', 'm', 'title', '=', NULL, '[]');
SELECT widetable.check_and_mutate('fn', 'm', 'title', 'is null', NULL, '[{"get": {}}]', '[{"get": {}}]');
SELECT widetable.check_and_mutate('fn', 'm', 'title', 'is not null', NULL, '"x"');

-- ------------------------------------------------------------- composite keys
CREATE FOREIGN TABLE fn2 (k text COLLATE "C", at timestamptz, n bigint) SERVER widetable OPTIONS (key 'k, at desc');
SELECT widetable.increment('fn2', ROW('c', '2024-01-01 00:00+00'::timestamptz), 'n');
SELECT widetable.increment('fn2', ROW('c', '2024-01-01 00:00+00'), 'n');
SELECT widetable.increment('fn2', ROW('c'), 'n');
SELECT widetable.increment('fn2', 'c'::text, 'n');
SELECT k, n FROM fn2;

-- ------------------------------------------------- NULL and invalid arguments
SELECT widetable.increment(NULL, 'a', 'hits');
SELECT widetable.increment('fn', NULL, 'hits');
SELECT widetable.increment('fn', 'a', NULL::text);
SELECT widetable.increment('fn', 'a', 'hits', NULL);
SELECT widetable.put('fn', 'a', 'title', NULL);
SELECT widetable.append('fn', 'a', 'title', NULL::text);
SELECT widetable.delete_row('fn', NULL);
SELECT widetable.delete_family_version('fn', 'a', 'f', NULL);
SELECT widetable.put('fn', 'a', 'nix', 'x');
SELECT widetable.put('fn', 'a', 'nix:x', 'x');
SELECT widetable.put('fn', 'a', 'id', 'x');
SELECT widetable.get('pg_class', 'a');
CREATE TABLE heap (id int);
SELECT widetable.put('heap', 'a', 'f:x', 'x');
DROP TABLE heap;

-- --------------------------------------------------------------- privileges
CREATE ROLE regress_wt_reader;
CREATE ROLE regress_wt_writer;
CREATE ROLE regress_wt_column;
GRANT SELECT ON fn TO regress_wt_reader;
GRANT SELECT, INSERT, UPDATE ON fn TO regress_wt_writer;
GRANT SELECT (hits), INSERT (hits), UPDATE (hits) ON fn TO regress_wt_column;
SET ROLE regress_wt_reader;
SELECT widetable.get('fn', 'm') IS NOT NULL AS may_read;
SELECT widetable.increment('fn', 'm', 'hits');
SELECT widetable.put('fn', 'm', 'title', 'x');
SELECT widetable.delete_column('fn', 'm', 'title');
SELECT widetable.check_and_mutate('fn', 'm', 'title', 'is null', NULL, '[]');
SELECT widetable.raw_cells('fn', 'm');
SELECT widetable.flush('fn');
SELECT widetable.compact('fn');
SELECT widetable.flush();
SELECT widetable.compact();
SELECT widetable.verify();
SET ROLE regress_wt_writer;
SELECT widetable.increment('fn', 'm', 'hits', 0) IS NOT NULL AS may_increment;
SELECT widetable.delete_column('fn', 'nobody', 'title');
SELECT widetable.delete_row('fn', 'm');
SET ROLE regress_wt_column;
SELECT widetable.increment('fn', 'm', 'hits', 0) IS NOT NULL AS may_increment;
SELECT widetable.increment('fn', 'm', '{"hits": 0, "x:n": 0}'::jsonb);
SELECT widetable.put('fn', 'm', 'title', 'x');
SELECT widetable.get('fn', 'm');
RESET ROLE;
BEGIN READ ONLY;
SELECT widetable.get('fn', 'm') IS NOT NULL AS may_read;
SELECT widetable.put('fn', 'm', 'title', 'x');
ROLLBACK;

-- ----------------------------------------------------------- administration
CREATE TABLE before AS SELECT id, widetable.get('fn', id) AS doc FROM fn;
SELECT widetable.flush('fn');
SELECT widetable.table_size('fn') > 0 AS has_files;
SELECT id FROM fn EXCEPT SELECT id FROM before;
SELECT widetable.compact('fn');
SELECT widetable.compact('fn', major => false);
-- this has changed no data
SELECT id, doc, widetable.get('fn', id) FROM before WHERE doc IS DISTINCT FROM widetable.get('fn', id);
SELECT * FROM widetable.verify('fn');
SELECT * FROM widetable.verify();
INSERT INTO fn (id, level) SELECT 'k' || lpad(i::text, 5, '0'), i FROM generate_series(1, 5000) i;
SELECT widetable.flush();
SELECT count(*) BETWEEN 1 AND 3 AS borders, count(*) FILTER (WHERE k > 'k') > 0 AS inside FROM widetable.split_keys('fn', 4) k;
SELECT widetable.split_keys('fn', 0);
SELECT widetable.compact();
SELECT count(*) FROM fn WHERE id LIKE 'k%';

DROP TABLE before;
DROP FOREIGN TABLE fn, fn2;
DROP ROLE regress_wt_reader, regress_wt_writer, regress_wt_column;

-- -------------------------------------------------------- qualifiers as text
-- A qualifier can be passed as cells() and get() show it: \xHH is a byte, \\
-- is a backslash, any other backslash stands for itself.
CREATE FOREIGN TABLE fn_map (k text COLLATE "C", m jsonb OPTIONS (family 'f')) SERVER widetable;
CREATE FOREIGN TABLE fn_map_cells (k text COLLATE "C", family text, qualifier text, value text) SERVER widetable
    OPTIONS (table_name 'public.fn_map', layout 'cells');
SELECT widetable.put('fn_map', '1', 'f:' || q, 'as ' || q)
    FROM unnest(ARRAY['', 'plain', 'a\b', '\\x41', '\\\\', '\x61\x00', '\xff', 'a:b', '\x00ff', '\']) q;
SELECT qualifier, convert_from(value, 'UTF8') AS as_written FROM widetable.cells('fn_map', '1');
SELECT widetable.get('fn_map', '1');
SELECT bool_and(widetable.check_and_mutate('fn_map', '1', 'f:' || qualifier, '=', value, '[]')) AS found,
    count(*) AS n FROM widetable.cells('fn_map', '1');
-- Maps and layout cells show text unchanged, and each byte that is not text as
-- \xHH; both read what they show.
SELECT * FROM fn_map;
SELECT qualifier FROM fn_map_cells;
INSERT INTO fn_map SELECT '2', m FROM fn_map WHERE k = '1';
INSERT INTO fn_map_cells SELECT '3', family, qualifier, value FROM fn_map_cells WHERE k = '1';
SELECT k, count(*), (SELECT array_agg((family, qualifier, value)::text) FROM widetable.cells('fn_map', k))
    = (SELECT array_agg((family, qualifier, value)::text) FROM widetable.cells('fn_map', '1')) AS same
    FROM fn_map_cells GROUP BY k ORDER BY k;

-- ------------------------------------------------------------------ NOT NULL
-- A delete cannot leave a row without the cell of a NOT NULL column; deleting
-- the whole row is allowed.
CREATE DOMAIN fn_small AS int CHECK (VALUE < 10);
CREATE FOREIGN TABLE fn_nn (k text, a text NOT NULL, b text, n fn_small OPTIONS (column 'e:n') NOT NULL,
    h bigint OPTIONS (column 'e:h')) SERVER widetable;
INSERT INTO fn_nn VALUES ('x', 'a', 'b', 3);
SELECT widetable.delete_column('fn_nn', 'x', 'a');
SELECT widetable.delete_version('fn_nn', 'x', 'd:a');
SELECT widetable.delete_family('fn_nn', 'x', 'e');
SELECT widetable.put('fn_nn', 'x', '{"a": null}');
SELECT widetable.check_and_mutate('fn_nn', 'x', 'b', '=', 'b', '[{"put": {"b": "c"}}, {"delete": ["a"]}]');
SELECT * FROM fn_nn;
SELECT widetable.check_and_mutate('fn_nn', 'x', 'b', '=', 'b', '[{"delete": ["a"]}, {"put": {"a": "again"}}]');
SELECT * FROM fn_nn;
SELECT widetable.check_and_mutate('fn_nn', 'x', 'b', '=', 'b', '[{"delete": ["a", "b", "n"]}]');
SELECT * FROM fn_nn;
-- Values must satisfy the domain.
SELECT widetable.put('fn_nn', 'x', 'n', 10);
SELECT widetable.put('fn_nn', 'x', 'n', '\x0000000a'::bytea);

-- A bytea for a column of another type is taken as the bytes of the cell, as
-- cells() shows them: they must decode to a value of the column.
INSERT INTO fn_nn VALUES ('x', 'a', 'b', 3);
SELECT widetable.put('fn_nn', 'x', 'n', '\x00000009'::bytea), widetable.put('fn_nn', 'x', 'a', '\x4162'::bytea);
SELECT * FROM fn_nn;
SELECT widetable.put('fn_nn', 'x', 'n', '\x09'::bytea);
SELECT widetable.put('fn_nn', 'x', 'a', '\xff'::bytea);
SELECT widetable.check_and_mutate('fn_nn', 'x', 'n', '>', '\x00000008'::bytea, '[{"put": {"b": "more"}}]');
-- copy the bytes of one row to another row
SELECT count(widetable.put('fn_nn', 'y', family || ':' || qualifier, value)) FROM widetable.cells('fn_nn', 'x');
SELECT * FROM fn_nn ORDER BY k;
-- other types are converted through their text form
SELECT widetable.put('fn_nn', 'x', 'h', 7::int2), widetable.put('fn_nn', 'x', 'b', 7.5), widetable.put('fn_nn', 'x', 'n', '8'::text);
SELECT widetable.put('fn_nn', 'x', 'h', 7.5);
SELECT * FROM fn_nn WHERE k = 'x';

-- --------------------------------------------------------- lists of mutations
-- Both lists are validated first; each element holds one mutation, because jsonb does not keep the order of keys.
CREATE FOREIGN TABLE fn_cm (k text COLLATE "C", a text, n bigint, h text OPTIONS (column 'e:h')) SERVER widetable;
SELECT widetable.put('fn_cm', 'x', '{"a": "1", "n": 1}');
CREATE FUNCTION fn_try(list jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text; r2 text;
BEGIN
    BEGIN PERFORM widetable.check_and_mutate('fn_cm', 'x', 'a', '=', '1', list); r := 'done';
    EXCEPTION WHEN OTHERS THEN r := SQLSTATE || ' ' || SQLERRM; END;
    BEGIN PERFORM widetable.check_and_mutate('fn_cm', 'x', 'a', '=', '2', '[]', list); r2 := 'done';
    EXCEPTION WHEN OTHERS THEN r2 := replace(SQLSTATE || ' ' || SQLERRM, 'otherwise', 'mutations'); END;
    RETURN CASE WHEN r = r2 THEN r ELSE r || ' <> ' || r2 END;
END $$;
SELECT list, fn_try(list) FROM (VALUES ('{"put": {"a": "2"}}'::jsonb), ('"x"'), ('null'), ('{}'), ('[]'), ('[{}]'), ('["put"]'), ('[[]]'),
    ('[{"delete": ["a"], "put": {"a": "b"}}]'), ('[{"put": {"n": 2}}, {"frob": {}}]'), ('[{"put": ["a"]}]'), ('[{"put": "a"}]'),
    ('[{"put": {"n": 2}}, {"put": {"zz": 1}}]'), ('[{"put": {"zz:a": 1}}]'), ('[{"delete": {"a": 1}}]'), ('[{"delete": [1]}]'), ('[{"delete": [["a"]]}]'),
    ('[{"delete": ["zz"]}]'), ('[{"delete": null}]'), ('[{"increment": {"n": "1"}}]'), ('[{"increment": {"n": 1.5}}]'),
    ('[{"increment": {"n": null}}]'), ('[{"increment": {"a": 1}}]'), ('[{"append": {"a": null}}]'), ('[{"append": "a"}]'),
    ('[{"put": {}}, {"delete": []}, {"increment": {}}, {"append": {}}]')) t(list);
SELECT * FROM fn_cm;
DROP FUNCTION fn_try;

-- ------------------------------------------------------ cells without a column
-- Stored as a column of the value's type would store it; untyped literals are text.
SELECT widetable.put('fn_cm', 't', 'd:big', 10::bigint), widetable.put('fn_cm', 't', 'd:int', 10), widetable.put('fn_cm', 't', 'd:lit', '10'),
       widetable.put('fn_cm', 't', 'd:num', 10.5), widetable.put('fn_cm', 't', 'd:bytes', '\x4142'::bytea), widetable.put('fn_cm', 't', 'd:bool', true),
       widetable.put('fn_cm', 't', 'd:flt', 1.5::float8), widetable.put('fn_cm', 't', 'd:ts', timestamptz '1970-01-01 00:00:01+00'),
       widetable.put('fn_cm', 't', 'd:neg', -5::bigint), widetable.put('fn_cm', 't', 'd:json', '{"a": 1}'::jsonb);
SELECT qualifier, value FROM widetable.cells('fn_cm', 't');
SELECT widetable.increment('fn_cm', 't', 'd:big', 5);
SELECT widetable.increment('fn_cm', 't', 'd:int', 5);
SELECT widetable.check_and_mutate('fn_cm', 't', 'd:big', '=', 15::bigint, '[]') AS eq, widetable.check_and_mutate('fn_cm', 't', 'd:neg', '<', 0::bigint, '[]') AS lt,
       widetable.check_and_mutate('fn_cm', 't', 'd:int', '>=', 10, '[]') AS ge, widetable.check_and_mutate('fn_cm', 't', 'd:lit', '=', '10', '[]') AS txt,
       widetable.check_and_mutate('fn_cm', 't', 'd:num', '=', 10.5, '[]') AS num, widetable.check_and_mutate('fn_cm', 't', 'd:bytes', '=', 'AB', '[]') AS bytes,
       widetable.check_and_mutate('fn_cm', 't', 'd:flt', '<', 2::float8, '[]') AS flt, widetable.check_and_mutate('fn_cm', 't', 'd:bool', '=', true, '[]') AS bool;
SELECT widetable.check_and_mutate('fn_cm', 't', 'd:lit', '=', 10::bigint, '[]');
SELECT widetable.check_and_mutate('fn_cm', 't', 'd:big', '=', 15, '[]');
SELECT widetable.check_and_mutate('fn_cm', 't', 'd:num', '>', 9::numeric, '[]') AS num_gt, widetable.check_and_mutate('fn_cm', 't', 'd:num', '=', 10.500, '[]') AS num_eq,
       widetable.check_and_mutate('fn_cm', 't', 'd:lit', '<', 9::numeric, '[]') AS lit_lt;
SELECT widetable.check_and_mutate('fn_cm', 't', 'd:big', '<', 15.5, '[]');
-- put and append obey the limits of the column's type
CREATE DOMAIN fn_short AS varchar(3);
CREATE DOMAIN fn_positive AS bigint CHECK (VALUE > 0);
CREATE FOREIGN TABLE fn_typ (k text, v varchar(3), d fn_short, n fn_positive, m numeric(4,1)) SERVER widetable;
SELECT widetable.put('fn_typ', 'x', '{"v": "abc", "d": "ab", "n": 1, "m": 1.25}');
SELECT widetable.append('fn_typ', 'x', 'v', 'more');
SELECT widetable.append('fn_typ', 'x', 'v', '\x6d6f7265'::bytea);
SELECT widetable.append('fn_typ', 'x', 'v', ' ');
SELECT widetable.append('fn_typ', 'x', 'd', 'c'), widetable.append('fn_typ', 'x', 'm', '5');
SELECT widetable.append('fn_typ', 'x', 'd', 'd');
SELECT widetable.increment('fn_typ', 'x', 'n', -6);
SELECT widetable.put('fn_typ', 'x', 'v', 'abcd'::varchar);
SELECT widetable.put('fn_typ', 'x', 'v', '\x61626364'::bytea);
SELECT widetable.put('fn_typ', 'x', 'm', 12345.6);
SELECT *, octet_length(v) FROM fn_typ;
DROP FOREIGN TABLE fn_typ;
DROP DOMAIN fn_short, fn_positive;

-- --------------------------------------------------------------- digest keys
-- A row created by a function gets the original of its digest key, and keeps it.
CREATE FOREIGN TABLE fn_md (k text OPTIONS (encoding 'md5', column 'o:orig'), s text OPTIONS (encoding 'sha1', column 'd:orig'), i int,
                            v text OPTIONS (column 'd:v'), n bigint OPTIONS (column 'd:n'))
    SERVER widetable OPTIONS (key 'k, s, i');
SELECT widetable.put('fn_md', ROW('put', 'a', 1), 'v', 'x'), widetable.put('fn_md', ROW('json', 'b', 2), '{"v": "y"}'),
       widetable.increment('fn_md', ROW('inc', 'c', 3), 'n', 1), widetable.increment('fn_md', ROW('incs', 'd', 4), '{"n": 2}'::jsonb),
       widetable.append('fn_md', ROW('app', 'e', 5), 'v', 'z'),
       widetable.check_and_mutate('fn_md', ROW('cm', 'f', 6), 'v', 'is null', NULL, '[{"put": {"v": "w"}}]');
SELECT * FROM fn_md ORDER BY i;
SELECT v FROM fn_md WHERE k = 'json' AND s = 'b' AND i = 2;
UPDATE fn_md SET v = 'all';
-- only missing originals are written, under the row lock
SELECT widetable.increment('fn_md', ROW('inc', 'c', 3), 'n', 1);
SELECT qualifier, count(*) FROM widetable.raw_cells('fn_md', ROW('inc', 'c', 3)) GROUP BY 1 ORDER BY 1;
SELECT widetable.put('fn_md', ROW('put', 'a', 1), 'o:orig', 'x');
SELECT widetable.put('fn_md', ROW('put', 'a', 1), '{"v": "x", "d:orig": null}');
SELECT widetable.append('fn_md', ROW('put', 'a', 1), 'd:orig', 'x');
SELECT widetable.delete_column('fn_md', ROW('put', 'a', 1), 'o:orig');
SELECT widetable.delete_version('fn_md', ROW('put', 'a', 1), 'o:orig');
SELECT widetable.check_and_mutate('fn_md', ROW('put', 'a', 1), 'v', 'is null', NULL, '[{"delete": ["d:orig"]}]');
SELECT widetable.check_and_mutate('fn_md', ROW('put', 'a', 1), 'o:orig', '=', 'put', '[]');
-- the family with the original may be deleted, and so may the whole row
SELECT widetable.delete_family('fn_md', ROW('put', 'a', 1), 'o');
SELECT * FROM fn_md WHERE k = 'put' AND s = 'a' AND i = 1;
SELECT widetable.delete_family('fn_md', ROW('put', 'a', 1), 'd');
SELECT * FROM fn_md WHERE k = 'put' AND s = 'a' AND i = 1;
SELECT widetable.delete_row('fn_md', ROW('put', 'a', 1));
SELECT count(*) FROM widetable.cells('fn_md', ROW('put', 'a', 1));
DELETE FROM fn_md;
SELECT count(*) FROM fn_md;

-- ------------------------------------------------------------- reading the past
-- With as_of set, functions that read before they write are refused; put, like INSERT, reads nothing.
SET widetable.as_of = '15';
SELECT widetable.increment('fn_cm', 'x', 'n');
SELECT widetable.increment('fn_cm', 'x', '{"n": 1}'::jsonb);
SELECT widetable.append('fn_cm', 'x', 'a', 'x');
SELECT widetable.check_and_mutate('fn_cm', 'x', 'a', 'is null', NULL, '[]');
SELECT widetable.delete_row('fn_cm', 'x');
SELECT widetable.delete_family('fn_cm', 'x', 'd');
SELECT widetable.delete_column('fn_cm', 'x', 'a');
SELECT widetable.delete_version('fn_cm', 'x', 'a');
SELECT widetable.delete_family_version('fn_cm', 'x', 'd', 10);
SELECT widetable.put('fn_cm', 'x', 'a', 'late', 10);
SELECT a FROM fn_cm WHERE k = 'x';
RESET widetable.as_of;
SELECT a FROM fn_cm WHERE k = 'x';

-- ------------------------------------------------------------------ miscellaneous
SELECT widetable.put('fn_cm', 'x', 'a', 'x', ttl => '300000 years');
SELECT widetable.put('fn_cm', 'x', 'a', 'x', ttl => '-1 s');
SELECT widetable.put('fn_cm', 'x', 'a', 'x', ttl => '-1 month 29 days');
-- a year has 365.25 days, a month 30
SELECT widetable.put('fn_cm', 'y', 'a', 'here', (extract(epoch FROM now() - interval '365 days') * 1e6)::bigint, '1 year'),
       widetable.put('fn_cm', 'y', 'h', 'gone', (extract(epoch FROM now() - interval '366 days') * 1e6)::bigint, '1 year'),
       widetable.put('fn_cm', 'y', 'n', 1, (extract(epoch FROM now() - interval '31 days') * 1e6)::bigint, '1 month');
SELECT * FROM fn_cm WHERE k = 'y';
ALTER FOREIGN TABLE fn_cm OPTIONS (families '{"d": {"ttl": "90 days 1 second"}, "e": {"ttl": "1 year 1 month 1 us"}}');
SELECT family, options ->> 'ttl' AS ttl FROM widetable.pg_stat_widetable_families WHERE relation = 'fn_cm'::regclass ORDER BY family;
SELECT widetable.get(0::regclass, 'a');
SELECT widetable.put(4294967295::oid::regclass, 'a', 'b', 'c');
SELECT widetable.encode_key(0::regclass, 'a');

-- ---------------------------------------------------- very many cells in one call
-- Each takes a second or two; with a time that grows with the square of their number, minutes.
CREATE FOREIGN TABLE fn_many (k text COLLATE "C", n bigint) SERVER widetable OPTIONS (key 'k', families '{"d": {}, "c": {}}');
CREATE TEMP TABLE many AS
    SELECT jsonb_object_agg('c:' || g, g % 7) AS cells, jsonb_agg('c:' || g) AS names,
           jsonb_agg(jsonb_build_object('increment', jsonb_build_object('c:x', 1))) AS one_cell
    FROM generate_series(1, 200000) g;
SET statement_timeout = '40s';
SELECT count(*), sum(value::int) FROM jsonb_each_text((SELECT widetable.increment('fn_many', 'i', cells) FROM many));
SELECT widetable.check_and_mutate('fn_many', 'i', 'n', 'is null', NULL, jsonb_build_array(jsonb_build_object('increment', cells))) FROM many;
SELECT widetable.put('fn_many', 'p', (SELECT cells FROM many));
SELECT widetable.check_and_mutate('fn_many', 'p', 'n', 'is null', NULL, jsonb_build_array(jsonb_build_object('put', cells), jsonb_build_object('delete', names))) FROM many;
-- one cell many times
SELECT widetable.check_and_mutate('fn_many', 'o', 'n', 'is null', NULL, one_cell) FROM many;
DO $$ BEGIN FOR i IN 1 .. 100000 LOOP PERFORM widetable.increment('fn_many', 'o', 'n'); END LOOP; END $$;
SELECT n, widetable.get('fn_many', 'o') AS cells FROM fn_many WHERE k = 'o';
-- its newest version ahead of the clock: all increments have one provisional timestamp; a half is rolled back
SELECT widetable.put('fn_many', 's', 'n', 1::bigint, 2500000000000000);
DO $$ BEGIN FOR i IN 1 .. 100000 LOOP PERFORM widetable.increment('fn_many', 's', 'n'); END LOOP; END $$;
DO $$
BEGIN
    FOR i IN 1 .. 40000 LOOP
        BEGIN
            PERFORM widetable.increment('fn_many', 's', 'n');
            IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
    END LOOP;
END $$;
SELECT n FROM fn_many WHERE k = 's';
RESET statement_timeout;
-- a call can be cancelled while it goes through its argument
BEGIN;
SET LOCAL statement_timeout = '30ms';
SELECT widetable.increment('fn_many', 'i', cells) IS NULL FROM many;
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '30ms';
SELECT widetable.put('fn_many', 'p', cells) IS NULL FROM many;
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '30ms';
SELECT widetable.check_and_mutate('fn_many', 'o', 'n', 'is not null', NULL, one_cell) FROM many;
ROLLBACK;
SELECT count(*) FROM fn_many;
DROP TABLE many;
DROP FOREIGN TABLE fn_cm, fn_md, fn_many;
