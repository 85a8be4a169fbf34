-- part batch/count: count the outcome.
if outcome == ADMITTED or outcome == IN_PLACE then
  admitted_by_route[place] = (admitted_by_route[place] or 0) + 1
elseif outcome == DROPPED or outcome == NEVER or outcome >= SUPPRESSED then -- or FULL
  dropped_by_route[place] = (dropped_by_route[place] or 0) + 1
elseif outcome == MERGED then
  merged_total = merged_total + 1
elseif outcome == DELAYED then
  delayed_total = delayed_total + 1
end
