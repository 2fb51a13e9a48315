-- SPDX-License-Identifier: MIT
-- What the Lua workload runs: calls, tables, strings, closures and floating point. work.lua SCALE
local scale = tonumber(arg and arg[1]) or 1

local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end

local function queens(n)
  local columns, up, down, found = {}, {}, {}, 0
  local function place(row)
    if row > n then found = found + 1 return end
    for c = 1, n do
      local u, d = row + c, row - c + n
      if not (columns[c] or up[u] or down[d]) then
        columns[c], up[u], down[d] = true, true, true
        place(row + 1)
        columns[c], up[u], down[d] = nil, nil, nil
      end
    end
  end
  place(1)
  return found
end

local function words(n)
  local counts, total = {}, 0
  for i = 1, n do
    local word = string.format("w%d", (i * 7919) % 1009)
    counts[word] = (counts[word] or 0) + 1
  end
  local keys = {}
  for word in pairs(counts) do keys[#keys + 1] = word end
  table.sort(keys)
  for i, word in ipairs(keys) do total = total + i * counts[word] end
  return total, (table.concat(keys, ","):gsub("w(%d)", "%1x"):len())
end

local function mandelbrot(n)
  local inside = 0
  for py = 0, n - 1 do
    for px = 0, n - 1 do
      local cx, cy, x, y, i = 3 * px / n - 2, 2 * py / n - 1, 0.0, 0.0, 0
      while x * x + y * y < 4 and i < 40 do x, y, i = x * x - y * y + cx, 2 * x * y + cy, i + 1 end
      if i == 40 then inside = inside + 1 end
    end
  end
  return inside
end

for round = 1, scale do
  print(round, fib(21), queens(6), words(20000), mandelbrot(64))
end
