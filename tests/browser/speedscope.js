/* SPDX-License-Identifier: GPL-2.0-or-later */
/* speedscope (npm) opens our exports in a real browser: node speedscope.js FOLDED FILE... Its table of total and self samples by
 * name must be what our folded stacks add up to. FILE is what it opens: our speedscope JSON, our pprof. */
"use strict";
const { chromium } = require("playwright-core");
const assert = require("node:assert");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const [folded, ...files] = process.argv.slice(2);
const ROWS = 12;

/* name -> [total, self] of the event with the most samples, which is shown first; as speedscope counts: a name that stands twice in
 * a stack counts once */
const expected = new Map();
const entry = (name) => expected.get(name) || expected.set(name, [0, 0]).get(name);
const stacks = fs.readFileSync(folded, "utf8").split("\n").filter(Boolean).map((line) => {
  const at = line.lastIndexOf(" "), frames = line.slice(0, at).split(";");
  return { event: frames[0], stack: frames.slice(1), n: Number(line.slice(at + 1)) };
});
const samples = {};
for (const { event, n } of stacks) samples[event] = (samples[event] || 0) + n;
const most = Object.keys(samples).sort((a, b) => samples[b] - samples[a])[0];
for (const { event, stack, n } of stacks) {
  if (event !== most) continue;
  for (const name of new Set(stack)) entry(name)[0] += n;
  entry(stack[stack.length - 1])[1] += n;
}

(async () => {
  const release = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist/release/index.html");
  const work = fs.mkdtempSync(path.join(os.tmpdir(), "speedscope-"));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] });
  try {
    for (const file of files) {
      const load = path.join(work, "load.js"); /* as its own command line hands files to its page */
      fs.writeFileSync(load, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))}, "${fs.readFileSync(file).toString("base64")}")`);
      const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
      page.setDefaultTimeout(120000); // a busy machine is no defect of the page
      const errors = [];
      page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
      page.on("pageerror", (e) => errors.push(String(e)));
      await page.goto(`file://${release}#localProfilePath=${load}`);
      await page.locator("text=Sandwich").click();
      await page.locator("tr", { hasText: "%" }).nth(1).waitFor();
      const rows = await page.locator("tr", { hasText: "%" }).evaluateAll((list) => list.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
      assert(rows.length >= 3, `${file}: only ${rows.length} rows: ${JSON.stringify(rows)}`);
      let compared = 0;
      for (const [total, self, name] of rows.slice(0, ROWS)) {
        const read = [total, self].map((t) => Number(/^[\d,]+/.exec(t.trim())[0].replaceAll(",", "")));
        const known = expected.get(name.trim());
        assert(known, `${file}: speedscope shows ${name}, which we don't have`);
        assert.deepStrictEqual(read, known, `${file}: total and self of ${name}`);
        compared++;
      }
      assert.deepStrictEqual(errors, [], `${file}: errors in the page`);
      console.log(`speedscope opens ${path.extname(file).slice(1)}: ${compared} rows as ours`);
      await page.close();
    }
  } finally {
    await browser.close();
    fs.rmSync(work, { recursive: true });
  }
})().catch((error) => { console.error(error.message || error); process.exit(1); });
