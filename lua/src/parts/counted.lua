-- part counted: check the counts of a replica, and name the fields of its drops.
local function fault_of(counts)
  for _, part in ipairs({ 'totals', 'categories', 'noted' }) do
    for name, n in pairs(counts[part] or {}) do
      if type(n) ~= 'number' then return 'ARG ' .. part .. ' ' .. name .. ' is not a number' end
    end
  end
  for _, drop in ipairs(counts.drops or {}) do
    if type(drop) ~= 'table' or #drop ~= 6 or not counts.keep then
      return 'ARG a drop has six fields, and needs the number that the channel keeps'
    end
  end
end

local function named_drops(list)
  local named = {}
  for i, drop in ipairs(list) do
    named[i] = {
      event = drop[1], category = drop[2], level = drop[3], used = drop[4], limit = drop[5], retry_us = drop[6],
    }
  end
  return named
end
