\set k random(1, :keys)
UPDATE point_heap SET n = n + 1 WHERE k = :k;
