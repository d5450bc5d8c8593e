-- Gallery: graphs.  Which page leads to which?
--
-- The graph is real: the clicks of a web site's visitors in four days, taken
-- from its log (the page they came from, the page they requested).  The
-- questions: is there an edge; where does this page lead; what leads here; what
-- is the way from one page to another.  There are four ways to store a graph in
-- a wide table, and each is best for something:
--
--   edge list           a row for each edge        is there an edge?  paging
--   adjacency row       a row for each page, a     all edges of a page in one get,
--                       cell for each edge         adding one without reading
--   serialised row      a row and one cell         reads far outnumber writes
--   base and delta      both: a big cell that      reads and writes both count
--                       is rolled up now and then
--
-- and one thing that wide-column stores cannot do at all: walk it in one query.
\set SHOW_CONTEXT never
CREATE SCHEMA gallery_graph;
SET search_path = gallery_graph, public;
-- Returns what a query read.
CREATE FUNCTION cost(query text, OUT files int, OUT bloom int, OUT blocks int, OUT cells int) LANGUAGE plpgsql AS $$
DECLARE j jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    SELECT sum(f::int) INTO files FROM jsonb_path_query(j, 'strict $.**."Files Read"') f;
    SELECT sum(b::int) INTO bloom FROM jsonb_path_query(j, 'strict $.**."Files Skipped by Bloom"') b;
    SELECT sum(b::int) INTO blocks FROM (SELECT jsonb_path_query(j, 'strict $.**."Blocks Read"') AS b
        UNION ALL SELECT jsonb_path_query(j, 'strict $.**."Blocks Cached"')) x;
    SELECT sum(c::int) INTO cells FROM jsonb_path_query(j, 'strict $.**."Cells Scanned"') c;
END $$;

-- An ordinary table holds the raw log.
CREATE TABLE access_log (line_no int, client_ip inet, time_utc timestamptz, method text, path text, protocol text,
    status int, bytes bigint, referer text, user_agent text);
\copy access_log FROM PROGRAM 'gzip -dc test/data/access_log.tsv.gz' WITH (FORMAT text, HEADER true)
CREATE VIEW click AS
    SELECT regexp_replace(referer, '^http://(www\.)?semicomplete\.com|[?#].*$', '', 'g') AS here,
           regexp_replace(path, '[?#].*$', '') AS there, time_utc
      FROM access_log
     WHERE referer ~ '^http://(www\.)?semicomplete\.com/' AND status IN (200, 304)
       AND path !~ '\.(css|png|jpe?g|gif|js|ico|ttf|woff)';

-- ------------------------------------------------------------ the edge list

-- S65: an edge is a row: the key is both pages, and nothing else is stored
CREATE FOREIGN TABLE page_page (
    here text COLLATE "C", there text COLLATE "C", present text
) SERVER widetable OPTIONS (key 'here, there', families '{"e": {"bloom": "row"}}');
INSERT INTO page_page SELECT DISTINCT here, there, '' FROM click WHERE here <> there;
SELECT widetable.flush('page_page');
SELECT count(*) AS edges, count(DISTINCT here) AS pages FROM page_page;
-- Is there an edge?  The value is empty, not NULL; the existence of the row is the answer.
EXPLAIN (COSTS OFF) SELECT FROM page_page WHERE here = '/projects/xdotool/' AND there = '/about/';
SELECT EXISTS (SELECT FROM page_page WHERE here = '/projects/xdotool/' AND there = '/about/') AS connected,
       EXISTS (SELECT FROM page_page WHERE here = '/about/' AND there = '/projects/xdotool/') AS and_back;
-- In a large graph the answer is almost always no.  The Bloom filter gives
-- it, and no block is read.
SELECT files, bloom, blocks FROM cost($$SELECT FROM page_page WHERE here = '/about/' AND there = '/projects/xdotool/'$$);
-- Where does a page lead: one sorted range, in pages if there are many edges.
EXPLAIN (COSTS OFF) SELECT there FROM page_page WHERE here = '/' ORDER BY there LIMIT 5;
SELECT there FROM page_page WHERE here = '/' ORDER BY there LIMIT 5;
SELECT there FROM page_page WHERE here = '/' AND there > '/blog/productivity/parallelization-with-the-shell.html'
  ORDER BY there LIMIT 3;
