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
--
-- Code generated from lua/src/merge_counts.lua by go generate ./lua; DO NOT EDIT.

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

-- part counted: check the counts of a replica, and name the fields of its drops.
local function fault_of(counts)
  for _, part in ipairs({ 'totals', 'categories', 'noted' }) do
    for name, n in pairs(counts[part] or {}) do
      if type(n) ~= 'number' then return 'ARG ' .. part .. ' ' .. name .. ' is not a number' end
    end
  end
  for _, drop in ipairs(counts.drops or {}) do
    if type(drop) ~= 'table' or #drop ~= 6 or not counts.keep then
      return 'ARG a drop has six fields, and needs the number that the channel keeps'
    end
  end
end

local function named_drops(list)
  local named = {}
  for i, drop in ipairs(list) do
    named[i] = {
      event = drop[1], category = drop[2], level = drop[3], used = drop[4], limit = drop[5], retry_us = drop[6],
    }
  end
  return named
end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part expire: keep a key for a time from now on. An expiry that is less than 10 s too early is not renewed.
local slack_ms = 10000

local function expire(key, ms)
  if call('PTTL', key) < ms - slack_ms then call('PEXPIRE', key, int(ms)) end
end
-- part counts: count a category's events in the current minute, and in the current hour (series). Both hashes are
-- bounded: what is new when one is full counts under "other". Numbers are passed as text, which costs Redis less
-- than to convert them.
local counts_ms = 90000000 -- 25 h: the current hour and the 24 before it
local minute_text = int(floor(now / 60000000)) -- since 1970

local function count_in_minute(category, total, n)
  local max_fields = 6000
  local minute = minute_text .. (total == 'admitted' and ':a:' or ':d:')
  if call('HINCRBY', minutes, minute .. category, int(n)) ~= n then return end
  local fields = call('HLEN', minutes)
  if fields == 1 then call('PEXPIRE', minutes, counts_ms) end
  if fields > max_fields and category ~= 'other' then
    call('HDEL', minutes, minute .. category)
    call('HINCRBY', minutes, minute .. 'other', int(n))
  end
end

-- count_category counts n events under a total, admitted or dropped. A category that is new in the hour gets both
-- fields.
local function count_category(category, total, n)
  local max_categories = 1000
  count_in_minute(category, total, n)
  local field, sibling = ':admitted', ':dropped'
  if total == 'dropped' then field, sibling = sibling, field end
  if call('HINCRBY', series, category .. field, int(n)) ~= n then return end
  if call('HSETNX', series, category .. sibling, 0) == 0 then return end
  call('PEXPIRE', series, counts_ms)
  if category == 'other' or call('HLEN', series) <= 2 * max_categories then return end
  call('HDEL', series, category .. field, category .. sibling)
  call('HINCRBY', series, 'other' .. field, int(n))
  call('HSETNX', series, 'other' .. sibling, 0)
end
-- part stream_bytes: bound a stream in bytes. Each item has in "sum" how many bytes were added up to it, so that
-- what the stream holds is the difference of two sums.
local item_overhead = 256 -- bytes of an item beside its text

local function field_of(item, name)
  for i = 1, item and #item[2] or 0, 2 do
    if item[2][i] == name then return item[2][i + 1] end
  end
  return ''
end

local function sum_of(item) return tonumber(field_of(item, 'sum')) or 0 end

local function newest_sum(stream) return sum_of(call('XREVRANGE', stream, '+', '-', 'COUNT', '1')[1]) end

-- trim deletes the oldest items while the stream holds more than most bytes, so many of them at most. field has
-- an item's text, and sum is that of the newest.
local function trim(stream, field, most, sum, items_at_most)
  for _ = 1, items_at_most do
    local oldest = call('XRANGE', stream, '-', '+', 'COUNT', '1')[1]
    if not oldest then return end
    local before = max(0, sum_of(oldest) - #field_of(oldest, field) - item_overhead)
    if sum - before <= most then return end
    call('XDEL', stream, oldest[1])
  end
end
-- part drops: add to the drop log, which is bounded in number and in bytes. A drop has event, category, level,
-- used, limit and retry_us (numbers as text). keep is the size of the drop log.
local max_drop_bytes = 16777216
local drops_ms = 604800000 -- 7 days after the last drop

local function record_drops(list, keep)
  local sum, keep_text = newest_sum(drops), int(keep)
  for _, drop in ipairs(list) do
    sum = sum + #drop.event + item_overhead
    call('XADD', drops, 'MAXLEN', '=', keep_text, '*', 'event', drop.event, 'category', drop.category,
      'level', drop.level, 'used', drop.used, 'limit', drop.limit, 'retry_us', drop.retry_us, 'sum', int(sum))
  end
  trim(drops, 'event', max_drop_bytes, sum, 2 * #list + 1)
  expire(drops, drops_ms)
end
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end
-- part digest_counts: add counts to the next digest. Of drops: "d:<category>:<severity>:<status>:<level>", where
-- level is the level or the reason that refused. Of expired messages: "x:<category>:<severity>:<status>". Of
-- both: "t:<title>". The number of fields is bounded, and for titles the bound is lower. Beyond it, events count
-- under "other", and titles are not stored.
local function count_for_digest(counts)
  local max_fields, max_fields_for_title = 1000, 300
  local digest_ms = 5356800000 -- 62 days: twice the longest interval
  local events = 0
  for field, n in pairs(counts) do
    local prefix = string.sub(field, 1, 2)
    local is_title = prefix == 't:'
    local most = is_title and max_fields_for_title or max_fields
    if not is_title then events = events + n end
    if call('HLEN', digest) < most or call('HEXISTS', digest, field) == 1 then
      call('HINCRBY', digest, field, int(n))
    elseif not is_title then
      call('HINCRBY', digest, prefix .. 'other:warning', int(n))
    end
  end
  if events <= 0 then return end
  call('HINCRBY', digest, 'noted', int(events))
  if call('HSETNX', digest, 'since', int(now)) == 1 then look_now('send', digest) end
  call('HSET', digest, 'last', int(now))
  expire(digest, digest_ms)
end

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
