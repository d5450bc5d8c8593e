-- Joins: values from the other table look up keys.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

CREATE FOREIGN TABLE join_users (id int, name text, city text) SERVER widetable;
CREATE FOREIGN TABLE join_follows (follower int, followed int, since date) SERVER widetable OPTIONS (key 'follower, followed');
CREATE TABLE join_picked (id int, who int, tag text);
INSERT INTO join_users SELECT n, 'user ' || n, 'city ' || n % 7 FROM generate_series(1, 3000) n;
INSERT INTO join_follows SELECT n, (n * f * 37) % 3000 + 1, date '2024-01-01' + f FROM generate_series(1, 3000) n, generate_series(1, 3) f;
INSERT INTO join_picked SELECT n * 500, n, 'tag ' || n FROM generate_series(1, 5) n;
ANALYZE join_users, join_follows, join_picked;

-- A few rows of an ordinary table look up their keys.
EXPLAIN (COSTS OFF) SELECT p.tag, u.name FROM join_picked p JOIN join_users u ON u.id = p.id ORDER BY 1;
SELECT p.tag, u.name FROM join_picked p JOIN join_users u ON u.id = p.id ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT p.tag, u.name FROM join_picked p LEFT JOIN join_users u ON u.id = p.id + 1000;
SELECT p.tag, u.name FROM join_picked p LEFT JOIN join_users u ON u.id = p.id + 1000 ORDER BY 1;
-- The leading key column, then both key columns.
EXPLAIN (COSTS OFF) SELECT count(*) FROM join_picked p JOIN join_follows f ON f.follower = p.id;
SELECT p.id, count(*) FROM join_picked p JOIN join_follows f ON f.follower = p.id GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT f.since FROM join_picked p JOIN join_follows f ON f.follower = p.id AND f.followed = p.who;
SELECT f.follower, f.followed, f.since FROM join_picked p JOIN join_follows f ON f.follower = p.id AND f.followed = p.who * 500 * 37 % 3000 + 1 ORDER BY 1;
-- Joins between wide tables: users followed by the users that user 7 follows.
EXPLAIN (COSTS OFF) SELECT DISTINCT g.followed FROM join_follows f JOIN join_follows g ON g.follower = f.followed WHERE f.follower = 7;
SELECT count(DISTINCT g.followed) FROM join_follows f JOIN join_follows g ON g.follower = f.followed WHERE f.follower = 7;
EXPLAIN (COSTS OFF)
SELECT u.name FROM join_follows f JOIN join_users u ON u.id = f.followed WHERE f.follower = 7 ORDER BY f.followed;
SELECT u.name FROM join_follows f JOIN join_users u ON u.id = f.followed WHERE f.follower = 7 ORDER BY f.followed;
-- Key columns bound by two other tables.
SET join_collapse_limit = 1;
SET enable_memoize = off;
EXPLAIN (COSTS OFF)
SELECT f.* FROM join_picked p CROSS JOIN (VALUES (1), (3)) x(n) JOIN join_follows f ON f.follower = p.id AND f.followed = p.id * 37 * x.n % 3000 + 1;
SELECT f.* FROM join_picked p CROSS JOIN (VALUES (1), (3)) x(n) JOIN join_follows f ON f.follower = p.id AND f.followed = p.id * 37 * x.n % 3000 + 1
ORDER BY 1, 2;
RESET join_collapse_limit;
RESET enable_memoize;

