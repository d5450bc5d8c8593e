-- 100,000 users with about ten out of 300 possible attributes each.  The ordinary table
-- uses jsonb instead of 300 columns.
CREATE FOREIGN TABLE users_wide (id bigint, attrs jsonb OPTIONS (family 'a')) SERVER widetable OPTIONS (key 'id', families '{"a": {}}');
CREATE FOREIGN TABLE users_wide_cells (id bigint, family text, qualifier text COLLATE "C", ts bigint, value text)
    SERVER widetable OPTIONS (table_name 'public.users_wide', key 'id', layout 'cells');
CREATE TABLE users_cols (id bigint PRIMARY KEY, attrs jsonb) WITH (fillfactor = 80);
CREATE TABLE users_cell (
    row bytea, family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text,
    PRIMARY KEY (row, family, qualifier, ts)
) WITH (fillfactor = 80);
-- every user has attribute a1; a square makes some of the others more frequent
INSERT INTO users_cols
SELECT id, jsonb_object_agg('a' || attr, 'value ' || (id * 7 + attr) % 1000)
FROM generate_series(0::bigint, 99999) id,
     LATERAL (SELECT 1 + CASE k WHEN 0 THEN 0 ELSE ((id * 31 + k * 7919) * 48271 % 2147483647 % 1000) ^ 2 * 300 / 1000000 END::int AS attr
              FROM generate_series(0, 9) k) a
GROUP BY id;
INSERT INTO users_wide SELECT * FROM users_cols;
INSERT INTO users_cell SELECT int8send(id), 'a', key, 0, value FROM users_cols, jsonb_each_text(attrs);
