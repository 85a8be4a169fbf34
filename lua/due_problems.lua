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
--
-- Code generated from lua/src/due_problems.lua by go generate ./lua; DO NOT EDIT.

local problems, wakes, due = KEYS[1], KEYS[2], KEYS[3]
local most, again, overdue = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local call = redis.call

if not most or most < 1 or not again or again < 1 or not overdue or overdue < 1 then
  return redis.error_reply('ARG a number and two times of 1 or more are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/at: note when to look at work again. Reading the index first fails if it has a wrong type.
local function read_work(work_kind, key)
  local work = { name = work_of(work_kind, key) }
  work.at = tonumber(call('ZSCORE', due, work.name))
  return work
end

-- look_at notes a time, or nil if there is no work.
local function look_at(work, at)
  if at == work.at then return end
  if at then call('ZADD', due, int(at), work.name) else call('ZREM', due, work.name) end
end
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
-- part problems/wakes: the wake times of documents that have not ended, the earliest first: up to count, until the last.
local function wakes_until(last, count)
  local from = '(' .. int(now - overdue)
  return call('ZRANGEBYSCORE', wakes, from, last, 'WITHSCORES', 'LIMIT', 0, count)
end

-- first_wake returns when the next document wakes, or nothing.
local function first_wake() return tonumber(wakes_until('+inf', 1)[2]) end

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
