-- Gallery: pages of results, and the indexes behind them.
--
-- "Show the actions of user 1, newest first, page 3."  One line of SQL in a
-- relational database, and a chapter in the literature of wide-column stores:
-- how to sort, how to skip, how to go back, how to find users by two
-- properties, how to count.  Here it is the same line of SQL again.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_paging;
CREATE SCHEMA gallery_paging_heap;
SET search_path = gallery_paging, public;
-- Returns the number of cells that all scans of a query read.
CREATE FUNCTION cells_scanned(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN (SELECT sum(c::int) FROM jsonb_path_query(j::jsonb, 'strict $.**."Cells Scanned"') c);
END $$;

CREATE FUNCTION query_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;

-- ---------------------------------------------------------- the same SQL

-- S86: the statements to be replaced, which need no replacement
CREATE TABLE gallery_paging_heap.actions (id int, userid int, name text, stamp bigint);
-- S87: useractions: the key is the user, the reversed time and the action, 4 + 8 + 4 bytes
-- The key order is the order of the page.  Stamps are milliseconds; encoding
-- reverse stores 2^63 - 1 - stamp, and SQL shows the stamp.  Users and actions
-- are unsigned: the same bytes as a Java int, and they sort correctly.
CREATE FOREIGN TABLE actions (
    id     int    OPTIONS (encoding 'unsigned4'),
    userid int    OPTIONS (encoding 'unsigned4'),
    name   text   OPTIONS (column 'content:name'),
    stamp  bigint OPTIONS (encoding 'reverse')
) SERVER widetable OPTIONS (table_name 'gallery_paging.useractions', key 'userid, stamp, id');
-- putUserAction
INSERT INTO actions VALUES (42, 1, 'login', 1234567890123);
SELECT encode(widetable.encode_key('actions', 1, 1234567890123, 42), 'hex') AS key;
SELECT * FROM actions WHERE userid = 1 AND stamp = 1234567890123 AND id = 42;
DELETE FROM actions;
-- The statement of the literature, word for word, on the wide table and on an ordinary one.
INSERT INTO actions SELECT i, i % 20, (array['login', 'read', 'write', 'logout'])[1 + i % 4], 1700000000000 + i * 1000 FROM generate_series(1, 5000) i;
SELECT id,name,stamp FROM actions WHERE userid=1 ORDER BY stamp DESC LIMIT 10 OFFSET 20;
INSERT INTO gallery_paging_heap.actions SELECT * FROM actions;
SET search_path = gallery_paging_heap;
SELECT id,name,stamp FROM actions WHERE userid=1 ORDER BY stamp DESC LIMIT 10 OFFSET 20;
SET search_path = gallery_paging, public;
SELECT widetable.flush('actions');
-- No sort, and at most thirty of this user's 250 rows are read.
EXPLAIN (COSTS OFF)
SELECT id,name,stamp FROM actions WHERE userid=1 ORDER BY stamp DESC LIMIT 10 OFFSET 20;
SELECT cells_scanned('SELECT id,name,stamp FROM actions WHERE userid=1 ORDER BY stamp DESC LIMIT 10 OFFSET 20') AS cells;
-- Users sort as numbers.  A signed int in big-endian bytes would sort -1 after 1,
-- so the encoding refuses values that it cannot sort; a table that needs negative
-- numbers omits the encoding.
INSERT INTO actions VALUES (1, -1, 'nobody', 0);

-- ------------------------------------------------------ offset or bookmark

-- S88: OFFSET reads the rows that it skips; the last row seen is a better bookmark
-- getUserActions(user, offset, limit) as a prepared statement.
PREPARE user_actions(int, int, int) AS
    SELECT id, name, stamp FROM actions WHERE userid = $1 ORDER BY stamp DESC OFFSET $2 LIMIT $3;
EXECUTE user_actions(1, 20, 2);
EXECUTE user_actions(1, 245, 10);                        -- the last five
EXECUTE user_actions(1, 250, 10);                        -- no more rows
-- The scan skips the offset next to the data, but it reads those rows: page 20 costs 200 rows.
SELECT cells_scanned('SELECT id FROM actions WHERE userid = 1 ORDER BY stamp DESC LIMIT 10 OFFSET 190') AS offset_190;
-- With the last row of page 19 as bookmark it costs ten rows, for any page.
SELECT stamp AS last_stamp, id AS last_id FROM actions WHERE userid = 1 ORDER BY stamp DESC LIMIT 1 OFFSET 189 \gset
\set page_20 'SELECT id, name, stamp FROM actions WHERE userid = 1 AND (stamp < ' :last_stamp ' OR stamp = ' :last_stamp ' AND id > ' :last_id ') ORDER BY stamp DESC LIMIT 10'
SELECT cells_scanned(:'page_20') <= 12 AS bookmark;
SELECT count(*) AS differences FROM (:page_20) x FULL JOIN
    (SELECT id, name, stamp FROM actions WHERE userid = 1 ORDER BY stamp DESC LIMIT 10 OFFSET 190) y USING (id, name, stamp) WHERE x.id IS NULL OR y.id IS NULL;

-- S89: next and previous only: the bookmark compared as a row, in both directions
-- A row comparison is one range if all key columns have the same direction, so
-- here the id is descending as well.
CREATE FOREIGN TABLE feed (userid int, stamp bigint, id int, name text) SERVER widetable OPTIONS (key 'userid, stamp desc, id desc');
INSERT INTO feed SELECT userid, stamp, id, name FROM actions;
INSERT INTO feed SELECT 1, 1704481000000, 9000 + i, 'twin' FROM generate_series(1, 4) i;      -- several with the same stamp
SELECT stamp, id, name FROM feed WHERE userid = 1 ORDER BY stamp DESC, id DESC LIMIT 6;
SELECT stamp, id FROM feed WHERE userid = 1 ORDER BY stamp DESC, id DESC LIMIT 1 OFFSET 1 \gset
EXPLAIN (COSTS OFF) SELECT id FROM feed WHERE userid = 1 AND (stamp, id) < (1704481000000, 9002) ORDER BY stamp DESC, id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM feed WHERE userid = 1 AND (stamp, id) > (1704481000000, 9002) ORDER BY stamp, id LIMIT 3;
-- Next: older than the bookmark.  Previous: newer, nearest first, reversed for display.
SELECT stamp, id FROM feed WHERE userid = 1 AND (stamp, id) < (:stamp, :id) ORDER BY stamp DESC, id DESC LIMIT 3;
SELECT * FROM (SELECT stamp, id FROM feed WHERE userid = 1 AND (stamp, id) > (:stamp, :id) ORDER BY stamp, id LIMIT 3) p ORDER BY stamp DESC, id DESC;
-- All pages together are the list: no row twice, none missing, equal stamps included.
CREATE FUNCTION walk(page_size int) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE r record; s bigint := 9223372036854775807; i int := 0; n int;
BEGIN
    LOOP
        n := 0;
        FOR r IN SELECT stamp, id FROM feed WHERE userid = 1 AND (stamp, id) < (s, i) ORDER BY stamp DESC, id DESC LIMIT page_size LOOP
            n := n + 1; s := r.stamp; i := r.id;
            RETURN NEXT r.id;
        END LOOP;
        EXIT WHEN n < page_size;
    END LOOP;
END $$;
SELECT p, (SELECT array_agg(w) FROM walk(p) w) = (SELECT array_agg(id ORDER BY stamp DESC, id DESC) FROM feed WHERE userid = 1) AS complete
  FROM unnest('{1,7,10,254}'::int[]) p;
-- A cursor is the third way: it keeps its snapshot, whatever is written meanwhile.
BEGIN;
DECLARE page SCROLL CURSOR FOR SELECT id FROM feed WHERE userid = 1 ORDER BY stamp DESC, id DESC;
FETCH 2 FROM page;
INSERT INTO feed VALUES (1, 1800000000000, 9999, 'newer');
FETCH 2 FROM page;
FETCH ABSOLUTE 1 FROM page;
ROLLBACK;

-- S117: the same actions also by id: one INSERT feeds both tables
CREATE FOREIGN TABLE action_by_id (id int OPTIONS (encoding 'unsigned4'), userid int, name text, stamp bigint) SERVER widetable OPTIONS (key 'id');
INSERT INTO action_by_id SELECT * FROM actions;
CREATE FUNCTION feed_both() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM action_by_id WHERE id = OLD.id;
    ELSE
        INSERT INTO action_by_id VALUES (NEW.id, NEW.userid, NEW.name, NEW.stamp);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER feed_both AFTER INSERT OR UPDATE OR DELETE ON actions FOR EACH ROW EXECUTE FUNCTION feed_both();
INSERT INTO actions VALUES (5001, 1, 'buy', 1800000000000);
EXPLAIN (COSTS OFF) SELECT * FROM action_by_id WHERE id = 5001;
SELECT * FROM action_by_id WHERE id = 5001;
UPDATE actions SET name = 'bought' WHERE userid = 1 AND stamp = 1800000000000;
DELETE FROM actions WHERE userid = 2;
SELECT count(*) AS differences FROM actions a FULL JOIN action_by_id b USING (id)
 WHERE (a.userid, a.name, a.stamp) IS DISTINCT FROM (b.userid, b.name, b.stamp);
-- S117: the same, declared: an index with all columns, in which an id is unique
CREATE FOREIGN TABLE action_id (id int OPTIONS (encoding 'unsigned4'), userid int, stamp bigint, name text)
    SERVER widetable OPTIONS (index_of 'actions', key 'id', unique 'true');
EXPLAIN (COSTS OFF) SELECT * FROM actions WHERE id = 5001;
SELECT * FROM actions WHERE id = 5001;
INSERT INTO actions VALUES (5001, 3, 'again', 1800000000001);                 -- another key, the same id
SELECT count(*) AS differences FROM action_id a FULL JOIN action_by_id b USING (id)
 WHERE (a.userid, a.name, a.stamp) IS DISTINCT FROM (b.userid, b.name, b.stamp);

-- ------------------------------------------------------------ index tables

-- Born in Hangzhou and twenty years old: the first ten by id.  The literature has a
-- hundred million users, a hundred thousand of them born there and fifty thousand
-- of that age; this script has twenty thousand, two thousand and one thousand.
CREATE FOREIGN TABLE users (id int, name text, birthplace text, age int) SERVER widetable OPTIONS (key 'id');
CREATE FUNCTION dice(i int, n int, salt text) RETURNS int LANGUAGE sql IMMUTABLE AS
    $$SELECT ('x' || substr(md5(salt || i), 1, 6))::bit(24)::int % n$$;
INSERT INTO users SELECT i, 'user ' || i, CASE dice(i, 10, 'b') WHEN 0 THEN 'Hangzhou' ELSE 'town ' || dice(i, 100, 'b') END, 16 + dice(i, 20, 'a')
  FROM generate_series(1, 20000) i;
-- S90: an index table for each column: value and id are the key, and nothing else is stored
CREATE FOREIGN TABLE users_by_birthplace (birthplace text COLLATE "C", id int, present text) SERVER widetable OPTIONS (key 'birthplace, id');
CREATE FOREIGN TABLE users_by_age (age int, id int, present text) SERVER widetable OPTIONS (key 'age, id');
-- S91: an index table for both columns: one range gives the answer
CREATE FOREIGN TABLE users_by_both (birthplace text COLLATE "C", age int, id int, present text) SERVER widetable OPTIONS (key 'birthplace, age, id');
INSERT INTO users_by_birthplace SELECT birthplace, id, '' FROM users;
INSERT INTO users_by_age SELECT age, id, '' FROM users;
INSERT INTO users_by_both SELECT birthplace, age, id, '' FROM users;
SELECT widetable.flush();
SELECT (SELECT count(*) FROM users_by_birthplace WHERE birthplace = 'Hangzhou') AS born_there, (SELECT count(*) FROM users_by_age WHERE age = 20) AS twenty;
-- Both index ranges are sorted by id, so the join is a merge of two sorted lists
-- without a sort, and LIMIT stops it early.  (Or a lookup in one index for each entry
-- of the other: the planner chooses by size.  Here settings force it.)
SET enable_nestloop = off;
SET enable_hashjoin = off;
\set by_two 'SELECT id FROM users_by_birthplace b JOIN users_by_age a USING (id) WHERE b.birthplace = \'Hangzhou\' AND a.age = 20 ORDER BY id LIMIT 10'
\set by_one 'SELECT id FROM users_by_both WHERE birthplace = \'Hangzhou\' AND age = 20 ORDER BY id LIMIT 10'
SELECT btrim(line, ' ->') AS line FROM query_plan(:'by_two') line WHERE line ~ 'Join|Sort|Key Range' ORDER BY btrim(line, ' ->') COLLATE "C";
EXPLAIN (COSTS OFF) :by_one;
SELECT (SELECT array_agg(id) FROM (:by_two) x) AS two_indexes, (SELECT array_agg(id) FROM (:by_one) x) = (SELECT array_agg(id) FROM (:by_two) x) AS one_index_the_same,
       (SELECT array_agg(id) FROM (SELECT id FROM users WHERE birthplace = 'Hangzhou' AND age = 20 ORDER BY id LIMIT 10) x) = (SELECT array_agg(id) FROM (:by_two) x) AS no_index_the_same;
SELECT cells_scanned(:'by_two') < 1000 AS two_indexes_stop_early, cells_scanned(:'by_one') <= 12 AS one_index_reads_ten;
RESET enable_nestloop;
RESET enable_hashjoin;
-- With the names: the join continues to the users, one lookup for each of the ten.
SELECT u.id, u.name FROM (:by_one) i JOIN users u USING (id) ORDER BY u.id LIMIT 3;

-- S92: one index table or two, and how to keep them consistent
--   two single ones   answer each column alone, and both together by a merge
--   a composite one   is faster for its question; its first column alone is a
--                     prefix; its second column alone is a key filter, with skips
EXPLAIN (COSTS OFF) SELECT id FROM users_by_both WHERE birthplace = 'Hangzhou';
EXPLAIN (COSTS OFF) SELECT id FROM users_by_both WHERE age = 20;
-- In HBase the client keeps the index consistent; here a trigger does, in the same transaction.
CREATE FUNCTION keep_indexes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM users_by_birthplace WHERE birthplace = OLD.birthplace AND id = OLD.id;
        DELETE FROM users_by_age WHERE age = OLD.age AND id = OLD.id;
        DELETE FROM users_by_both WHERE birthplace = OLD.birthplace AND age = OLD.age AND id = OLD.id;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO users_by_birthplace VALUES (NEW.birthplace, NEW.id, '');
        INSERT INTO users_by_age VALUES (NEW.age, NEW.id, '');
        INSERT INTO users_by_both VALUES (NEW.birthplace, NEW.age, NEW.id, '');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_indexes AFTER INSERT OR UPDATE OR DELETE ON users FOR EACH ROW EXECUTE FUNCTION keep_indexes();
-- INSERT over an existing user would have no OLD row: make it an error, and change users by UPDATE.
ALTER FOREIGN TABLE users OPTIONS (ADD insert_mode 'error');
CREATE FUNCTION check_index() RETURNS bigint LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM (SELECT birthplace, id FROM users) u FULL JOIN users_by_birthplace i USING (birthplace, id) WHERE u.id IS NULL OR i.present IS NULL)
         + (SELECT count(*) FROM (SELECT age, id, name FROM users) u FULL JOIN users_by_age i USING (age, id) WHERE u.name IS NULL OR i.present IS NULL)
         + (SELECT count(*) FROM (SELECT birthplace, age, id, name FROM users) u FULL JOIN users_by_both i USING (birthplace, age, id) WHERE u.name IS NULL OR i.present IS NULL)
