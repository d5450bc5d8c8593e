\set r random(1, 9007199254740991)
INSERT INTO visits_wide VALUES (:r, '/articles/2024/07/' || :r, '192.0.2.17', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0)', 200, 35);
