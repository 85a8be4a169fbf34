-- delayed.lua: return the oldest delayed event of each category, which promote.lua may decide next. Writes nothing.
--
-- KEYS[1] delayed  (r)  sorted set of "<number> <category>", in order
-- KEYS[2] entries  (r)  hash of entries
--
-- ARGV[1] how many at most
--
-- Reply: [number, entry, ...]
--
-- Example:
--   redis-cli --eval lua/delayed.lua 'relay:{demo}:delayed:demo' 'relay:{demo}:entries:demo' , 10

local delayed, entries, most = KEYS[1], KEYS[2], tonumber(ARGV[1])

if not most or most < 1 then return redis.error_reply('ARG a number of 1 or more is needed') end
local max_bytes = 262144 -- a reply ends with the entry that exceeds it
local seen, reply, bytes = {}, {}, 0
for _, member in ipairs(redis.call('ZRANGE', delayed, 0, -1)) do
  local number, category = string.match(member, '^(%d+) (.*)$')
  if #reply >= 2 * most or bytes >= max_bytes then break end
  if number and not seen[category] then
    local entry = redis.call('HGET', entries, number) or ''
    seen[category], bytes = true, bytes + #entry
    reply[#reply + 1] = tonumber(number)
    reply[#reply + 1] = entry
  end
end
return reply
