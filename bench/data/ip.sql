-- Blocks of addresses with their country, stored under their last address.
CREATE FOREIGN TABLE ip_wide (last_ip inet, first_ip inet, country text) SERVER widetable OPTIONS (key 'last_ip');
CREATE TABLE ip_cols (last_ip inet PRIMARY KEY, first_ip inet, country text);
CREATE TABLE ip_cell (
    row bytea, family text COLLATE "C", qualifier text COLLATE "C", ts bigint, value text,
    PRIMARY KEY (row, family, qualifier, ts)
);
\copy ip_cols (first_ip, last_ip, country) FROM PROGRAM 'gzip -dc "$IP_FILE"' WITH (FORMAT text, HEADER true)
INSERT INTO ip_wide SELECT * FROM ip_cols;
-- the key is the four bytes of the address in the binary format of inet
INSERT INTO ip_cell
SELECT substr(inet_send(last_ip), 5), 'd', qualifier, 0, value
FROM ip_cols, LATERAL (VALUES ('first_ip', host(first_ip)), ('country', country)) c (qualifier, value);
