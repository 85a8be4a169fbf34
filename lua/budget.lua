-- budget.lua: take one call out of what a Slack workspace allows for a method, unless the credential is paused.
-- So many calls a minute, and half of them at once (generic cell rate algorithm).
--
-- KEYS[1] budget   string: when the bucket is empty again (microseconds)
-- KEYS[2] pause    hash: until (microseconds), reason
--
-- ARGV[1] calls a minute, 1 or more
-- ARGV[2] pause for so long, microseconds, instead of taking a call; 0 = take one; -1 = end a pause; -2 = only say
--         whether there is one
-- ARGV[3] why it is paused
--
-- Reply: [wait_us, reason]: 0 = taken, or paused; else how long nothing is to be had, and why ("" = the budget)
--
-- By hand:
--   redis-cli --eval lua/budget.lua 'relay:{ws:demo}:budget:chat.postMessage' 'relay:{ws:demo}:pause' , 240 0 ''

local budget, pause = KEYS[1], KEYS[2]
local per_minute, pause_us, reason = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local call = redis.call

local function int(x) return string.format('%.0f', x) end

if not per_minute or per_minute < 1 or not pause_us then
  return redis.error_reply('ARG calls a minute of 1 or more, a pause and a reason are needed')
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

if pause_us == -1 then
  call('DEL', pause)
  return { 0, '' }
end
if pause_us > 0 then
  call('HSET', pause, 'until', int(now + pause_us), 'reason', reason)
  call('PEXPIRE', pause, int(math.ceil(pause_us / 1000) + 1000))
  return { 0, '' }
end
local paused_until = tonumber(call('HGET', pause, 'until') or 0)
if paused_until > now then return { paused_until - now, call('HGET', pause, 'reason') or '' } end
if pause_us < 0 then return { 0, '' } end

local each = math.ceil(60000000 / per_minute)
local burst = math.max(1, math.floor(per_minute / 2))
local empty_at = math.max(now, tonumber(call('GET', budget) or 0))
local allowed_at = empty_at - (burst - 1) * each
if allowed_at > now then return { allowed_at - now, '' } end
call('SET', budget, int(empty_at + each), 'PX', int(math.ceil((empty_at + each - now) / 1000) + 1000))
return { 0, '' }
