import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import org.h2.tools.Server;

/** Serves a database in memory on a free port, which it prints; when its input ends it prints the rows of the table. */
public class H2Server {
    public static void main(String[] arguments) throws Exception {
        try (Connection own = DriverManager.getConnection("jdbc:h2:mem:shop", "sa", "")) {
            own.createStatement().execute("create table sale(n int)");
            Server server = Server.createTcpServer("-tcpPort", "0", "-ifNotExists").start();
            System.out.println(server.getPort());
            System.in.read();
            ResultSet rows = own.createStatement().executeQuery("select count(*) from sale");
            rows.next();
            System.out.println(rows.getInt(1));
        }
        System.exit(0);
    }
}
