// SPDX-License-Identifier: GPL-2.0-or-later
// Games and counting: lists, recursion, words, a picture, a heap, dates as text. ES5. To train on, not to measure by.
function Node(value, next) { this.value = value; this.next = next; }
function List() { this.head = null; this.length = 0; }
List.prototype.add = function (v) { this.head = new Node(v, this.head); this.length++; return this; };
List.prototype.each = function (f) { for (var n = this.head; n; n = n.next) f(n.value); };

function lists(n) {
  var list = new List(), total = 0;
  for (var i = 0; i < n; i++) list.add(i * 3 % 101);
  list.each(function (v) { total += v; });
  return total + list.length;
}

function queens(n) {
  var columns = {}, up = {}, down = {}, found = 0;
  function place(row) {
    if (row === n) { found++; return; }
    for (var c = 0; c < n; c++) {
      if (columns[c] || up[row + c] || down[row - c + n]) continue;
      columns[c] = up[row + c] = down[row - c + n] = true;
      place(row + 1);
      columns[c] = up[row + c] = down[row - c + n] = false;
    }
  }
  place(0);
  return found;
}

function words(times) {
  var text = 'it was the best of times, it was the worst of times; it was the age of wisdom. ', count = {}, keys, i;
  for (var k = 0; k < times; k++) {
    var list = (text + k).toLowerCase().match(/[a-z]+|\d+/g);
    for (i = 0; i < list.length; i++) count[list[i]] = (count[list[i]] || 0) + 1;
  }
  keys = Object.keys(count).sort(function (a, b) { return count[b] - count[a] || (a > b ? 1 : -1); });
  return JSON.stringify(keys.slice(0, 5)) + JSON.parse('{"n":' + keys.length + ',"of":[1,2.5,"x"]}').n;
}

function picture(n) {
  var inside = 0, x, y, i, a, b, t;
  for (y = 0; y < n; y++) for (x = 0; x < n; x++) {
    for (a = b = i = 0; i < 40 && a * a + b * b < 4; i++) { t = a * a - b * b + 3 * x / n - 2; b = 2 * a * b + 2 * y / n - 1; a = t; }
    if (i === 40) inside++;
  }
  return inside;
}

function heap(n) {
  var h = [], i, j, c, t, sum = 0;
  for (i = 0; i < n; i++) {
    h.push(i * 7919 % 10007);
    for (j = h.length - 1; j > 0 && h[j] < h[(j - 1) >> 1]; j = (j - 1) >> 1) { t = h[j]; h[j] = h[(j - 1) >> 1]; h[(j - 1) >> 1] = t; }
  }
  while (h.length > 1) {
    sum = (sum * 31 + h[0]) % 65521;
    h[0] = h.pop();
    for (j = 0; (c = 2 * j + 1) < h.length; j = c) {
      if (c + 1 < h.length && h[c + 1] < h[c]) c++;
      if (h[j] <= h[c]) break;
      t = h[j]; h[j] = h[c]; h[c] = t;
    }
  }
  return sum;
}

function days(n) {
  var out = '', i, parts;
  for (i = 0; i < n; i++) {
    parts = ('2024-' + (1 + i % 12) + '-' + (1 + i % 28)).split('-');
    out += parts[2].replace(/^(\d)$/, '0$1') + '.' + parts[1] + '.' + parts[0].slice(2) + (i % 9 ? ' ' : '\n');
  }
  return out.length + out.indexOf('28.4.24') + ' ' + out.charCodeAt(out.length >> 1);
}

for (var round = 0; round < 8; round++)
  print(lists(60000), queens(7), words(1200), picture(60), heap(6000), days(8000));
