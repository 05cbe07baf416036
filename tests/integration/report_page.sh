#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The HTML report: well-formed and self-contained everywhere; driven by a real browser where Chromium and npm are.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$CYCLESCOPE" record -g -F 2000 --intervals 0.1 --burst-rate 200 -o "$tmp/s" -- "$BUILD/tests/programs/procedures" >/dev/null 2>&1
"$CYCLESCOPE" record -g -F 2000 -o "$tmp/b" -- "$BUILD/tests/programs/procedures" 100 100 100 100 100 300 100 >/dev/null 2>&1
log=
if [ "$(nproc)" -gt 1 ] && "$CYCLESCOPE" observe -t 3 --period 5000 --log "$tmp/log" -- "$BUILD/signals/examples/phases" >/dev/null 2>&1; then
    log="--log $tmp/log"
fi
# shellcheck disable=SC2086
"$CYCLESCOPE" report --html "$tmp/page.html" --compare "$tmp/b" $log "$tmp/s" >/dev/null
[ -z "$log" ] || "$CYCLESCOPE" hist --log "$tmp/log" --json >"$tmp/hist.json"
python3 - "$tmp/page.html" ${log:+"$log" "$tmp/hist.json"} <<'PY'
import html.parser, json, re, sys
text = open(sys.argv[1]).read()
assert "{{" not in re.sub(r"<script.*?</script>", "", text, flags=re.S), "a mark was left"
data = re.search(r'<script type="application/json" id="profile">(.*?)</script>', text, re.S).group(1)
d = json.loads(data)
assert d["rows"] and d["details"] and d["advice"] and d["compare"]["rows"]
assert not any(e.startswith("burst-") for e in d["events"]), d["events"]
for chains in (d["chains"], d["chains_other"]):
    nodes = [t["nodes"] for t in chains["trees"]]
    assert all(p < i // 4 + 1 for n in nodes for i, p in enumerate(n) if i % 4 == 0), "a parent comes first"
    assert all(0 <= f < len(chains["functions"]) for n in nodes for f in n[1::4])
assert sum(sum(t["nodes"][3::4]) for t in d["chains"]["trees"]) == d["totals"][d["main_event"]], "every sample has its chain"
assert all(len(r) == 5 + len(d["events"]) for r in d["rows"])
shares, busy = d["timeline"][:2]
if len(sys.argv) > 2: # of the log: the phases' shares of time add up, rates lie between their extremes
    tags, work = d["timeline"][2:4]
    for i in range(len(tags["columns"][0])):
        parts = [c[i] for c in tags["columns"][1:]]
        assert parts[0] is None or abs(sum(parts) - 100) < 0.1, parts
        mean, least, most = (c[i] for c in work["columns"][1:])
        assert mean is None or least <= mean <= most, (least, mean, most)
    assert {"hash", "chase"} <= set(tags["heads"]), tags["heads"]
    # A bar of a histogram is as wide as the bins that it is made of.
    shown = d["observed"]["histograms"][0]
    bins = {(b[0], b[1]): b[2] for b in json.load(open(sys.argv[3]))["histogram0"]["bins"]}
    edges, octaves = shown["edges"], [1000 * 2.0 ** k * (1 + j / 16) for k in range(-24, 9) for j in range(16)] # 16 bins an octave
    assert len(edges) == len(shown["shares"]) + 1 and edges == sorted(set(edges))
    assert all(any(abs(e - o) <= 1e-7 * o for o in [*octaves, 0]) for e in edges), edges
    assert all(to - edge >= 0.999 * shown["width"] for edge, to in zip(edges[:-2], edges[1:-1])) and sum(shown["shares"]) > 99.9
    for edge, to, n in zip(edges[1:], edges[2:], shown["shares"][1:]):
        there = sum(k for (least, _), k in bins.items() if edge - 1e-6 <= least < to - 1e-6)
        assert abs(n - 100 * there / sum(bins.values())) < 1e-5, (edge, to, n, there)
    # In two dimensions: cells and what lies outside are all kept intervals; the same counter's own histogram has as many.
    joint = d["observed"]["joint"]
    assert len(joint) == 3, [j["title"] for j in joint] # work by changes, both by phase
    for j in joint:
        kept, outside = (int(n.replace(",", "")) for n in re.search(r"([\d,]+)(?: intervals)? kept, ([\d,]+) outside", j["title"]).groups())
        assert sum(j["cells"][2::3]) + outside == kept > 0, j["title"]
        assert max(j["cells"][0::3]) < j["x"]["bins"] and outside < 0.1 * kept
    hash_row, chase_row = (joint[1]["y"]["names"].index(n) for n in ("hash", "chase"))
    def mean(row):
        e, c = joint[1]["x"]["edges"], joint[1]["cells"]
        parts = [((e[x] + e[x + 1]) / 2, n) for x, y, n in zip(c[0::3], c[1::3], c[2::3]) if y == row]
        return sum(v * n for v, n in parts) / sum(n for _, n in parts)
    rates = {r[0]: r[4] for r in d["observed"]["tags"][0]["rows"]}
    assert abs(mean(hash_row) / rates["hash"] - 1) < 0.1 and abs(mean(chase_row) / rates["chase"] - 1) < 0.1, (mean(hash_row), rates)
assert len(shares["heads"]) == len(shares["columns"]) and len(set(map(len, shares["columns"]))) == 1
for i in range(len(busy["columns"][0])):
    parts = [c[i] for c in shares["columns"][1:]]
    assert parts[0] is None if busy["columns"][1][i] == 0 else abs(sum(parts) - 100) < 0.01, parts
assert sum(p[3] for p in d["phases"]) == sum(busy["columns"][1]), "phases don't hold all samples"
import ctypes.util
if ctypes.util.find_library("gvc"):
    drawn = [x["cfg"] for x in d["details"] if x["cfg"]]
    assert drawn and all(x["svg"].startswith("<svg") and 1 < x["shown"] <= x["blocks"] for x in drawn)
class Links(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        for k, v in attrs:
            assert not (k in ("src", "href") and re.match(r"(https?:)?//", v or "")), (tag, k, v)
Links().feed(text)
PY
chromium=$(command -v chromium || true)
if [ -z "$chromium" ] || ! command -v npm >/dev/null; then
    echo "the page was built and checked, but no browser drove it: install chromium and npm"
    exit 77
fi
mkdir -p "$BUILD/tests/browser"
cp tests/browser/package.json tests/browser/package-lock.json tests/browser/{report,flame,state,until}.js "$BUILD/tests/browser/"
if ! (cd "$BUILD/tests/browser" && { [ -d node_modules/playwright-core ] || npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1; }); then
    echo "the page was built and checked, but npm could not fetch playwright-core to drive a browser"
    exit 77
fi
charts=0
grep -q '"histograms":\[{[^]]*"edges":\[[0-9]' "$tmp/page.html" && charts=1
graphs=0
grep -q '"svg":' "$tmp/page.html" && graphs=1
CHROMIUM=$chromium CHARTS=$charts GRAPHS=$graphs TIMELINE=1 node "$BUILD/tests/browser/report.js" "$tmp/page.html" ${SHOTS:+"$SHOTS"}
CHROMIUM=$chromium node "$BUILD/tests/browser/flame.js" "$tmp/page.html" ${SHOTS:+"$SHOTS-flame"}
# Without call chains no part of the page is missing: no error, and what comes after the flame graph is there.
"$CYCLESCOPE" record --no-chains -F 400 --intervals 0.1 -o "$tmp/bare" -- "$BUILD/tests/programs/procedures" 100 100 100 100 >/dev/null 2>&1
"$CYCLESCOPE" report --html "$tmp/bare.html" --store "$tmp/bare" >/dev/null
(cd "$BUILD/tests/browser" && CHROMIUM=$chromium node -e '
    require("playwright-core").chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] }).then(async (browser) => {
        const page = await browser.newPage({ viewport: { width: 400, height: 900 } });
        page.on("pageerror", (e) => { console.log("not ok: without chains: " + e); process.exitCode = 1; });
        await page.goto("file://" + process.argv[1]);
        await page.locator("#grid button.open").first().click();
        const is = await page.evaluate(() => [$("tree").hidden, $("flame").hidden, $("timeline").hidden, $("detail").hidden, document.documentElement.scrollWidth <= 400]);
        if (String(is) !== "true,true,false,false,true") { console.log("not ok: without chains: " + is); process.exitCode = 1; }
        await browser.close();
    })' "$tmp/bare.html") || exit 1
"$CYCLESCOPE" record -g -F 400 --label thread --intervals 0.2 -o "$tmp/threads" -- "$BUILD/tests/programs/hot_thread" 1.5 >/dev/null 2>&1
"$CYCLESCOPE" record -g -F 400 --label thread -o "$tmp/threads2" -- "$BUILD/tests/programs/hot_thread" 1 >/dev/null 2>&1
"$CYCLESCOPE" report --html "$tmp/threads.html" --compare "$tmp/threads2" "$tmp/threads" >/dev/null
CHROMIUM=$chromium node "$BUILD/tests/browser/state.js" "$tmp/threads.html" ${SHOTS:+"$SHOTS"}
