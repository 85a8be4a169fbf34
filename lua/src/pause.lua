-- pause.lua: pause a channel for an operator, or end its pause.
--
-- KEYS[1] pause    (w)  hash: until (microseconds), reason; edits (microseconds): until then nothing is edited
--
-- ARGV[1] wait     duration in microseconds; 0 = end the pause, whatever its reason
-- ARGV[2] reason   why
--
-- Reply: 1
--
-- Example:
--   redis-cli --eval lua/pause.lua 'relay:{demo}:pause:demo' , 3600000000 maintenance

--- @include parts/pause
call('HSET', pause, 'edits', paused_until)
return 1
