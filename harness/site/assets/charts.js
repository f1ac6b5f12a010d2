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
// optionally colour and dash, which default to the index of the line.
function drawChart(figure, spec) {
  const caption = figure.querySelector("figcaption");
  const words = caption ? caption.textContent : `${spec.title}, ${spec.unit}`;
  const canvas = element("canvas", { tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", words);
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
    element("header", {}, element("b", { textContent: spec.title }), element("span", { textContent: spec.unit }),
      element("div", { className: "tools" }, range, ...buttons, reset)),
    element("div", { className: "plot" }, canvas),
  );
  if (caption) caption.className = "hidden";
  one.chart = new Chart(canvas, settings(one));
  shown.push(one);
}

function isRound(value) { // a logarithmic axis also has ticks at its ends
  return Math.abs(value) < 1e-9 || Number(value.toPrecision(1)) === value;
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
  Object.assign(x, { type: isTime ? "linear" : "logarithmic", min: spec.extent[0], max: spec.extent[1] });
  x.ticks.includeBounds = !isTime; // the last second would cover the tick before it
  x.ticks.callback = (value) => (isTime ? clock(value) : isRound(value) ? plainNumber(value) : null);
  return {
    type: "line",
    data: {
      datasets: spec.lines.map((line, place) => {
        const shade = colour(`--c${(line.colour ?? place) % 6}`);
        return {
          label: line.name,
          data: line.x.map((value, at) => ({ x: value, y: line.y[at] })),
          borderColor: shade,
          backgroundColor: `${shade}40`,
          borderDash: dashes[(line.dash ?? place) % dashes.length],
          borderWidth: 1.8,
          pointRadius: line.x.length === 1 ? 3 : 0,
          pointHitRadius: 6,
          stepped: { errors: "middle", distribution: "before" }[spec.key] ?? false,
          fill: spec.key in { errors: 0, distribution: 0 } && spec.lines.length === 1,
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
      scales: { x, y: { ...axis(spec.unit), beginAtZero: true, afterFit: (scale) => { scale.width = 72; } } },
      plugins: {
        legend: { display: spec.lines.length > 1, labels: { color: text, boxWidth: 34, boxHeight: 0 } },
        tooltip: {
          callbacks: {
            title: (items) => (items.length ? xText(spec, items[0].parsed.x) + (isTime ? "" : " ms") : ""),
            label: (item) => `${item.dataset.label}: ${plainNumber(item.parsed.y)} ${spec.unit}`,
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
    plugins: [band],
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
  return (chart) => (chart.xUnit === "s" ? times : extentOf(xsOf(chart)));
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
