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
--        thread, name, more
--   state    0 empty, 1 claimed, 2 leased to another sender, 3 paused, 4 not yet (pace), 5 claimed, and stale,
--            6 a digest is due (digest.lua), 7 a post is ready, 8 an edit is ready, 9 not yet (uncertain)
--   wait_us  how long the state lasts at most (states 2 to 4 and 9)
--   attempts how often it was claimed before; faults: how many of those failed through its own fault
--   sent     0, or since when the message is uncertain (microseconds of Redis's time)
--   more     1 = another message or extra waits, too; otherwise 0
-- An empty outbox or a pause ends the caller's own lease, so that any replica can send the next message at once.
-- The call notes in the due index when to look at the channel next: when the state ends, an extra or a digest is due,
-- or the lease of who claimed ends. What the caller can go on with now, others look at a second later.
--
-- Example:
--   redis-cli --eval lua/claim.lua 'relay:{demo}:lease:demo' 'relay:{demo}:pause:demo' 'relay:{demo}:pace:demo' \
--     'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:digest:demo' relay:due , me 10000000 1000000 3 3600000000 10000000 0 0 1 0 1 0 0
--
-- Code generated from lua/src/claim.lua by go generate ./lua; DO NOT EDIT.

-- part claim/arguments: the keys and arguments of a claim.
local lease, pause, pace, outbox, entries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local extras, digest, due = KEYS[6], KEYS[7], KEYS[8]
local owner = ARGV[1]
local EMPTY, CLAIMED, LEASED, PAUSED, PACED, STALE = 0, 1, 2, 3, 4, 5
local DIGEST_DUE, POST_READY, EDIT_READY, UNKNOWN = 6, 7, 8, 9
local call, ceil, max, min = redis.call, math.ceil, math.max, math.min

local given = {}
for i = 2, 13 do
  given[i] = tonumber(ARGV[i])
  if not given[i] or given[i] < 0 then
    return redis.error_reply('ARG argument ' .. i .. ' must be a number of 0 or more')
  end
end
local lease_us, pace_us, burst, ttl, lookup_delay = given[2], given[3], given[4], given[5], given[6]
local interval, every, minimum, look = given[7], given[8], given[9], given[10] == 1
local this_call, lost_from, lost_to = given[11], given[12], given[13]
if lease_us == 0 or burst < 1 then return redis.error_reply('ARG lease above 0 and burst of 1 or more are needed') end
-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part ms: for how many milliseconds to keep a key that matters for so many microseconds: a second longer.
local function ms(us) return math.ceil(us / 1000) + 1000 end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part claim/state: the lease, the pause and the pace. All three are read before anything is written.
local leased = call('HMGET', lease, 'owner', 'until', 'call')
local is_mine = leased[1] == owner
local leased_until = tonumber(leased[2] or 0)
local paused = call('HMGET', pause, 'until', 'edits', 'settling')
local paused_until, edits_paused_until, has_settling = tonumber(paused[1] or 0), tonumber(paused[2] or 0), paused[3]
local bucket_empty_at = max(now, tonumber(call('GET', pace) or 0))
-- part claim/next: when to look at the channel next.
local ready_us = 1000000 -- how long the caller has to go on with what is ready
-- part digest_due: when to post, edit or close a digest. state has the fields of the digest's hash.

-- digest_due_at returns a time in microseconds, or nil if nothing is counted.
local function digest_due_at(state)
  local since, open = tonumber(state.since), tonumber(state.open)
  if open then return since and min(open + interval, tonumber(state.moved) + every) or open + interval end
  if not since then return nil end
  local is_early = every > 0 and tonumber(state.noted or 0) >= minimum
  return since + (is_early and min(interval, ceil(every / 3)) or interval)
end
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/at: note when to look at work again. Reading the index first fails if it has a wrong type.
local function read_work(work_kind, key)
  local work = { name = work_of(work_kind, key) }
  work.at = tonumber(call('ZSCORE', due, work.name))
  return work
end

-- look_at notes a time, or nil if there is no work.
local function look_at(work, at)
  if at == work.at then return end
  if at then call('ZADD', due, int(at), work.name) else call('ZREM', due, work.name) end
end

local work = read_work('send', outbox)

-- next_digest is when the next digest may be due. If too little is counted for one, more may be by the next look.
local next_digest
if interval > 0 then
  local state = call('HMGET', digest, 'since', 'noted', 'open', 'moved')
  state.since, state.noted, state.open, state.moved = unpack(state)
  next_digest = digest_due_at(state)
  local is_waiting = next_digest and not state.open and tonumber(state.noted or 0) < minimum
  if is_waiting and every > 0 then next_digest = min(next_digest, now + ceil(every / 3)) end
end

-- look_next notes the earliest of some times, any of which may be nil, and of the next digest.
local function look_next(at, other)
  for _, one in pairs({ other, next_digest }) do at = at and min(at, one) or one end
  look_at(work, at)
end

-- look_after notes when the state of a reply ends, or an earlier time, and returns the reply.
local function look_after(reply, other)
  look_next(now + reply[2], other)
  return reply
end

-- look_soon lets others look soon, and returns the reply.
local function look_soon(reply)
  look_at(work, now + ready_us)
  return reply
end
-- part claim/candidate: the state of an entry that may be claimed, and how long it lasts.

-- forget_lost_claim removes the mark of a claim without a reply, whose owner sent nothing. It corrects the fields
-- of the entry.
local function forget_lost_claim(name, fields)
  local by, kind, claimer = string.match(fields.claim or '', '^(%d+) (%a+) (.*)$')
  by = tonumber(by)
  if not by or claimer ~= owner or by < lost_from or by > lost_to then return end
  call('HDEL', entries, name .. ':claim')
  fields.claim = nil
  if kind == 'first' then
    call('HDEL', entries, name .. ':sent', name .. ':tried', name .. ':looked')
    fields.sent, fields.tried, fields.looked = nil, nil, nil
  else
    call('HSET', entries, name .. ':again', '1')
    fields.again = '1'
  end
end

-- read_entry returns what is known of an entry. Only the fields of its attempts may be missing.
local function read_entry(name)
  local values = call('HMGET', entries, name, name .. ':sent', name .. ':tried', name .. ':looked', name .. ':again',
    name .. ':claim', name .. ':attempts', name .. ':faults', name .. ':thread', name .. ':name')
  local fields = {
    entry = values[1] or '', sent = values[2], tried = values[3], looked = values[4], again = values[5],
    claim = values[6], attempts = tonumber(values[7] or 0), faults = tonumber(values[8] or 0),
    thread = tonumber(values[9] or 0), posted_as = values[10] or '',
  }
  forget_lost_claim(name, fields)
  return fields
end

-- candidate returns an entry with its state and how long that lasts (wait). Only a message may be stale.
local function candidate(name, is_message)
  local c = read_entry(name)
  c.name, c.state, c.wait, c.sent, c.looked = name, CLAIMED, 0, tonumber(c.sent or 0), tonumber(c.looked or 0)
  c.at = tonumber(string.match(c.entry, '^%d+') or now)
  c.is_edit = string.match(c.entry, '^%d+ [%a-]*edit ') ~= nil
  c.is_unknown = c.sent > 0 and not c.again and not c.is_edit
  c.attempt = c.sent == 0 and 'first' or c.again and 'again'
  if c.is_edit then
    c.wait = edits_paused_until - now
    if c.wait > 0 then c.state = PAUSED end
  elseif c.is_unknown then
    c.wait = tonumber(c.tried or c.sent) + lookup_delay * (1 + 2 * c.looked) - now
    if lookup_delay > 0 and c.wait > 0 then c.state = UNKNOWN end
  elseif is_message and ttl > 0 and now - c.at > ttl then
    c.state = STALE
  else
    c.wait = bucket_empty_at - (burst - 1) * pace_us - now
    if is_message and ttl > 0 then c.wait = min(c.wait, c.at + ttl + 1 - now) end -- then it is stale
    if c.wait > 0 then c.state = PACED end
  end
  return c
end

-- choose returns the first of two entries that can be claimed, or nil and the one with the shorter wait.
local function choose(first, second)
  local blocked
  for _, c in ipairs({ first, second }) do
    if c.state == CLAIMED or c.state == STALE then return c, nil end
    if not blocked or c.wait < blocked.wait then blocked = c end
  end
  return nil, blocked
end
-- part claim/mark: store the claim in the entry, the lease, the pace and the pause.

-- remember_lookup stores in the pause how long the channel waits for a lookup.
local function remember_lookup(wait)
  local keep_ms = ms(wait)
  call('HSET', pause, 'settling', int(now + wait))
  if call('PTTL', pause) < keep_ms then call('PEXPIRE', pause, int(keep_ms)) end
end

-- spend_pace charges one message to the pace.
local function spend_pace()
  local next_empty = bucket_empty_at + pace_us
  call('SET', pace, int(next_empty), 'PX', int(ms(next_empty - now)))
end

-- mark_claimed stores the claim of an entry. It writes the fields of the entry at once, and deletes only those that
-- are there.
local function mark_claimed(c)
  local prefix = c.name .. ':'
  local is_attempt = c.state == CLAIMED and not c.is_unknown
  local written, deleted = { prefix .. 'attempts', int(c.attempts + 1) }, {}
  local function write(field, value) written[#written + 1], written[#written + 2] = prefix .. field, value end
  local function delete(field) deleted[#deleted + 1] = prefix .. field end
  if is_attempt then
    if pace_us > 0 and not c.is_edit then spend_pace() end
    if c.sent == 0 then write('sent', int(now)) end
    write('tried', int(now))
    if c.again then delete('again') end
    if c.looked > 0 then delete('looked') end
  end
  if c.state == CLAIMED and c.attempt then
    write('claim', int(this_call) .. ' ' .. c.attempt .. ' ' .. owner)
  elseif c.claim then
    delete('claim')
  end
  call('HSET', entries, unpack(written))
  if deleted[1] then call('HDEL', entries, unpack(deleted)) end
  call('HSET', lease, 'owner', owner, 'until', int(now + lease_us), 'call', int(this_call))
  call('PEXPIRE', lease, int(ms(lease_us)))
end
-- part claim/claim: claim the next entry, if this sender may send it now, and return the reply.
local function end_lease()
  if is_mine then call('DEL', lease) end
end

-- next_entries returns the next two messages, the extra that has been due for longest and since when, and if none is
-- due, when the next one is.
local function next_entries()
  local head, following = unpack(call('ZRANGE', outbox, 0, 1))
  local extra, extra_at = unpack(call('ZRANGE', extras, 0, 0, 'WITHSCORES'))
  extra_at = tonumber(extra_at)
  local next_extra
  if extra_at and extra_at > now then extra, next_extra = nil, extra_at end
  return head, following, extra, extra_at, next_extra
end

local function claim()
  if next_digest and next_digest <= now then return look_soon({ DIGEST_DUE, 0 }) end

  local head, following, extra, extra_at, next_extra = next_entries()
  if not head and not extra then
    look_next(next_extra)
    end_lease()
    return { EMPTY, 0 }
  end
  local is_overtaken = is_mine and tonumber(leased[3] or 0) > this_call -- by a later claim of the same owner
  if is_overtaken or leased[1] and not is_mine and leased_until > now then
    return look_after({ LEASED, max(0, leased_until - now) })
  end
  if paused_until > now then
    end_lease()
    return look_after({ PAUSED, paused_until - now })
  end

  -- Of the next message and the next extra, the one that has waited longer is first. The first that may be sent is
  -- claimed.
  local first, second = nil, nil
  if head then first = candidate(head, true) end
  if extra then second = candidate(extra, false) end
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
  mark_claimed(chosen)
  look_next(now + lease_us)
  return {
    chosen.state, 0, tonumber(chosen.name), chosen.attempts, chosen.faults, max(0, now - chosen.at), chosen.entry,
    chosen.is_unknown and chosen.sent or 0, chosen.is_unknown and chosen.looked or 0, chosen.thread, chosen.posted_as,
    (following or first and second) and 1 or 0,
  }
end
return claim()
