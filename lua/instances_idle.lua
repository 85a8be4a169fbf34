-- instances_idle.lua: return the channels of templates that were not used for a time, the idlest first. Writes nothing.
--
-- KEYS[1] used     (r)  sorted set of channels, score = their last use
--
-- ARGV[1] idle     how long, microseconds
-- ARGV[2] how many to return at most
--
-- Reply: [channel, idle, ...]; idle is how long it was not used, microseconds
--
-- Example:
--   redis-cli --eval lua/instances_idle.lua 'relay:{instances}:used' , 604800000000 100
--
-- Code generated from lua/src/instances_idle.lua by go generate ./lua; DO NOT EDIT.

local used = KEYS[1]
local idle, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local call = redis.call

if not idle or idle < 0 or not most or most < 1 then
  return redis.error_reply('ARG a time of 0 or more and a number of 1 or more are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part ago: the text of the time that is per before now, microseconds.
local last_per, last_ago

local function ago(per)
  if per ~= last_per then last_per, last_ago = per, int(now - per) end
  return last_ago
end

local found = call('ZRANGEBYSCORE', used, '-inf', ago(idle), 'WITHSCORES', 'LIMIT', '0', int(most))
for i = 2, #found, 2 do found[i] = now - tonumber(found[i]) end
return found
