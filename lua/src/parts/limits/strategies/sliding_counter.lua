-- part limits/strategies/sliding_counter: the sliding counter, an aligned window and the units of the one before it.
-- Of these, the share counts that is still inside the rolling window, rounded up. The key is a hash: "<per>:at" =
-- start of the window, "<per>:n" = units in it, "<per>:p" = units of the window before.
strategies['sliding-counter'] = strategy_of_numbers({
  load = function(level, window)
    local per = window.per
    local start = floor(now / per) * per
    if level.back > 0 and window.at > start then window.at = start end
    if window.at < start then
      window.p = window.at == start - per and window.n or 0
      window.at, window.n = start, 0
    end
  end,
  used = function(window)
    local rest = window.per - max(0, now - window.at)
    local share = floor(window.p * rest / window.per)
    if share * window.per < window.p * rest then share = share + 1 end
    return share + window.n
  end,
  spend = function(_, window, units) window.n = window.n + units end,
  fits_at = function(level, w, window, units)
    local limit, per = level.spec[w], window.per
    local room = limit - units - window.n
    if room >= 0 then return window.at + per - floor(room * per / window.p) end
    return window.at + 2 * per - floor((limit - units) * per / window.n)
  end,
  refund = function(_, window, which, refunded)
    local start = window.state[window.name .. ':at'] or 0
    local in_window = which == 'n' and refunded.at >= start and refunded.at < start + window.per
    local in_last = which == 'p' and refunded.at >= start - window.per and refunded.at < start
    if in_window or in_last then return max(0, refunded.value - refunded.units) end
  end,
  counted_windows = 2,
})
