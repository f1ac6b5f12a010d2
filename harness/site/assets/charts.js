// Charts that can be zoomed: drag over an interval, Ctrl and the wheel, the buttons, or the keys + - ← → 0.
// All charts over seconds show the same interval.
"use strict";

const runs = {}; // by id; data/<plan>/<run>.js calls addRun
const shown = []; // every chart of the page: {figure, spec, chart}

function addRun(run) {
  runs[run.id] = run;
  document.dispatchEvent(new CustomEvent("run", { detail: run }));
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function clock(seconds) {
  const whole = Math.round(Math.abs(seconds));
  const rest = String(whole % 60).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  const text = minutes < 60 ? `${minutes}:${rest}`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
  return seconds < -0.5 ? `−${text}` : text;
}

function plainNumber(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 100 ? 6 : 3 });
}

function xText(spec, value) {
  return spec.xUnit === "s" ? clock(value) : plainNumber(value);
}

// The measurement window, behind the lines.
const band = {
  id: "band",
  beforeDraw(chart, _, options) {
    if (!options.range) return;
    const { ctx, chartArea: area, scales: { x } } = chart;
    const left = Math.max(area.left, x.getPixelForValue(options.range[0]));
    const right = Math.min(area.right, x.getPixelForValue(options.range[1]));
    if (right <= left) return;
    ctx.save();
    ctx.fillStyle = options.fill;
    ctx.fillRect(left, area.top, right - left, area.bottom - area.top);
    ctx.restore();
  },
};

const shades = [0.18, 0.32, 0.47, 0.63, 0.8, 1]; // SHADES of the report's charts
const leastTime = 0.25; // where a logarithmic axis shows 0 ms

function clipped({ ctx, chartArea: area }, draw) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
  ctx.clip();
  draw(ctx);
  ctx.restore();
}

function greatestOf(columns) {
  return Math.max(1, ...columns.flat());
}

// The heat map behind the lines: a rectangle for each cell with samples, as in harness/report/charts/heat.py.
function drawCells(chart, { from, step, edges, columns }) {
  const { x, y } = chart.scales;
  const greatest = greatestOf(columns);
  const rows = edges.map((edge) => y.getPixelForValue(Math.max(leastTime, edge - 0.5)));
  clipped(chart, (ctx) => {
    ctx.fillStyle = colour("--c0");
    columns.forEach((counts, index) => {
      const left = Math.round(x.getPixelForValue(from + index * step));
      const right = Math.round(x.getPixelForValue(from + (index + 1) * step));
      counts.forEach((count, row) => {
        if (!count) return;
        const share = greatest > 1 ? Math.log(count) / Math.log(greatest) : 1;
        ctx.globalAlpha = shades[Math.floor((shades.length - 1) * share + 1e-9)];
        const top = Math.round(rows[row + 1]);
        ctx.fillRect(left, top, right - left, Math.round(rows[row]) - top);
      });
    });
  });
}

function drawGoals(chart, goals) {
  clipped(chart, (ctx) => {
    ctx.strokeStyle = colour("--text");
    ctx.fillStyle = colour("--text");
    ctx.setLineDash([8, 4]);
    for (const [text, limit] of goals) {
      const at = chart.scales.y.getPixelForValue(limit);
      ctx.strokeRect(chart.chartArea.left, at, chart.chartArea.right, 0);
      ctx.fillText(text, chart.chartArea.left + 6, at - 5);
    }
  });
}

// A text beside a point, on the card's colour: to the right, or to the left where that does not fit.
function drawLabel({ ctx, chartArea: area }, text, left, right, y) {
  const width = ctx.measureText(text).width;
  const start = right + 5 + width > area.right ? left - 5 - width : right + 5;
  ctx.fillStyle = colour("--card");
  ctx.fillRect(start - 2, y - 8, width + 4, 16);
  ctx.fillStyle = colour("--text");
  ctx.fillText(text, start, y + 4);
}

