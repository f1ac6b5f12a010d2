#!/usr/bin/env bash
# Question: how near is Micrometer's p99 of 1,000 requests that all took 100 ms?
# Guess: within 1 %.
# Seen: 96.5 ms, and 973 ms for 1,000 ms: the percentiles of a Timer have one significant digit by default, and its
# median and p99 are below the fastest request. percentilePrecision(2) or (3) makes them near.
# Since: seen with Micrometer 1.14.4 and 1.17.2.
# A user notices: Spring Boot's p99 is some percent below the load test's; a goal compared with it passes too early.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>meter</artifactId><version>1</version><dependencies>
<dependency><groupId>io.micrometer</groupId><artifactId>micrometer-core</artifactId><version>1.17.2</version></dependency>
</dependencies></project>
XML
mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
cat >Near.java <<'JAVA'
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.concurrent.TimeUnit;

class Near {
    static double p99(int milliseconds, Integer digits) {
        var timer = Timer.builder("page").publishPercentiles(0.99).percentilePrecision(digits).register(new SimpleMeterRegistry());
        for (int i = 0; i < 1000; i++) timer.record(milliseconds, TimeUnit.MILLISECONDS);
        return timer.takeSnapshot().percentileValues()[0].value(TimeUnit.MILLISECONDS);
    }

    public static void main(String[] arguments) {
        double hundred = p99(100, null), thousand = p99(1000, null), precise = p99(100, 3);
        System.out.printf("Micrometer 1.17.2: all 100 ms: p99 %.1f; all 1000 ms: p99 %.1f; 100 ms with 3 digits: %.1f%n", hundred, thousand, precise);
        System.exit(hundred < 98 && thousand < 980 && Math.abs(precise - 100) < 0.5 ? 0 : 1);
    }
}
JAVA
java -cp 'jars/*' Near.java 2>/dev/null || { echo "CHANGED: the default is within 2 %"; exit 1; }
