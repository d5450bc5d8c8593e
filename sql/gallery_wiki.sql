-- Gallery: an encyclopedia.  Articles, their history, categories and redirects.
--
-- Readers want: the current article; the article as of a day; its changes and
-- their authors, newest first; the pages of a category; the right page for a
-- wrong title.  Each is one lookup or one range here, because each has a table
-- with a key for it.  A trigger and a transaction keep the five tables
-- consistent, and not the discipline of five programs.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_wiki;
SET search_path = gallery_wiki, public;
-- Returns what a query read: files and cells.
CREATE FUNCTION cost(query text, OUT files int, OUT cells int) LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    SELECT sum(f::int) INTO files FROM jsonb_path_query(j::jsonb, 'strict $.**."Files Read"') f;
    SELECT sum(c::int) INTO cells FROM jsonb_path_query(j::jsonb, 'strict $.**."Cells Scanned"') c;
END $$;

-- ------------------------------------------------------------- the article

-- S60: the encyclopedia itself: one row a page, one cell with the text
CREATE FOREIGN TABLE articles (page text COLLATE "C", text text) SERVER widetable OPTIONS (key 'page');
INSERT INTO articles VALUES
    ('Giraffe', 'The giraffe is the tallest living land animal. [[Category:Mammals]] [[Category:Africa]]'),
    ('Okapi', 'The okapi is the only living relative of the giraffe. [[Category:Mammals]] [[Category:Africa]]'),
    ('Baobab', 'The baobab stores water in its trunk. [[Category:Trees]] [[Category:Africa]]'),
    ('Ginkgo', 'The ginkgo is the last of its kind. [[Category:Trees]]');
-- An edit is one put.  INSERT does not check whether the page exists.
INSERT INTO articles VALUES
    ('Ginkgo', 'The ginkgo is the last living species of its order. [[Category:Trees]]');
EXPLAIN (COSTS OFF) SELECT text FROM articles WHERE page = 'Ginkgo';
SELECT text FROM articles WHERE page = 'Ginkgo';

-- ------------------------------------------------- one cell, many versions

-- S61: versions whose timestamp is the time of the edit
-- The family keeps the last hundred versions of the cell.  The timestamp is not
-- the time of storing but of the edit, and a SQL column maps it: INSERT sets
-- it, SELECT reads it.
CREATE FOREIGN TABLE article_versions (
    page    text COLLATE "C",
    text    text,
    updated timestamptz OPTIONS (timestamp_of 'd:text')
) SERVER widetable OPTIONS (key 'page', families '{"d": {"versions": 100}}');
INSERT INTO article_versions VALUES
    ('Okapi', 'The okapi is a kind of zebra.',                         '2001-01-15 10:00'),
    ('Okapi', 'The okapi is related to the giraffe.',                  '2001-06-10 12:30'),
    ('Okapi', 'The okapi is the only living relative of the giraffe.', '2004-03-01 08:00');
-- The newest version, by its timestamp.
SELECT * FROM article_versions WHERE page = 'Okapi';
-- As of a day: the whole session reads the past, in joins and views as well.
SET widetable.as_of = '2003-01-01';
SELECT * FROM article_versions WHERE page = 'Okapi';
SET widetable.as_of = '2001-02-01';
SELECT text FROM article_versions WHERE page = 'Okapi';
SET widetable.as_of = '2000-12-31';
SELECT text FROM article_versions WHERE page = 'Okapi';  -- not written yet: no row
RESET widetable.as_of;
-- The list of versions: the same table in layout cells.
CREATE FOREIGN TABLE article_history (
    page text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C",
    ts timestamptz, value text, version int
) SERVER widetable OPTIONS (table_name 'gallery_wiki.article_versions', key 'page', layout 'cells');
EXPLAIN (COSTS OFF) SELECT ts, value FROM article_history
  WHERE page = 'Okapi' AND family = 'd' AND qualifier = 'text' ORDER BY ts DESC;
