-- Collations: the key is stored in the order of its bytes.  A condition is
-- answered by bytes only where the collation of the comparison says the same.
--
--   =, IN, LIKE 'p%', ^@     any deterministic collation
--   <, <=, >, >=, ORDER BY   only "C" (and "POSIX"), or the operators ~<~
--   anything                 not under a nondeterministic collation
\set SHOW_CONTEXT never

CREATE COLLATION coll_nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION coll_icu (provider = icu, locale = 'en');

CREATE FOREIGN TABLE coll_c (k text COLLATE "C", v int) SERVER widetable OPTIONS (table_name 'coll', families '{"d": {}}');
-- The same rows under another collation of the column.
CREATE FOREIGN TABLE coll_en (k text COLLATE "coll_icu", v int) SERVER widetable OPTIONS (table_name 'coll');
CREATE TABLE coll_h (k text COLLATE "coll_icu", v int);
INSERT INTO coll_h SELECT k, row_number() OVER () FROM unnest('{a,A,b,B,ab,aB,Ab,AB,z,Z,é,e,f,E,_x,zz}'::text[]) k;
INSERT INTO coll_c SELECT * FROM coll_h;

-- Under "C" bytes answer everything.
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE k > 'a' ORDER BY k;
SELECT k FROM coll_c WHERE k > 'a' ORDER BY k;
-- Under English rules 'B' comes behind 'a' and 'é' between 'e' and 'f': no range, a sort.
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k > 'a' ORDER BY k;
SELECT k FROM coll_en WHERE k > 'a' ORDER BY k;
EXPLAIN (COSTS OFF) SELECT max(k) FROM coll_en;
SELECT max(k) FROM coll_en;
-- Equality and prefixes are the same bytes under both.
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k = 'a';
SELECT k FROM coll_en WHERE k = 'a';
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k IN ('a', 'B');
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k LIKE 'a%';
SELECT k FROM coll_en WHERE k LIKE 'a%' ORDER BY k COLLATE "C";
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k ^@ 'A';
SELECT k FROM coll_en WHERE k ^@ 'A' ORDER BY k COLLATE "C";
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k ~ '^A';
-- It is the collation of the comparison that counts, not the column's.
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k > 'a' COLLATE "C" ORDER BY k COLLATE "C";
SELECT k FROM coll_en WHERE k > 'a' COLLATE "C" ORDER BY k COLLATE "C";
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE k > 'a' COLLATE coll_icu ORDER BY k COLLATE coll_icu;
SELECT k FROM coll_c WHERE k > 'a' COLLATE coll_icu ORDER BY k COLLATE coll_icu;
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k > 'a' COLLATE "POSIX";
-- The operators that compare bytes in any collation.
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k ~>=~ 'a' AND k ~<~ 'b' ORDER BY k USING ~<~;
SELECT k FROM coll_en WHERE k ~>=~ 'a' AND k ~<~ 'b' ORDER BY k USING ~<~;

-- Nondeterministic: 'a' = 'A'.  Nothing is pushed, and the answer is right.
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE k = 'a' COLLATE coll_nd;
SELECT k FROM coll_c WHERE k = 'a' COLLATE coll_nd ORDER BY k;
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE k = ANY ('{a,b}'::text[]) AND k COLLATE coll_nd IN ('a', 'z');
SELECT k FROM coll_c WHERE k COLLATE coll_nd IN ('a', 'z') ORDER BY k;
SELECT k FROM coll_c WHERE k COLLATE coll_nd IS NOT DISTINCT FROM 'ab' ORDER BY k;
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE (k COLLATE coll_nd, v) > ('a', 3);
SELECT count(*) FROM coll_c c JOIN coll_h h ON c.k = h.k COLLATE coll_nd;
SELECT count(*) FROM coll_c c JOIN coll_h h ON c.k = h.k COLLATE "C";

-- Joins: order under "C" serves a merge, under English it does not.
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM coll_c c JOIN coll_en e ON c.k = e.k COLLATE "C";
SELECT count(*) FROM coll_en c JOIN coll_h h ON c.k = h.k;
RESET enable_hashjoin;
RESET enable_nestloop;

-- All comparisons, all collations, against an ordinary table.
SELECT op, coll, const, w = h AS same FROM
    unnest('{=,<,<=,>,>=,~<~,~>=~}'::text[]) op, unnest('{"\"C\"",coll_icu,"\"default\"","\"POSIX\"",coll_nd}'::text[]) coll, unnest('{a,B,é,""}'::text[]) const,
    LATERAL (SELECT query_to_xml(format('SELECT array_agg(v ORDER BY v) FROM coll_c WHERE k COLLATE %s %s %L', coll, op, const), true, true, '')::text AS w,
                    query_to_xml(format('SELECT array_agg(v ORDER BY v) FROM coll_h WHERE k COLLATE %s %s %L', coll, op, const), true, true, '')::text AS h) x
WHERE w <> h;

-- varchar is text; a name compares as in "C".
CREATE FOREIGN TABLE coll_var (k varchar(10) COLLATE "C", v int) SERVER widetable OPTIONS (table_name 'coll');
EXPLAIN (COSTS OFF) SELECT k FROM coll_var WHERE k >= 'z' ORDER BY k DESC;
SELECT k FROM coll_var WHERE k >= 'z' ORDER BY k DESC;
EXPLAIN (COSTS OFF) SELECT k FROM coll_var WHERE k = 'z'::varchar AND k LIKE 'z%';

DROP FOREIGN TABLE coll_c, coll_en, coll_var;
DROP TABLE coll_h;
DROP COLLATION coll_nd, coll_icu;
