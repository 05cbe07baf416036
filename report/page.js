/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page: everything is drawn from the JSON in #profile (its members: see docs/json.md, "report"). */
"use strict";
const P = JSON.parse(document.getElementById("profile").textContent);
const $ = (id) => document.getElementById(id);
const number = (n) => n == null ? "" : Number(n).toLocaleString("en-US", { maximumFractionDigits: 2 });
const fine = (n) => n == null ? "" : Math.abs(n) < 0.0005 ? "0" : n.toFixed(3);
const share = (n) => n == null || !isFinite(n) ? "" : n.toFixed(1);

function show(id, label) {
  $(id).hidden = false;
  $("nav").append(element("a", { href: "#" + id }, label));
}

/* ---- a table that draws only the rows in view ---- */
const ROW = 24;
class Grid {
  constructor(host, columns, rows, onOpen) {
    Object.assign(this, { host, columns, all: rows, rows, onOpen, sortBy: -1, down: true, at: -1 });
    this.head = element("tr", {}, ...columns.map((c, i) => element("th", { class: c.text ? "" : "n", scope: "col", "aria-sort": "none" },
      element("button", { onclick: () => this.sort(i) }, c.head))));
    this.body = element("tbody");
    this.table = element("table", { "aria-rowcount": rows.length + 1 }, element("thead", {}, this.head), this.body);
    host.replaceChildren(this.table);
    host.addEventListener("scroll", () => { if (!this.asked) { this.asked = true; requestAnimationFrame(() => { this.asked = false; this.draw(); }); } });
    host.addEventListener("keydown", (e) => this.key(e));
    this.draw();
  }
  sort(i) {
    const c = this.columns[i];
    this.down = this.sortBy === i ? !this.down : !c.text;
    this.sortBy = i;
    const sign = this.down ? -1 : 1;
    this.all = this.all.slice().sort((a, b) => {
      const x = c.value(a), y = c.value(b);
      return sign * (c.text ? String(x ?? "").localeCompare(String(y ?? "")) : (x ?? -Infinity) - (y ?? -Infinity));
    });
    [...this.head.children].forEach((th, k) => th.setAttribute("aria-sort", k === i ? (this.down ? "descending" : "ascending") : "none"));
    this.filter(this.words || "");
  }
  filter(words) {
    this.words = words.toLowerCase();
    const text = this.columns.filter((c) => c.text);
    this.rows = this.words ? this.all.filter((r) => text.some((c) => String(c.value(r) ?? "").toLowerCase().includes(this.words))) : this.all;
    this.at = -1;
    this.host.scrollTop = 0;
    this.draw();
  }
  draw() {
    const first = Math.max(0, Math.floor(this.host.scrollTop / ROW) - 10), n = Math.ceil(this.host.clientHeight / ROW) + 20;
    const out = [], last = Math.min(this.rows.length, first + n), span = String(this.columns.length);
    if (first) out.push(element("tr", { "aria-hidden": "true", style: `height:${first * ROW}px` }, element("td", { colspan: span, style: `height:${first * ROW}px` })));
    for (let i = first; i < last; i++) {
      const row = element("tr", { "aria-rowindex": i + 2, class: i === this.at ? "on" : "" });
      for (const c of this.columns) {
        const text = c.show ? c.show(c.value(this.rows[i])) : c.value(this.rows[i]) ?? "";
        const cell = element("td", { class: (c.text ? "t" : "n") + (c.mark ? " " + c.mark(this.rows[i]) : ""), title: c.text ? text : "" });
        cell.append(c.open ? element("button", { class: "open", tabindex: "-1", onclick: () => { this.at = i; this.draw(); this.onOpen(this.rows[i]); } }, text) : text);
        if (c.bar) cell.style.backgroundSize = `${Math.min(100, c.value(this.rows[i]))}% 100%`, cell.classList.add("bar-cell");
        row.append(cell);
      }
      out.push(row);
    }
    const below = this.rows.length - last;
    if (below > 0) out.push(element("tr", { "aria-hidden": "true" }, element("td", { colspan: span, style: `height:${below * ROW}px` })));
    this.body.replaceChildren(...out);
  }
  key(e) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[e.key];
    if (step) {
      this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + step));
      const top = this.at * ROW;
      if (top < this.host.scrollTop) this.host.scrollTop = top;
      if (top + 2 * ROW > this.host.scrollTop + this.host.clientHeight) this.host.scrollTop = top + 2 * ROW - this.host.clientHeight + ROW;
      this.draw();
      e.preventDefault();
    } else if (e.key === "Enter" && this.at >= 0 && this.onOpen && e.target === this.host) {
      this.onOpen(this.rows[this.at]);
    }
  }
}

