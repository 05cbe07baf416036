/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is shown stands in the address, after the #, as KEY=VALUE&KEY=VALUE: so the back button goes back, and a link shows somebody
 * else the same. Views read it (State.get) when told (State.watch); what a reader does sets it (State.set). Nothing else is kept.
 *   p procedure (i its image, where several have the name)   q filter of procedures   o its order   t thread or label
 *   s search in the flame graph   z frame zoomed into   c colours   v=inside from inside out   d=1 difference   w=b widths of B
 *   f=waits flame graph of waits   vN, hN views of charts   at section */
"use strict";
const State = {
  values: new Map(), watchers: [],
  parse(hash) {
    const values = new Map(), text = hash.replace(/^#/, "");
    if (/^[a-z]+$/.test(text)) return values.set("at", text); /* a section alone */
    const plain = (s) => { try { return decodeURIComponent(s); } catch { return s; } }; /* typed by hand: as it stands */
    for (const part of text.split("&")) {
      const at = part.indexOf("=");
      if (at > 0) values.set(part.slice(0, at), plain(part.slice(at + 1)));
    }
    return values;
  },
  text() { return "#" + [...this.values].map(([k, v]) => k + "=" + encodeURIComponent(v)).join("&"); },
  get(key) { return this.values.get(key) ?? ""; },
  /* changes: KEY: value, "" forgets it. keep: no entry of its own in the history (while somebody types). */
  set(changes, keep) {
    const before = this.text();
    for (const [k, v] of Object.entries(changes))
      if (v === "" || v == null) this.values.delete(k); else this.values.set(k, String(v));
    const now = this.text();
    if (now === before) return;
    try {
      if (keep) history.replaceState(null, "", now); else history.pushState(null, "", now);
    } catch { /* a page in a frame may not: it works without an address */ }
    this.tell();
  },
  watch(view) { this.watchers.push(view); },
  tell() { for (const view of this.watchers) view(); },
  read() {
    const before = this.text();
    this.values = this.parse(location.hash);
    if (this.text() !== before) this.tell();
  },
};
window.addEventListener("popstate", () => State.read());
window.addEventListener("hashchange", () => State.read());
State.values = State.parse(location.hash);
