package harness.sampler;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.jmeter.engine.util.NoThreadClone;
import org.apache.jmeter.testelement.AbstractTestElement;
import org.apache.jmeter.testelement.property.JMeterProperty;
import org.apache.jmeter.testelement.property.TestElementProperty;
import org.apache.jmeter.threads.AbstractThreadGroup;

/**
 * Recovers the properties of the plan's elements after a sample, as AbstractTestElement.recoverRunningVersion (5.6.3) does.
 *
 * That looks each property up among the temporary ones by its hash, which for an element as a value is that of all its
 * properties. Here such a value is compared first, and without temporary properties nothing is looked up.
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

    /** Returns whether the element is recovered now; otherwise, as an element of several threads, it does that itself. */
    @SuppressWarnings("unchecked")
    public static boolean isDone(Object given) {
        AbstractTestElement element = (AbstractTestElement) given;
        if (element instanceof NoThreadClone || element instanceof AbstractThreadGroup) {
            return false;
        }
        Set<JMeterProperty> temporary = (Set<JMeterProperty>) TEMPORARY.get(element);
        boolean isPlain = temporary == null || temporary.isEmpty();
        Iterator<JMeterProperty> properties = ((Map<String, JMeterProperty>) PROPERTIES.get(element)).values().iterator();
        while (properties.hasNext()) {
            JMeterProperty property = properties.next();
            if (!isPlain && isRemoved(property, temporary)) {
                properties.remove();
            } else {
                property.recoverRunningVersion(element);
            }
        }
        if (!isPlain) {
            temporary.clear();
        }
        return true;
    }

    /** Removes an equal property, and returns whether there was one that still has the hash with which it was added. */
    private static boolean isRemoved(JMeterProperty property, Set<JMeterProperty> temporary) {
        if (property.getClass() == TestElementProperty.class) {
            boolean isEqual = false;
            for (JMeterProperty other : temporary) {
                isEqual |= property.equals(other);
            }
            return isEqual && temporary.remove(property);
        }
        return temporary.remove(property);
    }
}