/* ---- summary, procedures ---- */
$("title").textContent = P.store;
$("subtitle").textContent = P.subtitle;
for (const s of P.advice) {
  /* "NAME: why": the name opens its details */
  const colon = s.indexOf(": "), row = colon > 0 && P.rows.find((r) => r[0] === s.slice(0, colon));
  $("advice").append(row ? element("li", {}, element("button", { class: "open", onclick: () => open(row) }, row[0]), s.slice(colon)) : element("li", {}, s));
}
show("summary", "Summary");
show("procedures", "Procedures");

/* A row: [procedure, image index, samples of event 0, 1, ..., index in details or -1] */
const nEvents = P.events.length, main = P.main_event, total = P.totals[main] || 1;
const columns = [];
P.events.forEach((e, k) => {
  columns.push({ head: e, value: (r) => r[2 + k], show: number });
  if (k === main) columns.push({ head: "%", value: (r) => 100 * r[2 + k] / total, show: share, bar: true });
});
columns.push({ head: "procedure", text: true, open: true, value: (r) => r[0] || "[no symbol]" });
columns.push({ head: "image", text: true, value: (r) => P.images[r[1]] });
const grid = new Grid($("grid"), columns, P.rows, open);
window.grid = grid;
const found = () => { $("found").textContent = `${number(grid.rows.length)} of ${number(P.rows.length)}`; };
found();
$("search").addEventListener("input", (e) => { grid.filter(e.target.value); found(); });
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== $("search")) { $("search").focus(); e.preventDefault(); }
});

/* ---- one procedure ---- */
/* The box begins at its hottest row: that is what one came for. */
function scrollToHottest(box) {
  const rows = [...box.querySelectorAll("tbody tr")], top = rows.reduce((a, b) => (+b.dataset.heat > +(a?.dataset.heat ?? 0) ? b : a), null);
  if (top) box.scrollTop = top.offsetTop - box.clientHeight / 3;
}

function plainTable(heads, rows, hot, heat) {
  const body = element("tbody");
  for (const r of rows)
    body.append(element("tr", { class: hot(r) ? "hot" : "", ...(heat && { "data-heat": String(heat(r)), "data-offset": String(r[0]) }) }, ...heads.map(([, kind, value]) => element("td", { class: kind }, value(r) ?? ""))));
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table: " + heads.map((h) => h[0]).join(", ") },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads.map(([h, kind]) => element("th", { class: kind, scope: "col" }, h)))), body));
  if (heat) requestAnimationFrame(() => scrollToHottest(box));
  return box;
}

