-- probe.lua: call every command that the other scripts use, on keys of its own, and return the errors of those that are
-- refused. The keys are deleted again.
--
-- KEYS[1] zset     (rw) a sorted set
-- KEYS[2] hash     (rw) a hash
-- KEYS[3] string   (rw) a string
-- KEYS[4] stream   (rw) a stream
-- KEYS[5] list     (rw) a list
--
-- ARGV    none
--
-- Reply: [error, ...], the error of each refused command
--
-- Example:
--   redis-cli --eval lua/probe.lua 'relay:{probe}:zset' 'relay:{probe}:hash' 'relay:{probe}:string' \
--     'relay:{probe}:stream' 'relay:{probe}:list'
--
-- Code generated from lua/src/probe.lua by go generate ./lua; DO NOT EDIT.

local zset, hash, text, stream, list = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local refused = {}
local function call(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then refused[#refused + 1] = answer.err end
end

call('TIME')
call('INFO', 'memory')
call('ZADD', zset, '1', 'a')
call('ZCARD', zset)
call('ZCOUNT', zset, '0', '1')
call('ZRANGE', zset, '0', '0')
call('ZRANGEBYSCORE', zset, '0', '1')
call('ZREVRANGE', zset, '0', '0')
call('ZSCORE', zset, 'a')
call('ZREM', zset, 'a')
call('ZREMRANGEBYSCORE', zset, '0', '1')
call('ZREMRANGEBYRANK', zset, '0', '1')
call('HSET', hash, 'a', '1')
call('HSETNX', hash, 'a', '1')
call('HINCRBY', hash, 'a', '1')
call('HGET', hash, 'a')
call('HMGET', hash, 'a')
call('HGETALL', hash)
call('HEXISTS', hash, 'a')
call('HLEN', hash)
call('HDEL', hash, 'a')
call('SET', text, 'a')
call('GET', text)
call('PEXPIRE', text, '1000')
call('PTTL', text)
call('TYPE', text)
call('XADD', stream, '1-1', 'a', '1')
call('XLEN', stream)
call('XREVRANGE', stream, '+', '-', 'COUNT', '1')
call('XRANGE', stream, '-', '+', 'COUNT', '1')
call('XDEL', stream, '1-1')
call('RPUSH', list, 'a')
call('LLEN', list)
call('LREM', list, '1', 'a')
call('DEL', zset, hash, text, stream, list)
return refused
