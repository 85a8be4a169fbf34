-- part pause: pause for a time, or end the pause.
local pause, wait, reason = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local call = redis.call

if not wait or wait < 0 or not reason then
  return redis.error_reply('ARG a wait of 0 or more and a reason are needed')
end

--- @include parts/int
--- @include parts/ms
--- @include parts/clock

-- set_pause returns the text of when the pause ends, or nil if there is none.
local function set_pause()
  if wait == 0 then
    call('DEL', pause)
    return nil
  end
  local paused_until = int(now + wait)
  call('HSET', pause, 'until', paused_until, 'reason', reason)
  call('PEXPIRE', pause, int(ms(wait)))
  return paused_until
end
