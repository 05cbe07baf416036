-- The median of each of many short series.
local seed, sum = 42, 0
for series = 1, 130000 do
  local values = {}
  for i = 1, 41 do
    seed = (seed * 1103515245 + 12345) % 2147483648
    values[i] = seed % 10000
  end
  table.sort(values)
  sum = sum + values[21]
end
print(sum)
