SELECT widetable.increment('hot_wide', 1, 'n');
