-- reset.lua: delete the units of a level.
--
-- KEYS[1] limit    (w)  the level
--
-- ARGV    none
--
-- Reply: 1 deleted, 0 there were none
--
-- Example:
--   redis-cli --eval lua/reset.lua 'relay:{demo}:limit:sliding-log:channel'

local level = KEYS[1]

return redis.call('DEL', level)
