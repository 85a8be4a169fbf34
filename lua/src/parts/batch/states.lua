-- part batch/states: add to the reply for each level how long it is closed, because of which window, and its
-- units.
local states, count = {}, 0
for i = 1, #levels do
  local level = levels[i]
  count = count + 2
  states[count - 1] = level.closed > now and level.closed - now or 0
  states[count] = (level.closed_by - FIRST) / 2
  for w = FIRST, #level.spec, 2 do
    count = count + 1
    states[count] = level.used and level.used[w] or -1
  end
end
local reply = { now, stepped, decisions, states }
