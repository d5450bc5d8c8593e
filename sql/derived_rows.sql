--
-- What rows make of entries and of what they add to roll-ups: functions of users that are called
-- on the way, and conflicts.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;

-- a function that rolls back a subtransaction, in an expression of a roll-up
CREATE FUNCTION dr_number(v text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	RETURN v::bigint;
EXCEPTION WHEN invalid_text_representation THEN
	RETURN NULL;
END $$;
CREATE FOREIGN TABLE dr (k int, a text COLLATE "C", u int) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dr_u (u int) SERVER widetable OPTIONS (index_of 'dr', key 'u', unique 'true');
CREATE FOREIGN TABLE dr_n (g bigint OPTIONS (expr 'dr_number(a)'), n bigint OPTIONS (aggregate 'count(*)'), s bigint OPTIONS (aggregate 'sum(dr_number(a))'))
    SERVER widetable OPTIONS (rollup_of 'dr', key 'g');
INSERT INTO dr VALUES (1, '1', 1), (2, 'x', 2), (3, '1', 3), (4, 'y', 4);
UPDATE dr SET a = a || 'z' WHERE k < 3;
SELECT * FROM dr_n;
BEGIN;
SAVEPOINT s;
INSERT INTO dr VALUES (5, 'q', 5), (6, '6', 6);
ROLLBACK TO s;
INSERT INTO dr VALUES (5, 'q', 5), (6, '6', 6);
DELETE FROM dr WHERE k = 4;
-- made in a subtransaction that ends, and used behind it
SAVEPOINT s;
INSERT INTO dr VALUES (7, 'q', 7), (8, '6', 8);
RELEASE s;
INSERT INTO dr VALUES (7, 'p', 7), (9, 'q', 8) ON CONFLICT DO NOTHING;
UPDATE dr SET k = k + 10 WHERE k > 5;
COMMIT;
SELECT * FROM dr_n;
SELECT * FROM widetable.verify('dr');

-- the check of a domain does it, in put(), and between two changes of a row by check_and_mutate()
CREATE FUNCTION dr_check(v int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN 1 / (v - v) IS NULL;
EXCEPTION WHEN division_by_zero THEN
	RETURN true;
END $$;
CREATE DOMAIN dr_checked AS int CHECK (dr_check(value));
CREATE FOREIGN TABLE dr_two (k int, a dr_checked, b dr_checked) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dr_two_a (a dr_checked) SERVER widetable OPTIONS (index_of 'dr_two', key 'a');
CREATE FOREIGN TABLE dr_two_b (b dr_checked) SERVER widetable OPTIONS (index_of 'dr_two', key 'b');
CREATE FOREIGN TABLE dr_two_n (a dr_checked, n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'dr_two', key 'a');
INSERT INTO dr_two VALUES (1, 1, 1);
SELECT widetable.put('dr_two', 1, '{"a": 5, "b": 6}');
BEGIN;
SAVEPOINT s;
SELECT widetable.put('dr_two', 1, '{"b": 7, "a": 8}');
ROLLBACK TO s;
SELECT widetable.put('dr_two', 1, '{"a": 9}');
COMMIT;
SELECT widetable.check_and_mutate('dr_two', 1, 'a', '=', 9, '[{"put": {"a": 10}}, {"put": {"b": 11}}]');
SELECT * FROM dr_two;
SELECT * FROM dr_two_n;
SELECT * FROM widetable.verify('dr_two');

-- a function in an expression that changes rows of the table, behind the back of its declaration
CREATE FUNCTION dr_write(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.dr_side VALUES (i + 100, 'written');
	RETURN i;
END $$;
CREATE FUNCTION dr_hidden(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN public.dr_write(i); END $$;
CREATE FOREIGN TABLE dr_side (k int, a text COLLATE "C") SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE dr_side_n (g int OPTIONS (expr 'dr_hidden(k)'), n bigint OPTIONS (aggregate 'count(*)')) SERVER widetable OPTIONS (rollup_of 'dr_side', key 'g');
INSERT INTO dr_side VALUES (1, 'x');
SELECT widetable.put('dr_side', 1, 'a', 'x');
SELECT * FROM dr_side;
DROP FOREIGN TABLE dr_side;
DROP FOREIGN TABLE dr, dr_two;
DROP DOMAIN dr_checked;
DROP FUNCTION dr_number, dr_check, dr_write, dr_hidden;
