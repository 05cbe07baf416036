// SPDX-License-Identifier: GPL-2.0-or-later
// A report of orders by customer, joined by walking the whole list for each order: report.js SECONDS
"use strict";
const customers = Array.from({ length: 3000 }, (_, i) => ({ id: (i * 7919) % 3001, name: "customer " + i }));

function addUp(orders) { // GUILTY
  const sums = new Map();
  for (const order of orders) {
    let found = null;
    for (let i = 0; i < customers.length; i++)
      if (customers[i].id === order.customer) found = customers[i];
    if (found) sums.set(found.name, (sums.get(found.name) || 0) + order.amount);
  }
  return sums;
}

const seconds = Number(process.argv[2]);
let served = 0;
for (let day = 0; process.cpuUsage().user < 1e6 * seconds; day++)
  served += addUp(Array.from({ length: 200 }, (_, i) => ({ customer: (day + i * 13) % 3001, amount: i }))).size;
console.log(served > 0);
