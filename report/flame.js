/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flame graph: call chains as boxes, as wide as their samples. Data: docs/json.md, "report", chains. One tree of boxes is
 * grown for what is chosen (label, direction, one recording or the difference of two), and drawn from the box zoomed into. */
"use strict";
const FLAME_ROW = 20, FLAME_LEAST_PX = 1.5;

/* Adds the chains of one recording (side 0 or 1) below `root`. */
function growFlame(root, all, chains, side, label, inverted) {
  const child = (at, f, inlined) => {
    const [brief, name, image, known] = chains.functions[f], of = image < 0 ? "" : chains.images[image];
    const key = name + "\0" + of + (inlined ? "\0i" : "");
    let kid = at.kids.get(key);
    if (!kid) {
      kid = { brief, name, image: of, known, inlined, total: [0, 0], self: [0, 0], kids: new Map(), up: at, depth: at.depth + 1 };
      at.kids.set(key, kid);
      all.push(kid);
    }
    return kid;
  };
  for (const tree of chains.trees) {
    if (label != null && tree.label !== label) continue;
    const nodes = tree.nodes, at = [root];
    for (let i = 0, k = 1; i < nodes.length; i += 4, k++) {
      if (!inverted) {
        at[k] = child(at[nodes[i]], nodes[i + 1], nodes[i + 2]);
        at[k].self[side] += nodes[i + 3];
      } else if (nodes[i + 3]) {
        let box = root;
        for (let n = k; n > 0; n = nodes[4 * (n - 1)]) box = child(box, nodes[4 * (n - 1) + 1], nodes[4 * (n - 1) + 2]);
        box.self[side] += nodes[i + 3];
      }
    }
  }
}

