-- claim.lua: take what is next in a channel's outbox, if this sender may send it now.
--
-- One sender at a time: the lease names it. The entry stays where it is until it is settled (settle.lua,
-- retry.lua), so what a dead sender held is claimed by the next one. The pace is charged here, with Redis's
-- clock, so that it holds over all replicas: one post per pace, and at most `burst` at once (generic cell rate
-- algorithm). Messages leave in their order; extras (edits, digests, notices, copies) when they are due,
-- whichever has waited longer. Edits spend no pace.
--
-- A claim may run although its answer never reaches its owner, who then provably sent nothing. So an entry remembers
-- the claim that first marked it as sent. When the owner says that this one brought no answer, the mark goes. A
-- doubt that another attempt left stays.
--
-- KEYS[1] lease    hash: owner, until (microseconds), call = the number of the owner's claim
-- KEYS[2] pause    hash: until (microseconds), reason; edits (microseconds): until then nothing is edited;
--                  settling (microseconds): until then it waits for a look at what may have been posted
-- KEYS[3] pace     string: when the bucket is empty again (microseconds)
-- KEYS[4] outbox   sorted set of the numbers of messages in order
-- KEYS[5] entries  hash: "<number>" = "<admitted at> <kind> <payload>", and of each "<number>:attempts", ":faults",
--                  ":sent" = when it was first tried, while it is not known that it did not arrive, ":tried" = the
--                  last time, ":looked" = how often it was looked up since, ":again" = it is to be sent once more,
--                  ":thread" = the number of the message that it answers, ":name" = what it was posted as without
--                  Redis, ":claim" = "<call> <what> <owner>": the last attempt was that claim's alone; what = first (it
--                  was never tried before) or again
-- KEYS[6] extras   sorted set of the numbers of extras, score = when due
-- KEYS[7] digest   hash of what the next digest will say (digest.lua)
--
-- ARGV[1] owner    who claims; unique to one process
-- ARGV[2] lease, microseconds
-- ARGV[3] pace, microseconds between messages; 0 = no pace
-- ARGV[4] burst, messages at once, 1 or more
-- ARGV[5] ttl, microseconds: messages older than that are stale; 0 = never
-- ARGV[6] settle, microseconds: what may have been posted can be looked up that long after; 0 = it cannot be
-- ARGV[7] digest interval, microseconds; 0 = no digests
-- ARGV[8] digest every, microseconds between two edits of a digest that is shown at once; 0 = it comes at the end
-- ARGV[9] digest minimum, how much it must have to tell
-- ARGV[10] look    1: do not claim what would be posted or edited, only say that it is ready; else 0
-- ARGV[11] call    the number of this claim: it rises with each of the owner in this channel
-- ARGV[12], [13]   the first and the last of the owner's claims of which it got no answer; 0 0 = there are none
--
-- Reply: [state, wait_us], and when claimed or stale also number, attempts, faults, age_us, entry, sent, looked,
--        thread, name
--   state    0 empty, 1 claimed, 2 held by another sender, 3 paused, 4 not yet (pace), 5 claimed, and stale,
--            6 a digest is due (digest.lua), 7 a post is ready, 8 an edit is ready, 9 not yet: it may have been posted
--   wait_us  how long the state lasts at most (states 2 to 4 and 9)
--   attempts how often it was claimed before; faults: how many of those failed through its own fault
--   sent     0, or since when it is not known whether it was posted (microseconds of Redis's time)
-- An empty outbox or a pause gives up the caller's own lease, so that the next admission on any replica
-- is sent at once.
--
-- By hand:
--   redis-cli --eval lua/claim.lua 'relay:{demo}:lease:demo' 'relay:{demo}:pause:demo' 'relay:{demo}:pace:demo' \
--     'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:digest:demo' , me 10000000 1000000 3 3600000000 10000000 0 0 1 0 1 0 0

local lease, pause, pace, outbox, entries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local extras, digest = KEYS[6], KEYS[7]
local owner = ARGV[1]
local number = {}
for i = 2, 13 do
  number[i] = tonumber(ARGV[i])
  if not number[i] or number[i] < 0 then
    return redis.error_reply('ARG argument ' .. i .. ' must be a number of 0 or more')
  end
end
local lease_us, pace_us, burst, ttl, settle = number[2], number[3], number[4], number[5], number[6]
local interval, every, minimum, look = number[7], number[8], number[9], number[10] == 1
local this_call, lost_from, lost_to = number[11], number[12], number[13]
if lease_us == 0 or burst < 1 then return redis.error_reply('ARG lease above 0 and burst of 1 or more are needed') end

local call = redis.call
local function int(x) return string.format('%.0f', x) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local function digest_due()
  if interval == 0 then return false end
  local state = call('HMGET', digest, 'since', 'noted', 'open', 'moved')
  local since, noted, open, moved = tonumber(state[1]), tonumber(state[2] or 0), tonumber(state[3]), tonumber(state[4])
  if open then return now >= open + interval or since and now >= moved + every end
  return since and (every > 0 and noted >= minimum and now >= since + every / 3 or now >= since + interval)
end
if digest_due() then return { 6, 0 } end

local held = call('HMGET', lease, 'owner', 'until', 'call')
local held_by, held_until = held[1], tonumber(held[2] or 0)
local mine = held_by == owner
local function give_up()
  if mine then call('DEL', lease) end
end

local head = call('ZRANGE', outbox, 0, 0)[1]
local due = call('ZRANGEBYSCORE', extras, '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, 1)
if not head and not due[1] then
  give_up()
  return { 0, 0 }
end
local overtaken = mine and tonumber(held[3] or 0) > this_call -- it was on its way for long; nobody waits for its answer
if overtaken or held_by and not mine and held_until > now then return { 2, math.max(0, held_until - now) } end

local paused = call('HMGET', pause, 'until', 'edits', 'settling')
if tonumber(paused[1] or 0) > now then
  give_up()
  return { 3, tonumber(paused[1]) - now }
end

-- candidate reads an entry; what it may do now is its state, and wait how long that lasts.
local empty_at = math.max(now, tonumber(call('GET', pace) or 0))
local function candidate(name, is_message)
  local fields = call('HMGET', entries, name, name .. ':sent', name .. ':tried', name .. ':looked', name .. ':again',
    name .. ':claim')
  local by, what, claimer = string.match(fields[6] or '', '^(%d+) (%a+) (.*)$')
  by = tonumber(by)
  if by and claimer == owner and lost_from <= by and by <= lost_to then
    call('HDEL', entries, name .. ':claim')
    if what == 'first' then
      call('HDEL', entries, name .. ':sent', name .. ':tried', name .. ':looked')
      fields[2] = nil
    else
      call('HSET', entries, name .. ':again', '1')
      fields[5] = '1'
    end
  end
  local c = { name = name, entry = fields[1] or '', sent = tonumber(fields[2] or 0), looked = tonumber(fields[4] or 0) }
  c.at = tonumber(string.match(c.entry, '^%d+') or now)
  c.edit = string.match(c.entry, '^%d+ [%a-]*edit ') ~= nil
  c.doubt = c.sent > 0 and not fields[5] and not c.edit
  c.what = c.sent == 0 and 'first' or fields[5] and 'again'
  if c.edit then
    c.state, c.wait = 1, tonumber(paused[2] or 0) - now
    if c.wait > 0 then c.state = 3 end
  elseif c.doubt then
    c.state, c.wait = 1, tonumber(fields[3] or c.sent) + settle * (1 + 2 * c.looked) - now
    if settle > 0 and c.wait > 0 then c.state = 9 end
  elseif is_message and ttl > 0 and now - c.at > ttl then
    c.state = 5
  else
    c.state, c.wait = 1, empty_at - (burst - 1) * pace_us - now
    if c.wait > 0 then c.state = 4 end
  end
  return c
end

local chosen, blocked
local first, second = head and candidate(head, true), due[1] and candidate(due[1], false)
if first and second and tonumber(due[2]) < first.at then first, second = second, first end
for _, c in ipairs({ first or second, first and second or nil }) do
  if c.state == 1 or c.state == 5 then
    chosen = chosen or c
  elseif not blocked or c.wait < blocked.wait then
    blocked = c
  end
end
if not chosen then
  if blocked.state == 9 then
    local keep = math.ceil(blocked.wait / 1000) + 1000
    call('HSET', pause, 'settling', int(now + blocked.wait))
    if call('PTTL', pause) < keep then call('PEXPIRE', pause, int(keep)) end
  end
  return { blocked.state, blocked.wait }
end
if paused[3] then call('HDEL', pause, 'settling') end
if look and chosen.state == 1 and not chosen.doubt then return { chosen.edit and 8 or 7, 0 } end

local name = chosen.name
if chosen.state == 1 and not chosen.doubt then
  if pace_us > 0 and not chosen.edit then
    local next_empty = empty_at + pace_us
    call('SET', pace, int(next_empty), 'PX', int(math.ceil((next_empty - now) / 1000) + 1000))
  end
  call('HSETNX', entries, name .. ':sent', int(now))
  call('HSET', entries, name .. ':tried', int(now))
  call('HDEL', entries, name .. ':again', name .. ':looked')
end
if chosen.state == 1 and chosen.what then
  call('HSET', entries, name .. ':claim', int(this_call) .. ' ' .. chosen.what .. ' ' .. owner)
else
  call('HDEL', entries, name .. ':claim')
end
call('HSET', lease, 'owner', owner, 'until', int(now + lease_us), 'call', int(this_call))
call('PEXPIRE', lease, int(math.ceil(lease_us / 1000) + 1000))
local attempts = call('HINCRBY', entries, name .. ':attempts', 1) - 1
local more = call('HMGET', entries, name .. ':faults', name .. ':thread', name .. ':name')
return { chosen.state, 0, tonumber(name), attempts, tonumber(more[1] or 0), math.max(0, now - chosen.at), chosen.entry,
  chosen.doubt and chosen.sent or 0, chosen.doubt and chosen.looked or 0, tonumber(more[2] or 0), more[3] or '' }
