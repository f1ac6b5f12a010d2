#!/usr/bin/env bash
# Question: how many response times are in autocannon's percentiles after 200 requests at a fixed rate (-R)?
# Guess: 200.
# Seen: thousands. For each response that is slower than expected it adds invented ones, in steps down to the expected
# time. With every 20th of 200 responses after 400 ms and the others at once, the average is about 190 ms; with
# ignoreCoordinatedOmission it is 20 ms, as measured.
# Since: seen with autocannon 9.0.0; without a rate nothing is added.
# A user notices: the median is 190 ms though 95 % of the responses took 1 ms; no other tool's numbers can be compared.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund autocannon@9.0.0
cat >rate.js <<'JS'
const autocannon = require("autocannon");
const http = require("http");

let served = 0;
const server = http.createServer((request, response) => setTimeout(() => response.end("ok"), ++served % 20 ? 0 : 400));
server.listen(0, "127.0.0.1", async () => {
  const common = { url: `http://127.0.0.1:${server.address().port}`, connections: 2, duration: 4, overallRate: 50 };
  const plain = await autocannon(common);
  const measured = await autocannon({ ...common, ignoreCoordinatedOmission: true });
  for (const [name, { requests, latency }] of Object.entries({ plain, measured })) {
    console.log(`autocannon 9.0.0, ${name}: ${requests.total} responses, ${latency.totalCount} times, median ${latency.p50} ms, average ${latency.average} ms`);
  }
  const changed = plain.latency.totalCount < 5 * plain.requests.total || measured.latency.totalCount !== measured.requests.total;
  if (changed) console.log("CHANGED: a rate no longer adds response times");
  process.exit(changed ? 1 : 0);
});
JS
node rate.js
