#!/usr/bin/env bash
# Question: what does read_csv with dtype int64 make of 1700000000123456789 where another line of the column has 1.0?
# Guess: an error, as for 1.5; or both numbers exactly, as int64 was asked for.
# Seen: 1700000000123456768, and no error: one 1.0 or 1e3 makes all numbers of the column floats on the way to int64.
# Without that line the number is exact. 1.5 is refused. polars refuses 1.0 for an Int64.
# Since: seen with pandas 1.5.3, 2.3.3 and 3.1.1 (all three engines), polars 2.1.0.
# A user notices: time stamps in nanoseconds are up to 128 ns off in all rows since one tool wrote a decimal point once.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet pandas==3.1.1 polars==2.1.0
"$work/venv/bin/python" - <<'PY'
import io

import pandas
import polars


def read(second, reader=pandas):
    data = f"at\n1700000000123456789\n{second}\n".encode()
    try:
        if reader is polars:
            return polars.read_csv(io.BytesIO(data), schema={"at": polars.Int64})["at"].to_list()
        return pandas.read_csv(io.BytesIO(data), dtype={"at": "int64"})["at"].tolist()
    except (ValueError, polars.exceptions.ComputeError) as error:
        return type(error).__name__


found = {second: read(second) for second in ("2", "1.0", "1e3", "1.5")}
print(f"pandas {pandas.__version__}: {found}; polars {polars.__version__} with 1.0: {read('1.0', polars)}")
exact, near = 1700000000123456789, 1700000000123456768
if found != {"2": [exact, 2], "1.0": [near, 1], "1e3": [near, 1000], "1.5": "ValueError"}:
    raise SystemExit("CHANGED: pandas reads other numbers")
if read("1.0", polars) != "ComputeError":
    raise SystemExit("CHANGED: polars reads 1.0 as a whole number")
PY
