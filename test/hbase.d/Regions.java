import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.*;
import org.apache.hadoop.hbase.client.*;

/**
 * What tests do to tables of HBase without widetable: COMMAND TABLE.
 * attribute TABLE KEY VALUE sets an attribute of the table, family TABLE FAMILY KEY VALUE one of a family.
 * churn TABLE N moves, splits and merges regions N times while a client works, for two minutes at most.
 */
public class Regions {
    static void churn(Admin admin, TableName table, int n) throws Exception {
        Random random = new Random(Long.getLong("seed", System.nanoTime()));
        int moves = 0, splits = 0, merges = 0, failed = 0;
        long end = System.currentTimeMillis() + 120000;
        while (moves + splits + merges < n && System.currentTimeMillis() < end) {
            try {
                List<RegionInfo> all = admin.getRegions(table);
                all.sort(RegionInfo.COMPARATOR);
                int at = random.nextInt(all.size()), what = random.nextInt(5);
                if (what == 0 && all.size() < 20) {
                    admin.splitRegionAsync(all.get(at).getRegionName()).get(5, TimeUnit.SECONDS);
                    splits++;
                } else if (what == 1 && at + 1 < all.size()) {
                    byte[][] pair = {all.get(at).getEncodedNameAsBytes(), all.get(at + 1).getEncodedNameAsBytes()};
                    admin.mergeRegionsAsync(pair, false).get(5, TimeUnit.SECONDS);
                    merges++;
                } else {
                    admin.move(all.get(at).getEncodedNameAsBytes());
                    moves++;
                }
            } catch (Exception e) { // refused, or not done in time: the next one
                failed++;
            }
            Thread.sleep(100);
        }
        System.out.println("# " + moves + " moves, " + splits + " splits, " + merges + " merges, " + failed + " refused; "
                           + admin.getRegions(table).size() + " regions");
    }

    public static void main(String[] a) throws Exception {
        try (Connection c = ConnectionFactory.createConnection(HBaseConfiguration.create()); Admin admin = c.getAdmin()) {
            TableName table = TableName.valueOf(a[1]);
            switch (a[0]) {
                case "churn" -> churn(admin, table, Integer.parseInt(a[2]));
                case "disable" -> admin.disableTable(table);
                case "enable" -> admin.enableTable(table);
                case "drop" -> {
                    if (admin.tableExists(table)) {
                        if (admin.isTableEnabled(table)) admin.disableTable(table);
                        admin.deleteTable(table);
                    }
                }
                case "describe" -> {
                    for (ColumnFamilyDescriptor f : admin.getDescriptor(table).getColumnFamilies()) System.out.println(f);
                }
                case "attribute" -> admin.modifyTable(
                    TableDescriptorBuilder.newBuilder(admin.getDescriptor(table)).setValue(a[2], a[3]).build());
                case "family" -> admin.modifyColumnFamily(table, ColumnFamilyDescriptorBuilder.newBuilder(
                    admin.getDescriptor(table).getColumnFamily(a[2].getBytes())).setValue(a[3], a[4]).build());
                default -> throw new IllegalArgumentException(a[0]);
            }
        }
    }
}
