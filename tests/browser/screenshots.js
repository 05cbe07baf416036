/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures of pages, for scripts/screenshots: node screenshots.js FOLDER-OF-PAGES FOLDER. A picture is a part of a page at an
 * address, wide or narrow, light, dark or printed. */
"use strict";
const { chromium } = require("playwright-core");
const [pages, to] = process.argv.slice(2);
const name = "checksum";
const list = [
  ["page-wide-light", "index", "", 1400, "light", null], ["page-wide-dark", "index", `#p=${name}`, 1400, "dark", null],
  ["page-narrow-light", "index", "", 400, "light", null],
  ["page-print", "index", `#p=${name}`, 794, "light", "print"],
  ["page-flame", "router", "", 1400, "light", "#flame"], ["page-flame-search", "router", "#s=match", 1400, "light", "#flame"], ["page-difference", "compared", "#d=1", 1400, "light", "#flame"],
  ["page-keys", "index", "keys", 1400, "light", "#keys"],
  ["page-procedure-narrow", "join", "#p=join_orders", 400, "light", "#detail"],
  ["page-threads-time", "prices", "", 1400, "light", "#lines"], ["page-flame-waits", "prices", "#f=waits", 1400, "light", "#flame"],
  ["page-numbers", "prices", "#p=serve", 1000, "light", "numbers"], ["terminal-calc", "calc", "", 1100, "dark", "terminal"],
];
/* The parts of the page by the numbers of docs/page.md; tall ones are cut. */
const number = (page) => page.evaluate(() => {
  const parts = { summary: 1, procedures: 3, detail: 4, waits: 5, lines: 5, flame: 6, tree: 6 };
  for (const [id, n] of Object.entries(parts)) {
    const head = document.querySelector(`#${id} h2`), mark = document.createElement("span");
    mark.textContent = n;
    mark.style.cssText = "display:inline-block;width:1.7em;line-height:1.7em;margin-right:.5em;border-radius:50%;background:var(--accent);color:var(--bg);text-align:center";
    head.prepend(mark);
  }
  for (const box of document.querySelectorAll(".scroll, .flame-scroll")) { box.style.maxHeight = "150px"; box.style.overflow = "hidden"; }
  for (const box of document.querySelectorAll("#detail-body > *:nth-child(n+7)")) box.hidden = true;
});
(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--hide-scrollbars"] });
  for (const [file, page_name, address, width, colorScheme, part] of list) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    page.on("pageerror", (e) => { console.error(file, String(e)); process.exitCode = 1; });
    await page.goto(`file://${pages}/${page_name}.html${address === "keys" ? "" : address}`);
    if (address === "keys") await page.keyboard.press("?");
    if (part === "print") await page.emulateMedia({ media: "print" });
    if (part === "numbers") await number(page);
    await page.evaluate(() => document.activeElement.blur());
    await page.waitForTimeout(300);
    await page.addStyleTag({ content: "nav { position: static !important; } #keys { box-shadow: none; }" + (part && part.startsWith("#") ? " section:not(#summary) { padding: 4px 12px 12px; }" : "") });
    if (part === "print") await page.setViewportSize({ width, height: await page.evaluate(() => document.documentElement.scrollHeight) }); /* in one piece: no seam */
    const path = `${to}/${file}.png`;
    if (part === "terminal") await page.locator("pre").screenshot({ path });
    else if (part === "numbers") await page.screenshot({ path, fullPage: true });
    else if (part && part !== "print") await page.locator(part).screenshot({ path });
    else await page.screenshot({ path, fullPage: part === "print", clip: part === "print" ? undefined : { x: 0, y: 0, width, height: 900 } });
    await page.close();
  }
  await browser.close();
})().catch((e) => { console.error(e); process.exit(1); });
