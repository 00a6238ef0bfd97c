// pgjdbc: types, batches, fetch size, metadata, savepoints, generated keys, COPY, errors, cancelling.

import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.*;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

public class Jdbc {
    interface Work {
        void run(Connection connection) throws Exception;
    }

    static Connection connect() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", System.getenv("PGUSER"));
        String password = System.getenv("PGPASSWORD");
        if (password != null) properties.setProperty("password", password);
        properties.setProperty("sslmode", System.getenv().getOrDefault("GINGHAM_JDBC_SSL", "prefer"));
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/gingham";
        return DriverManager.getConnection(url, properties);
    }

    static void check(String name, Work work) {
        try (Connection connection = connect()) {
            work.run(connection);
            System.out.println("ok " + name);
        } catch (Throwable error) {
            System.out.println(("no " + name + ": " + error).replace('\n', '|'));
        }
    }

    static void same(Object found, Object wanted) {
        if (found == null ? wanted != null : !found.equals(wanted)) {
            throw new AssertionError(found + " and not " + wanted);
        }
    }

    public static void main(String[] arguments) {
        check("types", Jdbc::types);
        check("batches", Jdbc::batches);
        check("a batch that fails", Jdbc::failedBatch);
        check("fetch size", Jdbc::fetchSize);
        check("metadata", Jdbc::metadata);
        check("savepoints", Jdbc::savepoints);
        check("generated keys", Jdbc::generatedKeys);
        check("many executions of one statement", Jdbc::manyExecutions);
        check("COPY", Jdbc::copies);
        check("errors", Jdbc::errors);
        check("cancelling", Jdbc::cancelling);
        check("levels", Jdbc::levels);
    }

    static void types(Connection connection) throws Exception {
        String sql = "SELECT ?::int, ?::bigint, ?::double precision, ?::numeric, ?::text, ?::date, ?::timestamp, ?::boolean, ?::bytea";
        for (int round = 0; round < 10; round++) {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                statement.setInt(1, -7);
                statement.setLong(2, 1L << 40);
                statement.setDouble(3, 1.5);
                statement.setBigDecimal(4, new BigDecimal("-12345.678"));
                statement.setString(5, "häuser");
                statement.setObject(6, LocalDate.of(1999, 12, 31));
                statement.setObject(7, LocalDateTime.of(2001, 2, 3, 4, 5, 6, 7000));
                statement.setBoolean(8, true);
                statement.setBytes(9, new byte[] {0, (byte) 255});
                ResultSet rows = statement.executeQuery();
                rows.next();
                same(rows.getInt(1), -7);
                same(rows.getLong(2), 1L << 40);
                same(rows.getDouble(3), 1.5);
                same(rows.getBigDecimal(4), new BigDecimal("-12345.678"));
                same(rows.getString(5), "häuser");
                same(rows.getObject(6, LocalDate.class), LocalDate.of(1999, 12, 31));
                same(rows.getObject(7, LocalDateTime.class), LocalDateTime.of(2001, 2, 3, 4, 5, 6, 7000));
                same(rows.getBoolean(8), true);
                same(rows.getBytes(9)[1], (byte) 255);
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT ?::int[], ?")) {
            statement.setArray(1, connection.createArrayOf("int4", new Integer[] {1, null, 3}));
            statement.setNull(2, Types.INTEGER);
            ResultSet rows = statement.executeQuery();
            rows.next();
            same(((Integer[]) rows.getArray(1).getArray()).length, 3);
            same(rows.getObject(2), null);
        }
    }

    static void table(Connection connection, String name) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS " + name);
            statement.execute("CREATE TABLE " + name + " (a INT PRIMARY KEY, b TEXT)");
        }
    }

    static long count(Connection connection, String table) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            ResultSet rows = statement.executeQuery("SELECT count(*) FROM " + table);
            rows.next();
            return rows.getLong(1);
        }
    }

    static void batches(Connection connection) throws Exception {
        table(connection, "jdbc_t");
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO jdbc_t VALUES (?, ?)")) {
            for (int n = 0; n < 1000; n++) {
                statement.setInt(1, n);
                statement.setString(2, "row " + n);
                statement.addBatch();
            }
            int[] counts = statement.executeBatch();
            same(counts.length, 1000);
            same(counts[999], 1);
        }
        same(count(connection, "jdbc_t"), 1000L);
    }

    static void failedBatch(Connection connection) throws Exception {
        table(connection, "jdbc_f");
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO jdbc_f VALUES (?, 'x')")) {
            for (int n : new int[] {1, 2, 1, 3}) {
                statement.setInt(1, n);
                statement.addBatch();
            }
            statement.executeBatch();
            throw new AssertionError("there is one");
        } catch (BatchUpdateException error) {
            same(error.getSQLState(), "23505");
        }
        same(count(connection, "jdbc_f"), 0L);
    }

    static void fetchSize(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(100);
            ResultSet rows = statement.executeQuery("SELECT n FROM generate_series(1, 10000) AS g(n)");
            long sum = 0;
            while (rows.next()) sum += rows.getLong(1);
            same(sum, 50005000L);
        }
        connection.commit();
    }

    static void metadata(Connection connection) throws Exception {
        DatabaseMetaData data = connection.getMetaData();
        same(data.getDatabaseProductName(), "PostgreSQL");
        same(data.getDatabaseMajorVersion(), 15);
        table(connection, "jdbc_m");
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS jdbc_n");
            statement.execute("CREATE TABLE jdbc_n (m INT REFERENCES jdbc_m (a), d NUMERIC(10,2) NOT NULL DEFAULT 1)");
        }
        List<String> columns = new ArrayList<>();
        try (ResultSet rows = data.getColumns(null, "public", "jdbc_n", "%")) {
            while (rows.next()) columns.add(rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME") + " " + rows.getInt("COLUMN_SIZE") + " " + rows.getString("IS_NULLABLE"));
        }
        same(columns, List.of("m int4 10 YES", "d numeric 10 NO"));
        try (ResultSet rows = data.getPrimaryKeys(null, "public", "jdbc_m")) {
            rows.next();
            same(rows.getString("COLUMN_NAME"), "a");
        }
        try (ResultSet rows = data.getImportedKeys(null, "public", "jdbc_n")) {
            rows.next();
            same(rows.getString("PKTABLE_NAME"), "jdbc_m");
        }
        try (ResultSet rows = data.getIndexInfo(null, "public", "jdbc_m", true, false)) {
            rows.next();
            same(rows.getString("COLUMN_NAME"), "a");
        }
        try (ResultSet rows = data.getTables(null, "public", "jdbc\\_%", new String[] {"TABLE"})) {
            int tables = 0;
            while (rows.next()) tables++;
            if (tables < 3) throw new AssertionError(tables + " tables");
        }
        data.getTypeInfo().close();
        data.getSchemas().close();
        data.getFunctions(null, null, "upper").close();
        try (Statement statement = connection.createStatement()) {
            ResultSetMetaData about = statement.executeQuery("SELECT * FROM jdbc_n").getMetaData();
            same(about.getColumnTypeName(2), "numeric");
            same(about.getPrecision(2), 10);
            same(about.getScale(2), 2);
            statement.execute("DROP TABLE jdbc_n");
        }
    }

    static void savepoints(Connection connection) throws Exception {
        table(connection, "jdbc_s");
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO jdbc_s VALUES (1, 'x')");
            Savepoint savepoint = connection.setSavepoint();
            try {
                statement.executeUpdate("INSERT INTO jdbc_s VALUES (1, 'x')");
                throw new AssertionError("there is one");
            } catch (SQLException error) {
                same(error.getSQLState(), "23505");
            }
            connection.rollback(savepoint);
            statement.executeUpdate("INSERT INTO jdbc_s VALUES (2, 'x')");
            connection.commit();
        }
        same(count(connection, "jdbc_s"), 2L);
    }

    static void generatedKeys(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS jdbc_g");
            statement.execute("CREATE TABLE jdbc_g (id INT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, b TEXT)");
            statement.executeUpdate("INSERT INTO jdbc_g (b) VALUES ('x'), ('y')", Statement.RETURN_GENERATED_KEYS);
            ResultSet keys = statement.getGeneratedKeys();
            keys.next();
            same(keys.getInt("id"), 1);
        }
    }

    static void manyExecutions(Connection connection) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement("SELECT b FROM jdbc_t WHERE a = ?")) {
            for (int n = 0; n < 200; n++) {
                statement.setInt(1, n);
                ResultSet rows = statement.executeQuery();
                rows.next();
                same(rows.getString(1), "row " + n);
            }
        }
    }

    static void copies(Connection connection) throws Exception {
        table(connection, "jdbc_c");
        CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
        same(copies.copyIn("COPY jdbc_c FROM STDIN", new StringReader("1\tone\n2\t\\N\n")), 2L);
        StringWriter to = new StringWriter();
        same(copies.copyOut("COPY (SELECT * FROM jdbc_c ORDER BY a) TO STDOUT (FORMAT csv)", to), 2L);
        same(to.toString(), "1,one\n2,\n");
        try {
            copies.copyIn("COPY jdbc_c FROM STDIN", new StringReader("x\tone\n"));
            throw new AssertionError("x is no number");
        } catch (SQLException error) {
            same(error.getSQLState(), "22P02");
        }
        same(count(connection, "jdbc_c"), 2L);
    }

    static void errors(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery("SELECT nosuch FROM jdbc_t");
            throw new AssertionError("there is none");
        } catch (SQLException error) {
            same(error.getSQLState(), "42703");
        }
    }

    static void cancelling(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            statement.executeQuery("SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 100000) b");
            throw new AssertionError("it ended");
        } catch (SQLException error) {
            same(error.getSQLState(), "57014");
        }
        same(count(connection, "jdbc_t"), 1000L);
    }

    static void levels(Connection connection) throws Exception {
        for (int level : new int[] {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE}) {
            connection.setTransactionIsolation(level);
            if (level != Connection.TRANSACTION_SERIALIZABLE) same(connection.getTransactionIsolation(), level);
        }
        connection.setReadOnly(true);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO jdbc_t VALUES (5000, 'x')");
            throw new AssertionError("it is read only");
        } catch (SQLException error) {
            same(error.getSQLState(), "25006");
        }
    }
}
