\echo
\echo :b'3. Autocomplete: one read per keystroke, most of them for a missing key':n
\echo 'The table contains every prefix of 3 to 12 characters of 20,000 phrases with its ten most frequent'
\echo 'completions.  For a missing prefix the Bloom filter saves the read.'
\echo
CREATE TABLE phrases (lang text, n int, phrase text, freq bigint);
\copy phrases FROM PROGRAM 'gzip -dc phrases.tsv.gz' WITH (FORMAT text, HEADER true)
\set ECHO queries
CREATE FOREIGN TABLE suggest (prefix text COLLATE "C", answer jsonb OPTIONS (column 'j:'))
  SERVER widetable OPTIONS (key 'prefix', families '{"j": {"bloom": "row"}}');
\echo

INSERT INTO suggest
SELECT prefix, jsonb_agg(phrase ORDER BY freq DESC)
FROM (SELECT left(phrase, len) AS prefix, phrase, freq,
             row_number() OVER (PARTITION BY left(phrase, len) ORDER BY freq DESC, phrase) AS rank
      FROM phrases, generate_series(3, 12) AS len WHERE length(phrase) >= len) AS ranked
WHERE rank <= 10
GROUP BY prefix;
\echo
\set ECHO none
SELECT widetable.flush('suggest') \g /dev/null
\set ECHO queries

SELECT jsonb_array_elements_text(answer) AS "inform..." FROM suggest WHERE prefix = 'inform';
\explain

SELECT answer FROM suggest WHERE prefix = 'hdaoop';
\explain
\set ECHO none
\echo :d'The size of the table in the engine:':n
SELECT rows, pg_size_pretty(raw_bytes) AS "keys and values", pg_size_pretty(file_bytes) AS "on disk"
FROM widetable.pg_stat_widetable_families WHERE relation = 'suggest'::regclass;
DROP TABLE phrases;
