-- instance_remove.lua: remove a channel of a template from the list, if it was not used for a time. Its other keys
-- stay.
--
-- KEYS[1] all      (w)  hash: channel = "<template>\n<value>"
-- KEYS[2] used     (rw) sorted set of these channels, score = their last use
-- KEYS[3] counts   (rw) hash: template = how many channels it made; revision = see instances.lua
--
-- ARGV[1] channel  its name
-- ARGV[2] idle     how long, microseconds
--
-- Reply: [1] removed, [0] it was used meanwhile, or there is none
--
-- Example:
--   redis-cli --eval lua/instance_remove.lua 'relay:{instances}:all' 'relay:{instances}:used' \
--     'relay:{instances}:counts' , \
--     team-a 604800000000
--
-- Code generated from lua/src/instance_remove.lua by go generate ./lua; DO NOT EDIT.

local all, used, counts = KEYS[1], KEYS[2], KEYS[3]
local channel, idle = ARGV[1], tonumber(ARGV[2])
local call = redis.call

if not channel or channel == '' or not idle or idle < 0 then
  return redis.error_reply('ARG a channel and a time of 0 or more are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part revision: the revision of the channels that templates made. It rises with each change, also after data was lost.
local function raise_revision()
  local before = tonumber(call('HGET', counts, 'revision') or 0)
  call('HSET', counts, 'revision', int(math.max(now, before + 1)))
end

local used_at = tonumber(call('ZSCORE', used, channel))
local made = call('HGET', all, channel)
call('HLEN', counts) -- a wrong type fails before any write
if not made or used_at and used_at > now - idle then return { 0 } end
local template = string.match(made, '^[^\n]*')
call('HDEL', all, channel)
call('ZREM', used, channel)
if call('HINCRBY', counts, template, '-1') <= 0 then call('HDEL', counts, template) end
raise_revision()
return { 1 }
