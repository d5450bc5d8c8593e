-- 100,000 counters; the statements of the workloads create missing ones.
CREATE FOREIGN TABLE counters_wide (id bigint, n bigint OPTIONS (column 'c:n')) SERVER widetable OPTIONS (key 'id', families '{"c": {}}');
CREATE TABLE counters_cols (id bigint PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO counters_wide SELECT i, 0 FROM generate_series(0, 99999) i;
INSERT INTO counters_cols SELECT i, 0 FROM generate_series(0, 99999) i;
