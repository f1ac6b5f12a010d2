import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.jmeter.util.JMeterUtils;

/** JMeter's properties, as far as its RMI needs them: they must be there before its class RmiUtils is loaded. */
final class Settings {
    private Settings() {}

    /** Load the properties of a JMeter home, and those of the key store above them. */
    static void load(Path home, Path keys) throws IOException {
        JMeterUtils.setJMeterHome(home.toString());
        JMeterUtils.loadJMeterProperties(home.resolve("bin/jmeter.properties").toString());
        try (InputStream stream = Files.newInputStream(keys)) {
            JMeterUtils.getJMeterProperties().load(stream);
        }
    }
}
