-- pause.lua: pause a channel for an operator, or end its pause.
--
-- KEYS[1] pause    (w)  hash: until (microseconds), reason; edits (microseconds): until then nothing is edited
-- KEYS[2] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] wait     duration in microseconds; 0 = end the pause, whatever its reason
-- ARGV[2] reason   why
--
-- Reply: 1
--
-- Example:
--   redis-cli --eval lua/pause.lua 'relay:{demo}:pause:demo' relay:due , 3600000000 maintenance

--- @include parts/pause
local due = KEYS[2]

--- @include parts/due/work
--- @include parts/due/now

call('ZCARD', due) -- a wrong type fails before any write
local paused_until = set_pause()
if paused_until then call('HSET', pause, 'edits', paused_until) else look_now('send', pause) end
return 1
