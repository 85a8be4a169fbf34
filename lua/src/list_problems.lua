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

local problems, names = KEYS[1], KEYS[2]
local prefix, after, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local call = redis.call

if not after or not most or most < 1 then
  return redis.error_reply('ARG a prefix, a name and a number of 1 or more are needed')
end

--- @include parts/int
--- @include parts/clock
--- @include parts/problems/read
--- @include parts/problems/reply

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
