-- release.lua: give up the lease of a channel, so that another sender need not wait for its end.
--
-- KEYS[1] lease    (rw) hash: owner, until (microseconds)
--
-- ARGV[1] owner    who gives it up
--
-- Reply: 1 released, 0 it was not the caller's
--
-- By hand:
--   redis-cli --eval lua/release.lua 'relay:{demo}:lease:demo' , me

local lease, owner = KEYS[1], ARGV[1]

if redis.call('HGET', lease, 'owner') ~= owner then return 0 end
redis.call('DEL', lease)
return 1
