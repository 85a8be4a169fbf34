-- force.lua: admit a batch of events past the limits, for an operator. No level is checked, and none counts them.
-- Duplicates are still recognised, and resolves and repeats are attached to their messages, as in admit.lua.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = time
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of the counts of each category in the current hour
-- KEYS[4] outbox   (rw) sorted set of the numbers of messages in order
-- KEYS[5] entries  (rw) hash of entries
-- KEYS[6] minutes  (rw) hash of the counts of each category and minute
-- KEYS[7] due      (w)  sorted set of the work of channels (see due.lua)
-- KEYS[8..] limit  (-)  the levels; not used here
-- then, only with first_notice auto: two keys that are not used here
-- then, only with options, as of lua/admit.lua: extras (rw), posted (rw), aged (rw), drops (rw), digest (rw),
--   told (rw), delayed (rw)
--
-- ARGV[1] the plan, JSON, as of lua/admit.lua, with the mode "force"
-- then for each event: as of lua/admit.lua
--
-- Reply: as of lua/admit.lua; outcomes 1, 3, 5 and 9
--
-- Example:
--   redis-cli --eval lua/force.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' relay:due 'relay:{demo}:limit:sliding-log:channel' , \
--     '["force",3600000000,[["sliding-log",0,0,10,60000000]],[["errors",0,0,1]]]' \
--     event-1 1 1 'message {"title":"disk full"}'

local MODE = 'force'

--- @include parts/batch/read
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
    outcome = outcome or ADMITTED -- no level is checked
    if outcome == ADMITTED then
      totals.forced = (totals.forced or 0) + 1
      --- @include parts/batch/number
      --- @include parts/batch/enqueue
    end
    --- @include parts/messages/closed
  end
  --- @include parts/batch/count
  --- @include parts/batch/report
end
--- @include parts/batch/write
return reply
