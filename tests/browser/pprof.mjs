/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an independent decoder (npm: pprof-format) reads from our pprof, against our JSON of the same store:
 * node pprof.mjs PPROF JSON. Every count of every address, totals by event, and no reference that leads nowhere. */
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";

const [pprofFile, jsonFile] = process.argv.slice(2);
const profile = Profile.decode(gunzipSync(readFileSync(pprofFile)));
const text = (i) => profile.stringTable.strings[Number(i)];
const by = (list) => new Map(list.map((item) => [Number(item.id), item]));
const locations = by(profile.location), functions = by(profile.function), mappings = by(profile.mapping);
assert.strictEqual(text(0), "", "the first string is empty");
assert(profile.sampleType.length > 0 && profile.sample.length > 0);
for (const f of profile.function) assert(text(f.name) && text(f.systemName), "a function has names");

assert.strictEqual(text(profile.defaultSampleType), text(profile.sampleType[0].type), "the first sample type is what viewers show");
/* what Go's PGO wants to be called "samples" has its name in a comment */
const comments = profile.comment.map(text).filter((c) => c.startsWith("samples: "));
const events = profile.sampleType.map((t) => (text(t.type) === "samples" ? comments[0].slice(9) : text(t.type)));
assert(new Set(events).size === events.length && comments.length <= 1, `events ${events}, comments ${comments}`);
const ours = new Map(), read = new Map();
const add = (to, key, n) => n && to.set(key, (to.get(key) || 0) + n);
let frames = 0, lines = 0;
for (const sample of profile.sample) {
  assert.strictEqual(sample.value.length, events.length, "a value for each sample type");
  for (const id of sample.locationId) assert(locations.has(Number(id)), "a location that isn't there");
  const leaf = locations.get(Number(sample.locationId[0]));
  const mapping = mappings.get(Number(leaf.mappingId));
  const place = mapping ? `${text(mapping.filename)} ${BigInt(leaf.address).toString(16)}` : "nowhere";
  events.forEach((event, i) => add(read, `${event} ${place}`, Number(sample.value[i])));
  frames += sample.locationId.length;
}
for (const location of profile.location)
  for (const line of location.line) {
    assert(functions.has(Number(line.functionId)), "a line of a function that isn't there");
    lines += Number(line.line) > 0;
  }

for (const row of JSON.parse(readFileSync(jsonFile, "utf8")).rows)
  if (row.kind === "points" && events.includes(row.event)) add(ours, `${row.event} ${row.path} ${BigInt(row.offset).toString(16)}`, row.count);
const sorted = (m) => [...m].sort(([a], [b]) => (a < b ? -1 : 1));
assert.deepStrictEqual(sorted(read), sorted(ours), "counts by address differ");
const total = [...read.values()].reduce((a, b) => a + b, 0);
assert(total > 0);
console.log(`pprof-format: ${total} samples at ${read.size} addresses, ${frames} frames, ${lines} lines: as ours`);
