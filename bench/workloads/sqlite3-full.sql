-- SPDX-License-Identifier: GPL-2.0-or-later
-- Orders and customers: bulk insert, indexes, joins, aggregation, text search, update, sort.
.mode list
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer INTEGER, amount REAL, day INTEGER, note TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  INSERT INTO customer SELECT i, 'customer ' || (i * 7919 % 9973), 'city ' || (i * 31 % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
  INSERT INTO sale SELECT i, 1 + i * 7919 % 20000, (i * 17 % 10007) / 100.0, i * 13 % 365, 'note ' || (i * 7 % 1013) || ' for ' || i FROM n;
COMMIT;
CREATE INDEX sale_customer ON sale(customer);
CREATE INDEX sale_day ON sale(day, amount);
SELECT city, count(*), round(sum(amount), 2) FROM sale JOIN customer ON customer.id = sale.customer GROUP BY city ORDER BY 3 DESC LIMIT 5;
SELECT count(*) FROM sale WHERE note LIKE '%99% for %7';
SELECT day, max(amount), min(note) FROM sale GROUP BY day ORDER BY 2 DESC, 1 LIMIT 5;
UPDATE sale SET amount = amount * 1.1 WHERE day BETWEEN 100 AND 200;
SELECT c.name, (SELECT sum(amount) FROM sale s WHERE s.customer = c.id) AS total FROM customer c ORDER BY total DESC LIMIT 5;
SELECT count(DISTINCT substr(note, 1, 8)) FROM sale;
DELETE FROM sale WHERE id % 3 = 0;
SELECT count(*), round(avg(amount), 4) FROM sale;
