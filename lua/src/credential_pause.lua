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

--- @include parts/pause

set_pause()
return 1
