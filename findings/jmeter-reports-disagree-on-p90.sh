#!/usr/bin/env bash
# Question: nine requests of 100 ms and one of 1,000 ms are in a JTL. What is the p90 in JMeter's Aggregate Report and in
# its dashboard?
# Guess: the same number in both, 100 ms.
# Seen: 100 ms in the Aggregate Report, which takes a value that was measured; 910 ms in the dashboard, which interpolates
# between the two largest. No request took that long.
# Since: seen with JMeter 5.6.3: StatCalculatorLong, which the Aggregate Report uses, and `jmeter -g`.
# A user notices: two pages of one tool about one file differ by a factor of nine where labels have few samples.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
python3 - <<'PY'
columns = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
with open("run.jtl", "w") as rows:
    print(columns, file=rows)
    for number in range(10):
        elapsed = 100 if number < 9 else 1000
        print(f"{1_700_000_000_000 + number * 2000},{elapsed},page,200,OK,g 1-1,text,true,,10,10,1,1,null,1,0,0", file=rows)
PY
java -Djava.awt.headless=true -jar jmeter/bin/ApacheJMeter.jar -g run.jtl -o dashboard >log.txt 2>&1
dashboard=$(python3 -c 'import json; print(round(json.load(open("dashboard/statistics.json"))["page"]["pct1ResTime"]))')
cat >Aggregate.java <<'JAVA'
import org.apache.jorphan.math.StatCalculatorLong;

class Aggregate {
    public static void main(String[] arguments) {
        var figures = new StatCalculatorLong();
        for (int i = 0; i < 10; i++) figures.addValue(i < 9 ? 100L : 1000L);
        System.out.println(figures.getPercentPoint(0.9));
    }
}
JAVA
aggregate=$(java -cp 'jmeter/lib/*' Aggregate.java)
echo "JMeter 5.6.3: p90 of the Aggregate Report: $aggregate ms, of the dashboard: $dashboard ms"
[ "$aggregate $dashboard" = "100 910" ] || { echo "CHANGED: not 100 and 910"; exit 1; }
