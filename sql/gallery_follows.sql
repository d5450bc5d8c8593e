-- Gallery: who follows whom.
--
-- The best-known exercise of wide-column design, from a first try to a design
-- that scales.  The questions: which users does X follow; does X follow Y; who
-- follows X; how many; and what did they say.  Each of the five designs fixes a
-- flaw of the one before, and each is shown with what SQL adds to it.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_follows;
SET search_path = gallery_follows, public;

CREATE FUNCTION explain_json(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN j;
END $$;

-- ------------------------------------------------------------ five designs

-- S97: first design: numbered columns
CREATE FOREIGN TABLE follows1 (who text COLLATE "C", follows jsonb OPTIONS (family 'follows')) SERVER widetable OPTIONS (key 'who');
INSERT INTO follows1 VALUES ('AK', '{"1": "foo", "2": "bar", "3": "baz", "4": "troy"}'), ('foo', '{"1": "bar", "2": "AK"}');
-- Which users does AK follow: one get.  Does foo follow AK: a search through the whole list.
SELECT value AS whom FROM follows1, jsonb_each_text(follows) WHERE who = 'AK' ORDER BY key;
SELECT 'AK' = ANY (SELECT value FROM jsonb_each_text(follows)) AS foo_follows_ak FROM follows1 WHERE who = 'foo';
SELECT EXISTS (SELECT FROM follows1, jsonb_each_text(follows) WHERE who = 'AK' AND value = 'nobody') AS ak_follows_nobody;

-- S98: second design: a count gives the next free number, and two writers race for it
CREATE FOREIGN TABLE follows2 (
    who     text COLLATE "C",
    n       bigint OPTIONS (column 'follows:count'),
    follows jsonb  OPTIONS (family 'follows')                -- the other columns
) SERVER widetable OPTIONS (key 'who');
INSERT INTO follows2 VALUES ('AK', 4, '{"1": "foo", "2": "bar", "3": "baz", "4": "troy"}'), ('foo', 2, '{"1": "bar", "2": "AK"}');
-- Client one reads the count, client two reads the same count; then each puts
-- its column and the new count.  Every step succeeds.
SELECT n + 1 AS one FROM follows2 WHERE who = 'AK' \gset
SELECT n + 1 AS two FROM follows2 WHERE who = 'AK' \gset
INSERT INTO follows2 VALUES ('AK', :one, jsonb_build_object(:one, 'MTFanBoy'));
INSERT INTO follows2 VALUES ('AK', :two, jsonb_build_object(:two, 'HRogers'));
SELECT * FROM follows2 WHERE who = 'AK';                     -- MTFanBoy is lost
-- Three solutions.  increment never returns the same number twice:
SELECT widetable.increment('follows2', 'AK', 'n') AS one \gset
SELECT widetable.increment('follows2', 'AK', 'n') AS two \gset
INSERT INTO follows2 (who, follows) VALUES ('AK', jsonb_build_object(:one, 'MTFanBoy'));
INSERT INTO follows2 (who, follows) VALUES ('AK', jsonb_build_object(:two, 'Olivia'));
SELECT * FROM follows2 WHERE who = 'AK';
-- or the put states the count that it has read, and is refused if the count has changed:
SELECT widetable.check_and_mutate('follows2', 'foo', 'n', '=', 2::bigint, '[{"put": {"follows:3": "baz"}}, {"increment": {"follows:count": 1}}]') AS one,
       widetable.check_and_mutate('follows2', 'foo', 'n', '=', 2::bigint, '[{"put": {"follows:3": "troy"}}, {"increment": {"follows:count": 1}}]') AS two;
SELECT * FROM follows2 WHERE who = 'foo';
-- or a plain UPDATE, which locks the row before it reads it.  (Each of these
-- with two sessions: test/specs/gallery-follows.spec.)
UPDATE follows2 SET n = n + 1, follows = follows || jsonb_build_object(n + 1, 'troy') WHERE who = 'foo';
SELECT * FROM follows2 WHERE who = 'foo';

-- S99: third design: the followed user is the name of the column, the value is 1
CREATE FOREIGN TABLE follows3 (who text COLLATE "C", follows jsonb OPTIONS (family 'follows')) SERVER widetable OPTIONS (key 'who');
CREATE FOREIGN TABLE follows3_cells (who text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text)
    SERVER widetable OPTIONS (table_name 'gallery_follows.follows3', key 'who', layout 'cells');
INSERT INTO follows3 VALUES ('AK', '{"foo": 1, "bar": 1, "baz": 1, "troy": 1}'), ('TheFakeMT', '{"TheRealMT": 1, "MTFanBoy": 1, "Olivia": 1, "HRogers": 1}'),
    ('TheRealMT', '{"HRogers": 1, "Olivia": 1}');
-- To follow is one put, to unfollow is one delete; nothing is read, so there is no race.
INSERT INTO follows3 VALUES ('TheFakeMT', '{"MTFanBoy2": 1}');
DELETE FROM follows3_cells WHERE who = 'TheFakeMT' AND family = 'follows' AND qualifier = 'HRogers';
SELECT whom FROM follows3, jsonb_object_keys(follows) whom WHERE who = 'TheFakeMT' ORDER BY whom COLLATE "C";
-- Does TheFakeMT follow TheRealMT?  The row is the follower, the column is
-- the followed user: one cell.  The opposite direction is another question.
EXPLAIN (COSTS OFF) SELECT FROM follows3_cells WHERE who = 'TheFakeMT' AND family = 'follows' AND qualifier = 'TheRealMT';
SELECT EXISTS (SELECT FROM follows3_cells WHERE who = 'TheFakeMT' AND family = 'follows' AND qualifier = 'TheRealMT') AS fake_follows_real,
       EXISTS (SELECT FROM follows3 WHERE who = 'TheRealMT' AND follows ? 'TheFakeMT') AS real_follows_fake;

-- S100: fourth design: tall: a row for each pair, with the key follower+followed
-- The qualifier is the full name of the followed user, so that a list can show it.
CREATE FOREIGN TABLE follows4 (
    who  text OPTIONS (delimiter '+') COLLATE "C",
    whom text COLLATE "C",
    f    jsonb OPTIONS (family 'f')
) SERVER widetable OPTIONS (key 'who, whom');
INSERT INTO follows4 VALUES ('AK', 'foo', '{"James Foo": 1}'), ('AK', 'bar', '{"Jimmy Bar": 1}'), ('AK', 'baz', '{"Ricky Baz": 1}'), ('AK', 'troy', '{"Troy": 1}'),
    ('foo', 'bar', '{"Jimmy Bar": 1}'), ('foo', 'AK', '{"AK": 1}');
SELECT convert_from(widetable.encode_key('follows4', 'AK', 'foo'), 'UTF8') AS key;
-- A user AKx: the byte prefix 'AK' would select those rows as well.  The first
-- part of the key ends at the delimiter, and so does the range.
INSERT INTO follows4 VALUES ('AKx', 'bar', '{"Jimmy Bar": 1}');
EXPLAIN (COSTS OFF) SELECT whom FROM follows4 WHERE who = 'AK';
SELECT whom, name FROM follows4, jsonb_object_keys(f) name WHERE who = 'AK' ORDER BY whom;
SELECT count(*) AS of_ak, (SELECT count(*) FROM follows4 WHERE who LIKE 'AK%') AS by_prefix FROM follows4 WHERE who = 'AK';
SELECT EXISTS (SELECT FROM follows4 WHERE who = 'AK' AND whom = 'baz') AS ak_follows_baz;
DELETE FROM follows4 WHERE who = 'AK' AND whom = 'baz';
SELECT EXISTS (SELECT FROM follows4 WHERE who = 'AK' AND whom = 'baz') AS ak_follows_baz;
-- A name that contains a plus is refused: it would read as two names.
INSERT INTO follows4 VALUES ('A+K', 'foo', '{"James Foo": 1}');

-- S101: fifth design: md5 of both names: every key has 32 bytes, and users spread evenly
-- Two digests side by side, not one digest of both: one user is still one range.
-- A digest cannot be decoded, so a cell holds the name.
CREATE FOREIGN TABLE follows5 (
    who  text OPTIONS (encoding 'md5', column 'k:who'),
    whom text OPTIONS (encoding 'md5', column 'k:whom'),
    f    jsonb OPTIONS (family 'f')
) SERVER widetable OPTIONS (key 'who, whom', families '{"f": {}, "k": {}}');
INSERT INTO follows5 VALUES ('TheFakeMT', 'TheRealMT', '{"TheRealMT": "Mark Twain"}'), ('TheFakeMT', 'Olivia', '{"Olivia": "Olivia Clemens"}'),
    ('TheRealMT', 'Olivia', '{"Olivia": "Olivia Clemens"}');
SELECT encode(widetable.encode_key('follows5', 'TheFakeMT', 'TheRealMT'), 'hex') AS key, octet_length(widetable.encode_key('follows5', 'TheFakeMT', 'TheRealMT')) AS bytes;
EXPLAIN (COSTS OFF) SELECT f FROM follows5 WHERE who = 'TheFakeMT' AND whom = 'TheRealMT';
SELECT f FROM follows5 WHERE who = 'TheFakeMT' AND whom = 'TheRealMT';
SELECT whom FROM follows5 WHERE who = 'TheFakeMT' ORDER BY whom;
-- Which users does X follow, if X follows none?  The first sixteen bytes of the
-- key are one user, and a Bloom filter can hold them: then the filter answers,
-- and no block is read.
ALTER FOREIGN TABLE follows5 OPTIONS (SET families '{"f": {"bloom": "prefix:16"}, "k": {"bloom": "prefix:16"}}');
SELECT widetable.flush('follows5');
SELECT jsonb_path_query_first(j, 'strict $.**."Files Read"') AS files_read, jsonb_path_query_first(j, 'strict $.**."Files Skipped by Bloom"')::int > 0 AS bloom_answered
  FROM explain_json($$SELECT whom FROM follows5 WHERE who = 'Jean'$$) j;
-- The same rows by raw bytes: the planner computes the digests of constants
-- once.
CREATE FOREIGN TABLE follows5_raw (key bytea, f jsonb OPTIONS (family 'f')) SERVER widetable OPTIONS (table_name 'gallery_follows.follows5', key 'key');
EXPLAIN (COSTS OFF) SELECT f FROM follows5_raw WHERE key >= decode(md5('TheRealMT'), 'hex') AND key < widetable.prefix_end(decode(md5('TheRealMT'), 'hex'));
SELECT f FROM follows5_raw WHERE key >= decode(md5('TheRealMT'), 'hex') AND key < widetable.prefix_end(decode(md5('TheRealMT'), 'hex'));

-- ------------------------------------------------- the opposite direction

-- S102: who follows X?  Both directions are stored, in one transaction
CREATE FOREIGN TABLE users (id text COLLATE "C", name text, follows_n bigint OPTIONS (column 'c:follows'), followers_n bigint OPTIONS (column 'c:followers'))
    SERVER widetable OPTIONS (key 'id', families '{"d": {}, "c": {}}');
INSERT INTO users (id, name) VALUES ('AK', 'AK'), ('foo', 'James Foo'), ('bar', 'Jimmy Bar'), ('baz', 'Ricky Baz'), ('troy', 'Troy'),
    ('TheFakeMT', 'Fake Twain'), ('TheRealMT', 'Mark Twain'), ('Olivia', 'Olivia Clemens');
CREATE FOREIGN TABLE follows (who text COLLATE "C", whom text COLLATE "C", name text) SERVER widetable OPTIONS (key 'who, whom');
CREATE FOREIGN TABLE followed_by (whom text COLLATE "C", who text COLLATE "C", present text) SERVER widetable OPTIONS (key 'whom, who');
CREATE FUNCTION follow(a text, b text) RETURNS text LANGUAGE sql AS $$
    INSERT INTO follows SELECT a, b, name FROM users WHERE id = b;
    INSERT INTO followed_by VALUES (b, a, '');
    SELECT a || ' follows ' || b;
$$;
CREATE FUNCTION unfollow(a text, b text) RETURNS text LANGUAGE sql AS $$
    DELETE FROM follows WHERE who = a AND whom = b;
    DELETE FROM followed_by WHERE whom = b AND who = a;
    SELECT a || ' unfollows ' || b;
$$;
SELECT count(follow(a, b)) FROM (VALUES ('AK', 'foo'), ('AK', 'bar'), ('AK', 'baz'), ('AK', 'troy'), ('foo', 'bar'), ('foo', 'AK'),
    ('TheFakeMT', 'TheRealMT'), ('TheFakeMT', 'Olivia'), ('TheRealMT', 'Olivia'), ('Olivia', 'TheRealMT')) v(a, b);
EXPLAIN (COSTS OFF) SELECT who FROM followed_by WHERE whom = 'bar' ORDER BY who;
SELECT who FROM followed_by WHERE whom = 'bar' ORDER BY who;              -- the followers of bar
SELECT EXISTS (SELECT FROM follows WHERE who = 'Olivia' AND whom = 'TheRealMT') AS y_follows_x;
BEGIN;
SELECT unfollow('AK', 'bar');
ROLLBACK;
SELECT unfollow('AK', 'baz');
-- The check that the literature runs every night finds no mismatch at any time.
CREATE VIEW mismatch AS SELECT who, whom FROM follows f FULL JOIN followed_by b USING (who, whom) WHERE f.name IS NULL OR b.present IS NULL;
SELECT count(*) AS mismatches FROM mismatch;
-- S102: the other direction declared: an index, of which the functions know nothing; no mismatch is possible
CREATE FOREIGN TABLE follower (whom text COLLATE "C", who text COLLATE "C") SERVER widetable OPTIONS (index_of 'follows', key 'whom');
SELECT who FROM follows WHERE whom = 'bar' ORDER BY who;                  -- the same followers of bar
BEGIN;
SELECT unfollow('AK', 'bar'), follow('troy', 'bar');
SELECT (SELECT array_agg(who ORDER BY who) FROM follower WHERE whom = 'bar') AS declared, (SELECT array_agg(who ORDER BY who) FROM followed_by WHERE whom = 'bar') AS by_hand;
ROLLBACK;
SELECT count(*) AS differences FROM ((TABLE follower EXCEPT SELECT whom, who FROM followed_by) UNION ALL (SELECT whom, who FROM followed_by EXCEPT TABLE follower)) d;
-- Users who follow each other; and suggestions for foo: users followed by those whom foo follows.
SELECT f.who, f.whom FROM follows f JOIN follows g ON g.who = f.whom AND g.whom = f.who WHERE f.who < f.whom ORDER BY 1;
SELECT f2.whom, count(*) FROM follows f1 JOIN follows f2 ON f2.who = f1.whom
 WHERE f1.who = 'foo' AND f2.whom <> 'foo' AND NOT EXISTS (SELECT FROM follows WHERE who = 'foo' AND whom = f2.whom) GROUP BY 1 ORDER BY 2 DESC, 1;

-- S77: both directions in one table: the relation is part of the key
CREATE FOREIGN TABLE relation (
    a    text OPTIONS (delimiter ':') COLLATE "C",
    kind text OPTIONS (delimiter ':') COLLATE "C",
    b    text COLLATE "C",
    present text
) SERVER widetable OPTIONS (key 'a, kind, b');
-- One statement writes both rows, or neither.
INSERT INTO relation VALUES ('carol', 'follows', 'steve', ''), ('steve', 'followedby', 'carol', '');
INSERT INTO relation VALUES ('billybob', 'follows', 'carol', ''), ('carol', 'followedby', 'billybob', '');
SELECT convert_from(widetable.encode_key('relation', a, kind, b), 'UTF8') AS key FROM relation;
SELECT b AS carol_follows FROM relation WHERE a = 'carol' AND kind = 'follows';
SELECT b AS carol_is_followed_by FROM relation WHERE a = 'carol' AND kind = 'followedby';
EXPLAIN (COSTS OFF) SELECT b FROM relation WHERE a = 'carol' AND kind = 'followedby';
-- For comparison, the self-join of the relational design: friends of friends.
SELECT r1.a, r2.b FROM relation r1 JOIN relation r2 ON r2.a = r1.b AND r2.kind = r1.kind WHERE r1.kind = 'follows' AND r1.a = 'billybob';

-- S103: the kind of relation as a byte: after the user, or before everything
-- After the user: all relations of a user are one range, and each kind is one, too.
-- In front: all relations of one kind are one range, and all writes of that kind go
-- to one end of the table.  (Harmless here; a hot spot where servers hold regions.)
CREATE FOREIGN TABLE relation_user_first (
    u text OPTIONS (encoding 'md5', column 'k:u'), kind smallint OPTIONS (encoding 'unsigned1'), v text OPTIONS (encoding 'md5', column 'k:v'), since date
) SERVER widetable OPTIONS (key 'u, kind, v');
CREATE FOREIGN TABLE relation_kind_first (
    kind smallint OPTIONS (encoding 'unsigned1'), u text OPTIONS (encoding 'md5', column 'k:u'), v text OPTIONS (encoding 'md5', column 'k:v'), since date
) SERVER widetable OPTIONS (key 'kind, u, v');
INSERT INTO relation_user_first VALUES ('TheFakeMT', 1, 'TheRealMT', '2024-01-01'), ('TheRealMT', 2, 'TheFakeMT', '2024-01-01'), ('TheFakeMT', 1, 'Olivia', '2024-01-02');
INSERT INTO relation_kind_first SELECT kind, u, v, since FROM relation_user_first;
SELECT octet_length(widetable.encode_key('relation_user_first', 'TheFakeMT', 1, 'Olivia')) AS bytes;
SELECT v FROM relation_user_first WHERE u = 'TheFakeMT' AND kind = 1 ORDER BY v;
SELECT v FROM relation_kind_first WHERE u = 'TheFakeMT' AND kind = 1 ORDER BY v;
EXPLAIN (COSTS OFF) SELECT v FROM relation_user_first WHERE u = 'TheFakeMT' AND kind = 1;
EXPLAIN (COSTS OFF) SELECT count(*) FROM relation_kind_first WHERE kind = 1;
SELECT count(*) FROM relation_kind_first WHERE kind = 1;

-- ----------------------------------------------------------------- counting

-- S118: how many users does X follow, without a count column?  Three answers
CREATE FUNCTION count_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM widetable.increment('gallery_follows.users', NEW.who, '{"c:follows": 1}'::jsonb), widetable.increment('gallery_follows.users', NEW.whom, 'c:followers');
    ELSE
        PERFORM widetable.increment('gallery_follows.users', OLD.who, '{"c:follows": -1}'::jsonb), widetable.increment('gallery_follows.users', OLD.whom, 'c:followers', -1);
    END IF;
    RETURN NULL;
END $$;
-- The counters start from the stored pairs.  insert_mode 'error' refuses a pair
-- that exists, so a repeated "follow" is not counted twice.
UPDATE users SET follows_n = (SELECT count(*) FROM follows WHERE who = id), followers_n = (SELECT count(*) FROM followed_by WHERE whom = id);
ALTER FOREIGN TABLE follows OPTIONS (ADD insert_mode 'error');
CREATE TRIGGER count_follows AFTER INSERT OR DELETE ON follows FOR EACH ROW EXECUTE FUNCTION count_follows();
SELECT follow('AK', 'Olivia'), follow('AK', 'TheRealMT'), unfollow('AK', 'troy');
SELECT follow('AK', 'Olivia');
BEGIN;
SELECT follow('AK', 'baz');
ROLLBACK;
UPDATE follows3 SET follows = (SELECT jsonb_object_agg(whom, 1) FROM follows WHERE who = 'AK') WHERE who = 'AK';
SELECT (SELECT count(*) FROM follows3, jsonb_object_keys(follows) WHERE who = 'AK') AS cells_of_the_wide_row,
       (SELECT count(*) FROM follows WHERE who = 'AK') AS keys_of_the_tall_table,
       (SELECT follows_n FROM users WHERE id = 'AK') AS counter;
EXPLAIN (COSTS OFF) SELECT count(*) FROM follows WHERE who = 'AK';        -- reads keys only, no values
SELECT count(*) AS wrong_counters FROM users u WHERE follows_n <> (SELECT count(*) FROM follows WHERE who = u.id) OR followers_n <> (SELECT count(*) FROM followed_by WHERE whom = u.id);

-- ------------------------------------------------------------ what they say

-- S104: users, twits, follows: the timeline in three steps, or in one
CREATE FOREIGN TABLE twits (who text COLLATE "C", at timestamptz, text text) SERVER widetable OPTIONS (key 'who, at desc');
INSERT INTO twits SELECT who, now() - i * interval '1 minute', who || ' says ' || w FROM
    (VALUES ('TheRealMT', 9, 'hello'), ('TheRealMT', 3, 'the reports are exaggerated'), ('Olivia', 5, 'good morning'), ('bar', 1, 'beer'), ('troy', 2, 'a horse')) v(who, i, w);
-- By hand: read the list of followed users, their twits, and merge.  In SQL:
SELECT t.who, t.text FROM follows f JOIN twits t ON t.who = f.whom WHERE f.who = 'TheFakeMT' ORDER BY t.at DESC LIMIT 3;
-- or, if some users have a million twits, only the newest few of each:
SELECT t.who, t.text FROM follows f, LATERAL (SELECT * FROM twits WHERE who = f.whom ORDER BY at DESC LIMIT 3) t
 WHERE f.who = 'TheFakeMT' ORDER BY t.at DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT text FROM twits WHERE who = 'TheRealMT' ORDER BY at DESC LIMIT 3;

-- S105: the twit stream: each twit is written to each follower's stream, and expires after 72 hours
-- Reading a stream is then one range.  259200 seconds is the literature's ttl.
CREATE FOREIGN TABLE stream (
    reader text COLLATE "C",
    at     timestamptz,
    who    text COLLATE "C",
    text   text,
    said   timestamptz OPTIONS (timestamp_of 'd:text')       -- the ttl counts from this time
) SERVER widetable OPTIONS (key 'reader, at desc, who', families '{"d": {"ttl": "259200 seconds"}}');
CREATE FUNCTION say(author text, what text, when_said timestamptz) RETURNS void LANGUAGE sql AS $$
    INSERT INTO twits VALUES (author, when_said, what);
    INSERT INTO stream SELECT who, when_said, author, what, when_said FROM followed_by WHERE whom = author;
$$;
SELECT say('TheRealMT', 'four days ago', now() - interval '4 days'), say('TheRealMT', 'yesterday', now() - interval '1 day'),
       say('Olivia', 'an hour ago', now() - interval '1 hour'), say('TheRealMT', 'just now', now());
EXPLAIN (COSTS OFF) SELECT who, text FROM stream WHERE reader = 'TheFakeMT' ORDER BY at DESC LIMIT 10;
SELECT who, text FROM stream WHERE reader = 'TheFakeMT' ORDER BY at DESC LIMIT 10;
SELECT reader, count(*) FROM stream GROUP BY reader ORDER BY reader;
SELECT count(*) AS twits_kept FROM twits WHERE who = 'TheRealMT' AND text IN ('four days ago', 'yesterday', 'just now');
-- The twit and its copies are one transaction: a reader sees all copies or none.
BEGIN;
SELECT say('Olivia', 'never said', now());
ROLLBACK;
SELECT count(*) FROM stream WHERE text = 'never said';

-- S106: a user is renamed: all copies of the name change in one transaction
-- followed_by lists the rows with copies, so no search is needed.
CREATE FUNCTION rename_copies() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE follows SET name = NEW.name WHERE who = ANY (ARRAY(SELECT who FROM followed_by WHERE whom = NEW.id)) AND whom = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER rename_copies AFTER UPDATE OF name ON users FOR EACH ROW EXECUTE FUNCTION rename_copies();
SELECT who, name FROM follows WHERE whom = 'TheRealMT' ORDER BY who;
UPDATE users SET name = 'Samuel Clemens' WHERE id = 'TheRealMT';
SELECT who, name FROM follows WHERE whom = 'TheRealMT' ORDER BY who;
BEGIN;
UPDATE users SET name = 'nobody' WHERE id = 'Olivia';
ROLLBACK;
SELECT count(*) AS wrong_names FROM follows f JOIN users u ON u.id = f.whom WHERE u.name <> f.name;
-- Or without copies: a join looks up each row of the list.
SELECT f.whom, u.name FROM follows f JOIN users u ON u.id = f.whom WHERE f.who = 'AK' ORDER BY 1;
SELECT count(*) AS mismatches FROM mismatch;
RESET search_path;
