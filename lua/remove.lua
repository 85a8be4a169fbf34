-- remove.lua: take entries out of a stream.
--
-- KEYS[1] the stream, of dead letters
--
-- ARGV    the ids
--
-- Reply: how many were there
--
-- By hand:
--   redis-cli --eval lua/remove.lua 'relay:{demo}:dead:demo' , 1700000000000-0

if #ARGV == 0 then return redis.error_reply('ARG an id is needed') end
return redis.call('XDEL', KEYS[1], unpack(ARGV))
