-- Options of a table, its families and its columns, and the errors for wrong
-- ones.  Every error says what would have been right.
\set SHOW_CONTEXT never

-- A table needs no options: the first column is the key, the other columns
-- are cells of family d with the columns' names.
CREATE FOREIGN TABLE opt_plain (id text, name text, born date) SERVER widetable;
SELECT widetable.encode_key('opt_plain', 'ann');
DROP FOREIGN TABLE opt_plain;

-- The table of the manual: a composite key, four families with their options,
-- a counter, and a family as a map.
CREATE FOREIGN TABLE opt_visits (
    cookie   text COLLATE "C",
    at       timestamptz,
    url      text,
    referer  text    OPTIONS (column 'r:'),
    hits     bigint  OPTIONS (column 'c:hits'),
    tags     jsonb   OPTIONS (family 't')
) SERVER widetable
  OPTIONS (key 'cookie, at desc',
           families '{"p": {"versions": 5}, "r": {"ttl": "60 days"}, "c": {}, "t": {}}');

-- Everything is in the options, so pg_dump preserves it.
SELECT unnest(ftoptions) AS option FROM pg_foreign_table WHERE ftrelid = 'opt_visits'::regclass;

-- Options can be added, changed and dropped; an invalid change is refused and
-- leaves the table unchanged.
ALTER FOREIGN TABLE opt_visits OPTIONS (ADD insert_mode 'error');
ALTER FOREIGN TABLE opt_visits OPTIONS (SET insert_mode 'merge');
ALTER FOREIGN TABLE opt_visits OPTIONS (DROP insert_mode);
ALTER FOREIGN TABLE opt_visits OPTIONS (SET families '{"p": {"versions": 3}, "c": {}, "t": {}}');
ALTER FOREIGN TABLE opt_visits OPTIONS (SET families '{"p": {"versions": 3}, "t": null}');
ALTER FOREIGN TABLE opt_visits DROP COLUMN cookie;
DROP FOREIGN TABLE opt_visits;

-- ------------------------------------------------------------- unknown names

-- For a misspelled name the error suggests the nearest one, and always lists the valid ones.
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (familys '{}');
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (colum 'f:v')) SERVER widetable;
ALTER SERVER widetable OPTIONS (ADD layout 'rows');
ALTER FOREIGN DATA WRAPPER widetable OPTIONS (ADD layout 'rows');

-- ------------------------------------------------------------- table options

CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (layout 'columns');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (existence 'marker');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (on_bad_key 'ignore');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (salt_buckets '1');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (salt_buckets '257');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (updatable 'perhaps');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (batch_size '0');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (fdw_tuple_cost '-1');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (table_name '');

-- ------------------------------------------------------------------- the key

-- A list of columns, each optionally followed by desc.  Names are parsed as in
-- SQL: quotes preserve upper case and spaces.
CREATE FOREIGN TABLE opt_key ("User Id" int, "At" timestamptz, v text) SERVER widetable
    OPTIONS (key '"User Id" DESC, "At" asc');
SELECT widetable.decode_key('opt_key', widetable.encode_key('opt_key', 7, '2024-01-01 12:00Z')) -> 'User Id' AS user_id;
DROP FOREIGN TABLE opt_key;

CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (key '');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (key 'k down');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (key 'k,');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (key '"k');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (key 'k, w');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (key 'k, v, k');

-- A key type needs equal bytes for equal values, and bytes that sort: not
-- every type qualifies.
CREATE FOREIGN TABLE opt_bad (k char(4), v text) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k jsonb, v text) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k interval, v text) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k float8 OPTIONS (encoding 'text'), v text) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k bigint OPTIONS (encoding 'counter'), v text) SERVER widetable;

-- A digest cannot be decoded: the key column names the cell that holds the original.
CREATE FOREIGN TABLE opt_bad (k text OPTIONS (encoding 'md5'), v text) SERVER widetable;
CREATE FOREIGN TABLE opt_key (k text OPTIONS (encoding 'md5', column 'd:name'), v text) SERVER widetable;
SELECT widetable.encode_key('opt_key', 'TheRealMT');
DROP FOREIGN TABLE opt_key;

