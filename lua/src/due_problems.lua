-- due_problems.lua: return the documents of a channel whose wake time has passed, earliest first. The channel is due
-- again a while later, so that one caller at a time looks, and another one if that caller dies.
--
-- KEYS[1] problems (r)  hash of documents (see save_problems.lua)
-- KEYS[2] problemwakes (r)  sorted set of their wake times
-- KEYS[3] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] how many to return at most
-- ARGV[2] after how long the channel is due again, microseconds
-- ARGV[3] how long after its wake time a document ends, microseconds
--
-- Reply: as of problems.lua; at most 256 KiB and one document
--
-- Example:
--   redis-cli --eval lua/due_problems.lua 'relay:{demo}:problems:demo' 'relay:{demo}:problemwakes:demo' relay:due , \
--     10 1000000 604800000000

local problems, wakes, due = KEYS[1], KEYS[2], KEYS[3]
local most, again, overdue = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local call = redis.call

if not most or most < 1 or not again or again < 1 or not overdue or overdue < 1 then
  return redis.error_reply('ARG a number and two times of 1 or more are needed')
end

--- @include parts/int
--- @include parts/clock
--- @include parts/due/work
--- @include parts/due/at
--- @include parts/problems/read
--- @include parts/problems/reply
--- @include parts/problems/wakes

local max_bytes = 262144 -- a reply ends with the document that exceeds it
call('HLEN', problems) -- a wrong type fails before any write
local work = read_work('problem', problems)
local found = wakes_until(int(now), int(most))
for i = 1, #found, 2 do
  local problem = read_problem(found[i])
  if problem then add_problem(problem) end
  if bytes >= max_bytes then break end
end
look_at(work, #found > 0 and now + again or first_wake())
return reply
