/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charts: uPlot where it is embedded, else the values alone. Each has a table of its values for those who can't see it. */
"use strict";
window.charts = [];
const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {}))
    if (k === "class") e.className = v; else if (k.startsWith("on")) e.addEventListener(k.slice(2), v); else e.setAttribute(k, v);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

function valuesTable(heads, columns) {
  const body = element("tbody");
  const n = Math.min(columns[0].length, 2000);
  for (let i = 0; i < n; i++)
    body.append(element("tr", {}, ...columns.map((c) => element("td", { class: "n" }, c[i] == null ? "" : String(+Number(c[i]).toPrecision(5))))));
  return element("details", {}, element("summary", {}, "values"), element("div", { class: "scroll" },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", { class: "n" }, h)))), body)));
}

/* kind "bars" or "line"; columns[0] is x. A gap in a line is null. */
function chart(host, title, heads, columns, kind) {
  host.append(element("h3", {}, title));
  const box = element("div", { class: "chart", role: "img", tabindex: "0", "aria-label": title + "; the values are in the table below; + and - zoom" });
  host.append(box, valuesTable(heads, columns));
  if (typeof uPlot === "undefined") {
    box.append("This page was built without the charting library: see the values.");
    return null;
  }
  const axis = () => ({ stroke: cssColour("--fg"), grid: { stroke: cssColour("--line"), width: 1 }, ticks: { stroke: cssColour("--line") } });
  const colours = ["#d4761f", "#3a7bd5", "#2c9a5b", "#a05bc4", "#c0392b", "#1aa5a5", "#7f8c8d"];
  const series = [{ label: heads[0] }].concat(heads.slice(1).map((h, i) => ({
    label: h, stroke: colours[i % 7], fill: kind === "bars" ? colours[i % 7] + "88" : undefined, width: 1.5, points: { show: kind === "points" },
    paths: kind === "bars" ? uPlot.paths.bars({ size: [0.95, 60] }) : undefined })));
  const plot = new uPlot({
    width: chartWidth(), height: 260, series,
    scales: { x: { time: false } }, cursor: { drag: { x: true, y: false } },
    axes: [Object.assign(axis(), { label: heads[0] }), Object.assign(axis(), { label: heads.length === 2 ? heads[1] : "", size: 70 })],
  }, columns, box);
  window.charts.push(plot);
  box.addEventListener("keydown", (e) => zoomByKey(plot, columns[0], e));
  return plot;
}

/* What dragging does with a mouse. */
function zoomByKey(plot, x, e) {
  const from = x[0], to = x[x.length - 1], now = plot.scales.x, width = now.max - now.min;
  const views = { "+": [now.min + width / 4, now.max - width / 4], "=": [now.min + width / 4, now.max - width / 4], "-": [now.min - width / 2, now.max + width / 2],
    ArrowLeft: [now.min - width / 5, now.max - width / 5], ArrowRight: [now.min + width / 5, now.max + width / 5], "0": [from, to] };
  if (!views[e.key] || e.ctrlKey || e.metaKey) return;
  let [min, max] = views[e.key];
  if (max - min >= to - from) [min, max] = [from, to];
  else if (min < from) [min, max] = [from, from + (max - min)];
  else if (max > to) [min, max] = [to - (max - min), to];
  plot.setScale("x", { min, max });
  e.preventDefault();
}
const chartWidth = () => Math.min(1160, Math.max(300, document.body.clientWidth - 40));
window.addEventListener("resize", () => { for (const p of window.charts) p.setSize({ width: chartWidth(), height: 260 }); });
