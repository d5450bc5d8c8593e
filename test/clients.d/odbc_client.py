"""psqlODBC with unixODBC: metadata, queries, changes.  Prints TAP."""
import pyodbc


def check(got, expected, name):
    print(("ok - " if got == expected else "not ok - ") + name)
    if got != expected:
        print("#   got      %r\n#   expected %r" % (got, expected))


c = pyodbc.connect("DSN=wide")
cur = c.cursor()
check(sorted((t.table_name, t.table_type) for t in cur.tables(schema="public")),
      [("places", "FOREIGN TABLE"), ("places_view", "VIEW")], "SQLTables lists the foreign table and the view")
check([x.column_name for x in cur.columns(table="places")],
      ["geonameid", "name", "country", "population", "lat", "lon", "more"], "SQLColumns lists the columns")
cur.execute("SELECT name, population FROM places WHERE geonameid = ?", 41548)
check(tuple(cur.fetchone()), ("Kamālshahr", 141669), "a query with a parameter returns the row")
for t in ("places", "places_view"):
    cur.execute("INSERT INTO %s (geonameid, name) VALUES (?, ?)" % t, 1, "Here")
    check(cur.rowcount, 1, "INSERT into " + t + " inserts one row")
    cur.execute("UPDATE %s SET population = ? WHERE geonameid = ?" % t, 5, 1)
    check(cur.rowcount, 1, "UPDATE of " + t + " changes one row")
    cur.execute("DELETE FROM %s WHERE geonameid = ?" % t, 1)
    check(cur.rowcount, 1, "DELETE from " + t + " deletes one row")
    c.commit()
cur.execute("SELECT country, count(*) FROM places GROUP BY country ORDER BY 2 DESC, 1 LIMIT 1")
check(cur.fetchone()[1] > 100, True, "an aggregate returns its groups")