function open(row) {
  const d = row[2 + nEvents] >= 0 ? P.details[row[2 + nEvents]] : null, body = $("detail-body");
  if ($("detail").hidden) show("detail", "Procedure");
  $("h-detail").textContent = `${row[0] || "[no symbol]"} in ${P.images[row[1]]}`;
  body.replaceChildren();
  if (!d) {
    body.append(element("p", {}, "Not among the procedures that this page details. Run: ", element("code", {}, `cyclescope list '${row[0]}' --store ${P.store}`)));
  } else {
    const all = d.samples || 1, percent = (n) => n ? share(100 * n / all) : "";
    if (d.sentence) body.append(element("p", {}, element("strong", {}, d.sentence)));
    if (d.advice) body.append(element("p", {}, "What usually helps: " + d.advice + "."));
    if (d.trouble) body.append(element("p", { class: "hint" }, d.trouble));
    if (d.causes && d.causes.length) {
      body.append(element("h3", {}, "Where its cycles went"));
      body.append(plainTable([["%", "n", (r) => share(r[1])], ["between", "n", (r) => r[2] == null ? "" : share(r[2]) + " and " + share(r[3])], ["cause", "t", (r) => r[0]]], d.causes, (r) => r[1] >= 10));
    }
    if (d.lines.length) {
      body.append(element("h3", {}, "Source: " + d.file));
      body.append(plainTable([["samples", "n", (r) => r[1] ? number(r[1]) : ""], ["%", "n p", (r) => percent(r[1])], ["line", "n", (r) => r[0]], ["source", "c", (r) => r[2]]], d.lines, (r) => r[1] >= 0.1 * all, (r) => r[1]));
    }
    if (d.instructions.length) {
      body.append(element("h3", {}, "Instructions"));
      const bubbles = (r) => (r[5] || []).join("; ");
      body.append(plainTable([["samples", "n", (r) => r[1] ? number(r[1]) : ""], ["%", "n p", (r) => percent(r[1])], ["cycles", "n", (r) => r[4] == null ? "" : r[4].toFixed(1)],
        ["offset", "n", (r) => r[0]], ["line", "n", (r) => r[2] || ""], ["instruction", "c", (r) => r[3]], ["culprits", "t bubble", bubbles]], d.instructions, (r) => r[1] >= 0.1 * all, (r) => r[1]));
    }
    if (d.cfg) controlFlow(body, d);
  }
  $("h-detail").focus();
  $("detail").scrollIntoView();
}

/* ---- control flow: graphviz's layout, our colours; a click on a block shows its instructions ---- */
function controlFlow(body, d) {
  body.append(element("h3", {}, "Control flow"), element("p", { class: "hint" },
    "A block's colour is its share of the samples, an arrow's width and number how often control went there (relative; x is the block's). " +
    "A click on a block, or Enter, shows its instructions." + (d.cfg.shown < d.cfg.blocks ? ` Drawn are the ${d.cfg.shown} hottest of ${d.cfg.blocks} blocks.` : "")));
  const box = element("div", { class: "scroll cfg", tabindex: "0", role: "region", "aria-label": "Control-flow graph" });
  box.innerHTML = d.cfg.svg;
  const svg = box.querySelector("svg"), wide = svg.viewBox.baseVal.width, high = svg.viewBox.baseVal.height;
  svg.querySelectorAll("title").forEach((t) => t.remove());
  let scale = 1;
  const zoom = (to) => { scale = Math.max(0.1, Math.min(4, to)); svg.setAttribute("width", wide * 1.2 * scale); svg.setAttribute("height", high * 1.2 * scale); };
  const button = (text, label, to) => element("button", { class: "tool", "aria-label": label, title: label, onclick: () => zoom(to()) }, text);
  body.append(element("div", { class: "bar" }, button("+", "Zoom in", () => scale * 1.25), button("−", "Zoom out", () => scale / 1.25),
    button("1:1", "Readable size", () => 1), button("fit", "Whole graph", () => Math.min(box.clientWidth / wide, box.clientHeight / high) / 1.25)), box);
  box.addEventListener("keydown", (e) => { if (e.key === "+" || e.key === "=") zoom(scale * 1.25); else if (e.key === "-") zoom(scale / 1.25); });
  const go = (node) => {
    const row = body.querySelector(`tr[data-offset="${node.id.slice(1)}"]`);
    if (!row) return;
    row.closest(".scroll").scrollTop = row.offsetTop - 40;
    row.closest(".scroll").scrollIntoView({ block: "nearest" });
    body.querySelectorAll("tr.on").forEach((r) => r.classList.remove("on"));
    row.classList.add("on");
  };
  const nodes = [...svg.querySelectorAll("g.node")].filter((n) => /^b[0-9a-f]+$/.test(n.id));
  for (const node of nodes) {
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "button");
    node.setAttribute("aria-label", "Block " + [...node.querySelectorAll("text")].map((t) => t.textContent).join(", "));
    node.addEventListener("click", () => go(node));
    node.addEventListener("keydown", (e) => { if (e.key === "Enter") go(node); });
  }
  zoom(1);
  const heat = (n) => +(/\bh([0-5])\b/.exec(n.getAttribute("class")) || [0, 0])[1], hottest = nodes.reduce((a, b) => (heat(b) > heat(a) ? b : a), nodes[0]);
  requestAnimationFrame(() => { /* begins at the hottest block */
    const at = hottest.getBoundingClientRect(), of = box.getBoundingClientRect();
    box.scrollTop += at.top - of.top - of.height / 2;
    box.scrollLeft += at.left - of.left - of.width / 2;
  });
}

