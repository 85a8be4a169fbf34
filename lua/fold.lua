-- fold.lua: take what a replica counted by itself into the shared ledger: the drops that its closed-until
-- cache decided. A repeat of a fold changes nothing.
--
-- KEYS[1] ledger   hash of totals of the channel
-- KEYS[2] series   hash of counts a category in the current hour, "<category>:admitted" and ":dropped"
-- KEYS[3] folds    hash: replica = sequence of its last fold
-- KEYS[4] drops    stream that records what was dropped
-- KEYS[5] digest   hash of what the next digest will say (digest.lua)
-- KEYS[6] minutes  hash of the same a minute: "<minute since 1970>:d:<category>"
-- KEYS[7] known    sorted set of the channel's categories by their last attempt; written only where it is
--                  named (first_notice auto)
--
-- ARGV[1] replica  who counted; unique to one process
-- ARGV[2] sequence of this fold, rising by one
-- ARGV[3] what was counted, JSON, each optional:
--   totals      by how much each total rises
--   categories  how many of each were dropped
--   noted       what the next digest will say: {"d:<category>:<severity>": n, "t:<title>": n}
--   drops       for the record, which is bounded by bytes too:
--               [[event, category, level, used, limit, retry_us], ...], oldest first
--   keep        how many records the channel keeps
--
-- Reply: 1 taken in, 0 taken in before
--
-- By hand:
--   redis-cli --eval lua/fold.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:series:demo:0' 'relay:{demo}:folds:demo' \
--     'relay:{demo}:drops:demo' 'relay:{demo}:digest:demo' 'relay:{demo}:minutes:demo:0' , replica-1 1 \
--     '{"totals":{"received":3,"dropped":3},"categories":{"errors":2,"disk":1}}'

local ledger, series, folds, drops, digest = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local minutes, known = KEYS[6], KEYS[7]
local replica, sequence = ARGV[1], tonumber(ARGV[2])
local series_ms = 90000000 -- 25 h: the current hour and the 24 before it
local drops_ms = 604800000 -- 7 days after the last drop
local max_drop_bytes, record_bytes = 16777216, 256 -- what a channel's record holds; of a record beside its event
local digest_ms = 5356800000 -- 62 days: twice the longest interval
local max_categories = 1000
local max_minutes = 6000 -- fields of an hour: what is more is counted into "other"
local max_noted, max_titled = 1000, 300 -- fields of a digest; titles must not crowd out counts
local call = redis.call

-- A repeat is known before it is looked into: what is sent again may be large.
if sequence and tonumber(call('HGET', folds, replica) or 0) >= sequence then return 0 end
local good, counted = pcall(cjson.decode, ARGV[3] or '')
if not sequence or not good or type(counted) ~= 'table' then
  return redis.error_reply('ARG a replica, a sequence and JSON are needed')
end
for _, part in ipairs({ 'totals', 'categories', 'noted' }) do
  for name, n in pairs(counted[part] or {}) do
    if type(n) ~= 'number' then return redis.error_reply('ARG ' .. part .. ' ' .. name .. ' is not a number') end
  end
end
for _, drop in ipairs(counted.drops or {}) do
  if type(drop) ~= 'table' or #drop ~= 6 or not counted.keep then
    return redis.error_reply('ARG a drop has six fields, and needs to know how many are kept')
  end
end
for _, counts in ipairs({ ledger, series, minutes, digest }) do call('HLEN', counts) end -- another type fails here
call('XLEN', drops)
if known then call('ZCARD', known) end

local time = redis.call('TIME')
local now_text = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))
local minute = string.format('%.0f:d:', math.floor(tonumber(time[1]) / 60))

for name, n in pairs(counted.totals or {}) do call('HINCRBY', ledger, name, n) end
for name, dropped in pairs(counted.categories or {}) do
  local category = name
  if call('HEXISTS', series, category .. ':dropped') == 0 and call('HLEN', series) >= 2 * max_categories then
    category = 'other'
  end
  call('HINCRBY', series, category .. ':dropped', dropped)
  call('HSETNX', series, category .. ':admitted', 0)
  if call('HEXISTS', minutes, minute .. category) == 0 and call('HLEN', minutes) >= max_minutes then
    category = 'other'
  end
  call('HINCRBY', minutes, minute .. category, dropped)
  if known then call('ZADD', known, now_text, name) end
end
for _, counts in ipairs({ series, minutes }) do
  if call('PTTL', counts) == -1 then call('PEXPIRE', counts, series_ms) end
end

-- Each record of a drop has in "sum" how many bytes were recorded up to it, so that what the record holds is a
-- difference. Where that is too much, the oldest go.
local function field_of(record, name)
  for i = 1, record and #record[2] or 0, 2 do
    if record[2][i] == name then return record[2][i + 1] end
  end
  return ''
end
local function sum_of(record) return tonumber(field_of(record, 'sum')) or 0 end
if counted.drops then
  local sum = sum_of(call('XREVRANGE', drops, '+', '-', 'COUNT', 1)[1])
  for _, drop in ipairs(counted.drops) do
    sum = sum + #drop[1] + record_bytes
    call('XADD', drops, 'MAXLEN', '=', counted.keep, '*', 'event', drop[1], 'category', drop[2], 'level', drop[3],
      'used', drop[4], 'limit', drop[5], 'retry_us', drop[6], 'sum', string.format('%.0f', sum))
  end
  for _ = 0, 2 * #counted.drops do
    local oldest = call('XRANGE', drops, '-', '+', 'COUNT', 1)[1]
    if not oldest then break end
    local before = math.max(0, sum_of(oldest) - #field_of(oldest, 'event') - record_bytes)
    if sum - before <= max_drop_bytes then break end
    call('XDEL', drops, oldest[1])
  end
  call('PEXPIRE', drops, drops_ms)
end
local noted = 0
for field, n in pairs(counted.noted or {}) do
  local title = string.sub(field, 1, 2) == 't:'
  if not title then noted = noted + n end
  if call('HLEN', digest) < (title and max_titled or max_noted) or call('HEXISTS', digest, field) == 1 then
    call('HINCRBY', digest, field, n)
  elseif not title then
    call('HINCRBY', digest, 'd:other:warning', n)
  end
end
if noted > 0 then
  call('HINCRBY', digest, 'noted', noted)
  call('HSETNX', digest, 'since', now_text)
  call('HSET', digest, 'last', now_text)
  call('PEXPIRE', digest, digest_ms)
end

call('HSET', folds, replica, ARGV[2])
call('PEXPIRE', folds, series_ms)
return 1
