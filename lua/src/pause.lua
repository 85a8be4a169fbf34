-- pause.lua: stop a channel's sending for a time, or resume it, at an operator's request.
--
-- KEYS[1] pause    (w)  hash: until (microseconds), reason; edits (microseconds): until then nothing is edited
--
-- ARGV[1] wait     for how long, microseconds; 0 = resume, whatever the channel waited for
-- ARGV[2] reason   why
--
-- Reply: 1
--
-- By hand:
--   redis-cli --eval lua/pause.lua 'relay:{demo}:pause:demo' , 3600000000 maintenance

--- @include parts/pause
call('HSET', pause, 'edits', paused_until)
return 1
