-- heartbeat.lua: a replica says that it lives and which windows it counts in, and learns how many live, which windows
-- the others count in, and whether this server still has the data it had.
--
-- KEYS[1] alive    sorted set of replicas, score = when each was last heard
-- KEYS[2] epoch    string: a random text, written once; where it changed, the data was lost
-- KEYS[3] levels   hash: replica = digest of the windows of its levels; of those alive that said so
-- KEYS[4] texts    hash: digest = these windows, as ratelimit/peers_text.go writes them; of the digests in levels
--
-- ARGV[1] replica  unique to one process; "" = only look
-- ARGV[2] how long a replica counts as alive after its last heartbeat, microseconds
-- ARGV[3] the epoch to write where there is none
-- ARGV[4] 1 = this replica ends: forget it
-- ARGV[5] the digest of the replica's windows; "" = it says nothing of them
-- ARGV[6] their text; "" = it was told before
-- ARGV[7..] the digests whose texts the replica has
--
-- Reply: [now, replicas alive, epoch, missing, others]
--   missing  1 = the text of ARGV[5] is not here: nothing of it was noted, and the replica tells it again
--   others   flat, for each digest of another replica that is alive: digest, text; "" where the replica has it
--
-- By hand:
--   redis-cli --eval lua/heartbeat.lua 'relay:{replicas}:alive' 'relay:{replicas}:epoch' 'relay:{replicas}:levels' \
--     'relay:{replicas}:texts' , '' 10000000 demo 0 '' ''

local alive, epoch, levels, texts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local replica, keep, digest, text = ARGV[1], tonumber(ARGV[2]), ARGV[5], ARGV[6]
local epoch_ms = 2592000000 -- 30 days after the last heartbeat

local function int(x) return string.format('%.0f', x) end

if not replica or not keep or keep <= 0 or not ARGV[3] or not text then
  return redis.error_reply('ARG a replica, a time above 0, an epoch, a digest and a text are needed')
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local keep_ms = int(math.ceil(keep / 1000))

redis.call('ZCARD', alive) -- another type fails here, and not half-way
redis.call('GET', epoch)
redis.call('HLEN', levels)
redis.call('HLEN', texts)
-- First what a server without memory refuses: once a script has written, it may go on, and would hide that.
redis.call('SET', epoch, ARGV[3], 'PX', epoch_ms, 'NX')
redis.call('ZREMRANGEBYSCORE', alive, '-inf', int(now - keep))
local missing = 0
if ARGV[4] == '1' then
  redis.call('ZREM', alive, replica)
elseif replica ~= '' then
  redis.call('ZADD', alive, int(now), replica)
  if digest == '' then
    redis.call('HDEL', levels, replica)
  elseif text ~= '' or redis.call('HEXISTS', texts, digest) == 1 then
    redis.call('HSET', levels, replica, digest)
    if text ~= '' then redis.call('HSET', texts, digest, text) end
  else
    missing = 1
  end
end

-- Of a replica that is gone, and of a text that nobody has any more, nothing is kept.
local said, used, count = redis.call('HGETALL', levels), {}, 0
for i = 1, #said, 2 do
  local by, its = said[i], said[i + 1]
  if not redis.call('ZSCORE', alive, by) then
    redis.call('HDEL', levels, by)
  else
    if used[its] == nil then count = count + 1 end
    used[its] = used[its] or by ~= replica
  end
end
if redis.call('HLEN', texts) > count then
  local all = redis.call('HGETALL', texts)
  for i = 1, #all, 2 do
    if used[all[i]] == nil then redis.call('HDEL', texts, all[i]) end
  end
end

local others, has = {}, {}
for i = 7, #ARGV do has[ARGV[i]] = true end
for its, another in pairs(used) do
  if another and digest ~= '' then
    others[#others + 1] = its
    others[#others + 1] = not has[its] and redis.call('HGET', texts, its) or ''
  end
end
redis.call('PEXPIRE', alive, keep_ms)
redis.call('PEXPIRE', levels, keep_ms)
redis.call('PEXPIRE', texts, keep_ms)
redis.call('PEXPIRE', epoch, epoch_ms)
return { now, redis.call('ZCARD', alive), redis.call('GET', epoch), missing, others }
