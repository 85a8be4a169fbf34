-- part batch/store_counts: write the counts.
local admitted_total, dropped_total = 0, 0
for i = 1, #routes do
  local category, n_admitted, n_dropped = routes[i][CATEGORY], admitted_by_route[i], dropped_by_route[i]
  if n_admitted then
    admitted_total = admitted_total + n_admitted
    count_in_minute(category, 'admitted', n_admitted)
    count_in_hour(category, 'admitted', n_admitted)
  end
  if n_dropped then
    dropped_total = dropped_total + n_dropped
    count_in_minute(category, 'dropped', n_dropped)
    count_in_hour(category, 'dropped', n_dropped)
  end
end
if admitted_total > 0 then call('HINCRBY', ledger, 'admitted', int(admitted_total)) end
if dropped_total > 0 then call('HINCRBY', ledger, 'dropped', int(dropped_total)) end
if duplicate_total > 0 then call('HINCRBY', ledger, 'duplicate', int(duplicate_total)) end
if merged_total > 0 then call('HINCRBY', ledger, 'merged', int(merged_total)) end
if delayed_total ~= 0 then call('HINCRBY', ledger, 'delayed', int(delayed_total)) end
