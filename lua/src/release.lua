-- release.lua: release the lease of a channel, so that another sender does not wait for its end.
--
-- KEYS[1] lease    (rw) hash: owner, until (microseconds)
-- KEYS[2] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] owner    the sender that releases it
--
-- Reply: 1 released, 0 the caller did not have it
--
-- Example:
--   redis-cli --eval lua/release.lua 'relay:{demo}:lease:demo' relay:due , me

local lease, due, owner = KEYS[1], KEYS[2], ARGV[1]
local call = redis.call

if call('HGET', lease, 'owner') ~= owner then return 0 end

--- @include parts/int
--- @include parts/clock
--- @include parts/due/work
--- @include parts/due/now

call('ZCARD', due) -- a wrong type fails before any write
call('DEL', lease)
look_now('send', lease)
return 1
