/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours that are even to the eye: all are made in OKLCH (Ottosson 2020), where one lightness looks equally light whatever the
 * hue. So no image looks more important than another, and a scale's steps look alike. What a colour says stands in text, too:
 * names, marks and numbers; lightness alone orders a scale, so it holds without any sense of hue. */
"use strict";
const printNow = () => matchMedia("print").matches;
const darkNow = () => !printNow() && matchMedia("(prefers-color-scheme: dark)").matches;
const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* l 0 to 1, c chroma, h degrees; chroma gives way where the screen hasn't got the colour. */
function oklch(l, c, h) {
  for (; ; c -= 0.01) {
    const a = Math.max(c, 0) * Math.cos(h * Math.PI / 180), b = Math.max(c, 0) * Math.sin(h * Math.PI / 180);
    const [x, y, z] = [l + 0.3963377774 * a + 0.2158037573 * b, l - 0.1055613458 * a - 0.0638541728 * b, l - 0.0894841775 * a - 1.291485548 * b].map((v) => v ** 3);
    const rgb = [4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z, -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z, -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z];
    if (c > 0 && rgb.some((v) => v < -0.0005 || v > 1.0005)) continue;
    return `rgb(${rgb.map((v) => Math.round(255 * Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)))).join(", ")})`;
  }
}

/* The images with most samples have a hue each, blue and yellow first: those differ for nearly everybody. */
const imageHues = [250, 85, 310, 160, 200, 60, 340, 120];
function imageColour(rank, named, tone) { /* tone -1 to 1: neighbours of one image differ a little */
  const l = (darkNow() ? 0.41 : 0.87) + 0.022 * tone;
  return named ? oklch(l, darkNow() ? 0.075 : 0.07, rank < 0 ? 25 : imageHues[rank % imageHues.length]) : oklch(l, 0.005, 250);
}
/* A part of the whole, 0 to 1: one hue, lightness even. */
const partColour = (s) => (darkNow() ? oklch(0.28 + 0.24 * s, 0.02 + 0.11 * s, 250) : oklch(0.95 - 0.31 * s, 0.01 + 0.13 * s, 250));
/* A change, -1 to 1: red more, blue less, equally light. */
const changeColour = (s) => (darkNow() ? oklch(0.34 + 0.16 * Math.abs(s), 0.14 * Math.abs(s), s > 0 ? 25 : 255) : oklch(0.93 - 0.24 * Math.abs(s), 0.16 * Math.abs(s), s > 0 ? 25 : 255));
/* Lines and bars of a chart, light and dark alike. */
const seriesColours = [250, 60, 160, 310, 25, 200, 100].map((h, i) => oklch([0.58, 0.7, 0.62, 0.56, 0.6, 0.68, 0.64][i], 0.13, h));
