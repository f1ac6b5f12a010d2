package harness.sampler;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import org.apache.jmeter.engine.util.NoThreadClone;
import org.apache.jmeter.testelement.AbstractTestElement;
import org.apache.jmeter.testelement.property.JMeterProperty;
import org.apache.jmeter.threads.AbstractThreadGroup;

/**
 * Recovers the properties of the plan's elements after a sample: what AbstractTestElement.recoverRunningVersion (5.6.3) does
 * for an element without temporary properties. It looks each property up among the temporary ones, by its hash.
 */
public final class Recovery {
    private static final VarHandle PROPERTIES;
    private static final VarHandle TEMPORARY;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(AbstractTestElement.class, MethodHandles.lookup());
            PROPERTIES = lookup.findVarHandle(AbstractTestElement.class, "propMap", Map.class);
            TEMPORARY = lookup.findVarHandle(AbstractTestElement.class, "temporaryProperties", Set.class);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private Recovery() {}

    /** Returns whether the element is recovered now; otherwise it does that itself. */
    @SuppressWarnings("unchecked")
    public static boolean isDone(Object given) {
        AbstractTestElement element = (AbstractTestElement) given;
        if (element instanceof NoThreadClone || element instanceof AbstractThreadGroup) {
            return false;
        }
        Collection<JMeterProperty> temporary = (Collection<JMeterProperty>) TEMPORARY.get(element);
        if (temporary != null && !temporary.isEmpty()) {
            return false;
        }
        for (JMeterProperty property : ((Map<String, JMeterProperty>) PROPERTIES.get(element)).values()) {
            property.recoverRunningVersion(element);
        }
        return true;
    }
}
