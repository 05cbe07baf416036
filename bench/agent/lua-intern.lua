-- Names of files in many folders, counted by name.
local seen, n = {}, 0
for round = 1, 200 do
  for folder = 1, 40 do
    for file = 1, 320 do
      local number = (folder * 320 + file) * 7919 % 100000
      local name = string.format("/srv/photo/%03d/preview/%05d.jpeg", folder, number)
      local count = seen[name]
      if not count then n = n + 1 end
      seen[name] = (count or 0) + #name
    end
  end
end
print(n, seen["/srv/photo/017/preview/01930.jpeg"])
