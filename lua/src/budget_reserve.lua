-- budget_reserve.lua: reserve one call of a Slack method in the budget of the workspace, unless the credential is
-- paused. Half of a minute's calls may be made at once (generic cell rate algorithm).
--
-- KEYS[1] budget   (rw) string: when the bucket is empty again (microseconds)
-- KEYS[2] pause    (r)  hash: until (microseconds), reason
--
-- ARGV[1] calls per minute, 1 or more
--
-- Reply: [wait_us, reason]: 0 = reserved; otherwise how long no call is allowed, and why ("" = the budget is used up)
--
-- Example:
--   redis-cli --eval lua/budget_reserve.lua 'relay:{ws:demo}:budget:chat.postMessage' 'relay:{ws:demo}:pause' , 240

local budget, pause = KEYS[1], KEYS[2]
local per_minute = tonumber(ARGV[1])
local call, max = redis.call, math.max

if not per_minute or per_minute < 1 then return redis.error_reply('ARG calls a minute of 1 or more are needed') end

--- @include parts/int
--- @include parts/ms
--- @include parts/clock
--- @include parts/credential

local wait, reason = credential_pause()
if wait > 0 then return { wait, reason } end

local each = math.ceil(60000000 / per_minute)
local burst = max(1, math.floor(per_minute / 2))
local empty_at = max(now, tonumber(call('GET', budget) or 0))
local allowed_at = empty_at - (burst - 1) * each
if allowed_at > now then return { allowed_at - now, '' } end
call('SET', budget, int(empty_at + each), 'PX', int(ms(empty_at + each - now)))
return { 0, '' }
