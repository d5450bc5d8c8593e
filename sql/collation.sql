-- Collations: keys are stored in byte order.  The scan answers a condition by
-- bytes only where the collation of the comparison gives the same answer.
--
--   =, IN, LIKE 'p%', ^@     any deterministic collation
--   <, <=, >, >=, ORDER BY   only "C" (and "POSIX"), or the operators ~<~
--   anything                 not under a nondeterministic collation
\set SHOW_CONTEXT never

SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'en-x-icu') AS icu \gset
\if :icu
CREATE COLLATION coll_nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION coll_icu (provider = icu, locale = 'en');
\set colls '{"\\"C\\"",coll_icu,"\\"default\\"","\\"POSIX\\"",coll_nd}'
\else
-- a server without ICU: this one sorts as "C", but not by its name
CREATE COLLATION coll_icu (provider = libc, locale = 'C.UTF-8');
\set colls '{"\\"C\\"",coll_icu,"\\"default\\"","\\"POSIX\\""}'
\endif

CREATE FOREIGN TABLE coll_c (k text COLLATE "C", v int) SERVER widetable OPTIONS (table_name 'coll', families '{"d": {}}');
-- The same rows under another collation of the column.
CREATE FOREIGN TABLE coll_en (k text COLLATE "coll_icu", v int) SERVER widetable OPTIONS (table_name 'coll');
CREATE TABLE coll_h (k text COLLATE "coll_icu", v int);
INSERT INTO coll_h SELECT k, row_number() OVER () FROM unnest('{a,A,b,B,ab,aB,Ab,AB,z,Z,é,e,f,E,_x,zz}'::text[]) k;
INSERT INTO coll_c SELECT * FROM coll_h;

-- Under "C" bytes answer everything.
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE k > 'a' ORDER BY k;
SELECT k FROM coll_c WHERE k > 'a' ORDER BY k;
-- Under English rules 'B' sorts after 'a', and 'é' between 'e' and 'f': no range, and a sort.
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k > 'a' ORDER BY k;
SELECT k FROM coll_en WHERE k > 'a' ORDER BY k;
EXPLAIN (COSTS OFF) SELECT max(k) FROM coll_en;
SELECT max(k) FROM coll_en;
-- Equality and prefixes select the same bytes under both.
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k = 'a';
SELECT k FROM coll_en WHERE k = 'a';
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k IN ('a', 'B');
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k LIKE 'a%';
SELECT k FROM coll_en WHERE k LIKE 'a%' ORDER BY k COLLATE "C";
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k ^@ 'A';
SELECT k FROM coll_en WHERE k ^@ 'A' ORDER BY k COLLATE "C";
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k ~ '^A';
-- The collation of the comparison counts, not that of the column.
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k > 'a' COLLATE "C" ORDER BY k COLLATE "C";
SELECT k FROM coll_en WHERE k > 'a' COLLATE "C" ORDER BY k COLLATE "C";
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE k > 'a' COLLATE coll_icu ORDER BY k COLLATE coll_icu;
SELECT k FROM coll_c WHERE k > 'a' COLLATE coll_icu ORDER BY k COLLATE coll_icu;
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k > 'a' COLLATE "POSIX";
-- These operators compare bytes under any collation.
EXPLAIN (COSTS OFF) SELECT k FROM coll_en WHERE k ~>=~ 'a' AND k ~<~ 'b' ORDER BY k USING ~<~;
SELECT k FROM coll_en WHERE k ~>=~ 'a' AND k ~<~ 'b' ORDER BY k USING ~<~;

\if :icu
-- Nondeterministic: 'a' = 'A'.  Nothing is pushed down, and the answer is right.
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE k = 'a' COLLATE coll_nd;
SELECT k FROM coll_c WHERE k = 'a' COLLATE coll_nd ORDER BY k;
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE k = ANY ('{a,b}'::text[]) AND k COLLATE coll_nd IN ('a', 'z');
SELECT k FROM coll_c WHERE k COLLATE coll_nd IN ('a', 'z') ORDER BY k;
SELECT k FROM coll_c WHERE k COLLATE coll_nd IS NOT DISTINCT FROM 'ab' ORDER BY k;
EXPLAIN (COSTS OFF) SELECT k FROM coll_c WHERE (k COLLATE coll_nd, v) > ('a', 3);
SELECT count(*) FROM coll_c c JOIN coll_h h ON c.k = h.k COLLATE coll_nd;
SELECT count(*) FROM coll_c c JOIN coll_h h ON c.k = h.k COLLATE "C";
\endif

-- Joins: the order under "C" serves a merge join, the English order does not.
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM coll_c c JOIN coll_en e ON c.k = e.k COLLATE "C";
SELECT count(*) FROM coll_en c JOIN coll_h h ON c.k = h.k;
RESET enable_hashjoin;
RESET enable_nestloop;

-- All comparisons under all collations, compared with an ordinary table.
CREATE FUNCTION coll_found(rel text, coll text, op text, const text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    found int[];
BEGIN
    EXECUTE format('SELECT array_agg(v ORDER BY v) FROM %I WHERE k COLLATE %s %s %L', rel, coll, op, const) INTO found;
    RETURN found;
END $$;
SELECT op, coll, const, w = h AS same FROM
    unnest('{=,<,<=,>,>=,~<~,~>=~}'::text[]) op, unnest(:'colls'::text[]) coll, unnest('{a,B,é,""}'::text[]) const,
    LATERAL (SELECT coll_found('coll_c', coll, op, const) AS w, coll_found('coll_h', coll, op, const) AS h) x
WHERE w IS DISTINCT FROM h;

-- varchar behaves as text; name compares as under "C".
CREATE FOREIGN TABLE coll_var (k varchar(10) COLLATE "C", v int) SERVER widetable OPTIONS (table_name 'coll');
EXPLAIN (COSTS OFF) SELECT k FROM coll_var WHERE k >= 'z' ORDER BY k DESC;
SELECT k FROM coll_var WHERE k >= 'z' ORDER BY k DESC;
EXPLAIN (COSTS OFF) SELECT k FROM coll_var WHERE k = 'z'::varchar AND k LIKE 'z%';

DROP FOREIGN TABLE coll_c, coll_en, coll_var;
DROP TABLE coll_h;
DROP FUNCTION coll_found(text, text, text, text);
DROP COLLATION coll_icu;
\if :icu
DROP COLLATION coll_nd;
\endif