SELECT version, ts, value FROM article_history WHERE page = 'Okapi' AND family = 'd' AND qualifier = 'text' ORDER BY ts DESC;
-- The edits between two days, the version before the current one, and the size
-- of each edit: SQL over versions.
SELECT ts, value FROM article_history WHERE page = 'Okapi' AND ts >= '2001-01-01' AND ts < '2002-01-01' ORDER BY ts;
SELECT value FROM article_history WHERE page = 'Okapi' AND version = 2;
SELECT ts::date AS day, length(value) - lag(length(value), 1, 0) OVER (ORDER BY ts) AS added
  FROM article_history WHERE page = 'Okapi' ORDER BY ts;
-- An old revision that is imported later takes its place in the past and does
-- not become the newest.
INSERT INTO article_versions VALUES ('Okapi', 'The okapi lives in the Congo.', '2002-02-02');
SELECT text FROM article_versions WHERE page = 'Okapi';
SELECT version, ts::date AS day FROM article_history WHERE page = 'Okapi' ORDER BY version;
-- Vandalism is removed from the history: exactly that version.
INSERT INTO article_versions VALUES ('Okapi', 'Bob was here.', '2004-03-02');
DELETE FROM article_history WHERE page = 'Okapi' AND value LIKE 'Bob%';
SELECT text FROM article_versions WHERE page = 'Okapi';

-- -------------------------------------------------------------- revisions

-- S62: revisions as rows, newest first
-- A version holds only a value.  A revision also has an author and a comment,
-- so it is a row; the key is page and revision number, and desc stores the
-- numbers backwards: the newest is the first row of the page.
CREATE FOREIGN TABLE article_revisions (
    page     text COLLATE "C",
    revision bigint,
    text     text,
    user_id  int,
    comment  text
) SERVER widetable OPTIONS (key 'page, revision desc');
INSERT INTO article_revisions VALUES
    ('Okapi',   101, 'The okapi is a kind of zebra.', 7, 'first text'),
    ('Giraffe', 102, 'The giraffe is tall.', 9, 'stub'),
    ('Okapi',   103, 'The okapi is related to the giraffe.', 9, 'not a zebra'),
    ('Okapi',   107, 'The okapi is the only living relative of the giraffe.', 7, NULL),
    ('Okapia',  108, '#REDIRECT [[Okapi]]', 7, NULL),
    ('Giraffe', 109, 'The giraffe is the tallest living land animal.', 8, 'superlative');