$$;
SELECT min(id) AS one FROM users_by_both WHERE birthplace = 'Hangzhou' AND age = 20 \gset
BEGIN;
UPDATE users SET age = 21 WHERE id = :one;               -- a birthday moves two index rows
SELECT age FROM users_by_age WHERE id = :one;
ROLLBACK;
SELECT age FROM users_by_age WHERE id = :one;            -- still twenty in all tables
UPDATE users SET age = 21 WHERE id = :one;
DELETE FROM users WHERE id = 7;
INSERT INTO users VALUES (20001, 'new', 'Hangzhou', 20);
INSERT INTO users VALUES (20001, 'again', 'Paris', 30);
SELECT check_index() AS wrong_index_rows;
-- S92: the composite index declared: no trigger, no insert_mode, and the question names the users
CREATE FOREIGN TABLE users_birthplace_age (birthplace text COLLATE "C", age int, id int)
    SERVER widetable OPTIONS (index_of 'users', key 'birthplace, age');       -- the id is appended
EXPLAIN (COSTS OFF) SELECT id FROM users WHERE birthplace = 'Hangzhou' AND age = 20 ORDER BY id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id, name FROM users WHERE birthplace = 'Hangzhou' AND age = 20;
SELECT array_agg(id) = (SELECT array_agg(id) FROM (:by_one) x) AS the_same
  FROM (SELECT id FROM users WHERE birthplace = 'Hangzhou' AND age = 20 ORDER BY id LIMIT 10) y;
