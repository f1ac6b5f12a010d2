// Two runs side by side: differences in the set-up, statistics with their change, and overlaid time series.
"use strict";

const form = document.getElementById("choose");
const place = document.getElementById("comparison");
const known = new Set([...form.elements.base.options].map((option) => option.value));

// title, value, decimals (null: two below 10, like units.average_text), factor, id in lth compare ("": it is not
// compared)
const columnOf = ({ title, path, decimals, factor, id }) =>
  [title, (one) => path.reduce((at, key) => at[key], one), decimals, factor, id];
const columns = JSON.parse(place.dataset.columns);
const metrics = columns.map(columnOf);
const perLabel = columns.filter((column) => column.is_brief).map(columnOf);

function load(id) {
  if (runs[id]) return Promise.resolve(runs[id]);
  return new Promise((resolve, reject) => {
    const source = `data/${id.split("/").map(encodeURIComponent).join("/")}.js`;
    const script = element("script", { src: source });
    script.onload = () => (runs[id] ? resolve(runs[id]) : reject(new Error(`${id}: its data cannot be read`)));
    script.onerror = () => reject(new Error(`${id}: its data are missing`));
    document.head.append(script);
  });
}

function text(value, decimals, factor) {
  if (value == null) return "";
  return (value * factor).toFixed(decimals ?? (Math.abs(value) < 9.995 ? 2 : 0));
}

// The colour of a change is the result of compare; with CANNOT TELL its direction is not known, and it is not shown.
function change([name, valueOf, , factor, metric], base, new_, marks) {
  const [before, after] = [base && valueOf(base), new_ && valueOf(new_)];
  const mark = base && marks[base.label]?.[metric];
  if (before == null || after == null || !mark) return cell("");
  const isErrors = name.startsWith("errors");
  if (!isErrors && before === 0) return cell("");
  const difference = isErrors ? (after - before) * factor : ((after - before) / before) * 100;
  const made = cell(`${difference >= 0 ? "+" : "−"}${Math.abs(difference).toFixed(isErrors ? 2 : 1)}`);
  made.classList.add("delta", mark);
  return made;
}

function cell(words, isHead = false) {
  const made = element(isHead ? "th" : "td", { textContent: words, className: isHead ? "" : "figure" });
  if (isHead) made.scope = "row";
  return made;
}

function tableOf(heads, lines, name, over = []) {
  const head = element("tr", {}, ...heads.map((words, column) => element("th", {
    textContent: words, scope: "col", className: column ? "figure" : "",
  })));
  const body = lines.map((cells) => element("tr", {}, ...cells));
  const groups = element("tr", {}, ...over.map((words, column) => element("th", {
    textContent: words, className: "over", colSpan: column ? 3 : 1,
  })));
  const made = element("table", {}, element("thead", {}, ...(over.length ? [groups] : []), head),
    element("tbody", {}, ...body));
  const scroll = element("div", { className: "scroll", tabIndex: 0 }, made);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", name);
  return scroll;
}

function section(title, ...children) {
  return element("section", {}, element("h2", { textContent: title }), ...children);
}

function headOf(run, side) {
  return element("li", {}, element("span", { className: `swatch ${side}` }),
    element("a", { href: run.page, textContent: run.id }), " ",
    element("span", { className: `state ${run.state.replace(" ", "-")}`, textContent: run.state }),
    ` ${run.verdict} Started ${run.started} UTC; ${run.load}.`);
}

// The result of lth compare for these two runs; it exists for each run and the few runs before it.
function judgementOf(base, new_) {
  const judged = new_.against[base.id]?.[0] ?? base.against[new_.id]?.[1];
  if (judged) return judged;
  const wordsOf = (run) => `${run.id} is ${run.state.toUpperCase()}: ${run.reasons.join("; ")}`;
  const [invalid, doubtful] = ["invalid", "doubtful"].map((state) => [base, new_].filter((run) => run.state === state));
  let headline = "Not compared here: each run is compared only with the few runs before it.";
  if (doubtful.length) headline = `CANNOT TELL: ${doubtful.map(wordsOf).join("; ")}.`;
  if (invalid.length) headline = `INVALID: ${invalid.map(wordsOf).join("; ")}.`;
  return { headline, caveats: [], marks: {} };
}

function verdictOf(base, new_, judged) {
  return section("Verdict",
    element("p", {}, element("b", { className: "verdict", textContent: judged.headline })),
    element("p", {}, element("code", { textContent: `lth compare ${base.id} ${new_.id}` })));
}

function setupOf(base, new_) {
  const [before, after] = [base, new_].map((run) => new Map(run.setup));
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const different = names.filter((name) => before.get(name) !== after.get(name) && !["started", "took"].includes(name));
  if (!different.length) {
    const isDoubtful = [base, new_].some((run) => run.state !== "valid" && run.state !== "goal missed");
    const words = isDoubtful ? "The recorded settings are the same, but not every run is VALID." : "Nothing differs.";
    return section("Set-up", element("p", { textContent: words }));
  }
  const lines = different.map((name) => [cell(name, true), ...[before, after].map((one) => {
    const made = cell(one.get(name) ?? "");
    made.className = "";
    return made;
  })]);
  const children = [tableOf(["", base.id, new_.id], lines, "set-up")];
  if (different.some((name) => ["plan", "load"].includes(name))) {
    children.unshift(element("p", { className: "problem", textContent: "These runs differ in plan or load: their statistics are not comparable." }));
  }
  return section("Set-up differences", ...children);
}

