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
--
-- Code generated from lua/src/heartbeat.lua by go generate ./lua; DO NOT EDIT.

local alive, epoch, levels, texts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local replica, keep, new_epoch, is_ending = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local digest, text, first_known = ARGV[5], ARGV[6], 7
local epoch_ms = 2592000000 -- 30 days after the last heartbeat
local call = redis.call

if not replica or not keep or keep <= 0 or not new_epoch or not text then
  return redis.error_reply('ARG a replica, a time above 0, an epoch, a digest and a text are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part heartbeat/levels: the windows that replicas use: a digest for each replica, and each text once.

-- write_levels stores the caller's windows, and returns whether their text is missing.
local function write_levels()
  if digest == '' then
    call('HDEL', levels, replica)
    return false
  end
  if text == '' and call('HEXISTS', texts, digest) == 0 then return true end
  call('HSET', levels, replica, digest)
  if text ~= '' then call('HSET', texts, digest, text) end
  return false
end

-- digests_in_use deletes replicas that are not alive. It returns by digest whether another replica uses it, and
-- how many digests there are.
local function digests_in_use()
  local flat, by_others, count = call('HGETALL', levels), {}, 0
  for i = 1, #flat, 2 do
    local name, its_digest = flat[i], flat[i + 1]
    if not call('ZSCORE', alive, name) then
      call('HDEL', levels, name)
    else
      if by_others[its_digest] == nil then count = count + 1 end
      by_others[its_digest] = by_others[its_digest] or name ~= replica
    end
  end
  return by_others, count
end

-- delete_unused_texts keeps only the texts of digests that are in use.
local function delete_unused_texts(by_others, count)
  if call('HLEN', texts) <= count then return end
  local flat = call('HGETALL', texts)
  for i = 1, #flat, 2 do
    if by_others[flat[i]] == nil then call('HDEL', texts, flat[i]) end
  end
end

-- texts_of_others lists the digests of other replicas, each with its text where the caller does not have it.
local function texts_of_others(by_others)
  local list, has = {}, {}
  for i = first_known, #ARGV do has[ARGV[i]] = true end
  for its_digest, is_another in pairs(by_others) do
    if is_another and digest ~= '' then
      list[#list + 1] = its_digest
      list[#list + 1] = not has[its_digest] and call('HGET', texts, its_digest) or ''
    end
  end
  return list
end

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
