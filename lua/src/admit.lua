-- admit.lua: decide a batch of events of one channel. Each event uses its units at every level, or at none.
--
-- The events are decided in order, and each one sees those before it:
--   1. If the id was admitted within the dedupe time, the event is a duplicate. Only its count is written.
--   2. With options, the event may be attached to an existing message: a resolve takes the place of a firing that still
--      waits, or marks it as resolved; a repeat is counted on the message; an event of a bundle joins the first one.
--   3. Every window of every level is checked by the level's strategy.
--   4. If all of them have room, the event uses its units at every level, its id is remembered, and its payload is
--      appended to the outbox. If one has no room, no level changes. Shadow levels report and never refuse.
--   5. With options, an event without room may wait for a slot, or be counted on the last message of its category.
--      Drops are recorded, and counted for the digest.
-- The script decides everything first, and then writes once for the whole batch, so that an error writes nothing.
-- The time is this server's TIME, read once, in microseconds. If the clock goes back, units that were admitted "later"
-- still count, so that no window ever holds more than its limit. Units that lie more than 5 s ahead are moved to now as
-- soon as they make a level refuse, so that a step of the clock throttles for at most one window too long.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = time
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of the counts of each category in the current hour, "<category>:admitted" and ":dropped"
-- KEYS[4] outbox   (rw) sorted set of entry numbers in order
-- KEYS[5] entries  (rw) hash: "seq" = last number, "delayed" = bytes that wait for a slot,
--                  "<number>" = "<admitted at> <kind> <payload>"
-- KEYS[6] minutes  (rw) hash of the same counts by minute: "<minute since 1970>:a:<category>" admitted, ":d:" dropped
-- KEYS[7] due      (w)  sorted set of the work of channels (see due.lua)
-- KEYS[8..] limit  (rw) the levels, by their place from 1. What a key holds depends on the strategy. A hash also has
--   "since", the time of its first unit, to recognise a refund from before a reset; "last", the time of its last unit,
--   to recognise a step of the clock; and "<...>:u", when a replica with another configuration last used a window.
--   Of a sliding-log, it is a sorted set with a member for each unit, score = time; scores below 0 are the windows that
--   use it. The other strategies are explained below, in the parts limits/strategies.
-- then, only with first_notice auto: known (rw) and heard (rw), sorted sets of the channel's categories, by the times
--   of their last attempts and last admissions
-- then, only with options:
--   extras   (rw) sorted set of the numbers of edits, score = due time; they are entries too
--   posted   (rw) hash: "<number>" = a posted message, JSON (store.PostedMessage); "f:<fingerprint>", "c:<category>",
--            "b:<bundle>" = number; "bytes" = length of all messages
--   aged     (rw) sorted set of their numbers, score = time of the last change
--   drops    (rw) stream, the drop log: event, category, level, used, limit, retry_us, sum = bytes recorded so far
--   digest   (rw) hash of the counts for the next digest (see digest.lua)
--   told     (rw) sorted set of the channel's categories by their last admission, for the digest
--   delayed  (rw) sorted set of "<number> <category>": the delayed events, in order; they are entries too
--
-- ARGV[1] the plan, JSON: [mode, dedupe, levels, routes, fairness, replica, sequence, options]
--   mode     "admit". Four scripts take the same keys and events with another mode: peek.lua writes nothing,
--            force.lua checks no level, promote.lua decides delayed events again, and restore.lua adds events that
--            were admitted while Redis was unavailable
--   dedupe   the dedupe time, microseconds
--   levels   for each: [strategy, option, shadow, limit, per, limit, per, ...]; per in microseconds;
--            option: bucket width (sliding-buckets), phase or -1 = from the first unit (fixed-window),
--            burst (gcra), otherwise 0; shadow 0 or 1
--   routes   for each: [category, headroom, category level, level, ...]; headroom = units of level 1 that events of
--            this route must leave free; category level = its place, 0 = none; then the places of the levels that
--            an event passes, outermost first
--   fairness {}, or for the first window of level 1, the channel: {"slots", "per_category"} reserve slots for first
--            notices; {"floor"} reserves them automatically; {"reserves": [[category, slots, level], ...]}
--   replica, sequence  of restore.lua
--   options  absent, or {"overflow": "drop", "delay" or "merge", "most": how many events may be delayed, "age": for how
--            long, "resolves": "post", "reply" or "edit", "repeats": true = repeats are counted on the message,
--            "digest": true, "drops": the size of the drop log, "posted": how long a posted message is remembered,
--            "every": the time between two edits of a count, "names": the names of the levels}; times in microseconds
-- then for each event: id (at most 40 bytes), units, route, entry ("<kind> <payload>", or "" = no message)
--   and with options: bundle (events with the same one become one message; "" = none; one that begins with "@"
--   continues in later calls, and one that begins with "#" as long as an alert of its message is firing), status
--   (firing, resolved, update = the event replaces the text for its fingerprint, or ""), fingerprint ("" = none),
--   severity, title, delayed (see promote.lua), reply_to (the fingerprint of the message that the event replies to;
--   "" = none)
--
-- Reply: [now, stepped_us, events, levels]
--   stepped_us how far the clock went back, if units had to be moved; otherwise 0
--   events   flat, for each: outcome, refused, shadow, retry_us, window
--     outcome  a code of the part outcomes, below: 1 admitted, 2 dropped by a level, and so on (docs/glossary.md)
--     refused  bit i-1 is set if the event's i-th level refused; shadow is the same for shadow levels
--     retry_us the time until the event could fit, microseconds (0 unless dropped)
--     window   the window that refuses longest, of the first level that refused; from 0
--   levels   flat, for each: closed_us, window, and for each window the units used after the batch (-1 = not checked)
--     closed_us for how long no unit can fit because of that window, counted from 0 (0 = open, or not known)
-- Errors: "ARG ..." for invalid arguments; nothing is written then.
--
-- Example: a channel limit of 10 and a category limit of 3 per 60 s (the space around the comma matters):
--   redis-cli --eval lua/admit.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' relay:due \
--     'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:limit:sliding-log:category:demo:errors' , \
--     '["admit",3600000000,[["sliding-log",0,0,10,60000000],["sliding-log",0,0,3,60000000]],[["errors",0,2,1,2]]]' \
--     event-1 1 1 'message {"title":"disk full"}'
-- replies 1) now 2) 0 3) 1 0 0 0 0 4) 0 0 1 0 0 1: admitted, one unit used at both levels. Of event-1 to
-- event-10, three are admitted and seven dropped.

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
  --- @include parts/batch/duplicate
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
