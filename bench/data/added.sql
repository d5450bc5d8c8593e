-- Counters to which is added: a family with a merge operator.
CREATE FOREIGN TABLE added_wide (id bigint, n bigint OPTIONS (column 'c:n'))
    SERVER widetable OPTIONS (key 'id', families '{"c": {"merge": "sum"}}');
CREATE TABLE added_cols (id bigint PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50);