BEGIN;
UPDATE users SET age = 21 WHERE id IN (SELECT id FROM users WHERE birthplace = 'Hangzhou' AND age = 20);
DELETE FROM users WHERE birthplace = 'Hangzhou' AND id % 7 = 0;
SELECT (SELECT count(*) FROM users WHERE birthplace = 'Hangzhou' AND age = 20) AS declared_twenty, (SELECT count(*) FROM users_by_both WHERE birthplace = 'Hangzhou' AND age = 20) AS by_hand,
       (SELECT count(*) FROM users WHERE birthplace = 'Hangzhou' AND age = 21) AS declared_more, (SELECT count(*) FROM users_by_both WHERE birthplace = 'Hangzhou' AND age = 21) AS by_hand;
ROLLBACK;
SELECT count(*) AS differences FROM (SELECT birthplace, age, id, true AS there FROM users_birthplace_age) d FULL JOIN users_by_both h USING (birthplace, age, id)
 WHERE there IS NULL OR present IS NULL;
SELECT * FROM widetable.verify('users');

-- ----------------------------------------------------------------- counting

-- S93: count, sum, avg, min, max: computed in the scan; a tiny family for counting
-- count(*) reads keys and no values.  If rows are wide, a helper family with an
-- empty cell in each row, declared NOT NULL, is all that a count reads.
EXPLAIN (COSTS OFF) SELECT count(*), avg(age), min(age), max(age) FROM users;
SELECT count(*), sum(age), min(age), max(age) FROM users;
CREATE FOREIGN TABLE document (id int, body text OPTIONS (column 'body:text'), mark text OPTIONS (column 'm:') NOT NULL)
    SERVER widetable OPTIONS (key 'id', families '{"body": {}, "m": {}}');
