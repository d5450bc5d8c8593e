-- Every prefix of 3 to 12 characters of the phrases, with its ten most frequent
-- completions as one value.
CREATE TABLE phrases (lang text, n int, phrase text, freq bigint);
\copy phrases FROM PROGRAM 'gzip -dc "$PHRASES_FILE"' WITH (FORMAT text, HEADER true)
CREATE TABLE suggest_cols (prefix text COLLATE "C" PRIMARY KEY, answer text);
CREATE FOREIGN TABLE suggest_wide (prefix text COLLATE "C", answer text OPTIONS (column 'j:')) SERVER widetable OPTIONS (key 'prefix');
CREATE TABLE suggest_cell (
    row text COLLATE "C", family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text,
    PRIMARY KEY (row, family, qualifier, ts)
);
INSERT INTO suggest_cols
SELECT prefix, string_agg(phrase, ',' ORDER BY freq DESC, phrase)
FROM (SELECT left(phrase, len) AS prefix, phrase, freq,
             row_number() OVER (PARTITION BY left(phrase, len) ORDER BY freq DESC, phrase) AS rank
      FROM phrases, generate_series(3, 12) AS len WHERE length(phrase) >= len) AS ranked
WHERE rank <= 10
GROUP BY prefix;
INSERT INTO suggest_wide SELECT * FROM suggest_cols;
INSERT INTO suggest_cell SELECT prefix, 'j', '', 0, answer FROM suggest_cols;
