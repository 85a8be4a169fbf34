-- reset.lua: delete the units of a level. If events are delayed, they may fit now: the channel becomes due.
--
-- KEYS[1] limit    (w)  the level
-- KEYS[2] delayed  (r)  sorted set of the numbers of delayed events
-- KEYS[3] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV    none
--
-- Reply: 1 deleted, 0 there were none
--
-- Example:
--   redis-cli --eval lua/reset.lua 'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:delayed:demo' relay:due
--
-- Code generated from lua/src/reset.lua by go generate ./lua; DO NOT EDIT.

local level, delayed, due = KEYS[1], KEYS[2], KEYS[3]
local call = redis.call

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end

for _, set in ipairs({ delayed, due }) do call('ZCARD', set) end -- a wrong type fails before any write
if call('ZCARD', delayed) > 0 then look_now('promote', delayed) end
return call('DEL', level)
