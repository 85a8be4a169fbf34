-- budget_reserve.lua: reserve calls of a Slack method in the budget of the workspace, as many as it allows, unless the
-- credential is paused. Half of a minute's calls may be made at once (generic cell rate algorithm).
--
-- KEYS[1] budget   (rw) string: when the bucket is empty again (microseconds)
-- KEYS[2] pause    (r)  hash: until (microseconds), reason
--
-- ARGV[1] calls per minute, 1 or more
-- ARGV[2] how many calls to reserve, 1 or more
--
-- Reply: [wait_us, reason, reserved]
--   wait_us  0 = all are reserved; otherwise how long no further call is allowed
--   reason   why the credential is paused; "" = it is not, and the budget is used up
--   reserved how many calls were reserved
--
-- Example:
--   redis-cli --eval lua/budget_reserve.lua 'relay:{ws:demo}:budget:chat.postMessage' 'relay:{ws:demo}:pause' , 240 1
--
-- Code generated from lua/src/budget_reserve.lua by go generate ./lua; DO NOT EDIT.

local budget, pause = KEYS[1], KEYS[2]
local per_minute, wanted = tonumber(ARGV[1]), tonumber(ARGV[2])
local call, max = redis.call, math.max

if not per_minute or per_minute < 1 or not wanted or wanted < 1 then
  return redis.error_reply('ARG calls a minute of 1 or more, and 1 call or more to reserve, are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part ms: for how many milliseconds to keep a key that matters for so many microseconds: a second longer.
local function ms(us) return math.ceil(us / 1000) + 1000 end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part credential: read how long a Slack credential stays paused, and why.
local function credential_pause()
  local paused_until = tonumber(call('HGET', pause, 'until') or 0)
  if paused_until <= now then return 0, '' end
  return paused_until - now, call('HGET', pause, 'reason') or ''
end

local wait, reason = credential_pause()
if wait > 0 then return { wait, reason, 0 } end

local each = math.ceil(60000000 / per_minute)
local burst = max(1, math.floor(per_minute / 2))
local empty_at = max(now, tonumber(call('GET', budget) or 0))
local reserved = max(0, math.min(wanted, math.floor((now + burst * each - empty_at) / each)))
if reserved > 0 then
  empty_at = empty_at + reserved * each
  call('SET', budget, int(empty_at), 'PX', int(ms(empty_at - now)))
end
return { reserved < wanted and empty_at - (burst - 1) * each - now or 0, '', reserved }
