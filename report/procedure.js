/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One procedure: why it is slow, its source, its instructions, its control flow. */
"use strict";
/* Which row an address means: the whole name, else the short one, else what a name begins with. */
function rowNamed(name, image) {
  const of = (rows) => (rows || []).find((r) => !image || P.images[r[1]] === image);
  return of(rowsByName.get(name)) || of(P.rows.filter((r) => r[4 + nEvents] === name)) || of(P.rows.filter((r) => r[0] && r[0].startsWith(name)));
}
function open(row) {
  const several = (rowsByName.get(row[0]) || []).length > 1;
  State.set({ p: row[0] || "[no symbol]", i: several || !row[0] ? P.images[row[1]] : "", at: "" });
  if (!$("detail").hidden) $("h-detail").focus({ preventScroll: true }), $("detail").scrollIntoView();
}

let opened = null;
State.watch(() => {
  const name = State.get("p"), image = State.get("i");
  const row = !name ? null : name === "[no symbol]" ? P.rows.find((r) => !r[0] && (!image || P.images[r[1]] === image)) : rowNamed(name, image);
  if (name && !row) {
    opened = null;
    $("detail").hidden = false;
    $("h-detail").textContent = name;
    $("detail-body").replaceChildren(element("p", {}, "No function of this name has samples here."));
  } else if (row !== opened) {
    opened = row;
    $("detail").hidden = !row;
    if (row) fillDetail(row);
  }
});

function fillDetail(row) {
  const d = row[2 + nEvents] >= 0 ? P.details[row[2 + nEvents]] : null, body = $("detail-body");
  $("h-detail").replaceChildren(row[0] || "[no symbol]", element("span", { class: "of" }, " in " + P.images[row[1]]));
  body.replaceChildren(element("p", { class: "hint" }, `${number(row[2 + main])} samples, ${share(100 * row[2 + main] / total)} % of all` +
    (row[3 + nEvents] != null && P.with_chains ? `; with what it called ${share(100 * row[3 + nEvents] / P.with_chains)} %` : "")));
  if (window.flame && window.flame.has(row[0]))
    body.append(element("p", {}, element("button", { class: "tool", onclick: () => { State.set({ s: row[0], f: "", z: "" }); goTo("flame"); } }, "Show in the flame graph")));
  if (!d) {
    body.append(element("p", {}, "Not among the functions that this page details. Run: ", element("code", {}, `cyclescope list '${row[0]}' --store ${P.store}`)));
    return;
  }
  const all = d.samples || 1, percent = (n) => n ? share(100 * n / all) : "";
  if (d.sentence) body.append(element("p", { class: "lead" }, d.sentence));
  if (d.advice) body.append(element("p", {}, "What usually helps: " + d.advice + "."));
  if (d.trouble) body.append(element("p", { class: "hint" }, d.trouble));
  if (d.causes && d.causes.length) {
    body.append(element("h3", {}, "Where its cycles went"));
    body.append(plainTable("Causes", [["%", "n", (r) => share(r[1])], ["between", "n", (r) => r[2] == null || share(r[2]) === share(r[3]) ? "" : share(r[2]) + " and " + share(r[3])], ["cause", "t", (r) => r[0]]], d.causes, (r) => r[1] >= 10));
  }
  if (d.lines.length) {
    body.append(element("h3", {}, "Source: " + d.file));
    body.append(plainTable("Source", [["samples", "n spare", (r) => r[1] ? number(r[1]) : ""], ["%", "n p", (r) => percent(r[1])], ["line", "n", (r) => r[0]], ["source", "c", (r) => r[2]]], d.lines, (r) => r[1] >= 0.1 * all, (r) => r[1]));
  }
  if (d.instructions.length) {
    body.append(element("h3", {}, "Instructions"));
    const bubbles = (r) => (r[5] || []).join("; ");
    body.append(plainTable("Instructions", [["samples", "n spare", (r) => r[1] ? number(r[1]) : ""], ["%", "n p", (r) => percent(r[1])], ["cycles", "n", (r) => r[4] == null ? "" : r[4].toFixed(1)],
      ["offset", "n spare", (r) => r[0]], ["line", "n spare", (r) => r[2] || ""], ["instruction", "c", (r) => r[3]], ["culprits", "t bubble", bubbles]], d.instructions, (r) => r[1] >= 0.1 * all, (r) => r[1]));
  }
  if (d.cfg) controlFlow(body, d);
}

/* ---- control flow: graphviz's layout, our colours; a click on a block shows its instructions ---- */
/* The picture is read as XML and built anew from the few elements and attributes that graphs have: whatever else stands in it,
 * and however it got there, isn't taken over. */
function safePicture(text) {
  const kept = { svg: ["viewBox", "width", "height"], g: ["id", "class", "transform"], polygon: ["points", "fill", "stroke", "stroke-width"], path: ["d", "fill", "stroke", "stroke-width"],
    ellipse: ["cx", "cy", "rx", "ry", "fill", "stroke"], text: ["x", "y", "text-anchor", "font-family", "font-size", "fill"] };
  const copy = (from) => {
    const to = document.createElementNS("http://www.w3.org/2000/svg", from.localName);
    for (const name of kept[from.localName]) if (from.hasAttribute(name)) to.setAttribute(name, from.getAttribute(name));
    if (from.localName === "text") to.textContent = from.textContent;
    else for (const child of from.children) if (kept[child.localName]) to.append(copy(child));
    return to;
  };
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return root.localName === "svg" && root.hasAttribute("viewBox") ? copy(root) : null;
}

function controlFlow(body, d) {
  const svg = safePicture(d.cfg.svg);
  if (!svg) return;
  body.append(element("h3", {}, "Control flow"), element("p", { class: "hint" },
    "A block's colour is its share of the samples, an arrow's width and number how often control went there (relative; x is the block's). " +
    "A click on a block, or Enter, shows its instructions." + (d.cfg.shown < d.cfg.blocks ? ` Drawn are the ${d.cfg.shown} hottest of ${d.cfg.blocks} blocks.` : "")));
  const box = element("div", { class: "scroll cfg", tabindex: "0", role: "region", "aria-label": "Control-flow graph" }, svg);
  const wide = svg.viewBox.baseVal.width, high = svg.viewBox.baseVal.height;
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
  const heat = (n) => +(/\bh([0-5])\b/.exec(n.getAttribute("class")) || [0, 0])[1], hottest = nodes.length && nodes.reduce((a, b) => (heat(b) > heat(a) ? b : a), nodes[0]);
  if (hottest) requestAnimationFrame(() => { /* begins at the hottest block */
    const at = hottest.getBoundingClientRect(), of = box.getBoundingClientRect();
    box.scrollTop += at.top - of.top - of.height / 2;
    box.scrollLeft += at.left - of.left - of.width / 2;
  });
}
