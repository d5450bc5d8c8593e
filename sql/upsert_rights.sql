--
-- INSERT writes over an existing row only with the rights of an UPDATE of that row.
--
SET client_min_messages = warning;
CREATE ROLE regress_wt_ur_owner;
CREATE ROLE regress_wt_ur_user;
CREATE ROLE regress_wt_ur_bypass BYPASSRLS;
CREATE SCHEMA ur;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_ur_owner;
GRANT USAGE, CREATE ON SCHEMA ur TO regress_wt_ur_owner;
GRANT USAGE ON SCHEMA ur TO regress_wt_ur_user, regress_wt_ur_bypass;
SET search_path = ur;
SET ROLE regress_wt_ur_owner;

--
-- privileges: layout 'rows'
--
CREATE FOREIGN TABLE t (k text COLLATE "C", a text, b text, c text DEFAULT 'default') SERVER widetable;
INSERT INTO t VALUES ('old', 'a', 'b', 'c');
GRANT INSERT ON t TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO t VALUES ('new', 'a', 'b', 'c');
INSERT INTO t (k, a) VALUES ('old', 'hijacked');
INSERT INTO t (k, a) VALUES ('old', 'hijacked') ON CONFLICT DO NOTHING;
INSERT INTO t (k, a) VALUES ('new2', 'a'), ('new2', 'again');
-- not blind
EXPLAIN (COSTS OFF) INSERT INTO t VALUES ('old', 'a');
COPY t (k, a) FROM stdin;
old	copied
\.
RESET ROLE;
SELECT * FROM t ORDER BY k;
-- as for an ordinary table, the error shows the key to roles with SELECT only
GRANT SELECT (k) ON t TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO t (k, a) VALUES ('old', 'hijacked');

-- UPDATE of some columns: each column that gets a value needs it, also by a default
RESET ROLE;
GRANT UPDATE (a) ON t TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO t (k, a) VALUES ('old', 'a1');
INSERT INTO t (k, a, c) VALUES ('old', 'a1', NULL);
INSERT INTO t (k, a, b, c) VALUES ('old', 'a2', 'b2', NULL);
INSERT INTO t (k, a, b, c) VALUES ('old2', 'a2', 'b2', NULL);
EXPLAIN (COSTS OFF) INSERT INTO t VALUES ('old', 'a');
RESET ROLE;
GRANT UPDATE ON t TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
EXPLAIN (COSTS OFF) INSERT INTO t VALUES ('old', 'a');
INSERT INTO t (k, a, b) VALUES ('old', 'a3', 'b3');
RESET ROLE;
SELECT * FROM t ORDER BY k;
-- a generated column needs no privilege
CREATE FOREIGN TABLE g (k int, a int, twice int GENERATED ALWAYS AS (a * 2) STORED, b int) SERVER widetable;
INSERT INTO g VALUES (1, 1, DEFAULT, 1);
GRANT INSERT ON g TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO g (k, a) VALUES (1, 5);
RESET ROLE;
GRANT UPDATE (a) ON g TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO g (k, a) VALUES (1, 5);
RESET ROLE;
SELECT * FROM g;
-- the column of a cell's timestamp is one that gets a value, too
CREATE FOREIGN TABLE ts (k int, v text, at bigint OPTIONS (timestamp_of 'v')) SERVER widetable;
INSERT INTO ts VALUES (1, 'v', 1000);
GRANT INSERT, UPDATE (v) ON ts TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO ts (k, v, at) VALUES (1, 'w', 2000);
INSERT INTO ts (k, v) VALUES (1, 'w');
-- put() needs INSERT and UPDATE, with a timestamp also for the column that shows it
SELECT widetable.put('ur.ts', 1, 'v', 'x', 5);
SELECT widetable.put('ur.ts', 1, 'v', 'x');
RESET ROLE;
REVOKE UPDATE (v) ON ts FROM regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
SELECT widetable.put('ur.ts', 1, 'v', 'x', 5);

-- rows of keys alone
RESET ROLE;
CREATE FOREIGN TABLE follows (a int, b int) SERVER widetable OPTIONS (key 'a, b');
INSERT INTO follows VALUES (1, 2);
GRANT SELECT, INSERT ON follows TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO follows VALUES (1, 3);
INSERT INTO follows VALUES (1, 2);
INSERT INTO follows VALUES (1, 2), (1, 4) ON CONFLICT DO NOTHING;
SELECT * FROM follows;

