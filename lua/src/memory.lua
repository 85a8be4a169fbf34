-- memory.lua: return how much memory the server with a channel's keys uses. Writes nothing.
--
-- KEYS[1] any      (-)  any key of the channel: it selects the server of a Cluster, and is not read
--
-- ARGV    none
--
-- Reply: [used, most]
--   used  bytes that count towards maxmemory
--   most  maxmemory; 0 = there is no maximum
--
-- Example:
--   redis-cli --eval lua/memory.lua 'relay:{demo}:ledger:demo'

local info = redis.call('INFO', 'memory')

local function field(name) return tonumber(string.match(info, '\n' .. name .. ':(%d+)') or 0) end

return { math.max(0, field('used_memory') - field('mem_not_counted_for_evict')), field('maxmemory') }