// The percentiles of a distribution: a line down from the curve, and the value below it.
function drawMarks(chart, marks) {
  const { ctx, scales: { x, y }, chartArea: area } = chart;
  const shown = marks.map(([name, value, percent]) => ({
    text: `${name} ${plainNumber(value)} ms`,
    left: x.getPixelForValue(Math.max(leastTime, value)),
    top: y.getPixelForValue(percent),
  })).filter(({ left }) => left >= area.left && left <= area.right);
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("--text");
  for (const { left, top } of shown) {
    ctx.strokeRect(left, top, 0, area.bottom - top);
    ctx.beginPath();
    ctx.arc(left, top, 3.5, 0, 2 * Math.PI);
    ctx.fill();
  }
  shown.forEach(({ text, left }, index) => drawLabel(chart, text, left, left, area.bottom - 12 - 17 * (shown.length - 1 - index)));
  ctx.restore();
}

// The shifts of percentiles between two distributions.
function drawShifts(chart, shifts) {
  const { ctx, scales: { x, y } } = chart;
  ctx.save();
  for (const { text, percent, from, to } of shifts) {
    const [left, right] = [from, to].map((value) => x.getPixelForValue(Math.max(leastTime, value))).sort((a, b) => a - b);
    ctx.strokeStyle = colour("--text");
    ctx.lineWidth = 2.5;
    ctx.strokeRect(left, y.getPixelForValue(percent), right - left, 0);
    drawLabel(chart, text, left, right, y.getPixelForValue(percent) + (percent > 50 ? 14 : 0));
  }
  ctx.restore();
}

// What a chart has besides its lines. Options of a plugin would be copies of a spec that changes on the live page.
const extrasOf = (spec) => ({
  id: "extras",
  beforeDatasetsDraw(chart) {
    if (spec.cells) drawCells(chart, spec.cells);
    if (spec.goals) drawGoals(chart, spec.goals);
  },
  beforeDatasetDraw(chart, { meta }) { // a line on a heat map has an edge of the card's colour
    if (!spec.cells) return;
    clipped(chart, (ctx) => {
      const options = { ...meta.dataset.options, borderColor: colour("--card"), borderWidth: 5, borderDash: [] };
      const own = meta.dataset.options;
      meta.dataset.options = options;
      meta.dataset.draw(ctx, chart.chartArea);
      meta.dataset.options = own;
    });
  },
  afterDatasetsDraw(chart) {
    if (spec.marks) drawMarks(chart, spec.marks);
    if (spec.shifts) drawShifts(chart, spec.shifts);
  },
});

function niceStep(span, most) {
  const power = 10 ** Math.floor(Math.log10(span / most));
  return [1, 2, 5, 10].find((factor) => factor * power * most >= span * (1 - 1e-9)) * power;
}

// The ticks of a logarithmic axis, as log_axis in harness/report/charts/axes.py.
function logTicks({ min, max }) {
  const decades = Math.log10(max / min);
  if (decades < 1) {
    const step = Math.max(1, niceStep(max - min, 5));
    const first = Math.ceil(min / step);
    return Array.from({ length: Math.max(0, Math.floor(max / step) - first + 1) }, (_, index) => (first + index) * step);
  }
  const first = Math.floor(Math.log10(min));
  const powers = Array.from({ length: Math.ceil(Math.log10(max)) - first + 1 }, (_, index) => 10 ** (first + index));
  return powers.flatMap((power) => (decades < 3 ? [1, 2, 5] : [1]).map((factor) => factor * power))
    .filter((value) => value >= 1 && value >= min && value <= max);
}

const logarithmic = {
  type: "logarithmic",
  afterBuildTicks: (scale) => { scale.ticks = logTicks(scale).map((value) => ({ value })); },
};

// A logarithmic axis has no 0: there a line would leave the frame.
const shownY = (spec, value) => (spec.cells && value != null ? Math.max(leastTime, value) : value);

// The range of the axis of a heat map: it contains the cells and each line.
function timeRange(edges, lines = []) {
  const drawn = lines.flatMap((line) => line.y).filter((value) => value > 0);
  const [low, high] = drawn.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, 0]);
  return { min: Math.max(leastTime, Math.min(edges[0] - 0.5, low)), max: Math.max(edges[edges.length - 1] - 0.5, high) };
}

