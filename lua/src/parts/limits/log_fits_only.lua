-- part limits/log_fits_only: when units fit into a log. Nothing is written: units that lie ahead of now stay there.
local function log_fits_at(level, w, units, reserved)
  local at = log_score(level, level.spec[w] - units - reserved)
  if at > now + max_step then
    stepped = max(stepped, tonumber(call('ZREVRANGE', level.key, 0, 0, 'WITHSCORES')[2]) - now)
    level.read_rank, at = false, now
  end
  return at + level.spec[w + 1]
end
