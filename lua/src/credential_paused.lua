-- credential_paused.lua: return how long a Slack credential stays paused, and why. Writes nothing.
--
-- KEYS[1] pause    (r)  hash: until (microseconds), reason
-- ARGV    none
--
-- Reply: [wait_us, reason]; 0 and "" = it is not paused
--
-- Example:
--   redis-cli --eval lua/credential_paused.lua 'relay:{ws:demo}:pause'

local pause = KEYS[1]
local call = redis.call

--- @include parts/clock
--- @include parts/credential

return { credential_pause() }
