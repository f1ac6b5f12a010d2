package harness.sampler;

import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.jmeter.assertions.ResponseAssertion;
import org.apache.jmeter.config.ConfigTestElement;
import org.apache.jmeter.control.Controller;
import org.apache.jmeter.control.GenericController;
import org.apache.jmeter.control.LoopController;
import org.apache.jmeter.control.OnceOnlyController;
import org.apache.jmeter.control.TransactionController;
import org.apache.jmeter.engine.PreCompiler;
import org.apache.jmeter.engine.TreeCloner;
import org.apache.jmeter.engine.TurnElementsOn;
import org.apache.jmeter.extractor.BoundaryExtractor;
import org.apache.jmeter.extractor.RegexExtractor;
import org.apache.jmeter.extractor.json.jsonpath.JSONPostProcessor;
import org.apache.jmeter.protocol.http.control.CacheManager;
import org.apache.jmeter.protocol.http.control.CookieManager;
import org.apache.jmeter.protocol.http.control.HeaderManager;
import org.apache.jmeter.protocol.http.sampler.HTTPSamplerProxy;
import org.apache.jmeter.protocol.http.util.HTTPFileArg;
import org.apache.jmeter.reporters.ResultCollector;
import org.apache.jmeter.testelement.TestElement;
import org.apache.jmeter.testelement.property.CollectionProperty;
import org.apache.jmeter.testelement.property.JMeterProperty;
import org.apache.jmeter.testelement.property.PropertyIterator;
import org.apache.jmeter.testelement.property.StringProperty;
import org.apache.jmeter.testelement.property.TestElementProperty;
import org.apache.jmeter.threads.AbstractThreadGroup;
import org.apache.jmeter.threads.JMeterThread;
import org.apache.jmeter.threads.JMeterVariables;
import org.apache.jmeter.threads.ListenerNotifier;
import org.apache.jmeter.threads.PostThreadGroup;
import org.apache.jmeter.threads.SetupThreadGroup;
import org.apache.jmeter.threads.ThreadGroup;
import org.apache.jmeter.timers.ConstantTimer;
import org.apache.jmeter.timers.GaussianRandomTimer;
import org.apache.jmeter.timers.RandomTimer;
import org.apache.jmeter.timers.UniformRandomTimer;
import org.apache.jorphan.collections.HashTree;
import org.apache.jorphan.collections.ListedHashTree;

/**
 * A plan with requests like those of another one: their methods, headers, bodies, cookies, assertions and extractors.
 *
 * It has new elements of the {@link #KEPT} classes only, in the same order. Each variable or function in their texts is the
 * variable {@link #NAME}, so that no function runs; timers do not wait. Other controllers are plain ones, and other elements
 * are left out with all in them. The requests go to a port of the loopback interface, and rows to nowhere.
 */
final class WarmPlan {
    private static final String NAME = "warm_up";
    private static final String VARIABLE = "${" + NAME + "}";
    private static final String VALUE = "1";
    private static final String PREFIX = "HTTPSampler.";
    private static final Set<Class<?>> KEPT = Set.of(
            BoundaryExtractor.class, CacheManager.class, ConfigTestElement.class, ConstantTimer.class, CookieManager.class,
            GaussianRandomTimer.class, HeaderManager.class, HTTPSamplerProxy.class, JSONPostProcessor.class,
            OnceOnlyController.class, RegexExtractor.class, ResponseAssertion.class, TransactionController.class,
            UniformRandomTimer.class);
    /** What could lead a request to another address. */
    private static final List<String> OF_PROXY = List.of("proxyScheme", "proxyHost", "proxyPort", "ipSource");
    /** A plan has more than enough to compile in so many requests. */
    private static final int MOST_SAMPLERS = 50;
    private static final int MOST_ASSERTED = 2000;
    private static final int BODY = 300;
    private static final long DAY_MS = 86_400_000;

