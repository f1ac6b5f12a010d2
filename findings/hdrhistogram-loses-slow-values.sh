#!/usr/bin/env bash
# Question: what does HdrHistogram do with a value above its highest trackable value?
# Guess: it refuses it with an error, in every language.
# Seen: Java throws. Python returns False, counts nothing and says nothing: of 98 times 5 ms and twice 60 s in a
# histogram up to 30 s, 98 values are left and the p100 is 5 ms. Node.js grows and counts all.
# Since: seen with hdrhistogram 0.10.8 (PyPI), hdr-histogram-js 3.0.1 (npm), HdrHistogram 2.2.2 (Maven).
# A user notices: just the timeouts are missing, so the worst run has the best percentiles.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet hdrhistogram==0.10.8
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund hdr-histogram-js@3.0.1
mvn -q -B -Dstyle.color=never dependency:copy -Dartifact=org.hdrhistogram:HdrHistogram:2.2.2 -DoutputDirectory=jars >/dev/null
python=$(venv/bin/python - <<'PY'
from hdrh.histogram import HdrHistogram

histogram = HdrHistogram(1, 30_000, 3)
for value in [5] * 98 + [60_000] * 2:
    histogram.record_value(value)
print(histogram.get_total_count(), histogram.get_value_at_percentile(100))
PY
)
node=$(node -e '
const histogram = require("hdr-histogram-js").build({ highestTrackableValue: 30000, numberOfSignificantValueDigits: 3 });
for (let i = 0; i < 100; i++) histogram.recordValue(i < 98 ? 5 : 60000);
console.log(histogram.totalCount, histogram.getValueAtPercentile(100) >= 60000);')
cat >Late.java <<'JAVA'
class Late {
    public static void main(String[] arguments) {
        try {
            new org.HdrHistogram.Histogram(1, 30_000, 3).recordValue(60_000);
            System.out.println("recorded");
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println("refused");
        }
    }
}
JAVA
java=$(java -cp 'jars/*' Late.java)
echo "98 times 5 ms and twice 60 s, up to 30 s: Python: count and p100: $python; Node.js: count, p100 >= 60 s: $node"
echo "Java: $java"
[ "$python|$node|$java" = "98 5|100 true|refused" ] || { echo "CHANGED: not 98 5, 100 true, refused"; exit 1; }
