-- types.lua: the types of keys, to find the one that a script failed on. Writes nothing.
--
-- KEYS    any key of the relay
--
-- ARGV    none
--
-- Reply: for each key: none, string, hash, zset, list, stream, set
--
-- By hand:
--   redis-cli --eval lua/types.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:seen:demo'

local types = {}
for i, key in ipairs(KEYS) do types[i] = redis.call('TYPE', key).ok end
return types
