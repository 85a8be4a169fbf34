-- part ago: the text of the time that is per before now, microseconds.
local last_per, last_ago

local function ago(per)
  if per ~= last_per then last_per, last_ago = per, int(now - per) end
  return last_ago
end
