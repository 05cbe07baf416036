/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an address shows, what the keyboard reaches, and how it looks narrow and printed: node state.js PAGE [SCREENSHOT-PREFIX].
 * PAGE is of a recording by thread with call chains, against another. */
"use strict";
const { chromium } = require("playwright-core");
const until = require("./until.js");
const assert = require("node:assert");
const [page_file, shots] = process.argv.slice(2);

/* Pieces of text that lie over one another: what stands in the document, as boxes of its lines, cut by what hides overflow; and
 * what was written on each canvas (noted by noteCanvasText). */
function overlaps() {
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, dialog, nav, .skip, option, select, thead") || !parent.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) {
      let [left, top, right, bottom] = [r.left, r.top, r.right, r.bottom];
      for (let up = parent; up && up !== document.body; up = up.parentElement) {
        if (getComputedStyle(up).overflowX === "visible") continue;
        const c = up.getBoundingClientRect();
        left = Math.max(left, c.left), right = Math.min(right, c.right), top = Math.max(top, c.top), bottom = Math.min(bottom, c.bottom);
      }
      if (right - left > 1 && bottom - top > 1) texts.push({ left, top, right, bottom, text: node.data.trim().slice(0, 40), node });
    }
  }
  const bad = [];
  const compare = (list) => list.forEach((a, i) => {
    for (const b of list.slice(i + 1))
      if (a.node !== b.node && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) bad.push(`“${a.text}” and “${b.text}”`);
  });
  compare(texts);
  for (const c of document.querySelectorAll("canvas")) compare([...(c.written || [])].map((w, i) => ({ ...w, node: i })));
  const beyond = texts.filter((t) => t.right > document.documentElement.clientWidth + 1 || t.left < -1).map((t) => t.text);
  return { n: texts.length, bad, beyond };
}
function noteCanvasText() {
  const draw = CanvasRenderingContext2D.prototype.fillText, size = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
  Object.defineProperty(HTMLCanvasElement.prototype, "width", { ...size, set(w) { this.written = []; size.set.call(this, w); } });
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const m = this.measureText(text), at = this.getTransform();
    const corners = [[-m.actualBoundingBoxLeft, -m.actualBoundingBoxAscent], [m.actualBoundingBoxRight, m.actualBoundingBoxDescent]].map(([a, b]) => at.transformPoint(new DOMPoint(x + a, y + b)));
    this.canvas.written.push({ left: Math.min(corners[0].x, corners[1].x), right: Math.max(corners[0].x, corners[1].x), top: Math.min(corners[0].y, corners[1].y), bottom: Math.max(corners[0].y, corners[1].y), text });
    draw.call(this, text, x, y);
  };
}
/* What a reader sees, but for where the pointer and the focus are. */
const seen = (page) => page.evaluate(() => JSON.stringify({
  rows: window.grid.rows.slice(0, 30).map((r) => [r[0], samplesOf(r)]), filter: $("search").value, sorted: [...document.querySelectorAll("#grid th")].map((t) => t.ariaSort), detail: $("detail").hidden ? null : $("detail").textContent,
  flame: window.flame.drawn.map((d) => [d.box.name, d.left, d.width, d.b.className, d.b.style.backgroundColor, d.b.textContent]), tree: $("tree-body").textContent, only: document.querySelector(".only").textContent,
  charts: window.charts.map((c) => c.view().map((v) => +v.toPrecision(4))) }));

