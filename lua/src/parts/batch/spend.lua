-- part batch/spend: use the event's units at the levels of its route, except at shadow levels that would refuse
-- it. A message that was sent already is in no backlog.
local member = id .. ':' .. number .. ':' -- and the unit
local first_member = member .. '1'
for i = FIRST, #route do
  local level = levels[route[i]]
  local strategy = level.strategy
  if not level.is_shadow or floor(shadow / 2 ^ (i - FIRST)) % 2 == 0 then
    level.pending = level.pending + units
    if not strategy then
      local members, used = level.members or {}, level.used
      level.members = members
      members[#members + 1], members[#members + 2] = now_text, first_member
      for unit = 2, units do
        members[#members + 1], members[#members + 2] = now_text, member .. unit
      end
      for w = FIRST, #level.spec, 2 do used[w] = used[w] + units end
    elseif not (is_sent and strategy.is_backlog) then
      strategy.spend(level, units, number)
    end
  end
end
