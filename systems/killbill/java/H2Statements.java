import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/**
 * Prints the statements that the H2 inside KillBill has summed up, for the profile of a run. Only this JVM can open the
 * file of that database. Each connection to its port, which is on the loopback address, sends one line: "reset" makes H2
 * forget its statements and sum up new ones, "look" returns them as a table with tabs, "read" ends that and returns them
 * with the full scans of H2's plans.
 */
final class H2Statements extends Thread {
    private static final String COLUMNS = "statement\tcount\ttotal_ms\tlongest_ms";
    private static final String SCANS = "\tcount_without_index";
    /** H2 keeps 100 statements, and forgets the oldest ones; KillBill has more. */
    private static final int STATEMENTS_MOST = 2000;
    /** A client sends its line at once. */
    private static final int ORDER_MS = 10_000;
    private static final String WEB_APPLICATION = "WebappClassLoader";

    private final ServerSocket socket;
    /** That of the web application; to find it stops all threads for a moment. */
    private Driver driver;

    private H2Statements(ServerSocket socket) {
        super("statements of H2");
        setDaemon(true);
        this.socket = socket;
    }

    /** Answers on a port of the loopback address until the JVM ends. */
    static void listen(int port) throws IOException {
        new H2Statements(new ServerSocket(port, 5, InetAddress.getLoopbackAddress())).start();
    }

    @Override
    public void run() {
        while (true) {
            try (Socket client = socket.accept()) {
                answer(client);
            } catch (IOException gone) {
                // The client has gone; the next one gets its answer.
            }
        }
    }

    private void answer(Socket client) throws IOException {
        client.setSoTimeout(ORDER_MS);
        InputStreamReader sent = new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8);
        PrintStream printed = new PrintStream(client.getOutputStream(), false, StandardCharsets.UTF_8);
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            String order = new BufferedReader(sent).readLine();
            if ("reset".equals(order)) {
                statement.execute("SET QUERY_STATISTICS 0");
                statement.execute("SET QUERY_STATISTICS_MAX_ENTRIES " + STATEMENTS_MOST);
                statement.execute("SET QUERY_STATISTICS 1");
                printed.println("reset");
            } else if ("look".equals(order)) {
                print(COLUMNS, rows(statement), printed);
            } else {
                List<String[]> rows = rows(statement);
                statement.execute("SET QUERY_STATISTICS 0");
                print(COLUMNS + SCANS, withScans(statement, rows), printed);
            }
        } catch (Exception problem) { // of any kind: a profiled run reports it, and KillBill continues
            printed.println("error: " + oneLine(String.valueOf(problem.getMessage())));
        }
        printed.flush();
    }

    private static void print(String columns, List<String[]> rows, PrintStream printed) {
        printed.println(columns);
        for (String[] row : rows) {
            printed.println(oneLine(row[0]) + "\t" + String.join("\t", List.of(row).subList(1, row.length)));
        }
    }

    /** Returns what H2 has summed up, without the questions of this class. */
    private static List<String[]> rows(Statement statement) throws SQLException {
        List<String[]> rows = new ArrayList<>();
        try (ResultSet found = statement.executeQuery(
                "SELECT SQL_STATEMENT, EXECUTION_COUNT, CUMULATIVE_EXECUTION_TIME, MAX_EXECUTION_TIME"
                        + " FROM INFORMATION_SCHEMA.QUERY_STATISTICS WHERE SQL_STATEMENT NOT LIKE 'SET %'"
                        + " AND SQL_STATEMENT NOT LIKE '%INFORMATION_SCHEMA.QUERY_STATISTICS%'")) {
            while (found.next()) {
                rows.add(new String[] {
                    found.getString(1), found.getString(2), found.getString(3), found.getString(4)
                });
            }
        }
        return rows;
    }

    private static List<String[]> withScans(Statement statement, List<String[]> rows) {
        List<String[]> found = new ArrayList<>();
        for (String[] row : rows) {
            found.add(new String[] {row[0], row[1], row[2], row[3], isFullScan(statement, row[0]) ? row[1] : "0"});
        }
        return found;
    }

    /** Returns whether H2's plan of a statement reads a whole table; false for what has no plan. */
    private static boolean isFullScan(Statement statement, String sql) {
        try (ResultSet plan = statement.executeQuery("EXPLAIN " + sql)) {
            return plan.next() && plan.getString(1).contains(".tableScan */");
        } catch (SQLException noPlan) {
            return false;
        }
    }

    /** Returns a connection of KillBill's own driver: another one would open the file a second time. */
    private Connection connect() throws IOException, ReflectiveOperationException, SQLException {
        Properties settings = new Properties();
        URI file = URI.create(System.getProperty("org.killbill.server.properties"));
        try (InputStream stream = new FileInputStream(Path.of(file).toFile())) {
            settings.load(stream);
        }
        Properties account = new Properties();
        account.setProperty("user", settings.getProperty("org.killbill.dao.user"));
        account.setProperty("password", settings.getProperty("org.killbill.dao.password"));
        if (driver == null) {
            Class<?> found = Class.forName("org.h2.Driver", true, loader());
            driver = (Driver) found.getDeclaredConstructor().newInstance();
        }
        return driver.connect(settings.getProperty("org.killbill.dao.url"), account);
    }

    /** Returns the loader of the web application, which the threads that it has started have. */
    private static ClassLoader loader() throws ClassNotFoundException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            ClassLoader loader = thread.getContextClassLoader();
            if (loader != null && loader.getClass().getName().contains(WEB_APPLICATION)) {
                return loader;
            }
        }
        throw new ClassNotFoundException("no thread of the web application is running");
    }

    private static String oneLine(String text) {
        return text.strip().replaceAll("\\s+", " ");
    }
}