/* Every control is met by Tab, or by arrows from one that is; each shows that it has the focus. */
async function tabEverywhere(page, what) {
  const all = 'a[href], button, input, select, summary, [tabindex]';
  const reached = await page.evaluate((all) => [...document.querySelectorAll(all)].filter((e) => e.checkVisibility() && !e.closest("dialog") && e.tabIndex >= 0).length, all);
  await page.evaluate(() => { document.activeElement.blur(); window.met = new Set(); window.dull = []; scrollTo(0, 0); });
  await page.mouse.click(2, 2); /* Tab begins at the top */
  for (let i = 0; i < reached + 5; i++) {
    await page.keyboard.press("Tab");
    await page.evaluate(() => {
      const e = document.activeElement, s = getComputedStyle(e);
      if (e === document.body || window.met.has(e)) return;
      window.met.add(e);
      if (!(s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1) && !/polygon/.test(e.innerHTML)) window.dull.push(e.outerHTML.slice(0, 80));
    });
  }
  const missed = await page.evaluate((all) => [...document.querySelectorAll(all)].filter((e) => e.checkVisibility() && !e.closest("dialog") && e.tabIndex >= 0 && !window.met.has(e)).map((e) => e.outerHTML.slice(0, 80)), all);
  assert.deepStrictEqual(missed, [], what + ": not reached by Tab");
  assert.deepStrictEqual(await page.evaluate(() => window.dull), [], what + ": focus without an outline");
  const behind = await page.evaluate(() => [...document.querySelectorAll("main button, main [tabindex='-1']")].filter((e) => e.checkVisibility() && e.tabIndex < 0 && !e.closest(".frame, #grid, #threads-grid, #compare-body, #tree-body, .flame-says") && e.tagName !== "H2").map((e) => e.outerHTML.slice(0, 80)));
  assert.deepStrictEqual(behind, [], what + ": out of reach: no Tab, no arrows");
}
/* Every frame that is drawn is met by arrows from the first, level by level. */
async function arrowsInFlame(page) {
  await page.evaluate(() => { window.flame.at = window.flame.root; window.flame.focus(); window.met = new Set(); });
  const press = (key) => page.keyboard.press(key), here = () => page.evaluate(() => { const d = window.flame.drawn.find((d) => d.b === document.activeElement); window.met.add(d.box); return { left: d.left, depth: d.depth, kids: window.flame.drawn.some((k) => k.box.up === d.box) }; });
  for (let at = await here(), down = true; down;) {
    for (let last = null; !last || at.left < last.left; at = await here()) { last = at; await press("ArrowLeft"); if ((await here()).left === last.left) break; }
    let way = 0, kids = -1;
    for (let steps = 0; ; steps++) {
      at = await here();
      if (at.kids) kids = way = steps;
      await press("ArrowRight");
      const next = await here();
      if (next.left === at.left) { for (let back = steps; kids >= 0 && back > way; back--) await press("ArrowLeft"); break; }
    }
    down = kids >= 0;
    if (down) await press("ArrowDown");
    const deeper = await here();
    assert(!down || deeper.depth > at.depth, "↓ goes to a frame below");
    at = deeper;
  }
  assert.deepStrictEqual(await page.evaluate(() => window.flame.drawn.filter((d) => !window.met.has(d.box)).map((d) => d.box.name)), [], "frames that arrows don't reach");
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const errors = [], url = "file://" + page_file;
  const visit = async (options, address) => {
    const page = await browser.newPage(options);
    page.setDefaultTimeout(120000); // a busy machine is no defect of the page
    page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
    page.on("pageerror", (e) => errors.push(String(e)));
    await page.addInitScript(noteCanvasText);
    await page.goto(address);
    return page;
  };
  const wide = { viewport: { width: 1400, height: 900 } };

  /* ---- an address is a view: each change is in it, "back" takes it back, a new page of it shows the same ---- */
  let page = await visit(wide, url);
  const steps = [["nothing yet", async () => {}],
    ["a procedure", () => page.locator("#grid button.open").first().click()],
    ["a thread", () => page.locator("#threads-grid button.open").first().click()],
    ["an order", () => page.locator("#grid th button", { hasText: "function" }).click()],
    ["zoom", () => page.evaluate(() => window.flame.drawn.filter((d) => d.depth > 0).sort((a, b) => b.width - a.width)[0].b.click())],
    ["colours", () => page.locator("#flame select").last().selectOption("own")],
    ["direction", () => page.locator("#flame label", { hasText: "inside out" }).locator("input").check()],
    ["difference", () => page.locator("#flame label", { hasText: "difference" }).locator("input").check()]];
  const views = [];
  for (const [what, act] of steps) {
    await act();
    const view = await seen(page);
    assert(!views.length || views.at(-1).view !== view, what + " changes what is shown");
    assert(!views.some((v) => v.at === page.url()), what + " is in the address");
    views.push({ what, view, at: page.url() });
  }
  for (const { what, view, at } of views.slice().reverse()) {
    if (page.url() !== at) await page.goBack();
    await until(page, (want) => location.href === want, at);
    assert.strictEqual(await seen(page), view, "back to: " + what);
  }
  await page.locator("#search").fill("k"); /* typing is in the address, and no step of the history */
  await page.locator("#flame input[type=search]").fill("o");
  if (await page.evaluate(() => window.charts.length > 0)) { await page.locator(".chart").first().focus(); await page.keyboard.press("+"); }
  views.push({ what: "words typed, a chart zoomed", view: await seen(page), at: page.url() });
  assert(/q=k/.test(page.url()) && /s=o/.test(page.url()), page.url());
  for (const { what, view, at } of views) {
    const other = await visit(wide, at);
    assert.strictEqual(await seen(other), view, "pasted elsewhere: " + what);
    await other.close();
  }
  /* what people type by hand: a section; a short name; nonsense harms nothing */
  for (const [hash, check] of [["#flame", () => document.activeElement.closest("#flame") !== null], ["#p=" + encodeURIComponent(JSON.parse(views[0].view).rows[0][0]), () => !$("detail").hidden],
    ["#p=%E0%A4%A&z=zz.9.-1&t=nobody&o=99&v0=a~b&c=<b>", () => window.grid.rows.length === P.rows.length && $("detail").textContent.includes("No function") && !document.querySelector("main b")]]) {
    const other = await visit(wide, url + hash);
    assert(await other.evaluate(check), hash);
    await other.close();
  }

  /* ---- search in the flame graph against the page's own data: each sample of a match once ---- */
  await page.goto("about:blank");
  await page.goto(url);
  const sums = await page.evaluate(() => {
    const all = new Map();
    let whole = 0;
    for (const { nodes } of P.chains.trees)
      for (let i = 0; i < nodes.length; i += 4) {
        const names = new Set();
        whole += nodes[i + 3];
        for (let k = i / 4 + 1; k > 0; k = nodes[4 * (k - 1)]) { const f = P.chains.functions[nodes[4 * (k - 1) + 1]]; names.add((f[1] + "\n" + (f[2] < 0 ? "" : P.chains.images[f[2]])).toLowerCase()); }
        all.set([...names].join("\0"), (all.get([...names].join("\0")) || 0) + nodes[i + 3]);
      }
    return { whole, all: [...all] };
  });
  for (const word of ["sort", "checksum", "kernel", "nowhere at all"]) {
    const want = sums.all.filter(([names]) => names.includes(word)).reduce((n, [, k]) => n + k, 0);
    await page.locator("#flame input[type=search]").fill(word);
    const said = await page.locator(".flame-says").textContent(), [, frames, n, percent] = /: ([\d,]+) frames?, ([\d,]+) samples, ([\d.]+) %/.exec(said);
    assert.strictEqual(Number(n.replaceAll(",", "")), want, said);
    assert(Math.abs(percent - 100 * want / sums.whole) < 0.06, said);
    assert.strictEqual(await page.locator(".frame.found").count() <= Number(frames.replaceAll(",", "")), true, said);
  }
  await page.locator("#flame input[type=search]").fill("");
  /* by thread: the parts of a procedure's samples are all of them, and the call tree is the flame graph */
  assert(await page.evaluate(() => P.rows.every((r) => [...labelled.values()].reduce((n, l) => n + (l.rows.get(r) || 0), 0) === r[2 + P.main_event])), "threads add up");
  assert(await page.evaluate(() => window.callTree.rows.length > 2 && window.callTree.rows.every((r) => r.children[2].textContent === number(r.box.total[0]))), "the call tree is the flame graph");

  /* ---- the keyboard alone: every control is met by Tab, or by arrows from one that is; each shows that it has the focus ---- */
  await tabEverywhere(page, "as it opens");
  await page.locator("#threads-grid").focus();
  for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert(/t=/.test(page.url()), "Enter chooses a thread");
  await page.locator("#tree-body tbody tr").first().focus();
  const rows = () => page.locator("#tree-body tbody tr").count(), before = await rows();
  await page.keyboard.press("ArrowLeft");
  assert((await rows()) < before && (await page.locator("#tree-body tbody tr").first().getAttribute("aria-expanded")) === "false", "← closes a row");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert(/z=/.test(page.url()), "Enter in the call tree zooms");
  await page.keyboard.press("0"); /* no section: nothing happens */
  const address = () => page.evaluate(() => location.href);
  /* with a procedure open, a thread chosen, a difference shown: the controls that these bring, too, and their use */
  await page.locator("#grid").focus();
  await page.keyboard.press("End");
  assert.strictEqual(await page.evaluate(() => window.grid.at), await page.evaluate(() => window.grid.rows.length - 1), "End goes to the last row");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  assert(!(await page.evaluate(() => $("detail").hidden)), "Enter opens a procedure");
  await page.locator("#flame label", { hasText: "difference" }).locator("input").focus();
  await page.keyboard.press("Space");
  assert(/d=1/.test(await address()), "Space shows the difference");
  await tabEverywhere(page, "with all open");
  await page.locator("#grid th button").last().focus();
  await page.keyboard.press("Enter");
  assert(/o=/.test(await address()), "Enter on a head sorts");
  await page.locator("button.chip").first().focus();
  await page.keyboard.press("Enter");
  assert(!/t=/.test(await address()), "Enter shows all threads again");
  await page.locator("#compare-body").focus();
  const openedBefore = await page.locator("#h-detail").textContent();
  const another = await page.evaluate(() => window.compareGrid.rows.findIndex((r) => rowsByName.has(r[0]) && !$("h-detail").textContent.startsWith(r[0])));
  for (const key of ["Home", ...Array(another).fill("ArrowDown"), "Enter"]) await page.keyboard.press(key);
  assert.notStrictEqual(await page.locator("#h-detail").textContent(), openedBefore, "Enter in the comparison opens a procedure");
  await page.locator("#flame button", { hasText: "reset zoom" }).focus();
  await page.keyboard.press("Enter");
  await arrowsInFlame(page);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  assert(await page.evaluate(() => $("keys").open), "? lists the keys");
  await page.keyboard.press("Escape");
  assert(!(await page.evaluate(() => $("keys").open)), "Escape closes the list");
  await page.keyboard.press("/");
  assert.strictEqual(await page.evaluate(() => document.activeElement.id), "search");
  await page.keyboard.press("/");
  assert(await page.evaluate(() => document.activeElement.closest("#flame") !== null), "/ twice searches the flame graph");
  await page.keyboard.press("Escape");
  assert(await page.evaluate(() => document.activeElement === document.body), "Escape leaves the field");
  await page.keyboard.press("1");
  assert(/at=summary/.test(page.url()), "a digit goes to a section");
  const roles = await page.evaluate(() => [...document.querySelectorAll("button, input, select, [role=region], [role=img], [role=group], [role=treegrid], dialog, nav, section")].filter((e) => e.checkVisibility() &&
    !(e.textContent.trim() || e.title || e.ariaLabel || e.closest("label") || e.getAttribute("aria-labelledby")) && !e.closest(".frame")).map((e) => e.outerHTML.slice(0, 80)));
  assert.deepStrictEqual(roles, [], "without a name for screen readers");
  await page.close();

  /* ---- narrow, dark, printed ---- */
  const opened = url + "#p=" + encodeURIComponent(JSON.parse(views[0].view).rows[0][0]);
  for (const [width, colorScheme, media] of [[400, "light"], [400, "dark"], [1400, "light"], [1400, "dark"], [794, "dark", "print"]]) {
    page = await visit({ viewport: { width, height: 900 }, colorScheme }, opened);
    if (media) await page.emulateMedia({ media });
    await page.waitForTimeout(150);
    const found = await page.evaluate(overlaps);
    assert(found.n > 50, "texts were looked at: " + found.n);
    assert.deepStrictEqual(found.bad, [], `text over text at ${width} ${colorScheme}`);
    assert.deepStrictEqual(found.beyond, [], `text beyond the edge at ${width} ${colorScheme}`);
    const parted = await page.evaluate(async () => {
      const bad = [], line = (node, from, to) => { const r = document.createRange(); r.setStart(node, from); r.setEnd(node, to); return r.getBoundingClientRect(); };
      for (let wide = 220; wide < 360; wide += 10) { /* at each width some line ends differently */
        for (const p of document.querySelectorAll("#lead, #advice li")) {
          p.style.width = wide + "px";
          for (const node of [...p.childNodes].filter((n) => n.nodeType === 3))
            for (const m of node.data.matchAll(/\d\s(%|s\b|MB\b)/g)) if (Math.abs(line(node, m.index, m.index + 1).top - line(node, m.index + 2, m.index + 3).top) > 4) bad.push(node.data.slice(Math.max(0, m.index - 12), m.index + 4));
          p.style.width = "";
        }
        for (const d of ["", "1"]) {
          State.set({ d });
          document.querySelector(".keyline").style.width = wide + "px";
          for (const i of document.querySelectorAll(".keyline .swatch")) {
            const next = i.nextSibling, c = next?.nodeType === 3 ? next.data.search(/\S/) : -1;
            if (c >= 0 && Math.abs(line(next, c, c + 1).top - i.getBoundingClientRect().top) > 12) bad.push("key of " + next.data);
          }
          document.querySelector(".keyline").style.width = "";
        }
      }
      State.set({ d: "" });
      return bad;
    });
    assert.deepStrictEqual(parted, [], `at ${width}: numbers and their units, colours and their names, in two lines`);
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), "the page is no wider than its window");
    const out = await page.evaluate(() => { const of = document.querySelector(".flame").getBoundingClientRect(); return window.flame.drawn.filter((d) => { const r = d.b.getBoundingClientRect(); return r.right > of.right + 0.6 || r.left < of.left - 0.6 || Math.abs(r.width - d.width * of.width / 100) > 0.6; }).map((d) => d.box.name); });
    assert.deepStrictEqual(out, [], "frames beyond the edge, or wider than their samples");
    /* text against what is behind it: at least 4.5 to 1 */
    const pale = await page.evaluate(() => {
      const rgb = (c) => (c.match(/[\d.]+/g) || []).map(Number), part = (v) => (v /= 255, v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b), bad = [];
      for (const e of document.querySelectorAll("p, h1, h2, h3, td, th, button:not(.above):not(.other), a, li, span, label, text")) {
        if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        const layers = [], s = getComputedStyle(e);
        for (let up = e; up; up = up.parentElement) layers.unshift(rgb(getComputedStyle(up).backgroundColor));
        let behind = [255, 255, 255];
        for (const [r, g, b, a = 1] of layers) behind = [r, g, b].map((v, i) => v * a + behind[i] * (1 - a));
        const [x, y] = [light(behind), light(rgb(e.localName === "text" ? s.fill : s.color))].sort((p, q) => p - q);
        if (!e.closest("svg") && (y + 0.05) / (x + 0.05) < 4.5) bad.push(`${((y + 0.05) / (x + 0.05)).toFixed(2)} ${e.outerHTML.slice(0, 70)}`);
      }
      return bad;
    });
    assert.deepStrictEqual(pale, [], `pale at ${width} ${colorScheme}`);
    if (media) {
      const print = await page.evaluate(() => { const s = (e) => getComputedStyle(document.querySelector(e)); return { back: s("body").backgroundColor, nav: s("nav").display, high: [...document.querySelectorAll(".scroll, .flame-scroll")].filter((e) => e.checkVisibility() && e.scrollHeight > e.clientHeight + 2).map((e) => e.id || e.className), wide: [...document.querySelectorAll("canvas")].filter((c) => c.getBoundingClientRect().right > 795).length }; });
      assert.deepStrictEqual(print, { back: "rgb(255, 255, 255)", nav: "none", high: [], wide: 0 }, "printed from a dark screen: white, and all of it");
      const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
      const pages = (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length, box = /\/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf.toString("latin1"));
      assert(pages >= 1 && pages < 30, "pages: " + pages);
      assert(Math.abs(box[1] - 595) < 2 && Math.abs(box[2] - 842) < 2, "A4: " + box[0]);
    }
    if (shots) await page.screenshot({ path: `${shots}-state-${width}-${colorScheme}${media ? "-print" : ""}.png`, fullPage: true });
    await page.close();
  }
  await browser.close();
  assert.deepStrictEqual(errors, [], "console errors");
})().catch((e) => { console.error(e); process.exit(1); });
