/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page: everything is drawn from the JSON in #profile (its members: see docs/json.md, "report"). All text of it is set as text,
 * never as HTML: it comes from profiled programs. */
"use strict";
const P = JSON.parse(document.getElementById("profile").textContent);
const $ = (id) => document.getElementById(id);

const sections = [];
function show(id, label) {
  $(id).hidden = false;
  sections.push(id);
  $("nav").append(element("a", { href: "#" + id, onclick: (e) => { e.preventDefault(); State.set({ at: id }); goTo(id); } }, label));
}
function goTo(id) {
  if (!sections.includes(id)) return;
  $(id).scrollIntoView();
  const into = $(id).querySelector(".scroll[tabindex], .frame[tabindex='0'], .chart") || $(id).querySelector("h2");
  into.focus({ preventScroll: true });
}

const nEvents = P.events.length, main = P.main_event, total = P.totals[main] || 1;
/* Short where that is clear: without template arguments and parameters. */
const shorts = new Map();
for (const r of P.rows) if (r[4 + P.events.length]) shorts.set(r[4 + P.events.length], (shorts.get(r[4 + P.events.length]) || 0) + 1);
const shortName = (r) => (r[4 + P.events.length] && shorts.get(r[4 + P.events.length]) === 1 ? r[4 + P.events.length] : r[0] || "[no symbol]");
/* ---- summary ---- */
document.title = P.store + " – cyclescope";
$("title").textContent = P.store;
$("subtitle").textContent = P.subtitle;
const rowsByName = new Map();
for (const r of P.rows) if (r[0]) (rowsByName.get(r[0]) || rowsByName.set(r[0], []).get(r[0])).push(r);
const together = (s) => s.replace(/(\d) (?=%|s\b|MB\b|points\b)/g, "$1\u00a0"); /* a number and its unit, in one line */
P.advice.forEach((s, i) => {
  /* "NAME: why": the name opens its details */
  const colon = s.indexOf(": "), row = colon > 0 && rowsByName.get(s.slice(0, colon))?.[0];
  const said = row ? [element("button", { class: "open", onclick: () => open(row), title: row[0] }, shortName(row)), together(s.slice(colon))] : [together(s)];
  if (i === 0) $("lead").append(...said); else $("advice").append(element("li", {}, ...said));
});
show("summary", "Summary");

/* ---- threads, or what else was kept apart ---- */
const labelName = (name) => name || "[unlabelled]";
const labelled = P.labels ? new Map(P.labels.names.map((name, i) => [labelName(name), { name: labelName(name), samples: P.labels.totals[i], rows: new Map() }])) : new Map();
if (P.labels)
  for (let i = 0; i < P.labels.cells.length; i += 3) {
    const rows = labelled.get(labelName(P.labels.names[P.labels.cells[i + 1]])).rows, row = P.rows[P.labels.cells[i]];
    rows.set(row, (rows.get(row) || 0) + P.labels.cells[i + 2]);
  }
const thread = () => labelled.get(State.get("t")) || null;
const labelKind = P.labels?.kind || "label";
if (P.labels) {
  $("h-threads").textContent = { thread: "Threads", process: "Processes", command: "Commands", container: "Containers", cgroup: "Control groups" }[labelKind] || "Labels";
  $("threads-note").textContent = `Choose a ${labelKind}: functions, flame graph and call tree follow the choice.` + (P.labels.left ? ` ${number(P.labels.left)} more, with ${share(100 * P.labels.left_samples / total)} % of the samples, aren't separate here.` : "");
  show("threads", $("h-threads").textContent);
  const first = (l) => [...l.rows].reduce((a, b) => (b[1] > a[1] ? b : a), [null, 0])[0];
  window.threadGrid = new Grid($("threads-grid"), $("h-threads").textContent, [
    { head: P.events[main], spare: true, value: (l) => l.samples, show: number }, { head: "%", value: (l) => 100 * l.samples / total, show: share, bar: true },
    { head: labelKind, text: true, open: true, value: (l) => l.name },
    { head: "mostly", text: true, value: (l) => { const r = first(l); return r ? shortName(r) : ""; } }], [...labelled.values()].sort((a, b) => b.samples - a.samples),
    (l) => State.set({ t: State.get("t") === l.name ? "" : l.name, z: "" }));
  window.threadGrid.chosen = (l) => l === thread();
  State.watch(() => window.threadGrid.draw());
}
/* "Only THREAD ✕", wherever it matters */
State.watch(() => {
  for (const place of document.querySelectorAll(".only"))
    place.replaceChildren(...(thread() ? [element("button", { class: "chip", onclick: () => State.set({ t: "", z: "" }), "aria-label": `Only ${thread().name}: show all again` }, `only ${thread().name} ✕`)] : []));
});