    private final ThreadGroup group = new ThreadGroup();
    private final ListedHashTree tree = new ListedHashTree();
    private final StringBuilder asserted = new StringBuilder();
    /** What replaces the address and the time limits of requests, by the ends of their properties' names. */
    private final Map<String, String> values;
    private int samplerCount;
    private boolean hasCookies;
    private boolean isScheduled;

    private WarmPlan(int port) {
        values = Map.of(
                "domain", "127.0.0.1", "port", Integer.toString(port), "protocol", "http",
                "connect_timeout", "60000", "response_timeout", "60000");
    }

    /** Returns the plan for a test of JMeter's engine; its requests go to this port. */
    static WarmPlan of(HashTree test, int port) throws ReflectiveOperationException {
        WarmPlan plan = new WarmPlan(port);
        LoopController loop = new LoopController();
        loop.setLoops(LoopController.INFINITE_LOOP_COUNT);
        loop.setContinueForever(true);
        plan.group.setSamplerController(loop);
        plan.group.setName(NAME);
        HashTree children = plan.tree.add(plan.group);
        for (Object root : test.list()) {
            plan.add(test.getTree(root), children);
        }
        children.add(rowsToNowhere());
        plan.tree.traverse(new PreCompiler());
        plan.tree.traverse(new TurnElementsOn());
        return plan;
    }

    int samplerCount() {
        return samplerCount;
    }

    /** Returns a thread that sends the requests until it is stopped. */
    JMeterThread user(String name, int number) {
        TreeCloner cloner = new TreeCloner(true);
        tree.traverse(cloner);
        JMeterThread user = new JMeterThread(cloner.getClonedTree(), unused -> {}, new ListenerNotifier(), true);
        JMeterVariables variables = new JMeterVariables();
        variables.put(NAME, VALUE);
        values.forEach((ending, value) -> variables.put(NAME + ending, value));
        user.putVariables(variables);
        user.setThreadNum(number);
        user.setThreadName(name);
        user.setThreadGroup(group);
        if (isScheduled) {
            user.setScheduled(true);
            user.setStartTime(System.currentTimeMillis());
            user.setEndTime(user.getStartTime() + DAY_MS);
        }
        return user;
    }

    /** Returns the answer to each request: JSON with the texts that assertions look for. */
    byte[] answer() {
        String text = VALUE + " " + asserted.toString().replaceAll("[^ -~]|[\\\\\"]", " ");
        String body = "{\"" + NAME + "\": \"" + text + "x".repeat(Math.max(0, BODY - text.length())) + "\"}";
        String head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + body.length() + "\r\n"
                + (hasCookies ? "Set-Cookie: " + NAME + "=1\r\n" : "") + "\r\n";
        return (head + body).getBytes(StandardCharsets.ISO_8859_1);
    }

    private void add(HashTree from, HashTree to) throws ReflectiveOperationException {
        for (Object node : from.list()) {
            if (!(node instanceof TestElement element) || !element.isEnabled()) {
                continue;
            }
            boolean isGroup = isGroup(element);
            if (isGroup || element instanceof Controller && !KEPT.contains(element.getClass())) {
                isScheduled |= isGroup && element instanceof ThreadGroup one && one.getScheduler();
                if (isGroup || !(element instanceof AbstractThreadGroup)) {
                    add(from.getTree(node), to.add(new GenericController()));
                }
            } else if (KEPT.contains(element.getClass()) && !isOneTooMany(element)) {
                add(from.getTree(node), to.add(copy(element)));
            }
        }
    }

    private static boolean isGroup(TestElement element) {
        return element instanceof AbstractThreadGroup
                && !(element instanceof SetupThreadGroup)
                && !(element instanceof PostThreadGroup);
    }

    private boolean isOneTooMany(TestElement element) {
        return element instanceof HTTPSamplerProxy && ++samplerCount > MOST_SAMPLERS;
    }

