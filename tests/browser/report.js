/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives a report page: node report.js PAGE [SCREENSHOT-PREFIX]. Exit 0 when everything works, no console error was seen
 * and no request left the page. */
"use strict";
const { chromium } = require("playwright-core");
const until = require("./until.js");
const assert = require("node:assert");
const [page_file, shots] = process.argv.slice(2);

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const errors = [], requests = [];
  for (const scheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, colorScheme: scheme });
    page.setDefaultTimeout(120000); // a busy machine is no defect of the page
    page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
    page.on("pageerror", (e) => errors.push(String(e)));
    page.on("request", (r) => { if (!r.url().startsWith("file:") && !r.url().startsWith("data:")) requests.push(r.url()); });
    await page.goto("file://" + page_file);
    assert((await page.locator("#advice li").count()) > 0, "there is a summary");

    /* sort: by the procedure's name, then by samples again */
    const cell = (column) => page.locator("#grid tbody tr:not([aria-hidden]) td:nth-child(" + column + ")");
    const columns = await page.locator("#grid th").count();
    await page.locator("#grid th button", { hasText: /^function$/ }).click();
    const names = await cell(columns - 1).allTextContents();
    assert.deepStrictEqual(names, [...names].sort((a, b) => a.localeCompare(b)), "sorted by name");
    await page.locator("#grid th button").first().click();
    const counts = (await cell(1).allTextContents()).map((t) => Number(t.replaceAll(",", "")));
    assert.deepStrictEqual(counts, [...counts].sort((a, b) => b - a), "sorted by samples");
    assert.strictEqual(await page.locator("#grid th").first().getAttribute("aria-sort"), "descending");

    /* search, by keyboard */
    await page.keyboard.press("/");
    await page.keyboard.type(process.env.SEARCH || "alph");
    await until(page, () => window.grid.rows.length < window.grid.all.length);
    assert(/#.*q=/.test(page.url()), "the filter is in the address: " + page.url());
    const found = await cell(columns - 1).allTextContents();
    assert(found.length >= 1 && found.every((t) => t.includes(process.env.SEARCH || "alph")), "search finds: " + found);

    /* open a procedure: source and instructions */
    await page.locator("#grid button.open").first().click();
    assert(await page.locator("#detail").isVisible(), "details are shown");
    assert((await page.locator("#detail-body table tr").count()) > 3, "details have rows");
    assert.strictEqual(await page.evaluate(() => document.activeElement.id), "h-detail", "focus moved to the details");
    if (shots) await page.screenshot({ path: `${shots}-procedure-${scheme}.png` });
    /* control flow: a block leads to its instructions; the picture zooms */
    if (await page.locator("#detail .cfg svg").count()) {
      const size = () => page.evaluate(() => document.querySelector("#detail .cfg svg").getBoundingClientRect().width);
      const before = await size();
      await page.locator("#detail button", { hasText: "+" }).first().click();
      assert((await size()) > 1.1 * before, "the graph zooms");
      await page.locator("#detail .cfg g.node[role=button]").first().focus();
      await page.keyboard.press("Enter");
      assert.strictEqual(await page.locator("#detail tr.on").count(), 1, "a block shows its instructions");
    } else assert(process.env.GRAPHS !== "1", "there should be a control-flow graph");

    /* a procedure named in the summary opens */
    if (await page.locator("#advice button.open").count()) {
      await page.locator("#advice button.open").first().click();
      assert((await page.locator("#h-detail").textContent()).startsWith(await page.locator("#advice button.open").first().getAttribute("title")), "the summary's link opens it");
    }
    await page.fill("#search", "");

    /* the keyboard moves in the table and opens */
    await page.focus("#grid");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const title = await page.locator("#h-detail").textContent();
    assert(title.startsWith(await cell(columns - 1).nth(1).getAttribute("title")), "Enter opens the second row: " + title);

    /* every chart is painted: more than its frame, some colour is there */
    if (shots) await page.screenshot({ path: `${shots}-whole-${scheme}.png`, fullPage: true });
    const dull = await page.evaluate(() => [...document.querySelectorAll(".chart canvas")].map((c) => {
      const drawn = window.charts.find((k) => k.canvas === c);
      if (drawn && !drawn.columns.slice(1).some((v) => v.some((y) => y))) return Infinity; /* nothing but zeros */
      const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      let n = 0;
      for (let i = 0; i < d.length; i += 4) n += d[i + 3] > 0 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60;
      return n;
    }).filter((n) => n < 200));
    assert.deepStrictEqual(dull, [], "charts without colour");
    if (await page.locator("#timeline .key").count()) { /* the legend hides a series */
      const key = page.locator("#timeline .key").first();
      await key.click();
      assert.strictEqual(await key.getAttribute("aria-pressed"), "false");
      await key.click();
    }
    /* zoom a histogram by dragging */
    if (await page.locator("#histograms .chart canvas").count() && await page.evaluate(() => window.charts.length > 0 && window.charts[0].columns[0].length > 10)) {
      const before = await page.evaluate(() => { const [a, b] = window.charts[0].view(); return b - a; });
      await page.locator("#histograms .chart canvas").first().scrollIntoViewIfNeeded();
      const box = await page.locator("#histograms .chart canvas").first().boundingBox();
      await page.mouse.move(box.x + box.width * 0.3, box.y + 80);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, box.y + 80, { steps: 5 });
      await page.mouse.up();
      const after = await page.evaluate(() => { const [a, b] = window.charts[0].view(); return b - a; });
      assert(after < 0.5 * before, `zoomed from ${before} to ${after}`);
      if (shots) await page.screenshot({ path: `${shots}-histogram-${scheme}.png` });
      await page.mouse.dblclick(box.x + 50, box.y + 50);
    } else {
      assert(process.env.CHARTS !== "1", "there should be charts");
    }
    /* zoom by keyboard: the time line */
    if (await page.locator("#timeline .chart").count() && await page.evaluate(() => window.charts.length > 0)) {
      const width = () => page.evaluate(() => { const [a, b] = window.charts.find((c) => c.box.closest("#timeline")).view(); return b - a; });
      const before = await width();
      await page.locator("#timeline .chart").first().focus();
      await page.keyboard.press("+");
      assert((await width()) < 0.6 * before, "+ zooms");
      await page.keyboard.press("0");
      assert(Math.abs((await width()) - before) < 1e-9 + 0.01 * before, "0 shows the whole");
    } else assert(process.env.TIMELINE !== "1", "there should be a time line");
    /* a histogram in two dimensions zooms by dragging and by keyboard, and reads out its cells */
    if (await page.locator(".heat").count()) {
      const view = () => page.evaluate(() => ({ ...window.heatmaps[0].view() }));
      const heat = page.locator(".heat").first();
      await heat.scrollIntoViewIfNeeded();
      const box = await heat.locator("canvas").boundingBox(), before = await view();
      await page.mouse.move(box.x + box.width * 0.4, box.y + 30);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 5 });
      await page.mouse.up();
      const dragged = await view();
      assert(dragged.x1 - dragged.x0 < 0.5 * (before.x1 - before.x0), "dragging zooms in two dimensions");
      await heat.focus();
      await page.keyboard.press("0");
      assert.deepStrictEqual(await view(), before, "0 shows the whole");
      await page.keyboard.press("+");
      const closer = await view();
      assert(closer.x1 - closer.x0 < 0.6 * (before.x1 - before.x0), "+ zooms");
      await page.keyboard.press("n");
      assert(/\d+ intervals/.test(await page.locator(".heat + [role=status]").first().textContent()), "n reads out a cell");
      await page.keyboard.press("0");
      const painted = await page.evaluate(() => { /* more than the frame: some colour is there */
        const c = document.querySelector(".heat canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        let n = 0;
        for (let i = 0; i < d.length; i += 4) n += d[i + 3] > 0 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60;
        return n;
      });
      assert(painted > 500, "cells are painted: " + painted);
      if (shots) await heat.screenshot({ path: `${shots}-joint-${scheme}.png` });
    } else assert(process.env.CHARTS !== "1", "there should be a histogram in two dimensions");
    /* every control has a name for screen readers */
    const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, [role=button], [role=region], [role=img]")].filter((e) =>
      !(e.textContent.trim() || e.title || e.getAttribute("aria-label") || e.closest("label") || e.getAttribute("aria-labelledby"))).length);
    assert.strictEqual(nameless, 0, "controls without a name");

    /* 100,000 rows stay fluid: no more of them are in the document than stand in the window, wherever one scrolls */
    const many = await page.evaluate(() => {
      const g = window.grid, rows = Array.from({ length: 100000 }, (_, i) => { const r = g.all[i % g.all.length].slice(); r[0] = (r[0] || "") + i; return r; });
      let most = 0;
      g.all = rows; g.filter("");
      for (let i = 0; i < 50; i++) { g.host.scrollTop = i * 40000; g.draw(); most = Math.max(most, g.host.querySelectorAll("*").length); }
      g.filter("9999");
      return { most, cells: g.all[0].length, found: rows.filter((r) => String(r[0]).includes("9999")).length, shown: g.host.querySelectorAll("*").length };
    });
    assert(many.most < 200 * many.cells && many.found > 5 && many.shown <= many.most, "a long table: " + JSON.stringify(many));
    await page.reload();
    if (shots) await page.screenshot({ path: `${shots}-${scheme}.png`, fullPage: true });
    await page.close();
  }
  await browser.close();
  assert.deepStrictEqual(errors, [], "console errors");
  assert.deepStrictEqual(requests, [], "requests left the page");
})().catch((e) => { console.error(e); process.exit(1); });
