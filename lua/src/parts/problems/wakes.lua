-- part problems/wakes: the wake times of documents that have not ended: up to count of them, earliest first, until the
-- last one.
local function wakes_until(last, count)
  local from = '(' .. int(now - overdue)
  return call('ZRANGEBYSCORE', wakes, from, last, 'WITHSCORES', 'LIMIT', 0, count)
end

-- first_wake returns when the next document wakes, or nothing.
local function first_wake() return tonumber(wakes_until('+inf', 1)[2]) end
