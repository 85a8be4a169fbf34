-- restore.lua: add what a replica admitted by itself while it could not reach this server, whatever the limits
-- are now, and what became of it. Its units are taken, unless it certainly never appeared. A repeat changes nothing.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = when
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of counts a category in the current hour
-- KEYS[4] outbox   (rw) sorted set of the numbers of messages in order
-- KEYS[5] entries  (rw) hash of entries
-- KEYS[6] minutes  (rw) hash of counts a category and minute
-- KEYS[7..] limit  (rw) the levels, by their place from 1
-- then, only with first_notice auto: known (rw) and heard (rw)
-- then folds (rw), hash: replica = sequence of its last call; dead (rw), stream of dead letters
-- then, only with options, as of lua/admit.lua: extras (w), posted (rw), aged (rw), told (rw); drops, digest and
--   delayed are not used here
--
-- ARGV[1] the plan, JSON, as of lua/admit.lua, with the mode "restore"; its replica is unique to one process, and its
--   sequence rises by one: a call that was applied before changes nothing
-- then for each event: as of lua/admit.lua, and last of all its past, JSON (lua/past.go), with times in microseconds
--   before now; "" = it waits, or where it has no entry, was delivered
--
-- Reply: as of lua/admit.lua; outcomes 1 and 3. [0, 0, [], []] = applied before
--
-- By hand:
--   redis-cli --eval lua/restore.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' 'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:folds:demo' \
--     'relay:{demo}:dead:demo' , \
--     '["restore",3600000000,[["sliding-log",0,0,10,60000000]],[["errors",0,0,1]],{},"replica-1",1]' \
--     event-1 1 1 'message {"title":"disk full"}' ''

local MODE, MODE_KEYS, MODE_FIELDS = 'restore', 2, 1
local seen, ledger, series, outbox, entries, minutes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

--- @include parts/plan
local sequences, dead = KEYS[keys_to_mode - 1], KEYS[keys_to_mode]
local replica, sequence = plan[6], plan[7]
if not replica or not sequence then
  return redis.error_reply('ARG what is restored needs a replica and a sequence')
end
if tonumber(call('HGET', sequences, replica) or 0) >= sequence then return { 0, 0, {}, {} } end

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

local messages
if options then
  --- @include parts/messages/batch
  local function make_archive()
    --- @include parts/messages/records
    --- @include parts/messages/alerts
    --- @include parts/messages/remember
    local editor
    local function make_editor()
      --- @include parts/messages/numbers
      --- @include parts/messages/edits
      --- @include parts/messages/resolves
      --- @include parts/messages/delivered
      return editor
    end
    --- @include parts/messages/store
    return archive
  end
  --- @include parts/messages/kept
  --- @include parts/messages/restored
end

--- @include parts/restore/past
--- @include parts/restore/write_down

local received_total, duplicate_total, merged_total, delayed_total = 0, 0, 0, 0
local decisions = {}
local admitted_by_route, dropped_by_route = {}, {} -- how many events
--- @include parts/messages/event_fields
for at = 2, #ARGV, width do
  --- @include parts/batch/event
  --- @include parts/messages/event
  local past = read_past(ARGV[at + width - 1])
  if not past then
    return redis.error_reply('ARG a past is JSON, with the result delivered, failed or expired, or none')
  end
  local result = past.result or entry == '' and 'delivered' or nil

  received_total = received_total + 1
  if admitted_ids and admitted_ids[id] or tonumber(call('ZSCORE', seen, id) or 0) > now - dedupe then
    outcome = DUPLICATE
    duplicate_total = duplicate_total + 1
  else
    --- @include parts/batch/ask
    refused, shadow, outcome = 0, 0, ADMITTED -- whatever the limits are now
    if result then results[result] = results[result] + 1 end
    --- @include parts/batch/number
    if not result or result == 'delivered' or past.shown then -- what certainly never appeared spends no units
      local is_sent = result ~= nil
      --- @include parts/batch/spend
    end
    if fairness then fairness.add_admission(route[CATEGORY]) end
    event.number, event.entry, event.past, event.result = number, entry, past, result
    write_down(event)
  end
  --- @include parts/batch/count
  --- @include parts/batch/report
end
--- @include parts/batch/states

--- @include parts/batch/check_types
if #dead_letters > 0 then call('XLEN', dead) end

-- The first write needs memory: where there is none, it is refused, and nothing was written yet.
call('HINCRBY', ledger, 'received', int(received_total))
if last_number then call('HSET', entries, 'seq', int(last_number)) end
--- @include parts/batch/store_levels
--- @include parts/batch/store_entries
if #dead_letters > 0 then
  --- @include parts/stream_bytes
  --- @include parts/dead_letters
  add_dead_letters(dead_letters, 2 * #dead_letters + 1)
end
if messages then messages.store() end
if fairness then fairness.store() end
--- @include parts/counts
--- @include parts/batch/store_counts
for result, total in pairs(results) do
  if total > 0 then call('HINCRBY', ledger, result, int(total)) end
end
call('HSET', sequences, replica, int(sequence))
call('PEXPIRE', sequences, counts_ms)
return reply
