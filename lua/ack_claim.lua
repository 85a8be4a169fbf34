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
--
-- Code generated from lua/src/ack_claim.lua by go generate ./lua; DO NOT EDIT.

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
local ledger, posted, backlog = KEYS[9], KEYS[10], KEYS[11]
local number, named_at = ARGV[14], ARGV[15]
if not ARGV[17] then return redis.error_reply('ARG a number, a time, a channel and a ts are needed') end
local options = { channel = ARGV[16] ~= '' and ARGV[16] or nil, ts = ARGV[17] ~= '' and ARGV[17] or nil }
local DONE, GONE, LOST = 1, 0, -1

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
-- part entry/backlog: remove the units of the entry from its level with the strategy backlog, a stream or a list.
local backlog_is_list = backlog and call('TYPE', backlog).ok == 'list'
if backlog and not backlog_is_list then call('XLEN', backlog) end

local function leave_backlog()
  if backlog_is_list then
    call('LREM', backlog, '0', number)
  elseif backlog then
    for _, unit in ipairs(call('XRANGE', backlog, number, number)) do call('XDEL', backlog, unit[1]) end
  end
end

if leased[1] and not is_mine and leased_until > now then return { LOST } end
-- A wrong type fails before any write. The other keys are read before the first write anyway.
call('ZCARD', extras)
call('HLEN', ledger)
call('HLEN', posted)

local function acknowledge()
  -- part entry/found: find the entry that the caller claimed. It ends with GONE if the number and the admission time do
  -- not match an entry.
  local entry = call('HGET', entries, number) or ''
  local admitted_at = string.match(entry, '^([1-9]%d*) [^ ]* ') or '0'
  if #admitted_at > 18 then admitted_at = '0' end
  local is_message = call('ZSCORE', outbox, number)
  local is_extra = not is_message and call('ZSCORE', extras, number)
  if admitted_at ~= named_at or not (is_message or is_extra) then return GONE end
  -- part entry/remove: remove the entry, and count its result. An extra counts under "<kind>:<result>".
  local function remove_entry(result)
    if call('ZREM', outbox, number) == 1 then
      call('HINCRBY', ledger, result, 1)
    else
      local kind = string.match(entry, '^%d+ (%S+) .*$')
      call('ZREM', extras, number)
      call('HINCRBY', ledger, (kind or 'unknown') .. ':' .. result, 1)
    end
    call('HDEL', entries, number, number .. ':attempts', number .. ':faults', number .. ':sent', number .. ':tried',
      number .. ':looked', number .. ':again', number .. ':thread', number .. ':name', number .. ':claim')
  end
  -- part entry/shown: store that the message is in Slack, and where, for its resolves and repeats.
  local function mark_shown()
    local text = call('HGET', posted, number)
    if not text then return end
    local message = cjson.decode(text)
    message.ts, message.channel, message.shown = options.ts, options.channel, true
    local updated = cjson.encode(message)
    call('HINCRBY', posted, 'bytes', #updated - #text)
    call('HSET', posted, number, updated)
  end
  remove_entry('delivered')
  mark_shown()
  leave_backlog()
  return DONE
end

local settled = acknowledge()
return { settled, unpack(claim()) }
