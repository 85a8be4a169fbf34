-- part batch/check_types: read the keys that were not read yet, so that a wrong type fails before any write.
call('HLEN', series)
call('HLEN', minutes)
if last_number and #places > 0 then
  call('ZCARD', outbox)
  call('ZCARD', due)
end
if messages then messages.check_types() end
