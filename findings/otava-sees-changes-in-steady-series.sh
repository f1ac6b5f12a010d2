#!/usr/bin/env bash
# Question: in how many of 200 series of 60 nights, in which nothing changed, does Apache Otava see a change with its
# defaults (p value 0.001)?
# Guess: none, or one.
# Seen: in 9 with independent nights, since the p value is that of the best of all places; in 128 when nights resemble
# those before them (AR(1) with 0.6), as nights of one machine do.
# Since: seen with apache-otava 0.8.0 (PyPI).
# A user notices: a page of changes that nobody made.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet apache-otava==0.8.0
venv/bin/python - <<'PY'
import random
import sys

from otava.series import AnalysisOptions, Metric, Series

random.seed(1)


def nights(resemblance: float) -> list[float]:
    values, scatter = [], 0.0
    for _ in range(60):
        scatter = resemblance * scatter + random.gauss(0, (1 - resemblance**2) ** 0.5)
        values.append(100 + 3 * scatter)
    return values


def is_changed(values: list[float]) -> bool:
    times = list(range(len(values)))
    series = Series("night", None, times, {"p95": Metric(1, 1.0)}, {"p95": values}, {})
    return bool(series.analyze(AnalysisOptions()).change_points.get("p95"))


independent, alike = (sum(is_changed(nights(resemblance)) for _ in range(200)) for resemblance in (0, 0.6))
print("apache-otava 0.8.0, p value", AnalysisOptions().max_pvalue)
print(f"a change in {independent} of 200 series of independent nights, in {alike} of 200 of nights that resemble each other")
sys.exit(0 if independent >= 3 and alike >= 60 else "CHANGED: fewer")
PY
