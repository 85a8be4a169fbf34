-- reset.lua: empty a level.
--
-- KEYS[1] the level
-- ARGV    none
--
-- Reply: 1 emptied, 0 it was empty
--
-- By hand:
--   redis-cli --eval lua/reset.lua 'relay:{demo}:limit:sliding-log:channel'

return redis.call('DEL', KEYS[1])
