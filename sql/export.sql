-- Cells out and in again: export_cells and import_cells.  test/tap/dump.t has the programs that use them.
CREATE FOREIGN TABLE ex (k text COLLATE "C", v text, w text OPTIONS (column 'e:w')) SERVER widetable
    OPTIONS (families '{"d": {"versions": 3}, "e": {"versions": 2}}');
CREATE FOREIGN TABLE ex_copy (k text COLLATE "C", v text, w text OPTIONS (column 'e:w')) SERVER widetable
    OPTIONS (families '{"d": {"versions": 3}, "e": {"versions": 2}}');
CREATE FOREIGN TABLE ex_cells (k text COLLATE "C", family text, qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'public.ex', layout 'cells');
CREATE FOREIGN TABLE ex_copy_cells (k text COLLATE "C", family text, qualifier bytea, ts bigint, value bytea)
    SERVER widetable OPTIONS (table_name 'public.ex_copy', layout 'cells');
CREATE FUNCTION ex_same() RETURNS TABLE (cells bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM ex_cells), (SELECT count(*) FROM (TABLE ex_cells EXCEPT ALL TABLE ex_copy_cells) x),
           (SELECT count(*) FROM (TABLE ex_copy_cells EXCEPT ALL TABLE ex_cells) x) $$;

-- an empty table has no chunk
SELECT count(*) FROM widetable.export_cells('ex');
INSERT INTO ex VALUES ('a', '1', 'x'), ('b', '2', NULL), ('c', NULL, NULL), ('d', '4', 'y');
SELECT widetable.put('ex', 'a', 'v', 'first', 0), widetable.put('ex', 'a', 'v', 'last', 9223372036854775806), widetable.put('ex', 'a', 'v', 'between', 1000000);
SELECT widetable.put('ex', 'b', 'd:', '', 5), widetable.put('ex', 'b', 'd:\x00\xff', ''::bytea, 7), widetable.put('ex', 'b', 'e:long', repeat('0123456789', 200000));
INSERT INTO ex_cells SELECT 'm' || g, 'd', convert_to('q' || g % 3, 'UTF8'), g, decode(md5(g::text), 'hex') FROM generate_series(1, 30000) g;
DELETE FROM ex WHERE k = 'd';

-- one chunk for each family at least, each half a megabyte before compression
SELECT count(*) > 2 AS chunks, bool_and(substr(c, 1, 4) = 'WTC1') AS all_begin FROM widetable.export_cells('ex') c;
SELECT sum(widetable.import_cells('ex_copy', c)) - (SELECT count(*) FROM ex_cells) AS differ FROM widetable.export_cells('ex') c;
SELECT * FROM ex_same();
SELECT k, v, length(w) FROM ex_copy WHERE k < 'm';
-- again: the same places
SELECT sum(widetable.import_cells('ex_copy', c)) > 0 AS again FROM widetable.export_cells('ex') c;
SELECT * FROM ex_same();
-- ranges of stored keys: lower is inclusive, upper exclusive
TRUNCATE ex_copy;
SELECT count(*) FROM (SELECT widetable.export_cells('ex', 'c', 'c') UNION ALL SELECT widetable.export_cells('ex', 'd', 'c')) x;
SELECT sum(widetable.import_cells('ex_copy', c)) FROM widetable.export_cells('ex', 'b', 'c') c;
SELECT DISTINCT k FROM ex_copy_cells;
SELECT sum(widetable.import_cells('ex_copy', c)) > 0 AS before FROM widetable.export_cells('ex', upper => 'b') c;
SELECT sum(widetable.import_cells('ex_copy', c)) > 0 AS after FROM widetable.export_cells('ex', lower => 'c') c;
SELECT * FROM ex_same();
-- parts between split_keys are the whole
TRUNCATE ex_copy;
SELECT widetable.flush();
SELECT count(n) > 0 AS some FROM (SELECT lag(key) OVER (ORDER BY key NULLS LAST) AS lower, key AS upper
    FROM (SELECT widetable.split_keys('ex', 5) AS key UNION ALL SELECT NULL) s) p,
    LATERAL (SELECT sum(widetable.import_cells('ex_copy', c)) AS n FROM widetable.export_cells('ex', p.lower, p.upper) c) x;
