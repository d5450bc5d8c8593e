"""psycopg2: queries, cursors on the server, COPY, transactions.  Prints TAP."""
import io
import psycopg2


def check(got, expected, name):
    print(("ok - " if got == expected else "not ok - ") + name)
    if got != expected:
        print("#   got      %r\n#   expected %r" % (got, expected))


c = psycopg2.connect("")
cur = c.cursor()
cur.execute("SELECT name, population, more FROM places WHERE geonameid = %s", (41548,))
check(cur.fetchone(), ("Kamālshahr", 141669, {"code": "PPL", "timezone": "Asia/Tehran"}), "a query returns the row, its map as a dict")
cur.execute("INSERT INTO places (geonameid, name, more) VALUES (%s, %s, %s) RETURNING name", (1, "Here", '{"x": "1"}'))
check(cur.fetchone(), ("Here",), "INSERT ... RETURNING returns the row")
cur.execute("UPDATE places SET population = coalesce(population, 0) + 5 WHERE geonameid = 1 RETURNING population")
check(cur.fetchone(), (5,), "UPDATE ... RETURNING returns the new value")
c.rollback()
cur.execute("SELECT count(*) FROM places WHERE geonameid < 1000")
check(cur.fetchone(), (0,), "rollback() undoes the changes")
named = c.cursor("on_the_server")
named.itersize = 500
named.execute("SELECT geonameid FROM places ORDER BY geonameid DESC")
keys = [k for (k,) in named]
check((len(keys), keys == sorted(keys, reverse=True)), (8239, True), "a server-side cursor returns all rows in order")
cur.copy_expert("COPY places (geonameid, name) FROM STDIN", io.StringIO("2\tTwo\n3\tThree\n"))
out = io.StringIO()
cur.copy_expert("COPY (SELECT geonameid, name FROM places WHERE geonameid < 1000 ORDER BY 1) TO STDOUT", out)
check(out.getvalue(), "2\tTwo\n3\tThree\n", "COPY FROM inserts rows, and COPY (SELECT) TO returns them")
cur.execute("SELECT widetable.increment('places', 2, 'm:seen', 3)")
check(cur.fetchone(), (3,), "increment() returns the new value")
cur.execute("DELETE FROM places WHERE geonameid < 1000")
check(cur.rowcount, 2, "DELETE reports the number of rows")
c.commit()