    private TestElement copy(TestElement from) throws ReflectiveOperationException {
        TestElement to = plainCopy(from);
        if (to instanceof CookieManager cookies) {
            hasCookies = true;
            cookies.testStarted();
        } else if (to instanceof ResponseAssertion assertion) {
            note(assertion);
        } else if (to instanceof ConstantTimer || to instanceof RandomTimer) {
            to.setProperty(ConstantTimer.DELAY, "0");
            to.setProperty(RandomTimer.RANGE, "0");
        } else if (to instanceof HTTPSamplerProxy || to instanceof ConfigTestElement) {
            lead(from, to);
        }
        return to;
    }

    /** Has a request go to the server. */
    private void lead(TestElement from, TestElement to) {
        if (to instanceof HTTPSamplerProxy sampler) {
            sampler.setImageParser(false);
            sampler.setMD5(false);
            sampler.setHTTPFiles(new HTTPFileArg[0]);
        }
        for (String ending : OF_PROXY) {
            to.removeProperty(PREFIX + ending);
        }
        values.forEach((ending, value) -> {
            String given = from.getPropertyAsString(PREFIX + ending);
            if (!given.isEmpty()) {
                boolean isVariable = given.contains("${");
                to.setProperty(new StringProperty(PREFIX + ending, isVariable ? "${" + NAME + ending + "}" : value));
            }
        });
        if (to.getPropertyAsString(PREFIX + "path").contains(":")) { // it may be a whole URL
            to.setProperty(new StringProperty(PREFIX + "path", "/"));
        }
    }

    private void note(ResponseAssertion assertion) {
        boolean isPart = assertion.isTestFieldResponseData() && (assertion.isContainsType() || assertion.isSubstringType());
        PropertyIterator texts = assertion.getTestStrings().iterator();
        while (isPart && texts.hasNext() && asserted.length() < MOST_ASSERTED) {
            asserted.append(texts.next().getStringValue().replace(VARIABLE, VALUE)).append(' ');
        }
    }

    private static TestElement plainCopy(TestElement from) throws ReflectiveOperationException {
        TestElement to = from.getClass().getDeclaredConstructor().newInstance();
        for (PropertyIterator all = from.propertyIterator(); all.hasNext(); ) {
            to.setProperty(copy(all.next()));
        }
        return to;
    }

    private static JMeterProperty copy(JMeterProperty from) throws ReflectiveOperationException {
        if (from instanceof CollectionProperty many) {
            List<JMeterProperty> copies = new ArrayList<>();
            for (PropertyIterator all = many.iterator(); all.hasNext(); ) {
                copies.add(copy(all.next()));
            }
            return new CollectionProperty(from.getName(), copies);
        }
        if (from instanceof TestElementProperty one) {
            return new TestElementProperty(from.getName(), plainCopy(one.getElement()));
        }
        String text = from instanceof StringProperty ? from.getStringValue() : "";
        return text != null && text.contains("${") ? new StringProperty(from.getName(), withoutFunctions(text)) : from.clone();
    }

    /** Returns a text in which each reference, from ${ to the } that ends it, is {@link #VARIABLE}. */
    static String withoutFunctions(String text) {
        StringBuilder plain = new StringBuilder();
        int depth = 0;
        for (int at = 0; at < text.length(); at++) {
            if (text.startsWith("${", at)) {
                if (depth++ == 0) {
                    plain.append(VARIABLE);
                }
                at++;
            } else if (depth == 0) {
                plain.append(text.charAt(at));
            } else if (text.charAt(at) == '}') {
                depth--;
            }
        }
        return plain.toString();
    }

    /** Returns JMeter's writer of rows, with a file that takes them and stores none. */
    private static ResultCollector rowsToNowhere() throws ReflectiveOperationException {
        ResultCollector rows = new ResultCollector();
        Field out = ResultCollector.class.getDeclaredField("out");
        out.setAccessible(true);
        OutputStream nowhere = new BufferedOutputStream(OutputStream.nullOutputStream());
        out.set(rows, new PrintWriter(new OutputStreamWriter(nowhere, StandardCharsets.UTF_8)));
        return rows;
    }
}
