-- promote.lua: decide delayed events again. Each is admitted, stays delayed, or is dropped because it waited too long.
-- The script reads and writes like admit.lua.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = time
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of the counts of each category in the current hour
-- KEYS[4] outbox   (rw) sorted set of the numbers of messages in order
-- KEYS[5] entries  (rw) hash of entries
-- KEYS[6] minutes  (rw) hash of the counts of each category and minute
-- KEYS[7] due      (rw) sorted set of the work of channels (see due.lua)
-- KEYS[8..] limit  (rw) the levels, by their place from 1
-- then, only with first_notice auto: known (rw) and heard (rw)
-- then as of lua/admit.lua: extras (rw), posted (rw), aged (rw), drops (rw), digest (rw),
--   told (rw), delayed (rw)
--
-- ARGV[1] the plan, JSON, as of lua/admit.lua, with the mode "promote" and with options
-- then for each event: as of lua/admit.lua, with options; delayed = its number in the queue
--
-- Reply: as of lua/admit.lua; outcome 3: the event is no longer delayed; 6: it still is
--
-- Example:
--   redis-cli --eval lua/promote.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' relay:due 'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' 'relay:{demo}:drops:demo' 'relay:{demo}:digest:demo' \
--     'relay:{demo}:told:demo' 'relay:{demo}:delayed:demo' , \
--     '["promote",3600000000,[["sliding-log",0,0,10,60000000]],[["errors",0,0,1]],{},"",0,\
--     {"overflow":"delay","most":10,"age":3600000000,"resolves":"post","repeats":false,"digest":false,"drops":10,\
--     "posted":3600000000,"every":0,"names":["channel"]}]' \
--     event-1 1 1 'message {"title":"disk full"}' '' '' '' warning '' 1 ''

local MODE = 'promote'

--- @include parts/batch/read
if not options then return redis.error_reply('ARG the plan needs options') end
--- @include parts/batch/limits
--- @include parts/batch/written
--- @include parts/messages
--- @include parts/messages/decide
--- @include parts/messages/promoted
--- @include parts/due/at
--- @include parts/promote/next

--- @include parts/batch/decisions
for at = 2, #ARGV, width do
  --- @include parts/batch/event
  if not messages.is_still_waiting(event) then
    outcome = DUPLICATE
  else
    --- @include parts/messages/attached
    if not outcome then
      --- @include parts/batch/ask
      if outcome == DROPPED then outcome = now > messages.drops_at(event) and FULL or DELAYED end
    end
    if outcome == ADMITTED then
      local is_sent = false
      --- @include parts/batch/number
      --- @include parts/batch/spend
      --- @include parts/batch/enqueue
    end
    --- @include parts/messages/closed
    if outcome ~= DELAYED then messages.leave(event) end
    totals.delayed = (totals.delayed or 0) - 1 -- DELAYED adds one again
    --- @include parts/batch/count
  end
  again_at = outcome == DELAYED and min(again_at, retry_at, messages.drops_at(event) + 1) or now
  --- @include parts/batch/report
end
for _, hash in ipairs({ entries, ledger }) do call('HLEN', hash) end -- a wrong type fails before any write
call('ZCARD', seen)
--- @include parts/batch/write
store_next()
return reply