INSERT INTO document SELECT i, repeat(md5(i::text), 40), '' FROM generate_series(1, 2000) i;
SELECT widetable.flush('document');
EXPLAIN (COSTS OFF) SELECT count(mark) FROM document;
SELECT count(mark) FROM document;
SELECT (SELECT file_bytes FROM widetable.pg_stat_widetable_families WHERE table_name = 'gallery_paging.document' AND family = 'm') * 10 <
       (SELECT file_bytes FROM widetable.pg_stat_widetable_families WHERE table_name = 'gallery_paging.document' AND family = 'body') AS a_tenth_at_most;
-- Counts by group: if the group leads the key, one pass without a sort.
EXPLAIN (COSTS OFF) SELECT birthplace, count(*) FROM users_by_birthplace GROUP BY birthplace ORDER BY birthplace;

-- S94: status tables: writing a row updates its count
CREATE FOREIGN TABLE user_status (birthplace text COLLATE "C", n bigint) SERVER widetable OPTIONS (key 'birthplace');
INSERT INTO user_status SELECT birthplace, count(*) FROM users GROUP BY birthplace;
CREATE FUNCTION keep_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM widetable.increment('gallery_paging.user_status', OLD.birthplace, 'n', -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM widetable.increment('gallery_paging.user_status', NEW.birthplace, 'n');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_status AFTER INSERT OR UPDATE OR DELETE ON users FOR EACH ROW EXECUTE FUNCTION keep_status();
SELECT n FROM user_status WHERE birthplace = 'Hangzhou';
INSERT INTO users VALUES (20002, 'x', 'Hangzhou', 50), (20003, 'y', 'Hangzhou', 51);
BEGIN;
INSERT INTO users VALUES (20004, 'z', 'Hangzhou', 52);
ROLLBACK;
UPDATE users SET birthplace = 'Paris' WHERE id = 20002;
SELECT n FROM user_status WHERE birthplace = 'Hangzhou';
SELECT count(*) AS wrong_counts FROM user_status s FULL JOIN (SELECT birthplace, count(*) AS n FROM users GROUP BY birthplace) u
    ON s.birthplace = u.birthplace WHERE s.n IS DISTINCT FROM u.n;
RESET search_path;
