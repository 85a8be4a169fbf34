-- report.lua: return the ledger of a channel and the state of its outbox, and with a level also how full that is, all
-- read at one time. No total is derived from others, so that an imbalance is visible. It writes nothing but the longest
-- window of the level, when that changes: a window that was lengthened under-counts until one full window has passed.
--
-- KEYS[1] ledger   (r)  hash of totals
-- KEYS[2] outbox   (r)  sorted set of entry numbers; all of them are messages
-- KEYS[3] entries  (r)  hash of entries
-- KEYS[4] pause    (r)  hash: until (microseconds), reason, settling (microseconds; claim.lua)
-- then, only with a level:
-- KEYS[5] windows  (rw) hash: level = "<longest window> <when it was lengthened, 0 = not warming>", microseconds
-- KEYS[6] minutes  (r)  hash of the counts in this hour
-- KEYS[7] minutes  (r)  the same of the hour before
-- KEYS[8] limit    (r)  the level
--
-- ARGV    none; with a level: its name, its longest window in microseconds, then as in the plan of lua/admit.lua its
--         strategy, option, shadow, and limit and length of each window
--
-- Reply: [pending, oldest_us, pause_us, pause_reason, [field, count, ...]], with a level also
--   [active, warming_us, retry_us, used, ...]
--   pending      messages in the outbox
--   oldest_us    age of the oldest message, microseconds (0 if none)
--   pause_us     how long the channel stays paused, microseconds (0 if it is not)
--   pause_reason why ("" when it is not); settling = a lookup of an uncertain message is due after it
--   field, count every field of the ledger
--   active       1 if events were admitted or dropped in this hour or in the one before, else 0
--   warming_us   how long the level is still warming (0 if it is not)
--   retry_us     after how long one more event fits the level (0 now, -1 never)
--   used         used slots of each window
--
-- Example:
--   redis-cli --eval lua/report.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:outbox:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:pause:demo'

local ledger, outbox, entries, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local windows, minutes, minutes_before = KEYS[5], KEYS[6], KEYS[7]
local keys_before_levels = 7
local level_name, longest = ARGV[1], tonumber(ARGV[2])
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

if windows and (not longest or #KEYS ~= keys_before_levels + 1) then
  return redis.error_reply('ARG a level needs its key, its name and the length of its longest window')
end

--- @include parts/clock

local oldest = 0
local head = call('ZRANGE', outbox, 0, 0)[1]
if head then
  local entry = call('HGET', entries, head)
  local admitted_at = entry and tonumber(string.match(entry, '^%d+'))
  if admitted_at then oldest = max(0, now - admitted_at) end
end

local paused, reason = 0, ''
local pauses = call('HMGET', pause, 'until', 'settling', 'reason')
local until_us, settling = tonumber(pauses[1] or 0), tonumber(pauses[2] or 0)
if until_us > now then
  paused, reason = until_us - now, pauses[3] or ''
elseif settling > now then
  paused, reason = settling - now, 'settling'
end

local reply = { call('ZCARD', outbox), oldest, paused, reason, call('HGETALL', ledger) }
if not windows then return reply end

local MODE = 'peek' -- nothing is written to the level
local level_specs = { { ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]) } }
for i = 6, #ARGV do table.insert(level_specs[1], tonumber(ARGV[i])) end

--- @include parts/int
--- @include parts/limits/constants
--- @include parts/levels
--- @include parts/ago
local now_text = int(now)
--- @include parts/limits/log
if needs_strategies then
  local strategies = {}
  --- @include parts/limits/strategies
  --- @include parts/limits/assign
end
--- @include parts/limits/fit

local level = levels[1]
local fits_at, never = fit(level, 1, 0)
local retry = 0
if not level.is_shadow then retry = never and -1 or max(0, fits_at - now) end

local stored = call('HGET', windows, level_name) or ''
local known, since = string.match(stored, '^(%d+) (%d+)$')
known, since = tonumber(known or longest), tonumber(since or 0)
if longest > known then since = now end
if since + longest <= now then since = 0 end

local active = (call('HLEN', minutes) > 0 or call('HLEN', minutes_before) > 0) and 1 or 0
local state = { active, since > 0 and since + longest - now or 0, retry }
for w = FIRST, #level.spec, 2 do state[#state + 1] = level.used[w] end
reply[6] = state

local keep_ms = 5356800000 -- 62 days: twice the longest window there is
local text = int(longest) .. ' ' .. int(since)
if text ~= stored then call('HSET', windows, level_name, text) end
if call('PTTL', windows) < keep_ms / 2 then call('PEXPIRE', windows, keep_ms) end
return reply
