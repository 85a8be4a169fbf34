-- claim.lua: take the oldest entry of a channel's outbox, if this sender may send it now.
--
-- One sender at a time: the lease names it. The entry stays in the outbox until it is settled
-- (ack.lua, retry.lua, bury.lua), so what a dead sender held is claimed by the next one.
-- The pace is charged here, with Redis's clock, so that it holds over all replicas:
-- one claim per pace, and at most `burst` at once (generic cell rate algorithm).
--
-- KEYS[1] lease    hash: owner, until (microseconds)
-- KEYS[2] pause    hash: until (microseconds), reason
-- KEYS[3] pace     string: when the bucket is empty again (microseconds)
-- KEYS[4] outbox   sorted set of entry numbers in order
-- KEYS[5] entries  hash: "<number>" = "<admitted at> <kind> <payload>", "<number>:attempts", "<number>:faults"
--
-- ARGV[1] owner    who claims; unique to one process
-- ARGV[2] lease, microseconds
-- ARGV[3] pace, microseconds between messages; 0 = no pace
-- ARGV[4] burst, messages at once, 1 or more
--
-- Reply: [state, wait_us, number, attempts, faults, age_us, entry]
--   state    0 empty, 1 claimed, 2 held by another sender, 3 paused, 4 not yet (pace)
--   wait_us  how long the state lasts at most (states 2 to 4)
--   number .. entry  only when claimed: the entry's number, how often it was claimed before, how many of
--            those failed through its own fault, its age, and the entry
-- An empty outbox or a pause gives up the caller's own lease, so that the next admission on any replica
-- is sent at once.
--
-- By hand:
--   redis-cli --eval lua/claim.lua 'relay:{demo}:lease:demo' 'relay:{demo}:pause:demo' 'relay:{demo}:pace:demo' \
--     'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' , me 10000000 1000000 3

local lease, pause, pace, outbox, entries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, lease_us = ARGV[1], tonumber(ARGV[2])
local pace_us, burst = tonumber(ARGV[3]), tonumber(ARGV[4])

local function int(x) return string.format('%.0f', x) end

if not lease_us or lease_us <= 0 or not pace_us or pace_us < 0 or not burst or burst < 1 then
  return redis.error_reply('ARG lease above 0, pace of 0 or more and burst of 1 or more are needed')
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local held_by = redis.call('HGET', lease, 'owner')
local held_until = tonumber(redis.call('HGET', lease, 'until') or 0)
local mine = held_by == owner

local head = redis.call('ZRANGE', outbox, 0, 0)[1]
if not head then
  if mine then redis.call('DEL', lease) end
  return { 0, 0 }
end
if held_by and not mine and held_until > now then return { 2, held_until - now } end

local paused_until = tonumber(redis.call('HGET', pause, 'until') or 0)
if paused_until > now then
  if mine then redis.call('DEL', lease) end
  return { 3, paused_until - now }
end

local empty_at = math.max(now, tonumber(redis.call('GET', pace) or 0))
local allowed_at = empty_at - (burst - 1) * pace_us
if allowed_at > now then return { 4, allowed_at - now } end

if pace_us > 0 then
  local next_empty = empty_at + pace_us
  redis.call('SET', pace, int(next_empty), 'PX', int(math.ceil((next_empty - now) / 1000) + 1000))
end
redis.call('HSET', lease, 'owner', owner, 'until', int(now + lease_us))
redis.call('PEXPIRE', lease, int(math.ceil(lease_us / 1000) + 1000))

local entry = redis.call('HGET', entries, head) or ''
local attempts = redis.call('HINCRBY', entries, head .. ':attempts', 1) - 1
local faults = tonumber(redis.call('HGET', entries, head .. ':faults') or 0)
local admitted_at = tonumber(string.match(entry, '^%d+') or now)
return { 1, 0, tonumber(head), attempts, faults, math.max(0, now - admitted_at), entry }
