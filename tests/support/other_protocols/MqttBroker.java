import io.moquette.broker.Server;
import io.moquette.broker.config.MemoryConfig;
import io.moquette.interception.AbstractInterceptHandler;
import io.moquette.interception.messages.InterceptPublishMessage;
import java.net.ServerSocket;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;

/** Serves MQTT on a free port, which it prints; when its input ends it prints how many messages it got. */
public class MqttBroker {
    public static void main(String[] arguments) throws Exception {
        String port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = String.valueOf(free.getLocalPort());
        }
        Properties settings = new Properties();
        settings.put("host", "127.0.0.1");
        settings.put("port", port);
        settings.put("allow_anonymous", "true");
        settings.put("persistence_enabled", "false");
        settings.put("telemetry_enabled", "false");
        AtomicInteger got = new AtomicInteger();
        Server broker = new Server();
        broker.startServer(new MemoryConfig(settings), List.of(new AbstractInterceptHandler() {
            @Override public String getID() { return "counter"; }
            @Override public void onPublish(InterceptPublishMessage message) {
                got.incrementAndGet();
                message.getPayload().release();
            }
            @Override public void onSessionLoopError(Throwable error) { }
        }));
        System.out.println(port);
        System.in.read();
        System.out.println(got.get());
        System.exit(0);
    }
}
