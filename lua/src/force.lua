-- force.lua: post a batch of events because somebody with the right to asked for it: no level is asked, and none
-- counts them. A duplicate stays one, and a resolve or a repeat is attached to its message, as in admit.lua.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = when
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of counts a category in the current hour
-- KEYS[4] outbox   (rw) sorted set of the numbers of messages in order
-- KEYS[5] entries  (rw) hash of entries
-- KEYS[6] minutes  (rw) hash of counts a category and minute
-- KEYS[7..] limit  (-)  the levels; not used here
-- then, only with first_notice auto: two keys that are not used here
-- then, only with options, as of lua/admit.lua: extras (rw), posted (rw), aged (rw), drops (rw), digest (rw),
--   told (rw), delayed (rw)
--
-- ARGV[1] the plan, JSON, as of lua/admit.lua, with the mode "force"
-- then for each event: as of lua/admit.lua
--
-- Reply: as of lua/admit.lua; outcomes 1, 3, 5 and 9
--
-- By hand:
--   redis-cli --eval lua/force.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' 'relay:{demo}:limit:sliding-log:channel' , \
--     '["force",3600000000,[["sliding-log",0,0,10,60000000]],[["errors",0,0,1]]]' \
--     event-1 1 1 'message {"title":"disk full"}'

local MODE, MODE_KEYS, MODE_FIELDS = 'force', 0, 0
local seen, ledger, series, outbox, entries, minutes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

--- @include parts/plan
--- @include parts/clock
--- @include parts/outcomes
--- @include parts/int
--- @include parts/expire
--- @include parts/limits/constants
--- @include parts/levels
--- @include parts/ago

local now_text = int(now)
--- @include parts/batch/written

local superseded_total = 0
local messages
if options then
  --- @include parts/messages/batch
  local function make_archive()
    --- @include parts/messages/records
    --- @include parts/messages/alerts
    --- @include parts/messages/remember
    --- @include parts/messages/threads
    --- @include parts/messages/remember_posted
    local editor
    local function make_editor()
      --- @include parts/messages/numbers
      --- @include parts/messages/edits
      --- @include parts/messages/rewrites
      --- @include parts/messages/resolves
      --- @include parts/messages/groups
      --- @include parts/messages/count_on_last
      --- @include parts/messages/no_queue
      --- @include parts/messages/earlier
      --- @include parts/messages/attach
      --- @include parts/messages/store_rewrites
      return editor
    end
    --- @include parts/messages/store
    return archive
  end
  --- @include parts/messages/kept
  --- @include parts/messages/dropped
  --- @include parts/messages/decide
  --- @include parts/messages/remember_admitted
end

local received_total, duplicate_total, merged_total, delayed_total, forced_total = 0, 0, 0, 0, 0
local decisions = {}
local admitted_by_route, dropped_by_route = {}, {} -- how many events
--- @include parts/messages/event_fields
for at = 2, #ARGV, width do
  --- @include parts/batch/event
  --- @include parts/messages/event

  received_total = received_total + 1
  if admitted_ids and admitted_ids[id] or tonumber(call('ZSCORE', seen, id) or 0) > now - dedupe then
    outcome = DUPLICATE
    duplicate_total = duplicate_total + 1
  else
    --- @include parts/messages/attached
    outcome = outcome or ADMITTED -- no level is asked
    if outcome == ADMITTED then
      --- @include parts/batch/number
      --- @include parts/batch/enqueue
      forced_total = forced_total + 1
      if messages then messages.remember(event, number) end
    end
    --- @include parts/messages/closed
  end
  --- @include parts/batch/count
  --- @include parts/batch/report
end
--- @include parts/batch/states

--- @include parts/batch/check_types

-- The first write needs memory: where there is none, it is refused, and nothing was written yet.
call('HINCRBY', ledger, 'received', int(received_total))
if last_number then call('HSET', entries, 'seq', int(last_number)) end
--- @include parts/batch/store_entries
if messages then messages.store() end
--- @include parts/counts
--- @include parts/batch/store_counts
if superseded_total > 0 then call('HINCRBY', ledger, 'superseded', int(superseded_total)) end
if forced_total > 0 then call('HINCRBY', ledger, 'forced', int(forced_total)) end
return reply
