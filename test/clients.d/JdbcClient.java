// pgJDBC: metadata, prepared statements, batches, cursors.  Prints TAP.
import java.sql.*;

public class JdbcClient {
    static void check(Object got, Object expected, String name) {
        boolean same = got.equals(expected);
        System.out.println((same ? "ok - " : "not ok - ") + name);
        if (!same) System.out.println("#   got      " + got + "\n#   expected " + expected);
    }

    static String tables(DatabaseMetaData m, String... types) throws SQLException {
        StringBuilder s = new StringBuilder();
        try (ResultSet r = m.getTables(null, "public", "%", types.length == 0 ? null : types)) {
            while (r.next()) s.append(r.getString(3)).append(' ').append(r.getString(4)).append("; ");
        }
        return s.toString();
    }

    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0])) {
            DatabaseMetaData m = c.getMetaData();
            check(tables(m), "places FOREIGN TABLE; places_view VIEW; ", "getTables lists the foreign table");
            check(tables(m, "TABLE", "VIEW"), "places_view VIEW; ", "getTables of type TABLE and VIEW lists the view");
            c.setAutoCommit(false);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO places (geonameid, name, population) VALUES (?, ?, ?)")) {
                for (int i = 1; i <= 100; i++) {
                    p.setInt(1, i);
                    p.setString(2, "n" + i);
                    p.setLong(3, i);
                    p.addBatch();
                }
                int n = 0;
                for (int x : p.executeBatch()) n += x;
                check(n, 100, "a batch of INSERTs inserts all rows");
            }
            c.commit();
            try (PreparedStatement q = c.prepareStatement("SELECT name FROM places WHERE geonameid = ?")) {
                boolean same = true;
                // from the fifth execution on the driver uses a prepared statement on the server
                for (int i = 1; i <= 20; i++) {
                    q.setInt(1, i);
                    ResultSet r = q.executeQuery();
                    same &= r.next() && r.getString(1).equals("n" + i);
                }
                check(same, true, "a prepared SELECT returns the row on each execution");
            }
            try (Statement s = c.createStatement()) {
                s.setFetchSize(50);
                int n = 0;
                ResultSet r = s.executeQuery("SELECT geonameid FROM places ORDER BY geonameid DESC");
                while (r.next()) n++;
                check(n, 8339, "a query with fetch size 50 returns all rows");
                check(s.executeUpdate("UPDATE places_view SET country = 'XX' WHERE geonameid < 1000"), 100, "UPDATE through the view reports the number of rows");
                check(s.executeUpdate("DELETE FROM places WHERE geonameid < 1000"), 100, "DELETE reports the number of rows");
            }
            c.commit();
            // the driver requires a primary key in the catalog for this, and a foreign table has none
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                ResultSet r = s.executeQuery("SELECT geonameid, name FROM places WHERE geonameid = 41548");
                r.next();
                String said = "it worked";
                try {
                    r.updateString(2, "x");
                    r.updateRow();
                } catch (SQLException e) {
                    said = e.getMessage();
                }
                check(said.contains("primary"), true, "an updatable ResultSet is refused for lack of a primary key");
            }
            c.rollback();
        }
    }
}
