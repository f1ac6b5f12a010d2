#!/usr/bin/env bash
# Question: what does prom-client report as event loop lag of a Node.js process that does nothing?
# Guess: about 0 ms.
# Seen: minimum, mean, p50 and p99 of nodejs_eventloop_lag are all just over 10 ms: the times between two ticks of a timer
# of 10 ms, the pause itself included. nodejs_eventloop_lag_seconds, of another source, is 0.
# Since: seen with prom-client 15.1.3 on Node.js 20.
# A user notices: "the event loop lags 10 ms" before the load starts; a lag of 5 ms under load cannot be seen as 5.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund prom-client@15.1.3
node -e '
const client = require("prom-client");
client.collectDefaultMetrics();
setTimeout(async () => {
  const text = await client.register.metrics();
  const value = (name) => 1000 * Number(text.match(new RegExp(`^nodejs_eventloop_lag_${name} (\\S+)`, "m"))[1]);
  const [lag, least, median] = ["seconds", "min_seconds", "p50_seconds"].map(value);
  console.log(`prom-client 15.1.3, Node.js ${process.version}, idle: lag ${lag.toFixed(1)} ms, minimum ${least.toFixed(1)} ms, p50 ${median.toFixed(1)} ms`);
  if (!(least > 8 && median > 8)) { console.log("CHANGED: the pause of the timer is no longer included"); process.exit(1); }
  process.exit(0);
}, 3000);'
