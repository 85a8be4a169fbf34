-- part limits/strategies/fixed_window: the fixed window. The key is a hash: "<per>:at" = start of the window,
-- "<per>:n" = units in it, "<per>:f" = those at its start.
strategies['fixed-window'] = strategy_of_numbers({
  -- The grid continues at the end of the last window, so that a step of the clock makes no window shorter.
  load = function(level, window)
    local per, phase = window.per, window.is_own and level.option or -1
    if level.back > 0 then window.at = window.n > 0 and min(window.at, now) or 0 end -- an empty one begins anew
    local ends = window.at + per
    if ends > now and (window.n > 0 or phase >= 0) then return end
    if phase < 0 then
      window.at = now
    elseif ends + per > now then
      window.at = ends
    else
      window.at = floor((now + phase) / per) * per - phase
    end
    window.n, window.f = 0, 0
  end,
  used = function(window) return window.n end,
  spend = function(level, window, units)
    window.n = window.n + units
    if window.at == now and (not window.is_own or level.option < 0) then window.f = window.f + units end
  end,
  fits_at = function(_, _, window) return window.at + window.per end,
  -- A window keeps at least one unit at its start. Otherwise the remaining units could lie in two windows.
  refund = function(level, window, which, refunded)
    local start, at_start = window.state[window.name .. ':at'] or 0, window.state[window.name .. ':f']
    if which ~= 'n' or refunded.at < start or refunded.at >= start + window.per then return nil end
    local left = max(0, refunded.value - refunded.units)
    if not at_start or refunded.at ~= start then return left end
    at_start = max(0, at_start - refunded.units)
    if at_start == 0 and left > 0 then at_start, left = 1, left + 1 end
    call('HSET', level.key, window.name .. ':f', int(at_start))
    return left
  end,
})
