#!/usr/bin/env bash
# Question: are the minimum and the maximum of a DDSketch those of the data?
# Guess: yes; the sketch stores both.
# Seen: five times 101 ms and once 1,000 ms: quantile 0 is 100.49 and quantile 1 is 1002.43, the middles of their
# buckets, in Python and in Node.js alike. The exact ones are stored, but no quantile is limited to them.
# Since: seen with ddsketch 3.0.1 (PyPI) and @datadog/sketches-js 2.1.1 (npm; Artillery counts with a copy of it).
# A user notices: a p100, or a p99 of few requests, greater than the maximum in the same table; a goal "p100 <= 1000"
# fails though no request was slower.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet ddsketch==3.0.1
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @datadog/sketches-js@2.1.1
node=$(node -e '
const { DDSketch } = require("@datadog/sketches-js");
const sketch = new DDSketch();
for (const value of [101, 101, 101, 101, 101, 1000]) sketch.accept(value);
console.log(sketch.getValueAtQuantile(0).toFixed(2), sketch.getValueAtQuantile(1).toFixed(2), sketch.max);')
python=$(venv/bin/python - <<'PY'
from ddsketch import DDSketch

sketch = DDSketch()
for value in [101, 101, 101, 101, 101, 1000]:
    sketch.add(value)
print(f"{sketch.get_quantile_value(0):.2f} {sketch.get_quantile_value(1):.2f}")
PY
)
echo "data 101 to 1000; Python ddsketch 3.0.1: quantiles 0 and 1: $python"
echo "@datadog/sketches-js 2.1.1: quantiles 0 and 1, and its stored maximum: $node"
[ "$python" = "100.49 1002.43" ] && [ "$node" = "100.49 1002.43 1000" ] || { echo "CHANGED: other quantiles"; exit 1; }
