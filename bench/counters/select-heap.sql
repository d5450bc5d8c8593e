\set k random(1, :keys)
SELECT v FROM point_heap WHERE k = :k;
