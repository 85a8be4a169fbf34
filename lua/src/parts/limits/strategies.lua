-- part limits/strategies: the strategies other than the sliding log. load reads a level and sets level.used for each
-- window; fits_at is when units that are too many fit if nobody else commits; spend adds units in this batch's view
-- of the level; store writes what was spent; refund gives units back. Made only where a level uses one.

-- read_numbers returns the numbers that a hash holds.
local function read_numbers(key)
  local flat, state = call('HGETALL', key), {}
  for i = 1, #flat, 2 do state[flat[i]] = tonumber(flat[i + 1]) end
  return state
end

-- read_hash returns what a hash holds. Where the clock went back since it was last written, its times are in the
-- future: level.back is by how much.
local function read_hash(level)
  local state = read_numbers(level.key)
  level.since, level.last, level.back = state.since or now, state.last or 0, 0
  if level.last - now > max_step then
    level.back, level.is_moved = level.last - now, true
    stepped, level.since, level.last = max(stepped, level.back), min(level.since, now), now
  end
  return state
end

--- @include parts/limits/numbers
--- @include parts/limits/window
--- @include parts/limits/counter
--- @include parts/limits/gcra
--- @include parts/limits/buckets
--- @include parts/limits/backlog
