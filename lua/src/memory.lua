-- memory.lua: how full the memory is of the server that has a channel's keys. Writes nothing.
--
-- KEYS[1] any      (-)  any key of the channel: it names the server of a Cluster, and is not touched
--
-- ARGV    none
--
-- Reply: [used, most]
--   used  bytes that count when a write is refused for lack of memory
--   most  maxmemory; 0 = no write is
--
-- By hand:
--   redis-cli --eval lua/memory.lua 'relay:{demo}:ledger:demo'

local info = redis.call('INFO', 'memory')

local function field(name) return tonumber(string.match(info, '\n' .. name .. ':(%d+)') or 0) end

return { math.max(0, field('used_memory') - field('mem_not_counted_for_evict')), field('maxmemory') }
