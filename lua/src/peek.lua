-- peek.lua: decide each event of a batch by itself, as admit.lua would, and write nothing.
--
-- KEYS[1] seen     (r)  sorted set of admitted ids, score = time
-- KEYS[2] ledger   (-)  not used here
-- KEYS[3] series   (-)  not used here
-- KEYS[4] outbox   (-)  not used here
-- KEYS[5] entries  (-)  not used here
-- KEYS[6] minutes  (-)  not used here
-- KEYS[7] due      (-)  not used here
-- KEYS[8..] limit  (r)  the levels, by their place from 1
-- then, only with first_notice auto: known (r) and heard (r)
-- then, only with options: seven keys that are not used here
--
-- ARGV[1] the plan, JSON, as of lua/admit.lua, with the mode "peek"
-- then for each event: as of lua/admit.lua
--
-- Reply: as of lua/admit.lua; outcomes 1 to 4
--
-- Example:
--   redis-cli --eval lua/peek.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' relay:due 'relay:{demo}:limit:sliding-log:channel' , \
--     '["peek",3600000000,[["sliding-log",0,0,10,60000000]],[["errors",0,0,1]]]' \
--     event-1 1 1 'message {"title":"disk full"}'

local MODE = 'peek'

--- @include parts/batch/read
--- @include parts/batch/limits

--- @include parts/batch/decisions
for at = 2, #ARGV, width do
  --- @include parts/batch/event
  if tonumber(call('ZSCORE', seen, id) or 0) > now - dedupe then
    outcome = DUPLICATE
  else
    --- @include parts/batch/ask
  end
  --- @include parts/batch/report
end
--- @include parts/batch/states
return reply
