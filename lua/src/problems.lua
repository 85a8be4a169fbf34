-- problems.lua: return documents of a channel by their names. Writes nothing.
--
-- KEYS[1] problems (r)  hash of documents (see save_problems.lua)
--
-- ARGV    names
--
-- Reply: [now, name, version, wake, data, ...]; numbers are text, times in microseconds. A document that does not exist
-- is left out.
--
-- Example:
--   redis-cli --eval lua/problems.lua 'relay:{demo}:problems:demo' , heartbeat/backup

local problems = KEYS[1]
local call = redis.call

--- @include parts/int
--- @include parts/clock
--- @include parts/problems/read
--- @include parts/problems/reply

for _, name in ipairs(ARGV) do
  local problem = read_problem(name)
  if problem then add_problem(problem) end
end
return reply
