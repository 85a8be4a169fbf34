-- part limits/log_fits: when units fit into a log.

-- log_fits_at is when units fit into a window of a log. Units that lie too far ahead of now are moved to now.
local function log_fits_at(level, w, units, reserved)
  local at = log_score(level, level.spec[w] - units - reserved)
  if at > now + max_step then
    stepped = max(stepped, tonumber(call('ZREVRANGE', level.key, 0, 0, 'WITHSCORES')[2]) - now)
    level.read_rank, at = false, now
    --- @include parts/limits/log_step
  end
  return at + level.spec[w + 1]
end