--
-- privileges: layout 'cells'.  A new version changes what the cell shows.
--
RESET ROLE;
CREATE FOREIGN TABLE c (k text COLLATE "C", family text, qualifier text, ts bigint, value text)
    SERVER widetable OPTIONS (layout 'cells', families '{"f": {"versions": 3}}');
INSERT INTO c VALUES ('old', 'f', 'q', 1000, 'one');
GRANT INSERT ON c TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO c VALUES ('old', 'f', 'q', 1000, 'replaced');
INSERT INTO c VALUES ('old', 'f', 'q', 500, 'older');
INSERT INTO c VALUES ('old', 'f', 'q', NULL, 'newer');
INSERT INTO c VALUES ('old', 'f', 'q', NULL, 'newer') ON CONFLICT DO NOTHING;
INSERT INTO c VALUES ('old', 'f', 'another', 1000, 'one'), ('new', 'f', 'q', 1000, 'one');
INSERT INTO c VALUES ('new2', 'f', 'q', 1000, 'one'), ('new2', 'f', 'q', 2000, 'two');
RESET ROLE;
SELECT * FROM c;
GRANT UPDATE (value) ON c TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO c VALUES ('old', 'f', 'q', 1000, 'replaced'), ('old', 'f', 'q', 2000, 'newer');
RESET ROLE;
SELECT * FROM c WHERE k = 'old';

--
-- privileges count for the users that the statement is checked as
--
REVOKE ALL ON t FROM regress_wt_ur_user;
REVOKE SELECT (k), UPDATE (a) ON t FROM regress_wt_ur_user;
SET ROLE regress_wt_ur_owner;
-- (the views do not show c: see below)
ALTER FOREIGN TABLE t ALTER COLUMN c DROP DEFAULT;
CREATE FUNCTION definer(text, text) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = ur AS
    'INSERT INTO t (k, a) VALUES ($1, $2)';
CREATE VIEW v AS SELECT k, a FROM t;
CREATE VIEW vv AS SELECT k, a FROM v;
GRANT INSERT ON v, vv TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
SELECT definer('old', 'definer');
-- a view: UPDATE of the view for its user, and of the table for the view's owner
INSERT INTO v VALUES ('old', 'view');
INSERT INTO vv VALUES ('old', 'view');
INSERT INTO v VALUES ('by view', 'view');
INSERT INTO vv VALUES ('by view 2', 'view');
SET ROLE regress_wt_ur_owner;
GRANT UPDATE (k) ON v TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO v VALUES ('old', 'view');
SET ROLE regress_wt_ur_owner;
GRANT UPDATE (a) ON v TO regress_wt_ur_user;
REVOKE UPDATE (k) ON v FROM regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO v VALUES ('old', 'by v');
SET ROLE regress_wt_ur_owner;
GRANT UPDATE ON vv TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO vv VALUES ('old', 'by vv');
RESET ROLE;
SELECT k, a FROM t WHERE k = 'old';
-- the view's owner may INSERT only
CREATE VIEW v_user AS SELECT k, a FROM t;
ALTER VIEW v_user OWNER TO regress_wt_ur_user;
GRANT INSERT ON t TO regress_wt_ur_user;
GRANT ALL ON v_user TO regress_wt_ur_owner;
SET ROLE regress_wt_ur_owner;
INSERT INTO v_user VALUES ('old', 'by v_user');
-- a view that is checked as its user
CREATE VIEW v_invoker WITH (security_invoker) AS SELECT k, a FROM t;
GRANT INSERT, UPDATE ON v_invoker TO regress_wt_ur_user;
INSERT INTO v_invoker VALUES ('old', 'invoker');
SET ROLE regress_wt_ur_user;
INSERT INTO v_invoker VALUES ('old', 'invoker');
RESET ROLE;
SELECT k, a FROM t WHERE k = 'old';
-- other inserts of the same statement do not count
CREATE TABLE log (k text, a text);
GRANT INSERT ON log TO regress_wt_ur_bypass;
GRANT INSERT, UPDATE ON t TO regress_wt_ur_bypass;
SET ROLE regress_wt_ur_bypass;
WITH l AS (INSERT INTO log VALUES ('old', 'x')) INSERT INTO t (k, a) VALUES ('old', 'with log');
RESET ROLE;
SELECT k, a FROM t WHERE k = 'old';

