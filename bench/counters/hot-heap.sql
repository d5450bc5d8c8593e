UPDATE hot_heap SET n = n + 1 WHERE k = 1 RETURNING n;
