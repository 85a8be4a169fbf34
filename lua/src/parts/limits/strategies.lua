-- part limits/strategies: the strategies other than the sliding log. load reads a level and sets level.used for
-- each window; fits_at returns when units fit that do not fit now, if nothing else is admitted; spend adds units
-- for the rest of the batch; store writes them; refund refunds units. Made only if a level uses one.

-- read_numbers returns the numbers that a hash holds.
local function read_numbers(key)
  local flat, state = call('HGETALL', key), {}
  for i = 1, #flat, 2 do state[flat[i]] = tonumber(flat[i + 1]) end
  return state
end

-- read_hash returns the numbers of a level. If the clock went back since they were written, level.back is by how
-- much.
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
--- @include parts/limits/strategies/*
