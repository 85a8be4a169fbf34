-- bury.lua: an entry can never reach Slack: move it to the dead letters and count it as failed.
--
-- Fenced: refused when another sender holds the lease. Repeating it is harmless.
--
-- KEYS[1] lease    hash: owner, until (microseconds)
-- KEYS[2] outbox   sorted set of entry numbers
-- KEYS[3] entries  hash of entries
-- KEYS[4] ledger   hash of totals
-- KEYS[5] dead     stream of dead letters: number, entry, reason, answer, attempts
-- KEYS[6] backlog  optional: a level of strategy backlog (stream or list), which the entry leaves
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
-- ARGV[3] reason   why, one of the notifier's reasons
-- ARGV[4] answer   the last thing Slack said
-- ARGV[5] keep     how many dead letters a channel keeps; the oldest go first
--
-- Reply: 1 done, 0 gone already, -1 the lease is another sender's (nothing written)
--
-- By hand:
--   redis-cli --eval lua/bury.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:ledger:demo' 'relay:{demo}:dead:demo' , me 1 channel_not_found channel_not_found 1000

local lease, outbox, entries, ledger, dead, backlog = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner, number, reason, answer, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

if not keep or keep < 1 then return redis.error_reply('ARG the number of dead letters to keep must be 1 or more') end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local held_by = redis.call('HGET', lease, 'owner')
if held_by and held_by ~= owner and tonumber(redis.call('HGET', lease, 'until')) > now then return -1 end

if redis.call('ZREM', outbox, number) == 0 then return 0 end
local entry = redis.call('HGET', entries, number) or ''
local attempts = redis.call('HGET', entries, number .. ':attempts') or '0'
redis.call('XADD', dead, 'MAXLEN', '=', keep, '*',
  'number', number, 'entry', entry, 'reason', reason, 'answer', answer, 'attempts', attempts)
redis.call('HDEL', entries, number, number .. ':attempts', number .. ':faults')
redis.call('HINCRBY', ledger, 'failed', 1)
if backlog then
  if redis.call('TYPE', backlog).ok == 'list' then
    redis.call('LREM', backlog, 1, number)
  else
    redis.call('XDEL', backlog, number .. '-1')
  end
end
return 1
