"""LibreOffice Base with its PostgreSQL driver, without a window.  Prints TAP.

Base lists views but not foreign tables: it reads the plain view, and any table by SQL."""
import os
import subprocess
import time
import uno


def check(got, expected, name):
    print(("ok - " if got == expected else "not ok - ") + name)
    if got != expected:
        print("#   got      %r\n#   expected %r" % (got, expected))


office = subprocess.Popen(["soffice", "--headless", "--norestore", "--nologo",
                           "-env:UserInstallation=file://" + os.environ["WORK"] + "/libreoffice",
                           "--accept=pipe,name=widetable%d;urp;" % os.getpid()], stdout=subprocess.DEVNULL)
local = uno.getComponentContext()
resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
for i in range(200):
    try:
        context = resolver.resolve("uno:pipe,name=widetable%d;urp;StarOffice.ComponentContext" % os.getpid())
        break
    except Exception:
        time.sleep(0.3)
make = context.ServiceManager.createInstanceWithContext
try:
    source = make("com.sun.star.sdb.DatabaseContext", context).createInstance()
    source.URL = "sdbc:postgresql:host=127.0.0.1 port=%s dbname=%s user=postgres" % (os.environ["PGPORT"], os.environ["PGDATABASE"])
    c = source.getConnection("", "")
    names = c.getTables().getElementNames()
    check([n for n in names if n.startswith("public.")], ["public.places_view"], "Base lists the view")
    rows = make("com.sun.star.sdb.RowSet", context)
    rows.ActiveConnection = c
    rows.CommandType = 0        # a table or view
    rows.Command = "public.places_view"
    rows.Filter = "population > 10000000"
    rows.ApplyFilter = True
    rows.Order = "name"
    rows.execute()
    found = []
    while rows.next():
        found.append(rows.getString(rows.findColumn("name")))
    s = c.createStatement()
    r = s.executeQuery("SELECT string_agg(name, ',' ORDER BY name COLLATE \"C\") FROM places WHERE population > 10000000")
    r.next()
    check(",".join(found), r.getString(1), "a row set, filtered and sorted, returns the rows")
    check(s.executeUpdate("INSERT INTO places (geonameid, name) VALUES (1, 'Here')"), 1, "INSERT by SQL inserts one row")
    check(s.executeUpdate("DELETE FROM places WHERE geonameid = 1"), 1, "DELETE by SQL deletes one row")
    c.close()
finally:
    try:
        make("com.sun.star.frame.Desktop", context).terminate()
    except Exception:
        pass
    try:
        office.wait(30)
    except subprocess.TimeoutExpired:
        office.kill()
