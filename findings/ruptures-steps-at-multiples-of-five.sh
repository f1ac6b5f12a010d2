#!/usr/bin/env bash
# Question: a series without noise is 100 ms for 22 nights and 150 ms for 18. Where does ruptures find the change?
# Guess: at 22, with each of its searches.
# Seen: only with KernelCPD. Pelt names two changes, at 20 and 25; Binseg, Window and Dynp one at 20: the default `jump=5`
# looks at each fifth point only, and nothing says so.
# Since: seen with ruptures 1.1.10; `jump=1` finds 22 everywhere.
# A user notices: the blame goes to a commit up to three nights away, or to two of them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet ruptures==1.1.10
venv/bin/python - <<'PY'
import sys

import numpy
import ruptures

nights = numpy.r_[numpy.full(22, 100.0), numpy.full(18, 150.0)]


def found(search: object, **stop: float) -> list[int]:
    return [int(place) for place in search.fit(nights).predict(**stop)[:-1]]


seen = {
    "Pelt": found(ruptures.Pelt(model="l2"), pen=1),
    "Binseg": found(ruptures.Binseg(model="l2"), n_bkps=1),
    "Window": found(ruptures.Window(width=10, model="l2"), n_bkps=1),
    "Dynp": found(ruptures.Dynp(model="l2"), n_bkps=1),
    "KernelCPD": found(ruptures.KernelCPD(), n_bkps=1),
    "Pelt, jump=1": found(ruptures.Pelt(model="l2", jump=1), pen=1),
}
print("ruptures 1.1.10, a step at 22:", seen)
expected = {"Pelt": [20, 25], "Binseg": [20], "Window": [20], "Dynp": [20], "KernelCPD": [22], "Pelt, jump=1": [22]}
sys.exit(0 if seen == expected else "CHANGED: other places")
PY
