-- part batch/count: count the outcome.
if outcome == ADMITTED or outcome == IN_PLACE then
  admitted_by_route[place] = (admitted_by_route[place] or 0) + 1
elseif outcome == DUPLICATE or outcome == MERGED or outcome == DELAYED then
  local total = outcome == DUPLICATE and 'duplicate' or outcome == MERGED and 'merged' or 'delayed'
  totals[total] = (totals[total] or 0) + 1
else
  dropped_by_route[place] = (dropped_by_route[place] or 0) + 1
end
