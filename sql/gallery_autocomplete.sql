-- Autocomplete: an answer for each keystroke, most of which find nothing.
--
-- Question: a user types a title.  Which ten titles, the most prominent first, begin with the letters typed so far?  Each
-- keystroke is a request, and has 50 milliseconds including the network.
-- Design (A): no search at all.  For each prefix of 3 to 12 characters the table stores the whole answer, ready to send.  A
-- keystroke is one get.  Most of them find nothing ("hdaoop"), so a Bloom filter helps more than the cache.
-- The data: 18,000 frequent English words and phrases (Google Books Ngrams, CC BY 3.0).
CREATE SCHEMA gallery_autocomplete;
SET search_path = gallery_autocomplete;
\pset null -
CREATE TABLE title (lang text, words int, name text COLLATE "C", prominence bigint);
\copy title FROM PROGRAM 'gzip -dc test/data/phrases.tsv.gz' WITH (FORMAT text, HEADER true)
DELETE FROM title WHERE words > 3;
INSERT INTO title VALUES ('en', 1, 'chime', 900000), ('en', 1, 'chimes', 800000), ('en', 1, 'chimp', 700000), ('en', 1, 'chimpanzee', 700001);
-- Shows the plan of a query: what the engine does for it and what it reads.
CREATE FUNCTION asked(query text) RETURNS TABLE ("the engine was asked" text) LANGUAGE plpgsql AS $$
BEGIN
    FOR "the engine was asked" IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        "the engine was asked" := regexp_replace(regexp_replace("the engine was asked", ' \(actual[^)]*\)', ''), '1 read, 0 cached|0 read, 1 cached', 'one');
        IF "the engine was asked" !~ 'Tombstones' THEN RETURN NEXT; END IF;
    END LOOP;
END $$;
CREATE FUNCTION counter(query text, name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN (SELECT sum(x::bigint) FROM jsonb_path_query(j::jsonb, ('strict $.**."' || name || '"')::jsonpath) x);
END $$;

-- One cell in each row: family j, and an empty qualifier, because the family holds only this one value.
CREATE FOREIGN TABLE title_autocomp (
    prefix text COLLATE "C",
    answer jsonb OPTIONS (column 'j:')
) SERVER widetable OPTIONS (key 'prefix', families '{"j": {"bloom": "row", "compression": "zstd"}}');

-- One statement makes the table from the titles.
INSERT INTO title_autocomp
SELECT prefix, jsonb_agg(name ORDER BY rank)
FROM (SELECT left(name, n) AS prefix, name, row_number() OVER (PARTITION BY left(name, n) ORDER BY prominence DESC, name) AS rank
      FROM title, generate_series(3, 12) n WHERE length(name) >= n) ranked
WHERE rank <= 10
GROUP BY prefix;
SELECT widetable.flush('title_autocomp'), widetable.compact('title_autocomp');

-- S21: autocomplete: one get for each keystroke
SELECT left('chimpanzee', n) AS typed, answer FROM generate_series(3, 7) n LEFT JOIN title_autocomp ON prefix = left('chimpanzee', n) ORDER BY n;
SELECT answer FROM title_autocomp WHERE prefix = 'inform';
SELECT * FROM asked($$SELECT answer FROM title_autocomp WHERE prefix = 'inform'$$);
-- A typing error: the Bloom filter answers, and no block is read.
SELECT answer FROM title_autocomp WHERE prefix = 'hdaoop';
SELECT * FROM asked($$SELECT answer FROM title_autocomp WHERE prefix = 'hdaoop'$$);

-- S22: Bloom filters, counted: 200 prefixes without any title, with a filter and without
CREATE FOREIGN TABLE title_nobloom (prefix text COLLATE "C", answer jsonb OPTIONS (column 'j:'))
  SERVER widetable OPTIONS (key 'prefix', families '{"j": {"bloom": "none"}}');
INSERT INTO title_nobloom SELECT * FROM title_autocomp WHERE prefix < 'e';
SELECT widetable.flush('title_nobloom'), widetable.compact('title_nobloom');
CREATE TABLE typo AS
SELECT DISTINCT left(reverse(name), 6) COLLATE "C" AS typed FROM title
WHERE length(name) > 8 AND words = 1 AND reverse(name) ~ '^[a-d]' AND left(reverse(name), 6) NOT IN (SELECT left(name, 6) FROM title) ORDER BY 1 LIMIT 200;
SELECT rel, sum(counter(q, 'Blocks Read') + counter(q, 'Blocks Cached')) > 150 AS "150 blocks or more",
       sum(counter(q, 'Files Skipped by Bloom')) > 190 AS "190 answered by the filter"
FROM (VALUES ('title_autocomp'), ('title_nobloom')) r(rel), typo, LATERAL format('SELECT answer FROM %I WHERE prefix = %L', rel, typed) q
GROUP BY rel ORDER BY rel;

-- S23: locality and compression: neighbouring rows have similar keys and answers, and share a block
SELECT prefix, answer->>0 AS first FROM title_autocomp WHERE prefix LIKE 'chim%';
SELECT * FROM asked($$SELECT prefix, answer FROM title_autocomp WHERE prefix LIKE 'chim%'$$);
SELECT raw_bytes > 3 * file_bytes AS "less than a third on disk" FROM widetable.pg_stat_widetable_families WHERE relation = 'title_autocomp'::regclass;
-- A block is the unit that a get reads and decompresses.  Larger blocks make a smaller file and more work for each get
-- (times: doc/benchmarks.md).  The same answers in blocks of four sizes:
CREATE FOREIGN TABLE title_blocks (prefix text COLLATE "C", plain text OPTIONS (column 'plain:'), k4 text OPTIONS (column 'k4:'),
                                   k16 text OPTIONS (column 'k16:'), k64 text OPTIONS (column 'k64:'))
  SERVER widetable OPTIONS (key 'prefix', families '{"plain": {"compression": "none"},
      "k4": {"block_size": 4096}, "k16": {"block_size": 16384}, "k64": {"block_size": 65536}}');
INSERT INTO title_blocks SELECT prefix, answer, answer, answer, answer FROM title_autocomp WHERE prefix < 'c';
SELECT widetable.flush('title_blocks'), widetable.compact('title_blocks');
SELECT family, options->>'block_size' AS block_size, options->>'compression' AS compression,
       rank() OVER (ORDER BY file_bytes DESC) AS "place by size of file", file_bytes < raw_bytes / 2 AS "less than half"
FROM widetable.pg_stat_widetable_families WHERE relation = 'title_blocks'::regclass ORDER BY 4;

-- =================================================== beyond what wide-column stores offer

-- A new title: its trigger makes the answers of its prefixes again, in the same transaction.  A reader sees the old answers
-- or the new ones, and never a title that was rolled back.  If two titles with the same beginning are added at the same time,
-- the second waits for the first; otherwise each would make answers without the other.
CREATE FUNCTION title_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext(left(NEW.name, 3)));
    INSERT INTO title_autocomp
    SELECT prefix, jsonb_agg(name ORDER BY prominence DESC, name)
    FROM (SELECT left(NEW.name, n) AS prefix FROM generate_series(3, least(12, length(NEW.name))) n) p,
         LATERAL (SELECT name, prominence FROM title WHERE starts_with(name, prefix) ORDER BY prominence DESC, name LIMIT 10) t
    GROUP BY prefix;
    RETURN NULL;
