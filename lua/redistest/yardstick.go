package redistest

// Yardstick is what benchmarks compare with: the plain way to throttle by two sorted sets, one call an event.
//
// KEYS: the channel's set, the category's set. ARGV: their limits, and the window in microseconds. It answers 1
// for admitted, 0 for refused.
const Yardstick = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], 0, now - ARGV[3])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now, now)
redis.call('ZADD', KEYS[2], now, now)
return 1`
