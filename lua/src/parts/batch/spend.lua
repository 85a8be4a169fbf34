-- part batch/spend: take the event's units at the levels of its route, but for the shadow levels that refuse it.
-- What was sent is in no backlog.
local member, spent = id .. ':' .. number .. ':', route.levels -- and the unit
for i = 1, #spent do
  local level = spent[i]
  local strategy = level.strategy
  if not level.is_shadow or floor(shadow / 2 ^ (i - 1)) % 2 == 0 then
    level.pending = level.pending + units
    if not strategy then
      local members, used = level.members or {}, level.used
      level.members = members
      for unit = 1, units do
        members[#members + 1], members[#members + 2] = now_text, member .. unit
      end
      for w = FIRST, #level.spec, 2 do used[w] = used[w] + units end
    elseif not (is_sent and strategy.is_backlog) then
      strategy.take(level, units, number)
    end
  end
end
