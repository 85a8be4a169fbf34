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

local level, delayed, due = KEYS[1], KEYS[2], KEYS[3]
local call = redis.call

--- @include parts/int
--- @include parts/clock
--- @include parts/due/work
--- @include parts/due/now

for _, set in ipairs({ delayed, due }) do call('ZCARD', set) end -- a wrong type fails before any write
if call('ZCARD', delayed) > 0 then look_now('promote', delayed) end
return call('DEL', level)
