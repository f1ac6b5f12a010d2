// The page of a run: the report's charts, drawn so that they can be zoomed.
"use strict";

document.addEventListener("run", ({ detail: run }) => {
  const extent = extents(run.charts, [run.end]);
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const chart = run.charts.find((one) => one.key === figure.dataset.chart);
    if (chart) drawChart(figure, { ...chart, extent: extent(chart), band: chart.xUnit === "s" ? run.band : null });
  }
});
