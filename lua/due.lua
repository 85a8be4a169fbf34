-- due.lua: return the work that is due, earliest first. Writes nothing.
--
-- The due index knows which channels have something to do, so that nobody has to ask those that have nothing. Its times
-- are when to look at a channel: never later than its work can go on, but maybe earlier. The scripts that add work note
-- the present time. Those that look, claim.lua, promote.lua and due_problems.lua, note the exact one: of a channel that
-- is being sent, it is the end of the lease, so that another sender looks if this one dies.
--
-- KEYS[1] due      (r)  sorted set of "<kind> <limit group>:<channel>", score = time in microseconds; the names are
--                  as in the keys. kind: send (messages, extras and digests), promote (delayed
--                  events) or problem (documents that wake)
--
-- ARGV[1] how many to skip
-- ARGV[2] how many to return at most
--
-- Reply: [work, time, ...]; times are text
--
-- Example:
--   redis-cli --eval lua/due.lua relay:due , 0 1000
--
-- Code generated from lua/src/due.lua by go generate ./lua; DO NOT EDIT.

local due, skip, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local call = redis.call

if not skip or skip < 0 or not most or most < 1 then
  return redis.error_reply('ARG numbers of 0 or more, and of 1 or more are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

return call('ZRANGEBYSCORE', due, '-inf', int(now), 'WITHSCORES', 'LIMIT', int(skip), int(most))
