\set k random(1, :keys)
UPDATE point_wide SET n = n + 1 WHERE k = :k;
