// SPDX-License-Identifier: GPL-2.0-or-later
// Records and text: objects, JSON, sorting, an expression evaluator, regular expressions, matrices. ES5.
var seed = 7;
function random(n) { seed = (seed * 16807) % 2147483647; return seed % n; }

function Account(name, owner) { this.name = name; this.owner = owner; this.balance = 0; this.moves = []; }
Account.prototype.move = function (amount, day) {
  this.balance += amount;
  this.moves.push({ amount: amount, day: day, note: this.owner + '/' + day });
  return this.balance;
};
Account.prototype.sum = function () {
  return this.moves.reduce(function (a, m) { return a + m.amount; }, 0);
};

function accounts(n) {
  var list = [], i, total = 0;
  for (i = 0; i < 50; i++) list.push(new Account('account ' + i, 'owner ' + (i * 7 % 11)));
  for (i = 0; i < n; i++) list[random(50)].move(random(1000) - 400, i % 365);
  list.sort(function (a, b) { return b.balance - a.balance || (a.name < b.name ? -1 : 1); });
  for (i = 0; i < list.length; i++) total += list[i].sum();
  var text = JSON.stringify(list), back = JSON.parse(text);
  return [total, text.length, back[3].moves.length].join(' ');
}

function evaluate(text, values) {
  var at = 0;
  function space() { while (text.charAt(at) === ' ') at++; }
  function factor() {
    space();
    var c = text.charAt(at), start = at, v;
    if (c === '(') { at++; v = sum(); space(); at++; return v; }
    if (c >= 'a' && c <= 'z') {
      while ((c = text.charAt(at)) >= 'a' && c <= 'z') at++;
      return values[text.substring(start, at)];
    }
    while ((c = text.charAt(at)) >= '0' && c <= '9' || c === '.') at++;
    return parseFloat(text.substring(start, at));
  }
  function product() {
    var v = factor();
    for (;;) {
      space();
      if (text.charAt(at) === '*') { at++; v *= factor(); }
      else if (text.charAt(at) === '/') { at++; v /= factor(); }
      else return v;
    }
  }
  function sum() {
    var v = product();
    for (;;) {
      space();
      if (text.charAt(at) === '+') { at++; v += product(); }
      else if (text.charAt(at) === '-') { at++; v -= product(); }
      else return v;
    }
  }
  return sum();
}

function expressions(n) {
  var total = 0, i;
  for (i = 0; i < n; i++)
    total += evaluate('(width + 2 * ' + i + ') * (height - 1.5) / (depth + 3) - width * 0.25', { width: i % 13, height: 4, depth: i % 5 });
  return total.toFixed(3);
}

function matrices(n) {
  var a = [], b = [], c = [], i, j, k, s;
  for (i = 0; i < n; i++) {
    a[i] = []; b[i] = []; c[i] = [];
    for (j = 0; j < n; j++) { a[i][j] = i + j / 3; b[i][j] = i - j; }
  }
  for (i = 0; i < n; i++) for (j = 0; j < n; j++) {
    for (s = 0, k = 0; k < n; k++) s += a[i][k] * b[k][j];
    c[i][j] = s;
  }
  return c[n - 1][n >> 1].toFixed(2);
}

function patterns(n) {
  var text = '', i, count = 0, m, re = /([a-z]+)-(\d+)(?:@([a-z.]+))?/g;
  for (i = 0; i < n; i++) text += ' item-' + random(9999) + (i % 3 ? '@host' + i % 7 + '.example.org,' : ';');
  while ((m = re.exec(text))) count += m[2].length + (m[3] ? 1 : 0);
  return count + ' ' + text.replace(/\d+/g, function (d) { return '<' + d.length + '>'; }).length + ' ' + text.split(/[,;]/).length;
}

for (var round = 0; round < 6; round++)
  print(accounts(12000), expressions(3500), matrices(70), patterns(1200));
