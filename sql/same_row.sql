-- One statement changes a row several times: through functions that it calls, triggers, several of its parts.
-- Each case runs on an ordinary table, on a wide one in the scan, and on a wide one through the executor: all must agree.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
CREATE TABLE sr_h (k text PRIMARY KEY, n int, m int);
CREATE FOREIGN TABLE sr_w (k text COLLATE "C", n int, m int OPTIONS (column 'g:m'))
	SERVER widetable OPTIONS (key 'k', families '{"d": {}, "g": {}}');
CREATE TABLE other (k text, x int);
INSERT INTO other VALUES ('a', 1), ('a', 2), ('b', 3);

-- Runs a statement and returns its effect: $T stands for the table.
CREATE FUNCTION run(target text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE 'DELETE FROM ' || target;
	EXECUTE format('INSERT INTO %s VALUES (''a'', 1, 10), (''b'', 2, 20), (''c'', 3, 30)', target);
	BEGIN
		EXECUTE replace(statement, '$T', target);
	EXCEPTION WHEN OTHERS THEN
		RETURN SQLSTATE || ' ' || SQLERRM;
	END;
	EXECUTE format('SELECT string_agg(concat_ws('' '', k, n, m), '', '' ORDER BY k) FROM %s', target) INTO answer;
	RETURN answer;
END $$;
CREATE FUNCTION same(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ordinary text := run('sr_h', statement);
	direct text := run('sr_w', statement);
	executor text;
BEGIN
	SET LOCAL widetable.enable_direct_modify = off;
	executor := run('sr_w', statement);
	SET LOCAL widetable.enable_direct_modify = on;
	RETURN ordinary || CASE WHEN direct <> ordinary THEN '; DIRECT: ' || direct ELSE '' END ||
		CASE WHEN executor <> ordinary THEN '; EXECUTOR: ' || executor ELSE '' END;
END $$;
CREATE FUNCTION change(target text, which text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE %s SET m = m + 1 WHERE k = $1', target) USING which;
	RETURN 7;
END $$;
CREATE FUNCTION remove(target text, which text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %s WHERE k = $1', target) USING which;
	RETURN true;
END $$;
CREATE FUNCTION try_change(target text, which text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM change(target, which);
	RAISE EXCEPTION 'no';
EXCEPTION WHEN raise_exception THEN
	RETURN 8;
END $$;

-- a function in SET or WHERE of UPDATE and DELETE changes the current row, a later row, an earlier row
SELECT same('UPDATE $T SET n = change(''$T'', k) WHERE k = ''a''');
SELECT same('UPDATE $T SET n = change(''$T'', ''c'')');
SELECT same('UPDATE $T SET n = change(''$T'', ''a'') WHERE k = ''b''');
SELECT same('UPDATE $T SET n = 0 WHERE change(''$T'', k) = 7');
SELECT same('DELETE FROM $T WHERE change(''$T'', k) = 7');
SELECT same('UPDATE $T SET n = 0 WHERE remove(''$T'', k)');
SELECT same('UPDATE $T SET n = 0 WHERE k = ''a'' AND remove(''$T'', ''b'')');
SELECT same('DELETE FROM $T WHERE remove(''$T'', ''c'')');
-- rolled back changes do not count
SELECT same('UPDATE $T SET n = try_change(''$T'', k)');
-- rows that the statement does not change, and rows that it has finished
SELECT same('UPDATE $T SET n = change(''$T'', ''c'') WHERE k < ''c''');
SELECT same('WITH u AS (UPDATE $T SET n = 0 RETURNING k) SELECT change(''$T'', k) FROM u');
-- joins
SELECT same('UPDATE $T t SET n = change(''$T'', t.k) FROM other o WHERE o.k = t.k AND o.x = 1');
SELECT same('UPDATE $T t SET n = 5 FROM other o WHERE o.k = t.k');
SELECT same('DELETE FROM $T t USING other o WHERE o.k = t.k AND change(''$T'', t.k) > o.x');
-- two parts of one statement: the first part that reaches the row changes it
SELECT same('WITH u AS (UPDATE $T SET n = 100 WHERE k = ''a'' RETURNING k) UPDATE $T SET m = 200 WHERE k IN (SELECT k FROM u)');
SELECT same('WITH u AS (UPDATE $T SET n = 100 WHERE k = ''a'' RETURNING k) UPDATE $T SET m = 200 WHERE k = ''a''');
SELECT same('WITH u AS (DELETE FROM $T WHERE k = ''a'' RETURNING k) UPDATE $T SET m = 200 WHERE k >= (SELECT k FROM u)');
SELECT same('WITH u AS (UPDATE $T SET n = 100 WHERE k = ''a'' RETURNING k) DELETE FROM $T WHERE k <= (SELECT k || ''a'' FROM u)');
SELECT same('WITH u AS (UPDATE $T SET n = 100 WHERE k = ''a'' RETURNING k) UPDATE $T SET m = 200 WHERE k > (SELECT k FROM u)');

-- row triggers
CREATE FUNCTION in_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		PERFORM change(TG_TABLE_NAME, OLD.k);
	END IF;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER before BEFORE UPDATE OR DELETE ON sr_h FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION in_trigger();
CREATE TRIGGER before BEFORE UPDATE OR DELETE ON sr_w FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION in_trigger();
-- disabled while run() prepares the rows
ALTER TABLE sr_h DISABLE TRIGGER before;
ALTER FOREIGN TABLE sr_w DISABLE TRIGGER before;
CREATE FUNCTION with_triggers(statement text) RETURNS text LANGUAGE sql AS $$
	SELECT same('DO $do$ BEGIN ALTER TABLE $T ENABLE TRIGGER before; ' || statement || '; ALTER TABLE $T DISABLE TRIGGER before; END $do$')
$$;
SELECT with_triggers('UPDATE $T SET n = 0 WHERE k = ''a''');
SELECT with_triggers('DELETE FROM $T WHERE k = ''b''');
DROP TRIGGER before ON sr_h;
DROP TRIGGER before ON sr_w;
CREATE TRIGGER after AFTER UPDATE ON sr_h FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION in_trigger();
CREATE TRIGGER after AFTER UPDATE ON sr_w FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION in_trigger();
SELECT same('UPDATE $T SET n = 0 WHERE k <= ''b''');
DROP TRIGGER after ON sr_h;
DROP TRIGGER after ON sr_w;

-- the functions of schema widetable, and layout cells, where each version of a cell is a row
INSERT INTO sr_w VALUES ('a', 1, 10), ('b', 2, 20);
UPDATE sr_w SET n = length(widetable.put('sr_w', k, 'm', 5)::text) WHERE k = 'a';
UPDATE sr_w SET n = length(widetable.put('sr_w', 'b', 'm', 5)::text) WHERE k = 'a';
SELECT * FROM sr_w ORDER BY k;
CREATE FOREIGN TABLE sr_c (k text COLLATE "C", family text, qualifier text, ts bigint, value bytea)
	SERVER widetable OPTIONS (table_name 'public.sr_w', layout 'cells');
UPDATE sr_c SET value = '\x00000001' WHERE k = 'b' AND qualifier = 'n' AND length(widetable.put('sr_w', 'b', 'm', 6)::text) = 0;
UPDATE sr_c SET value = '\x00000001' WHERE k = 'b' AND qualifier = 'n' AND length(widetable.put('sr_w', 'b', 'n', 6)::text) = 0;
DELETE FROM sr_c WHERE k = 'b' AND qualifier = 'm' AND length(widetable.delete_row('sr_w', 'b')::text) = 0;
UPDATE sr_c SET value = '\x00000009' WHERE k = 'b';
SELECT * FROM sr_w ORDER BY k;

DROP FOREIGN TABLE sr_c, sr_w;
DROP TABLE sr_h, other;
DROP FUNCTION run, same, change, remove, try_change, with_triggers, in_trigger;
