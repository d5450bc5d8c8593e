--
-- Stored tables belong to the owners of their foreign tables: their names, and who may share one.
--
SET client_min_messages = warning;
CREATE ROLE regress_wt_alice;
CREATE ROLE regress_wt_bob;
CREATE ROLE regress_wt_team;
CREATE ROLE regress_wt_member IN ROLE regress_wt_team;
CREATE SCHEMA names;
CREATE SCHEMA names_bob;
GRANT ALL ON SCHEMA names TO regress_wt_alice, regress_wt_bob, regress_wt_team, regress_wt_member;
GRANT ALL ON SCHEMA names_bob TO regress_wt_bob;
CREATE VIEW names.stored AS
    SELECT relation::text COLLATE "C" AS relation, table_name FROM widetable.pg_stat_widetable_tables
    WHERE relation::text ~ 'names|wt_temp' ORDER BY 1;
GRANT SELECT ON names.stored TO PUBLIC;
CREATE FUNCTION names.options(regclass) RETURNS text[] LANGUAGE sql AS
    'SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = $1';

-- the privilege to use the server is granted by an administrator, and the error says so
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE names.t (k text COLLATE "C", v text) SERVER widetable;
CREATE FOREIGN TABLE IF NOT EXISTS names.t (k text COLLATE "C", v text) SERVER widetable;
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER widetable TO regress_wt_alice, regress_wt_bob, regress_wt_team, regress_wt_member;

-- default names are quoted where SQL quotes them, so that each foreign table has its own
CREATE SCHEMA "names.q";
GRANT ALL ON SCHEMA "names.q" TO regress_wt_bob;
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE names."q.c" (k text COLLATE "C", v text) SERVER widetable;
INSERT INTO names."q.c" VALUES ('a', 'of alice');
CREATE FOREIGN TABLE names."Upper" (k text COLLATE "C", v text) SERVER widetable;
CREATE FOREIGN TABLE names."say ""x""" (k text COLLATE "C", v text) SERVER widetable;
CREATE FOREIGN TABLE names."order" (k text COLLATE "C", v text) SERVER widetable;
SET quote_all_identifiers = on;
CREATE FOREIGN TABLE names.plain (k text COLLATE "C", v text) SERVER widetable;
RESET quote_all_identifiers;
SET ROLE regress_wt_bob;
CREATE FOREIGN TABLE "names.q".c (k text COLLATE "C", v text) SERVER widetable;
SELECT * FROM "names.q".c;
RESET ROLE;
SELECT * FROM names.stored;
-- option table_name takes them with and without the quotes that are not needed
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE names.c1 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names."q.c"');
CREATE FOREIGN TABLE names.c2 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name '"names"."q.c"');
CREATE FOREIGN TABLE names.c3 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.Upper');
CREATE FOREIGN TABLE names.c4 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names."order"');
SELECT c1.v, c2.v FROM names.c1, names.c2;
RESET ROLE;
SELECT * FROM names.stored WHERE relation ~ 'names.c[0-9]';
-- other texts are names as well
CREATE FOREIGN TABLE names.o1 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names..q');
CREATE FOREIGN TABLE names.o2 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'A "b" c');
CREATE FOREIGN TABLE names.o3 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name '"names');
CREATE FOREIGN TABLE names.o4 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.q.c');
SELECT * FROM names.stored WHERE relation ~ 'names.o[0-9]';
DROP FOREIGN TABLE names.o1, names.o2, names.o3, names.o4;
-- a second foreign table makes the others state the name, so that a dump restores them together
SELECT names.options('names."q.c"'), names.options('names."Upper"'), names.options('names.c1');
DROP FOREIGN TABLE names.c1, names.c2, names.c3, names.c4, names."q.c", names."Upper", names."say ""x""", names."order", names.plain, "names.q".c;