EXPLAIN (COSTS OFF) SELECT * FROM article_revisions WHERE page = 'Okapi' ORDER BY revision DESC LIMIT 2;
SELECT revision, user_id, comment FROM article_revisions WHERE page = 'Okapi' ORDER BY revision DESC LIMIT 2;
-- 'Okapi' does not match as a prefix of 'Okapia': a key part has an end.
SELECT count(*) FROM article_revisions WHERE page = 'Okapi';
-- One revision, and the one before it: a single row each.
EXPLAIN (COSTS OFF) SELECT text FROM article_revisions WHERE page = 'Okapi' AND revision = 103;
SELECT text FROM article_revisions WHERE page = 'Okapi' AND revision < 103 ORDER BY revision DESC LIMIT 1;
-- What wide-column stores cannot do: join with the users, which are an
-- ordinary table, and count.
CREATE TABLE wiki_user (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO wiki_user VALUES (7, 'Ada'), (8, 'Grace'), (9, 'Linus');
SELECT u.name, count(*) AS edits, string_agg(DISTINCT r.page, ', ' ORDER BY r.page) AS pages
  FROM article_revisions r JOIN wiki_user u ON u.id = r.user_id GROUP BY u.name ORDER BY edits DESC, u.name;
-- Two users edit at once.  The second save must be refused: each save names the
-- revision it is based on, and check_and_mutate compares and writes in one step.
CREATE FOREIGN TABLE article_head (page text COLLATE "C", revision bigint) SERVER widetable OPTIONS (key 'page');
INSERT INTO article_head SELECT page, max(revision) FROM article_revisions GROUP BY page;
SELECT widetable.check_and_mutate('article_head', 'Okapi', 'revision', '=', 107::bigint, '[{"put": {"revision": 110}}]') AS ada_saves;
SELECT widetable.check_and_mutate('article_head', 'Okapi', 'revision', '=', 107::bigint, '[{"put": {"revision": 111}}]') AS linus_must_merge;
SELECT * FROM article_head ORDER BY page;

-- -------------------------------------------------------------- categories

-- S63: the pages of a category are one range
-- The key is category and page.  There is no other data, but a row needs a
-- cell: an empty value is enough (it is not NULL).
CREATE FOREIGN TABLE categories (category text COLLATE "C", page text COLLATE "C", present text)
    SERVER widetable OPTIONS (key 'category, page');
-- Categories are written in the text, so a trigger derives them from it in the same transaction.  It
-- removes the categories of the old text and adds those of the new one.
CREATE FUNCTION categories_of(article text) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS
    $$SELECT m[1] FROM regexp_matches(article, '\[\[Category:([^]]+)\]\]', 'g') m$$;
CREATE FUNCTION keep_categories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        -- = ANY (ARRAY()) gives the scan whole keys; IN (SELECT ...) would be a join
        DELETE FROM categories WHERE category = ANY (ARRAY(SELECT categories_of(OLD.text))) AND page = OLD.page;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO categories SELECT c, NEW.page, '' FROM categories_of(NEW.text) c;
    END IF;
    RETURN NULL;
END $$;
INSERT INTO categories SELECT c, page, '' FROM articles, categories_of(text) c;          -- the existing articles
CREATE TRIGGER keep_categories AFTER INSERT OR UPDATE OR DELETE ON articles
    FOR EACH ROW EXECUTE FUNCTION keep_categories();
EXPLAIN (COSTS OFF) SELECT page FROM categories WHERE category = 'Africa' ORDER BY page;
SELECT page FROM categories WHERE category = 'Africa' ORDER BY page;
SELECT category, count(*) FROM categories GROUP BY category ORDER BY category;
-- In both: an intersection, which wide-column stores leave to the client.
SELECT page FROM categories WHERE category = 'Africa' INTERSECT
SELECT page FROM categories WHERE category = 'Mammals' ORDER BY page;
-- The next page in the category after this one: a cursor of one row.
SELECT page FROM categories WHERE category = 'Africa' AND page > 'Giraffe' ORDER BY page LIMIT 1;
-- Edit, roll back, delete: the categories follow the text in each case.
UPDATE articles SET text = replace(text, '[[Category:Mammals]]', '[[Category:Giraffids]]') WHERE page IN ('Giraffe', 'Okapi');
BEGIN;
DELETE FROM articles WHERE page = 'Baobab';
SELECT page FROM categories WHERE category = 'Trees';
ROLLBACK;
SELECT category, string_agg(page, ', ') AS pages FROM categories GROUP BY category ORDER BY category;

-- --------------------------------------------------------------- redirects

-- S64: redirects: from the title that was asked for to the one that is meant
CREATE FOREIGN TABLE redirects (bad text COLLATE "C", good text COLLATE "C") SERVER widetable OPTIONS (key 'bad');
INSERT INTO redirects VALUES ('Camelopard', 'Giraffe'), ('Giraffa camelopardalis', 'Camelopard'),
    ('Maidenhair tree', 'Ginkgo'), ('Ginko', 'Maidenhair tree'), ('Chicken', 'Egg'), ('Egg', 'Chicken');
SELECT good FROM redirects WHERE bad = 'Camelopard';
-- A redirect may lead to another redirect.  A client would look up each one; a
-- recursive query follows the chain in one statement, one lookup for each step.
CREATE FUNCTION resolve(title text) RETURNS TABLE (page text, steps int) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE chain AS (
        SELECT title COLLATE "C" AS page, 0 AS steps
      UNION ALL
        SELECT r.good, c.steps + 1 FROM chain c JOIN redirects r ON r.bad = c.page
    ) CYCLE page SET is_cycle USING path
    SELECT page, steps FROM chain c
     WHERE NOT is_cycle AND NOT EXISTS (SELECT FROM redirects r WHERE r.bad = c.page)
$$;
SELECT t AS asked, r.* FROM unnest(ARRAY['Giraffe', 'Camelopard', 'Giraffa camelopardalis', 'Ginko', 'Egg']) t
  LEFT JOIN LATERAL resolve(t) r ON true;
SELECT a.text FROM resolve('Ginko') r JOIN articles a USING (page);
-- Each step reads only the row that it looks up, whatever the number of redirects.
INSERT INTO redirects SELECT 'Title ' || i, 'Page ' || i FROM generate_series(1, 5000) i;
SELECT widetable.flush('redirects');
SELECT cells <= 6 AS six_cells_at_most FROM cost($$WITH RECURSIVE chain AS (
        SELECT 'Giraffa camelopardalis' COLLATE "C" AS page
      UNION ALL
        SELECT r.good FROM chain c, LATERAL (SELECT good FROM redirects WHERE bad = c.page OFFSET 0) r)
    SELECT * FROM chain$$);
-- A query finds cycles and dead ends before readers do.
WITH RECURSIVE chain AS (
    SELECT bad, good FROM redirects WHERE bad NOT LIKE 'Title %'
  UNION ALL
    SELECT c.bad, r.good FROM chain c JOIN redirects r ON r.bad = c.good
) CYCLE good SET is_cycle USING path
SELECT DISTINCT bad AS goes_in_a_circle FROM chain WHERE is_cycle ORDER BY 1;

-- ----------------------------------------------------- everything together

-- An edit: the text, a revision with a number from a counter, the head, the
-- version.  Five tables in one transaction; the trigger adds the sixth.
CREATE FOREIGN TABLE wiki_counter (name text COLLATE "C", n bigint) SERVER widetable OPTIONS (key 'name');
SELECT widetable.increment('wiki_counter', 'revision', 'n', 111) AS last_revision;
CREATE FUNCTION edit(what text, by_user int, content text, why text, at timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE rev bigint := widetable.increment('wiki_counter', 'revision', 'n');
BEGIN
    INSERT INTO article_revisions VALUES (what, rev, content, by_user, why);
    INSERT INTO article_versions VALUES (what, content, at);
    INSERT INTO article_head VALUES (what, rev);
    UPDATE articles SET text = content WHERE page = what;
    IF NOT FOUND THEN
        INSERT INTO articles VALUES (what, content);
    END IF;
    RETURN rev;
END $$;
SELECT edit('Ginkgo', 8, 'The ginkgo is a living fossil. [[Category:Trees]] [[Category:Asia]]', 'moved', '2010-05-05');
BEGIN;
SELECT edit('Ginkgo', 9, 'asdf', NULL, '2010-05-06');
ROLLBACK;
SELECT a.text, h.revision, u.name, string_agg(c.category, ', ' ORDER BY c.category) AS categories
  FROM articles a JOIN article_head h USING (page) JOIN article_revisions r ON r.page = h.page AND r.revision = h.revision
  JOIN wiki_user u ON u.id = r.user_id JOIN categories c ON c.page = a.page
 WHERE a.page = 'Ginkgo' GROUP BY 1, 2, 3;
-- The rolled back edit used no number: a counter is part of the transaction (a sequence is not).
SELECT n FROM wiki_counter;
-- Full-text search: no wide-column store has it, every PostgreSQL does.
SELECT page FROM articles WHERE to_tsvector('english', text) @@ websearch_to_tsquery('english', 'living animals') ORDER BY page;
RESET search_path;
