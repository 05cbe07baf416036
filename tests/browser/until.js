/* SPDX-License-Identifier: GPL-2.0-or-later */
/* until(page, holds, argument): waits until holds(argument) is true in the page. Playwright's waitForFunction asks again from within
 * the page by eval, which the page's own Content-Security-Policy forbids. */
"use strict";
module.exports = async (page, holds, argument) => {
  for (const end = Date.now() + 120000; !(await page.evaluate(holds, argument)); await page.waitForTimeout(20))
    if (Date.now() > end) throw new Error(`never true: ${holds}`);
};
