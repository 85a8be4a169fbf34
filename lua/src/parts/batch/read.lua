-- part batch/read: read the plan, the time and the levels.
--- @include parts/plan
--- @include parts/clock
--- @include parts/outcomes
--- @include parts/int
--- @include parts/expire
--- @include parts/limits/constants
--- @include parts/levels
--- @include parts/ago

-- keep_us keeps a key for so many microseconds, and a grace.
local function keep_us(key, us) expire(key, ceil(us / 1000) + grace_ms) end

local now_text = int(now)
local fairness, messages -- nil unless the plan asks for them
