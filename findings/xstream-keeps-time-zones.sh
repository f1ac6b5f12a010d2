#!/usr/bin/env bash
# Question: how much memory does XStream, with which JMeter reads plans, keep before it has read anything?
# Guess: less than 100 KB: a few classes.
# Seen: 3.9 MB and 0.1 to 0.2 s, with the first use of its class JVM. That tries whether Java can parse the date "UTC",
# and for this Java loads the names of all time zones, and keeps them.
# Since: seen with XStream 1.4.20 (that of JMeter 5.6.3) and 1.4.21, on Java 17.
# A user notices: each start of JMeter takes that much longer, and each heap is that much fuller.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>zones</artifactId><version>1</version><dependencies>
<dependency><groupId>com.thoughtworks.xstream</groupId><artifactId>xstream</artifactId><version>1.4.21</version></dependency>
</dependencies></project>
XML
mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
cat >Zones.java <<'JAVA'
class Zones {
    static long usedKb() throws InterruptedException {
        for (int i = 0; i < 4; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return (Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()) / 1024;
    }

    public static void main(String[] arguments) throws Exception {
        new java.text.SimpleDateFormat("yyyy").format(new java.util.Date()); // formats of dates are there
        long before = usedKb(), beganNs = System.nanoTime();
        Class.forName("com.thoughtworks.xstream.core.JVM");
        long ms = (System.nanoTime() - beganNs) / 1_000_000, kept = usedKb() - before;
        System.out.printf("XStream 1.4.21: the first use of its class JVM takes %d ms and keeps %,d KB%n", ms, kept);
        System.exit(kept > 2_000 ? 0 : 1);
    }
}
JAVA
java -cp 'jars/*' Zones.java 2>/dev/null || { echo "CHANGED: it keeps less than 2 MB"; exit 1; }
