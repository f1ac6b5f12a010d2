#!/usr/bin/env bash
# Question: a JTL has 10,000 requests of 1,000 ms and then 30,000 of 100 ms. What are p90 and p99 in JMeter's dashboard?
# Guess: 1,000 ms both: a quarter of the requests took that long.
# Seen: 100 ms both, beside the average of 325 ms and the maximum of 1,000 ms: percentiles are of the last 20,000 samples
# of a label (jmeter.reportgenerator.statistic_window); average, count and maximum are of all.
# Since: seen with JMeter 5.6.3, `jmeter -g`.
# A user notices: a slow beginning is in no percentile of a long run, the less so the longer it was.
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
    for number in range(40_000):
        elapsed = 1000 if number < 10_000 else 100
        print(f"{1_700_000_000_000 + number * 10},{elapsed},page,200,OK,g 1-1,text,true,,10,10,1,1,null,1,0,0", file=rows)
PY
java -Djava.awt.headless=true -jar jmeter/bin/ApacheJMeter.jar -g run.jtl -o dashboard >log.txt 2>&1
python3 - <<'PY'
import json
import sys

page = json.load(open("dashboard/statistics.json"))["page"]
seen = [round(page[name]) for name in ("sampleCount", "meanResTime", "pct1ResTime", "pct3ResTime", "maxResTime")]
print("JMeter 5.6.3, dashboard: count, average, p90, p99, maximum:", *seen)
sys.exit(0 if seen == [40000, 325, 100, 100, 1000] else "CHANGED: other figures")
PY
