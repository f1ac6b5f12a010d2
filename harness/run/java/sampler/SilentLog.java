package harness.sampler;

import java.util.HashMap;
import java.util.Map;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.LoggerConfig;

/**
 * Has JMeter log nothing until it is closed.
 *
 * It changes levels, as a filter would become a part of what Java compiles.
 */
final class SilentLog implements AutoCloseable {
    private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
    private final Map<LoggerConfig, Level> levels = new HashMap<>();

    SilentLog() {
        for (LoggerConfig one : context.getConfiguration().getLoggers().values()) {
            levels.put(one, one.getLevel());
        }
        levels.keySet().forEach(one -> one.setLevel(Level.OFF));
        context.updateLoggers();
    }

    @Override
    public void close() {
        levels.forEach(LoggerConfig::setLevel);
        context.updateLoggers();
    }
}
