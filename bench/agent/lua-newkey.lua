-- Words of a text, counted by chapter.
local words, seed = {}, 12345
for i = 1, 3000 do
  seed = (seed * 1103515245 + 12345) % 2147483648
  words[i] = "w" .. seed % 100000
end
local total = 0
for chapter = 1, 4000 do
  local count, different = {}, 0
  for i = 1, 900 do
    local word = words[(i * 31 + chapter * 17) % 3000 + 1]
    local before = count[word]
    if before then count[word] = before + 1 else count[word] = 1; different = different + 1 end
    total = total + #word
  end
  for i = 1, 3000 do total = total + (count[words[i]] or 0) end
  total = total + different
end
print(total)
