import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;

/** Serves Kafka on a free port, which it prints; when its input ends it prints how many messages its topic has. */
public class KafkaBroker {
    public static void main(String[] arguments) throws Exception {
        int port = freePort();
        int controller = freePort();
        Properties settings = new Properties();
        settings.put("process.roles", "broker,controller");
        settings.put("node.id", "1");
        settings.put("controller.quorum.voters", "1@127.0.0.1:" + controller);
        settings.put("controller.listener.names", "CONTROLLER");
        settings.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT");
        settings.put("listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controller);
        settings.put("log.dirs", Path.of("kafka-log").toAbsolutePath().toString());
        try (var file = Files.newBufferedWriter(Path.of("server.properties"))) {
            settings.store(file, null);
        }
        StorageTool.execute(
            new String[] {"format", "-t", Uuid.randomUuid().toString(), "-c", "server.properties"}, System.err);
        KafkaRaftServer broker = new KafkaRaftServer(new KafkaConfig(settings), Time.SYSTEM);
        broker.startup();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", "127.0.0.1:" + port))) {
            admin.createTopics(List.of(new NewTopic("sale", 1, (short) 1))).all().get();
            System.out.println(port);
            System.in.read();
            TopicPartition sale = new TopicPartition("sale", 0);
            System.out.println(admin.listOffsets(Map.of(sale, OffsetSpec.latest())).partitionResult(sale).get().offset());
        }
        Runtime.getRuntime().halt(0);
    }

    private static int freePort() throws java.io.IOException {
        try (ServerSocket free = new ServerSocket(0)) {
            return free.getLocalPort();
        }
    }
}
