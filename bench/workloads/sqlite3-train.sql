-- SPDX-License-Identifier: GPL-2.0-or-later
-- Orders and customers: bulk insert, indexes, joins, aggregation, text search, update, sort.
.mode list
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer INTEGER, amount REAL, day INTEGER, note TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 15000)
  INSERT INTO customer SELECT i, 'customer ' || (i * 6007 % 9973), 'city ' || (i * 31 % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
  INSERT INTO sale SELECT i, 1 + i * 6007 % 15000, (i * 17 % 10007) / 100.0, i * 13 % 365, 'note ' || (i * 7 % 1013) || ' for ' || i FROM n;
COMMIT;
CREATE INDEX sale_customer ON sale(customer);
CREATE INDEX sale_day ON sale(day, amount);
SELECT count(*), round(avg(amount), 4) FROM sale WHERE day < 180;
SELECT name, count(*) AS n FROM customer JOIN sale ON sale.customer = customer.id WHERE amount > 50 GROUP BY name ORDER BY n DESC, name LIMIT 5;
SELECT count(*) FROM sale a JOIN sale b ON a.id = b.id + 1 WHERE a.amount > b.amount;
SELECT upper(city), length(group_concat(name)) FROM customer GROUP BY city ORDER BY 1 LIMIT 5;
UPDATE sale SET note = replace(note, 'for', 'to') WHERE id % 2 = 0;
SELECT count(*) FROM sale WHERE note GLOB '*to*9';
SELECT day, sum(amount) OVER (ORDER BY day ROWS 10 PRECEDING) FROM (SELECT day, sum(amount) amount FROM sale GROUP BY day) LIMIT 3;
