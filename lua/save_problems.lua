-- save_problems.lua: change documents of a channel and add to its totals, or change nothing if a document has another
-- version than its change was made from.
--
-- A document is a field of the hash: "<version> <wake> <end> <data>". It is due at its wake time, if it has one, and it
-- is forgotten at its end. Where there is no room, documents without a wake time make room, those that end first.
--
-- KEYS[1] problems (rw) hash of documents; also "bytes", their size, and "version", the newest one
-- KEYS[2] problemnames (w)  sorted set of the names of the documents
-- KEYS[3] problemwakes (rw) sorted set of documents by their wake time
-- KEYS[4] problemends (rw) sorted set of the other documents by their end
-- KEYS[5] ledger   (w)  hash of totals of the channel
-- KEYS[6] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] how many documents there may be
-- ARGV[2] how many bytes they may have together
-- ARGV[3] how long after its wake time a document ends, microseconds
-- ARGV[4] by how much totals rise, JSON: {"received":-1,"delayed":-1}
-- then for each change: name; version, 0 = the document is new; data, '' = it is deleted; wake, microseconds since
--   1970, 0 = none; and how long after now it ends if it has no wake time, microseconds
--
-- Reply: 1 saved; 0 a document has another version; -1 there is no room. Only 1 writes.
--
-- Example:
--   redis-cli --eval lua/save_problems.lua 'relay:{demo}:problems:demo' 'relay:{demo}:problemnames:demo' \
--     'relay:{demo}:problemwakes:demo' 'relay:{demo}:problemends:demo' 'relay:{demo}:ledger:demo' relay:due , \
--     10000 67108864 604800000000 '{}' heartbeat/backup 0 '{"state":"ok"}' 0 86400000000
--
-- Code generated from lua/src/save_problems.lua by go generate ./lua; DO NOT EDIT.

local problems, names, wakes, ends, ledger, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local most, most_bytes, overdue = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local call, max, ceil = redis.call, math.max, math.ceil
local first, width = 5, 5

local decoded, totals = pcall(cjson.decode, ARGV[4] or '')
if not most or most < 1 or not most_bytes or most_bytes < 1 or not overdue or overdue < 1 or not decoded then
  return redis.error_reply('ARG two bounds, a time and JSON are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part expire: keep a key for a time from now on. An expiry that is less than 10 s too early is not renewed.
local slack_ms = 10000

local function expire(key, ms)
  if call('PTTL', key) < ms - slack_ms then call('PEXPIRE', key, int(ms)) end
end
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
-- part problems/changes: read the changes, and write one.
local margin_ms = 60000 -- the keys outlive their documents by this

-- read_changes returns nothing if a document has another version, and a fault if an argument is not valid.
local function read_changes()
  local list, differs = {}, false
  for at = first, #ARGV, width do
    local change = {
      name = ARGV[at], version = tonumber(ARGV[at + 1]), data = ARGV[at + 2], wake = tonumber(ARGV[at + 3]),
      keep = tonumber(ARGV[at + 4]),
    }
    if not change.version or not change.wake or not change.keep or change.keep < 0 then
      return nil, 'ARG a change needs a name, a version, data, a wake time and how long to keep it'
    end
    local present = read_problem(change.name)
    differs = differs or tonumber(present and present.version or 0) ~= change.version
    change.is_new = not present
    change.bytes_before = #(call('HGET', problems, change.name) or '')
    change.ends_at = change.wake > 0 and change.wake + overdue or now + change.keep
    list[#list + 1] = change
  end
  if differs then return nil end
  return list
end

local function text_of(change, version)
  if change.data == '' then return '' end
  return int(version) .. ' ' .. int(change.wake) .. ' ' .. int(change.ends_at) .. ' ' .. change.data
end

local function remove_problem(name)
  local size = #(call('HGET', problems, name) or '')
  call('HINCRBY', problems, 'bytes', int(-size))
  call('HDEL', problems, name)
  for _, set in ipairs({ names, wakes, ends }) do call('ZREM', set, name) end
end

local function write_change(change, version)
  remove_problem(change.name)
  local text = text_of(change, version)
  if text ~= '' then
    call('HSET', problems, change.name, text)
    call('HINCRBY', problems, 'bytes', #text)
    call('ZADD', names, 0, change.name)
    if change.wake > 0 then
      call('ZADD', wakes, int(change.wake), change.name)
    else
      call('ZADD', ends, int(change.ends_at), change.name)
    end
  end
  local last_ms = max(0, ceil((change.ends_at - now) / 1000)) + margin_ms
  for _, key in ipairs({ problems, names, wakes, ends }) do expire(key, last_ms) end
end
-- part problems/room: which documents leave.
local at_once = 200 -- how many of each kind leave with one call

-- forgotten_problems returns documents that have ended.
local function forgotten_problems(changes)
  local changed, list = {}, {}
  for _, change in ipairs(changes) do changed[change.name] = true end
  for _, set in ipairs({ { ends, now }, { wakes, now - overdue } }) do
    for _, name in ipairs(call('ZRANGEBYSCORE', set[1], '-inf', int(set[2]), 'LIMIT', 0, at_once)) do
      if not changed[name] then list[#list + 1] = name end
    end
  end
  return list
end

-- make_room returns the documents that make room for the changes, or nothing if that is not enough. A change that needs
-- no more room than before always fits.
local function make_room(changes, leaving)
  local left, grows = {}, false
  local count, bytes = call('ZCARD', names), tonumber(call('HGET', problems, 'bytes') or 0)
  for _, change in ipairs(changes) do
    local size = #text_of(change, now)
    left[change.name] = true
    bytes = bytes + size - change.bytes_before
    grows = grows or size > change.bytes_before
    if change.bytes_before == 0 and size > 0 then count = count + 1 end
    if change.bytes_before > 0 and size == 0 then count = count - 1 end
  end
  local function leave(name)
    left[name] = true
    count = count - 1
    bytes = bytes - #(call('HGET', problems, name) or '')
  end
  for _, name in ipairs(leaving) do leave(name) end
  local list = {}
  for _, name in ipairs(call('ZRANGE', ends, 0, at_once - 1)) do
    if count <= most and bytes <= most_bytes then break end
    if not left[name] then
      leave(name)
      list[#list + 1] = name
    end
  end
  if grows and (count > most or bytes > most_bytes) then return nil end
  return list
end
-- part problems/wakes: the wake times of documents that have not ended, the earliest first: up to count, until the last.
local function wakes_until(last, count)
  local from = '(' .. int(now - overdue)
  return call('ZRANGEBYSCORE', wakes, from, last, 'WITHSCORES', 'LIMIT', 0, count)
end

-- first_wake returns when the next document wakes, or nothing.
local function first_wake() return tonumber(wakes_until('+inf', 1)[2]) end

for _, set in ipairs({ names, wakes, ends }) do call('ZCARD', set) end -- a wrong type fails before any write
call('HLEN', ledger)
local work = read_work('problem', problems)
local changes, fault = read_changes()
if fault then return redis.error_reply(fault) end
if not changes then return 0 end
local forgotten = forgotten_problems(changes)
local given_up = make_room(changes, forgotten)
if not given_up then return -1 end

for _, name in ipairs(forgotten) do remove_problem(name) end
for _, name in ipairs(given_up) do remove_problem(name) end
local version = max(now, tonumber(call('HGET', problems, 'version') or 0) + 1)
for _, change in ipairs(changes) do write_change(change, version) end
for name, n in pairs(totals) do call('HINCRBY', ledger, name, int(n)) end

if #changes > 0 then
  call('HSET', problems, 'version', int(version))
  look_at(work, first_wake())
end
return 1
