-- Pages put together from lines, and changed once more.
local line = "the quick brown fox jumps over the lazy dog, and the dog sleeps on in the sun"
local length, found = 0, 0
for page = 1, 1500 do
  local lines = {}
  for i = 1, 900 do lines[i] = line end
  lines[page % 900 + 1] = "page " .. page
  local text = table.concat(lines, "\n")
  length = length + #text
  local at = text:find("page " .. page, 1, true)
  found = found + at + (text:find("sun%d") or 1)
  local upper = text:upper()
  length = length + #upper
end
print(length, found)
