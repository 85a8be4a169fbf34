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

local lease, owner, lease_us = KEYS[1], ARGV[1], tonumber(ARGV[2])

if not lease_us or lease_us <= 0 then return redis.error_reply('ARG a lease above 0 is needed') end
if redis.call('HGET', lease, 'owner') ~= owner then return -1 end

--- @include parts/int
--- @include parts/ms
--- @include parts/clock

redis.call('HSET', lease, 'until', int(now + lease_us))
redis.call('PEXPIRE', lease, int(ms(lease_us)))
return 1