/* ---- observed ---- */
if (P.observed) {
  const o = P.observed;
  show("tags", "Tags");
  $("tags-body").append(element("p", {}, o.sentence));
  const heads = [["cycles", "n", (r) => number(r[1])], ["%", "n p", (r) => share(100 * r[1] / o.cycles)], ["samples", "n", (r) => number(r[2])], ["visits", "n", (r) => number(r[3])]];
  o.counters.forEach((c, k) => heads.push([c + " / 1000 cycles", "n", (r) => r[4 + k] == null ? "" : r[4 + k].toFixed(3)]));
  heads.push([o.tag || "tag", "t", (r) => r[0]]);
  $("tags-body").append(plainTable(heads, o.rows, () => false));
  show("histograms", "Histograms");
  for (const h of o.histograms) chart($("hist-body"), h.title, [h.x, h.y], [h.edges, h.shares], "bars");
  for (const j of o.joint) heatmap($("hist-body"), j);
}
if (P.timeline && P.timeline.length) {
  show("timeline", "Time line");
  for (const t of P.timeline) chart($("time-body"), t.title, t.heads, t.columns, "line");
  if (P.phases && P.phases.length) {
    $("time-body").append(element("h3", {}, "Phases: stretches that spend their time alike; one letter is one phase that came back"));
    $("time-body").append(plainTable([["phase", "t", (r) => r[0]], ["from s", "n", (r) => r[1].toFixed(1)], ["for s", "n", (r) => r[2].toFixed(1)],
      ["samples", "n", (r) => number(r[3])], ["%", "n", (r) => r[3] ? share(r[5]) : ""], ["mostly", "t", (r) => r[3] ? r[4] : ""]], P.phases, () => false));
  }
}

/* ---- comparison ---- */
if (P.compare) {
  show("compare", "Comparison");
  $("compare-note").textContent = P.compare.note;
  const mark = (r) => r[4] ? (r[2] > r[1] ? "worse" : "better") : "";
  window.compareGrid = new Grid($("compare-body"), [
    { head: "A", value: (r) => r[1], show: fine }, { head: "B", value: (r) => r[2], show: fine },
    { head: "B − A", value: (r) => r[2] - r[1], show: fine, mark }, { head: "B / A", value: (r) => r[3], show: (v) => v == null ? "" : v.toFixed(2) },
    { head: "real?", value: (r) => (r[4] ? "yes" : "no"), text: true }, { head: "procedure", text: true, value: (r) => r[0] }, { head: "image", text: true, value: (r) => r[5] }], P.compare.rows, null);
  $("compare-body").classList.add("scroll");
  window.compareGrid.draw();
}