-- a plan that is kept: the role that executes it counts
SET plan_cache_mode = force_generic_plan;
PREPARE ins(text, text) AS INSERT INTO t (k, a) VALUES ($1, $2);
EXECUTE ins('old', 'prepared');
SET ROLE regress_wt_ur_user;
EXECUTE ins('old', 'hijacked');
EXECUTE ins('prepared', 'new');
SET ROLE regress_wt_ur_owner;
EXECUTE ins('old', 'prepared by the owner');
CREATE FUNCTION invoker(text, text) RETURNS void LANGUAGE plpgsql SET search_path = ur AS
    'BEGIN INSERT INTO t (k, a) VALUES ($1, $2); END';
SELECT invoker('old', 'by the function');
SET ROLE regress_wt_ur_user;
SELECT invoker('old', 'hijacked');
RESET ROLE;
SELECT invoker('old', 'by the function, as superuser');
SELECT k, a FROM t WHERE k = 'old';
DEALLOCATE ins;
RESET plan_cache_mode;

--
-- WITH CHECK OPTION, and security_barrier: the row may be one that the view hides
--
SET ROLE regress_wt_ur_owner;
CREATE FOREIGN TABLE w (k text COLLATE "C", owner text, secret text) SERVER widetable;
INSERT INTO w VALUES ('theirs', 'somebody', 'secret'), ('mine', 'regress_wt_ur_user', 'x');
CREATE VIEW checked AS SELECT * FROM w WHERE owner = current_user WITH CHECK OPTION;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM w WHERE owner = current_user;
CREATE VIEW over_barrier AS SELECT * FROM barrier;
GRANT ALL ON checked, barrier, over_barrier TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO checked (k, owner) VALUES ('theirs', current_user) RETURNING *;
INSERT INTO checked (k, owner) VALUES ('theirs', current_user) ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO checked (k, owner) VALUES ('mine', current_user);
INSERT INTO checked (k, owner) VALUES ('mine2', 'somebody');
INSERT INTO checked (k, owner) VALUES ('mine2', current_user);
INSERT INTO barrier (k, owner) VALUES ('theirs', current_user);
INSERT INTO over_barrier (k, owner) VALUES ('theirs', current_user);
INSERT INTO barrier (k, owner) VALUES ('mine3', current_user);
SELECT * FROM checked ORDER BY k;
-- the key is shown to no user of the view, although the view's owner may see it
UPDATE checked SET k = 'theirs' WHERE k = 'mine2';
SET ROLE regress_wt_ur_owner;
-- the owner, too, cannot write over rows through these views
INSERT INTO barrier (k, owner) VALUES ('theirs', current_user);
INSERT INTO w (k, owner) VALUES ('theirs', 'somebody');
SELECT * FROM w ORDER BY k;
-- layout 'cells'
CREATE VIEW c_checked AS SELECT * FROM c WHERE value <> 'one' WITH CHECK OPTION;
RESET ROLE;
ALTER FOREIGN TABLE c OWNER TO regress_wt_ur_owner;
GRANT ALL ON c_checked TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO c_checked VALUES ('new', 'f', 'q', NULL, 'overwritten');
INSERT INTO c_checked VALUES ('new', 'f', 'q', NULL, 'overwritten') ON CONFLICT DO NOTHING;
INSERT INTO c_checked VALUES ('new', 'f', 'another', 1000, 'two');
RESET ROLE;
SELECT * FROM c WHERE k = 'new';