-- a foreign table of the first release keeps its stored table, which has a name without quotes
CREATE FOREIGN TABLE names."q.c" (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.q.c');
INSERT INTO names."q.c" VALUES ('a', 'old');
SET session_replication_role = replica;
ALTER FOREIGN TABLE names."q.c" OPTIONS (DROP table_name);
RESET session_replication_role;
ALTER FOREIGN TABLE names."q.c" ADD COLUMN w text;
SELECT * FROM names."q.c";
SELECT * FROM names.stored;
CREATE FOREIGN TABLE names.c1 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.q.c');
SELECT * FROM names.c1;
SELECT names.options('names."q.c"');
CREATE FOREIGN TABLE "names.q".c (k text COLLATE "C", v text) SERVER widetable;
SELECT * FROM "names.q".c;
DROP FOREIGN TABLE names."q.c", names.c1, "names.q".c;

-- who may not create in a schema may not name its stored tables
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE pg_temp.wt_temp (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names_bob.payments');
CREATE FOREIGN TABLE pg_temp.wt_temp (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name '"names_bob".payments');
CREATE FOREIGN TABLE pg_temp.wt_temp (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names_later.payments');
CREATE FOREIGN TABLE names.t (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names_bob.payments');
CREATE FOREIGN TABLE names.t (k text COLLATE "C", v text) SERVER widetable;
ALTER FOREIGN TABLE names.t OPTIONS (ADD table_name 'names_bob.payments');
ALTER FOREIGN TABLE names.t OPTIONS (ADD table_name 'names_later.payments');
-- a name without a schema, or with its own one
ALTER FOREIGN TABLE names.t OPTIONS (ADD table_name 'anything');
ALTER FOREIGN TABLE names.t OPTIONS (SET table_name 'names.anything');
ALTER FOREIGN TABLE names.t OPTIONS (DROP table_name);
CREATE FOREIGN TABLE pg_temp.wt_temp (k text COLLATE "C", v text) SERVER widetable;
DROP FOREIGN TABLE names.t, pg_temp.wt_temp;
-- so the names of a schema are those of its users
SET ROLE regress_wt_bob;
CREATE FOREIGN TABLE names_bob.payments (k text COLLATE "C", v text) SERVER widetable;
INSERT INTO names_bob.payments VALUES ('p', 'of bob');
RESET ROLE;
-- a superuser may
CREATE FOREIGN TABLE names.any (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names_later.payments');
DROP FOREIGN TABLE names.any;

-- only members of the owner of all its foreign tables share a stored table
GRANT ALL ON SCHEMA names_bob TO regress_wt_alice;
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE names.p (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names_bob.payments');
CREATE FOREIGN TABLE names.p (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names_bob.later');
ALTER FOREIGN TABLE names.p OPTIONS (SET table_name 'names_bob.payments');
INSERT INTO names.p VALUES ('l', 'of alice');
-- the name is taken, for its schema's other users as well
SET ROLE regress_wt_bob;
CREATE FOREIGN TABLE names_bob.later (k text COLLATE "C", v text) SERVER widetable;
RESET ROLE;
-- also for a superuser, who gets no rows of other roles by accident
CREATE FOREIGN TABLE names_bob.later (k text COLLATE "C", v text) SERVER widetable;
CREATE FOREIGN TABLE names_bob.later (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names_bob.later');
SELECT * FROM names_bob.later;
DROP FOREIGN TABLE names_bob.later, names.p;
-- members share with the role, not the role with its members
SET ROLE regress_wt_team;
CREATE FOREIGN TABLE names.team (k text COLLATE "C", v text) SERVER widetable;
INSERT INTO names.team VALUES ('t', 'of the team');
SET ROLE regress_wt_member;
CREATE FOREIGN TABLE names.member (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.team');
SELECT * FROM names.member;
SET ROLE regress_wt_team;
CREATE FOREIGN TABLE names.team2 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.team');
RESET ROLE;
-- by its own name a foreign table gets no rows of another role, also not of one that its owner is a member of
RESET ROLE;
-- from 16 on a grant keeps what the role had when it was granted
REVOKE regress_wt_team FROM regress_wt_member;
ALTER ROLE regress_wt_member NOINHERIT;
GRANT regress_wt_team TO regress_wt_member;
SET ROLE regress_wt_team;
CREATE FOREIGN TABLE names.trap (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.of_member');
SET ROLE regress_wt_member;
CREATE FOREIGN TABLE names.of_member (k text COLLATE "C", v text) SERVER widetable;
CREATE FOREIGN TABLE names.of_member (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.of_member');
RESET ROLE;
REVOKE regress_wt_team FROM regress_wt_member;
ALTER ROLE regress_wt_member INHERIT;
GRANT regress_wt_team TO regress_wt_member;
SET ROLE regress_wt_member;
CREATE FOREIGN TABLE names.of_member (k text COLLATE "C", v text) SERVER widetable;
SET client_min_messages = notice;
CREATE FOREIGN TABLE names.of_member (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.of_member');
SET client_min_messages = warning;
SET ROLE regress_wt_team;
DROP FOREIGN TABLE names.trap;
RESET ROLE;
DROP FOREIGN TABLE names.of_member;
-- every foreign table counts, not only the first one
ALTER FOREIGN TABLE names.member OWNER TO regress_wt_team;
SET ROLE regress_wt_member;
CREATE FOREIGN TABLE names.member2 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.team');
RESET ROLE;
ALTER FOREIGN TABLE names.member2 OWNER TO regress_wt_bob;
SET ROLE regress_wt_member;
CREATE FOREIGN TABLE names.member3 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'names.team');
RESET ROLE;
DROP FOREIGN TABLE names.team, names.member, names.member2;

-- a dropped table's name is free for everybody, also in the same transaction, and its rows are gone
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE names.t (k text COLLATE "C", v text) SERVER widetable;
INSERT INTO names.t VALUES ('a', 'of alice');
DROP FOREIGN TABLE names.t;
SET ROLE regress_wt_bob;
CREATE FOREIGN TABLE names.t (k text COLLATE "C", v text) SERVER widetable;
SELECT * FROM names.t;
INSERT INTO names.t VALUES ('b', 'of bob');
RESET ROLE;
BEGIN;
DROP FOREIGN TABLE names.t;
SET LOCAL ROLE regress_wt_alice;
CREATE FOREIGN TABLE names.t (k text COLLATE "C", v text) SERVER widetable;
SELECT * FROM names.t;
ROLLBACK;
SELECT * FROM names.t;
-- the drop was not seen: event triggers are off
SET session_replication_role = replica;
ALTER FOREIGN TABLE names.t RENAME TO t_old;
RESET session_replication_role;
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE names.t (k text COLLATE "C", v text) SERVER widetable;
SELECT * FROM names.t;
RESET ROLE;
SELECT * FROM names.stored WHERE relation LIKE 'names.t%';
DROP FOREIGN TABLE names.t, names.t_old;

-- a view of a role is not taken over
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE names.t (k text COLLATE "C", v text) SERVER widetable;
SET ROLE regress_wt_bob;
CREATE VIEW names.t_view WITH (security_invoker) AS SELECT 'forged'::text COLLATE "C" AS k, 'forged'::text AS v;
COMMENT ON VIEW names.t_view IS 'all columns of a wide table (made by widetable.plain_view)';
RESET ROLE;
SELECT widetable.plain_view('names.t');
SET ROLE regress_wt_alice;
SELECT widetable.plain_view('names.t');
SELECT widetable.plain_view('names.t', 'mine');
ALTER FOREIGN TABLE names.t ADD COLUMN w text;
SELECT widetable.plain_view('names.t', 'mine');
RESET ROLE;
SELECT relowner::regrole FROM pg_class WHERE oid = 'names.t_view'::regclass;

-- the views show what the own transaction has created, changed and dropped
BEGIN;
CREATE FOREIGN TABLE names.own (k text COLLATE "C", v text OPTIONS (column 'a:v'), w text OPTIONS (column 'b:w')) SERVER widetable;
INSERT INTO names.own VALUES ('k', 'v', 'w');
SELECT relation, family, options->>'versions' AS versions, files, cells FROM widetable.pg_stat_widetable_families WHERE table_name = 'names.own' ORDER BY family;
ALTER FOREIGN TABLE names.own DROP COLUMN w, OPTIONS (ADD families '{"a": {"versions": 3}, "b": null}');
SELECT relation, family, options->>'versions' AS versions FROM widetable.pg_stat_widetable_families WHERE table_name = 'names.own';
SAVEPOINT s;
DROP FOREIGN TABLE names.own;
SELECT count(*) FROM widetable.pg_stat_widetable_families WHERE table_name = 'names.own';
ROLLBACK TO s;
TRUNCATE names.own;
SELECT relation, table_name, families FROM widetable.pg_stat_widetable_tables WHERE table_name = 'names.own';
COMMIT;
SELECT relation, family, options->>'versions' AS versions FROM widetable.pg_stat_widetable_families WHERE table_name = 'names.own';

-- how many wide tables a role may have: counted by owner, checked by the command
CREATE SCHEMA quota;
GRANT ALL ON SCHEMA quota TO regress_wt_alice, regress_wt_team, regress_wt_member;
SET ROLE regress_wt_member;
SET widetable.max_tables_per_role = 100;
RESET ROLE;
SET widetable.max_tables_per_role = 2;
SET ROLE regress_wt_member;
CREATE FOREIGN TABLE quota.t1 (k text COLLATE "C", v text) SERVER widetable;
BEGIN;
CREATE FOREIGN TABLE quota.t2 (k text COLLATE "C", v text) SERVER widetable;
\set VERBOSITY sqlstate
SAVEPOINT s;
DO $$ BEGIN CREATE FOREIGN TABLE quota.t3 (k text COLLATE "C", v text) SERVER widetable;
EXCEPTION WHEN configuration_limit_exceeded THEN RAISE WARNING USING MESSAGE = SQLERRM, ERRCODE = SQLSTATE; END $$;
\set VERBOSITY default
CREATE FOREIGN TABLE quota.t3 (k text COLLATE "C", v text) SERVER widetable;
ROLLBACK TO s;
-- a foreign table on a stored table is no new one, but there are limits for these and for families, too
CREATE FOREIGN TABLE quota.c1 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'quota.t1');
CREATE FOREIGN TABLE quota.c2 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'quota.t1');
SAVEPOINT s;
CREATE FOREIGN TABLE quota.c3 (k text COLLATE "C", v text) SERVER widetable OPTIONS (table_name 'quota.t1');
ROLLBACK TO s;
ALTER FOREIGN TABLE quota.t1 OPTIONS (ADD families '{"d": {}, "a": {}, "b": {}, "c": {}, "e": {}, "f": {}, "g": {}}');
SAVEPOINT s;
ALTER FOREIGN TABLE quota.t2 OPTIONS (ADD families '{"d": {}, "a": {}}');
ROLLBACK TO s;
DROP FOREIGN TABLE quota.t2;
CREATE FOREIGN TABLE quota.t3 (k text COLLATE "C", v text) SERVER widetable;
COMMIT;
-- a command that adds nothing is not refused
RESET ROLE;
SET widetable.max_tables_per_role = 1;
SET ROLE regress_wt_member;
ALTER FOREIGN TABLE quota.t3 RENAME COLUMN v TO w;
ALTER FOREIGN TABLE quota.t3 RENAME TO t4;
INSERT INTO quota.t4 VALUES ('k', 'v');
TRUNCATE quota.t4;
-- giving tables away
ALTER FOREIGN TABLE quota.t1 OWNER TO regress_wt_team;
ALTER FOREIGN TABLE quota.t4 OWNER TO regress_wt_team;
REASSIGN OWNED BY regress_wt_member TO regress_wt_team;
CREATE FOREIGN TABLE quota.t5 (k text COLLATE "C", v text) SERVER widetable;
-- superusers and their tables do not count, and they may give tables to anybody
RESET ROLE;
CREATE FOREIGN TABLE quota.s1 (k text COLLATE "C", v text) SERVER widetable;
CREATE FOREIGN TABLE quota.s2 (k text COLLATE "C", v text) SERVER widetable;
ALTER FOREIGN TABLE quota.s2 OWNER TO regress_wt_alice;
ALTER FOREIGN TABLE quota.s1 OWNER TO regress_wt_alice;
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE quota.a (k text COLLATE "C", v text) SERVER widetable;
RESET ROLE;
SET widetable.max_tables_per_role = -1;
SET ROLE regress_wt_alice;
CREATE FOREIGN TABLE quota.a (k text COLLATE "C", v text) SERVER widetable;
RESET ROLE;
RESET widetable.max_tables_per_role;
SHOW widetable.max_tables_per_role;
DROP SCHEMA quota CASCADE;

DROP SCHEMA names, "names.q", names_bob CASCADE;
DROP OWNED BY regress_wt_alice, regress_wt_bob, regress_wt_team, regress_wt_member;
DROP ROLE regress_wt_alice, regress_wt_bob, regress_wt_team, regress_wt_member;
