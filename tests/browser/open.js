/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a page takes to open: node open.js PAGE TIMES. Prints JSON of each opening, in ms since the navigation began: "shown",
 * the first frame with contents; "ready", the first frame after all scripts have run, when it answers; "longest", the longest
 * time that it didn't answer afterwards; "cpu", what its main thread took of a CPU in all; "filter" and "zoom", from a key or click to the next frame. */
"use strict";
const { chromium } = require("playwright-core");
const [page_file, times] = process.argv.slice(2);

/* Runs in the page. */
function opened() {
  return new Promise((done) => {
    const frame = () => new Promise((next) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => next(performance.now()); c.port2.postMessage(0); }));
    const after = async (act) => { const t = performance.now(); act(); return (await frame()) - t; };
    const measure = async () => {
      const ready = await frame();
      let longest = 0;
      for (let last = ready, end = ready + 1000, now; last < end; last = now) { now = await frame(); longest = Math.max(longest, now - last); }
      const boxes = window.flame?.drawn.length ?? 0, search = document.getElementById("search");
      const filter = await after(() => { search.value = "a"; search.dispatchEvent(new Event("input", { bubbles: true })); });
      const wide = window.flame?.drawn.filter((d) => d.depth > 0).sort((a, b) => b.width - a.width)[0];
      const zoom = wide ? await after(() => wide.b.click()) : null;
      const shown = performance.getEntriesByType("paint").find((e) => e.name === "first-contentful-paint");
      done({ shown: shown ? shown.startTime : null, ready, longest, filter, zoom, rows: window.grid.all.length, boxes, samples: P.totals[P.main_event] });
    };
    if (document.readyState === "complete") measure(); else addEventListener("load", measure);
  });
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const all = [];
  for (let i = 0; i < +times; i++) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } }), page = await context.newPage();
    page.setDefaultTimeout(120000);
    page.on("pageerror", (e) => { console.error(String(e)); process.exitCode = 1; });
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto("file://" + page_file, { waitUntil: "commit" });
    const times = await page.evaluate(opened), metrics = (await session.send("Performance.getMetrics")).metrics;
    all.push({ ...times, cpu: 1000 * metrics.find((m) => m.name === "TaskDuration").value });
    await context.close();
  }
  await browser.close();
  console.log(JSON.stringify(all));
})().catch((e) => { console.error(e); process.exit(1); });
