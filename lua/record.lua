-- record.lua: what is kept of a message that was admitted (admit.lua). Writes nothing.
--
-- KEYS[1] posted   hash of records
--
-- ARGV[1] number   of the message
--
-- Reply: the record, JSON, or nil
--
-- By hand:
--   redis-cli --eval lua/record.lua 'relay:{demo}:posted:demo' , 1

return redis.call('HGET', KEYS[1], ARGV[1])
