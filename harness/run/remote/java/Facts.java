import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.jmeter.util.JMeterUtils;

/** Reads the facts about a JMeter installation: its versions, and the jars that a plan can need. */
final class Facts {
    private static final int DIGEST_LENGTH = 12;

    private Facts() {}

    /** Returns protocol, versions and {@code jar <name>}: the start of the hash for a jar in lib/ext, "" for one in lib. */
    static Map<String, String> of(Path home) throws IOException {
        Map<String, String> facts = new TreeMap<>();
        facts.put("protocol", Generator.PROTOCOL);
        facts.put("java", System.getProperty("java.version"));
        facts.put("jmeter", JMeterUtils.getJMeterVersion());
        for (Path jar : jars(home.resolve("lib"))) {
            facts.put("jar lib/" + jar.getFileName(), "");
        }
        for (Path jar : jars(home.resolve("lib/ext"))) {
            facts.put("jar lib/ext/" + jar.getFileName(), digest(jar));
        }
        return facts;
    }

    private static List<Path> jars(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".jar")).toList();
        }
    }

    private static String digest(Path jar) throws IOException {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(jar));
            return HexFormat.of().formatHex(hash).substring(0, DIGEST_LENGTH);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // every JDK has it
        }
    }
}
