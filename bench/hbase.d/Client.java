import java.io.*;
import java.util.*;
import java.util.concurrent.atomic.*;
import org.apache.hadoop.hbase.*;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The workloads of bench/hbase.pl with HBase's own client.  Reads lines "WORK TABLE ROWS THREADS SECONDS" and answers each
 * with "RATE RESULT": rows or operations per second, and what was counted or added up.
 */
public class Client {
    static final byte[] D = Bytes.toBytes("d"), E = Bytes.toBytes("e");
    static byte[] q(String s) { return Bytes.toBytes(s); }

    interface Work { void run(Table t, long i, Random r) throws Exception; }

    static Connection connection;

    static byte[] key(long i) {
        byte[] b = new byte[9];
        b[0] = 'k';
        for (int p = 8; p > 0; p--, i /= 10) b[p] = (byte) ('0' + i % 10);
        return b;
    }

    /** All threads share a connection, as HBase's documentation asks for. */
    static double parallel(String table, int threads, double seconds, Work w) throws Exception {
        AtomicLong total = new AtomicLong();
        AtomicReference<Exception> failure = new AtomicReference<>();
        List<Thread> all = new ArrayList<>();
        for (int n = 0; n < threads; n++) {
            final int id = n;
            Thread thread = new Thread(() -> {
                try (Table t = connection.getTable(TableName.valueOf(table))) {
                    Random r = new Random(System.nanoTime() + id);
                    long end = System.nanoTime() + (long) (seconds * 1e9), i = 0;
                    for (; System.nanoTime() < end; i++) w.run(t, id * 100000L + i, r);
                    total.addAndGet(i);
                } catch (Exception e) { failure.set(e); }
            });
            all.add(thread);
            thread.start();
        }
        for (Thread t : all) t.join();
        if (failure.get() != null) throw failure.get();
        return total.get() / seconds;
    }

    static Put row(long i) {
        return new Put(key(i)).addColumn(D, q("a"), Bytes.toBytes(i)).addColumn(D, q("b"), Bytes.toBytes("text of row " + i))
            .addColumn(D, q("n"), Bytes.toBytes(i % 1000)).addColumn(E, q("x"), Bytes.toBytes(i * 7));
    }
    static List<Put> rows(long from, int n) {
        List<Put> l = new ArrayList<>(n);
        for (int i = 0; i < n; i++) l.add(row(from + i));
        return l;
    }

    static String scan(String table, Scan s, byte[]... columns) throws Exception {
        long begun = System.nanoTime(), rows = 0, sum = 0;
        try (Table t = connection.getTable(TableName.valueOf(table)); ResultScanner scanner = t.getScanner(s)) {
            for (Result r : scanner) {
                rows++;
                for (int i = 0; i < columns.length; i += 2) {
                    byte[] v = r.getValue(columns[i], columns[i + 1]);
                    if (v != null) sum += Bytes.toLong(v);
                }
            }
        }
        return String.format("%.0f %d", rows / ((System.nanoTime() - begun) / 1e9), columns.length == 0 ? rows : sum);
    }

    static String run(String work, String table, int rows, int threads, double seconds) throws Exception {
        switch (work) {
            case "get": return String.format("%.0f -", parallel(table, threads, seconds, (t, i, r) -> t.get(new Get(key(r.nextInt(rows))))));
            case "increment": return String.format("%.0f -", parallel(table, threads, seconds,
                (t, i, r) -> t.incrementColumnValue(key(r.nextInt(rows)), D, q("n"), 1)));
            case "hot": return String.format("%.0f -", parallel(table, threads, seconds, (t, i, r) -> t.incrementColumnValue(key(7), D, q("n"), 1)));
            case "limit": return String.format("%.0f -", parallel(table, threads, seconds, (t, i, r) -> {
                try (ResultScanner s = t.getScanner(new Scan().withStartRow(key(r.nextInt(rows))).setLimit(10).setReadType(Scan.ReadType.PREAD))) {
                    for (Result x : s) { }
                }
            }));
            case "lookups": return String.format("%.0f -", 1000 * parallel(table, threads, seconds, (t, i, r) -> {
                List<Get> l = new ArrayList<>();
                for (int n = 0; n < 1000; n++) l.add(new Get(key(r.nextInt(rows))).addColumn(D, q("a")));
                t.get(l);
            }));
            case "put": return String.format("%.0f -", 1000 * parallel(table, threads, seconds, (t, i, r) -> t.put(rows(i * 1000 % 10000000, 1000))));
            case "mutator": {
                long begun = System.nanoTime();
                try (BufferedMutator m = connection.getBufferedMutator(TableName.valueOf(table))) {
                    for (int i = 0; i < rows; i++) m.mutate(row(i));
                }
                return String.format("%.0f %d", rows / ((System.nanoTime() - begun) / 1e9), rows);
            }
            // a row exists by any of its families: one cell of each is asked for
            case "count": return scan(table, new Scan().setFilter(new FilterList(new FirstKeyOnlyFilter(), new KeyOnlyFilter())));
            case "sum": return scan(table, new Scan().addColumn(D, q("a")).addColumn(E, q("x")), D, q("a"), E, q("x"));
            case "sum1": return scan(table, new Scan().addColumn(D, q("a")), D, q("a"));
            case "whole": return scan(table, new Scan(), D, q("a"), D, q("n"), E, q("x"));
            default: throw new IllegalArgumentException(work);
        }
    }

    public static void main(String[] args) throws Exception {
        connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            String[] a = line.trim().split(" ");
            try {
                System.out.println(run(a[0], a[1], Integer.parseInt(a[2]), Integer.parseInt(a[3]), Double.parseDouble(a[4])));
            } catch (Exception e) {
                System.out.println("failed: " + e);
            }
            System.out.flush();
        }
        connection.close();
    }
}
