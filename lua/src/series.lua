-- series.lua: return the counts of each category over several hours, or the counts of each minute. Writes nothing.
--
-- KEYS    series   (r)  hashes of a channel's hours: "<category>:admitted" and "<category>:dropped"; or minutes (r)
--          its hashes of minutes (see admit.lua)
--
-- ARGV    none
--
-- Reply: [field, count, ...], each field once
--
-- Example:
--   redis-cli --eval lua/series.lua 'relay:{demo}:series:demo:0'

local order, sums = {}, {}
for _, key in ipairs(KEYS) do
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local field = fields[i]
    if not sums[field] then
      sums[field] = 0
      order[#order + 1] = field
    end
    sums[field] = sums[field] + tonumber(fields[i + 1])
  end
end

local reply = {}
for _, field in ipairs(order) do
  reply[#reply + 1] = field
  reply[#reply + 1] = sums[field]
end
return reply
