-- Transactions that write more than fits in memory (widetable.write_memory) and
-- spill to temporary files.  No statement may see a difference: an ordinary
-- table gets the same writes, and the two must agree.
SET client_min_messages = warning;
SET widetable.write_memory = '64kB';
CREATE FOREIGN TABLE large (k int, n int, v text, tags jsonb OPTIONS (family 'm'))
    SERVER widetable OPTIONS (key 'k', families '{"d": {"versions": 3}, "m": {}}');
CREATE TABLE plain (k int PRIMARY KEY, n int, v text);
CREATE VIEW differ AS
    (SELECT k, n, v FROM large EXCEPT ALL SELECT * FROM plain) UNION ALL
    (SELECT * FROM plain EXCEPT ALL SELECT k, n, v FROM large);
CREATE TABLE spills_before AS SELECT spills, spilled_bytes FROM widetable.pg_stat_widetable;
-- the counters increase at the spill, not at the commit
CREATE FUNCTION has_spilled() RETURNS boolean LANGUAGE sql AS
    'SELECT s.spills > b.spills FROM widetable.pg_stat_widetable s, spills_before b';

-- One statement.  The keys are unordered, so every file overlaps every other.
BEGIN;
INSERT INTO large SELECT g * 7919 % 3001, g, repeat('v', g % 50) FROM generate_series(0, 3000) g;
INSERT INTO plain SELECT g * 7919 % 3001, g, repeat('v', g % 50) FROM generate_series(0, 3000) g;
SELECT has_spilled();
SELECT count(*), count(DISTINCT k), sum(n) FROM large;
SELECT * FROM differ;
SELECT k, n FROM large WHERE k BETWEEN 100 AND 103;
SELECT k, n FROM large ORDER BY k DESC LIMIT 3;
SELECT n FROM large WHERE k = 2999;
-- Other sessions do not see the rows, and after ROLLBACK no session does.
ROLLBACK;
SELECT count(*) FROM large;
TRUNCATE plain;

-- A statement sees the rows of earlier statements and not its own; otherwise
-- this one would never end.
BEGIN;
INSERT INTO large SELECT g, g FROM generate_series(1, 1000) g;
INSERT INTO large SELECT k + 1000, n FROM large;
INSERT INTO large SELECT k + 2000, n FROM large;
INSERT INTO large SELECT k + 4000, n FROM large;
UPDATE large SET n = n + 1;
UPDATE large SET n = n + 1, v = 'odd' WHERE k % 2 = 1;
DELETE FROM large WHERE k % 10 = 0;
INSERT INTO plain SELECT k, CASE WHEN k % 2 = 1 THEN 2 ELSE 1 END + (k - 1) % 1000 + 1, CASE WHEN k % 2 = 1 THEN 'odd' END
    FROM generate_series(1, 8000) k WHERE k % 10 <> 0;
SELECT * FROM differ;
SELECT count(*), sum(n) FROM large;
COMMIT;
SELECT * FROM differ;
SELECT count(*), sum(n) FROM large;
-- One version of each cell: a later statement of the transaction has replaced the earlier value.
SELECT cells - tombstones AS cells FROM widetable.pg_stat_widetable_tables WHERE relation = 'large'::regclass;

-- Savepoints.  Rolled back changes may be in several files, together with others.
BEGIN;
UPDATE large SET v = 'a' WHERE k <= 2000;
UPDATE plain SET v = 'a' WHERE k <= 2000;
SAVEPOINT one;
UPDATE large SET v = 'b' WHERE k <= 3000;
INSERT INTO large SELECT g, 0, 'new' FROM generate_series(9001, 10000) g;
SAVEPOINT two;
DELETE FROM large WHERE k < 5000;
SELECT count(*), min(k) FROM large;
ROLLBACK TO two;
SELECT count(*), count(*) FILTER (WHERE v = 'b') FROM large;
DELETE FROM large WHERE k > 9500;
SELECT count(*) FROM large;
ROLLBACK TO one;
SELECT * FROM differ;
UPDATE large SET v = 'c' WHERE k > 7000;
UPDATE plain SET v = 'c' WHERE k > 7000;
SELECT * FROM differ;
COMMIT;
SELECT * FROM differ;