-- What leads here?  The opposite direction is a second table, and a trigger
-- keeps both consistent in every transaction.  The check may run at any time.
CREATE FOREIGN TABLE page_page_back (
    there text COLLATE "C", here text COLLATE "C", present text
) SERVER widetable OPTIONS (key 'there, here');
INSERT INTO page_page_back SELECT there, here, '' FROM page_page;        -- the existing edges
CREATE FUNCTION both_ways() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO page_page_back VALUES (NEW.there, NEW.here, '');
    ELSE
        DELETE FROM page_page_back WHERE there = OLD.there AND here = OLD.here;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER both_ways AFTER INSERT OR DELETE ON page_page FOR EACH ROW EXECUTE FUNCTION both_ways();
INSERT INTO page_page VALUES ('/about/', '/', ''), ('/', '/about/', '');
DELETE FROM page_page WHERE here = '/' AND there = '/about/';
SELECT here FROM page_page_back WHERE there = '/files/xdotool/docs/' ORDER BY here;
CREATE VIEW one_way_only AS
    (SELECT here, there FROM page_page EXCEPT SELECT here, there FROM page_page_back) UNION ALL
    (SELECT here, there FROM page_page_back EXCEPT SELECT here, there FROM page_page);
SELECT count(*) FROM one_way_only;
-- S65: the opposite direction declared: an index of the edges, without a trigger
CREATE FOREIGN TABLE page_page_there (there text COLLATE "C", here text COLLATE "C")
  SERVER widetable OPTIONS (index_of 'page_page', key 'there');
SELECT here FROM page_page WHERE there = '/files/xdotool/docs/' ORDER BY here;
EXPLAIN (COSTS OFF) SELECT here FROM page_page WHERE there = '/files/xdotool/docs/' ORDER BY here;
BEGIN;
DELETE FROM page_page WHERE here = '/';
INSERT INTO page_page VALUES ('/files/', '/', '');
SELECT count(*) AS differences FROM ((TABLE page_page_there EXCEPT SELECT there, here FROM page_page_back) UNION ALL
    (SELECT there, here FROM page_page_back EXCEPT TABLE page_page_there)) d;
ROLLBACK;

-- Pages with numbers instead of names make short keys of fixed width.  Then the
-- filter can hold the first four bytes of the key, and even "does any edge
-- start here" is answered without reading a block: bloom prefix:4.
CREATE FOREIGN TABLE edge (here int, there int, present text)
    SERVER widetable OPTIONS (key 'here, there', families '{"e": {"bloom": "prefix:4"}}');
INSERT INTO edge SELECT i * 2, i * 3 % 1000, '' FROM generate_series(1, 500) i;
SELECT widetable.flush('edge');
SELECT files, bloom, blocks FROM cost('SELECT there FROM edge WHERE here = 501');
SELECT there FROM edge WHERE here = 500;

-- ------------------------------------------------------------ the adjacency row

-- S66: a row for each page, a cell for each edge: one get reads all edges
-- The qualifier is the page, the value is the number of clicks.
CREATE FOREIGN TABLE page_links (page text COLLATE "C", links jsonb OPTIONS (family 'l')) SERVER widetable OPTIONS (key 'page');
INSERT INTO page_links
    SELECT here, jsonb_object_agg(there, n) FROM (SELECT here, there, count(*) AS n FROM click WHERE here <> there GROUP BY 1, 2) c
     GROUP BY here;
EXPLAIN (COSTS OFF) SELECT links FROM page_links WHERE page = '/blog/tags/linux';
SELECT links FROM page_links WHERE page = '/blog/tags/linux';
SELECT key AS there FROM page_links, jsonb_each(links) WHERE page = '/blog/tags/linux' ORDER BY 1;
-- One edge, without building the map: the engine reads one cell.
EXPLAIN (COSTS OFF) SELECT page FROM page_links WHERE page = '/blog/tags/linux' AND links ? '/blog/tags/sata';
SELECT page FROM page_links WHERE page = '/blog/tags/linux' AND links ? '/blog/tags/sata';
-- A new edge is one put: nothing is read, and two writers do not conflict.
INSERT INTO page_links VALUES ('/blog/tags/linux', '{"/about/": 1}');
UPDATE page_links SET links = links - '/blog/tags/mount' WHERE page = '/blog/tags/linux';
SELECT links FROM page_links WHERE page = '/blog/tags/linux';

-- --------------------------------------------------- one cell for each node

