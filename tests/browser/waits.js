/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the waits of a page: node waits.js PAGE [SCREENSHOT-PREFIX]. Rows, boxes and the call tree are held against the page's
 * own data, added up here. */
"use strict";
const { chromium } = require("playwright-core");
const assert = require("node:assert");
const [page_file, shots] = process.argv.slice(2);

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const errors = [];
  for (const [wide, scheme] of [[1400, "light"], [400, "dark"]]) {
    const page = await browser.newPage({ viewport: { width: wide, height: 900 }, colorScheme: scheme });
    page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
    page.on("pageerror", (e) => errors.push(String(e)));
    await page.goto("file://" + page_file);
    const ns = await page.evaluate(() => P.chains_waits.trees.reduce((n, t) => n + t.nodes.reduce((m, v, i) => m + (i % 4 === 3 ? v : 0), 0), 0));
    const samples = await page.evaluate(() => window.flame.root.total[0]);
    const first = await page.evaluate(() => P.waits.rows[0]);
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), "the page is no wider than its window");
    assert.deepStrictEqual(await page.locator("#waits-time tbody tr").count(), await page.evaluate(() => P.waits.time.length));
    const shown = await page.locator("#waits-grid tbody tr").first().innerText();
    for (const part of [first[0].toFixed(3), first[5], first[6]]) assert(shown.includes(part), `${part} stands in the first row: ${shown}`);
    if (shots) await page.locator("#waits").screenshot({ path: `${shots}-${wide}-${scheme}.png` });

    /* a place opens the flame graph of waits with its boxes marked; back shows samples again */
    await page.locator("#waits-grid tbody tr").first().locator("button.open").click();
    assert.strictEqual(await page.evaluate(() => window.flame.root.total[0]), ns, "boxes are waits");
    const marked = await page.evaluate(() => window.flame.drawn.filter((d) => d.b.classList.contains("found")).map((d) => d.box.name));
    assert(marked.length && marked.every((n) => n.includes(first[6])), `${first[6]} is marked: ${marked}`);
    await page.evaluate(() => window.flame.focus());
    assert(/: [\d.]+ s \(/.test(await page.locator(".flame-says").textContent()), "a box is told as time");
    const tree = await page.locator("#tree-body tbody tr").first().locator("td").nth(2).textContent();
    assert(Math.abs(Number(tree) - ns * 1e-9) < 0.001, `the call tree's root is ${tree} s of ${ns} ns`);
    if (shots) await page.locator("#flame").screenshot({ path: `${shots}-flame-${wide}-${scheme}.png` });
    await page.goBack();
    assert.strictEqual(await page.evaluate(() => window.flame.root.total[0]), samples, "back to samples");
    await page.locator("#flame label", { hasText: "Of" }).locator("select").selectOption("waits");
    assert.strictEqual(await page.evaluate(() => [State.get("f"), window.flame.root.total[0]].join()), `waits,${ns}`);
    await page.close();
  }
  await browser.close();
  assert.deepStrictEqual(errors, []);
})().catch((e) => { console.error(e); process.exit(1); });
