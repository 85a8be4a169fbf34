-- part batch/store_counts: write the counts.
local admitted_total, dropped_total = 0, 0
for i = 1, #routes do
  local route = routes[i]
  admitted_total, dropped_total = admitted_total + route.admitted, dropped_total + route.dropped
  if route.admitted > 0 then
    count_in_minute(route.category, 'admitted', route.admitted)
    count_in_hour(route.category, 'admitted', route.admitted)
  end
  if route.dropped > 0 then
    count_in_minute(route.category, 'dropped', route.dropped)
    count_in_hour(route.category, 'dropped', route.dropped)
  end
end
if admitted_total > 0 then call('HINCRBY', ledger, 'admitted', int(admitted_total)) end
if dropped_total > 0 then call('HINCRBY', ledger, 'dropped', int(dropped_total)) end
if duplicate_total > 0 then call('HINCRBY', ledger, 'duplicate', int(duplicate_total)) end
if merged_total > 0 then call('HINCRBY', ledger, 'merged', int(merged_total)) end
if delayed_total ~= 0 then call('HINCRBY', ledger, 'delayed', int(delayed_total)) end
