-- expire.lua: a message waited longer than it may: take it out, and count it.
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
-- KEYS[8] dead     (-)  not used here
-- KEYS[9] digest   (rw) hash of what the next digest will report
-- then, optional: backlog (rw) a level of strategy backlog, stream or list, which the entry leaves
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
-- ARGV[3] at       when the entry was admitted, microseconds, as the claim returned it; 0 = it is not the relay's
-- ARGV[4] claims   how often it was claimed by then, the caller's claim included
-- ARGV[5] options, JSON, each optional:
--   noted            what the next digest will report of it: {"x:<category>:<severity>": n, "t:<title>": n}
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing written), -1 another sender has the
--   lease, or claimed the entry since (nothing written)
--
-- By hand:
--   redis-cli --eval lua/expire.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' , \
--     me 1 1700000000000000 1 '{}'

--- @include parts/entry/arguments
local posted, aged, digest = KEYS[6], KEYS[7], KEYS[9]
local backlog = KEYS[10]

--- @include parts/int
--- @include parts/clock

for _, set in ipairs({ outbox, extras, aged }) do call('ZCARD', set) end -- another type fails here, and not half-way
for _, hash in ipairs({ entries, ledger, posted, digest }) do call('HLEN', hash) end
--- @include parts/entry/backlog
--- @include parts/entry/claimed
--- @include parts/entry/latest_claim
--- @include parts/entry/remove
--- @include parts/posted_names
--- @include parts/entry/forgotten
--- @include parts/expire
--- @include parts/digest_counts

remove_entry('expired')
forget_message()
count_for_digest(more.noted or {})
leave_backlog()
return DONE
