\set k random(1, :keys)
INSERT INTO random_heap AS t VALUES (:k, 1) ON CONFLICT (k) DO UPDATE SET n = t.n + 1 RETURNING n;
