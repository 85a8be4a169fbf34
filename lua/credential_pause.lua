-- credential_pause.lua: pause all channels that share a Slack credential, or end that pause.
--
-- KEYS[1] pause    (w)  hash: until (microseconds), reason
--
-- ARGV[1] wait     duration in microseconds; 0 = end the pause
-- ARGV[2] reason   why
--
-- Reply: 1
--
-- Example:
--   redis-cli --eval lua/credential_pause.lua 'relay:{ws:demo}:pause' , 3600000000 invalid_auth
--
-- Code generated from lua/src/credential_pause.lua by go generate ./lua; DO NOT EDIT.

-- part pause: pause for a time, or end the pause.
local pause, wait, reason = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local call = redis.call

if not wait or wait < 0 or not reason then
  return redis.error_reply('ARG a wait of 0 or more and a reason are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part ms: for how many milliseconds to keep a key that matters for so many microseconds: a second longer.
local function ms(us) return math.ceil(us / 1000) + 1000 end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

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

set_pause()
return 1
