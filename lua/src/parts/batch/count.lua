-- part batch/count: count the outcome.
if outcome == ADMITTED then
  route.admitted = route.admitted + 1
elseif outcome == DROPPED or outcome == NEVER or outcome >= SUPPRESSED then -- or FULL
  route.dropped = route.dropped + 1
elseif outcome == MERGED then
  merged_total = merged_total + 1
elseif outcome == DELAYED then
  delayed_total = delayed_total + 1
end
