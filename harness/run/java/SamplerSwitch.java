import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * Lets JMeter's HTTP requests use the samplers of {@code -Dharness.sampler=FOLDER}, where their classes are: the lean one,
 * or with {@code -Dharness.lean=false} JMeter's own, which keeps credentials at their origin as the lean one does.
 *
 * The patched {@code HTTPSamplerProxy.sample} calls {@link #see} before it looks for its implementation. The samplers
 * need JMeter's classes, which this one, in the boot class path, does not see: a class loader below JMeter's has them.
 */
public final class SamplerSwitch {
    private static final String FOLDER = System.getProperty("harness.sampler", "");
    private static final boolean IS_LEAN = !"false".equals(System.getProperty("harness.lean"));
    private static final String PROXY = "org/apache/jmeter/protocol/http/sampler/HTTPSamplerProxy";
    private static final String CHAIN = "org/apache/http/impl/execchain/";
    private static final String REQUEST = "Lorg/apache/http/client/methods/HttpRequestWrapper;";
    private static final String ELEMENT = "org/apache/jmeter/testelement/AbstractTestElement";
    private static volatile boolean isOn = !FOLDER.isEmpty();
    private static volatile boolean isReady;
    /** The class of the first sampler, which knows JMeter's class loader. */
    private static volatile Class<?> proxyClass;

    private SamplerSwitch() {}

    /** Patches the sampler when it is loaded. */
    static void install(Instrumentation instrumentation) {
        if (isOn) {
            MethodPatch patch =
                    new MethodPatch("sample", MethodPatch.THIS, false, "SamplerSwitch", "see", "Ljava/lang/Object;");
            patch.install(instrumentation, PROXY, "JMeter's own HTTP sampler is used: it cannot be patched");
            String consequence = "credentials follow redirects to other hosts: HttpClient cannot be patched";
            new MethodPatch("execute", REQUEST, false, "SamplerSwitch", "begin", "Ljava/lang/Object;")
                    .install(instrumentation, CHAIN + "RedirectExec", consequence);
            new MethodPatch("execute", REQUEST, false, "SamplerSwitch", "hop", "Ljava/lang/Object;")
                    .install(instrumentation, CHAIN + "ProtocolExec", consequence);
        }
        if (isOn && IS_LEAN) {
            MethodPatch.instead("recoverRunningVersion", "SamplerSwitch", "isRecovered")
                    .install(instrumentation, ELEMENT, "properties are recovered as JMeter does: it cannot be patched");
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final ClassLoader LOADER;
        static final VarHandle IMPLEMENTATION;
        static final MethodHandle CREATE;
        static final MethodHandle IS_RECOVERED;
        static final MethodHandle BEGIN;
        static final MethodHandle HOP;

        static {
            try {
                Class<?> type = Class.forName(
                        "org.apache.jmeter.protocol.http.sampler.HTTPAbstractImpl", true, proxyClass.getClassLoader());
                IMPLEMENTATION = MethodHandles.privateLookupIn(proxyClass, MethodHandles.lookup())
                        .findVarHandle(proxyClass, "impl", type)
                        .withInvokeBehavior();
                LOADER = new URLClassLoader(
                        new URL[] {Path.of(FOLDER).toUri().toURL()}, proxyClass.getClassLoader());
                Class<?> sampler = Class.forName("harness.sampler.OwnSampler", true, LOADER);
                CREATE = MethodHandles.publicLookup()
                        .unreflect(sampler.getMethod("create", Object.class, boolean.class))
                        .asType(MethodType.methodType(Object.class, Object.class, boolean.class));
                Class<?> origin = Class.forName("harness.sampler.Origin", true, LOADER);
                BEGIN = MethodHandles.publicLookup().unreflect(origin.getMethod("begin", Object.class));
                HOP = MethodHandles.publicLookup().unreflect(origin.getMethod("hop", Object.class));
                Class<?> recovery = Class.forName("harness.sampler.Recovery", true, LOADER);
                IS_RECOVERED = MethodHandles.publicLookup()
                        .unreflect(recovery.getMethod("isDone", Object.class));
            } catch (ReflectiveOperationException | java.net.MalformedURLException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** Called by the patched method for each request; it never throws. */
    public static void see(Object proxy) {
        if (!isOn) {
            return;
        }
        try {
            if (proxyClass == null) {
                proxyClass = proxy.getClass();
            }
            if ((Object) Access.IMPLEMENTATION.get(proxy) == null) {
                isReady = true;
                Object implementation = (Object) Access.CREATE.invokeExact(proxy, IS_LEAN);
                if (implementation != null) {
                    Access.IMPLEMENTATION.set(proxy, implementation);
                }
            }
        } catch (VirtualMachineError error) {
            throw error;
        } catch (Throwable error) {
            isOn = false;
            Throwable cause = error.getCause() == null ? error : error.getCause();
            System.err.println("JMeter's own HTTP sampler is used: " + cause);
        }
    }

    /** Returns a class of the samplers, with the class loader of JMeter's classes. */
    static Class<?> own(String name, ClassLoader jmeters) throws ClassNotFoundException {
        if (!isOn) {
            throw new ClassNotFoundException("this JMeter uses its own HTTP sampler");
        }
        if (proxyClass == null) {
            proxyClass = Class.forName(PROXY.replace('/', '.'), false, jmeters);
        }
        return Class.forName(name, true, Access.LOADER);
    }

    /** Called by each element of the plan that is about to recover its properties after a sample: whether it is done. */
    public static boolean isRecovered(Object element) {
        try {
            return isReady && (boolean) Access.IS_RECOVERED.invokeExact(element);
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    /** Called before HttpClient sends a request and follows its redirects. */
    public static void begin(Object request) {
        if (isReady) {
            call(Access.BEGIN, request);
        }
    }

    /** Called before HttpClient sends each of them. */
    public static void hop(Object request) {
        if (isReady) {
            call(Access.HOP, request);
        }
    }

    private static void call(MethodHandle method, Object request) {
        try {
            method.invokeExact(request);
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }
}
