/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charts: lines and histograms (plot.js), also in two dimensions. Each has a table of its values for those who can't see it. */
"use strict";
window.charts = [];

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
    body.append(element("tr", {}, ...columns.map((c) => element("td", { class: "n" }, c[i] == null ? "" : typeof c[i] === "string" ? c[i] : String(+Number(c[i]).toPrecision(5))))));
  return element("details", {}, element("summary", {}, "values"), element("div", { class: "scroll" },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", { class: "n" }, h)))), body)));
}

/* columns[0] is x. A gap in a line is null. */
function chart(host, title, heads, columns) {
  host.append(element("h3", {}, title));
  const box = element("div", { class: "chart", role: "img", tabindex: "0", "aria-label": title + "; the values are in the table below; + and - zoom" });
  host.append(box, valuesTable(heads, columns));
  plot(box, heads, columns, "line");
}

/* h.edges: one more than h.shares. A bar's area is its share, its height what h.width of it has. */
function histogram(host, h) {
  const { edges, shares, width } = h, from = edges.slice(0, -1), to = edges.slice(1);
  const even = from.every((v, i) => Math.abs(to[i] - v - width) < 1e-3 * width), head = "% of intervals" + (even ? "" : ` per ${+width.toPrecision(2)}`);
  host.append(element("h3", {}, h.title));
  const box = element("div", { class: "chart", role: "img", tabindex: "0", "aria-label": h.title + "; the values are in the table below; + and - zoom" });
  host.append(box, valuesTable([h.x + ", from", "to", "% of intervals"], [from, to, shares]));
  plot(box, [h.x, head], [edges, shares.map((s, i) => s * width / (to[i] - from[i]))], "bars", (i) => `${shortNumber(from[i])} to ${shortNumber(to[i])}: ${shortNumber(shares[i])} % of intervals`);
}

/* As much of a text as has room. */
function fitted(g, text, room) {
  if (g.measureText(text).width <= room) return text;
  let n = text.length;
  while (n > 1 && g.measureText(text.slice(0, n) + "…").width > room) n--;
  return text.slice(0, n) + "…";
}

/* A histogram in two dimensions. h.x: label, from, to, and bins of one width or edges; h.y the same, or names; h.cells: x, y, n, and again. Colour is the
 * logarithm of n (under names: of its share there), with a scale beside it; every cell can be read out below by pointer or
 * keyboard, and stands in the table. */
function heatmap(host, h) {
  const named = !!h.y.names, rows = named ? { from: 0, to: h.y.names.length, bins: h.y.names.length } : h.y, cells = [], sums = new Array(rows.bins).fill(0);
  for (let i = 0; i < h.cells.length; i += 3) {
    cells.push({ x: h.cells[i], y: h.cells[i + 1], n: h.cells[i + 2] });
    sums[h.cells[i + 1]] += h.cells[i + 2];
  }
  if (!cells.length) return; /* all intervals are outside */
  const value = (c) => (named ? 100 * c.n / sums[c.y] : c.n), most = Math.max(...cells.map(value)), least = Math.min(...cells.map(value));
  const edge = (axis, i) => (axis.edges ? axis.edges[i] : axis.from + (axis.to - axis.from) * i / axis.bins), short = (v) => String(+v.toPrecision(3));
  const tell = (c) => `${h.x.label} ${short(edge(h.x, c.x))} to ${short(edge(h.x, c.x + 1))}, ` +
    (named ? `${h.y.label} ${h.y.names[c.y]}: ${c.n} intervals, ${value(c).toFixed(2)} % of its own` : `${h.y.label} ${short(edge(h.y, c.y))} to ${short(edge(h.y, c.y + 1))}: ${c.n} intervals`);
  const canvas = element("canvas"), said = element("p", { class: "hint", role: "status" });
  const box = element("div", { class: "chart heat", role: "img", tabindex: "0", "aria-label": h.title + "; the values are in the table below; + and - zoom" }, canvas);
  const sorted = cells.slice().sort((a, b) => b.n - a.n).slice(0, 2000);
  host.append(element("h3", {}, h.title), box, said, valuesTable([h.x.label, h.y.label, "intervals"],
    [sorted.map((c) => (edge(h.x, c.x) + edge(h.x, c.x + 1)) / 2), sorted.map((c) => (named ? h.y.names[c.y] : (edge(h.y, c.y) + edge(h.y, c.y + 1)) / 2)), sorted.map((c) => c.n)]));
  const left = named ? Math.min(150, 0.28 * chartWidth()) : 66, top = 8, bottom = 44, right = 80;
  let view = { x0: h.x.from, x1: h.x.to, y0: rows.from, y1: rows.to }, size = [0, 0], drag = null;
  const room = () => [size[0] - left - right, size[1] - top - bottom];
  const px = (x) => left + (x - view.x0) / (view.x1 - view.x0) * room()[0], py = (y) => top + (view.y1 - y) / (view.y1 - view.y0) * room()[1];
  const colour = (v) => { const s = most > least ? Math.log(v / least) / Math.log(most / least) : 1; return partColour(s); };
  function draw() {
    size = [chartWidth(), named ? 70 + 30 * rows.bins : 420];
    const scale = window.devicePixelRatio || 1, g = canvas.getContext("2d"), [w, high] = room();
    canvas.width = size[0] * scale; canvas.height = size[1] * scale;
    canvas.style.width = size[0] + "px"; canvas.style.height = size[1] + "px";
    g.scale(scale, scale);
    g.font = "12px system-ui, sans-serif"; g.fillStyle = cssColour("--fg"); g.strokeStyle = cssColour("--line");
    g.save(); g.beginPath(); g.rect(left, top, w, high); g.clip();
    for (const c of cells) {
      const x0 = edge(h.x, c.x), x1 = edge(h.x, c.x + 1), y0 = edge(rows, c.y), y1 = edge(rows, c.y + 1);
      if (x1 < view.x0 || x0 > view.x1 || y1 < view.y0 || y0 > view.y1) continue;
      g.fillStyle = colour(value(c));
      g.fillRect(px(x0), py(y1), px(x1) - px(x0) + 0.5, py(y0) - py(y1) - (named ? 3 : -0.5));
    }
    if (drag && drag.to) { g.strokeStyle = cssColour("--accent"); g.strokeRect(drag.x, drag.y, drag.to[0] - drag.x, drag.to[1] - drag.y); }
    g.restore();
    g.fillStyle = cssColour("--fg"); g.strokeStyle = cssColour("--dim"); g.strokeRect(left, top, w, high);
    g.textAlign = "center";
    for (const x of roundTicks(view.x0, view.x1, Math.max(2, Math.min(8, w / 80)))) g.fillText(short(x), px(x), top + high + 15);
    g.fillText(h.x.label, left + w / 2, top + high + 34);
    g.textAlign = "right";
    if (named) h.y.names.forEach((n, i) => { if (i + 0.5 > view.y0 && i + 0.5 < view.y1) g.fillText(fitted(g, n, left - 10), left - 6, py(i + 0.5) + 4); });
    else for (const y of roundTicks(view.y0, view.y1, 6)) g.fillText(short(y), left - 6, py(y) + 4);
    if (!named) { g.save(); g.translate(14, top + high / 2); g.rotate(-Math.PI / 2); g.textAlign = "center"; g.fillText(h.y.label, 0, 0); g.restore(); }
    g.textAlign = "left";
    const parts = Math.min(60, high);
    for (let i = 0; i < parts; i++) { g.fillStyle = colour(least * (most / least) ** ((i + 0.5) / parts)); g.fillRect(size[0] - right + 12, top + high - (i + 1) * high / parts, 12, high / parts + 1); }
    g.fillStyle = cssColour("--fg");
    const unit = named ? " %" : "";
    const ends = (v) => (named && v < 0.01 ? "<0.01" : String(+v.toPrecision(2))) + unit;
    g.fillText(ends(most), size[0] - right + 27, top + 10); g.fillText(ends(least), size[0] - right + 27, top + high);
  }
  const at = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  const toX = (p) => view.x0 + (p - left) / room()[0] * (view.x1 - view.x0), toY = (p) => view.y1 - (p - top) / room()[1] * (view.y1 - view.y0);
  const key = "h" + window.heatmaps.length, near = (a) => String(+a.toPrecision(6));
  let shown = "";
  function look(x0, x1, y0, y1) {
    const fit = (a, b, axis) => { const all = axis.to - axis.from, wide = Math.min(all, Math.max(all / 25, b - a)), from = Math.max(axis.from, Math.min(axis.to - wide, a)); return [from, from + wide]; };
    [view.x0, view.x1] = fit(x0, x1, h.x);
    [view.y0, view.y1] = named ? [rows.from, rows.to] : fit(y0, y1, rows);
    shown = view.x1 - view.x0 >= 0.9999 * (h.x.to - h.x.from) && view.y1 - view.y0 >= 0.9999 * (rows.to - rows.from) ? "" : [view.x0, view.x1, view.y0, view.y1].map(near).join("~");
    draw();
    State.set({ [key]: shown }, true);
  }
  canvas.addEventListener("mousedown", (e) => { const [x, y] = at(e); drag = { x, y, to: null }; e.preventDefault(); box.focus(); });
  canvas.addEventListener("mousemove", (e) => {
    const p = at(e), x = toX(p[0]), y = toY(p[1]), c = cells.find((k) => edge(h.x, k.x) <= x && x < edge(h.x, k.x + 1) && edge(rows, k.y) <= y && y < edge(rows, k.y + 1));
    said.textContent = c ? tell(c) : "";
    if (drag) { drag.to = p; draw(); }
  });
  window.addEventListener("mouseup", (e) => {
    if (!drag) return;
    const p = at(e), d = drag;
    drag = null;
    if (Math.abs(p[0] - d.x) > 8) look(Math.min(toX(d.x), toX(p[0])), Math.max(toX(d.x), toX(p[0])), Math.min(toY(d.y), toY(p[1])), Math.max(toY(d.y), toY(p[1])));
    else draw();
  });
  const whole = () => look(h.x.from, h.x.to, rows.from, rows.to);
  canvas.addEventListener("dblclick", whole);
  let spoken = -1;
  box.addEventListener("keydown", (e) => {
    const wx = view.x1 - view.x0, wy = view.y1 - view.y0;
    const views = { "+": [wx / 4, -wx / 4, wy / 4, -wy / 4], "=": [wx / 4, -wx / 4, wy / 4, -wy / 4], "-": [-wx / 2, wx / 2, -wy / 2, wy / 2],
      ArrowLeft: [-wx / 5, -wx / 5, 0, 0], ArrowRight: [wx / 5, wx / 5, 0, 0], ArrowUp: [0, 0, wy / 5, wy / 5], ArrowDown: [0, 0, -wy / 5, -wy / 5] };
    if (e.ctrlKey || e.metaKey) return;
    if (e.key === "0") whole();
    else if (e.key === "n" && sorted.length) said.textContent = tell(sorted[spoken = (spoken + 1) % sorted.length]); /* the next most frequent */
    else if (views[e.key]) { const v = views[e.key]; look(view.x0 + v[0], view.x1 + v[1], view.y0 + v[2], view.y1 + v[3]); }
    else return;
    e.preventDefault();
  });
  draw();
  State.watch(() => {
    const asked = State.get(key), at = asked.split("~").map(Number);
    if (asked === shown) return;
    if (asked === "") whole(); else if (at.length === 4 && at.every(isFinite)) look(...at);
  });
  window.heatmaps.push({ box, draw, view: () => view });
}
window.heatmaps = [];
const chartWidth = () => (printNow() ? 680 : Math.max(280, $("summary").clientWidth));
window.addEventListener("resize", () => { for (const c of [...window.charts, ...window.heatmaps]) c.draw(); });
for (const query of ["print", "(prefers-color-scheme: dark)"]) matchMedia(query).addEventListener("change", () => { for (const c of [...window.charts, ...window.heatmaps]) c.draw(); });
