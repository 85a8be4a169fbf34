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

local used = KEYS[1]
local idle, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local call = redis.call

if not idle or idle < 0 or not most or most < 1 then
  return redis.error_reply('ARG a time of 0 or more and a number of 1 or more are needed')
end

--- @include parts/int
--- @include parts/clock
--- @include parts/ago

local found = call('ZRANGEBYSCORE', used, '-inf', ago(idle), 'WITHSCORES', 'LIMIT', '0', int(most))
for i = 2, #found, 2 do found[i] = now - tonumber(found[i]) end
return found
