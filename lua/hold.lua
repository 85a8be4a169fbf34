-- hold.lua: stop a channel's sending for a time, or let it go on, because somebody asked for it.
--
-- KEYS[1] pause    hash: until (microseconds), reason; edits (microseconds): until then nothing is edited
--
-- ARGV[1] wait     for how long, microseconds; 0 = it goes on, whatever it waited for
-- ARGV[2] reason   why
--
-- Reply: 1
--
-- By hand:
--   redis-cli --eval lua/hold.lua 'relay:{demo}:pause:demo' , 3600000000 maintenance

local pause, wait, reason = KEYS[1], tonumber(ARGV[1]), ARGV[2]

if not wait or wait < 0 or not reason then
  return redis.error_reply('ARG a wait of 0 or more and a reason are needed')
end
if wait == 0 then
  redis.call('DEL', pause)
  return 1
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local till = string.format('%.0f', now + wait)
redis.call('HSET', pause, 'until', till, 'reason', reason, 'edits', till)
redis.call('PEXPIRE', pause, string.format('%.0f', math.ceil(wait / 1000) + 1000))
return 1