const measures = { // an axis is divided evenly in these
  s: { to: (value) => value, from: (value) => value },
  ms: { to: Math.log, from: Math.exp },
};

function clamped(spec, low, high) {
  const [least, most] = spec.extent;
  return [Math.max(least, low), Math.min(most, high)];
}

function show(spec, low, high) {
  const [min, max] = clamped(spec, low, high);
  if (!(max > min)) return;
  for (const other of shown) {
    if (other.spec !== spec && !(spec.xUnit === "s" && other.spec.xUnit === "s")) continue;
    const [least, most] = clamped(other.spec, min, max);
    if (!(most > least)) continue;
    Object.assign(other.chart.options.scales.x, { min: least, max: most });
    other.chart.update("none");
    const isWhole = least === other.spec.extent[0] && most === other.spec.extent[1];
    other.range.textContent = isWhole ? "" : `${xText(spec, least)} to ${xText(spec, most)}`;
    other.reset.disabled = isWhole;
  }
}

function moved(one, zoom, shift) {
  const { to, from } = measures[one.spec.xUnit];
  const { min, max } = one.chart.options.scales.x;
  const half = (to(max) - to(min)) / 2;
  const [least, most] = one.spec.extent.map(to);
  const middle = to(min) + half + shift * half;
  const kept = Math.min(half * zoom, (most - least) / 2);
  const centre = Math.min(most - kept, Math.max(least + kept, middle));
  show(one.spec, from(centre - kept), from(centre + kept));
}

const tools = [
  ["+", "zoom in", "+=", (one) => moved(one, 0.5, 0)],
  ["−", "zoom out", "-", (one) => moved(one, 2, 0)],
  ["←", "earlier, or less", "ArrowLeft", (one) => moved(one, 1, -0.5)],
  ["→", "later, or more", "ArrowRight", (one) => moved(one, 1, 0.5)],
];

