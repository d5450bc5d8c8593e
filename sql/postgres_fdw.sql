-- postgres_fdw in front of a wide table: each statement is right or refused
SELECT count(*) = 0 AS missing FROM pg_available_extensions WHERE name = 'postgres_fdw' \gset
\if :missing
\echo 'skipped: this server has no postgres_fdw'
\quit
\endif
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION postgres_fdw;
RESET client_min_messages;
DO $$
BEGIN
    EXECUTE format('CREATE SERVER pf_loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
        current_database(), split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
    EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER pf_loop OPTIONS (user %L)', current_user);
END $$;

CREATE FOREIGN TABLE pf_wide (k int, v int, s text) SERVER widetable OPTIONS (key 'k');
CREATE FOREIGN TABLE pf_error (k int, v int, s text) SERVER widetable OPTIONS (table_name 'public.pf_wide', key 'k', insert_mode 'error');
CREATE FOREIGN TABLE pf_front (k int, v int, s text) SERVER pf_loop OPTIONS (table_name 'pf_wide');
CREATE FOREIGN TABLE pf_front_error (k int, v int, s text) SERVER pf_loop OPTIONS (table_name 'pf_error');
CREATE TABLE pf_heap (k int PRIMARY KEY, v int);
INSERT INTO pf_heap VALUES (3, 33), (5, 55);
CREATE FUNCTION pf_fill() RETURNS void LANGUAGE sql AS
$$TRUNCATE pf_wide; INSERT INTO pf_wide SELECT g, g * 10, 's' || g FROM generate_series(1, 10) g$$;
CREATE VIEW pf_sum AS SELECT count(*), sum(k) AS k, sum(v) AS v, string_agg(s, ' ' ORDER BY k) AS s FROM pf_wide;
SELECT pf_fill();
SELECT * FROM pf_sum;

-- reads
SELECT * FROM pf_front WHERE k < 3 ORDER BY k;
SELECT count(*), sum(v) FROM pf_front;
SELECT f.*, h.v FROM pf_front f JOIN pf_heap h USING (k) ORDER BY f.k;
BEGIN;
SELECT k FROM pf_front WHERE k = 3 FOR UPDATE;
ROLLBACK;
ANALYZE pf_front;

-- sent as one statement
EXPLAIN (VERBOSE, COSTS OFF) UPDATE pf_front SET v = v + 1 WHERE k = 3;
UPDATE pf_front SET v = v + 1 WHERE k = 3;
UPDATE pf_front SET v = v + 1 WHERE k > 8 RETURNING k, v;
DELETE FROM pf_front WHERE k = 1;
DELETE FROM pf_front WHERE k = 2 RETURNING *;
SELECT * FROM pf_sum;

-- row by row: postgres_fdw names the rows by ctid
SELECT pf_fill();
EXPLAIN (VERBOSE, COSTS OFF) UPDATE pf_front SET v = -1 WHERE k = 3 AND random() >= 0;
UPDATE pf_front SET v = -1 WHERE k = 3 AND random() >= 0;
DELETE FROM pf_front WHERE k = 3 AND random() >= 0;
UPDATE pf_front f SET v = h.v FROM pf_heap h WHERE f.k = h.k;
DELETE FROM pf_front f USING pf_heap h WHERE f.k = h.k;
UPDATE pf_front f SET v = h.v FROM pf_heap h WHERE f.k = h.k RETURNING *;
SELECT * FROM pf_sum;
CREATE FUNCTION pf_note() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE NOTICE '% %: % %', TG_WHEN, TG_OP, OLD, NEW; RETURN coalesce(NEW, OLD); END$$;
CREATE TRIGGER pf_note BEFORE UPDATE OR DELETE ON pf_front FOR EACH ROW EXECUTE FUNCTION pf_note();
UPDATE pf_front SET v = -1 WHERE k = 3;
DELETE FROM pf_front WHERE k = 3;
DROP TRIGGER pf_note ON pf_front;
CREATE TRIGGER pf_note AFTER INSERT OR UPDATE OR DELETE ON pf_front FOR EACH ROW EXECUTE FUNCTION pf_note();
INSERT INTO pf_front VALUES (11, 110, 's11');
UPDATE pf_front SET v = -1 WHERE k = 3;
DELETE FROM pf_front WHERE k = 3;
DROP TRIGGER pf_note ON pf_front;
SELECT * FROM pf_sum;
-- a prepared statement, with a plan that is made again
PREPARE pf_q (int) AS UPDATE pf_front SET v = -1 WHERE k = $1 AND random() >= 0;
EXECUTE pf_q (3);
EXECUTE pf_q (4);
DEALLOCATE pf_q;
-- a cursor
BEGIN;
DECLARE pf_c CURSOR FOR SELECT * FROM pf_front ORDER BY k;
FETCH pf_c;
UPDATE pf_front SET v = -1 WHERE CURRENT OF pf_c;
ROLLBACK;
SELECT ctid FROM pf_front;
SELECT * FROM pf_front WHERE ctid = '(0,1)';
SELECT * FROM pf_sum;

-- INSERT: alone, in batches, COPY; wide tables replace
SELECT pf_fill();
INSERT INTO pf_front VALUES (11, 110, 's11') RETURNING *;
INSERT INTO pf_front SELECT g, g * 10, 's' || g FROM generate_series(12, 14) g;
ALTER SERVER pf_loop OPTIONS (ADD batch_size '3');
INSERT INTO pf_front SELECT g, g * 10, 's' || g FROM generate_series(15, 24) g;
INSERT INTO pf_front SELECT g, 0, 'new' FROM generate_series(1, 5) g;
COPY pf_front FROM stdin;
25	250	s25
26	260	s26
\.
INSERT INTO pf_front VALUES (10, 0, 'not inserted'), (27, 270, 's27') ON CONFLICT DO NOTHING;
INSERT INTO pf_front VALUES (10, 0, 'x') ON CONFLICT (k) DO NOTHING;
INSERT INTO pf_front VALUES (10, 0, 'x') ON CONFLICT (k) DO UPDATE SET v = 1;
INSERT INTO pf_front_error VALUES (28, 280, 's28'), (10, 0, 'x');
INSERT INTO pf_front_error VALUES (28, 280, 's28');
SELECT * FROM pf_sum;
ALTER SERVER pf_loop OPTIONS (DROP batch_size);
TRUNCATE pf_front;
SELECT * FROM pf_sum;

-- as a partition: rows go in, and are changed by statements that are sent whole
CREATE TABLE pf_parted (k int, v int, s text) PARTITION BY RANGE (k);
CREATE TABLE pf_low PARTITION OF pf_parted FOR VALUES FROM (0) TO (100);
CREATE FOREIGN TABLE pf_high PARTITION OF pf_parted FOR VALUES FROM (100) TO (200) SERVER pf_loop OPTIONS (table_name 'pf_wide');
INSERT INTO pf_parted SELECT g, g, 'p' || g FROM generate_series(98, 103) g;
SELECT * FROM pf_sum;
UPDATE pf_parted SET k = k + 6 WHERE k = 99;
SELECT tableoid::regclass, * FROM pf_parted ORDER BY k;
UPDATE pf_parted SET k = k - 100 WHERE k = 101;
UPDATE pf_parted SET v = v + 1;
UPDATE pf_parted SET v = v + 1 WHERE k > 100;
DELETE FROM pf_parted WHERE k = 102;
DELETE FROM pf_parted;
SELECT tableoid::regclass, * FROM pf_parted ORDER BY k;
SELECT * FROM pf_sum;

-- one transaction
SELECT pf_fill();
BEGIN;
UPDATE pf_front SET v = 0 WHERE k = 1;
SAVEPOINT s;
DELETE FROM pf_front;
ROLLBACK TO s;
SELECT count(*), sum(v) FROM pf_front;
ROLLBACK;
SELECT * FROM pf_sum;

DROP TABLE pf_parted, pf_heap;
DROP VIEW pf_sum;
DROP FUNCTION pf_fill, pf_note;
DROP FOREIGN TABLE pf_front, pf_front_error, pf_error, pf_wide;
SET client_min_messages = warning;
DROP SERVER pf_loop CASCADE;
DROP EXTENSION postgres_fdw;
