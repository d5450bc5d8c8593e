-- Gallery: the top ten.
--
-- Which pages does this visitor like most; which pages do all visitors like;
-- what are the best-rated books of a shelf?  A wide-column store sorts only by
-- key, so "top by value" is considered impossible there, and a leaderboard kept
-- by clients is considered racy.  Three answers: sort the result of one read;
-- keep an index on the value in the same transaction; or put the value into the
-- key.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_topk;
SET search_path = gallery_topk, public;
-- Returns the number of cells that a query read.
CREATE FUNCTION cells_scanned(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN (SELECT sum(c::int) FROM jsonb_path_query(j::jsonb, 'strict $.**."Cells Scanned"') c);
END $$;
-- Real requests to a web site (test/data); each client address gets a cookie.
CREATE TABLE access_log (line_no int, client_ip inet, time_utc timestamptz, method text, path text, protocol text,
    status int, bytes bigint, referer text, user_agent text);
\copy access_log FROM PROGRAM 'gzip -dc test/data/access_log.tsv.gz' WITH (FORMAT text, HEADER true)
CREATE VIEW request AS SELECT 'c' || dense_rank() OVER (ORDER BY client_ip) AS cookie, path FROM access_log;

-- ------------------------------------------------------------- of one visitor

-- S115: top pages of one visitor, and of all visitors
-- A row for each visitor, a counter for each page.  A page view is one increment.
CREATE FOREIGN TABLE cookie_urls (cookie text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value bigint)
    SERVER widetable OPTIONS (key 'cookie', layout 'cells', families '{"u": {}}');
SELECT widetable.increment('cookie_urls', 'c0', 'u:/reset.css') AS first_view, widetable.increment('cookie_urls', 'c0', 'u:/reset.css') AS second_view;
DELETE FROM cookie_urls;
SELECT count(widetable.increment('cookie_urls', cookie, 'u:' || path)) FROM request;
SELECT count(DISTINCT cookie) AS cookies, count(*) AS counters, sum(value) AS views FROM cookie_urls;
SELECT cookie FROM cookie_urls GROUP BY cookie ORDER BY count(*) DESC, cookie LIMIT 1 \gset
-- One read of the visitor's row, and a sort of its few cells in memory.
SELECT qualifier AS url, value AS views FROM cookie_urls WHERE cookie = :'cookie' ORDER BY value DESC, qualifier LIMIT 5;
EXPLAIN (COSTS OFF) SELECT qualifier, value FROM cookie_urls WHERE cookie = :'cookie' ORDER BY value DESC LIMIT 5;
-- For all visitors: one pass over everything, which is fine for a daily report.
SELECT qualifier AS url, sum(value) AS views, count(*) AS visitors FROM cookie_urls GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5;

-- If every page view needs it, keep the order: a table of counts, and an index
-- table with the count in its key, largest first.
CREATE FOREIGN TABLE url_count (url text COLLATE "C", n bigint) SERVER widetable OPTIONS (key 'url');
CREATE FOREIGN TABLE url_top (n bigint, url text COLLATE "C", present text) SERVER widetable OPTIONS (key 'n desc, url');
-- increment returns the new value and locks the row until the commit.  So the
-- old index entry is the one for the value minus one, no other session moves it,
-- and the leaderboard that clients cannot keep correct stays correct.  (With two
-- sessions: test/specs/gallery-topk.spec.)
CREATE FUNCTION view(page text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE now_at bigint := widetable.increment('url_count', page, 'n');
BEGIN
    DELETE FROM url_top WHERE n = now_at - 1 AND url = page;
    INSERT INTO url_top VALUES (now_at, page, '');
    RETURN now_at;
END $$;
SELECT view('/a'), view('/b'), view('/a'), view('/c'), view('/a');
SELECT n, url FROM url_top ORDER BY n DESC, url;
BEGIN;
SELECT view('/c'), view('/c'), view('/c');
ROLLBACK;
SELECT n, url FROM url_top ORDER BY n DESC, url LIMIT 1;     -- still /a
TRUNCATE url_count, url_top;
SELECT count(view(path)) FROM access_log;
EXPLAIN (COSTS OFF) SELECT n, url FROM url_top ORDER BY n DESC, url LIMIT 5;
SELECT n, url FROM url_top ORDER BY n DESC, url LIMIT 5;
-- It reads five entries, whatever the number of pages; and it is correct.
SELECT widetable.flush();
SELECT widetable.compact('url_top');
SELECT count(*) AS pages, cells_scanned('SELECT n, url FROM url_top ORDER BY n DESC, url LIMIT 5') <= 6 AS reads_five FROM url_top;
SELECT count(*) AS wrong FROM url_top t FULL JOIN (SELECT count(*) AS n, path COLLATE "C" AS url, true AS counted FROM access_log GROUP BY 2) l USING (n, url)
 WHERE t.present IS NULL OR counted IS NULL;
-- The rank of a page, and its neighbours.
SELECT (SELECT count(*) + 1 FROM url_top t WHERE t.n > c.n) AS rank, c.* FROM url_count c WHERE url = '/projects/xdotool/';
SELECT n, url FROM url_top WHERE (n, url) IN (SELECT n, url FROM url_count WHERE url = '/projects/xdotool/')
 UNION ALL (SELECT n, url FROM url_top WHERE n > (SELECT n FROM url_count WHERE url = '/projects/xdotool/') ORDER BY n LIMIT 1) ORDER BY n;

-- --------------------------------------------------------- the value in the key

-- S116: sorted retrieval by key design: group, rating descending, id
CREATE FOREIGN TABLE best (shelf text COLLATE "C", rating numeric(3,1), id int, title text) SERVER widetable OPTIONS (key 'shelf, rating desc, id');
INSERT INTO best SELECT (ARRAY['crime', 'poetry', 'travel'])[1 + i % 3], (i * 37 % 51) / 10.0, i, 'book ' || i FROM generate_series(1, 3000) i;
SELECT widetable.flush('best');
EXPLAIN (COSTS OFF) SELECT rating, title FROM best WHERE shelf = 'poetry' ORDER BY rating DESC, id LIMIT 3;
SELECT rating, title FROM best WHERE shelf = 'poetry' ORDER BY rating DESC, id LIMIT 3;
SELECT cells_scanned($$SELECT rating, title FROM best WHERE shelf = 'poetry' ORDER BY rating DESC, id LIMIT 3$$) AS cells;
-- From a rating downwards; the worst first; the first entry of a shelf: the
-- same key, read forwards or backwards.
SELECT rating, id FROM best WHERE shelf = 'poetry' AND rating <= 4.5 ORDER BY rating DESC, id LIMIT 2;
EXPLAIN (COSTS OFF) SELECT rating, id FROM best WHERE shelf = 'poetry' ORDER BY rating, id DESC LIMIT 2;
SELECT rating, id FROM best WHERE shelf = 'poetry' ORDER BY rating, id DESC LIMIT 2;
-- The best two of every shelf: a limit for each group, which needs a query for
-- each group in wide-column stores; the scan finds the shelves by skipping.
SELECT s.shelf, b.rating, b.id FROM (SELECT DISTINCT shelf FROM best) s,
    LATERAL (SELECT rating, id FROM best WHERE shelf = s.shelf ORDER BY rating DESC, id LIMIT 2) b ORDER BY 1, 2 DESC, 3;
SELECT shelf, max(rating) FROM best GROUP BY shelf ORDER BY shelf;
-- A new rating moves the book: an UPDATE of a key column, in one step.
UPDATE best SET rating = 9.9 WHERE shelf = 'poetry' AND id = 100;
SELECT rating, title FROM best WHERE shelf = 'poetry' ORDER BY rating DESC, id LIMIT 2;
SELECT count(*) FROM best WHERE shelf = 'poetry' AND id = 100;

-- -------------------------------------------------- code next to the data

-- S119: coprocessors: triggers and functions of PostgreSQL on a wide table
-- HBase runs Java in its servers: observers are called for each put, endpoints
-- compute next to the data.  PostgreSQL has both, and they are transactional.
-- An observer before the put: it may refuse or change the row.
CREATE FUNCTION check_best() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.rating NOT BETWEEN 0 AND 10 THEN
        RAISE EXCEPTION 'a rating of % is not between 0 and 10', NEW.rating USING ERRCODE = 'check_violation';
    END IF;
    NEW.title := initcap(NEW.title);
    RETURN NEW;
END $$;
CREATE TRIGGER check_best BEFORE INSERT OR UPDATE ON best FOR EACH ROW EXECUTE FUNCTION check_best();
INSERT INTO best VALUES ('poetry', 11, 5000, 'too good');
INSERT INTO best VALUES ('poetry', 10, 5000, 'leaves of grass');
SELECT rating, title FROM best WHERE shelf = 'poetry' ORDER BY rating DESC LIMIT 1;
-- An observer after the put: an audit in an ordinary table, of exactly the rows of this statement.
CREATE TABLE audit (no int GENERATED ALWAYS AS IDENTITY, what text, old_rating numeric, new_rating numeric, title text);
CREATE FUNCTION audit_best() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (what, old_rating, new_rating, title) VALUES (TG_OP, OLD.rating, NEW.rating, coalesce(NEW.title, OLD.title));
    RETURN NULL;
END $$;
CREATE TRIGGER audit_best AFTER INSERT OR UPDATE OR DELETE ON best FOR EACH ROW EXECUTE FUNCTION audit_best();
UPDATE best SET rating = 9 WHERE shelf = 'poetry' AND rating = 10 AND id = 5000;
BEGIN;
DELETE FROM best WHERE shelf = 'crime';
ROLLBACK;
DELETE FROM best WHERE shelf = 'poetry' AND rating = 9 AND id = 5000;
SELECT what, old_rating, new_rating, title FROM audit ORDER BY no;
-- A statement trigger fires once for the whole job.  Row triggers do not fire
-- for writes by the functions put, increment and the like.
CREATE FUNCTION say_done() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE '% on % is done', TG_OP, TG_TABLE_NAME; RETURN NULL; END $$;
CREATE TRIGGER say_done AFTER UPDATE ON best FOR EACH STATEMENT EXECUTE FUNCTION say_done();
UPDATE best SET title = title WHERE shelf = 'travel' AND rating = 5.0;
-- An endpoint: the median, which no key range gives, computed next to the rows.
CREATE FUNCTION median(which text) RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT rating FROM best WHERE shelf = which ORDER BY rating DESC, id OFFSET (SELECT count(*) / 2 FROM best WHERE shelf = which) LIMIT 1
$$;
SELECT shelf, median(shelf), round(avg(rating), 2) AS avg, round(stddev(rating), 2) AS stddev FROM best GROUP BY shelf ORDER BY shelf;
RESET search_path;
