-- Transactions: wide rows and ordinary tables commit, roll back and become visible together.
CREATE FOREIGN TABLE acct (id text COLLATE "C", balance bigint, note text)
  SERVER widetable OPTIONS (key 'id', families '{"f": {"versions": 10}}');
CREATE TABLE ledger (id serial, acct text, amount bigint);

-- ----------------------------------------------------- commit and rollback
BEGIN;
INSERT INTO acct VALUES ('a', 100, 'first'), ('b', 50, NULL);
INSERT INTO ledger (acct, amount) VALUES ('a', 100), ('b', 50);
COMMIT;
BEGIN;
UPDATE acct SET balance = balance - 30 WHERE id = 'a';
UPDATE acct SET balance = balance + 30 WHERE id = 'b';
INSERT INTO ledger (acct, amount) VALUES ('a', -30), ('b', 30);
SELECT a.id, a.balance, sum(l.amount) FROM acct a JOIN ledger l ON l.acct = a.id GROUP BY a.id, a.balance ORDER BY 1;
ROLLBACK;
SELECT a.id, a.balance, sum(l.amount) FROM acct a JOIN ledger l ON l.acct = a.id GROUP BY a.id, a.balance ORDER BY 1;
-- an error rolls everything back
BEGIN;
UPDATE acct SET balance = 0;
DELETE FROM acct WHERE id = 'b';
SELECT 1 / 0;
COMMIT;
SELECT id, balance FROM acct ORDER BY id;
-- DELETE and INSERT in one transaction leave the new row with only the new columns (T58)
BEGIN;
DELETE FROM acct WHERE id = 'a';
INSERT INTO acct (id, balance) VALUES ('a', 70);
SELECT * FROM acct WHERE id = 'a';
COMMIT;
SELECT * FROM acct WHERE id = 'a';
-- one transaction leaves one version of a cell: the last
BEGIN;
INSERT INTO acct (id, balance) VALUES ('v', 1);
INSERT INTO acct (id, balance) VALUES ('v', 2);
UPDATE acct SET balance = 3 WHERE id = 'v';
COMMIT;
SELECT qualifier, value FROM widetable.cells('acct', 'v', 10);

-- --------------------------------------------------------------- savepoints
BEGIN;
INSERT INTO acct (id, balance) VALUES ('s', 1);
SAVEPOINT one;
UPDATE acct SET balance = 2 WHERE id = 's';
SAVEPOINT two;
UPDATE acct SET balance = 3, note = 'three' WHERE id = 's';
DELETE FROM acct WHERE id = 'b';
SELECT id, balance, note FROM acct ORDER BY id;
ROLLBACK TO two;
SELECT id, balance, note FROM acct ORDER BY id;
RELEASE one;
SELECT balance FROM acct WHERE id = 's';
SAVEPOINT three;
INSERT INTO acct (id, balance) VALUES ('t', 1);
ROLLBACK TO three;
INSERT INTO acct (id, balance) VALUES ('u', 1);
COMMIT;
SELECT id, balance, note FROM acct ORDER BY id;
-- exception blocks are savepoints, too
DO $$
BEGIN
    FOR i IN 1 .. 5 LOOP
        BEGIN
            PERFORM widetable.increment('acct', 'x', 'balance', i);
            IF i % 2 = 0 THEN
                RAISE EXCEPTION 'no';
            END IF;
        EXCEPTION WHEN raise_exception THEN
            NULL;
        END;
    END LOOP;
END $$;
SELECT balance AS "1 + 3 + 5" FROM acct WHERE id = 'x';

