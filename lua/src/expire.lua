-- expire.lua: remove a message that waited longer than its time to live and was certainly never posted, and count it.
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
-- KEYS[8] dead     (-)  not used here
-- KEYS[9] digest   (rw) hash of what the next digest will report
-- KEYS[10] due     (w)  sorted set of the work of channels (see due.lua)
-- then, optional: backlog (rw) the stream or list of a level with the strategy backlog, which the entry leaves
--
-- ARGV[1] owner    the sender that claimed the entry
-- ARGV[2] number   the entry's number
-- ARGV[3] at       admission time of the entry in microseconds, as the claim returned it; 0 = another program added it
-- ARGV[4] claims   how often the entry had been claimed, including the caller's claim
-- ARGV[5] options, JSON, each optional:
--   noted            counts for the next digest: {"x:<category>:<severity>:<status>": n, "t:<title>": n}
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing is written), -1 another sender has the
--   lease, or the entry was claimed again (nothing is written)
--
-- Example:
--   redis-cli --eval lua/expire.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' relay:due , \
--     me 1 1700000000000000 1 '{}'

--- @include parts/entry/arguments
local posted, aged, digest, due = KEYS[6], KEYS[7], KEYS[9], KEYS[10]
local backlog = KEYS[11]

--- @include parts/int
--- @include parts/clock

for _, set in ipairs({ outbox, extras, aged, due }) do call('ZCARD', set) end -- a wrong type fails before any write
for _, hash in ipairs({ entries, ledger, posted, digest }) do call('HLEN', hash) end
--- @include parts/entry/backlog
--- @include parts/entry/claimed
--- @include parts/entry/latest_claim
--- @include parts/entry/remove
--- @include parts/posted_names
--- @include parts/entry/forgotten
--- @include parts/expire
--- @include parts/due/work
--- @include parts/due/now
--- @include parts/digest_counts

remove_entry('expired')
forget_message()
count_for_digest(options.noted or {})
leave_backlog()
return DONE
