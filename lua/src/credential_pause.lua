-- credential_pause.lua: stop using a Slack credential for a time, on all channels that share it, or use it again.
--
-- KEYS[1] pause    (w)  hash: until (microseconds), reason
--
-- ARGV[1] wait     for how long, microseconds; 0 = end the pause
-- ARGV[2] reason   why
--
-- Reply: 1
--
-- By hand:
--   redis-cli --eval lua/credential_pause.lua 'relay:{ws:demo}:pause' , 3600000000 invalid_auth

--- @include parts/pause
return 1