class Flame {
  constructor(host, before, after) {
    Object.assign(this, { host, before, after, label: null, inverted: false, words: "", difference: false, by: 0 });
    const labels = [...new Set([...before.trees, ...(after ? after.trees : [])].map((t) => t.label))].sort();
    const box = (text, set) => element("label", {}, element("input", { type: "checkbox", onchange: (e) => { set(e.target.checked); this.grow(); } }), " " + text);
    const search = element("input", { type: "search", placeholder: "function or image", autocomplete: "off", "aria-label": "Search in the flame graph",
      oninput: (e) => { this.words = e.target.value.toLowerCase(); this.draw(); } });
    const tools = [element("label", {}, "Search ", search), box("from inside out", (on) => { this.inverted = on; })];
    if (labels.length > 1) {
      const choose = element("select", { "aria-label": "Which process", onchange: (e) => { this.label = e.target.value === "" ? null : e.target.value.slice(1); this.grow(); } },
        element("option", { value: "" }, "all"), ...labels.map((l) => element("option", { value: "=" + l }, l || "[not told apart]")));
      tools.push(element("label", {}, "Only ", choose));
    }
    if (after) {
      tools.push(box("difference B − A", (on) => { this.difference = on; this.key.hidden = !on; }));
      tools.push(box("widths of B", (on) => { this.by = on ? 1 : 0; }));
      this.key = element("span", { class: "hint", hidden: "" }, element("i", { class: "swatch grew" }), " B has more ", element("i", { class: "swatch shrank" }), " B has less");
      tools.push(this.key);
    }
    tools.push(element("button", { class: "tool", onclick: () => this.zoom(this.root) }, "reset"));
    this.says = element("p", { class: "hint flame-says", role: "status" });
    this.boxes = element("div", { class: "flame", role: "group", "aria-label": "Flame graph: arrows move, Enter zooms, Escape zooms out" });
    this.boxes.addEventListener("keydown", (e) => this.press(e));
    this.boxes.addEventListener("pointerover", (e) => { if (e.target.flame) this.say(e.target.flame); });
    host.replaceChildren(element("div", { class: "bar" }, ...tools), this.says, this.boxes);
    new ResizeObserver(() => { if (this.boxes.clientWidth !== this.width) this.draw(); }).observe(this.boxes);
    this.grow();
  }
  grow() {
    this.root = { brief: "all", name: "all", image: "", known: 1, total: [0, 0], self: [0, 0], kids: new Map(), depth: 0 };
    this.all = [this.root];
    growFlame(this.root, this.all, this.before, 0, this.label, this.inverted);
    if (this.after) growFlame(this.root, this.all, this.after, 1, this.label, this.inverted);
    for (let i = this.all.length; i-- > 0;) {
      const box = this.all[i];
      for (const s of [0, 1]) {
        box.total[s] += box.self[s];
        if (box.up) box.up.total[s] += box.total[s];
      }
    }
    this.greatest = Math.max(1e-9, ...this.all.slice(1).map((b) => Math.abs(this.change(b))).slice(0, 100000));
    this.zoom(this.root);
  }
  size(box) { return box.total[this.by]; }
  part(box, side) { return this.root.total[side] ? 100 * box.total[side] / this.root.total[side] : 0; }
  change(box) { return this.part(box, 1) - this.part(box, 0); }
  found(box) { return this.words !== "" && (box.name + "\n" + box.image).toLowerCase().includes(this.words); }
  zoom(box) { this.top = box; this.at = box; this.draw(); }
  colour(box) {
    if (!this.difference) {
      const kernel = box.image === "[kernel]";
      let h = 0;
      for (const c of box.image) h = (h * 31 + c.charCodeAt(0)) % 360;
      let tone = 0;
      for (const c of box.name) tone = (tone * 31 + c.charCodeAt(0)) % 15;
      return `hsl(${kernel ? 0 : 25 + h % 190} ${box.known ? 62 : 8}% calc(var(--flame-light) + ${tone - 7}%))`;
    }
    const d = this.change(box), strength = Math.sqrt(Math.abs(d) / this.greatest);
    return Math.abs(d) < 0.01 ? "hsl(0 0% var(--flame-light))" : `hsl(${d > 0 ? 8 : 215} ${Math.round(15 + 75 * strength)}% calc(var(--flame-light) - ${Math.round(8 * strength)}%))`;
  }
  say(box) {
    const of = (side) => `${number(box.total[side])} samples (${this.part(box, side).toFixed(1)} %), ${number(box.self[side])} in itself`;
    this.says.textContent = `${box.name}${box.inlined ? " (inlined)" : ""}${box.image ? " in " + box.image : ""}: ` +
      (this.after ? `A ${of(0)}; B ${of(1)}; ${this.change(box) >= 0 ? "+" : "−"}${Math.abs(this.change(box)).toFixed(1)} points` : of(0));
  }
  matched() { /* samples below a found box, each once */
    let n = 0;
    const stack = [this.top];
    while (stack.length) {
      const box = stack.pop();
      if (this.found(box)) n += this.size(box);
      else stack.push(...box.kids.values());
    }
    return n;
  }
  draw() {
    this.width = this.boxes.clientWidth;
    const out = [], path = [], stack = [];
    this.drawn = [];
    for (let up = this.top.up; up; up = up.up) path.unshift(up);
    let deepest = path.length;
    const put = (box, left, width, depth, above) => {
      const px = this.width * width / 100, found = this.found(box), d = this.change(box);
      let text = px > 24 ? box.brief : "";
      if (text && this.difference && box !== this.root && Math.abs(d) >= 0.1) text = `${d > 0 ? "▲" : "▼"}${Math.abs(d).toFixed(1)} ${text}`;
      const b = element("button", { class: "frame" + (above ? " above" : "") + (found ? " found" : "") + (box.inlined ? " inlined" : ""),
        tabindex: box === this.at ? "0" : "-1", "aria-label": `${box.name}, ${this.part(box, this.by).toFixed(1)} %`,
        style: `left:${left}%;width:${width}%;top:${depth * FLAME_ROW}px;background-color:${this.colour(box)}`,
        onclick: () => this.zoom(box), onfocus: () => this.say(box) }, text);
      b.flame = box;
      out.push(b);
      this.drawn.push({ box, left, width, depth, b });
      deepest = Math.max(deepest, depth);
    };
    path.forEach((box, depth) => put(box, 0, 100, depth, true));
    stack.push([this.top, 0, 100, path.length]);
    while (stack.length) {
      const [box, left, width, depth] = stack.pop();
      put(box, left, width, depth, false);
      let x = left;
      for (const kid of [...box.kids.values()].sort((a, b) => this.size(b) - this.size(a) || (a.name < b.name ? -1 : 1))) {
        const w = this.size(box) ? width * this.size(kid) / this.size(box) : 0;
        if (this.width * w / 100 < FLAME_LEAST_PX && this.width) break; /* the others are narrower still */
        stack.push([kid, x, w, depth + 1]);
        x += w;
      }
    }
    this.boxes.style.height = (deepest + 1) * FLAME_ROW + "px";
    const had = this.boxes.contains(document.activeElement);
    this.boxes.replaceChildren(...out);
    if (had) this.focus();
    else if (this.words) this.says.textContent = `“${this.words}”: ${number(this.matched())} samples, ${share(100 * this.matched() / (this.size(this.root) || 1))} %`;
    else this.say(this.top);
  }
  focus() {
    const here = this.drawn.find((d) => d.box === this.at) || this.drawn.find((d) => d.box === this.top);
    this.at = here.box;
    for (const d of this.drawn) d.b.tabIndex = d === here ? 0 : -1;
    here.b.focus({ preventScroll: true });
    here.b.scrollIntoView({ block: "nearest" });
  }
  press(e) {
    const here = this.drawn.find((d) => d.b === document.activeElement);
    if (!here) return;
    const level = this.drawn.filter((d) => d.depth === here.depth).sort((a, b) => a.left - b.left), i = level.indexOf(here);
    const below = this.drawn.filter((d) => d.box.up === here.box).sort((a, b) => b.width - a.width);
    const to = { ArrowLeft: level[i - 1], ArrowRight: level[i + 1], ArrowDown: below[0], ArrowUp: this.drawn.find((d) => d.box === here.box.up) }[e.key];
    if (to) { this.at = to.box; this.focus(); }
    else if (e.key === "Escape" && this.top.up) { this.zoom(this.top.up); this.focus(); }
    else if (!e.key.startsWith("Arrow")) return;
    e.preventDefault();
  }
}
if (P.chains && P.chains.trees.length) {
  show("flame", "Flame graph");
  window.flame = new Flame($("flame-body"), P.chains, P.chains_other);
}
