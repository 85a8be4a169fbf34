-- bury.lua: remove an entry that Slack rejected permanently, count it, and keep it as a dead letter.
--
-- An entry is identified by its number and its admission time, because a Redis that restarts from an older snapshot
-- assigns numbers again. If they do not match an entry, the entry is gone and nothing is written, so a repeated call is
-- harmless.
--
-- The call is refused if another sender has the lease, or if the entry was claimed again after the caller's claim,
-- because that attempt may have been posted.
--
-- KEYS[1] lease    (r) hash: owner, until (microseconds)
-- KEYS[2] outbox   (rw) sorted set of the numbers of messages
-- KEYS[3] extras   (rw) sorted set of the numbers of extras
-- KEYS[4] entries  (rw) hash of entries
-- KEYS[5] ledger   (rw) hash of totals: a message counts under its result, an extra under "<kind>:<result>"
-- KEYS[6] posted   (rw) hash of posted messages (see admit.lua)
-- KEYS[7] aged     (rw) sorted set of their numbers, score = time of the last change
-- KEYS[8] dead     (rw) stream of dead letters: number, entry, reason, answer, attempts, sum (bytes)
-- KEYS[9] digest   (-)  not used here
-- KEYS[10] due     (w)  sorted set of the work of channels (see due.lua)
-- KEYS[11], [12]   only with copy: extras (w) and entries (w) of the outbox for the copy
-- then, optional: backlog (rw) the stream or list of a level with the strategy backlog, which the entry leaves
--
-- ARGV[1] owner    the sender that claimed the entry
-- ARGV[2] number   the entry's number
-- ARGV[3] at       admission time of the entry in microseconds, as the claim returned it; 0 = another program added it
-- ARGV[4] claims   how often the entry had been claimed, including the caller's claim
-- ARGV[5] options, JSON; all but keep are optional:
--   reason, answer   of the dead letter
--   keep             how many dead letters the channel keeps; the oldest are deleted first
--   copy             true: append a copy to the outbox of KEYS[11]
--   forget           true: the message certainly never appeared, and its posted message is deleted. Otherwise it may
--                    have appeared
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing is written), -1 another sender has the
--   lease, or the entry was claimed again (nothing is written)
--
-- Example:
--   redis-cli --eval lua/bury.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' relay:due , \
--     me 1 1700000000000000 1 '{"reason":"channel_not_found","keep":1000}'

--- @include parts/entry/arguments
local posted, aged, dead, due = KEYS[6], KEYS[7], KEYS[8], KEYS[10]
local copy_extras, copy_entries = nil, nil
if options.copy then copy_extras, copy_entries = KEYS[11], KEYS[12] end
local backlog = KEYS[options.copy and 13 or 11]
local max = math.max
if not options.keep or options.keep < 1 then
  return redis.error_reply('ARG the number of dead letters to keep must be 1 or more')
end

--- @include parts/int
--- @include parts/clock
--- @include parts/due/work
--- @include parts/due/now

-- A wrong type fails before any write.
for _, set in ipairs({ outbox, extras, aged, due, copy_extras }) do call('ZCARD', set) end
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
  look_now('send', copy_extras)
end

remove_entry('failed')
local letter = { number = number, entry = entry, reason = options.reason, answer = options.answer }
letter.attempts, letter.keep = attempts, options.keep
add_dead_letters({ letter }, 8)
if copy_extras then send_copy() end
if options.forget then forget_message() else mark_shown() end
leave_backlog()
return DONE
