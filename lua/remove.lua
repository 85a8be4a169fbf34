-- remove.lua: delete dead letters.
--
-- KEYS[1] dead     (w)  stream of dead letters
--
-- ARGV    the ids
--
-- Reply: how many were deleted
--
-- Example:
--   redis-cli --eval lua/remove.lua 'relay:{demo}:dead:demo' , 1700000000000-0
--
-- Code generated from lua/src/remove.lua by go generate ./lua; DO NOT EDIT.

local dead = KEYS[1]

if #ARGV == 0 then return redis.error_reply('ARG an id is needed') end
return redis.call('XDEL', dead, unpack(ARGV))