SELECT * FROM ex_same();
-- what a rollback leaves, own changes, and the past
BEGIN;
TRUNCATE ex_copy;
SELECT sum(widetable.import_cells('ex_copy', c)) > 0 AS in_transaction FROM widetable.export_cells('ex', upper => 'm') c;
SELECT sum(widetable.import_cells('ex_copy', c)) > 0 AS own FROM widetable.export_cells('ex_copy') c;
SELECT count(*) FROM ex_copy;
ROLLBACK;
SELECT * FROM ex_same();
TRUNCATE ex_copy;
SET widetable.as_of = '1000000';
CREATE TEMP TABLE ex_past AS SELECT c FROM widetable.export_cells('ex', upper => 'b') c;
RESET widetable.as_of;
SELECT sum(widetable.import_cells('ex_copy', c)) FROM ex_past;
SELECT ts, convert_from(value, 'UTF8') AS value FROM ex_copy_cells;

-- a cell's own time to live
SELECT widetable.put('ex', 'brief', 'v', 'x', ttl => '1 hour');
TRUNCATE ex_copy;
SELECT sum(widetable.import_cells('ex_copy', c)) FROM widetable.export_cells('ex', 'brief', 'c') c;
SELECT k, v FROM ex_copy WHERE k = 'brief';
SET widetable.clock = '2100-01-01';
SELECT k, v FROM ex_copy WHERE k = 'brief';
RESET widetable.clock;

-- what is refused
CREATE FOREIGN TABLE ex_salted (k text COLLATE "C", v text) SERVER widetable OPTIONS (salt_buckets '3');
CREATE FOREIGN TABLE ex_other (k text COLLATE "C", v text) SERVER widetable OPTIONS (families '{"e": {}}');
CREATE TEMP TABLE ex_chunk AS SELECT c FROM widetable.export_cells('ex', upper => 'b') c LIMIT 1;
SELECT widetable.import_cells('ex_salted', c) FROM ex_chunk;
SELECT widetable.import_cells('ex_other', c) FROM ex_chunk;
SELECT widetable.import_cells('ex_copy', NULL);
SELECT widetable.export_cells(NULL);
SELECT widetable.export_cells('pg_class');
BEGIN READ ONLY;
SELECT widetable.import_cells('ex_copy', c) FROM ex_chunk;
ROLLBACK;
-- any damage is an error: cut off anywhere, and each byte changed
SELECT widetable.import_cells('ex_copy', 'WTC2'::bytea);
SELECT widetable.import_cells('ex_copy', ''::bytea);
CREATE FUNCTION ex_try(chunk bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM widetable.import_cells('ex_copy', chunk);
    RETURN 'imported';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate;
END $$;
SELECT r, count(*) > 0 AS some FROM ex_chunk, generate_series(0, length(c) - 1) n, ex_try(substr(c, 1, n)) r GROUP BY r;
SELECT r, count(*) > 0 AS some FROM ex_chunk, generate_series(0, length(c) - 1) n, ex_try(set_byte(c, n, get_byte(c, n) # 255)) r GROUP BY r;
-- and with a good checksum: frames of one raw block, without one
CREATE FUNCTION ex_frame(content bytea) RETURNS bytea LANGUAGE sql AS $$
    SELECT 'WTC1'::bytea || '\x28b52ffd20' || set_byte('\x00', 0, length(content)) ||
        substr(int4send(((length(content) << 3) | 1) << 8), 3, 1) || substr(int4send(((length(content) << 3) | 1) << 8), 2, 1) || '\x00' || content $$;
SELECT content, ex_try(ex_frame(content)) FROM (VALUES
    ('\x000164'::bytea),                            -- no cell
    ('\x000164000161000a0178'),                     -- a, '', 5, x
    ('\x0001640301020178'), ('\x000164080161000a0178'),     -- same key as none; a bit that is not known
    ('\x00016400ff61000a0178'), ('\x000164000161ff0a0178'), ('\x000164000161000aff78'), ('\x000164000161000a'),
    ('\x00016400000a0178'), ('\x000164000000000178'),       -- no key
    ('\x000164000161000901'), ('\x0001640001610009017a'),   -- before 1970
    ('\x000164040161000a000178'),                   -- time to live 0
    ('\x00016400016100ffffffffffffffffff010178'), ('\x00016400016100ffffffffffffffffffff010178'),
    ('\x0000'), ('\x00ff64'), ('\x00026400'), ('\x000264ff'), ('\x05016400'), ('\xffffffffffffffffff7f'), ('')) t (content);
DROP FOREIGN TABLE ex, ex_copy, ex_cells, ex_copy_cells, ex_salted, ex_other;
DROP FUNCTION ex_same(), ex_try(bytea), ex_frame(bytea);
