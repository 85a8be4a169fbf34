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
--
-- Code generated from lua/src/pause.lua by go generate ./lua; DO NOT EDIT.

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
local due = KEYS[2]

-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end

call('ZCARD', due) -- a wrong type fails before any write
local paused_until = set_pause()
if paused_until then call('HSET', pause, 'edits', paused_until) else look_now('send', pause) end
return 1
