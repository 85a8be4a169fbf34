-- posted_message.lua: what is kept of a message, so that a resolve or a repeat finds it (admit.lua). Writes nothing.
--
-- KEYS[1] posted   (r)  hash of messages
--
-- ARGV[1] number   of the message
--
-- Reply: the message, JSON, or nil
--
-- By hand:
--   redis-cli --eval lua/posted_message.lua 'relay:{demo}:posted:demo' , 1

local posted, number = KEYS[1], ARGV[1]

return redis.call('HGET', posted, number)
