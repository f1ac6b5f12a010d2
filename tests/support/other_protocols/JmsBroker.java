import java.net.ServerSocket;
import org.apache.activemq.artemis.api.core.SimpleString;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;

/** Serves JMS on a free port, which it prints; when its input ends it prints how many messages its queue got. */
public class JmsBroker {
    public static void main(String[] arguments) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        ConfigurationImpl settings = new ConfigurationImpl();
        settings.setPersistenceEnabled(false).setSecurityEnabled(false).setJournalDirectory("journal");
        settings.addAcceptorConfiguration("tcp", "tcp://127.0.0.1:" + port);
        EmbeddedActiveMQ broker = new EmbeddedActiveMQ();
        broker.setConfiguration(settings);
        broker.start();
        System.out.println(port);
        System.in.read();
        var queue = broker.getActiveMQServer().locateQueue(SimpleString.toSimpleString("sale"));
        System.out.println(queue == null ? 0 : queue.getMessagesAdded());
        System.exit(0);
    }
}
