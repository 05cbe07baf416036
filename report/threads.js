/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each thread did over time: a row a thread, a column a part of the time; colour is what it did, height its share of that
 * part. A line: [name, TID, from s, to s, seconds by state, cells: first part, parts alike, state, percent, and again]. The part
 * under the pointer, or where the arrows lead, is read out; a table has the sums. */
"use strict";
function threadLines(t) {
  show("lines", "Threads over time");
  const row = 20, left = Math.min(150, 0.28 * chartWidth()), bottom = 40, right = 12;
  const name = (l) => `${l[0]} (${l[1]})`, told = (s) => (s === 2 ? "waiting, reason not recorded" : t.states[s]), part = t.seconds / t.buckets;
  /* running stands out, waiting for a CPU warns, what isn't told is grey; kinds of waits are light and differ by hue */
  const colour = (s) => (s === 0 ? oklch(0.55, 0.13, 250) : s === 1 ? oklch(0.62, 0.17, 25) : s === 2 ? oklch(darkNow() ? 0.45 : 0.8, 0, 0) : oklch(darkNow() ? 0.5 : 0.84, 0.09, [85, 160, 310, 200, 120, 60, 340][(s - 3) % 7]));
  const used = t.states.map((_, s) => s).filter((s) => t.lines.some((l) => l[4][s] > 0)).sort((a, b) => (a < 3 || b < 3 ? a - b : t.lines.reduce((n, l) => n + l[4][b] - l[4][a], 0)));
  const canvas = element("canvas"), said = element("p", { class: "hint", role: "status" }), legend = element("p", { class: "legend" });
  const box = element("div", { class: "chart", role: "img", tabindex: "0", "aria-label": "What each thread did over time; arrows read it out; the sums are in the table below" }, canvas);
  $("lines-note").textContent = `Height is the share of each part of ${fine(1000 * part)} ms. Between recorded waits only the sum of a thread's running is known; it is spread evenly.` +
    (t.cut ? ` ${number(t.cut)} of the shortest waits are left out.` : "") + (t.left ? ` ${number(t.left)} less busy threads aren't shown.` : "");
  $("lines-body").append(legend, box, said, valuesTable(["thread", ...used.map((s) => told(s) + " s")], [t.lines.map(name), ...used.map((s) => t.lines.map((l) => l[4][s]))]));
  const shares = t.lines.map((l) => { const a = Array.from({ length: t.buckets }, () => []); for (let i = 0; i < l[5].length; i += 4) for (let b = l[5][i]; b < l[5][i] + l[5][i + 1]; b++) a[b].push([l[5][i + 2], l[5][i + 3]]); return a; });
  let at = [0, 0];
  const px = (b) => left + b / t.buckets * (chartWidth() - left - right);
  function draw() {
    const width = chartWidth(), height = row * t.lines.length + bottom, scale = window.devicePixelRatio || 1, g = canvas.getContext("2d");
    canvas.width = width * scale; canvas.height = height * scale;
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
    g.scale(scale, scale);
    g.font = "12px system-ui, sans-serif";
    /* whole pixels; where parts are narrower, several are one */
    const per = Math.max(1, Math.ceil(t.buckets / (width - left - right))), snap = (x) => Math.round(x * scale) / scale;
    t.lines.forEach((l, i) => {
      const top = i * row + 2, high = row - 4;
      for (let b = 0; b < t.buckets; b += per) {
        const sums = new Map(), from = snap(px(b)), to = snap(px(Math.min(t.buckets, b + per)));
        for (const parts of shares[i].slice(b, b + per)) for (const [s, percent] of parts) sums.set(s, (sums.get(s) || 0) + percent / per);
        let y = top + high;
        for (const [s, percent] of sums) {
          const h = high * Math.min(100, percent) / 100;
          g.fillStyle = colour(s);
          g.fillRect(from, y - h, to - from, h);
          y -= h;
        }
      }
      g.fillStyle = cssColour("--fg"); g.textAlign = "right";
      g.fillText(fitted(g, name(l), left - 10), left - 6, top + high - 3);
    });
    g.strokeStyle = cssColour("--dim"); g.strokeRect(left, 0, width - left - right, row * t.lines.length);
    g.fillStyle = cssColour("--fg"); g.textAlign = "center";
    for (const x of roundTicks(0, t.seconds, Math.max(2, Math.min(8, width / 110)))) g.fillText(String(+x.toPrecision(3)), px(x / part), row * t.lines.length + 15);
    g.fillText("seconds", left + (width - left - right) / 2, row * t.lines.length + 33);
    legend.replaceChildren(...used.map((s) => element("span", { class: "pair" }, element("i", { class: "swatch", style: "background:" + colour(s) }), told(s))));
  }
  function tell(i, b) {
    const parts = shares[i][b];
    said.textContent = `${name(t.lines[i])}, ${(b * part).toFixed(3)} s to ${((b + 1) * part).toFixed(3)} s: ` + (parts.length ? parts.slice().sort((x, y) => y[1] - x[1]).map(([s, p]) => `${told(s)} ${p.toFixed(0)} %`).join(", ") : "not there");
  }
  canvas.addEventListener("mousemove", (e) => {
    const r = canvas.getBoundingClientRect(), i = Math.floor((e.clientY - r.top) / row), b = Math.floor((e.clientX - r.left - left) / (chartWidth() - left - right) * t.buckets);
    if (i >= 0 && i < t.lines.length && b >= 0 && b < t.buckets) tell(i, b); else said.textContent = "";
  });
  box.addEventListener("keydown", (e) => {
    const d = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
    if (!d || e.ctrlKey || e.metaKey) return;
    at = [Math.max(0, Math.min(t.lines.length - 1, at[0] + d[0])), Math.max(0, Math.min(t.buckets - 1, at[1] + d[1]))];
    tell(...at);
    e.preventDefault();
  });
  draw();
  window.charts.push({ box, canvas, draw, columns: [[]], view: () => [] });
}
if (P.thread_lines) threadLines(P.thread_lines);
