// The live page: draws what the server sends. A viewer that reconnects gets the points that it lacks.
"use strict";

function startLive(about) {
  const byId = (id) => document.getElementById(id);
  const series = {}; // by chart: {one, lines}
  let width = 10; // s, of all charts
  let last = null; // the newest point
  let run = "";

  function chart(key, title, unit, names) {
    const figure = element("figure", { className: "chart" });
    byId("charts").append(figure);
    const lines = names.map((name) => ({ name, x: [], y: [] }));
    const spec = { key, title, unit, xUnit: "s", extent: [0, width], band: null, lines };
    drawChart(figure, spec);
    series[key] = { spec, one: shown[shown.length - 1] };
  }

  chart("response-time", "Response time per second", "ms", about.times);
  chart("throughput", "Throughput", "samples/s", ["samples"]);
  chart("errors", "Errors", "per second", ["errors"]);
  chart("users", "Users", "active", ["users"]);

  // Set the values of one second. The lines keep them too, because a change of the colours draws the chart again.
  function set(key, at, values) {
    const { spec, one } = series[key];
    values.forEach((value, line) => {
      spec.lines[line].x[at] = at;
      spec.lines[line].y[at] = value;
      one.chart.data.datasets[line].data[at] = { x: at, y: value };
    });
  }

  function grow(seconds) {
    for (const { spec, one } of Object.values(series)) {
      const scale = one.chart.options.scales.x;
      const isWhole = scale.max === spec.extent[1] && scale.min === 0;
      spec.extent[1] = Math.max(width, seconds);
      if (isWhole) scale.max = spec.extent[1];
      one.chart.update("none");
    }
    width = Math.max(width, seconds);
  }

  function points(all) {
    for (const [at, users, samples, errors, ...times] of all) {
      set("response-time", at, times);
      set("throughput", at, [samples]);
      set("errors", at, [errors]);
      set("users", at, [users]);
      if (!last || at >= last[0]) last = [at, users, samples, ...times];
    }
    if (last) grow(last[0]);
  }

  function table(id, heads, rows) {
    const place = byId(id);
    place.hidden = rows.length === 0;
    const isText = (column) => column === 0 || id === "causes" || id === "goals";
    const head = element("tr", {}, ...heads.map((words, column) => element("th", { textContent: words, className: isText(column) ? "" : "figure" })));
    const body = rows.map((cells) => element("tr", {}, ...cells.map((words, column) => element("td", {
      textContent: words, className: `${isText(column) ? "" : "figure"} ${words === "missed" ? "problem" : ""}`,
    }))));
    place.querySelector(".scroll").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
  }

  function tiles(all) {
    byId("tiles").replaceChildren(...all.map(([title, value, unit]) => element("div", {},
      element("dt", { textContent: title }), element("dd", {}, `${value} `, element("span", { textContent: unit })))));
  }

  function tables(now) {
    const current = last ? [["users", plainNumber(last[1]), ""], ["in the last second", last[2], "samples"],
      ...about.times.map((name, at) => [name, last[3 + at] == null ? "–" : plainNumber(last[3 + at]), "ms"])] : [];
    tiles([...now.tiles, ...current]);
    byId("clock").textContent = now.left ? `${now.passed} passed, ${now.left} left.` : `${now.passed} passed.`;
    table("goals", ["goal", "measured", "result"], now.goals);
    table("labels", ["label", ...now.heads], now.labels);
    table("causes", ["label", "code", "cause", "count"], now.causes);
    table("uses", ["process", "CPU % of one core", "memory MB"], now.uses);
  }

  const source = new EventSource("events");
  source.onopen = () => { byId("link").textContent = ""; };
  source.onerror = () => { byId("link").textContent = "no connection to the run: trying again"; };
  source.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (run && message.run !== run) return location.reload(); // another run has this address now
    run = message.run;
    points(message.points);
    if (last) byId("state").textContent = "running";
    if (message.now) tables(message.now);
    if (message.end) {
      source.close();
      byId("state").textContent = message.end.verdict;
      byId("head").className = `judged ${message.end.state}`;
      byId("clock").textContent = `The load has ended; the tiles are those of the report ${message.end.report}.`;
      byId("stop").disabled = true;
      tiles(message.end.tiles);
    }
  };
  byId("stop").addEventListener("click", async () => {
    byId("stop").disabled = true;
    const answer = await fetch("stop", { method: "POST", headers: { "X-Live-Token": about.token } });
    byId("link").textContent = answer.ok ? "stopping: JMeter finishes its running samples" : "the stop was refused";
  });
}
