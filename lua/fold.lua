-- fold.lua: take what a replica counted by itself into the shared ledger: the drops that its closed-until
-- cache decided. A repeat of a fold changes nothing.
--
-- KEYS[1] ledger   hash of totals of the channel
-- KEYS[2] series   hash of counts a category in the current hour, "<category>:admitted" and ":dropped"
-- KEYS[3] folds    hash: replica = sequence of its last fold
-- KEYS[4] known    sorted set of the channel's categories by their last attempt; written only where it is
--                  named (first_notice auto)
--
-- ARGV[1] replica  who counted; unique to one process
-- ARGV[2] sequence of this fold, rising by one
-- then pairs: total, by how much it rises
-- then '', and pairs: category, how many of it were dropped
--
-- Reply: 1 taken in, 0 taken in before
--
-- By hand:
--   redis-cli --eval lua/fold.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:series:demo:0' \
--     'relay:{demo}:folds:demo' , replica-1 1 received 3 dropped 3 '' errors 2 disk 1

local ledger, series, folds, known = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local replica, sequence = ARGV[1], tonumber(ARGV[2])
local series_ms = 90000000 -- 25 h: the current hour and the 24 before it
local max_categories = 1000
local call = redis.call

local totals = 3
while ARGV[totals] and ARGV[totals] ~= '' do totals = totals + 2 end
if not sequence or not ARGV[totals] or (#ARGV - totals) % 2 ~= 0 then
  return redis.error_reply('ARG a sequence, pairs of totals, an empty argument and pairs of categories are needed')
end
for i = 4, #ARGV do
  if (i < totals and i % 2 == 0 or i > totals and (i - totals) % 2 == 0) and not tonumber(ARGV[i]) then
    return redis.error_reply('ARG argument ' .. i .. ' is not a number')
  end
end
if tonumber(call('HGET', folds, replica) or 0) >= sequence then return 0 end

local time = redis.call('TIME')
local now_text = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))

for i = 3, totals - 1, 2 do call('HINCRBY', ledger, ARGV[i], ARGV[i + 1]) end
for i = totals + 1, #ARGV, 2 do
  local category, dropped = ARGV[i], ARGV[i + 1]
  if call('HEXISTS', series, category .. ':dropped') == 0 and call('HLEN', series) >= 2 * max_categories then
    category = 'other'
  end
  call('HINCRBY', series, category .. ':dropped', dropped)
  call('HSETNX', series, category .. ':admitted', 0)
  if known then call('ZADD', known, now_text, ARGV[i]) end
end
if call('PTTL', series) == -1 then call('PEXPIRE', series, series_ms) end
call('HSET', folds, replica, ARGV[2])
call('PEXPIRE', folds, series_ms)
return 1
