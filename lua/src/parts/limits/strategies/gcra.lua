-- part limits/strategies/gcra: the generic cell rate algorithm, and the gate, which is one without a burst. The key
-- is a hash: "<per>/<drain>:tat" = when all has drained. One unit drains in drain = per / limit.
local gcra = strategy_of_numbers({
  drain_of = function(level, w) return level.spec[w] == 0 and 0 or ceil(level.spec[w + 1] / level.spec[w]) end,
  -- A bucket whose limit changed holds the units that it held before, as many as it can.
  adopt = function(level, w, window)
    for field, tat in pairs(level.state) do
      local per, drain = string.match(field, '^(%d+)/?(%d*):tat$')
      local left = tat - level.back - now
      if per and tonumber(per) == window.per and left > 0 then
        drain = tonumber(drain) or window.drain
        local drains_in = drain > 0 and left * window.drain / drain or 0
        window.tat = max(window.tat, now + level.back + floor(min(drains_in, level.most(w) * window.drain)))
      end
    end
  end,
  load = function(level, window)
    if level.back > 0 then window.tat = window.tat - level.back end
  end,
  used = function(window)
    return window.tat > now and ceil((window.tat - now) / window.drain) or 0
  end,
  spend = function(_, window, units)
    if window.drain > 0 then window.tat = max(now, window.tat) + units * window.drain end
  end,
  fits_at = function(level, w, window, units) return window.tat + (units - level.most(w)) * window.drain end,
  -- Units that had time to drain since their admission are not refunded.
  refund = function(_, window, which, refunded)
    local drained_in = window.drain and refunded.units * window.drain
    if which == 'tat' and drained_in and now - refunded.at < drained_in and refunded.value > now then
      return max(now, refunded.value - drained_in)
    end
  end,
})
strategies['gcra'], strategies['gate'] = gcra, gcra