-- Delimiters are for text only.
CREATE FOREIGN TABLE opt_bad (k int OPTIONS (delimiter '+'), v text) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text OPTIONS (delimiter '::'), v text) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (delimiter '+')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text OPTIONS (column 'f:k'), v text) SERVER widetable;

-- ------------------------------------------------------------------ families

CREATE FOREIGN TABLE opt_fam (k text, v text) SERVER widetable
    OPTIONS (families '{
        "f": {"versions": 3, "min_versions": 1, "ttl": "1 day", "keep_deleted": true},
        "g": {"bloom": "prefix:4", "block_size": 65536, "compression": "zstd:9", "in_memory": true},
        "h": {"ttl": null, "compaction": "window:1 hour", "bloom": "rowcol", "compression": "none"}}');
DROP FOREIGN TABLE opt_fam;

CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families 'f');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '["f"]');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": 3}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {}, "f": {}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"a:b": {}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"version": 3}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"versions": 0}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"versions": "3"}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"versions": 2, "min_versions": 3}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"ttl": 60}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"ttl": "-1 day"}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"ttl": "soon"}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"bloom": "prefix:0"}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"block_size": 100}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"compression": "zstd:99"}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"compaction": "window"}}');
CREATE FOREIGN TABLE opt_bad (k text, v text) SERVER widetable OPTIONS (families '{"f": {"in_memory": "yes"}}');

-- A column cannot map a family that is dropped.
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (column 'f:v')) SERVER widetable OPTIONS (families '{"f": null}');

-- ------------------------------------------------------------------- columns

-- Qualifiers are bytes: empty, with colons, with escapes.
CREATE FOREIGN TABLE opt_col (
    k text,
    empty  text  OPTIONS (column 'f:'),
    colons text  OPTIONS (column 'f:a:b'),
    bytes  text  OPTIONS (column 'f:\x00\xff\\'),
    since  timestamptz OPTIONS (timestamp_of 'f:a:b'),
    us     bigint      OPTIONS (timestamp_of 'empty'),
    tags   jsonb OPTIONS (family 'f', prefix 'tag_'),
    rest   jsonb OPTIONS (family 'f')
) SERVER widetable;
DROP FOREIGN TABLE opt_col;

CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (column 'v')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (column ':v')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (column 'f:\n')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (encoding 'utf8')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (encoding 'unsigned4')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (family 'f')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v jsonb OPTIONS (family 'f', column 'f:v')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v text OPTIONS (prefix 'x')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v date OPTIONS (timestamp_of 'f:x')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v bigint OPTIONS (timestamp_of 'x')) SERVER widetable;

-- No two columns may map the same cell or the same set of qualifiers.
CREATE FOREIGN TABLE opt_bad (k text, v text, w text OPTIONS (column 'd:v')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text, v jsonb OPTIONS (family 'f'), w jsonb OPTIONS (family 'f')) SERVER widetable;
CREATE FOREIGN TABLE opt_bad (k text OPTIONS (encoding 'sha1', column 'd:v'), v text) SERVER widetable;

-- -------------------------------------------------------------- layout cells

-- One row for each version of each cell; the columns are recognised by name.
CREATE FOREIGN TABLE opt_cells (k text, family text, qualifier bytea, ts bigint, value bytea, version int)
    SERVER widetable OPTIONS (layout 'cells');
DROP FOREIGN TABLE opt_cells;
CREATE FOREIGN TABLE opt_bad (k text, qual text) SERVER widetable OPTIONS (layout 'cells');
CREATE FOREIGN TABLE opt_bad (k text, family int) SERVER widetable OPTIONS (layout 'cells');
CREATE FOREIGN TABLE opt_bad (k text, ts timestamp) SERVER widetable OPTIONS (layout 'cells');
CREATE FOREIGN TABLE opt_bad (k text, version bigint) SERVER widetable OPTIONS (layout 'cells');
CREATE FOREIGN TABLE opt_bad (k text, value text OPTIONS (column 'f:v')) SERVER widetable OPTIONS (layout 'cells');