-- S67: a serialised list, for a site with a thousand reads for each write
CREATE FOREIGN TABLE page_links_ro (page text COLLATE "C", links text[]) SERVER widetable OPTIONS (key 'page');
INSERT INTO page_links_ro SELECT here, array_agg(there ORDER BY there) FROM page_page GROUP BY here;
SELECT links FROM page_links_ro WHERE page = '/files/xdotool/docs/';
SELECT cells FROM cost($$SELECT links FROM page_links_ro WHERE page = '/blog/tags/year%20review'$$);      -- 16 edges, one cell
-- On a live site a trigger makes the list again when an edge changes.
CREATE FUNCTION renew_list() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE of_page text := coalesce(NEW.here, OLD.here);
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext(of_page));        -- one session at a time for a page, also for its first edge
    DELETE FROM page_links_ro WHERE page = of_page;
    INSERT INTO page_links_ro SELECT of_page, array_agg(there ORDER BY there) FROM page_page WHERE here = of_page HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER renew_list AFTER INSERT OR DELETE ON page_page FOR EACH ROW EXECUTE FUNCTION renew_list();
INSERT INTO page_page VALUES ('/files/xdotool/docs/', '/projects/xdotool/', '');
DELETE FROM page_page WHERE here = '/files/xdotool/docs/' AND there = '/files/xdotool/';
SELECT links FROM page_links_ro WHERE page = '/files/xdotool/docs/';
DELETE FROM page_page WHERE here = '/projects/keynav/';
SELECT count(*) FROM page_links_ro WHERE page = '/projects/keynav/';
SELECT count(*) AS wrong_lists FROM page_links_ro r FULL JOIN
    (SELECT here AS page, array_agg(there ORDER BY there) AS links FROM page_page GROUP BY here) p USING (page)
 WHERE r.links IS DISTINCT FROM p.links;

-- ------------------------------------------------------------ base and delta

