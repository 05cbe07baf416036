/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flame graph: call chains as boxes, as wide as their samples. Data: docs/json.md, "report", chains. One tree of boxes is
 * grown for what the address chooses (samples or waits, label, direction, one recording or the difference of two), and drawn from the box zoomed into. */
"use strict";
const FLAME_LEAST_PX = 2, FLAME_TEXT_PX = 28;
const NO_KIDS = new Map(); /* most boxes have none: the page opens sooner */

/* Adds the chains of one recording (side 0 or 1) below `root`. `numbers`: of functions by name and image, of both sides. */
function growFlame(root, all, chains, side, label, inverted, numbers, compared) {
  const imageOf = (image) => (image < 0 ? "" : chains.images[image]);
  /* The versions of a JIT method have other numbers in each recording. */
  const plain = (name, image) => (compared && imageOf(image).startsWith("[jit] ") ? name.replace(/ \([2-9]\)$/, "") : name);
  const number_of = chains.functions.map(([, name, image]) => {
    const key = plain(name, image) + "\0" + imageOf(image);
    return numbers.get(key) ?? numbers.set(key, numbers.size).size - 1;
  });
  const child = (at, f, inlined) => {
    const key = 2 * number_of[f] + (inlined ? 1 : 0);
    let kid = at.kids.get(key);
    if (!kid) {
      const [brief, name, image, known] = chains.functions[f];
      kid = { brief: plain(brief, image), name, image: imageOf(image), known, inlined, total: [0, 0], self: [0, 0], kids: NO_KIDS, up: at, depth: at.depth + 1 };
      if (at.kids === NO_KIDS) at.kids = new Map();
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
  constructor(host, before, after, waits) {
    Object.assign(this, { host, before, after, samples: [before, after], waits, waiting: false, words: "", difference: false, by: 0, follow: null });
    const labels = [...new Set([...before.trees, ...(after ? after.trees : []), ...(waits ? waits.trees : [])].map((t) => t.label))].sort();
    const box = (text, key, on) => { const field = element("input", { type: "checkbox", onchange: (e) => State.set({ [key]: e.target.checked ? on : "", z: key === "v" ? "" : State.get("z") }) }); this.fields.push([field, key, on]); return element("label", {}, field, " " + text); };
    const choice = (text, key, options) => { const field = element("select", { onchange: (e) => State.set({ [key]: e.target.value, z: key === "c" ? State.get("z") : "" }) }, ...options.map(([v, name]) => element("option", { value: v }, name))); this.fields.push([field, key, null]); return element("label", {}, text + " ", field); };
    this.fields = [];
    this.search = element("input", { type: "search", placeholder: "function or image", autocomplete: "off", "aria-label": "Search in the flame graph", oninput: (e) => State.set({ s: e.target.value }, true) });
    const tools = [element("label", {}, "Search ", this.search), box("from inside out", "v", "inside")];
    if (labels.length > 1) tools.push(choice("Only", "t", [["", "all"], ...labels.map((l) => [labelName(l), labelName(l)])]));
    if (waits) tools.push(choice("Of", "f", [["", "samples"], ["waits", "waits"]]));
    tools.push(choice("Colour", "c", [["", "image"], ["own", "self samples"]]));
    if (after) tools.push(box("difference B − A", "d", "1"), box("widths of B", "w", "b"));
    tools.push(element("button", { class: "tool", onclick: () => this.zoom(this.root) }, "reset zoom"));
    this.says = element("p", { class: "flame-says", role: "status" });
    this.key = element("p", { class: "hint keyline" });
    this.boxes = element("div", { class: "flame", role: "group", "aria-label": "Flame graph: arrows move, Enter zooms, Escape zooms out, o opens the function" });
    this.boxes.addEventListener("keydown", (e) => this.press(e));
    this.boxes.addEventListener("pointerover", (e) => { if (e.target.flame) this.say(e.target.flame); });
    this.scroll = element("div", { class: "flame-scroll" }, this.boxes);
    this.note = element("p", { class: "hint" });
    host.replaceChildren(element("div", { class: "bar" }, ...tools), this.says, this.scroll, this.key, this.note);
    new ResizeObserver(() => { if (this.boxes.clientWidth !== this.width) this.draw(); }).observe(this.boxes);
    for (const query of ["print", "(prefers-color-scheme: dark)"]) matchMedia(query).addEventListener("change", () => this.draw());
    this.names = new Set([...before.functions, ...(after ? after.functions : [])].map((f) => f[1]));
    State.watch(() => this.read());
  }
  has(name) { return this.names.has(name); }
  /* The address says what is shown. */
  read() {
    this.waiting = !!this.waits && State.get("f") === "waits";
    [this.before, this.after] = this.waiting ? [this.waits, null] : this.samples;
    const t = State.get("t"), kept = [...this.before.trees, ...(this.after ? this.after.trees : [])].some((tree) => labelName(tree.label) === t);
    const grown = [kept ? t : "", State.get("v"), this.waiting].join("\0"), [z, words, c, d, w] = ["z", "s", "c", "d", "w"].map((k) => State.get(k));
    const now = [grown, z, words, c, d, w].join("\0");
    if (now === this.shows) return;
    this.shows = now;
    for (const [field, key, on] of this.fields) if (on) field.checked = State.get(key) === on; else field.value = key === "t" && !kept ? "" : State.get(key);
    if (this.search.value !== words) this.search.value = words;
    Object.assign(this, { words: words.toLowerCase(), mode: c, difference: !!this.after && d === "1", by: this.after && w === "b" ? 1 : 0, inverted: State.get("v") === "inside", label: kept ? (t === "[unlabelled]" ? "" : t) : null });
    this.note.textContent = t && !kept ? `Call chains weren't kept apart for ${t} (record --label ${labelKind}): the graph is of all.` : "";
    if (grown !== this.grown) this.grown = grown, this.grow();
    this.top = this.at = this.boxOf(z);
    this.draw();
    if (this.follow) this.follow();
  }
  grow() {
    this.root = { brief: "all", name: "all", image: "", known: 1, total: [0, 0], self: [0, 0], kids: NO_KIDS, depth: 0 };
    this.all = [this.root];
    const numbers = new Map();
    growFlame(this.root, this.all, this.before, 0, this.label, this.inverted, numbers, !!this.after);
    if (this.after) growFlame(this.root, this.all, this.after, 1, this.label, this.inverted, numbers, true);
    for (let i = this.all.length; i-- > 0;) {
      const box = this.all[i];
      for (const s of [0, 1]) {
        box.total[s] += box.self[s];
        if (box.up) box.up.total[s] += box.total[s];
      }
    }
    this.greatest = this.mostOwn = 1e-9;
    const own = new Map();
    for (const b of this.all.slice(1)) {
      this.greatest = Math.max(this.greatest, Math.abs(this.change(b)));
      this.mostOwn = Math.max(this.mostOwn, b.self[0], b.self[1]);
      own.set(b.image, (own.get(b.image) || 0) + b.self[0] + b.self[1]);
    }
    this.images = [...own].sort((a, b) => b[1] - a[1]).map((x) => x[0]);
    this.rank = new Map(this.images.filter((i) => i && i !== "[kernel]").map((image, i) => [image, i]));
  }
  /* Samples, or of waits ns, in words. */
  count(n) { return this.waiting ? fine(n * 1e-9) : number(n); }
  amount(n) { return this.count(n) + (this.waiting ? " s" : " samples"); }
  size(box) { return box.total[this.by]; }
  part(box, side) { return this.root.total[side] ? 100 * box.total[side] / this.root.total[side] : 0; }
  change(box) { return this.part(box, 1) - this.part(box, 0); }
  found(box) { return this.words !== "" && (box.name + "\n" + box.image).toLowerCase().includes(this.words); }
  sorted(box) { return [...box.kids.values()].sort((a, b) => this.size(b) - this.size(a) || (a.name < b.name ? -1 : 1)); }
  /* A box in the address: which child of which child, in the order they were met. */
  place(box) {
    const way = [];
    for (; box.up; box = box.up) way.unshift([...box.up.kids.values()].indexOf(box).toString(36));
    return way.join(".");
  }
  boxOf(place) {
    let box = this.root;
    for (const step of place ? place.split(".") : []) {
      const kid = [...box.kids.values()][parseInt(step, 36)];
      if (!kid) break;
      box = kid;
    }
    return box;
  }
  zoom(box) {
    const had = this.boxes.contains(document.activeElement);
    State.set({ z: this.place(box) });
    if (had) this.focus();
  }
  colour(box) {
    if (this.difference) {
      const d = this.change(box);
      return changeColour(Math.abs(d) < 0.01 ? 0 : Math.sign(d) * Math.sqrt(Math.abs(d) / this.greatest));
    }
    if (this.mode === "own") return partColour(Math.sqrt(box.self[this.by] / this.mostOwn));
    let tone = 0;
    for (const c of box.name) tone = (tone * 31 + c.charCodeAt(0)) % 15;
    return imageColour(this.rank.get(box.image) ?? -1, box.known && box !== this.root, (tone - 7) / 7);
  }
  drawKey() {
    const swatch = (colour) => element("i", { class: "swatch", style: "background:" + colour });
    const pair = (colour, text) => [element("span", { class: "pair" }, typeof colour === "string" ? swatch(colour) : colour, text), " "];
    if (this.difference) this.key.replaceChildren(...pair(changeColour(1), "▲ B has a greater share"), ...pair(changeColour(-1), "▼ a smaller one"), ...pair(changeColour(0), "the same"));
    else if (this.mode === "own") this.key.replaceChildren(this.waiting ? "self waits: " : "self samples: ", ...[0, 0.25, 0.5, 0.75, 1].map((s) => swatch(partColour(s))), ` 0 to ${this.amount(this.mostOwn)}, by square root`);
    else this.key.replaceChildren(...this.images.filter((i) => i && this.drawn.some((d) => d.box.image === i)).slice(0, 7).flatMap((image) => [element("button", { class: "key", title: `search ${image}`, onclick: () => State.set({ s: State.get("s") === image ? "" : image }) }, swatch(imageColour(this.rank.get(image) ?? -1, 1, 0)), image), " "]),
      ...pair(imageColour(0, 0, 0), "no name"), ...pair(element("i", { class: "swatch inlined" }), "inlined"));
  }
  say(box) {
    const of = (side) => `${this.amount(box.total[side])} (${this.part(box, side).toFixed(1)} %), ${this.count(box.self[side])} self`;
    const row = box === this.root ? null : this.rowOf(box);
    this.says.replaceChildren(element("strong", {}, box.name), (box.inlined ? " (inlined)" : "") + (box.image ? " in " + box.image : "") + ": " +
      (this.after ? `A ${of(0)}; B ${of(1)}; ${this.change(box) >= 0 ? "+" : "−"}${Math.abs(this.change(box)).toFixed(1)} points` : of(0)),
      ...(row ? [" ", element("button", { class: "open", tabindex: "-1", onclick: () => open(row) }, "open")] : []));
  }
  rowOf(box) { return (rowsByName.get(box.name) || []).find((r) => P.images[r[1]] === box.image) || null; }
  matched() { /* below the frame zoomed into: samples of found boxes, each once, and how many boxes are found */
    let n = 0, boxes = 0;
    const stack = [[this.top, false]];
    while (stack.length) {
      const [box, inside] = stack.pop(), found = this.found(box);
      if (found) boxes++;
      if (found && !inside) n += this.size(box);
      for (const kid of box.kids.values()) stack.push([kid, inside || found]);
    }
    return [n, boxes];
  }
  draw() {
    this.width = this.boxes.clientWidth;
    const out = [], path = [], stack = [];
    this.drawn = [];
    for (let up = this.top.up; up; up = up.up) path.unshift(up);
    let deepest = path.length;
    const put = (box, left, width, depth, above) => {
      const px = this.width * width / 100, d = this.change(box);
      let text = px > FLAME_TEXT_PX ? box.brief : "";
      if (text && this.difference && box !== this.root && Math.abs(d) >= 0.1) text = `${d > 0 ? "▲" : "▼"}${Math.abs(d).toFixed(1)} ${text}`;
      const b = element("button", { class: "frame" + (above ? " above" : "") + (this.words ? (this.found(box) ? " found" : " other") : "") + (box.inlined ? " inlined" : "") + (px < 8 ? " thin" : ""),
        tabindex: box === this.at ? "0" : "-1", "aria-label": `${box.name}, ${this.part(box, this.by).toFixed(1)} %`,
        style: `left:${left}%;width:${width}%;top:calc(var(--row) * ${depth});background-color:${this.colour(box)}`,
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
      for (const kid of this.sorted(box)) {
        const w = this.size(box) ? width * this.size(kid) / this.size(box) : 0;
        if (this.width * w / 100 < FLAME_LEAST_PX && this.width) break; /* the others are narrower still */
        stack.push([kid, x, w, depth + 1]);
        x += w;
      }
    }
    this.boxes.style.height = `calc(var(--row) * ${deepest + 1})`;
    const had = this.boxes.contains(document.activeElement);
    this.boxes.replaceChildren(...out);
    this.drawKey();
    if (had) this.focus();
    else if (this.words) {
      const [n, boxes] = this.matched();
      this.says.textContent = `“${State.get("s")}”: ${number(boxes)} frame${boxes === 1 ? "" : "s"}, ${this.amount(n)}, ${share(100 * n / (this.size(this.top) || 1))} % of what is shown`;
    } else this.say(this.top);
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
    else if (e.key === "Escape") { if (this.top.up) this.zoom(this.top.up); }
    else if (e.key === "o") { const row = this.rowOf(here.box); if (row) open(row); }
    else if (!e.key.startsWith("Arrow")) return;
    e.preventDefault();
  }
}
if (P.chains && P.chains.trees.length) {
  show("flame", "Flame graph");
  window.flame = new Flame($("flame-body"), P.chains, P.chains_other, P.chains_waits);
  window.flame.read();
} else window.flame = null; /* without this it is the section: elements with an id are members of window */
