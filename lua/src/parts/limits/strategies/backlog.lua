-- part limits/strategies/backlog: a stream or a list of the waiting messages. It admits while it holds fewer than
-- the limit. There are no refunds: it shrinks when an entry leaves the outbox. That time is unknown, so a full
-- backlog is checked again soon.
local retry_us = 100000

local function backlog(length, add)
  return {
    is_backlog = true,
    load = function(level) level.used[FIRST] = call(length, level.key) end,
    fits_at = function() return now + retry_us end,
    spend = function(level, units, number)
      level.members = level.members or {}
      for _ = 1, units do table.insert(level.members, number) end
      level.used[FIRST] = level.used[FIRST] + units
    end,
    store = function(level)
      for i, number in ipairs(level.members or {}) do add(level.key, number, i) end
    end,
    refund = function() return 1 end,
  }
end
strategies['backlog-stream'] = backlog('XLEN', function(key, number, i)
  call('XADD', key, number .. '-' .. i, 'at', int(now))
end)
strategies['backlog-list'] = backlog('LLEN', function(key, number) call('RPUSH', key, number) end)
