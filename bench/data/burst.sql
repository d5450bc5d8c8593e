-- As recent.sql, but all windows come in one transaction.
CREATE FOREIGN TABLE burst_wide (
    visitor bigint, n bigint, bytes bigint OPTIONS (column 'p:bytes') NOT NULL, at timestamptz OPTIONS (timestamp_of 'p:bytes'),
    url text OPTIONS (column 'p:url'), url_at timestamptz OPTIONS (timestamp_of 'p:url')
) SERVER widetable OPTIONS (key 'visitor, n', families '{"p": {"compaction": "window:3 hours"}}');
INSERT INTO burst_wide SELECT visitor, n, bytes, at, url, at FROM recent_cols;
