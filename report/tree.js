/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call tree: the boxes of the flame graph as a table, from the one zoomed into. The hot way is open when it begins. */
"use strict";
const TREE_LEAST = 0.001, TREE_ROWS_MAX = 2000;

class CallTree {
  constructor(host, flame) {
    Object.assign(this, { host, flame, open: new Set(), top: null });
    const heads = [["total %", "n"], ["self %", "n"], ["samples", "n spare"], ...(flame.samples[1] ? [["B − A", "n"]] : []), ["function", ""], ["image", "spare"]];
    this.body = element("tbody");
    this.more = element("caption", { class: "hint" });
    host.append(element("table", { role: "treegrid", "aria-label": "Call tree" }, this.more, element("thead", {}, element("tr", {}, ...heads.map(([h, c]) => element("th", { class: c, scope: "col" }, h)))), this.body));
    this.unit = host.querySelectorAll("th")[2];
    this.body.addEventListener("keydown", (e) => this.press(e));
    flame.follow = () => this.show();
    this.show();
  }
  kids(box) { const least = TREE_LEAST * this.flame.size(this.top); return this.flame.sorted(box).filter((k) => this.flame.size(k) >= least); }
  /* Opens the way down as long as one child has at least half of it; `all`: everything with a twentieth of it. */
  openHot(box, all) {
    const whole = this.flame.size(box), stack = [box];
    for (let n = 0; stack.length && n < 400; n++) {
      const at = stack.pop();
      this.open.add(at);
      stack.push(...this.kids(at).filter((k) => this.flame.size(k) >= (all ? 0.05 * whole : 0.5 * this.flame.size(at))));
    }
  }
  show() {
    if (this.top !== this.flame.top) {
      this.top = this.flame.top;
      this.at = this.top;
      this.open.clear();
      this.openHot(this.top, false);
    }
    this.draw();
  }
  draw() {
    const f = this.flame, all = f.size(f.root) || 1, rows = [], stack = [[this.top, 0]];
    while (stack.length && rows.length < TREE_ROWS_MAX) {
      const [box, depth] = stack.pop();
      rows.push([box, depth]);
      if (this.open.has(box)) stack.push(...this.kids(box).reverse().map((k) => [k, depth + 1]));
    }
    this.unit.textContent = f.waiting ? "s" : "samples";
    const had = this.body.contains(document.activeElement);
    this.rows = rows.map(([box, depth]) => {
      const some = this.kids(box).length > 0, open = this.open.has(box), d = f.change(box);
      const row = element("tr", { role: "row", tabindex: box === this.at ? "0" : "-1", "aria-level": depth + 1, ...(some && { "aria-expanded": String(open) }), class: f.found(box) ? "found" : "" },
        element("td", { class: "n bar-cell", style: `--part:${Math.min(100, 100 * f.size(box) / all)}%` }, share(100 * f.size(box) / all)), element("td", { class: "n" }, share(100 * box.self[f.by] / all)),
        element("td", { class: "n spare" }, f.count(f.size(box))), f.samples[1] ? element("td", { class: "n " + (d > 0.1 ? "worse" : d < -0.1 ? "better" : "") }, f.after ? (d > 0 ? "+" : "") + share(d) : "") : null,
        element("td", { class: "t name", style: `--depth:${Math.min(depth, 40)}`, title: box.name }, element("span", { class: "turn", "aria-hidden": "true", onclick: () => this.turn(box) }, some ? (open ? "▾" : "▸") : ""), box.brief + (box.inlined ? " (inlined)" : "")),
        element("td", { class: "t spare" }, box.image));
      row.box = box;
      row.addEventListener("click", () => { this.at = box; this.focus(); });
      row.addEventListener("dblclick", () => this.turn(box));
      return row;
    });
    this.more.textContent = rows.length >= TREE_ROWS_MAX ? `The first ${number(TREE_ROWS_MAX)} rows.` : "";
    this.body.replaceChildren(...this.rows);
    if (had) this.focus();
  }
  turn(box) {
    if (this.open.has(box)) this.open.delete(box); else this.open.add(box);
    this.at = box;
    this.draw();
  }
  focus() {
    const row = this.rows.find((r) => r.box === this.at) || this.rows[0];
    for (const r of this.rows) r.tabIndex = r === row ? 0 : -1;
    this.at = row.box;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }
  press(e) {
    const i = this.rows.findIndex((r) => r === document.activeElement), box = i >= 0 && this.rows[i].box, move = (k) => { if (this.rows[k]) { this.at = this.rows[k].box; this.focus(); } };
    if (!box) return;
    if (e.key === "ArrowDown") move(i + 1);
    else if (e.key === "ArrowUp") move(i - 1);
    else if (e.key === "Home") move(0);
    else if (e.key === "End") move(this.rows.length - 1);
    else if (e.key === "ArrowRight") { if (this.open.has(box)) move(i + 1); else if (this.kids(box).length) this.turn(box); }
    else if (e.key === "ArrowLeft") { if (this.open.has(box) && this.kids(box).length) this.turn(box); else move(this.rows.findIndex((r) => r.box === box.up)); }
    else if (e.key === "*") { this.openHot(box, true); this.draw(); }
    else if (e.key === "Enter") this.flame.zoom(box);
    else if (e.key === "Escape" && this.top.up) this.flame.zoom(this.top.up);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }
}
if (window.flame) {
  show("tree", "Call tree");
  window.callTree = new CallTree($("tree-body"), window.flame);
}
if (P.observed) observed(P.observed);
if (P.timeline && P.timeline.length) overTime();
if (P.compare) comparison(P.compare);
