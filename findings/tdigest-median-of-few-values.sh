#!/usr/bin/env bash
# Question: what is the median of a t-digest of nine times 100 ms and once 1,000 ms?
# Guess: 100 ms, in every implementation; few values are kept exactly.
# Seen: 190 ms with tdigest for Python and for Node.js, which merge equal values and interpolate between the rest:
# nine of ten requests are faster than "half of them". 100 ms with fastdigest, but its p90 is 190 ms.
# Since: seen with tdigest 0.5.2.2 (PyPI), tdigest 0.1.3 (npm), fastdigest 0.12.0 (PyPI).
# A user notices: whole milliseconds repeat, so medians and p90 move towards the slow responses.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet tdigest==0.5.2.2 fastdigest==0.12.0
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund tdigest@0.1.3
node=$(node -e '
const { TDigest } = require("tdigest");
const digest = new TDigest();
for (const value of [...Array(9).fill(100), 1000]) digest.push(value);
console.log(Math.round(digest.percentile(0.5)));')
python=$(venv/bin/python - <<'PY'
from fastdigest import TDigest as Fast
from tdigest import TDigest

values = [100] * 9 + [1000]
digest = TDigest()
digest.batch_update(values)
fast = Fast.from_values(values)
print(round(digest.percentile(50)), round(fast.quantile(0.5)), round(fast.quantile(0.9)))
PY
)
echo "nine times 100 ms, once 1000 ms: median of npm tdigest 0.1.3: $node"
echo "medians of PyPI tdigest 0.5.2.2 and fastdigest 0.12.0, p90 of fastdigest: $python"
[ "$node $python" = "190 190 100 190" ] || { echo "CHANGED: not 190, and 190 100 190"; exit 1; }
