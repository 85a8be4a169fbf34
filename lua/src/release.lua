-- release.lua: release the lease of a channel, so that another sender does not wait for its end.
--
-- KEYS[1] lease    (rw) hash: owner, until (microseconds)
--
-- ARGV[1] owner    the sender that releases it
--
-- Reply: 1 released, 0 the caller did not have it
--
-- Example:
--   redis-cli --eval lua/release.lua 'relay:{demo}:lease:demo' , me

local lease, owner = KEYS[1], ARGV[1]

if redis.call('HGET', lease, 'owner') ~= owner then return 0 end
redis.call('DEL', lease)
return 1
