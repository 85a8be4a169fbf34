-- posted_message.lua: return a posted message (see admit.lua). Writes nothing.
--
-- KEYS[1] posted   (r)  hash of posted messages
--
-- ARGV[1] number   of the message
--
-- Reply: the message, JSON, or nil
--
-- Example:
--   redis-cli --eval lua/posted_message.lua 'relay:{demo}:posted:demo' , 1
--
-- Code generated from lua/src/posted_message.lua by go generate ./lua; DO NOT EDIT.

local posted, number = KEYS[1], ARGV[1]

return redis.call('HGET', posted, number)
