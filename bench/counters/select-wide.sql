\set k random(1, :keys)
SELECT v FROM point_wide WHERE k = :k;
