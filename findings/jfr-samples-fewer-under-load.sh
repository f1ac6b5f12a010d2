#!/usr/bin/env bash
# Question: does JFR take the same number of execution samples for the same CPU time, whether one thread uses it or 20?
# Guess: yes, about; the samples are what a CPU profile is made of, so they are proportional to CPU time.
# Seen: no. On one CPU, one busy thread has about 80 samples per second of CPU, 20 busy threads have about 10: the
# sampling thread waits for the CPU like all others. jfr print says nothing about samples that are missing.
# Since: seen with Java 17 and 25 (jdk.CPUTimeSample of 25 is off by default).
# A user notices: the profile of the overloaded run, the one that matters, has an eighth of the samples; comparing
# counts of two runs says that a method became cheaper.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >Busy.java <<'JAVA'
import java.lang.management.ManagementFactory;

class Busy {
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        var threads = new Thread[Integer.parseInt(arguments[0])];
        long end = System.nanoTime() + 4_000_000_000L;
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                long value = 1;
                while (System.nanoTime() < end) {
                    for (int k = 0; k < 1000; k++) value = value * 31 + k;
                    sink = value;
                }
            });
            threads[i].start();
        }
        for (var thread : threads) thread.join();
        var system = ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class);
        System.out.println(system.getProcessCpuTime() / 1_000_000);
    }
}
JAVA
javac Busy.java
cpu=$(taskset --cpu-list --pid $$ | sed 's/.*: *//; s/[^0-9].*//')
measure() { # samples per second of CPU with $1 threads
    taskset --cpu-list "$cpu" java "-XX:StartFlightRecording=filename=$1.jfr,settings=profile" -Xlog:disable -cp . Busy "$1" >"$1.txt"
    samples=$(jfr summary "$1.jfr" | awk '$1 == "jdk.ExecutionSample" { print $2 }')
    echo $((samples * 1000 / $(tail -n 1 "$1.txt")))
}
one=$(measure 1)
many=$(measure 20)
echo "$(java --version | sed -n 1p): samples per second of CPU: $one with 1 thread, $many with 20 threads"
[ "$((many * 2))" -lt "$one" ] || { echo "CHANGED: the samples are nearly proportional to CPU time"; exit 1; }
