-- retry.lua: keep an entry for another attempt, because it did not reach Slack or its state is uncertain, and let the
-- channel wait.
--
-- An entry is identified by its number and its admission time, because a Redis that restarts from an older snapshot
-- assigns numbers again. If they do not match an entry, the entry is gone and nothing is written.
--
-- The call is refused if another sender has the lease, or if the entry was claimed again after the caller's claim,
-- because that attempt may have been posted.
-- A lease that has ended, or was lost with the data, does not prevent it. The call ends the caller's lease. It never
-- shortens a pause.
--
-- KEYS[1] lease    (rw) hash: owner, until (microseconds)
-- KEYS[2] outbox   (r)  sorted set of the numbers of messages
-- KEYS[3] extras   (rw) sorted set of the numbers of extras
-- KEYS[4] entries  (rw) hash of entries
-- KEYS[5] pause    (rw) hash: until (microseconds), reason; edits (microseconds)
-- KEYS[6] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] owner    the sender that claimed the entry
-- ARGV[2] number   the entry's number
-- ARGV[3] at       admission time of the entry in microseconds, as the claim returned it; 0 = another program added it
-- ARGV[4] claims   how often the entry had been claimed, including the caller's claim
-- ARGV[5] wait, microseconds; 0 = no wait
-- ARGV[6] reason   why, one of the notifier's reasons
-- ARGV[7] fault    1 = the entry itself may be at fault, and this counts towards burying it; otherwise 0
-- ARGV[8] who waits: channel (sends nothing), edits (the channel edits nothing), or entry (an extra by itself)
-- ARGV[9] state    not-posted: the message certainly did not appear; unknown: it may have; looked: a lookup did not
--                  find it; again: it was not found, and must be sent again
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing is written), -1 another sender has the
--   lease, or the entry was claimed again (nothing is written)
--
-- Example:
--   redis-cli --eval lua/retry.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:pause:demo' relay:due , \
--     me 1 1700000000000000 1 30000000 rate_limited 0 channel not-posted
--
-- Code generated from lua/src/retry.lua by go generate ./lua; DO NOT EDIT.

local lease, outbox, extras, entries, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local due = KEYS[6]
local owner, number, named_at, claims = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local wait, reason, fault, who, state = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), ARGV[8], ARGV[9]
local call, max = redis.call, math.max

if not claims or not wait or wait < 0 or not fault or not state then
  return redis.error_reply('ARG a name, claims, a wait of 0 or more, fault 0 or 1, who waits and a state are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part ms: for how many milliseconds to keep a key that matters for so many microseconds: a second longer.
local function ms(us) return math.ceil(us / 1000) + 1000 end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end

for _, set in ipairs({ outbox, extras, due }) do call('ZCARD', set) end -- a wrong type fails before any write
for _, hash in ipairs({ entries, pause }) do call('HLEN', hash) end
-- part entry/claimed: find the entry that the caller claimed. The script ends here if another sender has the
-- lease, or if the number and the admission time do not match an entry.
local DONE, GONE, LOST = 1, 0, -1

local lease_owner = call('HGET', lease, 'owner')
if lease_owner and lease_owner ~= owner and tonumber(call('HGET', lease, 'until')) > now then return LOST end
-- part entry/found: find the entry that the caller claimed. It ends with GONE if the number and the admission time do
-- not match an entry.
local entry = call('HGET', entries, number) or ''
local admitted_at = string.match(entry, '^([1-9]%d*) [^ ]* ') or '0'
if #admitted_at > 18 then admitted_at = '0' end
local is_message = call('ZSCORE', outbox, number)
local is_extra = not is_message and call('ZSCORE', extras, number)
if admitted_at ~= named_at or not (is_message or is_extra) then return GONE end
-- part entry/latest_claim: end the script if the entry was claimed again after the caller's claim, because that
-- attempt may have been posted.
local attempts = call('HGET', entries, number .. ':attempts') or '0'
if (tonumber(attempts) or 0) > claims then return LOST end

-- remember_state stores what is known of the attempt.
local function remember_state()
  if state == 'not-posted' then
    call('HDEL', entries, number .. ':sent', number .. ':tried', number .. ':looked', number .. ':claim')
  elseif state == 'unknown' then -- again, in case the server lost the claim with its data
    call('HSETNX', entries, number .. ':sent', admitted_at)
    call('HSETNX', entries, number .. ':tried', int(now))
  elseif state == 'looked' then
    call('HINCRBY', entries, number .. ':looked', 1)
  elseif state == 'again' then
    call('HSET', entries, number .. ':again', '1')
  end
end

-- pause_channel extends the pause of the channel, or of its edits, to the end of the wait.
local function pause_channel(field)
  if now + wait <= max(now, tonumber(call('HGET', pause, field) or 0)) then return end
  call('HSET', pause, field, int(now + wait))
  if field == 'until' then call('HSET', pause, 'reason', reason) end
  local keep_ms = ms(wait)
  if call('PTTL', pause) < keep_ms then call('PEXPIRE', pause, int(keep_ms)) end
end

if lease_owner == owner then call('DEL', lease) end
if fault == 1 then call('HINCRBY', entries, number .. ':faults', 1) end
remember_state()
if is_extra and who == 'entry' then
  call('ZADD', extras, int(now + wait), number)
else
  pause_channel(who == 'edits' and 'edits' or 'until')
end
look_now('send', outbox)
return DONE