function figuresOf(base, new_, marks) {
  const total = metrics.map((metric) => {
    const [name, valueOf, decimals, factor] = metric;
    const values = [base.total, new_.total].map((one) => cell(one ? text(valueOf(one), decimals, factor) : ""));
    return [cell(name, true), ...values, change(metric, base.total, new_.total, marks)];
  });
  const labels = [...new Set([...base.labels, ...new_.labels].map((one) => one.label))];
  const lines = labels.map((label) => {
    const [before, after] = [base, new_].map((run) => run.labels.find((one) => one.label === label));
    const cells = perLabel.flatMap((metric) => {
      const [, valueOf, decimals, factor] = metric;
      const values = [before, after].map((one) => cell(one ? text(valueOf(one), decimals, factor) : ""));
      return [...values, change(metric, before, after, marks)];
    });
    return [cell(label, true), ...cells];
  });
  const heads = perLabel.flatMap(([name]) => ["base", "new", name.startsWith("errors") ? "points" : "%"]);
  const over = ["", ...perLabel.map(([name]) => name)];
  return section(
    "TOTAL of the load",
    tableOf(["", base.id, new_.id, "change %"], total, "TOTAL of the load"),
    element("p", { textContent: "The change of errors is in percentage points. A coloured change is REGRESSED (red) or IMPROVED (green) by the rules of compare, others are OK; CANNOT TELL has no change." }),
    element("h3", { textContent: "Labels" }),
    tableOf(["label", ...heads], lines, "labels", over),
  );
}

// A small chart for each line that either run has, with both runs in it.
function chartsOf(base, new_) {
  const wanted = new Map();
  [base, new_].forEach((run, side) => {
    for (const chart of run.charts) {
      for (const line of chart.lines) {
        const key = `${chart.key} ${line.name}`;
        const isAlone = chart.lines.length === 1;
        if (!wanted.has(key)) {
          wanted.set(key, { key: chart.key, title: isAlone ? chart.title : `${chart.title}: ${line.name}`, unit: chart.unit, xUnit: chart.xUnit, lines: [] });
        }
        wanted.get(key).lines.push({ ...line, name: run.id, colour: side, dash: side });
        if (chart.marks && isAlone) (wanted.get(key).both ??= []).push(chart.marks);
      }
    }
  });
  return [...wanted.values()].map(({ both, ...chart }) => (both?.length === 2 ? { ...chart, shifts: shiftsOf(...both) } : chart));
}

// How far p50 and p95 of two distributions are apart; marks are lists of name, ms, and % of samples.
function shiftsOf(base, new_) {
  return base.map((mark, at) => [mark, new_[at]]).filter(([[name]]) => ["p50", "p95"].includes(name))
    .map(([[name, from, percent], [, to]]) => {
      const difference = from ? ((to - from) / from) * 100 : to - from;
      const size = `${difference < 0 ? "−" : "+"}${Math.abs(difference).toFixed(1)} ${from ? "%" : "ms"}`;
      return { text: `${name} ${size}`, percent, from, to };
    });
}

function warningsOf(title, texts) {
  const items = texts.map((text) => element("li", { textContent: text }));
  return [element("h3", { textContent: title }), items.length ? element("ul", {}, ...items) : element("p", { textContent: "None." })];
}

async function render() {
  const { base: first, new: second } = form.elements;
  const ids = [first.value, second.value];
  forget();
  place.replaceChildren();
  document.title = ids.every(Boolean) ? ids.join(" and ") : "Two runs side by side";
  if (!ids.every(Boolean)) return;
  try {
    const [base, new_] = await Promise.all(ids.map(load));
    if (ids[0] !== first.value || ids[1] !== second.value) return; // another choice was made meanwhile
    const charts = chartsOf(base, new_);
    const extent = extents(charts, [base.end, new_.end]);
    const figures = charts.map(() => element("figure", { className: "chart" }));
    const judged = judgementOf(base, new_);
    const warnings = judged.caveats.length
      ? warningsOf("of both runs", judged.caveats)
      : [...warningsOf(base.id, base.caveats), ...warningsOf(new_.id, new_.caveats)];
    place.replaceChildren(
      element("ul", {}, headOf(base, "base"), headOf(new_, "new")),
      verdictOf(base, new_, judged),
      setupOf(base, new_),
      figuresOf(base, new_, judged.marks),
      section("Time series", element("div", { className: "pair" }, ...figures)),
      section("Warnings", ...warnings),
    );
    charts.forEach((chart, at) => drawChart(figures[at], { ...chart, extent: extent(chart), band: null }));
  } catch (error) {
    place.replaceChildren(element("p", { className: "problem", textContent: error.message }));
  }
}

// The page begins with the newest run and the one before it, of the same plan if it has one.
function newestTwo() {
  const [newest, ...before] = [...known].filter(Boolean);
  if (!newest) return [];
  const plan = newest.slice(0, newest.lastIndexOf("/") + 1);
  return [before.find((id) => id.startsWith(plan)) ?? before[0], newest];
}

function follow() {
  const ids = location.hash.slice(1).split("&").map(decodeURIComponent);
  const [base, other] = location.hash ? ids : newestTwo();
  form.elements.base.value = known.has(base) ? base : "";
  form.elements.new.value = known.has(other) ? other : "";
  render();
}

form.hidden = false;
form.addEventListener("change", () => {
  const ids = [form.elements.base.value, form.elements.new.value];
  history.replaceState(null, "", `#${ids.map(encodeURIComponent).join("&")}`);
  render();
});
form.elements.swap.addEventListener("click", () => {
  const { base, new: other } = form.elements;
  [base.value, other.value] = [other.value, base.value];
  form.dispatchEvent(new Event("change"));
});
addEventListener("hashchange", follow);
follow();
