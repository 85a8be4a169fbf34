-- claim.lua: claim the next entry of a channel's outbox, if this sender may send it now.
--
-- The lease names the one sender of a channel. The entry stays in the outbox until its result is known (ack.lua,
-- bury.lua, expire.lua, discard.lua, retry.lua), so that another sender can claim it if this one dies. The pace is
-- charged here, by the clock of Redis, so that it limits all replicas together: one post per pace, and at most `burst`
-- at once (generic cell rate algorithm). Messages are sent in their order, and extras (edits, digests, notices, copies)
-- when they are due. Of a message and an extra, the one that has waited longer is first. Edits are not paced.
--
-- A claim may run although its reply never reaches its owner. The owner then certainly sent nothing. Therefore an entry
-- remembers the claim that marked it as sent, and the mark is removed when the owner reports that this claim brought no
-- reply. An uncertain state that another attempt left stays.
--
-- KEYS[1] lease    (rw) hash: owner, until (microseconds), call = the number of the owner's claim
-- KEYS[2] pause    (rw) hash: until (microseconds), reason; edits (microseconds): nothing is edited until then;
--                  settling (microseconds): until then an uncertain message is not looked up
-- KEYS[3] pace     (rw) string: when the bucket is empty again (microseconds)
-- KEYS[4] outbox   (r)  sorted set of the numbers of messages in order
-- KEYS[5] entries  (rw) hash: "<number>" = "<admitted at> <kind> <payload>", and of each "<number>:attempts",
--                  ":faults", ":sent" = time of the first attempt, while that may have arrived, ":tried" = time of the
--                  last attempt, ":looked" = lookups since then, ":again" = it must be sent again, ":thread" = the
--                  number of the message that it replies to, ":name" = what it was posted as while Redis was
--                  unavailable, ":claim" = "<call> <what> <owner>": only that claim made the last attempt;
--                  what = first (the first attempt) or again
-- KEYS[6] extras   (r)  sorted set of the numbers of extras, score = due time
-- KEYS[7] digest   (r)  hash of the counts for the next digest (see digest.lua)
-- KEYS[8] due      (rw) sorted set of the work of channels (see due.lua)
--
-- ARGV[1] owner    the sender; unique to one process
-- ARGV[2] lease, microseconds
-- ARGV[3] pace, microseconds between messages; 0 = no pace
-- ARGV[4] burst, messages at once, 1 or more
-- ARGV[5] ttl, microseconds: messages older than that are stale; 0 = never
-- ARGV[6] lookup delay, microseconds, before an uncertain message is looked up; 0 = this is not possible
-- ARGV[7] digest interval, microseconds; 0 = no digests
-- ARGV[8] digest every, microseconds between two edits of an open digest; 0 = it is posted at the end
-- ARGV[9] digest minimum, how many events it must report
-- ARGV[10] look    1 = do not claim what would be posted or edited, but report that it is ready; otherwise 0
-- ARGV[11] call    the number of this claim; it rises with each claim of the owner in this channel
-- ARGV[12], [13]   the first and the last of the owner's claims without a reply; 0 0 = there are none
--
-- Reply: [state, wait_us], and if claimed or stale also number, attempts, faults, age_us, entry, sent, looked,
--        thread, name
--   state    0 empty, 1 claimed, 2 leased to another sender, 3 paused, 4 not yet (pace), 5 claimed, and stale,
--            6 a digest is due (digest.lua), 7 a post is ready, 8 an edit is ready, 9 not yet (uncertain)
--   wait_us  how long the state lasts at most (states 2 to 4 and 9)
--   attempts how often it was claimed before; faults: how many of those failed through its own fault
--   sent     0, or since when the message is uncertain (microseconds of Redis's time)
-- An empty outbox or a pause ends the caller's own lease, so that any replica can send the next message at once.
-- The call notes in the due index when to look at the channel next: when the state ends, an extra or a digest is due,
-- or the lease of who claimed ends. What the caller can go on with now, others look at a second later.
--
-- Example:
--   redis-cli --eval lua/claim.lua 'relay:{demo}:lease:demo' 'relay:{demo}:pause:demo' 'relay:{demo}:pace:demo' \
--     'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:digest:demo' relay:due , me 10000000 1000000 3 3600000000 10000000 0 0 1 0 1 0 0

local lease, pause, pace, outbox, entries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local extras, digest, due = KEYS[6], KEYS[7], KEYS[8]
local owner = ARGV[1]
local EMPTY, CLAIMED, LEASED, PAUSED, PACED, STALE = 0, 1, 2, 3, 4, 5
local DIGEST_DUE, POST_READY, EDIT_READY, UNKNOWN = 6, 7, 8, 9
local call, ceil, max, min = redis.call, math.ceil, math.max, math.min

local number = {}
for i = 2, 13 do
  number[i] = tonumber(ARGV[i])
  if not number[i] or number[i] < 0 then
    return redis.error_reply('ARG argument ' .. i .. ' must be a number of 0 or more')
  end
end
local lease_us, pace_us, burst, ttl, lookup_delay = number[2], number[3], number[4], number[5], number[6]
local interval, every, minimum, look = number[7], number[8], number[9], number[10] == 1
local this_call, lost_from, lost_to = number[11], number[12], number[13]
if lease_us == 0 or burst < 1 then return redis.error_reply('ARG lease above 0 and burst of 1 or more are needed') end

--- @include parts/int
--- @include parts/ms
--- @include parts/clock
--- @include parts/due/work
--- @include parts/due/at
--- @include parts/claim/next
--- @include parts/claim/candidate
--- @include parts/claim/mark

if next_digest and next_digest <= now then return look_soon({ DIGEST_DUE, 0 }) end

local leased = call('HMGET', lease, 'owner', 'until', 'call')
local is_mine = leased[1] == owner
local leased_until = tonumber(leased[2] or 0)
local function end_lease()
  if is_mine then call('DEL', lease) end
end

local head = call('ZRANGE', outbox, 0, 0)[1]
local extra, extra_at = unpack(call('ZRANGE', extras, 0, 0, 'WITHSCORES'))
extra_at = tonumber(extra_at)
local next_extra = nil
if extra_at and extra_at > now then extra, next_extra = nil, extra_at end
if not head and not extra then
  look_next(next_extra)
  end_lease()
  return { EMPTY, 0 }
end
local is_overtaken = is_mine and tonumber(leased[3] or 0) > this_call -- by a later claim of the same owner
if is_overtaken or leased[1] and not is_mine and leased_until > now then
  return look_after({ LEASED, max(0, leased_until - now) })
end

local paused = call('HMGET', pause, 'until', 'edits', 'settling')
local paused_until, edits_paused_until, has_settling = tonumber(paused[1] or 0), tonumber(paused[2] or 0), paused[3]
if paused_until > now then
  end_lease()
  return look_after({ PAUSED, paused_until - now })
end

-- Of the next message and the next extra, the one that has waited longer is first. The first that may be sent is
-- claimed.
local bucket_empty_at = max(now, tonumber(call('GET', pace) or 0))
local first, second = nil, nil
if head then first = candidate(head, true, bucket_empty_at, edits_paused_until) end
if extra then second = candidate(extra, false, bucket_empty_at, edits_paused_until) end
if not first or second and extra_at < first.at then first, second = second, first end
local chosen, blocked = choose(first, second)
if not chosen then
  if blocked.state == UNKNOWN then remember_lookup(blocked.wait) end
  return look_after({ blocked.state, blocked.wait }, next_extra)
end
if has_settling then call('HDEL', pause, 'settling') end
if look and chosen.state == CLAIMED and not chosen.is_unknown then
  return look_soon({ chosen.is_edit and EDIT_READY or POST_READY, 0 })
end
mark_claimed(chosen, bucket_empty_at)
look_next(now + lease_us)

local name = chosen.name
local attempts = call('HINCRBY', entries, name .. ':attempts', 1) - 1
local more = call('HMGET', entries, name .. ':faults', name .. ':thread', name .. ':name')
return {
  chosen.state, 0, tonumber(name), attempts, tonumber(more[1] or 0), max(0, now - chosen.at), chosen.entry,
  chosen.is_unknown and chosen.sent or 0, chosen.is_unknown and chosen.looked or 0, tonumber(more[2] or 0),
  more[3] or '',
}
