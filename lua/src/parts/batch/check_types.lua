-- part batch/check_types: a write fails on a key of another type, when others are done: what was not read yet is read
-- now, where it fails.
call('HLEN', series)
call('HLEN', minutes)
if last_number and #places > 0 then call('ZCARD', outbox) end
if messages then messages.check_types() end
