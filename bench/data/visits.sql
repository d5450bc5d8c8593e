-- The visits, loaded in order of arrival into tables with their keys.  Afterwards each
-- system does its usual maintenance: VACUUM ANALYZE, and for the wide table what its
-- worker does; no CLUSTER, no major compaction.
CREATE FOREIGN TABLE visits_wide (
    visitor bigint, at timestamptz,
    url text NOT NULL, referer text, agent text, status int NOT NULL, bytes bigint NOT NULL
) SERVER widetable OPTIONS (key 'visitor, at desc', families '{"p": {}}');

CREATE TABLE visits_cols (
    visitor bigint, at timestamptz,
    url text NOT NULL, referer text, agent text, status int NOT NULL, bytes bigint NOT NULL,
    PRIMARY KEY (visitor, at)
);

CREATE TABLE visits_cell (
    row bytea, family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text,
    PRIMARY KEY (row, family, qualifier, ts)
);

COPY visits_wide FROM :'visits_file';
COPY visits_cols FROM :'visits_file';
INSERT INTO visits_cell
SELECT int8send(visitor) || int8send(9223372036854775807 - us), 'p', qualifier, us, value
FROM (SELECT *, (extract(epoch FROM at) * 1000000)::bigint AS us FROM visits_cols) v,
     LATERAL (VALUES ('url', url), ('referer', referer), ('agent', agent), ('status', status::text), ('bytes', bytes::text))
         c (qualifier, value);
