-- part limits/fit: when units fit into a level.

-- fit returns when units fit into a level (0 = now), whether they never can, and which window refuses longest.
-- reserved_in_first units of the first window are reserved for others. A level is read once.
local function fit(level, units, reserved_in_first)
  local spec, used, strategy, at, never, by = level.spec, level.used, level.strategy, 0, false, FIRST
  if not used then
    used = {}
    level.used = used
    if strategy then
      strategy.load(level)
    else
      for w = FIRST, #spec, 2 do
        local old
        used[w], old = count_log(level.key, spec[w + 1])
        if old < level.old then level.old = old end
      end
    end
  end
  for w = FIRST, #spec, 2 do
    local most, reserved = level.most and level.most(w) or spec[w], w == FIRST and reserved_in_first or 0
    if units > most then
      never, by = true, w
    elseif used[w] + units + reserved > most then
      local fits_at = strategy and strategy.fits_at or log_fits_at
      local fits = fits_at(level, w, units, reserved)
      if fits > at then
        at = fits
        if not never then by = w end
      end
      if units == 1 and used[w] >= most and not level.is_shadow then
        if reserved > 0 then fits = fits_at(level, w, 1, 0) end
        if fits > level.closed then level.closed, level.closed_by = fits, w end
      end
    end
  end
  return at, never, by
end
