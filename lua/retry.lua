-- retry.lua: an entry did not reach Slack, or nobody knows: keep it in its place, and let the channel wait.
--
-- An entry is named by its number and the time of its admission: a Redis that came back older than it was gives
-- numbers again. Where the name does not fit, the entry is gone, and nothing is written.
--
-- Fenced: refused when another sender holds the lease. A lease that ended, or was lost with the data, is no
-- obstacle, unless another claim followed the caller's: that attempt may have been posted, whatever became of this
-- one. The caller's lease is given up. A pause is only ever made longer.
--
-- KEYS[1] lease    hash: owner, until (microseconds)
-- KEYS[2] outbox   sorted set of the numbers of messages
-- KEYS[3] extras   sorted set of the numbers of extras
-- KEYS[4] entries  hash of entries
-- KEYS[5] pause    hash: until (microseconds), reason; edits (microseconds)
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
-- ARGV[3] at       when the entry was admitted, microseconds, as the claim said; 0 = it is none of the relay's
-- ARGV[4] claims   how often it was claimed by then, the caller's claim included
-- ARGV[5] wait, microseconds; 0 = no wait
-- ARGV[6] reason   why, one of the notifier's reasons
-- ARGV[7] fault    1 when the entry itself may be at fault and this counts towards burying it, else 0
-- ARGV[8] who waits: channel (nothing is sent), edits (nothing is edited), or entry (an extra by itself)
-- ARGV[9] fate     not-posted: it certainly did not appear; unknown: it may have; looked: it was looked up and not
--                  found; again: it was not found, and is to be sent once more
--
-- Reply: 1 done, 0 the entry is gone, or the number is another's (nothing written), -1 another sender holds the
--   lease, or claimed the entry since (nothing written)
--
-- By hand:
--   redis-cli --eval lua/retry.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:pause:demo' , \
--     me 1 1700000000000000 1 30000000 rate_limited 0 channel not-posted

local lease, outbox, extras, entries, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number, named_at, claims = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local wait, reason, fault, who, fate = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), ARGV[8], ARGV[9]
local call = redis.call

local function int(x) return string.format('%.0f', x) end

if not claims or not wait or wait < 0 or not fault or not fate then
  return redis.error_reply('ARG a name, claims, a wait of 0 or more, fault 0 or 1, who waits and the fate are needed')
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

for _, set in ipairs({ outbox, extras }) do call('ZCARD', set) end -- another type fails here, and not half-way
for _, hash in ipairs({ entries, pause }) do call('HLEN', hash) end

local held_by = call('HGET', lease, 'owner')
if held_by and held_by ~= owner and tonumber(call('HGET', lease, 'until')) > now then return -1 end
local entry, extra = call('HGET', entries, number) or '', call('ZSCORE', extras, number)
local at = string.match(entry, '^([1-9]%d*) [^ ]* ') or '0'
if #at > 18 then at = '0' end
if at ~= named_at or not extra and not call('ZSCORE', outbox, number) then return 0 end
if tonumber(call('HGET', entries, number .. ':attempts') or 0) > claims then return -1 end
if held_by == owner then call('DEL', lease) end

if fault == 1 then call('HINCRBY', entries, number .. ':faults', 1) end
if fate == 'not-posted' then
  call('HDEL', entries, number .. ':sent', number .. ':tried', number .. ':looked', number .. ':claim')
elseif fate == 'unknown' then -- a server that forgot the claim learns of it again
  call('HSETNX', entries, number .. ':sent', at)
  call('HSETNX', entries, number .. ':tried', int(now))
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
