-- part limits/log_refund: remove an event's units from a log. Their members begin with the event's id, and their
-- score is the time of its admission, unless the clock has gone back since.
local function refund_log(level)
  local page = 1000
  local prefix, found, from = id .. ':', 0, 0
  local function sweep(members)
    for _, member in ipairs(members) do
      if string.sub(member, 1, #prefix) == prefix then found = found + call('ZREM', level.key, member) end
    end
  end
  if event_at > 0 then sweep(call('ZRANGEBYSCORE', level.key, int(event_at), int(event_at))) end
  while found == 0 do
    local members = call('ZRANGE', level.key, from, from + page - 1)
    if #members == 0 then break end
    sweep(members)
    from = from + page
  end
  return found
end
