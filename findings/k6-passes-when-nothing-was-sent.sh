#!/usr/bin/env bash
# Question: every iteration of a k6 script throws before its first request. What do the thresholds and the exit code say?
# Guess: `checks: rate>0.99` is missed, or the run fails since nothing was sent: the exit code is not 0.
# Seen: "✓ 'rate>0.99' rate=0.00%", "✓ 'p(95)<500' p(95)=0s", exit code 0. A threshold without a sample is met, whatever
# it asks of a rate or a time; only one that needs a count is missed. An exception in an iteration is a line of the log.
# Since: seen with k6 1.4.0 (Go module go.k6.io/k6).
# A user notices: a log-in that fails in the script is a green build.
set -euo pipefail
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
GOPATH=$work/go GOBIN=$work GOFLAGS=-modcacherw go install go.k6.io/k6@v1.4.0
cat >script.js <<'JS'
export const options = {
  vus: 1,
  iterations: 5,
  thresholds: { checks: ["rate>0.99"], http_req_duration: ["p(95)<500"], http_req_failed: ["rate<0.01"] },
};
export default function () {
  throw new Error("no token in the answer of the log-in");
}
JS
code=0
./k6 run --quiet --no-usage-report script.js >out.txt 2>err.txt || code=$?
echo "k6 1.4.0, five iterations that throw: exit code $code, $(grep -c 'no token' err.txt) errors in the log"
grep -E "✓|✗" out.txt || true
[ "$code" = 0 ] && grep -q "✓ 'rate>0.99' rate=0.00%" out.txt || { echo "CHANGED: not met, or exit code $code"; exit 1; }
