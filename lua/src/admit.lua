-- admit.lua: decide a batch of events of one channel, and commit all or none of each, atomically.
--
-- For every event, in order, each event seeing the ones before it:
--   1. an id that was admitted within the dedupe time is a duplicate: only its count is written;
--   2. with options, it may be attached to a message that exists: a resolve takes the place of its firing that
--      still waits, or marks it resolved; a repeat is counted on it; others of a bundle join the first of them;
--   3. every window of every level is checked, by the level's strategy;
--   4. when all fit, the units are taken at every level, the id is remembered, and the payload is appended
--      to the outbox; when one does not fit, no level is touched. Shadow levels report and never refuse;
--   5. with options, what does not fit may wait for a slot, or be counted on its category's last message; drops are
--      recorded, and counted for the digest.
-- All is decided first and written last, once for the whole batch: an error leaves nothing half done.
-- Time is this server's TIME, read once, in microseconds. Where it went back, what was admitted "later" still
-- counts, so that no window ever holds more than its limit; what lies more than 5 s ahead is moved to
-- now as soon as it makes a level refuse, so that a step throttles at most one window too long.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = when
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of counts a category in the current hour, "<category>:admitted" and ":dropped"
-- KEYS[4] outbox   (rw) sorted set of entry numbers in order
-- KEYS[5] entries  (rw) hash: "seq", "delayed" = bytes that wait for a slot,
--                  "<number>" = "<admitted at> <kind> <payload>"
-- KEYS[6] minutes  (rw) hash of the same a minute: "<minute since 1970>:a:<category>" admitted, ":d:" dropped
-- KEYS[7..] limit  (rw) the levels, by their place from 1. What a key holds depends on the strategy:
--   (a hash also has "since": when its first unit was taken, so that a refund from before a reset is known)
--   (and "last": when its last one was, so that a step of the clock is known; "<...>:u": a window of a replica with
--   another configuration, and when that last used it)
--   sliding-log      sorted set, a member a unit, score = when; exact; and below 0 the windows that use it
--   sliding-buckets  hash: "<end of the bucket>" = units; a bucket counts until its end has left the window;
--                    "keep:<longest window>:<width>" = when it was last used so
--   fixed-window     hash: "<per>:at" = start of the window, "<per>:n" = units in it, "<per>:f" = those at its start
--   sliding-counter  hash: the same, and "<per>:p" = units of the window before, counted in proportion
--   gcra, gate       hash: "<per>/<drain>:tat" = when the bucket is empty again; a unit drains in drain = per / limit
--   backlog-stream   stream of what waits; admits while it holds fewer than the limit
--   backlog-list     list of the same
-- then, only with first_notice auto: known (rw) and heard (rw), sorted sets of the channel's categories by their last
--   attempt, and by their last admission
-- then, only with options:
--   extras   (rw) sorted set of the numbers of edits, score = when due; they are entries too
--   posted   (rw) hash: "<number>" = a message, JSON (lua/record.go); "f:<fingerprint>", "c:<category>",
--            "b:<bundle> <category>" = number; "bytes" = how long the messages are
--   aged     (rw) sorted set of their numbers, score = when touched
--   drops    (rw) stream of drops: event, category, level, used, limit, retry_us, sum = bytes recorded up to it
--   digest   (rw) hash of what the next digest will report (digest.lua)
--   told     (rw) sorted set of categories by their last admission
--   delayed  (rw) sorted set of "<number> <category>": what waits for a slot, in order; they are entries too
--
-- ARGV[1] the plan, JSON: [mode, dedupe, levels, routes, fairness, replica, sequence, options]
--   mode     "admit". The same keys and events go with another mode to: peek.lua, which writes nothing; force.lua,
--            which asks no level; promote.lua, for what waits for a slot; restore.lua, for what was admitted while
--            Redis was away
--   dedupe   how long an admitted id is remembered, microseconds
--   levels   for each: [strategy, option, shadow, limit, per, limit, per, ...]; per in microseconds;
--            option: bucket width (sliding-buckets), phase or -1 = from the first unit (fixed-window),
--            burst (gcra), otherwise 0; shadow 0 or 1
--   routes   for each: [category, headroom, category level, level, ...]; headroom = units of level 1 that this route
--            must leave free; category level = its place, 0 = none; then the places of its levels, outermost first
--   fairness {} or, about the first window of level 1, the channel: {"slots", "per_category"} are kept for
--            first notices; {"floor"} learns the reserve (auto); {"reserves": [[category, slots, level], ...]}
--   replica, sequence  of restore.lua
--   options  absent, or {"overflow": "drop", "delay" or "merge", "most": how many may be delayed, "age": for how long,
--            "resolves": "post", "reply" or "edit", "repeats": true = counted on the message, "digest": true,
--            "drops": how many are recorded, "posted": how long a message is kept, "every": the time between two edits
--            of a count, "names": of the levels}; times in microseconds
-- then for each event: id (at most 40 bytes), units, route, entry ("" = nothing to enqueue, else "<kind> <payload>")
--   and with options: bundle (events with the same one become one message; "" = none; one that begins with "@"
--   continues in further calls), status (firing, resolved, update = it replaces what the message of its fingerprint
--   reports, or ""), fingerprint ("" = none), severity, title, delayed (of promote.lua), answers (the fingerprint of
--   the message that it replies to; "" = none)
--
-- Reply: [now, stepped_us, events, levels]
--   stepped_us how far time went back, where entries had to be moved; else 0
--   events   flat, for each: outcome, refused, shadow, retry_us, window
--     outcome  1 admitted, 2 dropped, 3 duplicate, 4 never (more units than can ever fit), 5 merged, 6 delayed,
--              7 suppressed (dropped: it resolves what was never posted), 8 full (dropped: nothing more may wait),
--              9 admitted in the place and for the slot of its firing
--     refused  bit i-1 is set when the event's i-th level refused; shadow the same, for shadow levels
--     retry_us how long until it could fit, microseconds (0 unless dropped)
--     window   the window that refuses longest, of the first level that refused; from 0
--   levels   flat, for each: closed_us, window, and for each window the units used after the batch (-1 = not looked at)
--     closed_us until then one unit can certainly not fit (0 = open, or not known), because of that window, from 0
-- Errors: "ARG ..." for arguments that make no sense; nothing is written then.
--
-- By hand, a channel limit of 10 and a category limit of 3 per 60 s (the space around the comma matters):
--   redis-cli --eval lua/admit.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' \
--     'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:limit:sliding-log:category:demo:errors' , \
--     '["admit",3600000000,[["sliding-log",0,0,10,60000000],["sliding-log",0,0,3,60000000]],[["errors",0,2,1,2]]]' \
--     event-1 1 1 'message {"title":"disk full"}'
-- replies 1) now 2) 0 3) 1 0 0 0 0 4) 0 0 1 0 0 1: admitted, one unit used at both levels. With ids event-2 to
-- event-10 three pass, seven are dropped.

local MODE = 'admit'

--- @include parts/batch/read
--- @include parts/batch/limits
--- @include parts/batch/written
if options then
  --- @include parts/messages
  --- @include parts/messages/decide
end

--- @include parts/batch/decisions
for at = 2, #ARGV, width do
  --- @include parts/batch/event
  --- @include parts/batch/received
  if not outcome then
    --- @include parts/messages/attached
    if not outcome then
      --- @include parts/batch/ask
      if outcome == DROPPED and messages then outcome = messages.overflow(event, route, refused) end
    end
    if outcome == ADMITTED then
      local is_sent = false
      --- @include parts/batch/number
      --- @include parts/batch/spend
      --- @include parts/batch/enqueue
    end
    --- @include parts/messages/closed
  end
  --- @include parts/batch/count
  --- @include parts/batch/report
end
--- @include parts/batch/write
return reply
