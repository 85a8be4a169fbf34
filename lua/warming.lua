-- warming.lua: remember the longest windows of a channel's levels, and return how long each level is still warming: a
-- window that was lengthened under-counts until one full window has passed.
--
-- KEYS[1] windows  (rw) hash: level = "<longest window> <when it was lengthened, 0 = not warming>", microseconds
--
-- ARGV    for each level: name, longest window in microseconds
--
-- Reply: for each level, how long it is still warming, microseconds; 0 = it is not
--
-- Example:
--   redis-cli --eval lua/warming.lua 'relay:{demo}:windows:demo' , channel 1800000000 category 1800000000
--
-- Code generated from lua/src/warming.lua by go generate ./lua; DO NOT EDIT.

local windows = KEYS[1]
local keep_ms = 5356800000 -- 62 days: twice the longest window there is

for i = 2, #ARGV, 2 do
  if not tonumber(ARGV[i]) then return redis.error_reply('ARG each level needs the length of its longest window') end
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local reply = {}
for i = 1, #ARGV, 2 do
  local name, longest = ARGV[i], tonumber(ARGV[i + 1])
  local known, since = string.match(redis.call('HGET', windows, name) or '', '^(%d+) (%d+)$')
  known, since = tonumber(known or longest), tonumber(since or 0)
  if longest > known then since = now end
  if since + longest <= now then since = 0 end
  redis.call('HSET', windows, name, int(longest) .. ' ' .. int(since))
  reply[#reply + 1] = since > 0 and since + longest - now or 0
end
redis.call('PEXPIRE', windows, keep_ms)
return reply
