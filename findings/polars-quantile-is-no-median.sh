#!/usr/bin/env bash
# Question: is quantile(0.5) of polars its median()?
# Guess: yes; both interpolate, as numpy and pandas do.
# Seen: no. quantile() takes the nearest value, median() the mean of two: of 100 ms and 200 ms they are 200 and 150.
# pandas says 150 for both; the p95 of 10, 20 … 100 ms is 100 in polars and 95.5 in pandas.
# Since: seen with polars 2.1.0 and pandas 3.1.1. quantile(p, interpolation="linear") is pandas' rule.
# A user notices: the same JTL has another p95 after a notebook was moved from pandas to polars.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet polars==2.1.0 pandas==3.1.1
"$work/venv/bin/python" - <<'PY'
import pandas
import polars

two, ten = [100, 200], list(range(10, 101, 10))
of_polars = polars.Series(two).quantile(0.5), polars.Series(two).median(), polars.Series(ten).quantile(0.95)
of_pandas = pandas.Series(two).quantile(0.5), pandas.Series(two).median(), pandas.Series(ten).quantile(0.95)
print(f"polars {polars.__version__}: quantile(0.5) {of_polars[0]}, median {of_polars[1]}, p95 of 10 to 100: {of_polars[2]}")
print(f"pandas {pandas.__version__}: quantile(0.5) {of_pandas[0]}, median {of_pandas[1]}, p95 of 10 to 100: {of_pandas[2]}")
if of_polars != (200, 150, 100) or [round(float(value), 6) for value in of_pandas] != [150, 150, 95.5]:
    raise SystemExit("CHANGED: other quantiles")
PY
