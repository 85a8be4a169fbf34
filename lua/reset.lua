-- reset.lua: empty a level.
--
-- KEYS[1] limit    (w)  the level
--
-- ARGV    none
--
-- Reply: 1 emptied, 0 it was empty
--
-- By hand:
--   redis-cli --eval lua/reset.lua 'relay:{demo}:limit:sliding-log:channel'
--
-- Code generated from lua/src/reset.lua by go generate ./lua; DO NOT EDIT.

local level = KEYS[1]

return redis.call('DEL', level)
