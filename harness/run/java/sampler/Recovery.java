package harness.sampler;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.jmeter.testelement.AbstractTestElement;
import org.apache.jmeter.testelement.property.FunctionProperty;
import org.apache.jmeter.testelement.property.JMeterProperty;
import org.apache.jmeter.testelement.property.StringProperty;
import org.apache.jmeter.testelement.property.TestElementProperty;

/**
 * Recovers the properties of the plan's elements after a sample, as AbstractTestElement.recoverRunningVersion (5.6.3) does.
 *
 * That looks each property up among the temporary ones by its hash, which for an element as a value is that of all its
 * properties. Here such a value is compared first, without temporary properties nothing is looked up, and texts that did not
 * change are not written.
 */
public final class Recovery {
    private static final VarHandle PROPERTIES;
    private static final VarHandle TEMPORARY;
    /** Only elements of several threads have one: NoThreadClone and thread groups. */
    private static final VarHandle LOCK;
    private static final VarHandle TEXT;
    private static final VarHandle SAVED_TEXT;
    private static final VarHandle CACHED;
    private static final VarHandle OVERRIDDEN;

    static {
        PROPERTIES = field(AbstractTestElement.class, "propMap", Map.class);
        TEMPORARY = field(AbstractTestElement.class, "temporaryProperties", Set.class);
        LOCK = field(AbstractTestElement.class, "lock", ReentrantReadWriteLock.class);
        TEXT = field(StringProperty.class, "value", String.class);
        SAVED_TEXT = field(StringProperty.class, "savedValue", String.class);
        CACHED = field(FunctionProperty.class, "cacheValue", String.class);
        OVERRIDDEN = field(FunctionProperty.class, "overrideValue", String.class);
    }

    private static VarHandle field(Class<?> owner, String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup()).findVarHandle(owner, name, type);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private Recovery() {}

    /** Returns whether the element is recovered now; otherwise, as an element of several threads, it does that itself. */
    @SuppressWarnings("unchecked")
    public static boolean isDone(Object given) {
        AbstractTestElement element = (AbstractTestElement) given;
        if (LOCK.get(element) != null) {
            return false;
        }
        Set<JMeterProperty> temporary = (Set<JMeterProperty>) TEMPORARY.get(element);
        boolean isPlain = temporary == null || temporary.isEmpty();
        Iterator<JMeterProperty> properties = ((Map<String, JMeterProperty>) PROPERTIES.get(element)).values().iterator();
        while (properties.hasNext()) {
            JMeterProperty property = properties.next();
            if (!isPlain && isRemoved(property, temporary)) {
                properties.remove();
            } else if (!isUnchanged(property)) {
                property.recoverRunningVersion(element);
            }
        }
        if (!isPlain) {
            temporary.clear();
        }
        return true;
    }

    /**
     * Returns true for a text or a function that has the value to recover. Looking costs less than writing it: elements of
     * another user are in the processor's caches, and a written reference is one more for the garbage collector to look at.
     */
    private static boolean isUnchanged(JMeterProperty property) {
        if (property.getClass() == StringProperty.class) {
            return TEXT.get(property) == SAVED_TEXT.get(property);
        }
        return property.getClass() == FunctionProperty.class && CACHED.get(property) == null && OVERRIDDEN.get(property) == null;
    }

    /** Removes an equal property, and returns whether there was one that still has the hash with which it was added. */
    private static boolean isRemoved(JMeterProperty property, Set<JMeterProperty> temporary) {
        if (property.getClass() == TestElementProperty.class && !hasEqual(property, temporary)) {
            return false;
        }
        return temporary.remove(property);
    }

    private static boolean hasEqual(JMeterProperty property, Set<JMeterProperty> temporary) {
        for (JMeterProperty other : temporary) {
            if (other == property) {
                return true;
            }
        }
        for (JMeterProperty other : temporary) {
            if (property.equals(other)) {
                return true;
            }
        }
        return false;
    }
}