-- S68: a rolled-up list, and a family with the changes since
-- Writers add a cell to delta and read nothing: "+" for a new edge, "-" for a
-- removed one.  Readers get both families of the row and merge them.
CREATE FOREIGN TABLE page_rollup (
    page  text COLLATE "C",
    base  jsonb OPTIONS (column 'base:list'),
    delta jsonb OPTIONS (family 'delta')
) SERVER widetable OPTIONS (key 'page', families '{"base": {}, "delta": {}}');
INSERT INTO page_rollup (page, base) SELECT page, to_jsonb(links) FROM page_links_ro;
INSERT INTO page_rollup (page, delta) VALUES ('/files/xdotool/docs/', '{"/about/": "+"}');
INSERT INTO page_rollup (page, delta) VALUES ('/files/xdotool/docs/', '{"/files/xdotool/docs/man/": "-"}');
INSERT INTO page_rollup (page, delta) VALUES ('/new/', '{"/": "+"}');
CREATE FUNCTION merged(base jsonb, delta jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_agg(link ORDER BY link COLLATE "C") FROM (
        SELECT jsonb_array_elements_text(base) AS link EXCEPT SELECT key FROM jsonb_each_text(delta) WHERE value = '-'
        UNION SELECT key FROM jsonb_each_text(delta) WHERE value = '+') x
$$;
SELECT page, base, delta, merged(base, delta) FROM page_rollup WHERE page IN ('/files/xdotool/docs/', '/new/') ORDER BY page;
-- The roll-up is one UPDATE.  No reader sees a page with its base rolled up and
-- its delta still there, or with neither.  The map is changed cell by cell, so
-- an edge added meanwhile stays in the delta.
UPDATE page_rollup SET base = merged(base, delta), delta = NULL WHERE delta IS NOT NULL;
SELECT page, base, delta FROM page_rollup WHERE page IN ('/files/xdotool/docs/', '/new/') ORDER BY page;
SELECT count(*) AS pages_with_a_delta FROM page_rollup WHERE delta IS NOT NULL;
-- One trap remains.  INSERT locks nothing, and a delete hides everything written
-- before it: the UPDATE reads "+", another session commits "-" for the same edge, and
-- the commit of the UPDATE removes that "-" unread.  If edges can change during a
-- roll-up, delete exactly the versions that were read: DELETE in layout cells does
-- this (test/specs/gallery-rollup.spec shows the race).
CREATE FOREIGN TABLE page_rollup_cells (page text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text)
    SERVER widetable OPTIONS (table_name 'gallery_graph.page_rollup', key 'page', layout 'cells');
CREATE FUNCTION roll_up(which text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE change jsonb;
BEGIN
    WITH gone AS (DELETE FROM page_rollup_cells WHERE page = which AND family = 'delta' RETURNING qualifier, value)
    SELECT jsonb_object_agg(qualifier, value) INTO change FROM gone;
    UPDATE page_rollup SET base = merged(base, change) WHERE page = which;
END $$;
INSERT INTO page_rollup (page, delta) VALUES ('/files/xdotool/docs/', '{"/about/": "-", "/new/": "+"}');
SELECT roll_up('/files/xdotool/docs/');
SELECT base, delta FROM page_rollup WHERE page = '/files/xdotool/docs/';

-- -------------------------------------------------------------- celebrities

-- S69: a page with very many links: a row with a hundred thousand cells
-- A row may have any number of cells, and none of these reads takes the whole
-- row.  Through layout cells it can be read as a table.
CREATE FOREIGN TABLE fans (page text COLLATE "C", fan jsonb OPTIONS (family 'f')) SERVER widetable OPTIONS (key 'page');
CREATE FOREIGN TABLE fans_cells (page text COLLATE "C", family text COLLATE "C", qualifier bytea, value text, cell_no int)
    SERVER widetable OPTIONS (table_name 'gallery_graph.fans', key 'page', layout 'cells');
INSERT INTO fans_cells SELECT '/star/', 'f', format('fan%s', lpad(i::text, 6, '0'))::bytea, '' FROM generate_series(1, 100000) i;
INSERT INTO fans VALUES ('/quiet/', '{"fan1": "", "fan2": ""}');
SELECT widetable.flush('fans');
-- The sixth to the eighth cell of each row; one page of the row, after a
-- bookmark; one fan.  None of them reads the rest of the row.
SELECT page, cell_no, convert_from(qualifier, 'UTF8') AS fan FROM fans_cells WHERE cell_no BETWEEN 6 AND 8 ORDER BY page, cell_no;
SELECT convert_from(qualifier, 'UTF8') AS fan FROM fans_cells
  WHERE page = '/star/' AND family = 'f' AND qualifier > 'fan050000' ORDER BY qualifier LIMIT 3;
SELECT q, cells < 200 AS a_few_cells FROM unnest(ARRAY[
    $$SELECT qualifier FROM fans_cells WHERE page = '/star/' AND cell_no BETWEEN 6 AND 8$$,
    $$SELECT qualifier FROM fans_cells WHERE page = '/star/' AND family = 'f' AND qualifier > 'fan050000' ORDER BY qualifier LIMIT 3$$,
    $$SELECT FROM fans_cells WHERE page = '/star/' AND family = 'f' AND qualifier = 'fan077777'$$]) q, cost(q);
-- The alternatives: the edge list above, which has no wide rows, or a row in
-- pieces.  The piece is a hash of the fan and part of the key, computed by the
-- writer and by the reader; all pieces together are still one range.
CREATE FOREIGN TABLE fans_sharded (page text COLLATE "C", piece smallint, fan jsonb OPTIONS (family 'f'))
    SERVER widetable OPTIONS (key 'page, piece');
CREATE FUNCTION piece(fan text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$SELECT widetable.salt(fan::bytea, 16)::smallint$$;
INSERT INTO fans_sharded SELECT '/star/', piece(f), jsonb_object_agg(f, '') FROM (SELECT 'fan' || i AS f FROM generate_series(1, 4000) i) x GROUP BY 2;
SELECT count(*) AS pieces, sum(n) AS fans, min(n) > 100 AS even FROM fans_sharded, LATERAL (SELECT count(*) AS n FROM jsonb_object_keys(fan)) x
 WHERE page = '/star/';
SELECT fan ? 'fan1234' AS is_a_fan FROM fans_sharded WHERE page = '/star/' AND piece = piece('fan1234');

-- ------------------------------------------------------------ trees and walks

-- S78: a node with its parents and its children: families p and c, the value is the type of the node
-- The folders of the site, from the requested paths.
CREATE FOREIGN TABLE node (
    id text COLLATE "C",
    p  jsonb OPTIONS (family 'p'),
    c  jsonb OPTIONS (family 'c')
) SERVER widetable OPTIONS (key 'id', families '{"p": {}, "c": {}}');
CREATE VIEW folder AS
    SELECT DISTINCT array_to_string((string_to_array(there, '/'))[1:i], '/') || '/' AS parent,
           array_to_string((string_to_array(there, '/'))[1:i + 1], '/') || CASE WHEN i + 1 < cardinality(string_to_array(there, '/')) THEN '/' ELSE '' END AS child
      FROM click, generate_series(1, cardinality(string_to_array(there, '/')) - 1) i
     WHERE there LIKE '/files/%' AND (string_to_array(there, '/'))[i + 1] <> '';
-- Both ends of each edge, one statement for each direction.
INSERT INTO node (id, c) SELECT parent, jsonb_object_agg(child, CASE WHEN child LIKE '%/' THEN 'folder' ELSE 'file' END) FROM folder GROUP BY 1;
INSERT INTO node (id, p) SELECT child, jsonb_object_agg(parent, 'folder') FROM folder GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT c FROM node WHERE id = '/files/xdotool/docs/';
SELECT jsonb_object_keys(p) AS parent FROM node WHERE id = '/files/xdotool/docs/';
SELECT key AS child, value AS type FROM node, jsonb_each_text(c) WHERE id = '/files/xdotool/docs/' ORDER BY 1;
-- The whole tree below a node: family c, level by level, in one query.
WITH RECURSIVE tree AS (
    SELECT id, c, 0 AS depth FROM node WHERE id = '/files/xdotool/'
  UNION ALL
    SELECT n.id, n.c, t.depth + 1 FROM tree t, jsonb_object_keys(t.c) child JOIN node n ON n.id = child COLLATE "C"
)
SELECT repeat('  ', depth) || id AS tree FROM tree ORDER BY id;
-- The path upwards: family p.
WITH RECURSIVE up AS (
    SELECT id, p, 0 AS step FROM node WHERE id = '/files/xdotool/docs/html/xdo_8h.html'
  UNION ALL
    SELECT n.id, n.p, u.step + 1 FROM up u, jsonb_object_keys(u.p) parent JOIN node n ON n.id = parent COLLATE "C"
)
SELECT string_agg(id, ' < ' ORDER BY step) AS path FROM up;
-- The shortest path from one page to another over the edge list, which has cycles.
WITH RECURSIVE walk AS (
    SELECT here, there, ARRAY[here, there] AS way FROM page_page WHERE here = '/blog/projects/xdotool/'
  UNION ALL
    SELECT p.here, p.there, w.way || p.there FROM walk w JOIN page_page p ON p.here = w.there
     WHERE p.there <> ALL (w.way)
)
SELECT cardinality(way) - 1 AS clicks, array_to_string(way, ' > ') AS way FROM walk
 WHERE there = '/files/xdotool/docs/html/files.html' ORDER BY 1 LIMIT 1;
-- Cycles: pages to which readers returned.
WITH RECURSIVE walk AS (
    SELECT here AS start, there, ARRAY[here, there] AS way FROM page_page
  UNION ALL
    SELECT w.start, p.there, w.way || p.there FROM walk w JOIN page_page p ON p.here = w.there
     WHERE w.there <> w.start AND (p.there <> ALL (w.way) OR p.there = w.start)
)
SELECT array_to_string(way, ' > ') AS circle FROM walk
 WHERE there = start AND start = (SELECT min(x) FROM unnest(way) x) ORDER BY 1;
-- The most important pages: PageRank, twenty rounds of one join.
SELECT count(*) AS one_way_only FROM one_way_only;         -- the triggers kept both tables consistent
CREATE TABLE rank AS SELECT page, 1.0::float8 AS r FROM (SELECT here AS page FROM page_page UNION SELECT there FROM page_page) x;
DO $$
BEGIN
    FOR round IN 1 .. 20 LOOP
        CREATE TEMP TABLE next ON COMMIT DROP AS
            SELECT k.page, 0.15 + 0.85 * coalesce(sum(s.r / d.n), 0) AS r
              FROM rank k LEFT JOIN page_page_back b ON b.there = k.page
              LEFT JOIN rank s ON s.page = b.here
              LEFT JOIN (SELECT here, count(*) AS n FROM page_page GROUP BY here) d ON d.here = b.here
             GROUP BY k.page;
        UPDATE rank SET r = n.r FROM next n WHERE n.page = rank.page;
        DROP TABLE next;
    END LOOP;
END $$;
SELECT page, round(r::numeric, 2) AS rank FROM rank ORDER BY round(r::numeric, 2) DESC, page COLLATE "C" LIMIT 5;
RESET search_path;
