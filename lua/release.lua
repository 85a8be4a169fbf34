-- release.lua: release the lease of a channel, so that another sender does not wait for its end.
--
-- KEYS[1] lease    (rw) hash: owner, until (microseconds)
-- KEYS[2] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] owner    the sender that releases it
--
-- Reply: 1 released, 0 the caller did not have it
--
-- Example:
--   redis-cli --eval lua/release.lua 'relay:{demo}:lease:demo' relay:due , me
--
-- Code generated from lua/src/release.lua by go generate ./lua; DO NOT EDIT.

local lease, due, owner = KEYS[1], KEYS[2], ARGV[1]
local call = redis.call

if call('HGET', lease, 'owner') ~= owner then return 0 end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end

call('ZCARD', due) -- a wrong type fails before any write
call('DEL', lease)
look_now('send', lease)
return 1
