import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.rmi.server.RMISocketFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.catalina.startup.Bootstrap;

/**
 * Starts Tomcat with its RMI on the loopback address only. KillBill opens an RMI registry on port 1099 of every address
 * (JNDIManager), and a second KillBill would write into the registry of the first. Here each has a free loopback port
 * in place of 1099. Nothing of KillBill or Tomcat is changed.
 */
public final class LoopbackTomcat {
    public static void main(String[] arguments) throws IOException {
        RMISocketFactory.setSocketFactory(new LoopbackSockets());
        Integer statementsPort = Integer.getInteger("statements.port");
        if (statementsPort != null) {
            H2Statements.listen(statementsPort);
        }
        Bootstrap.main(arguments);
    }

    private static final class LoopbackSockets extends RMISocketFactory {
        private final Map<Integer, Integer> actualPorts = new ConcurrentHashMap<>();

        @Override
        public ServerSocket createServerSocket(int port) throws IOException {
            ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
            actualPorts.put(port, socket.getLocalPort());
            return socket;
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return new Socket(InetAddress.getLoopbackAddress(), actualPorts.getOrDefault(port, port));
        }
    }
}
