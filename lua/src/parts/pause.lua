-- part pause: pause for a time, or end the pause.
local pause, wait, reason = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local call = redis.call

if not wait or wait < 0 or not reason then
  return redis.error_reply('ARG a wait of 0 or more and a reason are needed')
end
if wait == 0 then
  call('DEL', pause)
  return 1
end

--- @include parts/int
--- @include parts/clock

local paused_until = int(now + wait)
call('HSET', pause, 'until', paused_until, 'reason', reason)
call('PEXPIRE', pause, int(math.ceil(wait / 1000) + 1000))
