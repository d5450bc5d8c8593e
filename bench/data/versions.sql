-- 1,000 versions of one cell, in each of 100 rows.
CREATE FOREIGN TABLE versions_wide (id bigint, v text) SERVER widetable OPTIONS (key 'id', families '{"d": {"versions": 1000}}');
CREATE FOREIGN TABLE versions_wide_cells (id bigint, family text, qualifier text COLLATE "C", ts bigint, version int, value text)
    SERVER widetable OPTIONS (table_name 'public.versions_wide', key 'id', layout 'cells');
CREATE TABLE versions_cell (
    row bytea, family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text,
    PRIMARY KEY (row, family, qualifier, ts)
);
INSERT INTO versions_cell SELECT int8send(i), 'd', 'v', t, 'version ' || t || ' of ' || i
    FROM generate_series(1, 1000) t, generate_series(0::bigint, 99) i;
INSERT INTO versions_wide_cells (id, family, qualifier, ts, value)
    SELECT i, 'd', 'v', t, 'version ' || t || ' of ' || i FROM generate_series(1, 1000) t, generate_series(0::bigint, 99) i;
