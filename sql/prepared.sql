-- PREPARE TRANSACTION after writing to wide tables.  Crashes and locks are in test/tap/prepared.t and
-- test/specs/prepared.spec.
CREATE FOREIGN TABLE pw (k int, n int, m jsonb OPTIONS (family 'm')) SERVER widetable OPTIONS (key 'k', families '{"d": {}, "m": {}}');
CREATE FOREIGN TABLE pc (k int, n bigint OPTIONS (encoding 'counter')) SERVER widetable OPTIONS (key 'k');
CREATE TABLE ph (k int UNIQUE DEFERRABLE INITIALLY DEFERRED, n int);
INSERT INTO pw VALUES (1, 1), (2, 2), (3, 3);
-- what is refused, also by a server without prepared transactions
BEGIN;
TRUNCATE pw;
PREPARE TRANSACTION 'regress_p';
BEGIN;
CREATE FOREIGN TABLE pn (k int) SERVER widetable;
PREPARE TRANSACTION 'regress_p';
BEGIN;
ALTER FOREIGN TABLE pw OPTIONS (SET families '{"d": {"versions": 3}, "m": {}}');
PREPARE TRANSACTION 'regress_p';
BEGIN;
DROP FOREIGN TABLE pw;
PREPARE TRANSACTION 'regress_p';
SELECT k, n FROM pw ORDER BY k;
SELECT current_setting('max_prepared_transactions')::int > 1 AS enabled \gset
\if :enabled
\else
BEGIN;
INSERT INTO pw VALUES (4, 4);
PREPARE TRANSACTION 'regress_p';
SELECT k, n FROM pw ORDER BY k;
UPDATE pw SET n = n WHERE k = 1;
DROP FOREIGN TABLE pw, pc;
DROP TABLE ph;
\quit
\endif
-- savepoints, functions, the session's own reads before
BEGIN;
INSERT INTO pw VALUES (4, 4);
SAVEPOINT a;
INSERT INTO pw VALUES (5, 5);
UPDATE pw SET n = 20 WHERE k = 2;
ROLLBACK TO a;
SAVEPOINT b;
UPDATE pw SET n = 30, m = '{"a": 1}' WHERE k = 3;
RELEASE b;
DELETE FROM pw WHERE k = 1;
SELECT widetable.increment('pc', 1, 'n', 5);
SELECT widetable.check_and_mutate('pw', 2, 'n', '=', 2, '[{"put": {"n": 22}}]');
INSERT INTO ph VALUES (1, 1);
SELECT k, n FROM pw ORDER BY k;
PREPARE TRANSACTION 'regress_p';
SELECT k, n FROM pw ORDER BY k;
SELECT gid FROM pg_prepared_xacts WHERE gid LIKE 'regress%';
SELECT pid, relation::regclass, count(*) FROM widetable.pg_stat_widetable_locks WHERE relation IN ('pw'::regclass, 'pc'::regclass) GROUP BY 1, 2 ORDER BY 3;
SELECT k FROM pw FOR UPDATE SKIP LOCKED;
SELECT k FROM pw WHERE k = 3 FOR UPDATE NOWAIT;
BEGIN;
COMMIT PREPARED 'regress_p';
ROLLBACK;
COMMIT PREPARED 'regress_other';
SELECT k, n FROM pw ORDER BY k;
COMMIT PREPARED 'regress_p';
SELECT * FROM pw ORDER BY k;
SELECT * FROM pc;
SELECT * FROM ph;
SELECT count(*) FROM widetable.pg_stat_widetable_locks WHERE relation IN ('pw'::regclass, 'pc'::regclass);
-- a deferred constraint fails at PREPARE
BEGIN;
INSERT INTO pw VALUES (6, 6);
INSERT INTO ph VALUES (1, 2);
PREPARE TRANSACTION 'regress_p';
-- a name that is in use, notifications: PostgreSQL's errors come behind the store's part
BEGIN;
UPDATE pw SET n = 0 WHERE k = 2;
PREPARE TRANSACTION 'regress_p';
BEGIN;
UPDATE pw SET n = 0 WHERE k = 3;
PREPARE TRANSACTION 'regress_p';
BEGIN;
UPDATE pw SET n = 1 WHERE k = 3;
NOTIFY regress_p;
PREPARE TRANSACTION 'regress_q';
SELECT k, n FROM pw ORDER BY k;
UPDATE pw SET n = 33 WHERE k = 3;
ROLLBACK PREPARED 'regress_p';
UPDATE pw SET n = n + 1 WHERE k = 2;
SELECT k, n FROM pw ORDER BY k;
-- undone changes of the catalog; nothing but undone changes
BEGIN;
SAVEPOINT a;
TRUNCATE pw;
ROLLBACK TO a;
UPDATE pw SET n = 40 WHERE k = 4;
PREPARE TRANSACTION 'regress_p';
COMMIT PREPARED 'regress_p';
BEGIN;
SAVEPOINT a;
UPDATE pw SET n = 41 WHERE k = 4;
ROLLBACK TO a;
PREPARE TRANSACTION 'regress_p';
UPDATE pw SET n = n + 1 WHERE k = 4;
ROLLBACK PREPARED 'regress_p';
SELECT k, n FROM pw ORDER BY k;
-- a session that has not loaded the library ends it; what it writes then is newer
BEGIN;
UPDATE pw SET n = 50 WHERE k IN (2, 3);
PREPARE TRANSACTION 'regress_p';
\c -
COMMIT PREPARED 'regress_p';
INSERT INTO pw (k, n) VALUES (2, 60);
SELECT k, n FROM pw ORDER BY k;
BEGIN;
UPDATE pw SET n = 70 WHERE k IN (2, 3);
PREPARE TRANSACTION 'regress_p';
\c -
ROLLBACK PREPARED 'regress_p';
UPDATE pw SET n = n + 1 WHERE k IN (2, 3);
SELECT k, n FROM pw ORDER BY k;
SELECT count(*) FROM widetable.pg_stat_widetable_locks WHERE relation IN ('pw'::regclass, 'pc'::regclass);
DROP FOREIGN TABLE pw, pc;
DROP TABLE ph;
