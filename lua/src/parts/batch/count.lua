-- part batch/count: count the outcome.
local total = COUNTED_AS[outcome]
if total == 'admitted' then
  admitted_by_route[place] = (admitted_by_route[place] or 0) + 1
elseif total == 'dropped' then
  dropped_by_route[place] = (dropped_by_route[place] or 0) + 1
else
  totals[total] = (totals[total] or 0) + 1
end
