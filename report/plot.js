/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bars and lines over a number: axes, a legend that hides series, values under the pointer, zoom by mouse and keyboard. */
"use strict";

/* Round numbers (1, 2 or 5 times a power of ten) from least to most, about `wanted` of them. */
function roundTicks(least, most, wanted) {
  const raw = (most - least) / wanted, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((s) => s * power >= raw) * power, ticks = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= most + 1e-9 * step; i++) ticks.push(+(i * step).toPrecision(12));
  return ticks;
}

/* The view [min, max] after a key, within [from, to]; null if the key means nothing here. */
function viewByKey(key, [min, max], [from, to]) {
  const width = max - min;
  const moves = { "+": [width / 4, -width / 4], "=": [width / 4, -width / 4], "-": [-width / 2, width / 2], ArrowLeft: [-width / 5, -width / 5],
    ArrowRight: [width / 5, width / 5], "0": [from - min, to - max] };
  if (!moves[key]) return null;
  const wide = Math.min(to - from, width + moves[key][1] - moves[key][0]);
  const left = Math.max(from, Math.min(to - wide, min + moves[key][0]));
  return [left, left + wide];
}

const shortNumber = (v) => String(+v.toPrecision(4));

/* columns[0] is x, ascending; the others are series, null where there is a gap. kind: "line", or "bars": columns[0] has their edges, one more than there are
 * bars. tell(i): what is said of a bar under the pointer. */
