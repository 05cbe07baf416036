/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where threads waited: all their time, and the waits by place. A place opens the flame graph of waits, with its boxes marked.
 * A row: [s, %, waits, median ms, longest ms, kind, where, image, thread, object, ended by, meanwhile, waits for work,
 * wait or idle or either]. A column without a value in any row is left out. */
"use strict";
function waits(w) {
  show("waits", "Waits");
  $("waits-note").textContent = `${number(w.threads)} thread${w.threads === 1 ? "" : "s"}, ${number(w.seconds)} s of their time in all: exact.`;
  $("waits-time").append(plainTable("All threads' time", [["s", "n", (r) => fine(r[1])], ["%", "n p", (r) => share(r[2])], ["times", "n", (r) => number(r[3])], ["all threads' time", "t", (r) => r[0]]], w.time.filter((r) => r[1] >= 0.0005), () => false));
  $("waits-places").textContent = "Estimated from the waits that were kept; idle rows come last. A place opens its call chains." + (w.left ? ` ${number(w.left)} more places aren't shown.` : "");
  window.waitsGrid = new Grid($("waits-grid"), "Waits", [
    { head: "s", spare: true, value: (r) => r[0], show: fine }, { head: "%", value: (r) => r[1], show: share, bar: true }, { head: "waits", spare: true, value: (r) => r[2], show: number },
    { head: "median ms", spare: true, value: (r) => r[3], show: fine }, { head: "longest ms", spare: true, roomy: true, value: (r) => r[4], show: share },
    { head: "is", spare: true, text: true, value: (r) => r[13] }, { head: "for", text: true, value: (r) => r[5] }, { head: "in", text: true, open: true, title: (r) => `${r[6] || "[libc or kernel]"} in ${r[7]}`, value: (r) => r[6] || "[libc or kernel]" },
    { head: "who meanwhile was", text: true, value: (r) => r[11], mark: () => "wide" }, { head: "ended by", spare: true, text: true, value: (r) => r[10], mark: () => "by" },
    { head: "thread", spare: true, text: true, value: (r) => r[8] }, { head: "object", spare: true, roomy: true, text: true, value: (r) => r[9], mark: () => "slim" }].filter((c) => w.rows.some((r) => c.value(r) != null)), w.rows,
    (r) => { State.set({ f: "waits", s: r[6] || "", z: "", t: "" }); goTo("flame"); });
}
if (P.waits) waits(P.waits);
