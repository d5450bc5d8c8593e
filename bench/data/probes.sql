-- 100,000 keys of visits to look up, in random order.
CREATE TABLE probes AS
SELECT visitor, at, int8send(visitor) || int8send(9223372036854775807 - (extract(epoch FROM at) * 1000000)::bigint) AS row
FROM visits_cols ORDER BY hashint8(extract(epoch FROM at)::bigint) LIMIT 100000;
