\set k random(1, :keys)
SELECT widetable.increment('random_wide', :k, 'n');
