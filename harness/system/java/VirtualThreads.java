import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Reads the waits of virtual threads out of thread dumps: neither async-profiler nor, since Java 24, a flight recording has
 * them. harness/system/dumps_files.py writes the file.
 */
final class VirtualThreads {
    static final String NAME = "(virtual threads)";
    private static final long NS_PER_US = 1_000, US_PER_S = 1_000_000;
    private static final Pattern LINE = Pattern.compile("\\([^()]*\\)$");
    private static final Pattern NUMBER = Pattern.compile("\\d+");

    /** The stack of a thread: its methods, the innermost first, and the class of what it waits for, "" if not known. */
    private record Stack(List<String> methods, String blocker, boolean isMonitor) { }

    private final Sums sums;
    private final ThreadTimes times;
    private final Map<String, Stack> stacks = new HashMap<>();
    private String header = "0\t0\t0\tthey were not sampled";

    VirtualThreads(Sums sums, ThreadTimes times) {
        this.sums = sums;
        this.times = times;
    }

    /**
     * Adds what a file of samples has, "" for none; returns its line about them: the most at a time, interval, cost,
     * problem.
     */
    String read(String path) throws IOException {
        if (!path.isEmpty()) {
            readLines(Path.of(path));
        }
        String[] parts = header.split("\t", 2);
        return Math.max(Integer.parseInt(parts[0]), times.printLives()) + "\t" + parts[1];
    }

    private void readLines(Path path) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(path)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] parts = line.split("\t", -1);
                switch (parts[0]) {
                    case "S" -> stacks.put(parts[1], stack(parts[2].split(";")));
                    case "T" -> thread(parts);
                    case "A" -> times.dumped(Long.parseLong(parts[1]));
                    case "V" -> header = line.substring(2);
                    default -> { }
                }
            }
        }
    }

    private static Stack stack(String[] lines) {
        List<String> methods = new ArrayList<>();
        String blocker = "";
        boolean isMonitor = false;
        for (String line : lines) {
            if (line.startsWith("- ")) {
                int open = line.indexOf('<'), at = line.indexOf('@');
                if (blocker.isEmpty() && open > 0 && at > open && !line.startsWith("- locked")) {
                    blocker = line.substring(open + 1, at);
                    isMonitor = line.startsWith("- waiting to lock");
                }
            } else {
                String frame = LINE.matcher(line).replaceAll("");
                frame = frame.substring(frame.lastIndexOf('/') + 1); // without loader and module
                int dot = frame.lastIndexOf('.');
                methods.add(dot < 0 ? frame : Names.plain(frame.substring(0, dot)) + frame.substring(dot));
            }
        }
        return new Stack(methods, blocker.isEmpty() ? called(methods) : blocker, isMonitor);
    }

    /** Returns the class of java.util.concurrent that a program called to wait, "" for none: Java 21 dumps no other. */
    private static String called(List<String> methods) {
        return methods.stream().takeWhile(method -> !Waits.isOwn(method))
                .filter(method -> method.startsWith("java.util.concurrent."))
                .map(method -> method.substring(0, method.lastIndexOf('.')))
                .filter(name -> !name.equals("java.util.concurrent.locks.LockSupport"))
                .reduce("", (inner, outer) -> outer);
    }

    /** One line is what a thread did in some dumps after one another: T thread name state stack first_us last_us. */
    private void thread(String[] parts) {
        Stack stack = stacks.get(parts[4]);
        if (stack == null || stack.methods.isEmpty()) {
            return;
        }
        long thread = Long.parseLong(parts[1]), startUs = Long.parseLong(parts[5]), endUs = Long.parseLong(parts[6]);
        String pool = parts[2].isEmpty() ? NAME : Names.clean(NUMBER.matcher(parts[2]).replaceAll("*"));
        boolean isWaiting = stack.isMonitor || isParked(stack.methods);
        String kind = isWaiting ? Waits.kind(stack.methods, stack.blocker, stack.isMonitor ? Waits.LOCK : "") : "";
        String place = Waits.place(stack.methods);
        List<String> without = stack.methods.stream().dropWhile(VirtualThreads::isOfParking).toList();
        String state = kind.isEmpty() ? "run" : kind.equals(Waits.IDLE) ? "idle" : "wait";
        int frames = state.equals("wait") ? sums.stack(List.of(without.isEmpty() ? "" : without.get(0), place)) : Sums.NO_STACK;
        var wait = new Waits(kind, stack.blocker, "", pool, without);
        String seen = kind.isEmpty() ? "run" : kind;
        boolean isNew = times.sampled(thread, pool, seen, wait.name(), startUs, endUs - startUs) && !kind.isEmpty();
        for (long us = startUs; us < endUs; us = (us / US_PER_S + 1) * US_PER_S) {
            long second = us / US_PER_S, ns = (Math.min(endUs, (second + 1) * US_PER_S) - us) * NS_PER_US;
            sums.add("thread", second, frames, pool, state, 1, ns, 0);
            sums.add("pool", second, Sums.NO_STACK, pool, "", 0, ns, 0);
            if (isNew) {
                wait.addTo(sums, second, us == startUs ? 1 : 0, ns, (endUs - startUs) * NS_PER_US);
            }
        }
    }

    /** Whether a virtual thread has no carrier. Where it blocks its carrier, the flight recording has the wait. */
    private static boolean isParked(List<String> methods) {
        String first = methods.get(0);
        return first.startsWith("java.lang.VirtualThread.") && !first.endsWith(".run") && !first.endsWith("parkOnCarrierThread")
                || first.startsWith("jdk.internal.vm.Continuation.");
    }

    private static boolean isOfParking(String method) {
        return method.startsWith("java.lang.VirtualThread.") || method.startsWith("java.lang.System$")
                || method.startsWith("jdk.internal.vm.Continuation.") || method.startsWith("java.util.concurrent.locks.LockSupport.");
    }
}
