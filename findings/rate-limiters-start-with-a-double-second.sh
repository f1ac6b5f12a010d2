#!/usr/bin/env bash
# Question: how many calls do "10 per second" limiters let pass in their first second, used as the clock of a load test?
# Guess: 10.
# Seen: 19 with aiolimiter (a full bucket at once, and the second's ten after it), 20 with Guava's RateLimiter after a
# second without calls.
# Since: seen with aiolimiter 1.3.0 and Guava 33.8.0.
# A user notices: each start, and each pause of the system under test, is followed by a second of double load.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet aiolimiter==1.3.0
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>limiter</artifactId><version>1</version><dependencies>
<dependency><groupId>com.google.guava</groupId><artifactId>guava</artifactId><version>33.8.0-jre</version></dependency>
</dependencies></project>
XML
mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
python=$(venv/bin/python - <<'PY'
import asyncio
import time

from aiolimiter import AsyncLimiter


async def first_second() -> int:
    limiter, calls, end = AsyncLimiter(10, 1), 0, time.monotonic() + 1
    while True:
        await limiter.acquire()
        if time.monotonic() > end:
            return calls
        calls += 1


print(asyncio.run(first_second()))
PY
)
cat >Second.java <<'JAVA'
class Second {
    public static void main(String[] arguments) throws Exception {
        var limiter = com.google.common.util.concurrent.RateLimiter.create(10);
        Thread.sleep(1500);
        long end = System.nanoTime() + 1_000_000_000L;
        int calls = 0;
        while (true) {
            limiter.acquire();
            if (System.nanoTime() > end) break;
            calls++;
        }
        System.out.println(calls);
    }
}
JAVA
guava=$(java -cp 'jars/*' Second.java)
echo "calls in one second at 10 per second: aiolimiter 1.3.0: $python; Guava 33.8.0 after a pause: $guava"
[ "$python" -ge 17 ] && [ "$guava" -ge 17 ] || { echo "CHANGED: no longer about twice the rate"; exit 1; }
