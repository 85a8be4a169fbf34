-- list_problems.lua: return documents of a channel whose names have a prefix, in the order of their names. Writes
-- nothing.
--
-- KEYS[1] problems (r)  hash of documents (see save_problems.lua)
-- KEYS[2] problemnames (r)  sorted set of their names
--
-- ARGV[1] prefix   of the names
-- ARGV[2] after    the name to begin after; '' = the first
-- ARGV[3] how many to return at most
--
-- Reply: as of problems.lua; at most 256 KiB and one document. Without documents, there are no more.
--
-- Example:
--   redis-cli --eval lua/list_problems.lua 'relay:{demo}:problems:demo' 'relay:{demo}:problemnames:demo' , \
--     heartbeat/ '' 10
--
-- Code generated from lua/src/list_problems.lua by go generate ./lua; DO NOT EDIT.

local problems, names = KEYS[1], KEYS[2]
local prefix, after, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local call = redis.call

if not after or not most or most < 1 then
  return redis.error_reply('ARG a prefix, a name and a number of 1 or more are needed')
end

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

local max_bytes = 262144 -- a reply ends with the document that exceeds it
call('HLEN', problems) -- a wrong type is an error
local from = '[' .. prefix
if after >= prefix then from = '(' .. after end
local to = prefix == '' and '+' or '(' .. prefix .. '\255' -- no name has this byte
local page = 100
local found = 0
repeat
  local part = call('ZRANGE', names, from, to, 'BYLEX', 'LIMIT', 0, page)
  for _, name in ipairs(part) do
    local problem = read_problem(name)
    if problem then
      add_problem(problem)
      found = found + 1
      if found == most or bytes >= max_bytes then return reply end
    end
    from = '(' .. name
  end
until #part < page
return reply
