-- page.lua: return a page of a stream, newest first. Writes nothing.
--
-- KEYS[1] dead     (r)  stream of dead letters; or drops (r) stream of drops
--
-- ARGV[1] before   return only older items than this id; "+" = start at the newest
-- ARGV[2] how many at most
--
-- Reply: as XREVRANGE: [[id, [field, value, ...]], ...]
--
-- Example:
--   redis-cli --eval lua/page.lua 'relay:{demo}:dead:demo' , + 10
--
-- Code generated from lua/src/page.lua by go generate ./lua; DO NOT EDIT.

local stream = KEYS[1]
local before, most = ARGV[1], tonumber(ARGV[2])

if not before or not most or most < 1 then
  return redis.error_reply('ARG an id and a number of 1 or more are needed')
end
local newest = before == '+' and '+' or '(' .. before
return redis.call('XREVRANGE', stream, newest, '-', 'COUNT', most)
