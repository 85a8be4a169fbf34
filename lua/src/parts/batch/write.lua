-- part batch/write: write what was decided, and make the reply.
--- @include parts/batch/states

--- @include parts/batch/check_types

-- The first write needs memory: where there is none, it is refused, and nothing was written yet.
if MODE ~= 'promote' then call('HINCRBY', ledger, 'received', int((#ARGV - 1) / width)) end
if last_number then call('HSET', entries, 'seq', int(last_number)) end
--- @include parts/batch/store_levels
--- @include parts/batch/store_entries
if messages then messages.store() end
if fairness then fairness.store() end
--- @include parts/counts
for place, n in pairs(admitted_by_route) do
  totals.admitted = (totals.admitted or 0) + n
  count_category(routes[place][CATEGORY], 'admitted', n)
end
for place, n in pairs(dropped_by_route) do
  totals.dropped = (totals.dropped or 0) + n
  count_category(routes[place][CATEGORY], 'dropped', n)
end
for total, n in pairs(totals) do
  if n ~= 0 then call('HINCRBY', ledger, total, int(n)) end
end