--
-- other views: UPDATE through them changes only rows that meet the condition, and columns that they show
--
SET ROLE regress_wt_ur_owner;
CREATE FOREIGN TABLE d (k text COLLATE "C", a text, b text DEFAULT 'default', c text) SERVER widetable;
INSERT INTO d VALUES ('old', 'a', 'b', 'c');
CREATE VIEW d_some AS SELECT a, k FROM d;
CREATE VIEW d_over AS SELECT k AS key, a AS x FROM d_some;
CREATE VIEW d_where AS SELECT * FROM d WHERE a = 'mine';
CREATE VIEW d_over_where AS SELECT * FROM d_where;
CREATE VIEW d_all AS SELECT c, b, a, k FROM d;
ALTER VIEW d_all ALTER COLUMN c SET DEFAULT 'of the view';
CREATE VIEW d_plain AS SELECT * FROM d;
GRANT ALL ON d_some, d_over, d_where, d_over_where, d_plain TO regress_wt_ur_user;
GRANT INSERT, UPDATE (a, b) ON d_all TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
-- the default of a column that the view does not show
INSERT INTO d_some (k, a) VALUES ('old', 'hijacked');
INSERT INTO d_over VALUES ('old', 'hijacked');
INSERT INTO d_over VALUES ('old', 'hijacked') ON CONFLICT DO NOTHING;
INSERT INTO d_over VALUES ('new', 'x');
-- a row that the view does not show
INSERT INTO d_where (k, a) VALUES ('old', 'mine') RETURNING *;
INSERT INTO d_over_where (k, a) VALUES ('old', 'mine') RETURNING *;
-- the view's default for a column without UPDATE
INSERT INTO d_all (k, a, b) VALUES ('old', 'hijacked', 'hijacked');
INSERT INTO d_all (k, a, b, c) VALUES ('old', 'a2', 'b2', NULL);
SELECT * FROM d_plain ORDER BY k;
-- all rights
INSERT INTO d_plain VALUES ('old', 'a3', 'b3', 'c3');
EXPLAIN (COSTS OFF) INSERT INTO d_plain VALUES ('old', 'a3');
EXPLAIN (COSTS OFF) INSERT INTO d_some (k, a) VALUES ('old', 'a3');
SELECT * FROM d_plain ORDER BY k;
RESET ROLE;
-- a table of its key alone
SET ROLE regress_wt_ur_owner;
CREATE FOREIGN TABLE keys (k text COLLATE "C") SERVER widetable;
INSERT INTO keys VALUES ('old');
CREATE VIEW keys_view AS SELECT * FROM keys;
GRANT INSERT ON keys_view TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO keys_view VALUES ('old');
RESET ROLE;
GRANT UPDATE ON keys_view TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO keys_view VALUES ('old');
RESET ROLE;

--
-- row security of a partitioned table
--
SET ROLE regress_wt_ur_owner;
CREATE TABLE p (k text COLLATE "C", owner text, secret text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE p_wide PARTITION OF p FOR VALUES FROM ('w') TO ('x') SERVER widetable;
CREATE TABLE p_heap PARTITION OF p FOR VALUES FROM ('h') TO ('i');
INSERT INTO p VALUES ('w1', 'somebody', 'secret'), ('w2', 'regress_wt_ur_user', 'x'), ('h1', 'regress_wt_ur_user', 'y');
GRANT ALL ON p TO regress_wt_ur_user, regress_wt_ur_bypass;
ALTER TABLE p ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON p USING (owner = current_user);
SET ROLE regress_wt_ur_user;
INSERT INTO p (k, owner) VALUES ('w1', current_user);
INSERT INTO p (k, owner) VALUES ('w1', current_user) ON CONFLICT DO NOTHING;
INSERT INTO p (k, owner) VALUES ('w2', current_user);
INSERT INTO p (k, owner) VALUES ('w3', current_user);
-- the policy's check, for a wide partition as for an ordinary one
INSERT INTO p (k, owner) VALUES ('w4', 'somebody');
INSERT INTO p (k, owner) VALUES ('h4', 'somebody');
UPDATE p SET owner = 'somebody' WHERE k = 'w3';
UPDATE p SET owner = 'somebody' WHERE k = 'h1';
UPDATE p SET k = 'w5', owner = 'somebody' WHERE k = 'h1';
\copy p (k, owner) FROM /dev/null
-- a row that moves here
UPDATE p SET k = 'w1' WHERE k = 'h1';
UPDATE p SET k = 'w2' WHERE k = 'h1';
UPDATE p SET k = 'w5' WHERE k = 'h1';
SELECT * FROM p ORDER BY k;
-- policies without an expression to check
SET ROLE regress_wt_ur_owner;
DROP POLICY own ON p;
CREATE POLICY see ON p FOR SELECT USING (owner = current_user);
CREATE POLICY ins ON p FOR INSERT WITH CHECK (true);
CREATE POLICY upd ON p FOR UPDATE USING (owner = current_user) WITH CHECK (true);
SET ROLE regress_wt_ur_user;
INSERT INTO p (k, owner) VALUES ('w1', current_user);
INSERT INTO p (k, owner) VALUES ('w6', 'somebody');
INSERT INTO p (k, owner) VALUES ('w7', 'somebody') RETURNING *;
-- a plan that is kept
SET plan_cache_mode = force_generic_plan;
SET ROLE regress_wt_ur_owner;
PREPARE ins(text) AS INSERT INTO p (k, owner) VALUES ($1, current_user);
EXECUTE ins('w6');
SET ROLE regress_wt_ur_user;
EXECUTE ins('w1');
-- a role without row security, the owner, and the owner with row security
SET ROLE regress_wt_ur_bypass;
EXECUTE ins('w6');
SET ROLE regress_wt_ur_owner;
ALTER TABLE p FORCE ROW LEVEL SECURITY;
EXECUTE ins('w6');
ALTER TABLE p NO FORCE ROW LEVEL SECURITY;
EXECUTE ins('w6');
SELECT * FROM p ORDER BY k;
DEALLOCATE ins;
RESET plan_cache_mode;
ALTER TABLE p DISABLE ROW LEVEL SECURITY;

-- without row security: privileges on the partitioned table count
REVOKE ALL ON p FROM regress_wt_ur_user;
GRANT SELECT, INSERT, UPDATE (owner, k) ON p TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO p (k, owner) VALUES ('w1', 'overwritten');
INSERT INTO p (k, owner, secret) VALUES ('w1', 'overwritten', 'overwritten');
COPY p FROM stdin;
w1	copied	copied
\.
COPY p (k, owner) FROM stdin;
w1	copied
\.
SELECT * FROM p WHERE k = 'w1';
-- rows that move, and MERGE, write over no row, whoever moves them
RESET ROLE;
INSERT INTO p VALUES ('h1', 'moved', 'moved');
UPDATE p SET k = 'w1' WHERE k = 'h1';
UPDATE p SET k = 'w8' WHERE k = 'h1';
MERGE INTO p USING (VALUES ('w1', 'merged')) s (k, o) ON p.k = 'h1' AND s.k = p.k WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.o);
MERGE INTO p USING (VALUES ('w9', 'merged')) s (k, o) ON p.k = 'h1' AND s.k = p.k WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.o);
MERGE INTO p USING (VALUES ('w1', 'merged')) s (k, o) ON s.k = p.k WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.o);
SELECT * FROM p ORDER BY k;

