-- retry.lua: an entry did not reach Slack: keep it in its place, and pause the channel for all senders.
--
-- Fenced: refused when another sender holds the lease. The caller's lease is given up. A pause is only
-- ever made longer.
--
-- KEYS[1] lease    hash: owner, until (microseconds)
-- KEYS[2] outbox   sorted set of entry numbers
-- KEYS[3] entries  hash of entries
-- KEYS[4] pause    hash: until (microseconds), reason
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
-- ARGV[3] wait, microseconds; 0 = no pause
-- ARGV[4] reason   why, one of the notifier's reasons
-- ARGV[5] fault    1 when the entry itself may be at fault and this counts towards burying it, else 0
--
-- Reply: 1 done, 0 the entry is gone (no pause), -1 the lease is another sender's (nothing written)
--
-- By hand:
--   redis-cli --eval lua/retry.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:pause:demo' , me 1 30000000 rate_limited 0

local lease, outbox, entries, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, number, wait, reason, fault = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])

local function int(x) return string.format('%.0f', x) end

if not wait or wait < 0 or not fault then
  return redis.error_reply('ARG a wait of 0 or more and fault 0 or 1 are needed')
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local held_by = redis.call('HGET', lease, 'owner')
if held_by and held_by ~= owner and tonumber(redis.call('HGET', lease, 'until')) > now then return -1 end
if held_by == owner then redis.call('DEL', lease) end

if not redis.call('ZSCORE', outbox, number) then return 0 end
if fault == 1 then redis.call('HINCRBY', entries, number .. ':faults', 1) end
if now + wait > math.max(now, tonumber(redis.call('HGET', pause, 'until') or 0)) then
  redis.call('HSET', pause, 'until', int(now + wait), 'reason', reason)
  redis.call('PEXPIRE', pause, int(math.ceil(wait / 1000) + 1000))
end
return 1
