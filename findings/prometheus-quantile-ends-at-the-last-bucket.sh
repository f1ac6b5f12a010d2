#!/usr/bin/env bash
# Question: each of 600 requests took 60 s, and the last bucket of the histogram is 10 s, as by default in most clients of
# Prometheus. What is histogram_quantile(0.5, …), what is p99?
# Guess: 60 s, or infinity, or no number; the histogram does not know.
# Seen: 10 s, both: what is in the last bucket is as long as its lower end. The average, sum by count, is 60 s.
# Since: seen with promtool 2.42.0 (of Debian 12, whose archive has one version at a time).
# A user notices: a dashboard on which response times stop at 10 s in an overload, and a p99 below the average.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download prometheus
dpkg -x prometheus_*.deb .
cat >test.yml <<'YAML'
rule_files: []
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {series: 'time_bucket{le="5"}', values: "0+0x8"}
      - {series: 'time_bucket{le="10"}', values: "0+0x8"}
      - {series: 'time_bucket{le="+Inf"}', values: "0+75x8"}
      - {series: time_count, values: "0+75x8"}
      - {series: time_sum, values: "0+4500x8"}
    promql_expr_test:
      - {expr: "histogram_quantile(0.5, rate(time_bucket[2m]))", eval_time: 2m, exp_samples: [{labels: "{}", value: 10}]}
      - {expr: "histogram_quantile(0.99, rate(time_bucket[2m]))", eval_time: 2m, exp_samples: [{labels: "{}", value: 10}]}
      - {expr: "rate(time_sum[2m]) / rate(time_count[2m])", eval_time: 2m, exp_samples: [{labels: "{}", value: 60}]}
YAML
usr/bin/promtool --version 2>&1 | sed -n 1p
usr/bin/promtool test rules test.yml >result.txt 2>&1 || { cat result.txt; echo "CHANGED: not 10, 10 and 60"; exit 1; }
echo "600 requests of 60 s, last bucket 10 s: p50 10 s, p99 10 s, average 60 s"
