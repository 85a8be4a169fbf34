-- delayed.lua: what waits for a slot and may be asked for next: the oldest of each category. Writes nothing.
--
-- KEYS[1] delayed  sorted set of "<number> <category>", in order
-- KEYS[2] entries  hash of entries
--
-- ARGV[1] how many at most
--
-- Reply: [number, entry, ...]
--
-- By hand:
--   redis-cli --eval lua/delayed.lua 'relay:{demo}:delayed:demo' 'relay:{demo}:entries:demo' , 10

local delayed, entries, most = KEYS[1], KEYS[2], tonumber(ARGV[1])

if not most or most < 1 then return redis.error_reply('ARG a number of 1 or more is needed') end
local seen, reply = {}, {}
for _, member in ipairs(redis.call('ZRANGE', delayed, 0, -1)) do
  local number, category = string.match(member, '^(%d+) (.*)$')
  if number and not seen[category] and #reply < 2 * most then
    seen[category] = true
    reply[#reply + 1] = tonumber(number)
    reply[#reply + 1] = redis.call('HGET', entries, number) or ''
  end
end
return reply