-- partitions in layout 'cells', whose columns have another order than the parent's
CREATE TABLE pc (value text, k text COLLATE "C", ts bigint, family text, qualifier text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE pc_wide (k text COLLATE "C", family text, qualifier text, ts bigint, value text)
    SERVER widetable OPTIONS (layout 'cells', families '{"f": {"versions": 3}}');
ALTER TABLE pc ATTACH PARTITION pc_wide FOR VALUES FROM ('w') TO ('x');
CREATE TABLE pc_heap PARTITION OF pc FOR VALUES FROM ('h') TO ('i');
INSERT INTO pc (k, family, qualifier, ts, value) VALUES ('w1', 'f', 'hidden', 1000, 'x'), ('w1', 'f', 'seen', 1000, 'y'), ('h1', 'f', 'seen', 1000, 'z');
GRANT SELECT, INSERT, UPDATE (value, ts, k) ON pc TO regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO pc (k, family, qualifier, ts, value) VALUES ('w1', 'f', 'seen', 1000, 'y2');
RESET ROLE;
REVOKE UPDATE (value) ON pc FROM regress_wt_ur_user;
SET ROLE regress_wt_ur_user;
INSERT INTO pc (k, family, qualifier, ts, value) VALUES ('w1', 'f', 'seen', 1000, 'y3');
RESET ROLE;
GRANT ALL ON pc TO regress_wt_ur_user;
ALTER TABLE pc ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON pc USING (qualifier = 'seen') WITH CHECK (true);
SET ROLE regress_wt_ur_user;
INSERT INTO pc (k, family, qualifier, ts, value) VALUES ('w1', 'f', 'hidden', 2000, 'overwritten');
INSERT INTO pc (k, family, qualifier, ts, value) VALUES ('w1', 'f', 'new', 2000, 'n');
UPDATE pc SET k = 'w1' WHERE k = 'h1';
UPDATE pc SET k = 'w2' WHERE k = 'h1';
RESET ROLE;
SELECT k, family, qualifier, ts, value FROM pc ORDER BY k, qualifier;

RESET search_path;
DROP SCHEMA ur CASCADE;
DROP OWNED BY regress_wt_ur_owner, regress_wt_ur_user, regress_wt_ur_bypass;
DROP ROLE regress_wt_ur_owner, regress_wt_ur_user, regress_wt_ur_bypass;
