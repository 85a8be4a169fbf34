-- append.lua: append an extra to an outbox, once.
--
-- KEYS[1] extras   (w)  sorted set of the numbers of extras, score = due time
-- KEYS[2] entries  (w)  hash of entries
-- KEYS[3] noted    (rw) sorted set of the ids of such extras, score = time
-- KEYS[4] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] id       of the extra; a second one with the same id changes nothing
-- ARGV[2] kind
-- ARGV[3] payload
-- ARGV[4] how long the id is remembered, microseconds
--
-- Reply: 1 appended, 0 appended before
--
-- Example:
--   redis-cli --eval lua/append.lua 'relay:{demo}:extras:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:noted:demo' relay:due , paused-1 notice '{"text":"channel demo is paused"}' 3600000000

local extras, entries, notice_ids, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, kind, payload, remember = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = redis.call

if not remember or remember <= 0 then return redis.error_reply('ARG an id, a kind, a payload and a time are needed') end

--- @include parts/int
--- @include parts/clock
--- @include parts/due/work
--- @include parts/due/now

if tonumber(call('ZSCORE', notice_ids, id) or 0) > now - remember then return 0 end
for _, set in ipairs({ extras, due }) do call('ZCARD', set) end -- a wrong type fails before any write
local number = int(call('HINCRBY', entries, 'seq', 1))
call('HSET', entries, number, int(now) .. ' ' .. kind .. ' ' .. payload)
call('ZADD', extras, int(now), number)
look_now('send', extras)
call('ZADD', notice_ids, int(now), id)
call('ZREMRANGEBYSCORE', notice_ids, '-inf', int(now - remember))
call('PEXPIRE', notice_ids, int(math.ceil(remember / 1000)))
return 1
