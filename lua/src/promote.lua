-- promote.lua: ask again for events that wait for a slot (overflow: delay): each is admitted, still waits, or is
-- dropped because it waited too long. Reads and writes as admit.lua does.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = when
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of counts a category in the current hour
-- KEYS[4] outbox   (rw) sorted set of the numbers of messages in order
-- KEYS[5] entries  (rw) hash of entries
-- KEYS[6] minutes  (rw) hash of counts a category and minute
-- KEYS[7..] limit  (rw) the levels, by their place from 1
-- then, only with first_notice auto: known (rw) and heard (rw)
-- then as of lua/admit.lua: extras (rw), posted (rw), aged (rw), drops (rw), digest (rw),
--   told (rw), delayed (rw)
--
-- ARGV[1] the plan, JSON, as of lua/admit.lua, with the mode "promote" and with options
-- then for each event: as of lua/admit.lua, with options; delayed = its number while it waits
--
-- Reply: as of lua/admit.lua; outcome 3: it does not wait any more, 6: it still waits
--
-- By hand:
--   redis-cli --eval lua/promote.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' 'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' 'relay:{demo}:drops:demo' 'relay:{demo}:digest:demo' \
--     'relay:{demo}:told:demo' 'relay:{demo}:delayed:demo' , \
--     '["promote",3600000000,[["sliding-log",0,0,10,60000000]],[["errors",0,0,1]],{},"",0,\
--     {"overflow":"delay","most":10,"age":3600000000,"resolves":"post","repeats":false,"digest":false,"drops":10,\
--     "posted":3600000000,"every":0,"names":["channel"]}]' \
--     event-1 1 1 'message {"title":"disk full"}' '' '' '' warning '' 1 ''

local MODE, MODE_KEYS, MODE_FIELDS = 'promote', 0, 0
local seen, ledger, series, outbox, entries, minutes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

--- @include parts/plan
if not options then return redis.error_reply('ARG the plan needs options') end
--- @include parts/clock
--- @include parts/outcomes
--- @include parts/int
--- @include parts/expire
--- @include parts/limits/constants
--- @include parts/levels
--- @include parts/ago

local now_text = int(now)
--- @include parts/limits/log
--- @include parts/limits/log_fits
if needs_strategies then
  local strategies = {}
  --- @include parts/limits/hash
  --- @include parts/limits/strategies
  --- @include parts/limits/assign
end
--- @include parts/limits/fit

local fairness
if fair then
  --- @include parts/fairness
  --- @include parts/fairness_store
end

--- @include parts/batch/written

local superseded_total = 0
local messages
--- @include parts/messages/batch
local function make_archive()
  --- @include parts/messages/records
  --- @include parts/messages/alerts
  --- @include parts/messages/remember
  --- @include parts/messages/threads
  --- @include parts/messages/remember_waiting
  local editor
  local function make_editor()
    --- @include parts/messages/numbers
    --- @include parts/messages/edits
    --- @include parts/messages/rewrites
    --- @include parts/messages/resolves
    --- @include parts/messages/groups
    --- @include parts/messages/count_on_last
    --- @include parts/messages/no_queue
    --- @include parts/messages/waiting
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
--- @include parts/messages/remember_promoted

local duplicate_total, merged_total, delayed_total = 0, 0, 0
local decisions = {}
local admitted_by_route, dropped_by_route = {}, {} -- how many events
--- @include parts/messages/event_fields
for at = 2, #ARGV, width do
  --- @include parts/batch/event
  --- @include parts/messages/event
  if not messages.is_still_waiting(event) then
    outcome = DUPLICATE
  else
    --- @include parts/messages/attached
    if not outcome then
      --- @include parts/batch/ask
      if outcome == DROPPED then outcome = messages.has_waited_too_long(event) and FULL or DELAYED end
    end
    if outcome == ADMITTED then
      local is_sent = false
      --- @include parts/batch/number
      --- @include parts/batch/spend
      --- @include parts/batch/enqueue
      if fairness then fairness.add_admission(route[CATEGORY]) end
      messages.remember(event, number)
    end
    --- @include parts/messages/closed
    if outcome ~= DELAYED then messages.leave(event) end
    delayed_total = delayed_total - 1 -- and one more, where it still waits
    --- @include parts/batch/count
  end
  --- @include parts/batch/report
end
--- @include parts/batch/states

--- @include parts/batch/check_types
for _, hash in ipairs({ entries, ledger }) do call('HLEN', hash) end
call('ZCARD', seen)

-- The first write needs memory: where there is none, it is refused, and nothing was written yet.
if last_number then call('HSET', entries, 'seq', int(last_number)) end
--- @include parts/batch/store_levels
--- @include parts/batch/store_entries
messages.store()
if fairness then fairness.store() end
--- @include parts/counts
--- @include parts/batch/store_counts
if superseded_total > 0 then call('HINCRBY', ledger, 'superseded', int(superseded_total)) end
return reply
