-- part batch/duplicate: find out whether an event is a duplicate.
if admitted_ids and admitted_ids[id] or tonumber(call('ZSCORE', seen, id) or 0) > now - dedupe then
  outcome = DUPLICATE
end