// Draw a chart into a figure. A spec has title, unit, xUnit, extent [from, to], band, and lines with name, x, y and
// optionally colour and dash, which are set for several runs and default to the index of the line; and what drawCells,
// drawGoals, drawMarks and drawShifts draw.
function drawChart(figure, spec) {
  const caption = figure.querySelector("figcaption");
  const words = caption ? caption.textContent : `${spec.title}, ${spec.unit}`;
  const canvas = element("canvas", { tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", words);
  const shade = spec.cells?.columns.length ? `${spec.unit}; shade: 1 to ${plainNumber(greatestOf(spec.cells.columns))} samples` : spec.unit;
  const range = element("output");
  const reset = element("button", { type: "button", textContent: "All", disabled: true });
  const one = { figure, spec, canvas, range, reset };
  reset.setAttribute("aria-label", `${spec.title}: show all`);
  reset.addEventListener("click", () => show(spec, ...spec.extent));
  const buttons = tools.map(([sign, what, , act]) => {
    const button = element("button", { type: "button", textContent: sign, title: what });
    button.setAttribute("aria-label", `${spec.title}: ${what}`);
    button.addEventListener("click", () => act(one));
    return button;
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tool = tools.find(([, , keys]) => keys === event.key || (keys.length === 2 && keys.includes(event.key)));
    if (tool) tool[3](one);
    else if (event.key === "0" || event.key === "Escape") show(spec, ...spec.extent);
    else return;
    event.preventDefault();
  });
  figure.prepend(
    element("header", {}, element("b", { textContent: spec.title }), element("span", { textContent: shade }),
      element("div", { className: "tools" }, range, ...buttons, reset)),
    element("div", { className: "plot" }, canvas),
  );
  if (caption) caption.className = "hidden";
  one.chart = new Chart(canvas, settings(one));
  shown.push(one);
}

const dashes = [[], [9, 3], [3, 3], [12, 3, 3, 3], [6, 2, 2, 2, 2, 2], [1.5, 2.5]];

function settings(one) {
  const { spec } = one;
  const [text, muted, grid] = ["--text", "--muted", "--grid"].map(colour);
  const isTime = spec.xUnit === "s";
  const axis = (title) => ({
    title: { display: true, text: title, color: muted },
    ticks: { color: muted, maxRotation: 0, autoSkipPadding: 16 },
    grid: { color: grid },
    border: { color: muted },
  });
  const x = axis(isTime ? "time since the load began" : "response time, ms, logarithmic");
  Object.assign(x, isTime ? { type: "linear" } : logarithmic, { min: spec.extent[0], max: spec.extent[1] });
  x.ticks.includeBounds = !isTime; // the last second would cover the tick before it
  x.ticks.callback = (value) => (isTime ? clock(value) : plainNumber(value));
  const y = { ...axis(spec.cells ? `${spec.unit}, logarithmic` : spec.unit), beginAtZero: true };
  if (spec.cells) {
    Object.assign(y, logarithmic, timeRange(spec.cells.edges, spec.lines));
    y.ticks.callback = plainNumber;
  }
  if (spec.key === "distribution") y.max = 100;
  y.suggestedMax = Math.max(0, ...(spec.goals ?? []).map(([, limit]) => limit));
  return {
    type: "line",
    data: {
      datasets: spec.lines.map((line, place) => {
        const shade = colour(spec.cells ? ["--text", "--c1"][place] : `--c${(line.colour ?? place) % 6}`);
        return {
          label: line.name,
          data: line.x.map((value, at) => ({ x: spec.xUnit === "ms" ? Math.max(leastTime, value) : value, y: shownY(spec, line.y[at]) })),
          borderColor: shade,
          backgroundColor: `${shade}40`,
          borderDash: spec.cells ? [] : dashes[(line.dash ?? place) % dashes.length],
          borderWidth: 1.8,
          pointRadius: line.x.length === 1 ? 3 : 0,
          pointHitRadius: 6,
          stepped: { errors: "middle", distribution: "before" }[spec.key] ?? false,
          fill: spec.key === "errors" && spec.lines.length === 1,
        };
      }),
    },
    options: {
      animation: false,
      maintainAspectRatio: false,
      parsing: false,
      normalized: true,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      // The same width for all, so that charts are aligned.
      scales: { x, y: { ...y, afterFit: (scale) => { scale.width = 72; } } },
      plugins: {
        legend: { display: spec.lines.length > 1 || "colour" in spec.lines[0], labels: { color: text, boxWidth: 34, boxHeight: 0 } },
        tooltip: {
          callbacks: {
            title: (items) => (items.length ? xText(spec, items[0].parsed.x) + (isTime ? "" : " ms") : ""),
            label: (item) => `${item.dataset.label}: ${plainNumber(spec.lines[item.datasetIndex].y[item.dataIndex] ?? item.parsed.y)} ${spec.unit}`,
          },
        },
        band: { range: spec.band, fill: colour("--band") },
        zoom: {
          zoom: {
            mode: "x",
            drag: { enabled: true, threshold: 8, backgroundColor: colour("--zoom") },
            wheel: { enabled: true, modifierKey: "ctrl" },
            onZoomComplete: ({ chart }) => show(spec, chart.scales.x.min, chart.scales.x.max),
          },
        },
      },
    },
    plugins: [band, extrasOf(spec)],
  };
}

function extentOf(xs) {
  const [least, most] = xs.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]);
  return [least, most > least ? most : least + 1];
}

// All charts over time have the same range, that of the longest run, so that they are aligned.
function extents(charts, ends) {
  const xsOf = (chart) => chart.lines.flatMap((line) => line.x);
  const times = extentOf([0, ...ends, ...charts.filter((chart) => chart.xUnit === "s").flatMap(xsOf)]);
  return (chart) => (chart.xUnit === "s" ? times : extentOf(xsOf(chart).map((x) => Math.max(leastTime, x))));
}

function forget() {
  for (const { chart } of shown) chart.destroy();
  shown.length = 0;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const one of shown) {
    const { min, max } = one.chart.options.scales.x;
    one.chart.destroy();
    one.chart = new Chart(one.canvas, settings(one));
    Object.assign(one.chart.options.scales.x, { min, max });
    one.chart.update("none");
  }
});
