-- The visits in order of arrival, with the time of the visit as timestamp of each cell,
-- in windows of three hours; the same rows in ordinary tables without an index on the
-- time and with a BRIN index.
CREATE FOREIGN TABLE recent_wide (
    visitor bigint, n bigint, bytes bigint OPTIONS (column 'p:bytes') NOT NULL, at timestamptz OPTIONS (timestamp_of 'p:bytes'),
    url text OPTIONS (column 'p:url'), url_at timestamptz OPTIONS (timestamp_of 'p:url')
) SERVER widetable OPTIONS (key 'visitor, n', families '{"p": {"compaction": "window:3 hours"}}');
CREATE TABLE recent_cols (visitor bigint, n bigint, bytes bigint NOT NULL, at timestamptz, url text, PRIMARY KEY (visitor, n));
CREATE TABLE recent_brin (visitor bigint, n bigint, bytes bigint NOT NULL, at timestamptz, url text, PRIMARY KEY (visitor, n));
CREATE INDEX ON recent_brin USING brin (at);
INSERT INTO recent_cols SELECT visitor, row_number() OVER (ORDER BY at), bytes, at, url FROM visits_cols ORDER BY at;
INSERT INTO recent_brin SELECT * FROM recent_cols ORDER BY at;
-- one transaction per window
DO $$
DECLARE d record;
BEGIN
    FOR d IN SELECT DISTINCT date_bin('3 hours', at, '2026-01-01 00:00+00') AS d FROM recent_cols ORDER BY 1 LOOP
        INSERT INTO recent_wide
        SELECT visitor, n, bytes, at, url, at FROM recent_cols WHERE at >= d.d AND at < d.d + interval '3 hours';
        COMMIT;
    END LOOP;
END $$;
