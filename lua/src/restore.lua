-- restore.lua: add the events that a replica admitted by itself while it could not reach this server, with their
-- results. The limits do not refuse them, but they use their units, unless they certainly never appeared. A repeated
-- call changes nothing.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = time
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of the counts of each category in the current hour
-- KEYS[4] outbox   (rw) sorted set of the numbers of messages in order
-- KEYS[5] entries  (rw) hash of entries
-- KEYS[6] minutes  (rw) hash of the counts of each category and minute
-- KEYS[7] due      (w)  sorted set of the work of channels (see due.lua)
-- KEYS[8..] limit  (rw) the levels, by their place from 1
-- then, only with first_notice auto: known (rw) and heard (rw)
-- then folds (rw), hash: replica = sequence of its last call of restore.lua or merge_counts.lua
-- then dead (rw), stream of dead letters
-- then, only with options, as of lua/admit.lua: extras (w), posted (rw), aged (rw), told (rw); drops, digest and
--   delayed are not used here
--
-- ARGV[1] the plan, JSON, as of lua/admit.lua, with the mode "restore"; its replica is unique to one process, and its
--   sequence rises by one with each call
-- then for each event: as of lua/admit.lua, and then what happened to it, JSON (store.OutageResult), with times in
--   microseconds before now; "" = its message waits, or if it has no entry, was delivered
--
-- Reply: as of lua/admit.lua; outcomes 1 and 3; [0, 0, [], []] = the call was applied before
--
-- Example:
--   redis-cli --eval lua/restore.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' relay:due 'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:folds:demo' \
--     'relay:{demo}:dead:demo' , \
--     '["restore",3600000000,[["sliding-log",0,0,10,60000000]],[["errors",0,0,1]],{},"replica-1",1]' \
--     event-1 1 1 'message {"title":"disk full"}' ''

local MODE = 'restore'

--- @include parts/batch/read
local sequences, dead = KEYS[keys_to_mode - 1], KEYS[keys_to_mode]
local replica, sequence = plan[6], plan[7]
if not replica or not sequence then
  return redis.error_reply('ARG the plan needs a replica and a sequence')
end
if tonumber(call('HGET', sequences, replica) or 0) >= sequence then return { 0, 0, {}, {} } end

--- @include parts/batch/limits
--- @include parts/batch/written
if options then
  --- @include parts/messages
  --- @include parts/messages/restored
end
--- @include parts/batch/decisions
--- @include parts/restore/outage
--- @include parts/restore/write_down

for at = 2, #ARGV, width do
  --- @include parts/batch/event
  local outage = read_outage(ARGV[at + width - 1])
  if not outage then
    return redis.error_reply('ARG the last field is JSON, with the result delivered, failed or expired, or none')
  end
  local result = outage.result or entry == '' and 'delivered' or nil
  --- @include parts/batch/duplicate
  if not outcome then
    --- @include parts/batch/ask
    refused, shadow, outcome = 0, 0, ADMITTED -- the limits do not refuse it
    if result then totals[result] = (totals[result] or 0) + 1 end
    --- @include parts/batch/number
    if not result or result == 'delivered' or outage.shown then -- an event that certainly never appeared uses none
      local is_sent = result ~= nil
      --- @include parts/batch/spend
    end
    if fairness then fairness.add_admission(route[CATEGORY]) end
    write_down(number, entry, outage, result)
  end
  --- @include parts/batch/count
  --- @include parts/batch/report
end
if #dead_letters > 0 then call('XLEN', dead) end
--- @include parts/batch/write
if #dead_letters > 0 then
  --- @include parts/stream_bytes
  --- @include parts/dead_letters
  add_dead_letters(dead_letters, 2 * #dead_letters + 1)
end
call('HSET', sequences, replica, int(sequence))
call('PEXPIRE', sequences, counts_ms)
return reply