END $$;
CREATE TRIGGER title_changed AFTER INSERT ON title FOR EACH ROW EXECUTE FUNCTION title_changed();
BEGIN;
INSERT INTO title VALUES ('en', 2, 'hadoop cluster', 1000000);
SELECT answer FROM title_autocomp WHERE prefix = 'hado';
ROLLBACK;
SELECT answer FROM title_autocomp WHERE prefix = 'hado';
INSERT INTO title VALUES ('en', 1, 'chimera', 1000000000);
SELECT prefix, answer FROM title_autocomp WHERE prefix IN ('chim', 'chime');

-- Does every stored answer agree with the titles?  A check that needs a join, so a wide-column store cannot make it.
SELECT count(*) AS answers,
       count(*) FILTER (WHERE answer IS DISTINCT FROM (SELECT jsonb_agg(name ORDER BY prominence DESC, name)
                              FROM (SELECT name, prominence FROM title WHERE starts_with(name, prefix) ORDER BY prominence DESC, name LIMIT 10) t)) AS wrong
FROM title_autocomp WHERE prefix >= 'chi' AND prefix < 'chj';

-- Without a table of prefixes: titles sorted by name are a range, and sorting a few hundred of them is fast.
CREATE FOREIGN TABLE title_by_name (name text COLLATE "C", prominence bigint NOT NULL) SERVER widetable OPTIONS (key 'name');
INSERT INTO title_by_name SELECT name, prominence FROM title;
SELECT jsonb_agg(name) = (SELECT answer FROM title_autocomp WHERE prefix = 'con') AS same
FROM (SELECT name FROM title_by_name WHERE name LIKE 'con%' ORDER BY prominence DESC, name LIMIT 10) t;
EXPLAIN (COSTS OFF) SELECT name FROM title_by_name WHERE name LIKE 'con%' ORDER BY prominence DESC, name LIMIT 10;
