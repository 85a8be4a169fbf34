-- part batch/store_entries: write the entries, their places in the outbox, and the ids.
if last_number then
  local ids_page = 32 -- admissions between two removals of ids that are no longer remembered
  if messages then messages.finish() end
  if #places > 0 then
    call('ZADD', outbox, unpack(places))
    look_now('send', outbox)
  end
  for from = 1, #waiting, max_args do
    call('HSET', entries, unpack(waiting, from, min(from + max_args - 1, #waiting)))
  end
  if #remembered > 0 then call('ZADD', seen, unpack(remembered)) end
  if floor(last_number / ids_page) > floor(number_before / ids_page) then
    call('ZREMRANGEBYSCORE', seen, '-inf', ago(dedupe))
  end
  keep_us(seen, dedupe)
end
