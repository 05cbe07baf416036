-- SPDX-License-Identifier: GPL-2.0-or-later
-- What a Lua program does: calls, tables, strings, floats, closures. Argument: full, small or train.
local size = arg[1] or "full"
local n = size == "small" and 3 or 30
local train = size == "train"

local function fib(i) if i < 2 then return i end return fib(i - 1) + fib(i - 2) end

local function sieve(limit)
  local composite, count = {}, 0
  for i = 2, limit do
    if not composite[i] then
      count = count + 1
      for j = i * i, limit, i do composite[j] = true end
    end
  end
  return count
end

local function words(times)
  local count, order = {}, {}
  local text = string.rep("the quick brown fox jumps over the lazy dog and runs ", 40)
  for k = 1, times do
    for w in text:gmatch("%a+") do
      local key = w .. (k % 7)
      if not count[key] then count[key] = 0; order[#order + 1] = key end
      count[key] = count[key] + 1
    end
  end
  table.sort(order, function(a, b) return count[a] > count[b] or (count[a] == count[b] and a < b) end)
  return order[1], count[order[1]]
end

local function planets(steps)
  local x, y, vx, vy = {1.0, 5.2, 9.5}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {6.28, 2.76, 2.03}
  for _ = 1, steps do
    for i = 1, 3 do
      local r2 = x[i] * x[i] + y[i] * y[i]
      local a = -39.5 / (r2 * math.sqrt(r2)) * 0.001
      vx[i] = vx[i] + a * x[i]; vy[i] = vy[i] + a * y[i]
      x[i] = x[i] + vx[i] * 0.001; y[i] = y[i] + vy[i] * 0.001
    end
  end
  return string.format("%.6f", x[1])
end

local function queens(size_of_board)
  local found, columns, up, down = 0, {}, {}, {}
  local function place(row)
    if row > size_of_board then found = found + 1; return end
    for c = 1, size_of_board do
      if not (columns[c] or up[row + c] or down[row - c + size_of_board]) then
        columns[c], up[row + c], down[row - c + size_of_board] = true, true, true
        place(row + 1)
        columns[c], up[row + c], down[row - c + size_of_board] = nil, nil, nil
      end
    end
  end
  place(1)
  return found
end

if train then
  print(queens(8), planets(40000 * n), sieve(60000 * n))
  for _ = 1, n do words(60) end
  print(fib(30))
else
  print(fib(n == 3 and 26 or 31), sieve(100000 * n), planets(30000 * n))
  for _ = 1, n do words(50) end
  print(queens(n == 3 and 7 or 9))
end