-- Thousands of exception blocks, nested ones among them, some rolled back.
CREATE FUNCTION attempts(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. 3000 LOOP
        BEGIN
            EXECUTE format('INSERT INTO %s (k, n, v) VALUES ($1, $2, $3)', t) USING 20000 + i, i, repeat('x', 40);
            BEGIN
                EXECUTE format('UPDATE %s SET n = n + 1 WHERE k = $1', t) USING 20000 + i;
                IF i % 3 = 0 THEN RAISE EXCEPTION 'inner'; END IF;
            EXCEPTION WHEN raise_exception THEN
                IF i % 9 = 0 THEN RAISE; END IF;
            END;
            IF i % 7 = 0 THEN RAISE EXCEPTION 'outer'; END IF;
        EXCEPTION WHEN raise_exception THEN NULL;
        END;
    END LOOP;
END $$;
BEGIN;
SELECT attempts('large');
SELECT attempts('plain');
SELECT * FROM differ;
COMMIT;
SELECT * FROM differ;
SELECT count(*), sum(n) FROM large WHERE k > 20000;

-- A cursor shows the rows at its opening, even if they are spilled meanwhile.
BEGIN;
INSERT INTO large SELECT g, 1 FROM generate_series(30001, 30100) g;
DECLARE c CURSOR FOR SELECT k, n FROM large WHERE k > 30000;
FETCH 2 FROM c;
UPDATE large SET n = 2 WHERE k > 30000;
INSERT INTO large SELECT g, 3 FROM generate_series(30101, 33000) g;
DELETE FROM large WHERE k < 30050 AND k > 30000;
FETCH 2 FROM c;
MOVE 94 FROM c;
FETCH 5 FROM c;
SELECT count(*), sum(n) FROM large WHERE k > 30000;
ROLLBACK;

-- Deletes take effect in statement order, also for map columns and counters.
BEGIN;
INSERT INTO large (k, n, tags) SELECT g, g, jsonb_build_object('a', '1', 'b', repeat('t', 30)) FROM generate_series(40001, 41000) g;
UPDATE large SET tags = '{"c": "2"}' WHERE k BETWEEN 40001 AND 40500;
DELETE FROM large WHERE k BETWEEN 40101 AND 40200;
INSERT INTO large (k, n) SELECT g, -1 FROM generate_series(40151, 40160) g;
SELECT tags, count(*), sum(n) FROM large WHERE k > 40000 GROUP BY 1 ORDER BY 1;
COMMIT;
SELECT tags, count(*), sum(n) FROM large WHERE k > 40000 GROUP BY 1 ORDER BY 1;
BEGIN;
SELECT sum((widetable.increment('large', '41000', '{"m:hits": 1}'::jsonb)->>'m:hits')::int) FROM generate_series(1, 2000);
SELECT tags->>'hits' IS NOT NULL FROM large WHERE k = 41000;
ROLLBACK;

-- insert_mode 'error' finds existing keys in spilled files, too.
CREATE FOREIGN TABLE large_once (k int, v text) SERVER widetable OPTIONS (key 'k', insert_mode 'error');
BEGIN;
INSERT INTO large_once SELECT g, repeat('v', 50) FROM generate_series(1, 2000) g;
SAVEPOINT s;
INSERT INTO large_once VALUES (77, 'again');
ROLLBACK TO s;
INSERT INTO large_once VALUES (77, 'again') ON CONFLICT DO NOTHING;
SELECT count(*), count(*) FILTER (WHERE v = 'again') FROM large_once;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE v = 'again') FROM large_once;

-- No temporary files remain.
SELECT name FROM pg_ls_dir('widetable') name WHERE name LIKE '%.run%';
SELECT * FROM widetable.verify();
DROP VIEW differ;
DROP TABLE plain, spills_before;
DROP FUNCTION attempts, has_spilled;
DROP FOREIGN TABLE large, large_once;
