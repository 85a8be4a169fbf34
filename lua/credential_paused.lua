-- credential_paused.lua: return how long a Slack credential stays paused, and why. Writes nothing.
--
-- KEYS[1] pause    (r)  hash: until (microseconds), reason
-- ARGV    none
--
-- Reply: [wait_us, reason]; 0 and "" = it is not paused
--
-- Example:
--   redis-cli --eval lua/credential_paused.lua 'relay:{ws:demo}:pause'
--
-- Code generated from lua/src/credential_paused.lua by go generate ./lua; DO NOT EDIT.

local pause = KEYS[1]
local call = redis.call

-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part credential: read how long a Slack credential stays paused, and why.
local function credential_pause()
  local paused_until = tonumber(call('HGET', pause, 'until') or 0)
  if paused_until <= now then return 0, '' end
  return paused_until - now, call('HGET', pause, 'reason') or ''
end

return { credential_pause() }
