#!/usr/bin/env bash
# Question: what is increase(errors_total[2m]) of a counter that appears with the first 40 errors, and stays at 40?
# Guess: 40; a counter that was not there was 0.
# Seen: 0. increase() and rate() know only differences of samples that exist; what a counter has when it appears is lost.
# Since: seen with promtool 2.42.0 (of Debian 12, whose archive has one version at a time).
# A user notices: a short burst of errors is in the report and not in the dashboard, and no alert rings. A program
# that exposes its counters with 0 from the start has the burst.
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
      - {series: appears, values: "_ _ _ _ 40 40 40 40 40"}
      - {series: exposed, values: "0 0 0 0 40 40 40 40 40"}
    promql_expr_test:
      - {expr: "increase(appears[2m])", eval_time: 2m, exp_samples: [{labels: "{}", value: 0}]}
      - {expr: "increase(exposed[2m])", eval_time: 2m, exp_samples: [{labels: "{}", value: 40}]}
YAML
usr/bin/promtool --version 2>&1 | sed -n 1p
usr/bin/promtool test rules test.yml >result.txt 2>&1 || { cat result.txt; echo "CHANGED: not 0 and 40"; exit 1; }
echo "40 errors: increase is 0 if the counter appears with them, and 40 if it was exposed as 0 before"
