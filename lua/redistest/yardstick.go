package redistest

// Yardstick is a script that benchmarks compare with: a plain throttle with two sorted sets, one call for each event.
//
// KEYS are the sets of the channel and the category. ARGV are their limits, and the window in microseconds. The reply is
// 1 if the event is admitted, and 0 if it is refused.
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
