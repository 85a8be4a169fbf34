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
--
-- Code generated from lua/src/problems.lua by go generate ./lua; DO NOT EDIT.

local problems = KEYS[1]
local call = redis.call

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part problems/read: read a document, "<version> <wake> <end> <data>". What has ended is as good as absent:
-- save_problems.lua removes it.
local function read_problem(name)
  local text = call('HGET', problems, name)
  if not text then return nil end
  local version, wake, ends_at, data_at = string.match(text, '^(%d+) (%d+) (%d+) ()')
  if not version then return nil end -- of another program
  if tonumber(ends_at) <= now then return nil end
  return { name = name, version = version, wake = wake, data = string.sub(text, data_at) }
end
-- part problems/reply: a reply of documents.
local reply, bytes = { int(now) }, 0
local function add_problem(problem)
  for _, field in ipairs({ 'name', 'version', 'wake', 'data' }) do reply[#reply + 1] = problem[field] end
  bytes = bytes + #problem.data
end

for _, name in ipairs(ARGV) do
  local problem = read_problem(name)
  if problem then add_problem(problem) end
end
return reply