function plot(box, heads, columns, kind, tell) {
  const xs = columns[0], bars = kind === "bars", n = bars ? xs.length - 1 : xs.length, start = (i) => xs[i], end = (i) => (bars ? xs[i + 1] : xs[i]);
  const whole = n > 0 ? [start(0), end(n - 1)] : [0, 1];
  if (whole[1] <= whole[0]) whole[1] = whole[0] + 1;
  const series = heads.slice(1).map((name, i) => ({ name, values: columns[i + 1], colour: seriesColours[i % seriesColours.length], on: true }));
  const canvas = element("canvas"), said = element("span", { class: "hint", role: "status" });
  const legend = element("div", { class: "legend" }, ...series.map((s) => {
    const key = element("button", { class: "key", title: s.name, "aria-pressed": "true", onclick: () => { s.on = !s.on; key.setAttribute("aria-pressed", String(s.on)); draw(); } },
      element("i", { style: "background:" + s.colour }), s.name);
    return key;
  }), said);
  box.append(canvas);
  box.after(legend);
  const left = 70, top = 8, right = 12, bottom = 44, height = 260;
  let view = whole.slice(), drag = null, width = 0;
  const short = shortNumber, px = (x) => left + (x - view[0]) / (view[1] - view[0]) * (width - left - right);
  const toX = (p) => view[0] + (p - left) / (width - left - right) * (view[1] - view[0]);

  function range() {
    let least = 0, most = 0;
    for (const s of series)
      if (s.on)
        for (let i = 0; i < n; i++) {
          if (s.values[i] == null || start(i) > view[1] || end(i) < view[0]) continue;
          if (s.values[i] < least) least = s.values[i];
          if (s.values[i] > most) most = s.values[i];
        }
    return most > least ? [least, most + 0.05 * (most - least)] : [least, least + 1];
  }
  function draw() {
    const scale = window.devicePixelRatio || 1, g = canvas.getContext("2d"), [least, most] = range();
    width = chartWidth();
    canvas.width = width * scale; canvas.height = height * scale;
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
    const py = (y) => top + (most - y) / (most - least) * (height - top - bottom), base = height - bottom;
    g.scale(scale, scale);
    g.font = "12px system-ui, sans-serif"; g.fillStyle = cssColour("--fg"); g.strokeStyle = cssColour("--line"); g.lineWidth = 1;
    g.textAlign = "right";
    for (const y of roundTicks(least, most, 5)) { g.beginPath(); g.moveTo(left, py(y)); g.lineTo(width - right, py(y)); g.stroke(); g.fillText(short(y), left - 6, py(y) + 4); }
    g.textAlign = "center";
    for (const x of roundTicks(view[0], view[1], Math.max(2, width / 120))) { g.beginPath(); g.moveTo(px(x), top); g.lineTo(px(x), base + 4); g.stroke(); g.fillText(short(x), px(x), base + 17); }
    g.fillText(heads[0], left + (width - left - right) / 2, base + 36);
    if (series.length === 1) { g.save(); g.translate(14, top + (base - top) / 2); g.rotate(-Math.PI / 2); g.fillText(heads[1], 0, 0); g.restore(); }
    g.save(); g.beginPath(); g.rect(left, top, width - left - right, base - top); g.clip();
    for (const s of series) {
      if (!s.on) continue;
      g.strokeStyle = s.colour; g.lineWidth = 1.5;
      if (bars) {
        g.fillStyle = s.colour; g.globalAlpha = 0.75;
        for (let i = 0; i < n; i++)
          if (s.values[i] != null) g.fillRect(px(start(i)), py(Math.max(0, s.values[i])), Math.max(1, px(end(i)) - px(start(i)) - 0.5), Math.abs(py(s.values[i]) - py(0)));
        continue;
      }
      g.beginPath();
      for (let i = 0, pen = false; i < n; i++) {
        if (s.values[i] == null) { pen = false; continue; }
        /* a point between two gaps is a line of its own */
        if (!pen) { g.moveTo(px(xs[i]) - 1, py(s.values[i])); pen = true; }
        g.lineTo(px(xs[i]), py(s.values[i]));
      }
      g.stroke();
    }
    if (drag && drag.to != null) { g.fillStyle = cssColour("--accent") + "33"; g.fillRect(Math.min(drag.from, drag.to), top, Math.abs(drag.to - drag.from), base - top); }
    g.restore();
    g.strokeStyle = cssColour("--dim"); g.lineWidth = 1; g.strokeRect(left, top, width - left - right, base - top);
  }
  const key = "v" + window.charts.length, near = (a) => String(+a.toPrecision(6));
  let shown = "";
  function look(from, to) {
    const wide = Math.max(to - from, (whole[1] - whole[0]) / 10000), start = Math.max(whole[0], Math.min(whole[1] - wide, from));
    view = [start, start + wide];
    shown = wide >= 0.9999 * (whole[1] - whole[0]) ? "" : view.map(near).join("~");
    draw();
    State.set({ [key]: shown }, true);
  }
  const at = (e) => e.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener("mousedown", (e) => { drag = { from: at(e), to: null }; e.preventDefault(); box.focus(); });
  canvas.addEventListener("mousemove", (e) => {
    if (drag) { drag.to = at(e); draw(); }
    const x = toX(at(e));
    let i = 0;
    while (i + 1 < n && (bars ? end(i) : (xs[i] + xs[i + 1]) / 2) <= x) i++;
    said.textContent = n < 1 || x < whole[0] || x > whole[1] ? "" : `${heads[0]} ` + (tell ? tell(i) : `${short(xs[i])}: ` +
      series.filter((s) => s.on).map((s) => (series.length > 1 ? s.name + " " : "") + (s.values[i] == null ? "none" : short(s.values[i]))).join(", "));
  });
  canvas.addEventListener("mouseleave", () => { said.textContent = ""; });
  window.addEventListener("mouseup", (e) => {
    if (!drag) return;
    const from = toX(drag.from), to = toX(at(e)), far = Math.abs(at(e) - drag.from) > 8;
    drag = null;
    if (far) look(Math.max(view[0], Math.min(from, to)), Math.min(view[1], Math.max(from, to))); else draw();
  });
  canvas.addEventListener("dblclick", () => look(whole[0], whole[1]));
  box.addEventListener("keydown", (e) => {
    const next = e.ctrlKey || e.metaKey ? null : viewByKey(e.key, view, whole);
    if (!next) return;
    look(next[0], next[1]);
    e.preventDefault();
  });
  draw();
  State.watch(() => {
    const asked = State.get(key), [from, to] = asked.split("~").map(Number);
    if (asked === shown) return;
    if (asked === "") look(whole[0], whole[1]); else if (to > from) look(from, to);
  });
  window.charts.push({ box, canvas, draw, columns, view: () => view.slice() });
}
