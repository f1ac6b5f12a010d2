#!/usr/bin/env bash
# Question: 990 requests of 20 ms and 10 of 0.9 s are recorded in a histogram of OpenTelemetry with the unit "s". What is
# the p50 that a back-end can compute from its buckets?
# Guess: about 20 ms; the defaults fit the unit that the conventions demand for http.server.request.duration.
# Seen: about 2.5 s. The default bounds are 5, 10, 25 … 10000 for every unit, so all requests are in one bucket, 0 to 5 s;
# interpolation makes a p50 of 2.5 s and a p99 of 4.95 s of it.
# Since: seen with opentelemetry-sdk 1.45.2 (PyPI) and @opentelemetry/sdk-metrics 2.2.0 (npm).
# A user notices: dashboards show 2.5 s for a service that answers in 20 ms, and show the same when it is ten times slower.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet opentelemetry-sdk==1.45.2
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @opentelemetry/sdk-metrics@2.2.0 @opentelemetry/api@1.9.0
node=$(node -e '
const { MeterProvider, InMemoryMetricExporter, PeriodicExportingMetricReader } = require("@opentelemetry/sdk-metrics");
const exporter = new InMemoryMetricExporter(0);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3600000 });
const provider = new MeterProvider({ readers: [reader] });
const histogram = provider.getMeter("m").createHistogram("http.server.request.duration", { unit: "s" });
for (let i = 0; i < 1000; i++) histogram.record(i < 990 ? 0.02 : 0.9);
provider.forceFlush().then(() => {
  const point = exporter.getMetrics()[0].scopeMetrics[0].metrics[0].dataPoints[0].value;
  console.log(point.buckets.boundaries[1], point.buckets.counts[1]);
  return provider.shutdown();
});')
echo "@opentelemetry/sdk-metrics 2.2.0: the bucket up to 5 s has: ${node#* } of 1000"
python=$(venv/bin/python - <<'PY'
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

reader = InMemoryMetricReader()
histogram = MeterProvider([reader]).get_meter("m").create_histogram("http.server.request.duration", unit="s")
for number in range(1000):
    histogram.record(0.02 if number < 990 else 0.9)
point = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics[0].data.data_points[0]
print(point.explicit_bounds[1], point.bucket_counts[1])
PY
)
echo "opentelemetry-sdk 1.45.2: the bucket up to 5 s has: ${python#* } of 1000"
[ "$node, $python" = "5 1000, 5.0 1000" ] || { echo "CHANGED: other bounds ($node, $python)"; exit 1; }
