-- Gallery: a batch view, a speed view, and workers that share the work.
--
-- How many hits does each page have, exactly and now?  Counting the log takes all
-- night; counting each hit when it arrives takes a counter.  The lambda
-- architecture does both: the count of last night plus the hits since.  Its weak
-- spot is the moment when a new batch replaces the old one and the counters
-- restart: three systems cannot switch at one instant.  One transaction can.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_lambda;
SET search_path = gallery_lambda, public;
-- The input: real requests to a web site (test/data).
CREATE TABLE access_log (line_no int, client_ip inet, time_utc timestamptz, method text, path text, protocol text,
    status int, bytes bigint, referer text, user_agent text);
\copy access_log FROM PROGRAM 'gzip -dc test/data/access_log.tsv.gz' WITH (FORMAT text, HEADER true)

-- ------------------------------------------------------------ batch and speed

-- S84: the view is batch plus speed at every moment
-- Every row carries a generation.  Raw events and counters are written under
-- the current one; a batch covers all generations up to its own.
CREATE FOREIGN TABLE event (gen int, id int, path text) SERVER widetable OPTIONS (key 'gen, id');
CREATE FOREIGN TABLE speed (gen int, path text COLLATE "C", n bigint) SERVER widetable OPTIONS (key 'gen, path');
CREATE FOREIGN TABLE batch (gen int, path text COLLATE "C", n bigint) SERVER widetable OPTIONS (key 'gen, path');
-- The current generation and the batch being served: one row of an ordinary table.
CREATE TABLE state (writing int NOT NULL, serving int NOT NULL);
INSERT INTO state VALUES (1, 0);
-- A hit writes the raw event and its counter, in one transaction.  Its shared
-- lock on the state shows that a writer of this generation is still active.
CREATE FUNCTION hit(what int, page text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE g int;
BEGIN
    SELECT writing INTO g FROM state FOR SHARE;
    INSERT INTO event VALUES (g, what, page);
    RETURN widetable.increment('speed', ROW(g, page), 'n');
END $$;
-- The view uses one snapshot: the state, the batch that it names, the counters since.
CREATE VIEW hits AS
    SELECT path, sum(n)::bigint AS n FROM (
        SELECT path, n FROM batch WHERE gen = (SELECT serving FROM state)
        UNION ALL
        SELECT path, n FROM speed WHERE gen > (SELECT serving FROM state)) x
     GROUP BY path;
CREATE VIEW right_or_wrong AS
    SELECT (SELECT sum(n) FROM hits) AS hits, (SELECT count(*) FROM event) AS events,
           NOT EXISTS (SELECT path, n FROM hits EXCEPT SELECT path, count(*) FROM event GROUP BY path) AS every_page_is_right;
-- Day one.
SELECT count(hit(line_no, path)) FROM access_log WHERE line_no <= 3000;
SELECT * FROM right_or_wrong;
SELECT * FROM hits ORDER BY n DESC, path LIMIT 3;

-- The night.  Step one closes the generation: the UPDATE waits for its
-- writers, and later hits are written under the next one.
UPDATE state SET writing = writing + 1;
-- Meanwhile new hits arrive.
SELECT count(hit(line_no, path)) FROM access_log WHERE line_no BETWEEN 3001 AND 5000;
SELECT * FROM right_or_wrong;
-- Step two counts the closed generations from the raw events and may take as long
-- as it needs.  The result is not served yet; a failed run is simply repeated.
INSERT INTO batch SELECT 1, path, count(*) FROM event WHERE gen <= 1 GROUP BY path;
SELECT count(hit(line_no, path)) FROM access_log WHERE line_no BETWEEN 5001 AND 6000;
SELECT * FROM right_or_wrong;
-- Step three switches: serve the new batch, drop the counters that it
-- contains. A reader sees the state before or the state after.
BEGIN;
UPDATE state SET serving = 1;
DELETE FROM speed WHERE gen <= 1;
DELETE FROM batch WHERE gen < 1;
SELECT * FROM right_or_wrong;
ROLLBACK;                                                -- even this is allowed
SELECT * FROM right_or_wrong;
BEGIN;
UPDATE state SET serving = 1;
DELETE FROM speed WHERE gen <= 1;
DELETE FROM batch WHERE gen < 1;
COMMIT;
SELECT * FROM right_or_wrong;
SELECT (SELECT sum(n) FROM batch) AS in_the_batch, (SELECT sum(n) FROM speed) AS counted_since;
SELECT * FROM hits ORDER BY n DESC, path LIMIT 3;
-- Both halves of the view are key ranges: the served batch, and the counters of
-- later generations.  One page is two lookups.
EXPLAIN (COSTS OFF) SELECT path, n FROM batch WHERE gen = 1 AND path = '/favicon.ico';
EXPLAIN (COSTS OFF) SELECT sum(n) FROM speed WHERE gen > 1;
SELECT n FROM hits WHERE path = '/favicon.ico';

-- The declared form: a roll-up of the raw events.  Each event adds to its page in the
-- transaction that writes it, and waits for nobody, so there is nothing to count at
-- night, no generation and no switch.  Hours are a second roll-up of the same events.
CREATE FOREIGN TABLE seen (id int, path text COLLATE "C", at timestamptz, ip text) SERVER widetable OPTIONS (key 'id');
CREATE FOREIGN TABLE seen_pages (path text COLLATE "C", n bigint OPTIONS (aggregate 'count(*)'), visitors bigint OPTIONS (aggregate 'hll(ip)'))
    SERVER widetable OPTIONS (rollup_of 'seen', key 'path');
INSERT INTO seen SELECT line_no, path, time_utc, host(client_ip) FROM access_log WHERE line_no <= 6000;
SELECT path, n FROM seen_pages ORDER BY n DESC, path LIMIT 3;
-- It agrees with the view of batch plus speed, page by page.
SELECT count(*) AS pages, count(*) FILTER (WHERE r.n = h.n) AS agree FROM seen_pages r FULL JOIN hits h USING (path);
-- A roll-up that is made later is built of the events that are there.
CREATE FOREIGN TABLE seen_hours (hour timestamptz OPTIONS (expr 'date_trunc(''hour'', at)'), n bigint OPTIONS (aggregate 'count(*)'))
    SERVER widetable OPTIONS (rollup_of 'seen', key 'hour');
SELECT * FROM seen_hours ORDER BY hour LIMIT 3;
-- A robot is found out: its events are deleted, and have never been counted.
SELECT count(*) AS with_robot, (SELECT sum(n) FROM seen_pages) AS counted FROM seen;
DELETE FROM seen WHERE path = '/robots.txt';
SELECT count(*) AS without, (SELECT sum(n) FROM seen_pages) AS counted, (SELECT sum(n) FROM seen_hours) AS in_hours,
       (SELECT count(*) FROM seen_pages WHERE path = '/robots.txt') AS robots FROM seen;
SELECT * FROM widetable.verify('seen');

-- ---------------------------------------------------------------- work marks

-- S85: marks on new data: claim, process, clear; two workers never take the same mark
-- A mark is a row in a table of marks, written with the data.  The search for
-- work reads only marks, however large the data is.
CREATE FOREIGN TABLE page (path text COLLATE "C", hits bigint, words int, checked timestamptz) SERVER widetable OPTIONS (key 'path');
CREATE FOREIGN TABLE mark (path text COLLATE "C", kind text, owner text OPTIONS (column 'claim:owner'))
    SERVER widetable OPTIONS (key 'path', families '{"d": {}, "claim": {"ttl": "10 minutes"}}');
CREATE FUNCTION mark_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mark (path, kind) VALUES (NEW.path, 'new');
    RETURN NULL;
END $$;
CREATE TRIGGER mark_new AFTER INSERT ON page FOR EACH ROW EXECUTE FUNCTION mark_new();
INSERT INTO page (path, hits) SELECT path, n FROM hits WHERE path LIKE '/blog/tags/%' ORDER BY n DESC, path LIMIT 9;
SELECT count(*) AS marks FROM mark;
-- One transaction takes marks that no other worker holds, does the work and clears
-- them. SKIP LOCKED skips the marks of other workers; if this worker fails, its
-- marks are free again.  (test/specs/gallery-claims.spec has two workers.)
BEGIN;
DELETE FROM mark WHERE path = ANY (ARRAY(SELECT path FROM mark ORDER BY path LIMIT 3 FOR UPDATE SKIP LOCKED)) RETURNING path;
UPDATE page SET words = length(path) WHERE path IN ('/blog/tags/C?page=2', '/blog/tags/antispam');
ROLLBACK;                                                -- the worker has died
SELECT count(*) AS marks, (SELECT count(words) FROM page) AS processed FROM mark;
WITH mine AS (
    DELETE FROM mark WHERE path = ANY (ARRAY(SELECT path FROM mark ORDER BY path LIMIT 3 FOR UPDATE SKIP LOCKED)) RETURNING path
)
UPDATE page SET words = length(path) WHERE path = ANY (ARRAY(SELECT path FROM mine)) RETURNING path, words;
SELECT count(*) AS marks, (SELECT count(words) FROM page) AS processed FROM mark;
-- Work that takes an hour should not keep a transaction open.  Then a claim
-- is a cell: the first worker to put it has the mark.  check_and_mutate
-- checks and writes in one step.
SELECT path AS next FROM mark WHERE owner IS NULL ORDER BY path LIMIT 1 \gset
SELECT widetable.check_and_mutate('mark', :'next', 'owner', 'is null', NULL, '[{"put": {"claim:owner": "ann"}}]') AS ann_has_it,
       widetable.check_and_mutate('mark', :'next', 'owner', 'is null', NULL, '[{"put": {"claim:owner": "bob"}}]') AS bob_has_it;
SELECT path, owner FROM mark WHERE owner IS NOT NULL;
-- Bob takes the next free mark.
SELECT path AS bobs FROM mark WHERE owner IS NULL ORDER BY path LIMIT 1 \gset
SELECT widetable.check_and_mutate('mark', :'bobs', 'owner', 'is null', NULL, '[{"put": {"claim:owner": "bob"}}]') AS bob_has_it;
-- Ann is done: if the mark is still hers, one statement clears it and stores the result.
WITH mine AS (DELETE FROM mark WHERE path = :'next' AND owner = 'ann' RETURNING path)
UPDATE page SET words = length(path) WHERE path = ANY (ARRAY(SELECT path FROM mine)) RETURNING path, words;
-- Bob's machine has died.  The claim is in a family with a ttl of ten minutes, so
-- no cleanup is needed.  (Here: the same claim, made 11 minutes ago.)
SELECT widetable.delete_column('mark', :'bobs', 'owner');
SELECT widetable.put('mark', :'bobs', 'owner', 'bob', ts => (extract(epoch FROM now() - interval '11 minutes') * 1000000)::bigint);
SELECT owner FROM mark WHERE path = :'bobs';
SELECT widetable.check_and_mutate('mark', :'bobs', 'owner', 'is null', NULL, '[{"put": {"claim:owner": "cy"}}]') AS cy_has_it;
-- If Bob resumes after all, the mark is no longer his.
WITH mine AS (DELETE FROM mark WHERE path = :'bobs' AND owner = 'bob' RETURNING path)
UPDATE page SET words = length(path) WHERE path = ANY (ARRAY(SELECT path FROM mine)) RETURNING path, words;
SELECT count(*) AS marks, count(owner) AS claimed, (SELECT count(words) FROM page) AS processed FROM mark;
-- Nothing is lost and nothing is done twice: each page has a mark or a result.
SELECT count(*) AS neither_or_both FROM page FULL JOIN mark USING (path) WHERE (words IS NULL) = (kind IS NULL);
RESET search_path;
