-- part claim/arguments: the keys and arguments of a claim.
local lease, pause, pace, outbox, entries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local extras, digest, due = KEYS[6], KEYS[7], KEYS[8]
local owner = ARGV[1]
local EMPTY, CLAIMED, LEASED, PAUSED, PACED, STALE = 0, 1, 2, 3, 4, 5
local DIGEST_DUE, POST_READY, EDIT_READY, UNKNOWN = 6, 7, 8, 9
local call, ceil, max, min = redis.call, math.ceil, math.max, math.min

local given = {}
for i = 2, 13 do
  given[i] = tonumber(ARGV[i])
  if not given[i] or given[i] < 0 then
    return redis.error_reply('ARG argument ' .. i .. ' must be a number of 0 or more')
  end
end
local lease_us, pace_us, burst, ttl, lookup_delay = given[2], given[3], given[4], given[5], given[6]
local interval, every, minimum, look = given[7], given[8], given[9], given[10] == 1
local this_call, lost_from, lost_to = given[11], given[12], given[13]
if lease_us == 0 or burst < 1 then return redis.error_reply('ARG lease above 0 and burst of 1 or more are needed') end