-- ------------------------------------------------- what a statement sees
-- a statement does not see its own writes
BEGIN;
SELECT widetable.put('acct', 'w', 'balance', 1), (SELECT count(*) FROM acct WHERE id = 'w') AS before;
SELECT count(*) FROM acct WHERE id = 'w';
WITH ins AS (INSERT INTO acct (id, balance) VALUES ('w2', 1) RETURNING id)
SELECT (SELECT count(*) FROM ins) AS inserted, (SELECT count(*) FROM acct WHERE id = 'w2') AS seen;
ROLLBACK;
-- a cursor keeps its snapshot
BEGIN;
DECLARE cur CURSOR FOR SELECT id, balance FROM acct ORDER BY id;
FETCH 1 FROM cur;
UPDATE acct SET balance = -1;
INSERT INTO acct (id, balance) VALUES ('zz', 1);
FETCH ALL FROM cur;
SELECT count(*) FILTER (WHERE balance = -1) AS changed, count(*) FROM acct;
ROLLBACK;
-- functions see the changes of earlier statements
CREATE FUNCTION twice(k text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r bigint;
BEGIN
    UPDATE acct SET balance = balance * 2 WHERE id = k;
    SELECT balance INTO r FROM acct WHERE id = k;
    RETURN r;
END $$;
SELECT twice('b'), twice('b');
SELECT balance FROM acct WHERE id = 'b';

-- ------------------------------------------------------------ DDL rolls back
BEGIN;
CREATE FOREIGN TABLE tmp (id text COLLATE "C", v text) SERVER widetable OPTIONS (key 'id');
INSERT INTO tmp VALUES ('a', 'x');
SELECT * FROM tmp;
ROLLBACK;
SELECT * FROM tmp;
BEGIN;
DROP FOREIGN TABLE acct;
ROLLBACK;
SELECT count(*) FROM acct;
BEGIN;
TRUNCATE acct;
INSERT INTO acct (id, balance) VALUES ('only', 1);
SELECT id, balance FROM acct;
SAVEPOINT s;
TRUNCATE acct;
SELECT count(*) FROM acct;
ROLLBACK TO s;
SELECT id, balance FROM acct;
ROLLBACK;
SELECT count(*) FROM acct;

-- --------------------------------------------------------------- isolation
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT widetable.increment('acct', 'rr', 'balance');
SELECT widetable.increment('acct', 'rr', 'balance');
UPDATE acct SET balance = balance + 1 WHERE id = 'rr';
SELECT widetable.check_and_mutate('acct', 'rr', 'balance', '=', 3, '[{"delete": ["balance"]}, {"increment": {"balance": 7}}]');
SELECT balance FROM acct WHERE id = 'rr';
COMMIT;
SELECT balance FROM acct WHERE id = 'rr';
BEGIN READ ONLY;
SELECT count(*) FROM acct;
INSERT INTO acct (id, balance) VALUES ('ro', 1);
ROLLBACK;

-- row locks of subtransactions: given back by a rollback, also very many; kept by a release.  With little
-- shared memory the table of locks is smaller, and many rows of it become one.
CREATE FUNCTION locks() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM widetable.pg_stat_widetable_locks WHERE pid = pg_backend_pid() $$;
INSERT INTO acct (id, balance) SELECT 'l' || i, 0 FROM generate_series(1, 30000) i;
BEGIN;
UPDATE acct SET balance = 1 WHERE id = 'l1';
SAVEPOINT a;
SELECT count(*) FROM (SELECT FROM acct WHERE id LIKE 'l%' FOR UPDATE) x;
SELECT locks() > 1000 AS many;
ROLLBACK TO a;
SELECT locks();
-- more blocks than PostgreSQL's table of locks has room for
DO $$
BEGIN
    FOR i IN 1 .. 30000 LOOP
        BEGIN
            PERFORM widetable.increment('acct', 'l' || i, 'balance');
            IF i % 3 = 0 THEN RAISE division_by_zero; END IF;
        EXCEPTION WHEN division_by_zero THEN
        END;
    END LOOP;
END $$;
SELECT locks() > 1000 AS kept, (SELECT count(*) FROM pg_locks WHERE locktype = 'userlock' AND pid = pg_backend_pid()) AS userlocks;
RELEASE a;
COMMIT;
SELECT balance, count(*) FROM acct WHERE id LIKE 'l%' GROUP BY balance ORDER BY balance;
DELETE FROM acct WHERE id LIKE 'l%';
DROP FUNCTION locks;

-- a transaction that writes only wide rows and does not wait for the WAL
SET synchronous_commit = off;
INSERT INTO acct (id, balance) VALUES ('async', 1);
SELECT balance FROM acct WHERE id = 'async';
RESET synchronous_commit;

-- a transaction that spills, on a table that it created and then dropped or truncated
BEGIN;
CREATE FOREIGN TABLE gone (id int, v text) SERVER widetable;
INSERT INTO gone SELECT i, repeat(md5(i::text), 60) FROM generate_series(1, 6000) i;
DROP FOREIGN TABLE gone;
INSERT INTO acct (id, balance) VALUES ('kept', 1);
COMMIT;
SELECT balance FROM acct WHERE id = 'kept';
BEGIN;
CREATE FOREIGN TABLE gone (id int, v text) SERVER widetable;
INSERT INTO gone SELECT i, repeat(md5(i::text), 60) FROM generate_series(1, 6000) i;
TRUNCATE gone;
INSERT INTO gone VALUES (1, 'after');
COMMIT;
SELECT * FROM gone;
DROP FOREIGN TABLE gone;

-- ------------------------------------------------ procedures commit in between
CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. 4 LOOP
        INSERT INTO acct (id, balance) VALUES ('p' || i, i);
        IF i % 2 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
    END LOOP;
END $$;
CALL fill();
SELECT id FROM acct WHERE id LIKE 'p%' ORDER BY id;

DROP PROCEDURE fill();
DROP FUNCTION twice(text);
DROP FOREIGN TABLE acct;
DROP TABLE ledger;
