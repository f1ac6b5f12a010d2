import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.jmeter.util.JMeterUtils;

/** Loads the JMeter properties that its RMI needs; this must happen before its class RmiUtils is loaded. */
final class Settings {
    private Settings() {}

    /** Loads the properties of a JMeter home; those of the key store override them. */
    static void load(Path home, Path keys) throws IOException {
        JMeterUtils.setJMeterHome(home.toString());
        JMeterUtils.loadJMeterProperties(home.resolve("bin/jmeter.properties").toString());
        try (InputStream stream = Files.newInputStream(keys)) {
            JMeterUtils.getJMeterProperties().load(stream);
        }
    }
}
