-- part promote/next: when to decide the delayed events next: when the first of those that stay delayed may fit, or has
-- waited too long. If others take their place, that is soon.
local min_wait, max_wait = 100000, 10000000 -- microseconds; limits may be raised, and units refunded
local work = read_work('promote', delayed)
local again_at = now + max_wait

local function store_next()
  local at = call('ZCARD', delayed) > 0 and floor(max(again_at, now + min_wait)) or nil
  look_at(work, at)
end
