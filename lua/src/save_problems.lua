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

local problems, names, wakes, ends, ledger, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local most, most_bytes, overdue = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local call, max, ceil = redis.call, math.max, math.ceil
local first, width = 5, 5

local decoded, totals = pcall(cjson.decode, ARGV[4] or '')
if not most or most < 1 or not most_bytes or most_bytes < 1 or not overdue or overdue < 1 or not decoded then
  return redis.error_reply('ARG two bounds, a time and JSON are needed')
end

--- @include parts/int
--- @include parts/clock
--- @include parts/expire
--- @include parts/due/work
--- @include parts/due/at
--- @include parts/problems/read
--- @include parts/problems/changes
--- @include parts/problems/room
--- @include parts/problems/wakes

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
