-- Properties of encoded keys, tested with many values:
--
--   bytes compare as the values do, reversed for a descending part;
--   equal values have equal bytes, different values have different bytes;
--   a key decodes to the values that were encoded;
--   the first parts of a key are a prefix that no other values share;
--   a wide table gives the same answers as an ordinary one.
--
-- The values are random with a fixed seed, mixed with values at which
-- encodings usually fail.  Each failure raises a warning.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET extra_float_digits = 1;
SET client_min_messages = warning;
SELECT setseed(0.4);

CREATE FUNCTION kp_pick(VARIADIC a text[]) RETURNS text LANGUAGE sql VOLATILE AS
    'SELECT a[1 + floor(random() * cardinality(a))::int]';

-- random digits, not uniform: runs of 0 and 9 are where carries go wrong
CREATE FUNCTION kp_digits(n int) RETURNS text LANGUAGE sql VOLATILE AS
    $$SELECT string_agg(CASE WHEN random() < 0.3 THEN '0' WHEN random() < 0.3 THEN '9' ELSE floor(random() * 10)::text END, '')
      FROM generate_series(1, n)$$;

CREATE FUNCTION kp_bits(bits int) RETURNS numeric LANGUAGE sql VOLATILE AS
    -- a random signed number of at most `bits` bits, or a power of two or one of its neighbours
    $$SELECT CASE WHEN random() < 0.5 THEN trunc(random()::numeric * 2::numeric ^ floor(random() * bits)::int)
             ELSE trunc(2::numeric ^ floor(random() * bits)::int) + floor(random() * 3)::int - 1 END
             * CASE WHEN random() < 0.5 THEN -1 ELSE 1 END$$;

