-- heartbeat.lua: a replica says that it lives, and learns how many do, and whether this server still has the
-- data it had.
--
-- KEYS[1] alive    sorted set of replicas, score = when each was last heard
-- KEYS[2] epoch    string: a random text, written once; where it changed, the data was lost
--
-- ARGV[1] replica  unique to one process; "" = only look
-- ARGV[2] how long a replica counts as alive after its last heartbeat, microseconds
-- ARGV[3] the epoch to write where there is none
-- ARGV[4] 1 = this replica ends: forget it
--
-- Reply: [now, replicas alive, epoch]
--
-- By hand:
--   redis-cli --eval lua/heartbeat.lua 'relay:{replicas}:alive' 'relay:{replicas}:epoch' , '' 10000000 demo 0

local alive, epoch = KEYS[1], KEYS[2]
local replica, keep = ARGV[1], tonumber(ARGV[2])
local epoch_ms = 2592000000 -- 30 days after the last heartbeat

local function int(x) return string.format('%.0f', x) end

if not replica or not keep or keep <= 0 or not ARGV[3] then
  return redis.error_reply('ARG a replica, a time above 0 and an epoch are needed')
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

redis.call('ZCARD', alive) -- another type fails here, and not half-way
redis.call('GET', epoch)
-- First what a server without memory refuses: once a script has written, it may go on, and would hide that.
redis.call('SET', epoch, ARGV[3], 'PX', epoch_ms, 'NX')
redis.call('ZREMRANGEBYSCORE', alive, '-inf', int(now - keep))
if ARGV[4] == '1' then
  redis.call('ZREM', alive, replica)
elseif replica ~= '' then
  redis.call('ZADD', alive, int(now), replica)
end
redis.call('PEXPIRE', alive, int(math.ceil(keep / 1000)))
redis.call('PEXPIRE', epoch, epoch_ms)
return { now, redis.call('ZCARD', alive), redis.call('GET', epoch) }
