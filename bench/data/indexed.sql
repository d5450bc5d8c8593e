-- The visits with three indexes: by a number of the request, which pgbench scripts compute from the
-- visit's number (it is the hash h of generate.pl, unique); by status and time, with two covered
-- columns; by page.  The ordinary table has B-trees with the same columns.  Both are loaded first.
CREATE FOREIGN TABLE indexed_wide (
    visitor bigint, at timestamptz, request bigint NOT NULL,
    url text COLLATE "C" NOT NULL, referer text, agent text, status int NOT NULL, bytes bigint NOT NULL
) SERVER widetable OPTIONS (key 'visitor, at desc', families '{"p": {}}');

CREATE TABLE indexed_cols (
    visitor bigint, at timestamptz, request bigint NOT NULL,
    url text COLLATE "C" NOT NULL, referer text, agent text, status int NOT NULL, bytes bigint NOT NULL,
    PRIMARY KEY (visitor, at)
);

INSERT INTO indexed_cols
SELECT visitor, at, (extract(epoch FROM at)::bigint - 1767225600) * 2654435761 & 4294967295, url, referer, agent, status, bytes
FROM visits_cols ORDER BY at;
INSERT INTO indexed_wide SELECT * FROM indexed_cols;

CREATE FOREIGN TABLE indexed_wide_request (request bigint, visitor bigint, at timestamptz)
    SERVER widetable OPTIONS (index_of 'indexed_wide', key 'request');
CREATE FOREIGN TABLE indexed_wide_status (status int, at timestamptz, visitor bigint, bytes bigint)
    SERVER widetable OPTIONS (index_of 'indexed_wide', key 'status, at desc');
CREATE FOREIGN TABLE indexed_wide_url (url text COLLATE "C", at timestamptz, visitor bigint)
    SERVER widetable OPTIONS (index_of 'indexed_wide', key 'url, at desc');
CREATE INDEX indexed_cols_request ON indexed_cols (request);
CREATE INDEX indexed_cols_status ON indexed_cols (status, at) INCLUDE (visitor, bytes);
CREATE INDEX indexed_cols_url ON indexed_cols (url, at);
