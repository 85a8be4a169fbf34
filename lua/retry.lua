-- retry.lua: an entry did not reach Slack, or nobody knows: keep it in its place, and let the channel wait.
--
-- Fenced: refused when another sender holds the lease. The caller's lease is given up. A pause is only
-- ever made longer.
--
-- KEYS[1] lease    hash: owner, until (microseconds)
-- KEYS[2] outbox   sorted set of the numbers of messages
-- KEYS[3] extras   sorted set of the numbers of extras
-- KEYS[4] entries  hash of entries
-- KEYS[5] pause    hash: until (microseconds), reason; edits (microseconds)
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
-- ARGV[3] wait, microseconds; 0 = no wait
-- ARGV[4] reason   why, one of the notifier's reasons
-- ARGV[5] fault    1 when the entry itself may be at fault and this counts towards burying it, else 0
-- ARGV[6] who waits: channel (nothing is sent), edits (nothing is edited), or entry (an extra by itself)
-- ARGV[7] fate     not-posted: it certainly did not appear; unknown: it may have; looked: it was looked up and not
--                  found; again: it was not found, and is to be sent once more
--
-- Reply: 1 done, 0 the entry is gone (no pause), -1 the lease is another sender's (nothing written)
--
-- By hand:
--   redis-cli --eval lua/retry.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:pause:demo' , me 1 30000000 rate_limited 0 channel not-posted

local lease, outbox, extras, entries, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number, wait, reason = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local fault, who, fate = tonumber(ARGV[5]), ARGV[6], ARGV[7]
local call = redis.call

local function int(x) return string.format('%.0f', x) end

if not wait or wait < 0 or not fault or not fate then
  return redis.error_reply('ARG a wait of 0 or more, fault 0 or 1, who waits and the fate are needed')
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

for _, set in ipairs({ outbox, extras }) do call('ZCARD', set) end -- another type fails here, and not half-way
for _, hash in ipairs({ entries, pause }) do call('HLEN', hash) end

local held_by = call('HGET', lease, 'owner')
if held_by and held_by ~= owner and tonumber(call('HGET', lease, 'until')) > now then return -1 end
if held_by == owner then call('DEL', lease) end

local extra = call('ZSCORE', extras, number)
if not extra and not call('ZSCORE', outbox, number) then return 0 end
if fault == 1 then call('HINCRBY', entries, number .. ':faults', 1) end
if fate == 'not-posted' then
  call('HDEL', entries, number .. ':sent', number .. ':tried', number .. ':looked')
elseif fate == 'looked' then
  call('HINCRBY', entries, number .. ':looked', 1)
elseif fate == 'again' then
  call('HSET', entries, number .. ':again', '1')
end
if extra and who == 'entry' then
  call('ZADD', extras, int(now + wait), number)
  return 1
end
local field = who == 'edits' and 'edits' or 'until'
if now + wait > math.max(now, tonumber(call('HGET', pause, field) or 0)) then
  call('HSET', pause, field, int(now + wait))
  if field == 'until' then call('HSET', pause, 'reason', reason) end
  local keep = math.ceil(wait / 1000) + 1000
  if call('PTTL', pause) < keep then call('PEXPIRE', pause, int(keep)) end
end
return 1
