/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the waits of a page: node waits.js PAGE [SCREENSHOT-PREFIX]. Rows, boxes and the call tree are held against the page's
 * own data, added up here. */
"use strict";
const { chromium } = require("playwright-core");
const until = require("./until.js");
const assert = require("node:assert");
const [page_file, shots] = process.argv.slice(2);

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const errors = [];
  for (const [wide, scheme] of [[1400, "light"], [400, "dark"]]) {
    const page = await browser.newPage({ viewport: { width: wide, height: 900 }, colorScheme: scheme });
    page.setDefaultTimeout(120000); // a busy machine is no defect of the page
    page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
    page.on("pageerror", (e) => errors.push(String(e)));
    await page.goto("file://" + page_file);
    const ns = await page.evaluate(() => P.chains_waits.trees.reduce((n, t) => n + t.nodes.reduce((m, v, i) => m + (i % 4 === 3 ? v : 0), 0), 0));
    const samples = await page.evaluate(() => window.flame.root.total[0]);
    const first = await page.evaluate(() => P.waits.rows[0]);
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), "the page is no wider than its window");
    assert(await page.evaluate(() => $("waits-grid").scrollWidth <= $("waits-grid").clientWidth), "no column of the waits is outside");
    assert.deepStrictEqual(await page.locator("#waits-time tbody tr").count(), await page.evaluate(() => P.waits.time.filter((t) => t[1] >= 0.0005).length));
    const shown = await page.locator("#waits-grid tbody tr").first().innerText();
    for (const part of [...(wide > 600 ? [first[0].toFixed(3)] : []), first[5], first[6]]) assert(shown.includes(part), `${part} stands in the first row: ${shown}`);
    if (shots) await page.locator("#waits").screenshot({ path: `${shots}-${wide}-${scheme}.png` });

    /* threads over time: a part under the pointer is read out as the data have it, and the arrows lead there, too */
    const lines = await page.evaluate(() => P.thread_lines), cells = lines.lines[0][5];
    const canvas = page.locator("#lines canvas"), size = await canvas.boundingBox();
    assert(size.width <= wide && size.height >= 20 * lines.lines.length, "a row a thread");
    const at = (part) => { const of = []; for (let i = 0; i < cells.length; i += 4) if (cells[i] <= part && part < cells[i] + cells[i + 1]) of.push([lines.states[cells[i + 2]], cells[i + 3]]); return of.sort((a, b) => b[1] - a[1]); };
    await page.locator("#lines .chart").focus();
    for (let i = 0; i < 7; i++) await page.keyboard.press("ArrowRight");
    const read = await page.locator("#lines [role=status]").textContent();
    assert(read.startsWith(`${lines.lines[0][0]} (${lines.lines[0][1]}), `), read);
    for (const [state, percent] of at(7)) assert(read.includes(`${state === "waiting" ? "waiting, reason not recorded" : state} ${percent.toFixed(0)} %`), `${state} ${percent} in: ${read}`);
    await page.keyboard.press("ArrowDown");
    assert((await page.locator("#lines [role=status]").textContent()).startsWith(`${lines.lines[1][0]} (${lines.lines[1][1]}), `), "the next thread");
    const colours = await page.evaluate(() => { const c = document.querySelector("#lines canvas"), n = (P.thread_lines.lines.length * 20 - 4) * (devicePixelRatio || 1), d = c.getContext("2d").getImageData(c.width / 2, 0, c.width / 4, n).data, of = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) of.add(`${d[i]},${d[i + 1]},${d[i + 2]}`); return of.size; });
    assert(colours >= 2, "states differ in colour");
    assert.strictEqual(await page.locator("#lines tbody tr").count(), lines.lines.length);
    if (shots) await page.locator("#lines").screenshot({ path: `${shots}-lines-${wide}-${scheme}.png` });

    /* a place opens the flame graph of waits with its boxes marked; back shows samples again */
    await page.locator("#waits-grid tbody tr").first().locator("button.open").click();
    await until(page, (ns) => window.flame.root.total[0] === ns, ns); // boxes are waits
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
