-- part entry/remove: remove the entry, and count its result. An extra counts under "<kind>:<result>".
local function remove_entry(result)
  if call('ZREM', outbox, number) == 1 then
    call('HINCRBY', ledger, result, 1)
  else
    local kind = string.match(entry, '^%d+ (%S+) .*$')
    call('ZREM', extras, number)
    call('HINCRBY', ledger, (kind or 'unknown') .. ':' .. result, 1)
  end
  call('HDEL', entries, number, number .. ':attempts', number .. ':faults', number .. ':sent', number .. ':tried',
    number .. ':looked', number .. ':again', number .. ':thread', number .. ':name', number .. ':claim')
end