-- LATERAL: the newest three for each row; ranges and prefixes from the other side.
EXPLAIN (COSTS OFF)
SELECT p.id, f.followed FROM join_picked p, LATERAL (SELECT * FROM join_follows f WHERE f.follower = p.id ORDER BY followed DESC LIMIT 2) f;
SELECT p.id, f.followed FROM join_picked p, LATERAL (SELECT * FROM join_follows f WHERE f.follower = p.id ORDER BY followed DESC LIMIT 2) f ORDER BY 1, 2 DESC;
CREATE FOREIGN TABLE join_words (w text COLLATE "C", n int) SERVER widetable;
INSERT INTO join_words SELECT md5(n::text), n FROM generate_series(1, 2000) n;
ANALYZE join_words;
CREATE TABLE join_prefixes (p text COLLATE "C");
INSERT INTO join_prefixes VALUES ('abc'), ('a1'), ('zz'), (NULL);
EXPLAIN (COSTS OFF) SELECT p, count(*) FROM join_prefixes JOIN join_words ON w LIKE p || '%' GROUP BY p;
SELECT p, count(*) FROM join_prefixes JOIN join_words ON w LIKE p || '%' GROUP BY p ORDER BY p;
SELECT p, count(*) FROM join_prefixes JOIN join_words ON w ^@ p GROUP BY p ORDER BY p;
SELECT p, (SELECT min(w) FROM join_words WHERE w >= p) FROM join_prefixes ORDER BY p;
SELECT count(*) FROM join_picked p JOIN join_users u ON u.id BETWEEN p.id AND p.id + 2;
SELECT id FROM join_picked p WHERE EXISTS (SELECT FROM join_users u WHERE u.id = p.id AND u.city = 'city 3') ORDER BY 1;
SELECT id FROM join_picked p WHERE id NOT IN (SELECT id FROM join_users WHERE id > 1200) ORDER BY 1;

-- Both sides sorted: a merge join without a sort.
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM join_users u JOIN join_follows f ON f.follower = u.id;
SELECT count(*) FROM join_users u JOIN join_follows f ON f.follower = u.id;
SELECT count(*) FROM join_users a FULL JOIN join_users b ON a.id = b.id;
RESET enable_hashjoin;
RESET enable_nestloop;
-- Groups in key order.
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT follower, count(*) FROM join_follows GROUP BY follower HAVING count(*) < 3;
SELECT sum(n) FROM (SELECT follower, count(*) AS n FROM join_follows GROUP BY follower) x;
RESET enable_hashagg;

-- The value of a subquery is a parameter, too. (17 prints the value of an
-- InitPlan differently; join_plan() prints it as 15 does.)
CREATE FUNCTION join_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(regexp_replace(line, '\(InitPlan 1\)\.col1', '$0', 'g'), '(InitPlan 1)$', '\1 (returns $0)');
    END LOOP;
END $$;
SELECT join_plan($q$SELECT name FROM join_users WHERE id = (SELECT max(id) FROM join_picked)$q$) AS "QUERY PLAN";
SELECT name FROM join_users WHERE id = (SELECT max(id) FROM join_picked);
SELECT join_plan($q$SELECT name FROM join_users WHERE id = ANY (ARRAY(SELECT id FROM join_picked))$q$) AS "QUERY PLAN";
SELECT name FROM join_users WHERE id = ANY (ARRAY(SELECT id FROM join_picked)) ORDER BY 1;
SELECT (SELECT name FROM join_users u WHERE u.id = p.who) FROM join_picked p ORDER BY 1;

-- UPDATE and DELETE joined with another table.
UPDATE join_users u SET city = p.tag FROM join_picked p WHERE u.id = p.id;
SELECT id, city FROM join_users WHERE city LIKE 'tag%' ORDER BY id;
DELETE FROM join_users u USING join_picked p WHERE u.id = p.id AND p.who > 3 RETURNING u.id;
SELECT count(*) FROM join_users;

-- Every nested-loop join gives the same rows as a hash join.
SET enable_mergejoin = off;
CREATE TEMP TABLE join_a AS SELECT f.follower, f.followed, u.name FROM join_follows f JOIN join_users u ON u.id = f.followed;
SET enable_hashjoin = off;
CREATE TEMP TABLE join_b AS SELECT f.follower, f.followed, u.name FROM join_follows f JOIN join_users u ON u.id = f.followed;
SELECT (SELECT count(*) FROM join_a), count(*) AS different FROM
    ((TABLE join_a EXCEPT ALL TABLE join_b) UNION ALL (TABLE join_b EXCEPT ALL TABLE join_a)) x;
RESET enable_mergejoin;
RESET enable_hashjoin;

DROP FOREIGN TABLE join_users, join_follows, join_words;
DROP TABLE join_picked, join_prefixes, join_a, join_b;
DROP FUNCTION join_plan;
