-- renew.lua: renew the lease of a channel.
--
-- KEYS[1] lease    (rw) hash: owner, until (microseconds)
--
-- ARGV[1] owner    the sender that has it
-- ARGV[2] lease, microseconds
--
-- Reply: 1 renewed, -1 the caller no longer has it
--
-- Example:
--   redis-cli --eval lua/renew.lua 'relay:{demo}:lease:demo' , me 10000000
--
-- Code generated from lua/src/renew.lua by go generate ./lua; DO NOT EDIT.

local lease, owner, lease_us = KEYS[1], ARGV[1], tonumber(ARGV[2])

if not lease_us or lease_us <= 0 then return redis.error_reply('ARG a lease above 0 is needed') end
if redis.call('HGET', lease, 'owner') ~= owner then return -1 end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part ms: for how many milliseconds to keep a key that matters for so many microseconds: a second longer.
local function ms(us) return math.ceil(us / 1000) + 1000 end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

redis.call('HSET', lease, 'until', int(now + lease_us))
redis.call('PEXPIRE', lease, int(ms(lease_us)))
return 1
