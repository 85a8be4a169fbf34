-- types.lua: the types of keys, to say which of them a script failed on. Writes nothing.
--
-- KEYS    any
-- ARGV    none
--
-- Reply: for each key: none, string, hash, zset, list, stream, set
--
-- By hand:
--   redis-cli --eval lua/types.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:seen:demo'

local types = {}
for i, key in ipairs(KEYS) do types[i] = redis.call('TYPE', key).ok end
return types
