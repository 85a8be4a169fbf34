-- heartbeat.lua: record that a replica is alive and which windows it uses, and return how many replicas are alive,
-- which windows the others use, and the epoch, which changes if this server has lost its data.
--
-- KEYS[1] alive    (rw) sorted set of replicas, score = when each sent its last heartbeat
-- KEYS[2] epoch    (rw) string: a random text, written once; if it changes, the data was lost
-- KEYS[3] levels   (rw) hash: live replica = digest of the windows of its levels
-- KEYS[4] texts    (rw) hash: digest = the text of these windows (ratelimit/replica/peers_text.go)
--
-- ARGV[1] replica  unique to one process; "" = only read
-- ARGV[2] how long a replica counts as alive after its last heartbeat, microseconds
-- ARGV[3] the epoch to write where there is none
-- ARGV[4] 1 = this replica shuts down: remove it
-- ARGV[5] the digest of the replica's windows; "" = it sends none
-- ARGV[6] their text; "" = it was sent before
-- ARGV[7..] the digests whose texts the replica has
--
-- Reply: [now, replicas alive, epoch, missing, others]
--   missing  1 = the text for ARGV[5] is missing: the windows were not stored, and the replica must send the text
--   others   flat, for each digest of another replica that is alive: digest, text; "" where the replica has it
--
-- Example:
--   redis-cli --eval lua/heartbeat.lua 'relay:{replicas}:alive' 'relay:{replicas}:epoch' 'relay:{replicas}:levels' \
--     'relay:{replicas}:texts' , '' 10000000 demo 0 '' ''

local alive, epoch, levels, texts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local replica, keep, new_epoch, is_ending = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local digest, text, first_known = ARGV[5], ARGV[6], 7
local epoch_ms = 2592000000 -- 30 days after the last heartbeat
local call = redis.call

if not replica or not keep or keep <= 0 or not new_epoch or not text then
  return redis.error_reply('ARG a replica, a time above 0, an epoch, a digest and a text are needed')
end

--- @include parts/int
--- @include parts/clock
--- @include parts/heartbeat/levels

call('ZCARD', alive) -- a wrong type fails before any write
call('GET', epoch)
call('HLEN', levels)
call('HLEN', texts)
-- The first write needs memory, so that a server without memory refuses the script before it has written anything.
call('SET', epoch, new_epoch, 'PX', epoch_ms, 'NX')
call('ZREMRANGEBYSCORE', alive, '-inf', int(now - keep))
local is_missing = false
if is_ending then
  call('ZREM', alive, replica)
elseif replica ~= '' then
  call('ZADD', alive, int(now), replica)
  is_missing = write_levels()
end
local by_others, count = digests_in_use()
delete_unused_texts(by_others, count)
local others = texts_of_others(by_others)

local keep_ms = int(math.ceil(keep / 1000))
for _, key in ipairs({ alive, levels, texts }) do call('PEXPIRE', key, keep_ms) end
call('PEXPIRE', epoch, epoch_ms)
return { now, call('ZCARD', alive), call('GET', epoch), is_missing and 1 or 0, others }
