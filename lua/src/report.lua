-- report.lua: return the ledger of a channel and the state of its outbox, read at one time. Writes nothing. No total is
-- derived from others, so that an imbalance is visible.
--
-- KEYS[1] ledger   (r)  hash of totals
-- KEYS[2] outbox   (r)  sorted set of entry numbers; all of them are messages
-- KEYS[3] entries  (r)  hash of entries
-- KEYS[4] pause    (r)  hash: until (microseconds), reason, settling (microseconds; claim.lua)
--
-- ARGV    none
--
-- Reply: [pending, oldest_us, pause_us, pause_reason, field, count, ...]
--   pending      messages in the outbox
--   oldest_us    age of the oldest message, microseconds (0 if none)
--   pause_us     how long the channel stays paused, microseconds (0 if it is not)
--   pause_reason why ("" when it is not); settling = a lookup of an uncertain message is due after it
--   field, count every field of the ledger
--
-- Example:
--   redis-cli --eval lua/report.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:outbox:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:pause:demo'

local ledger, outbox, entries, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

--- @include parts/clock

local oldest = 0
local head = redis.call('ZRANGE', outbox, 0, 0)[1]
if head then
  local entry = redis.call('HGET', entries, head)
  local admitted_at = entry and tonumber(string.match(entry, '^%d+'))
  if admitted_at then oldest = math.max(0, now - admitted_at) end
end

local paused, reason = 0, ''
local until_us = tonumber(redis.call('HGET', pause, 'until') or 0)
local settling = tonumber(redis.call('HGET', pause, 'settling') or 0)
if until_us > now then
  paused, reason = until_us - now, redis.call('HGET', pause, 'reason') or ''
elseif settling > now then
  paused, reason = settling - now, 'settling'
end

local reply = { redis.call('ZCARD', outbox), oldest, paused, reason }
for _, value in ipairs(redis.call('HGETALL', ledger)) do reply[#reply + 1] = value end
return reply
