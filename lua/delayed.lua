-- delayed.lua: return the oldest delayed event of each category, which promote.lua may decide next. If none is delayed,
-- the channel leaves the due index; nothing else is written.
--
-- KEYS[1] delayed  (r)  sorted set of "<number> <category>", in order
-- KEYS[2] entries  (r)  hash of entries
-- KEYS[3] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] how many at most
--
-- Reply: [number, category, entry, ...]
--
-- Example:
--   redis-cli --eval lua/delayed.lua 'relay:{demo}:delayed:demo' 'relay:{demo}:entries:demo' relay:due , 10
--
-- Code generated from lua/src/delayed.lua by go generate ./lua; DO NOT EDIT.

local delayed, entries, due, most = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1])
local call = redis.call

if not most or most < 1 then return redis.error_reply('ARG a number of 1 or more is needed') end
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end

local max_bytes = 262144 -- a reply ends with the entry that exceeds it
local seen, reply, bytes = {}, {}, 0
for _, member in ipairs(call('ZRANGE', delayed, 0, -1)) do
  local number, category = string.match(member, '^(%d+) (.*)$')
  if #reply >= 3 * most or bytes >= max_bytes then break end
  if number and not seen[category] then
    local entry = call('HGET', entries, number) or ''
    seen[category], bytes = true, bytes + #entry
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = tonumber(number), category, entry
  end
end
if #reply == 0 then call('ZREM', due, work_of('promote', delayed)) end
return reply
