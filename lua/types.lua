-- types.lua: return the types of keys, to find the key that made a script fail. Writes nothing.
--
-- KEYS    any key of the relay
--
-- ARGV    none
--
-- Reply: for each key: none, string, hash, zset, list, stream, set
--
-- Example:
--   redis-cli --eval lua/types.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:seen:demo'
--
-- Code generated from lua/src/types.lua by go generate ./lua; DO NOT EDIT.

local types = {}
for i, key in ipairs(KEYS) do types[i] = redis.call('TYPE', key).ok end
return types
