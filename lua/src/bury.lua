-- bury.lua: an entry can never be delivered: take it out, count it, and keep it as a dead letter.
--
-- An entry is named by its number and the time of its admission: a Redis that came back older than it was gives
-- numbers again. Where the name does not fit, the entry is gone, and nothing is written: a repeat is harmless.
--
-- Refused where another sender has the lease, or where another claim followed the caller's: its attempt may have been
-- posted.
--
-- KEYS[1] lease    (r) hash: owner, until (microseconds)
-- KEYS[2] outbox   (rw) sorted set of the numbers of messages
-- KEYS[3] extras   (rw) sorted set of the numbers of extras
-- KEYS[4] entries  (rw) hash of entries
-- KEYS[5] ledger   (rw) hash of totals: a message counts under its result, an extra under "<kind>:<result>"
-- KEYS[6] posted   (rw) hash of the messages that a resolve or a repeat may find (admit.lua)
-- KEYS[7] aged     (rw) sorted set of their numbers, by when each was last touched
-- KEYS[8] dead     (rw) stream of dead letters: number, entry, reason, answer, attempts, sum (bytes)
-- KEYS[9] digest   (-)  not used here
-- KEYS[10], [11]   only with copy: extras (w) and entries (w) of the outbox that gets a copy
-- then, optional: backlog (rw) a level of strategy backlog, stream or list, which the entry leaves
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
-- ARGV[3] at       when the entry was admitted, microseconds, as the claim returned it; 0 = it is not the relay's
-- ARGV[4] claims   how often it was claimed by then, the caller's claim included
-- ARGV[5] options, JSON, each optional but keep:
--   reason, answer, keep   of a dead letter, and how many the channel keeps; the oldest go first
--   copy             true: put a copy into the outbox of KEYS[10]
--   forget           true: the message certainly never appeared: what is kept of it goes; else it counts as shown
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing written), -1 another sender has the
--   lease, or claimed the entry since (nothing written)
--
-- By hand:
--   redis-cli --eval lua/bury.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' , \
--     me 1 1700000000000000 1 '{"reason":"channel_not_found","keep":1000}'

--- @include parts/entry/arguments
local posted, aged, dead = KEYS[6], KEYS[7], KEYS[8]
local copy_extras, copy_entries = nil, nil
if more.copy then copy_extras, copy_entries = KEYS[10], KEYS[11] end
local backlog = KEYS[more.copy and 12 or 10]
local max = math.max
if not more.keep or more.keep < 1 then
  return redis.error_reply('ARG the number of dead letters to keep must be 1 or more')
end

--- @include parts/int
--- @include parts/clock

for _, set in ipairs({ outbox, extras, aged, copy_extras }) do call('ZCARD', set) end -- another type fails here
for _, hash in ipairs({ entries, ledger, posted, copy_entries }) do call('HLEN', hash) end
call('XLEN', dead)
--- @include parts/entry/backlog
--- @include parts/entry/claimed
--- @include parts/entry/latest_claim
--- @include parts/entry/remove
--- @include parts/stream_bytes
--- @include parts/dead_letters
--- @include parts/entry/shown
--- @include parts/posted_names
--- @include parts/entry/forgotten

-- send_copy puts a copy of the entry into another channel's outbox.
local function send_copy()
  local payload = string.match(entry, '^%d+ %S+ (.*)$')
  if not payload then return end
  local copied = int(call('HINCRBY', copy_entries, 'seq', 1))
  call('HSET', copy_entries, copied, int(now) .. ' copy ' .. payload)
  call('ZADD', copy_extras, int(now), copied)
end

remove_entry('failed')
add_dead_letters({
  { number = number, entry = entry, reason = more.reason, answer = more.answer, attempts = attempts, keep = more.keep },
}, 8)
if copy_extras then send_copy() end
if more.forget then forget_message() else mark_shown() end
leave_backlog()
return DONE
