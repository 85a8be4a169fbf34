-- peek.lua: how full levels are, and when one unit would fit. Writes nothing.
--
-- KEYS    the sorted sets of the levels, at most 128 a call
-- ARGV    for each level: number of windows, and for each window: limit, length in microseconds
--
-- Reply: for each level and window in order: used, retry_us
--   used     units inside the window now
--   retry_us how long until one more unit fits, microseconds; 0 when it fits now, -1 when it never can
--
-- By hand:
--   redis-cli --eval lua/peek.lua 'relay:{demo}:limit:sliding-log:channel' , 1 10 60000000

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local function int(x) return string.format('%.0f', x) end

local reply, at = {}, 1
for _, key in ipairs(KEYS) do
  local windows = tonumber(ARGV[at])
  if not windows then return redis.error_reply('ARG each level needs its number of windows') end
  for w = 1, windows do
    local limit, per = tonumber(ARGV[at + 2 * w - 1]), tonumber(ARGV[at + 2 * w])
    if not limit or not per then return redis.error_reply('ARG each window needs a limit and a length') end
    local retry_us = 0
    if limit < 1 then
      retry_us = -1
    else
      local edge = redis.call('ZREVRANGE', key, int(limit - 1), int(limit - 1), 'WITHSCORES')
      if edge[2] then retry_us = math.max(0, tonumber(edge[2]) + per - now) end
    end
    reply[#reply + 1] = redis.call('ZCOUNT', key, '(' .. int(now - per), int(now))
    reply[#reply + 1] = retry_us
  end
  at = at + 1 + 2 * windows
end
return reply