-- Returns a random value of a type, as text.
CREATE FUNCTION kp_value(typ text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s text := '';
    p float8 := random();
BEGIN
    CASE typ
    WHEN 'bool' THEN RETURN kp_pick('true', 'false');
    WHEN 'int2' THEN RETURN CASE WHEN p < 0.1 THEN kp_pick('-32768', '32767') ELSE kp_bits(15)::text END;
    WHEN 'int4' THEN RETURN CASE WHEN p < 0.1 THEN kp_pick('-2147483648', '2147483647') ELSE kp_bits(31)::text END;
    WHEN 'int8' THEN RETURN CASE WHEN p < 0.1 THEN kp_pick('-9223372036854775808', '9223372036854775807') ELSE kp_bits(63)::text END;
    WHEN 'uint' THEN RETURN least(abs(kp_bits(15)), 255)::text;
    WHEN 'oid' THEN RETURN CASE WHEN p < 0.1 THEN '4294967295' ELSE abs(kp_bits(32))::text END;
    WHEN 'float4', 'float8' THEN
        IF p < 0.3 THEN
            RETURN kp_pick('0', '-0', 'NaN', 'Infinity', '-Infinity', '1', '-1', '1e-37', '-1e-37', '1.0000001', '0.1', '-0.1',
                           CASE typ WHEN 'float4' THEN '1e-45' ELSE '5e-324' END, CASE typ WHEN 'float4' THEN '-1e-45' ELSE '-5e-324' END,
                           CASE typ WHEN 'float4' THEN '3.4028235e38' ELSE '1.7976931348623157e308' END,
                           CASE typ WHEN 'float4' THEN '-3.4028235e38' ELSE '-1.7976931348623157e308' END,
                           CASE typ WHEN 'float4' THEN '1.1754944e-38' ELSE '2.2250738585072014e-308' END,
                           CASE typ WHEN 'float4' THEN '1.1754942e-38' ELSE '2.225073858507201e-308' END);
        END IF;
        RETURN format('%s%s.%se%s', kp_pick('', '-'), 1 + floor(random() * 9), kp_digits(9),
                      CASE typ WHEN 'float4' THEN floor(random() * 80) - 43 ELSE floor(random() * 600) - 300 END);
    WHEN 'numeric' THEN
        IF p < 0.25 THEN
            RETURN kp_pick('0', '-0.00', 'NaN', 'Infinity', '-Infinity', '1', '1.0', '1.00', '-1', '-1.0', '1.00000001', '9999', '10000', '9999.9999',
                           '10000.0000', '99999999', '100000000', '0.0001', '0.00010', '0.00009999', '-9999', '-10000', '-10000.0001', '-0.0001',
                           '1e131071', '-1e131071', '1e-16383', '-1e-16383', '1e-16380', repeat('9', 300), '-' || repeat('9', 300), '1e1000',
                           repeat('12340000', 40) || '.' || repeat('00005678', 40));
        ELSIF p < 0.6 THEN
            RETURN kp_pick('', '-') || kp_digits(1 + floor(random() * 8)::int) || '.' || kp_digits(1 + floor(random() * 8)::int);
        END IF;
        RETURN format('%s%se%s', kp_pick('', '-'), kp_digits(1 + floor(random() * 40)::int), floor(random() * 121)::int - 60);
    WHEN 'date' THEN
        RETURN CASE WHEN p < 0.2 THEN kp_pick('infinity', '-infinity', '4713-01-01 BC', '5874897-12-31', '1969-12-31', '1970-01-01', '0001-01-01', '0001-12-31 BC')
               ELSE (date '1970-01-01' + (kp_bits(20) % 1000000)::int)::text END;
    WHEN 'time' THEN
        RETURN CASE WHEN p < 0.2 THEN kp_pick('00:00:00', '24:00:00', '23:59:59.999999', '00:00:00.000001')
               ELSE (time '00:00' + make_interval(secs => random() * 86399))::text END;
    WHEN 'timestamp', 'timestamptz' THEN
        RETURN CASE WHEN p < 0.2 THEN kp_pick('infinity', '-infinity', '4713-01-01 BC', '294246-12-31 23:59:59.999999', '1969-12-31 23:59:59.999999',
                                              '1970-01-01', '2000-01-01', '1999-12-31 23:59:59.999999', '0001-12-31 BC', '0044-03-15 12:00:00.5 BC')
               ELSE (timestamp '1970-01-01' + make_interval(secs => (kp_bits(37) + random()::numeric(7,6))::float8))::text END;
    WHEN 'uuid' THEN
        RETURN (SELECT string_agg(kp_pick('00', '01', '7f', '80', 'ff', to_hex(16 + floor(random() * 239)::int)), '') FROM generate_series(1, 16));
    WHEN 'text', 'varchar(8)', 'name' THEN
        FOR i IN 1..floor(random() * 7) LOOP
            s := s || kp_pick(E'\x01', E'\x02', ' ', 'a', 'a', 'b', '!', '+', E'\x7f', 'é', U&'\FFFD', U&'\+01D11E', U&'\+10FFFF', chr(1 + floor(random() * 500)::int));
        END LOOP;
        RETURN s;
    WHEN 'plain' THEN
        RETURN replace(kp_value('text'), '+', '-');
    WHEN 'bytea' THEN
        FOR i IN 1..floor(random() * 6) LOOP
            s := s || kp_pick('00', '00', '01', '02', '61', 'fe', 'ff', 'ff', lpad(to_hex(floor(random() * 256)::int), 2, '0'));
        END LOOP;
        RETURN '\x' || s;
    WHEN 'inet', 'cidr' THEN
        s := CASE WHEN random() < 0.6 THEN format('%s.%s.%s.%s/%s', kp_pick('0', '10', '10', '127', '128', '255'), kp_pick('0', '1', '128', '255'),
                                                  kp_pick('0', '0', '255'), floor(random() * 256), floor(random() * 33))
             ELSE format('%s:%s::%s/%s', kp_pick('0', '2001', 'ffff', 'fe80'), kp_pick('db8', '0', '8000'), to_hex(floor(random() * 65536)::int), floor(random() * 129)) END;
        RETURN CASE typ WHEN 'cidr' THEN network(s::inet)::text ELSE s END;
    WHEN 'interval' THEN RETURN make_interval(months => (kp_bits(12))::int, days => kp_bits(12)::int, secs => kp_bits(30)::float8 / 8)::text;
    WHEN 'timetz' THEN RETURN kp_value('time') || kp_pick('+00', '-15:59:59', '+05:45');
    WHEN 'macaddr' THEN RETURN left(replace(kp_value('uuid'), '-', ''), 12);
    WHEN 'varbit' THEN RETURN translate(kp_digits(floor(random() * 20)::int), '23456789', '10101010');
    WHEN 'pg_lsn' THEN RETURN upper(to_hex(abs(kp_bits(31))::int)) || '/' || upper(to_hex(abs(kp_bits(31))::int));
    WHEN 'char(5)' THEN RETURN left(kp_value('text'), 5);
    WHEN 'int4[]' THEN RETURN format('{%s,NULL,%s}', kp_value('int4'), kp_value('int4'));
    WHEN 'text[]' THEN RETURN ARRAY[kp_value('text'), NULL, '{"', kp_value('text')]::text;
    WHEN 'jsonb' THEN RETURN jsonb_build_object(kp_value('text'), kp_value('int8')::numeric, 'x', ARRAY[kp_value('text'), NULL])::text;
    WHEN 'kp_enum' THEN RETURN kp_pick('zero', 'one', 'two', 'Two', 'thrée');
    WHEN 'kp_domain' THEN RETURN abs(kp_bits(31))::text;
    END CASE;
END $$;
CREATE TYPE kp_enum AS ENUM ('zero', 'one', 'two', 'Two', 'thrée');
CREATE DOMAIN kp_domain AS int CHECK (VALUE >= 0);

-- --------------------------------------------------- one column, every encoding

-- The values of a type are made once and used for every encoding.
CREATE FUNCTION kp_fill(typ text, n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DROP TABLE IF EXISTS kp_values;
    EXECUTE format('CREATE TEMP TABLE kp_values AS SELECT x::%s AS x FROM (SELECT kp_value(%L) AS x FROM generate_series(1, %s)) s WHERE x NOT IN ('''', ''\x'')',
                   CASE typ WHEN 'uint' THEN 'int4' WHEN 'plain' THEN 'text' ELSE typ END, typ, n);
    IF typ IN ('text', 'varchar(8)', 'plain') THEN
        EXECUTE format('ALTER TABLE kp_values ALTER x TYPE %s COLLATE "C"', CASE typ WHEN 'plain' THEN 'text' ELSE typ END);
    END IF;
END $$;

-- Returns counts of failures. order: bytes and values sort differently; equal:
-- equality of bytes and of values differ; decoded: another value came back
CREATE FUNCTION kp_one(typ text, enc text, "desc" boolean, ordered boolean,
                       OUT "order" bigint, OUT equal bigint, OUT decoded bigint) LANGUAGE plpgsql AS $$
DECLARE
    decl text := CASE typ WHEN 'uint' THEN 'int4' WHEN 'plain' THEN 'text' ELSE typ END;
BEGIN
    EXECUTE format('CREATE FOREIGN TABLE kp_key (k %s OPTIONS (encoding %L) %s, v text) SERVER widetable OPTIONS (key %L)',
                   decl, enc, CASE WHEN decl IN ('text', 'varchar(8)') THEN 'COLLATE "C"' END, CASE WHEN "desc" THEN 'k desc' ELSE 'k' END);
    EXECUTE format($q$
        SELECT count(*) FILTER (WHERE %s AND r <> rb), greatest(count(DISTINCT b), count(DISTINCT x), count(DISTINCT (x, b))) - least(count(DISTINCT b), count(DISTINCT x)),
               count(*) FILTER (WHERE back IS DISTINCT FROM x OR widetable.encode_key('kp_key', back) <> b)
        FROM (SELECT *, dense_rank() OVER (ORDER BY x) AS r, dense_rank() OVER (ORDER BY b %s) AS rb,
                     (widetable.decode_key('kp_key', b) ->> 'k')::%s AS back
              FROM (SELECT x, widetable.encode_key('kp_key', x) AS b FROM kp_values) v) w$q$,
        ordered::text, CASE WHEN "desc" <> (enc = 'reverse') THEN 'DESC' END, decl)
    INTO "order", equal, decoded;
    DROP FOREIGN TABLE kp_key;
END $$;

-- For encodings in "unordered" the bytes do not sort as the values do; only
-- equality and decoding are tested.
CREATE TEMP TABLE kp_types (typ text, ordered text[], unordered text[]);
INSERT INTO kp_types VALUES
    ('bool', '{ordered,binary}', '{}'),
    ('int2', '{ordered}', '{binary,text,hex,decimal}'),
    ('int4', '{ordered}', '{binary,text,hex,decimal}'),
    ('int8', '{ordered,reverse}', '{binary,text,hex,decimal}'),
    ('uint', '{unsigned1,unsigned2,unsigned4,unsigned8,binary,hex}', '{}'),
    ('oid', '{ordered,binary}', '{}'),
    ('float4', '{ordered}', '{}'),
    ('float8', '{ordered}', '{}'),
    ('numeric', '{ordered}', '{}'),
    ('date', '{ordered}', '{binary}'),
    ('time', '{ordered,binary}', '{}'),
    ('timestamp', '{ordered,reverse}', '{binary}'),
    ('timestamptz', '{ordered,reverse}', '{binary}'),
    ('uuid', '{ordered,binary}', '{}'),
    ('text', '{ordered,text,bytes,binary}', '{}'),
    ('varchar(8)', '{ordered,text,bytes,binary}', '{}'),
    ('name', '{ordered,text,bytes,binary}', '{}'),
    ('bytea', '{ordered,text,bytes,binary}', '{}'),
    ('inet', '{ordered}', '{}'),
    ('cidr', '{ordered}', '{}'),
    ('kp_enum', '{}', '{text}'),
    ('kp_domain', '{ordered,unsigned4}', '{decimal}');
DO $$
DECLARE
    t record;
    f record;
    combinations int := 0;
BEGIN
    FOR t IN SELECT * FROM kp_types LOOP
        PERFORM kp_fill(t.typ, 600);
        FOR f IN SELECT enc, d, one.* FROM unnest(t.ordered || t.unordered) enc, unnest('{false,true}'::bool[]) d,
                                       kp_one(t.typ, enc, d, enc = ANY (t.ordered)) one LOOP
            combinations := combinations + 1;
            IF f."order" + f.equal + f.decoded > 0 THEN
                RAISE WARNING '% % desc=%: order %, equality %, decode %', t.typ, f.enc, f.d, f."order", f.equal, f.decoded;
            END IF;
        END LOOP;
    END LOOP;
    RAISE WARNING '% combinations of type, encoding and direction tried', combinations;
END $$;

-- ------------------------------------------------------------------ values

-- Cell values of every type in every encoding, NULL included, decode to what
-- was written: one column for each encoding, the same rows in a heap.
CREATE TABLE kp_codec AS
    SELECT typ, enc, 'c' || row_number() OVER () AS col
    FROM (SELECT typ, unnest('{text,bytes,binary,ordered}'::text[]) AS enc FROM kp_types WHERE typ NOT IN ('numeric', 'inet', 'cidr', 'kp_enum', 'uint')
          UNION ALL SELECT typ, unnest('{text,bytes,ordered}'::text[]) FROM kp_types WHERE typ IN ('numeric', 'inet', 'cidr')
          UNION ALL SELECT typ, unnest('{hex,decimal}'::text[]) FROM kp_types WHERE typ IN ('int2', 'int4', 'int8')
          UNION ALL SELECT 'uint', unnest('{unsigned1,unsigned2,unsigned4,unsigned8}'::text[])
          UNION ALL SELECT unnest('{int8,timestamp,timestamptz}'::text[]), 'reverse'
          UNION ALL SELECT 'int8', 'counter' UNION ALL SELECT 'numeric', 'decimal'
          UNION ALL SELECT t, e FROM unnest('{interval,timetz,macaddr,varbit,pg_lsn,char(5),int4[],text[],jsonb,kp_enum}'::text[]) t,
                                     unnest('{text,bytes}'::text[]) e) t;
DO $$
DECLARE
    c record;
    wrong bigint;
BEGIN
    EXECUTE (SELECT format('CREATE TABLE kp_heap (n int, %s)', string_agg(col || ' ' || CASE typ WHEN 'uint' THEN 'int4' ELSE typ END, ', ')) FROM kp_codec);
    EXECUTE (SELECT format('CREATE FOREIGN TABLE kp_wide (n int, %s) SERVER widetable',
                           string_agg(format('%s %s OPTIONS (encoding %L)', col, CASE typ WHEN 'uint' THEN 'int4' ELSE typ END, enc), ', ')) FROM kp_codec);
    EXECUTE (SELECT format('INSERT INTO kp_heap SELECT n, %s FROM generate_series(1, 100) n',
                           string_agg(format('CASE WHEN random() < 0.9 THEN kp_value(%L)::%s END', typ, CASE typ WHEN 'uint' THEN 'int4' ELSE typ END), ', ')) FROM kp_codec);
    INSERT INTO kp_wide SELECT * FROM kp_heap;
    FOR c IN SELECT * FROM kp_codec LOOP
        EXECUTE format('SELECT count(*) FROM kp_heap h LEFT JOIN kp_wide w USING (n) WHERE h.%1$s IS DISTINCT FROM w.%1$s', c.col) INTO wrong;
        IF wrong > 0 THEN
            RAISE WARNING 'value of type % with encoding %: % of 100 differ', c.typ, c.enc, wrong;
        END IF;
    END LOOP;
    DROP FOREIGN TABLE kp_wide;
    DROP TABLE kp_heap;
    RAISE WARNING '% combinations of type and encoding of values tried', (SELECT count(*) FROM kp_codec);
END $$;
DROP TABLE kp_codec;

-- ------------------------------------------------------------- two columns

-- Every kind of part before every other, in all four directions.  A "plain"
-- part ends with a delimiter and has no order, only equality and prefixes.
-- prefix: the bytes of the first column alone, and the range up to their
-- prefix_end, select exactly the keys of rows with that value.
CREATE FUNCTION kp_two(a text, b text, a_desc boolean, b_desc boolean,
                       OUT "order" bigint, OUT equal bigint, OUT decoded bigint, OUT prefix bigint) LANGUAGE plpgsql AS $$
DECLARE
    a_type text := CASE a WHEN 'plain' THEN 'text' WHEN 'uint' THEN 'int4' ELSE a END;
    b_type text := CASE b WHEN 'plain' THEN 'text' WHEN 'uint' THEN 'int4' ELSE b END;
BEGIN
    EXECUTE format('CREATE FOREIGN TABLE kp_key (a %s OPTIONS (%s) %s, b %s OPTIONS (%s) %s, v text) SERVER widetable OPTIONS (key %L)',
                   a_type, CASE a WHEN 'plain' THEN 'delimiter ''+''' WHEN 'uint' THEN 'encoding ''unsigned2''' ELSE format('encoding %L', CASE a WHEN 'kp_enum' THEN 'text' ELSE 'ordered' END) END,
                   CASE WHEN a_type = 'text' THEN 'COLLATE "C"' END,
                   b_type, CASE b WHEN 'plain' THEN 'delimiter ''+''' WHEN 'uint' THEN 'encoding ''unsigned2''' ELSE format('encoding %L', CASE b WHEN 'kp_enum' THEN 'text' ELSE 'ordered' END) END,
                   CASE WHEN b_type = 'text' THEN 'COLLATE "C"' END,
                   concat('a', CASE WHEN a_desc THEN ' desc' END, ', b', CASE WHEN b_desc THEN ' desc' END));
    EXECUTE format($q$
        WITH rows AS MATERIALIZED (
            SELECT a, b, k, p, widetable.prefix_end(p) AS e
            FROM (SELECT a, b, widetable.encode_key('kp_key', a, b) AS k, widetable.encode_key('kp_key', a) AS p FROM (SELECT a::%1$s %8$s AS a, b::%2$s %9$s AS b FROM kp_pairs WHERE a_type = %3$L AND b_type = %4$L) x OFFSET 0) y)
        SELECT count(*) FILTER (WHERE %5$s AND r <> rk), greatest(count(DISTINCT k), count(DISTINCT (a, b)), count(DISTINCT (a, b, k))) - least(count(DISTINCT k), count(DISTINCT (a, b))),
               count(*) FILTER (WHERE back_a IS DISTINCT FROM a OR back_b IS DISTINCT FROM b),
               (SELECT count(*) FROM rows x, rows y
                WHERE (x.a = y.a) <> (substr(y.k, 1, length(x.p)) = x.p)
                   OR (x.a = y.a) <> (y.k >= x.p AND (x.e IS NULL OR y.k < x.e)))
        FROM (SELECT a, b, k, (back ->> 'a')::%1$s AS back_a, (back ->> 'b')::%2$s AS back_b,
                     dense_rank() OVER (ORDER BY a %6$s, b %7$s) AS r, dense_rank() OVER (ORDER BY k) AS rk
              FROM rows, widetable.decode_key('kp_key', k) back) w$q$,
        a_type, b_type, a, b, ('plain' <> ALL (ARRAY[a, b]) AND 'kp_enum' <> ALL (ARRAY[a, b]))::text,
        CASE WHEN a_desc THEN 'DESC' END, CASE WHEN b_desc THEN 'DESC' END,
        CASE WHEN a_type = 'text' THEN 'COLLATE "C"' END, CASE WHEN b_type = 'text' THEN 'COLLATE "C"' END)
    INTO "order", equal, decoded, prefix;
    DROP FOREIGN TABLE kp_key;
END $$;
CREATE TEMP TABLE kp_pairs AS
    WITH kinds AS (SELECT unnest('{bool,int8,uint,float8,numeric,timestamptz,text,bytea,inet,plain}'::text[]) AS kind)
    SELECT a.kind AS a_type, b.kind AS b_type, kp_value(a.kind) AS a, kp_value(b.kind) AS b FROM kinds a, kinds b, generate_series(1, 12);
-- several rows with the same first column
INSERT INTO kp_pairs
    SELECT a_type, b_type, a, kp_value(b_type) FROM kp_pairs;
DO $$
DECLARE
    p record;
    f record;
    combinations int := 0;
BEGIN
    FOR p IN SELECT DISTINCT a_type, b_type, a_desc, b_desc FROM kp_pairs, unnest('{false,true}'::bool[]) a_desc, unnest('{false,true}'::bool[]) b_desc LOOP
        f := kp_two(p.a_type, p.b_type, p.a_desc, p.b_desc);
        combinations := combinations + 1;
        IF f."order" + f.equal + f.decoded + f.prefix > 0 THEN
            RAISE WARNING '%: order %, equality %, decode %, prefix %', p, f."order", f.equal, f.decoded, f.prefix;
        END IF;
        COMMIT;                     -- otherwise the catalogs would fill with dead rows
    END LOOP;
    RAISE WARNING '% pairs of columns tried', combinations;
END $$;

-- ----------------------------------------------------------- against a heap

-- The same rows in a wide table and in a heap, and the same random queries on
-- both: 30 for each of 20 keys, with and without salt.  a_opt and b_opt are
-- column options.  A different answer raises a warning.
CREATE PROCEDURE kp_table(a text, a_opt text, b text, b_opt text, key text, salt int, questions int) LANGUAGE plpgsql AS $$
DECLARE
    a_type text := CASE a WHEN 'plain' THEN 'text' WHEN 'uint' THEN 'int4' ELSE a END;
    b_type text := CASE b WHEN 'plain' THEN 'text' WHEN 'uint' THEN 'int4' ELSE b END;
    a_coll text := CASE WHEN a_type = 'text' THEN 'COLLATE "C"' END;
    b_coll text := CASE WHEN b_type = 'text' THEN 'COLLATE "C"' END;
    backward text := (SELECT string_agg(CASE WHEN c LIKE '% desc' THEN replace(c, ' desc', '') ELSE c || ' desc' END, ', ')
                      FROM regexp_split_to_table(key, ', ') c);
    a_cast text;
    b_cast text;
    x text[];
    cond text;
    q text;
    w text;
    h text;
BEGIN
    EXECUTE format('CREATE TABLE kp_heap (a %s %s, b %s %s, n int)', a_type, a_coll, b_type, b_coll);
    EXECUTE format('CREATE FOREIGN TABLE kp_wide (a %s OPTIONS (%s) %s, b %s OPTIONS (%s) %s, n int) SERVER widetable OPTIONS (key %L %s)',
                   a_type, a_opt, a_coll, b_type, b_opt, b_coll, key, CASE WHEN salt > 0 THEN format(', salt_buckets ''%s''', salt) END);
    EXECUTE format('INSERT INTO kp_heap SELECT DISTINCT ON (a, b) a, b, n FROM
                        (SELECT n, kp_value(%L)::%s %s AS a, kp_value(%L)::%s %s AS b FROM generate_series(1, 100) n) x', a, a_type, a_coll, b, b_type, b_coll);
    -- rows with the same first column
    EXECUTE format('INSERT INTO kp_heap SELECT DISTINCT ON (a, b) a, b, n FROM
                        (SELECT r.a, kp_value(%L)::%s %s AS b, 1000 + 10 * n + i AS n FROM (SELECT * FROM kp_heap ORDER BY n LIMIT 20) r, generate_series(1, 4) i) x
                    WHERE NOT EXISTS (SELECT FROM kp_heap h WHERE h.a = x.a AND h.b = x.b)', b, b_type, b_coll);
    INSERT INTO kp_wide SELECT * FROM kp_heap;
    COMMIT;
    IF random() < 0.5 THEN
        PERFORM widetable.flush('kp_wide');
    END IF;
    FOR i IN 1..questions LOOP
        -- bounds: values of rows, and other values
        EXECUTE format('SELECT ARRAY[a1, a2, a3, b1, b2] FROM
                            (SELECT max(a) FILTER (WHERE r = 1) AS a1, max(a) FILTER (WHERE r = 2) AS a2, max(a) FILTER (WHERE r = 3) AS a3,
                                    max(b) FILTER (WHERE r = 1) AS b1, max(b) FILTER (WHERE r = 2) AS b2
                             FROM (SELECT row_number() OVER (ORDER BY random()) AS r, a::text, b::text FROM kp_heap) s) t') INTO x;
        -- (also values that contain the delimiter, which no row has)
        IF random() < 0.2 THEN x[1] := kp_value(a) || CASE a WHEN 'plain' THEN '+b' ELSE '' END; END IF;
        IF random() < 0.2 THEN x[2] := kp_value(a); END IF;
        IF random() < 0.3 THEN x[4] := kp_value(b) || CASE b WHEN 'plain' THEN '+b' ELSE '' END; END IF;
        -- and values of another type that compares with the column's type
        a_cast := CASE a_type WHEN 'int4' THEN kp_pick('int4', 'int8') WHEN 'timestamptz' THEN kp_pick('timestamptz', 'timestamp', 'date') ELSE a_type END;
        b_cast := CASE b_type WHEN 'int4' THEN kp_pick('int4', 'int8') WHEN 'timestamptz' THEN kp_pick('timestamptz', 'timestamp', 'date') ELSE b_type END;
        IF a_cast = 'int8' AND random() < 0.2 THEN x[1] := kp_value('int8'); END IF;
        IF b_cast = 'int8' AND random() < 0.3 THEN x[4] := kp_value('int8'); END IF;
        cond := format(kp_pick('true', 'a = %1$s', 'a >= least(%1$s, %2$s) AND a < greatest(%1$s, %2$s)', 'a > %1$s', 'a <= %1$s', 'a BETWEEN %1$s AND %2$s',
                               'a IN (%1$s, %2$s, %3$s)', 'a = %1$s AND b = %4$s', 'a = %1$s AND b > %4$s', 'a = %1$s AND b <= %4$s', 'a IN (%1$s, %2$s, %3$s) AND b >= %4$s',
                               'a = %1$s AND b >= least(%4$s, %5$s) AND b < greatest(%4$s, %5$s)', 'a IN (%1$s, %2$s) AND b <= %5$s',
                               'a IN (%1$s, %2$s) AND b IN (%4$s, %5$s)', '(a, b) > (%1$s, %4$s)', '(a, b) <= (%1$s, %4$s)', '(a, b) >= (%1$s, %4$s) AND a < %2$s',
                               'b = %4$s', 'b > %4$s AND a <> %1$s', 'a > %1$s AND b = %5$s', 'a < %1$s AND a > %1$s', 'a = %1$s OR b = %4$s'),
                       format('%L::%s', x[1], a_cast), format('%L::%s', x[2], a_cast), format('%L::%s', x[3], a_cast),
                       format('%L::%s', x[4], b_cast), format('%L::%s', x[5], b_cast));
        q := format('SELECT array_agg(concat(n, '':'', md5(a::text), md5(b::text)))::text FROM (SELECT a, b, n FROM %%s WHERE %s ORDER BY %s %s) s',
                    replace(cond, '%', '%%'), kp_pick(key, backward), kp_pick('', '', 'LIMIT 7'));
        -- numbers are read without trailing zeros, and -0 as 0, so their text is not compared
        q := replace(replace(q, 'md5(a::text)', CASE WHEN a IN ('numeric', 'float8') THEN '''''' ELSE 'md5(a::text)' END),
                     'md5(b::text)', CASE WHEN b IN ('numeric', 'float8') THEN '''''' ELSE 'md5(b::text)' END);
        EXECUTE format(q, 'kp_wide') INTO w;
        EXECUTE format(q, 'kp_heap') INTO h;
        IF w IS DISTINCT FROM h THEN
            RAISE WARNING 'a % (%), b % (%), key %, salt %: % gives % instead of %', a, a_opt, b, b_opt, key, salt, q, w, h;
        END IF;
    END LOOP;
    DROP FOREIGN TABLE kp_wide;
    DROP TABLE kp_heap;
END $$;
DO $$
DECLARE
    t record;
BEGIN
    FOR t IN SELECT a, a_opt, b, b_opt, key, salt FROM (VALUES
                 ('text', 'encoding ''text''', 'int4', 'encoding ''ordered''', 'a, b desc'),
                 ('bytea', 'encoding ''bytes''', 'float8', 'encoding ''ordered''', 'a desc, b'),
                 ('numeric', 'encoding ''ordered''', 'timestamptz', 'encoding ''reverse''', 'a, b desc'),
                 ('numeric', 'encoding ''ordered''', 'text', 'encoding ''text''', 'a desc, b desc'),
                 ('inet', 'encoding ''ordered''', 'uuid', 'encoding ''binary''', 'a, b'),
                 ('plain', 'delimiter ''+''', 'text', 'encoding ''text''', 'a, b'),
                 ('plain', 'delimiter ''+''', 'plain', 'delimiter ''+''', 'a desc, b desc'),
                 ('text', 'delimiter ''\x00''', 'int8', 'encoding ''ordered''', 'a, b desc'),
                 ('text', 'delimiter ''\x00''', 'text', 'delimiter ''\x00''', 'a desc, b desc'),
                 ('text', 'delimiter ''\x00''', 'text', 'delimiter ''\x00''', 'a, b'),
                 ('kp_enum', 'encoding ''text''', 'plain', 'delimiter ''+''', 'a, b'),
                 ('plain', 'encoding ''md5'', column ''d:a''', 'numeric', 'encoding ''ordered''', 'a, b desc'),
                 ('text', 'encoding ''sha1'', column ''d:a''', 'bytea', 'encoding ''bytes''', 'a desc, b'),
                 ('uint', 'encoding ''unsigned1''', 'inet', 'encoding ''ordered''', 'a desc, b'),
                 ('int8', 'encoding ''hex''', 'text', 'encoding ''text''', 'a, b'),
                 ('int4', 'encoding ''decimal''', 'date', 'encoding ''ordered''', 'a, b desc'),
                 ('int8', 'encoding ''binary''', 'bool', 'encoding ''binary''', 'a, b'),
                 ('timestamptz', 'encoding ''reverse''', 'text', 'encoding ''md5'', column ''d:b''', 'a, b'),
                 ('kp_enum', 'encoding ''text''', 'int8', 'encoding ''reverse''', 'a, b'),
                 ('text', 'encoding ''text''', 'kp_enum', 'encoding ''text''', 'b, a')) v(a, a_opt, b, b_opt, key), unnest('{0,7}'::int[]) salt LOOP
        CALL kp_table(t.a, t.a_opt, t.b, t.b_opt, t.key, t.salt, 30);
    END LOOP;
END $$;

DROP PROCEDURE kp_table(text, text, text, text, text, int, int);
DROP FUNCTION kp_one(text, text, boolean, boolean), kp_two(text, text, boolean, boolean), kp_fill(text, int), kp_value(text), kp_bits(int), kp_digits(int), kp_pick(text[]);
DROP TABLE kp_values, kp_types, kp_pairs;
DROP DOMAIN kp_domain;
DROP TYPE kp_enum;
