-- put.lua: put an entry that spends no slot into an outbox, once.
--
-- KEYS[1] extras   sorted set of the numbers of extras, score = when due
-- KEYS[2] entries  hash of entries
-- KEYS[3] noted    sorted set of ids, score = when
--
-- ARGV[1] id       a second entry of the same id changes nothing
-- ARGV[2] kind
-- ARGV[3] payload
-- ARGV[4] how long the id is remembered, microseconds
--
-- Reply: 1 put, 0 it was there before
--
-- By hand:
--   redis-cli --eval lua/put.lua 'relay:{demo}:extras:demo' 'relay:{demo}:entries:demo' 'relay:{demo}:noted:demo' , \
--     paused-1 notice '{"text":"channel demo is paused"}' 3600000000

local extras, entries, noted = KEYS[1], KEYS[2], KEYS[3]
local id, kind, payload, remember = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = redis.call

local function int(x) return string.format('%.0f', x) end

if not remember or remember <= 0 then return redis.error_reply('ARG an id, a kind, a payload and a time are needed') end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

if tonumber(call('ZSCORE', noted, id) or 0) > now - remember then return 0 end
call('ZCARD', extras) -- another type fails here, and not half-way
local number = int(call('HINCRBY', entries, 'seq', 1))
call('HSET', entries, number, int(now) .. ' ' .. kind .. ' ' .. payload)
call('ZADD', extras, int(now), number)
call('ZADD', noted, int(now), id)
call('ZREMRANGEBYSCORE', noted, '-inf', int(now - remember))
call('PEXPIRE', noted, int(math.ceil(remember / 1000)))
return 1
