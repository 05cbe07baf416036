/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables: one of very many rows that draws those in view, and a plain one. */
"use strict";
const numbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 }), number = (n) => n == null ? "" : numbers.format(n);
const fine = (n) => n == null ? "" : Math.abs(n) < 0.0005 ? "0" : n.toFixed(3);
const share = (n) => n == null || !isFinite(n) ? "" : n.toFixed(1);
const ROW = 26, PRINTED_ROWS = 40;

/* columns: head, value(row); text or a number; show(value); bar: a share as a bar; spare: not on a narrow page; roomy: on a wide one only; open: its button opens the row; title(row): shown at the pointer, else its text; mark(row): a
 * class. onOrder(text) is told the order when a head is clicked, as order() takes it. */
class Grid {
  constructor(host, label, columns, rows, onOpen, onOrder) {
    Object.assign(this, { host, columns, all: rows, rows, onOpen, onOrder, by: -1, down: true, at: -1, words: "" });
    this.head = element("tr", {}, ...columns.map((c, i) => element("th", { class: (c.text ? "" : "n") + (c.spare ? " spare" : "") + (c.roomy ? " roomy" : ""), scope: "col", "aria-sort": "none" },
      element("button", { onclick: () => this.click(i) }, c.head))));
    this.body = element("tbody");
    this.more = element("caption", { class: "hint" });
    this.table = element("table", {}, this.more, element("thead", {}, this.head), this.body);
    for (const [k, v] of Object.entries({ tabindex: "0", role: "region", "aria-label": label + ": arrows move, Enter opens" })) host.setAttribute(k, v);
    host.replaceChildren(this.table);
    host.addEventListener("scroll", () => { if (!this.asked) { this.asked = true; requestAnimationFrame(() => { this.asked = false; this.draw(); }); } });
    host.addEventListener("keydown", (e) => this.key(e));
    matchMedia("print").addEventListener("change", () => this.draw());
    this.draw();
  }
  click(i) {
    const down = this.by === i ? !this.down : !this.columns[i].text;
    if (this.onOrder) this.onOrder((down ? "-" : "") + i); else this.order((down ? "-" : "") + i);
  }
  order(text) { /* "3": by the third column, "-3": downwards, "": as given */
    const i = /^-?\d+$/.test(text) ? Math.abs(+text) : -1, c = this.columns[i];
    this.by = c ? i : -1;
    this.down = text.startsWith("-");
    [...this.head.children].forEach((th, k) => th.setAttribute("aria-sort", c && k === i ? (this.down ? "descending" : "ascending") : "none"));
    this.filter(this.words);
  }
  filter(words) {
    this.words = words.toLowerCase();
    const text = this.columns.filter((c) => c.text), c = this.columns[this.by], sign = this.down ? -1 : 1;
    this.rows = this.words ? this.all.filter((r) => text.some((k) => String(k.value(r) ?? "").toLowerCase().includes(this.words))) : this.all.slice();
    if (c) this.rows.sort((a, b) => {
      const x = c.value(a), y = c.value(b);
      return sign * (c.text ? String(x ?? "").localeCompare(String(y ?? "")) : (x ?? -Infinity) - (y ?? -Infinity));
    });
    this.at = -1;
    this.host.scrollTop = 0;
    this.draw();
  }
  row(i) {
    const r = this.rows[i], row = element("tr", { "aria-rowindex": i + 2, class: (i === this.at ? "on" : "") + (this.chosen && this.chosen(r) ? " chosen" : "") });
    for (const c of this.columns) {
      const value = c.value(r), text = c.show ? c.show(value) : value ?? "";
      const cell = element("td", { class: (c.text ? "t" : "n") + (c.spare ? " spare" : "") + (c.roomy ? " roomy" : "") + (c.mark ? " " + c.mark(r) : ""), title: c.title ? c.title(r) : c.text ? text : "" });
      cell.append(c.open ? element("button", { class: "open", tabindex: "-1", onclick: () => { this.at = i; this.onOpen(r); } }, c.brief ? c.brief(r) : text) : text);
      if (c.bar) cell.style.setProperty("--part", Math.min(100, value || 0) + "%"), cell.classList.add("bar-cell");
      row.append(cell);
    }
    return row;
  }
  draw() {
    const printed = printNow(), first = printed ? 0 : Math.max(0, Math.floor(this.host.scrollTop / ROW) - 10);
    const n = printed ? PRINTED_ROWS : Math.ceil(this.host.clientHeight / ROW) + 20, last = Math.min(this.rows.length, first + n);
    const had = this.body.contains(document.activeElement), out = [];
    const blank = (high) => element("tr", { "aria-hidden": "true" }, element("td", { colspan: this.columns.length, style: `height:${high * ROW}px` }));
    if (first) out.push(blank(first));
    for (let i = first; i < last; i++) out.push(this.row(i));
    if (last < this.rows.length && !printed) out.push(blank(this.rows.length - last));
    this.more.textContent = printed && last < this.rows.length ? `The first ${last} of ${number(this.rows.length)}` : "";
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
    this.body.replaceChildren(...out);
    if (had) this.focus();
  }
  focus() { (this.body.querySelector("tr.on button") || this.host).focus({ preventScroll: true }); }
  key(e) {
    const far = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e9, End: 1e9 }[e.key];
    if (!far || e.target.closest("th")) return;
    this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + far));
    const top = this.at * ROW;
    if (top < this.host.scrollTop) this.host.scrollTop = top;
    if (top + 2 * ROW > this.host.scrollTop + this.host.clientHeight) this.host.scrollTop = top + 3 * ROW - this.host.clientHeight;
    this.draw();
    this.focus();
    e.preventDefault();
  }
}

/* The box begins at its hottest row: that is what one came for. */
function scrollToHottest(box) {
  const rows = [...box.querySelectorAll("tbody tr")], top = rows.reduce((a, b) => (+b.dataset.heat > +(a?.dataset.heat ?? 0) ? b : a), null);
  if (top) box.scrollTop = top.offsetTop - box.clientHeight / 3;
}

/* heads: [head, class, value(row)]. hot(row): stands out; heat(row): for the place where it begins. Where there is heat, only
 * what is near a warm row is printed. */
function plainTable(label, heads, rows, hot, heat) {
  const body = element("tbody"), warm = heat && rows.map((r) => heat(r) > 0), near = (i) => { for (let k = i - 3; k <= i + 3; k++) if (warm[k]) return true; return false; };
  rows.forEach((r, i) => body.append(element("tr", { class: (hot(r) ? "hot" : "") + (warm && !near(i) ? " far" : ""), ...(heat && { "data-heat": String(heat(r)), "data-offset": String(r[0]) }) },
    ...heads.map(([, kind, value]) => element("td", { class: kind }, value(r) ?? "")))));
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads.map(([h, kind]) => element("th", { class: kind, scope: "col" }, h)))), body));
  if (heat) requestAnimationFrame(() => scrollToHottest(box));
  return box;
}
