// The live page: draws what the server sends. A viewer that reconnects gets the points that it lacks.
"use strict";

function startLive(about) {
  const byId = (id) => document.getElementById(id);
  const drawn = []; // each {spec, one, values}
  const heats = []; // of each chart the cells of each second, null without a heat map
  let width = 10; // s, of all charts
  let last = null; // the newest point
  const counts = []; // each second's samples and errors

  for (const { key, title, unit, lines, cells } of about.charts) {
    const figure = element("figure", { className: "chart" });
    byId("charts").append(figure);
    const spec = { key, title: unit === "ms" ? `${title} per second` : title, unit, xUnit: "s", extent: [0, width], band: null };
    spec.lines = Object.keys(lines).map((name) => ({ name, x: [], y: [] }));
    if (cells !== null) spec.cells = { from: 0, step: 1, edges: [1, 1000], columns: [] };
    drawChart(figure, spec);
    drawn.push({ spec, one: shown[shown.length - 1], values: Object.values(lines) });
    heats.push(cells === null ? null : { at: cells, columns: [] });
  }

  // Set the values of one second. The lines store them too, because a change of the colours draws the chart again.
  function set(point) {
    const at = point[0];
    counts[at] = [point[2], point[3]];
    for (const { spec, one, values } of drawn) {
      values.forEach((value, line) => {
        spec.lines[line].x[at] = at;
        spec.lines[line].y[at] = point[value];
        one.chart.data.datasets[line].data[at] = { x: at, y: point[value] };
      });
    }
    for (const one of heats) if (one) one.columns[at] = countsOf(point[one.at]);
  }

  // The counts of a column by row: "7: 12 0 3" are those of rows 7 to 9.
  function countsOf(text) {
    const [first, counts] = text.split(": ");
    return text ? [...Array(Number(first)).fill(0), ...counts.split(" ").map(Number)] : [];
  }

  // Set the heat map of a chart: at most 120 columns, and the rows that have samples.
  function join(spec, one, columns) {
    const step = Math.max(1, Math.ceil(columns.length / 120));
    const joined = [];
    columns.forEach((counts, at) => {
      const into = joined[Math.floor(at / step)] ??= [];
      counts.forEach((count, row) => { into[row] = (into[row] ?? 0) + count; });
    });
    const rows = joined.flatMap((counts) => counts.flatMap((count, row) => (count ? [row] : [])));
    if (!rows.length) return;
    const [low, high] = [Math.min(...rows), Math.max(...rows) + 1];
    const edges = about.edges.slice(low, high + 1);
    spec.cells = { from: 0, step, edges, columns: joined.map((counts) => counts.slice(low)) };
    Object.assign(one.chart.options.scales.y, timeRange(edges));
  }

  function grow(seconds) {
    for (const [at, { spec, one }] of drawn.entries()) {
      if (heats[at]) join(spec, one, heats[at].columns);
      const scale = one.chart.options.scales.x;
      const isWhole = scale.max === spec.extent[1] && scale.min === 0;
      spec.extent[1] = Math.max(width, seconds);
      if (isWhole) scale.max = spec.extent[1];
      one.chart.update("none");
    }
    width = Math.max(width, seconds);
  }

  function points(all) {
    for (const point of all) {
      set(point);
      if (!last || point[0] >= last[0]) last = point;
    }
    if (all.length) grow(last[0]);
  }

  // A table of the same size keeps its cells, so that a reader can select text in it.
  function table(id, heads, rows) {
    const section = byId(id);
    section.hidden = rows.length === 0;
    const size = `${heads} ${rows.length}`;
    const classOf = (column) => (column === 0 || (["causes", "goals", "earlier"].includes(id) && heads[column] !== "count") ? "" : "figure");
    if (section.dataset.size !== size) {
      section.dataset.size = size;
      const head = element("tr", {}, ...heads.map((text, column) => element("th", { textContent: text, className: classOf(column) })));
      const body = rows.map((cells) => element("tr", {}, ...cells.map(() => element("td", {}))));
      section.querySelector(".scroll").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
    }
    const cells = section.querySelectorAll("td");
    rows.flat().forEach((text, index) => {
      if (cells[index].textContent !== text) cells[index].textContent = text;
      cells[index].className = `${classOf(index % heads.length)} ${text === "missed" ? "problem" : ""}`;
    });
  }

  function tiles(all) {
    byId("tiles").className = `tiles of-${all.length}`;
    byId("tiles").replaceChildren(...all.map(([title, value, unit]) => element("div", {},
      element("dt", { textContent: title }), element("dd", {}, `${value} `, element("span", { textContent: unit })))));
  }

  // The numbers of the newest second, and the errors of all seconds.
  function current() {
    const [samples, errors] = counts.reduce((sums, one) => [sums[0] + one[0], sums[1] + one[1]], [0, 0]);
    const p95 = last[4 + about.times.indexOf("p95")];
    tiles([["users", plainNumber(last[1]), ""], ["requests, last second", plainNumber(last[2]), "req/s"],
      ["p95, last second", p95 == null ? "–" : plainNumber(p95), p95 == null ? "" : "ms"],
      ["errors so far", samples ? (100 * errors / samples).toFixed(2) : "–", samples ? "%" : ""]]);
  }

  function tables(now) {
    table("goals", ["goal", "measured", "result"], now.goals);
    table("labels", ["label", ...now.heads], now.labels);
    table("causes", ["label", "code", "cause", "count"], now.causes);
    table("uses", ["process", "CPU % of one core", "memory MB"], now.uses);
  }

  function ended(end) {
    byId("state").textContent = end.verdict;
    byId("head").className = `judged ${end.tone}`;
    byId("clock").textContent = `The numbers are those of the report ${end.report}.`;
    table("goals", ["goal", "measured", "result"], end.goals);
    byId("whole").hidden = true;
    tiles(end.tiles);
  }

  const source = new EventSource(`events${location.search}`); // with the token, if the address has one
  source.onopen = () => { byId("link").textContent = ""; };
  source.onerror = () => { byId("link").textContent = "no connection to the run: trying again"; };
  source.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.run !== about.run) {
      source.close();
      location.reload(); // another run has this address now
      return;
    }
    points(message.points);
    byId("clock").textContent = message.clock;
    if (last) {
      byId("state").textContent = "running";
      current();
    }
    if (message.starting && !last) byId("state").textContent = "starting";
    byId("heading").textContent = message.heading && `${message.starting ? "Next" : "Now"}: ${message.heading}.`;
    if (message.now) tables(message.now);
    if (message.end) ended(message.end);
    table("earlier", ["run", "result"], message.earlier);
    if (message.over) {
      source.close();
      if (!message.end) byId("state").textContent = "ended without a report";
      byId("heading").textContent = message.heading && "The command has ended.";
      byId("stop").disabled = true;
    }
  };
  byId("stop").addEventListener("click", async () => {
    if (!confirm(`Stop ${about.stops}? JMeter finishes its running samples, and a report is written.`)) return;
    byId("stop").disabled = true;
    const answer = await fetch(`stop${location.search}`, { method: "POST", headers: { "X-Live-Token": about.token } });
    byId("link").textContent = answer.ok ? "stopping: JMeter finishes its running samples" : "the stop was refused";
  });
}
