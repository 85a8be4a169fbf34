-- part batch/received: count the event as received, and find out whether it is a duplicate.
totals.received = totals.received + 1
if admitted_ids and admitted_ids[id] or tonumber(call('ZSCORE', seen, id) or 0) > now - dedupe then
  outcome = DUPLICATE
end
