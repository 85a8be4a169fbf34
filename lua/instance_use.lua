-- instance_use.lua: note that a channel of a template is used now. If there is no channel of that name, it is made,
-- unless its template has made as many as it may.
--
-- KEYS[1] all      (rw) hash: channel = "<template>\n<value>"
-- KEYS[2] used     (w)  sorted set of these channels, score = their last use
-- KEYS[3] counts   (rw) hash: template = how many channels it made; revision = see instances.lua
--
-- ARGV[1] channel  its name
-- ARGV[2] template the name of the template
-- ARGV[3] value    the value of the label
-- ARGV[4] most     how many channels the template may make; 0 = any number
--
-- Reply: [text]: "<template>\n<value>" of the channel of that name, which another template may have made; "" = refused
--
-- Example:
--   redis-cli --eval lua/instance_use.lua 'relay:{instances}:all' 'relay:{instances}:used' \
--     'relay:{instances}:counts' , \
--     team-a 'team-{{team}}' a 200
--
-- Code generated from lua/src/instance_use.lua by go generate ./lua; DO NOT EDIT.

local all, used, counts = KEYS[1], KEYS[2], KEYS[3]
local channel, template, value, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = redis.call

if not channel or channel == '' or not template or not value or not most or most < 0 then
  return redis.error_reply('ARG a channel, a template, a value and a number of 0 or more are needed')
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

local made = call('HGET', all, channel)
local number = tonumber(call('HGET', counts, template) or 0)
call('ZCARD', used) -- a wrong type fails before any write
if not made then
  if most > 0 and number >= most then return { '' } end
  made = template .. '\n' .. value
  call('HSET', all, channel, made)
  call('HINCRBY', counts, template, '1')
  raise_revision()
end
if made == template .. '\n' .. value then call('ZADD', used, int(now), channel) end
return { made }
