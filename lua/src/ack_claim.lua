-- ack_claim.lua: remove an entry that was delivered, as ack.lua does, and claim the next one, as claim.lua does.
--
-- A sender with a queue to send makes one call for each message. The call does what the two scripts do one after the
-- other, at the same instant. If another sender has the lease, nothing is written. If the entry is gone, because the
-- call is repeated, the next one is claimed all the same.
--
-- KEYS[1] lease    (rw) as in claim.lua, like all keys up to the eighth
-- KEYS[2] pause    (rw)
-- KEYS[3] pace     (rw)
-- KEYS[4] outbox   (rw)
-- KEYS[5] entries  (rw)
-- KEYS[6] extras   (rw)
-- KEYS[7] digest   (r)
-- KEYS[8] due      (rw)
-- KEYS[9] ledger   (rw) hash of totals: a message counts under its result, an extra under "<kind>:<result>"
-- KEYS[10] posted  (rw) hash of posted messages (see admit.lua)
-- then, optional: backlog (rw) the stream or list of a level with the strategy backlog, which the entry leaves
--
-- ARGV[1] to [13]  as in claim.lua
-- ARGV[14] number  the number of the entry that was delivered
-- ARGV[15] at      admission time of the entry in microseconds, as the claim returned it; 0 = another program added it
-- ARGV[16], [17]   channel and ts: where the message is in Slack; "" = this is not known
--
-- Reply: [settled], and unless that is -1 also the reply of claim.lua
--   settled  1 done, 0 the entry is gone, or the number is another entry's, -1 another sender has the lease
--
-- Example:
--   redis-cli --eval lua/ack_claim.lua 'relay:{demo}:lease:demo' 'relay:{demo}:pause:demo' 'relay:{demo}:pace:demo' \
--     'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:digest:demo' relay:due 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' , \
--     me 10000000 1000000 3 3600000000 10000000 0 0 1 0 2 0 0 1 1700000000000000 C0123 1700000000.000100

--- @include parts/claim/arguments
local ledger, posted, backlog = KEYS[9], KEYS[10], KEYS[11]
local number, named_at = ARGV[14], ARGV[15]
if not ARGV[17] then return redis.error_reply('ARG a number, a time, a channel and a ts are needed') end
local options = { channel = ARGV[16] ~= '' and ARGV[16] or nil, ts = ARGV[17] ~= '' and ARGV[17] or nil }
local DONE, GONE, LOST = 1, 0, -1

--- @include parts/int
--- @include parts/ms
--- @include parts/clock
--- @include parts/claim/state
--- @include parts/claim/next
--- @include parts/claim/candidate
--- @include parts/claim/mark
--- @include parts/claim/claim
--- @include parts/entry/backlog

if leased[1] and not is_mine and leased_until > now then return { LOST } end
-- A wrong type fails before any write. The other keys are read before the first write anyway.
call('ZCARD', extras)
call('HLEN', ledger)
call('HLEN', posted)

local function acknowledge()
  --- @include parts/entry/found
  --- @include parts/entry/remove
  --- @include parts/entry/shown
  remove_entry('delivered')
  mark_shown()
  leave_backlog()
  return DONE
end

local settled = acknowledge()
return { settled, unpack(claim()) }
