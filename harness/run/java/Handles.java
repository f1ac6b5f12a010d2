import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/** Methods of JMeter and its libraries, whose classes only their own class loader has: that of the thread that asks. */
final class Handles {
    private Handles() {}

    /** Returns a public method; the object that it is called on has the type Object. IllegalStateException without it. */
    static MethodHandle of(String type, String method, Class<?>... parameters) {
        try {
            return of(type(type), method, parameters);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    static MethodHandle of(Class<?> type, String method, Class<?>... parameters) throws ReflectiveOperationException {
        Method known = type.getMethod(method, parameters);
        MethodHandle found = MethodHandles.publicLookup().unreflect(known);
        return Modifier.isStatic(known.getModifiers())
                ? found
                : found.asType(found.type().changeParameterType(0, Object.class));
    }

    /** Returns a class by its name, with dots or slashes. */
    static Class<?> type(String name) throws ClassNotFoundException {
        return Class.forName(name.replace('/', '.'), true, Thread.currentThread().getContextClassLoader());
    }
}
