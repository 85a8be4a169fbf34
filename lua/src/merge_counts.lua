-- merge_counts.lua: add the drops that a replica's closed cache decided to the shared counts. A repeated call changes
-- nothing.
--
-- KEYS[1] ledger   (w)  hash of totals of the channel
-- KEYS[2] series   (w)  hash of the counts of each category in the current hour, "<category>:admitted" and ":dropped"
-- KEYS[3] folds    (rw) hash: replica = sequence of its last call of merge_counts.lua or restore.lua
-- KEYS[4] drops    (rw) stream, the drop log
-- KEYS[5] digest   (rw) hash of the counts for the next digest (see digest.lua)
-- KEYS[6] minutes  (w)  hash of the same counts by minute: "<minute since 1970>:d:<category>"
-- KEYS[7] due      (w)  sorted set of the work of channels (see due.lua)
-- KEYS[8] known    (w)  sorted set of the channel's categories by their last attempt; only with
--                  first_notice auto
--
-- ARGV[1] replica  unique to one process
-- ARGV[2] sequence of this call; it rises by one with each call
-- ARGV[3] the counts, JSON, each optional:
--   totals      by how much each total rises
--   categories  how many of each were dropped
--   noted       counts for the next digest: {"d:<category>:<severity>:<status>:<level>": n, "t:<title>": n}
--   drops       for the drop log:
--               [[event, category, level, used, limit, retry_us], ...], oldest first
--   keep        the size of the drop log
--
-- Reply: 1 added, 0 they were added before
--
-- Example:
--   redis-cli --eval lua/merge_counts.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:series:demo:0' \
--     'relay:{demo}:folds:demo' 'relay:{demo}:drops:demo' 'relay:{demo}:digest:demo' 'relay:{demo}:minutes:demo:0' \
--     relay:due , \
--     replica-1 1 '{"totals":{"received":3,"dropped":3},"categories":{"errors":2,"disk":1}}'

local ledger, series, sequences, drops, digest = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local minutes, due, known = KEYS[6], KEYS[7], KEYS[8]
local replica, sequence = ARGV[1], tonumber(ARGV[2])
local call, max, floor = redis.call, math.max, math.floor

-- A repeated call is recognised before its counts are decoded, because they may be large.
if sequence and tonumber(call('HGET', sequences, replica) or 0) >= sequence then return 0 end
local decoded, counted = pcall(cjson.decode, ARGV[3] or '')
if not sequence or not decoded or type(counted) ~= 'table' then
  return redis.error_reply('ARG a replica, a sequence and JSON are needed')
end

--- @include parts/counted
--- @include parts/clock
--- @include parts/int
--- @include parts/expire
--- @include parts/counts
--- @include parts/stream_bytes
--- @include parts/drops
--- @include parts/due/work
--- @include parts/due/now
--- @include parts/digest_counts

local fault = fault_of(counted)
if fault then return redis.error_reply(fault) end
-- A wrong type fails before any write.
for _, hash in ipairs({ ledger, series, minutes, digest }) do call('HLEN', hash) end
call('XLEN', drops)
call('ZCARD', due)
if known then call('ZCARD', known) end

for name, n in pairs(counted.totals or {}) do call('HINCRBY', ledger, name, n) end
for category, dropped in pairs(counted.categories or {}) do
  count_category(category, 'dropped', dropped)
  if known then call('ZADD', known, int(now), category) end
end
if counted.drops then record_drops(named_drops(counted.drops), counted.keep) end
count_for_digest(counted.noted or {})

call('HSET', sequences, replica, ARGV[2])
call('PEXPIRE', sequences, counts_ms)
return 1
