-- ack.lua: an entry has reached Slack: delete it and count it as delivered.
--
-- Fenced: refused when another sender holds the lease. Repeating it is harmless: an entry that is gone
-- is not counted again.
--
-- KEYS[1] lease    hash: owner, until (microseconds)
-- KEYS[2] outbox   sorted set of entry numbers
-- KEYS[3] entries  hash of entries
-- KEYS[4] ledger   hash of totals
-- KEYS[5] backlog  optional: a level of strategy backlog (stream or list), which the entry leaves
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
--
-- Reply: 1 done, 0 gone already, -1 the lease is another sender's (nothing written)
--
-- By hand:
--   redis-cli --eval lua/ack.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' , me 1

local lease, outbox, entries, ledger, backlog = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number = ARGV[1], ARGV[2]

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local held_by = redis.call('HGET', lease, 'owner')
if held_by and held_by ~= owner and tonumber(redis.call('HGET', lease, 'until')) > now then return -1 end

if redis.call('ZREM', outbox, number) == 0 then return 0 end
redis.call('HDEL', entries, number, number .. ':attempts', number .. ':faults')
redis.call('HINCRBY', ledger, 'delivered', 1)
if backlog then
  if redis.call('TYPE', backlog).ok == 'list' then
    redis.call('LREM', backlog, 1, number)
  else
    redis.call('XDEL', backlog, number .. '-1')
  end
end
return 1
