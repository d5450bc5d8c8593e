-- Gallery: things that happen, over time.
--
-- The readings of one patient; a million metrics every ten seconds; the last
-- pages of a visitor.  A series is rows with the time in the key (tall), cells
-- with the time in their names (wide), or both, as in OpenTSDB: a row for each
-- hour, a cell for each second.  The questions are the same: one moment, a
-- whole span, the last few.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE SCHEMA gallery_series;
SET search_path = gallery_series, public;
-- Returns the number of cells that a query read.
CREATE FUNCTION cells_scanned(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO j;
    RETURN (SELECT sum(c::int) FROM jsonb_path_query(j::jsonb, 'strict $.**."Cells Scanned"') c);
END $$;

-- --------------------------------------------------------- sparse readings

-- S75: clinical events: patient and time in the key, a cell for each kind of event
-- Not every value is measured each time.  A missing value takes no space and
-- reads as NULL; a new kind of value needs no ALTER TABLE.
CREATE FOREIGN TABLE clinical (
    patient   int,
    at        timestamptz,
    heart     smallint,
    temp_c    real,
    pressure  text,
    other     jsonb OPTIONS (family 'e')
) SERVER widetable OPTIONS (key 'patient, at', families '{"e": {}}');
INSERT INTO clinical (patient, at, heart, temp_c) VALUES (7, '2024-03-01 08:00', 62, 36.6), (7, '2024-03-01 14:00', 71, 37.9), (8, '2024-03-01 08:05', 58, 36.4);
INSERT INTO clinical (patient, at, pressure) VALUES (7, '2024-03-01 08:00', '120/80'), (7, '2024-03-02 08:00', '125/82'), (70, '2024-03-01 08:00', '110/70');
INSERT INTO clinical (patient, at, heart, other) VALUES (7, '2024-03-02 20:00', 66, '{"glucose": 5.4, "note": "after a walk"}');
-- A patient in a range of time; one kind of event only; no plan contains a sort.
EXPLAIN (COSTS OFF) SELECT * FROM clinical WHERE patient = 7 AND at >= '2024-03-01' AND at < '2024-03-02' ORDER BY at;
SELECT * FROM clinical WHERE patient = 7 AND at >= '2024-03-01' AND at < '2024-03-02' ORDER BY at;
EXPLAIN (COSTS OFF) SELECT at, heart FROM clinical WHERE patient = 7 AND heart IS NOT NULL ORDER BY at;
SELECT at, heart FROM clinical WHERE patient = 7 AND heart IS NOT NULL ORDER BY at;
SELECT at, other ->> 'glucose' AS glucose FROM clinical WHERE patient = 7 AND other ? 'glucose';
-- As entity, attribute, value: layout cells.
CREATE FOREIGN TABLE clinical_events (patient int, at timestamptz, family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'gallery_series.clinical', key 'patient, at', layout 'cells');
SELECT at, qualifier AS event FROM clinical_events WHERE patient = 7 AND at < '2024-03-02' ORDER BY at, family, qualifier;
-- SQL adds more: the change since the last reading, and the hours of fever
-- joined with the doctor on duty.
SELECT at, heart, heart - lag(heart) OVER (ORDER BY at) AS change FROM clinical WHERE patient = 7 AND heart IS NOT NULL ORDER BY at;
CREATE TABLE duty (during tstzrange, who text);
INSERT INTO duty VALUES ('[2024-03-01 06:00,2024-03-01 13:00)', 'Dr. Roe'), ('[2024-03-01 13:00,2024-03-01 22:00)', 'Dr. Poe');
SELECT c.patient, c.at, c.temp_c, d.who FROM clinical c JOIN duty d ON d.during @> c.at WHERE c.temp_c > 37.5;

-- --------------------------------------------------------------- a row for each hour

-- S76: OpenTSDB's table, byte for byte
--   key        metric uid (3 bytes), hour in seconds (4), then a pair of uids (3 + 3) for each tag
--   qualifier  2 bytes: seconds in the hour (12 bits), float or not (1), length of the value - 1 (3)
--   value      1 to 8 bytes of integer, or 4 or 8 of IEEE float
-- A three-byte uid is split into one byte and two bytes here.  The tags are the
-- last part of the key, so there may be any number, stored unchanged.
CREATE FOREIGN TABLE tsdb (
    m0     smallint OPTIONS (encoding 'unsigned1'),      -- the first byte of the metric's uid
    metric int      OPTIONS (encoding 'unsigned2'),      -- the other two bytes
    hour   bigint   OPTIONS (encoding 'unsigned4'),
    tags   bytea,
    family text COLLATE "C", qualifier bytea, ts bigint, value bytea
) SERVER widetable OPTIONS (key 'm0, metric, hour, tags', layout 'cells', families '{"t": {}}');
CREATE FOREIGN TABLE tsdb_raw (key bytea, t jsonb OPTIONS (family 't'))
    SERVER widetable OPTIONS (table_name 'gallery_series.tsdb', key 'key');
-- An ordinary table maps names to uids; a unique constraint replaces the race for the counter.
CREATE TABLE uid (kind text, name text, id int, PRIMARY KEY (kind, name), UNIQUE (kind, id));
INSERT INTO uid VALUES ('metric', 'sys.cpu.user', 1), ('metric', 'sys.load', 2), ('tagk', 'host', 1), ('tagv', 'web01', 1), ('tagv', 'web02', 2);
CREATE FUNCTION uid3(k text, n text) RETURNS bytea LANGUAGE sql STABLE AS
    $$SELECT substr(int4send(id), 2) FROM uid WHERE kind = k AND name = n$$;
CREATE FUNCTION tag(k text, v text) RETURNS bytea LANGUAGE sql STABLE AS $$SELECT uid3('tagk', k) || uid3('tagv', v)$$;
-- Writes one data point: a float of four bytes has the flags 1 011, an integer of one byte has 0 000.
CREATE FUNCTION tsdb_put(name text, at timestamptz, v float4, host text) RETURNS boolean LANGUAGE sql AS $$
    INSERT INTO tsdb SELECT 0, u.id, s - s % 3600, tag('host', host), 't',
           substr(int4send((s % 3600)::int * 16 + 11), 3), NULL, float4send(v)
      FROM uid u, cast(extract(epoch FROM at) AS bigint) s WHERE kind = 'metric' AND u.name = tsdb_put.name RETURNING true
$$;
CREATE FUNCTION tsdb_put_byte(name text, at timestamptz, v int, host text) RETURNS boolean LANGUAGE sql AS $$
    INSERT INTO tsdb SELECT 0, u.id, s - s % 3600, tag('host', host), 't', substr(int4send((s % 3600)::int * 16), 3), NULL, substr(int4send(v), 4)
      FROM uid u, cast(extract(epoch FROM at) AS bigint) s WHERE kind = 'metric' AND u.name = tsdb_put_byte.name RETURNING true
$$;
SELECT tsdb_put('sys.cpu.user', '2013-01-01 00:00:10', 42.5, 'web01');
-- The bytes of the literature: key 000001 50E22700 000001 000001; 10 seconds and flags: 00ab; 42.5: 422a0000.
SELECT key FROM tsdb_raw;
SELECT qualifier, value FROM tsdb;
SELECT encode(widetable.encode_key('tsdb', 0, 1, 1357027200, tag('host', 'web01')), 'hex') AS eight_o_clock;      -- 50e29780
-- Two hosts, two hours, a point each minute; and a load, in single bytes.
SELECT count(tsdb_put('sys.cpu.user', timestamptz '2013-01-01 00:00' + i * interval '1 min', (i % 60 + 20 * h)::float4, 'web0' || h))
  FROM generate_series(0, 119) i, generate_series(1, 2) h;
SELECT count(tsdb_put_byte('sys.load', timestamptz '2013-01-01 00:00' + i * interval '5 min', i, 'web01')) FROM generate_series(0, 11) i;
SELECT count(*) AS points, count(DISTINCT (metric, hour, tags)) AS rows FROM tsdb;
-- Decoding: the view turns qualifiers into times.
CREATE FUNCTION point_value(flags int, v bytea) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE b bigint := 0;
BEGIN
    FOR i IN 0 .. length(v) - 1 LOOP
        b := b * 256 + get_byte(v, i);
    END LOOP;
    IF flags & 8 = 0 THEN
        RETURN b - CASE WHEN get_byte(v, 0) >= 128 THEN 256::float8 ^ length(v) ELSE 0 END;
    ELSIF b & 2147483647 = 0 THEN
        RETURN 0;
    END IF;
    RETURN CASE WHEN b >> 31 = 1 THEN -1 ELSE 1 END * 2::float8 ^ ((b >> 23 & 255) - 127) * (1 + (b & 8388607) / 8388608.0::float8);
END $$;
CREATE VIEW point AS
    SELECT metric, tags, hour, hour + (q >> 4) AS second, point_value(q & 15, value) AS value
      FROM tsdb, LATERAL (SELECT get_byte(qualifier, 0) * 256 + get_byte(qualifier, 1) AS q) x WHERE m0 = 0 AND family = 't';
-- A metric in a range of time: one key range, all hosts.
EXPLAIN (COSTS OFF) SELECT * FROM tsdb WHERE m0 = 0 AND metric = 1 AND hour >= 1356998400 AND hour < 1357005600;
SELECT to_timestamp(second) AS at, value, (SELECT name FROM uid WHERE kind = 'tagv' AND id = get_byte(tags, 5)) AS host
  FROM point WHERE metric = 1 AND hour BETWEEN 1356998400 AND 1357002000 AND value < 22 ORDER BY second, tags;
SELECT to_timestamp(second)::time AS at, value FROM point WHERE metric = 2 AND value > 9 ORDER BY second;
-- By tag: the host comes after the hour, so there is a gap in the key.  HBase has a
-- FuzzyRowFilter for this; here it is a condition.  The key filter skips rows of
-- other hosts by their bytes and seeks to the next key that can match.
EXPLAIN (COSTS OFF) SELECT * FROM tsdb WHERE m0 = 0 AND metric = 1 AND tags = '\x000001000002';
SELECT to_timestamp(min(second)) AS first, to_timestamp(max(second)) AS last, count(*), avg(value), max(value)
  FROM point WHERE metric = 1 AND tags = tag('host', 'web02');
-- The graph: ten-minute averages of both hosts side by side, a program in
-- OpenTSDB and one statement here.
SELECT to_timestamp(second / 600 * 600)::time AS at, round(avg(value) FILTER (WHERE tags = tag('host', 'web01')), 1) AS web01,
       round(avg(value) FILTER (WHERE tags = tag('host', 'web02')), 1) AS web02
  FROM (SELECT second, tags, value::numeric FROM point WHERE metric = 1 AND hour = 1357002000) p GROUP BY 1 ORDER BY 1;

-- --------------------------------------------------------------- tall, wide

-- The page requests of real visitors to a web site, with times (test/data).  The
-- log has whole seconds.
CREATE TABLE access_log (line_no int, client_ip inet, time_utc timestamptz, method text, path text, protocol text,
    status int, bytes bigint, referer text, user_agent text);
\copy access_log FROM PROGRAM 'gzip -dc test/data/access_log.tsv.gz' WITH (FORMAT text, HEADER true)
CREATE VIEW visit AS SELECT dense_rank() OVER (ORDER BY client_ip)::int AS uid, time_utc AS at, line_no, path FROM access_log;

-- S95: tall: user and reversed time are the key, one cell with an empty qualifier
CREATE FOREIGN TABLE tall (
    uid int         OPTIONS (encoding 'unsigned4'),
    at  timestamptz OPTIONS (encoding 'reverse'),
    url text        OPTIONS (column 'cf:')
) SERVER widetable OPTIONS (key 'uid, at');
INSERT INTO tall SELECT uid, at, path FROM visit;
SELECT (SELECT count(*) FROM visit) AS visits, (SELECT count(*) FROM tall) AS rows;
-- The trap of every key that ends in a time: a browser requests a page and its pictures
-- within one second, and the last write wins.  A third key column separates them.
CREATE FOREIGN TABLE tall3 (
    uid int         OPTIONS (encoding 'unsigned4'),
    at  timestamptz OPTIONS (encoding 'reverse'),
    no  int,
    url text        OPTIONS (column 'cf:')
) SERVER widetable OPTIONS (key 'uid, at, no desc');
INSERT INTO tall3 SELECT uid, at, line_no, path FROM visit;
SELECT count(*) FROM tall3;
SELECT widetable.flush('tall3');
-- An exact time: a get.  All rows of a user: a range that ends before the next
-- user, whatever the last timestamp.  The last three: a range with LIMIT.
EXPLAIN (COSTS OFF) SELECT url FROM tall WHERE uid = 201 AND at = '2015-05-20 19:05:46';
SELECT url FROM tall WHERE uid = 201 AND at = '2015-05-20 19:05:46';
EXPLAIN (COSTS OFF) SELECT url FROM tall3 WHERE uid = 201;
EXPLAIN (COSTS OFF) SELECT at, url FROM tall3 WHERE uid = 201 ORDER BY at DESC, no DESC LIMIT 3;
SELECT at, url FROM tall3 WHERE uid = 201 ORDER BY at DESC, no DESC LIMIT 3;
SELECT count(*) FROM tall3 WHERE uid = 201;
SELECT cells_scanned('SELECT at, url FROM tall3 WHERE uid = 201 ORDER BY at DESC, no DESC LIMIT 3') <= 4 AS stops_early;

-- S96: wide: a row for each user, the reversed time is the qualifier
CREATE FOREIGN TABLE wide (uid int OPTIONS (encoding 'unsigned4'), family text COLLATE "C", qualifier bytea, value text, cell_no int)
    SERVER widetable OPTIONS (key 'uid', layout 'cells', families '{"cf": {}}');
-- Eight bytes of reversed microseconds, four of the line number: the same three parts, two of them in the qualifier.
CREATE FUNCTION cell_name(at timestamptz, no int) RETURNS bytea LANGUAGE sql IMMUTABLE AS
    $$SELECT int8send(widetable.reverse_time(at)) || int4send(2147483647 - no)$$;
CREATE FUNCTION cell_time(name bytea) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
    $$SELECT to_timestamp((9223372036854775807 - ('x' || encode(substr(name, 1, 8), 'hex'))::bit(64)::bigint) / 1000000.0)$$;
INSERT INTO wide SELECT uid, 'cf', cell_name(at, line_no), path FROM visit;
SELECT widetable.flush('wide');
SELECT count(DISTINCT uid) AS rows, count(*) AS cells FROM wide;
-- An exact time: one cell.  All of them: the family.  The last three: the first three cells of the row.
SELECT no FROM tall3 WHERE uid = 201 AND at = '2015-05-20 19:05:46' \gset
EXPLAIN (COSTS OFF) SELECT value FROM wide WHERE uid = 201 AND family = 'cf' AND qualifier = cell_name('2015-05-20 19:05:46', :no);
SELECT value AS url FROM wide WHERE uid = 201 AND family = 'cf' AND qualifier = cell_name('2015-05-20 19:05:46', :no);
EXPLAIN (COSTS OFF) SELECT cell_time(qualifier), value FROM wide WHERE uid = 201 AND family = 'cf' ORDER BY qualifier LIMIT 3;
SELECT cell_time(qualifier) AS at, value AS url FROM wide WHERE uid = 201 AND family = 'cf' ORDER BY qualifier LIMIT 3;
SELECT count(*) FROM wide WHERE uid = 201 AND family = 'cf';
SELECT cells_scanned('SELECT value FROM wide WHERE uid = 201 AND cell_no <= 3') <= 4 AS stops_early;
-- A span of time is a range of qualifiers (the later end comes first).
SELECT cell_time(qualifier) AS at, value AS url FROM wide WHERE uid = 201 AND family = 'cf'
   AND qualifier >= int8send(widetable.reverse_time('2015-05-19')) AND qualifier < int8send(widetable.reverse_time('2015-05-18')) ORDER BY qualifier LIMIT 2;
-- The last one of each of several users: a limit for each row, in one query.
SELECT uid, cell_time(qualifier) AS at, value AS url FROM wide WHERE uid IN (1, 100, 201) AND cell_no = 1 ORDER BY uid;
SELECT u AS uid, t.* FROM unnest('{1,100,201}'::int[]) u, LATERAL (SELECT at, url FROM tall3 WHERE uid = u ORDER BY at DESC, no DESC LIMIT 1) t;
-- Both hold the same data.  Tall is the better default: typed columns, joins,
-- LIMIT, DELETE with a plain WHERE; wide keeps a user in one row, read at once.
SELECT count(*) AS differences FROM (
    (SELECT uid, at, url FROM tall3 EXCEPT ALL SELECT uid, cell_time(qualifier), value FROM wide) UNION ALL
    (SELECT uid, cell_time(qualifier), value FROM wide EXCEPT ALL SELECT uid, at, url FROM tall3)) x;
-- Sessions, which neither layout stores: visits less than half an hour apart.
SELECT count(*) AS sessions, round(avg(pages), 1) AS pages, max(pages) AS longest FROM (
    SELECT uid, session, count(*) AS pages FROM (
        SELECT uid, at, count(*) FILTER (WHERE pause IS NULL OR pause > interval '30 min') OVER (PARTITION BY uid ORDER BY at, no) AS session
          FROM (SELECT uid, at, no, at - lag(at) OVER (PARTITION BY uid ORDER BY at, no) AS pause FROM tall3) p) s
     GROUP BY uid, session) x;
RESET search_path;
