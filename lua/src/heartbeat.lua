-- heartbeat.lua: note that a replica is alive and which windows it counts in, and return how many replicas are alive,
-- which windows the others count in, and whether this server still has the data it had.
--
-- KEYS[1] alive    (rw) sorted set of replicas, score = when each sent its last heartbeat
-- KEYS[2] epoch    (rw) string: a random text, written once; where it changed, the data was lost
-- KEYS[3] levels   (rw) hash: replica = digest of the windows of its levels; of those alive that sent one
-- KEYS[4] texts    (rw) hash: digest = these windows, as ratelimit/peers_text.go writes them; of the digests in levels
--
-- ARGV[1] replica  unique to one process; "" = only read
-- ARGV[2] how long a replica counts as alive after its last heartbeat, microseconds
-- ARGV[3] the epoch to write where there is none
-- ARGV[4] 1 = this replica ends: forget it
-- ARGV[5] the digest of the replica's windows; "" = it sends none
-- ARGV[6] their text; "" = it was sent before
-- ARGV[7..] the digests whose texts the replica has
--
-- Reply: [now, replicas alive, epoch, missing, others]
--   missing  1 = the text of ARGV[5] is not here: the windows were not stored, and the replica sends the text again
--   others   flat, for each digest of another replica that is alive: digest, text; "" where the replica has it
--
-- By hand:
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

call('ZCARD', alive) -- another type fails here, and not half-way
call('GET', epoch)
call('HLEN', levels)
call('HLEN', texts)
-- First what a server without memory refuses: once a script has written, it may continue, and would hide that.
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
