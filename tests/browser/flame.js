/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the flame graph of a page of two stores with call chains: node flame.js PAGE [SCREENSHOT-PREFIX]. What is drawn is held
 * against the page's own data, added up here. */
"use strict";
const { chromium } = require("playwright-core");
const assert = require("node:assert");
const [page_file, shots] = process.argv.slice(2);

/* Samples of function names: own, and with what they called (each chain once). */
function sums(chains) {
  const self = new Map(), total = new Map();
  let all = 0;
  for (const { nodes } of chains.trees)
    for (let i = 0; i < nodes.length; i += 4) {
      const n = nodes[i + 3], names = new Set();
      all += n;
      for (let k = i / 4 + 1; k > 0; k = nodes[4 * (k - 1)]) names.add(chains.functions[nodes[4 * (k - 1) + 1]][1]);
      for (const name of names) total.set(name, (total.get(name) || 0) + n);
      const own = chains.functions[nodes[i + 1]][1];
      self.set(own, (self.get(own) || 0) + n);
    }
  return { self, total, all };
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const errors = [];
  for (const [wide, scheme] of [[1400, "light"], [1400, "dark"], [400, "light"], [400, "dark"]]) {
    const page = await browser.newPage({ viewport: { width: wide, height: 900 }, colorScheme: scheme });
    page.setDefaultTimeout(120000); // a busy machine is no defect of the page
    page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
    page.on("pageerror", (e) => errors.push(String(e)));
    await page.goto("file://" + page_file);
    const a = sums(await page.evaluate(() => P.chains)), b = sums(await page.evaluate(() => P.chains_other));
    const boxes = () => page.evaluate(() => window.flame.drawn.map((d) => ({ name: d.box.name, total: d.box.total, width: d.width, depth: d.depth, colour: getComputedStyle(d.b).backgroundColor, text: d.b.textContent })));
    const tick = (text) => page.locator("#flame label", { hasText: text }).locator("input").click();
    let drawn = await boxes();

    /* the whole is as wide as the host, every row at most, and widths are samples */
    assert.strictEqual(drawn[0].total[0], a.all);
    assert(drawn.every((d) => Math.abs(d.width - 100 * d.total[0] / a.all) < 0.01), "width is samples");
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), "the page is no wider than its window");
    if (shots) await page.locator("#flame").screenshot({ path: `${shots}-${wide}-${scheme}.png` });

    /* a click zooms: the box is as wide as the host; Escape goes back, Enter zooms too */
    const name = drawn.filter((d) => d.depth > 0 && d.width < 90 && d.width > 5).sort((x, y) => y.width - x.width)[0].name;
    await page.evaluate((n) => window.flame.drawn.find((d) => d.box.name === n && d.depth > 0).b.click(), name);
    drawn = await boxes();
    assert.strictEqual(drawn.find((d) => d.name === name).width, 100, "zoomed into " + name);
    await page.evaluate(() => window.flame.focus());
    await page.keyboard.press("Escape");
    assert((await page.evaluate(() => window.flame.top.name)) !== name, "Escape zooms out");
    await page.locator("#flame button", { hasText: "reset zoom" }).click();
    await page.evaluate(() => window.flame.focus());
    await page.keyboard.press("ArrowDown");
    const under = await page.evaluate(() => document.activeElement.flame.depth);
    assert.strictEqual(under, 1, "an arrow moves to a box below");
    await page.keyboard.press("Enter");
    assert.strictEqual(await page.evaluate(() => window.flame.top.depth), 1, "Enter zooms");
    assert(/samples/.test(await page.locator(".flame-says").textContent()), "the box is read out");
    await page.locator("#flame button", { hasText: "reset zoom" }).click();

    /* search: what matches is marked, and how much it is, each sample once */
    const word = [...a.total.keys()].filter((n) => /^[a-z_]{4,}$/.test(n)).sort((x, y) => a.self.get(y) - a.self.get(x) || 0)[0];
    await page.locator("#flame input[type=search]").fill(word);
    assert((await page.locator(".frame.found").count()) >= 1, "found: " + word);
    const [matching] = await page.evaluate(() => window.flame.matched());
    assert(matching >= a.total.get(word), `search finds ${matching} samples, ${word} has ${a.total.get(word)}`);
    await page.locator("#flame input[type=search]").fill("");

    /* from inside out: the first row is each function's own samples */
    await tick("inside out");
    drawn = (await boxes()).filter((d) => d.depth === 1);
    const own = new Map();
    for (const d of drawn) own.set(d.name, (own.get(d.name) || 0) + d.total[0]);
    for (const [n, samples] of own) assert.strictEqual(samples, a.self.get(n), n + " inverted");
    await tick("inside out");

    /* difference: red where B's share is greater, blue where it is less, and said in the box */
    await tick("difference");
    drawn = await boxes();
    let red = 0, blue = 0;
    for (const d of drawn.slice(1)) {
      const change = 100 * d.total[1] / b.all - 100 * d.total[0] / a.all, [r, , bl] = d.colour.match(/\d+/g).map(Number);
      if (change > 3) { assert(r > bl, `${d.name} grew: ${d.colour}`); red++; }
      if (change < -3) { assert(bl > r, `${d.name} shrank: ${d.colour}`); blue++; }
      if (Math.abs(change) > 3 && d.text) assert(d.text.startsWith(change > 0 ? "▲" : "▼"), "said without colour: " + d.text);
    }
    assert(red && blue, `the two recordings differ both ways: ${red} ${blue}`);
    if (shots) await page.locator("#flame").screenshot({ path: `${shots}-difference-${wide}-${scheme}.png` });
    await tick("widths of B");
    drawn = await boxes();
    assert(drawn.every((d) => Math.abs(d.width - 100 * d.total[1] / b.all) < 0.01), "width is B's samples");
    await page.close();
  }
  await browser.close();
  assert.deepStrictEqual(errors, [], "console errors");
})().catch((e) => { console.error(e); process.exit(1); });
