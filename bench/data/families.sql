-- A fifth as many rows as there are visits, with eight bytea values each, in two families and in
-- eight.
CREATE TABLE families_cols (
    visitor bytea, n bigint, a bytea, b bytea, c bytea, d bytea, e bytea, f bytea, g bytea, h bytea,
    PRIMARY KEY (visitor, n)
);
CREATE FOREIGN TABLE families2_wide (
    visitor bytea, n bigint, a bytea OPTIONS (column 'p:a'), b bytea OPTIONS (column 'p:b'), c bytea OPTIONS (column 'p:c'),
    d bytea OPTIONS (column 'p:d'), e bytea OPTIONS (column 'q:e'), f bytea OPTIONS (column 'q:f'),
    g bytea OPTIONS (column 'q:g'), h bytea OPTIONS (column 'q:h')
) SERVER widetable OPTIONS (key 'visitor, n', families '{"p": {}, "q": {}}');
CREATE FOREIGN TABLE families8_wide (
    visitor bytea, n bigint, a bytea OPTIONS (column 'fa:a'), b bytea OPTIONS (column 'fb:b'), c bytea OPTIONS (column 'fc:c'),
    d bytea OPTIONS (column 'fd:d'), e bytea OPTIONS (column 'fe:e'), f bytea OPTIONS (column 'ff:f'),
    g bytea OPTIONS (column 'fg:g'), h bytea OPTIONS (column 'fh:h')
) SERVER widetable OPTIONS (key 'visitor, n', families '{"fa": {}, "fb": {}, "fc": {}, "fd": {}, "fe": {}, "ff": {}, "fg": {}, "fh": {}}');
INSERT INTO families_cols
SELECT decode(md5((i % 5000)::text), 'hex'), i, convert_to('/page/' || i * 7919 % 5000, 'UTF8'),
       convert_to('http://ref.example/' || repeat('x', (i % 60)::int) || i * 31 % 700, 'UTF8'),
       convert_to('Mozilla/5.0 (X11; Linux x86_64; rv:' || i % 40 || '.0) Gecko/20100101', 'UTF8'), convert_to((200 + i % 3)::text, 'UTF8'),
       convert_to((i * 48271 % 100000)::text, 'UTF8'), sha256(int8send(i)), int8send(i), int4send((i % 10)::int)
FROM generate_series(0::bigint, :visits / 5 - 1) i;
INSERT INTO families2_wide SELECT * FROM families_cols;
INSERT INTO families8_wide SELECT * FROM families_cols;
