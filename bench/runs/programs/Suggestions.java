import com.blazemeter.jmeter.correlation.core.automatic.CorrelationSuggestion;
import com.blazemeter.jmeter.correlation.core.automatic.ExtractionSuggestion;
import com.blazemeter.jmeter.correlation.core.automatic.ReplacementSuggestion;
import com.blazemeter.jmeter.correlation.core.suggestions.SuggestionGenerator;
import com.blazemeter.jmeter.correlation.core.suggestions.context.ComparisonContext;
import com.blazemeter.jmeter.correlation.core.suggestions.method.ComparisonMethod;
import org.apache.jmeter.util.JMeterUtils;

/**
 * Prints what BlazeMeter's Correlation Recorder suggests for pairs of XML JTLs, a recording and its replay, without its
 * window: a line per extractor or replacement, with the name, the label of the sample and the value, separated by tabs.
 *
 * <p>Arguments: the folder of JMeter, then recording and replay of each pair.
 */
public final class Suggestions {
    private Suggestions() {}

    public static void main(String[] arguments) throws java.io.IOException {
        JMeterUtils.setJMeterHome(arguments[0]);
        JMeterUtils.loadJMeterProperties(arguments[0] + "/bin/jmeter.properties");
        JMeterUtils.initLocale();
        org.apache.jmeter.save.SaveService.loadProperties();
        for (int at = 1; at + 1 < arguments.length; at += 2) {
            ComparisonContext context = new ComparisonContext();
            context.setRecordingTraceFilePath(arguments[at]);
            context.setReplayTraceFilePath(arguments[at + 1]);
            for (CorrelationSuggestion one : new SuggestionGenerator(new ComparisonMethod()).generateSuggestions(context)) {
                for (ExtractionSuggestion from : one.getExtractionSuggestions()) {
                    print(arguments[at], "extract", one, from.getSampleResult().getSampleLabel(), from.getValue());
                }
                for (ReplacementSuggestion to : one.getReplacementSuggestions()) {
                    print(arguments[at], "replace", one, to.getUsage().getName(), to.getValue());
                }
            }
        }
        System.exit(0);
    }

    private static void print(String file, String what, CorrelationSuggestion one, String label, String value) {
        System.out.println(String.join("\t", file, what, one.getParamName(), label, value.replaceAll("\\s", " ")));
    }
}
