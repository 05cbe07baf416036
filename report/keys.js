/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys that work everywhere, their list, and the first drawing of what the address says. Comes last. */
"use strict";
const keyList = [["/", "filter functions; once more: search in the flame graph"], ["?", "this list"], ["Escape", "leave a field, zoom out, close"],
  ["Tab", "to the next part; each table and graph is one stop"], ["1 to 9", "go to a section, in the order of the line at the top"],
  ["↑ ↓ Page Home End", "move in a table"], ["Enter", "open a row; zoom into a frame"], ["← → ↑ ↓", "move in the flame graph; open and close in the call tree"],
  ["o", "open the function of a frame"], ["+ − 0", "zoom a chart or graph, and the whole again"], ["Alt ←", "back to what was shown before"]];
$("keys-table").append(...keyList.map(([k, what]) => element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, k)), element("td", {}, what))));
$("nav").append(element("button", { class: "tool keys", "aria-haspopup": "dialog", onclick: () => $("keys").showModal() }, "? keys"));

document.addEventListener("keydown", (e) => {
  const typing = e.target.matches("input[type=search], select, textarea");
  if (e.ctrlKey || e.metaKey || e.altKey || $("keys").open) return;
  if (e.key === "Escape" && typing) { e.target.blur(); return; }
  if (e.key === "/" && (!typing || (e.target.id === "search" && !e.target.value))) {
    const second = document.activeElement === $("search") && document.querySelector("#flame input[type=search]");
    (second || $("search")).focus();
    e.preventDefault();
  } else if (typing) return;
  else if (e.key === "?") $("keys").showModal();
  else if (/^[1-9]$/.test(e.key) && sections[+e.key - 1]) { State.set({ at: sections[+e.key - 1] }); goTo(sections[+e.key - 1]); }
  else return;
  e.preventDefault();
});
/* A link of the page's own, typed by hand or followed: #SECTION */
State.watch(() => { if (State.get("at") && State.get("at") !== wentTo) goTo(State.get("at")); wentTo = State.get("at"); });
let wentTo = "";
State.tell();
/* once more when the browser has followed the address its own way, which takes the focus */
if (State.get("at")) window.addEventListener("load", () => setTimeout(() => goTo(State.get("at"))));
if (State.get("p") && !State.get("at") && opened) $("detail").scrollIntoView();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