/* ---- procedures ---- */
/* A row: [procedure, image index, samples of event 0, 1, ..., index in details or -1, samples with what it called or null,
 * short name where it differs] */
const columns = [];
const samplesOf = (r) => (thread() ? thread().rows.get(r) ?? 0 : r[2 + main]);
P.events.forEach((e, k) => {
  columns.push({ head: e, spare: k === main, value: (r) => (k === main ? samplesOf(r) : thread() ? null : r[2 + k]), show: number });
  if (k !== main) return;
  columns.push({ head: "%", value: (r) => 100 * samplesOf(r) / (thread()?.samples || total), show: share, bar: true });
  if (P.with_chains) columns.push({ head: "total %", value: (r) => (thread() || r[3 + nEvents] == null ? null : 100 * r[3 + nEvents] / P.with_chains), show: share });
});
columns.push({ head: "function", text: true, open: true, value: (r) => r[0] || "[no symbol]", brief: shortName });
columns.push({ head: "image", spare: true, text: true, value: (r) => P.images[r[1]] });
show("procedures", "Functions");
const grid = new Grid($("grid"), "Functions", columns, P.rows, (r) => open(r), (o) => State.set({ o }));
window.grid = grid;
let gridShows = null;
State.watch(() => {
  const now = [State.get("q"), State.get("o"), State.get("t")].join("\0");
  if (now === gridShows) return;
  gridShows = now;
  if ($("search").value !== State.get("q")) $("search").value = State.get("q");
  grid.all = thread() ? P.rows.filter((r) => thread().rows.has(r)).sort((a, b) => samplesOf(b) - samplesOf(a)) : P.rows;
  grid.words = State.get("q").toLowerCase();
  grid.order(State.get("o"));
  const sum = grid.rows.reduce((n, r) => n + samplesOf(r), 0);
  $("found").textContent = `${number(grid.rows.length)} of ${number(grid.all.length)}` + (grid.words ? `, ${share(100 * sum / (thread()?.samples || total))} % of the samples` : "");
});
$("search").addEventListener("input", (e) => State.set({ q: e.target.value }, true));
$("cut").textContent = (P.cut || []).join(" ");

/* ---- observed ---- */
function observed(o) {
  show("tags", "Tags");
  $("tags-body").append(element("p", {}, o.sentence));
  for (const t of o.tags) {
    const heads = [["TSC cycles", "n", (r) => number(r[1])], ["%", "n p", (r) => (r[0] === "(target not running)" ? "" : share(100 * r[1] / t.cycles))], ["samples", "n spare", (r) => number(r[2])], ["visits", "n spare", (r) => number(r[3])]];
    o.counters.forEach((c, k) => heads.push([c, "n", (r) => r[4 + k] == null ? "" : r[4 + k].toFixed(3)]));
    heads.push([t.tag || "tag", "t", (r) => r[0]]);
    $("tags-body").append(plainTable("Observed tags", heads, t.rows, () => false));
  }
  show("histograms", "Histograms");
  for (const h of o.histograms) histogram($("hist-body"), h);
  for (const j of o.joint) heatmap($("hist-body"), j);
}
function overTime() {
  show("timeline", "Time line");
  for (const t of P.timeline) chart($("time-body"), t.title, t.heads, t.columns);
  if (!P.phases || !P.phases.length) return;
  $("time-body").append(element("h3", {}, "Phases: parts of the run whose time is spread over functions in the same way; equal letters are one phase"));
  $("time-body").append(plainTable("Phases", [["phase", "t", (r) => r[0]], ["from s", "n", (r) => r[1].toFixed(1)], ["for s", "n", (r) => r[2].toFixed(1)],
    ["samples", "n spare", (r) => number(r[3])], ["%", "n", (r) => r[3] ? share(r[5]) : ""], ["mostly", "t", (r) => r[3] ? r[4] : ""]], P.phases, () => false));
}

/* ---- comparison ---- */
function comparison(c) {
  show("compare", "Comparison");
  $("compare-note").textContent = c.note;
  const mark = (r) => r[4] ? (r[2] > r[1] ? "worse" : "better") : "";
  window.compareGrid = new Grid($("compare-body"), "Comparison", [
    { head: "A", value: (r) => r[1], show: fine }, { head: "B", value: (r) => r[2], show: fine },
    { head: "B − A", value: (r) => r[2] - r[1], show: fine, mark }, { head: "B / A", value: (r) => r[3], show: (v) => v == null ? "" : v.toFixed(2) },
    { head: "real?", value: (r) => (r[4] ? "yes" : "no"), text: true }, { head: "function", text: true, open: true, value: (r) => r[0] }, { head: "image", text: true, value: (r) => r[5] }], c.rows,
    (r) => { const row = rowsByName.get(r[0])?.[0]; if (row) open(row); });
}
