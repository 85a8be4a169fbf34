-- part messages/decide: what the decisions of a batch call. The archive and the editor are asked only where it
-- matters.
local function open_editor() return open_archive().editor() end

-- attach asks for earlier messages only where they can matter. It returns whether they decide the event.
function messages.attach(event)
  local status, fingerprint = event.status, event.fingerprint
  local is_alone = fingerprint == '' or status == '' or status == 'firing' and not options.repeats
  if is_alone and event.bundle == '' and event.answers == '' and options.overflow ~= 'delay' then return false end
  open_editor().attach(event)
  return event.outcome ~= nil
end

-- close notes the lead of a group, and what was dropped.
function messages.close(event)
  if event.bundle ~= '' and not event.lead and not event.is_attached then open_editor().lead(event) end
  local outcome = event.outcome
  if outcome == DROPPED or outcome == NEVER or outcome >= SUPPRESSED then note_drop(event) end
end

-- check_types fails where a key that is to be written has another type.
function messages.check_types()
  check_kept()
  if #dropped > 0 and options.drops > 0 then call('XLEN', drops) end
  if next(digest_counts) then call('HLEN', digest) end
end

function messages.finish()
  if archive then archive.finish() end
end

function messages.store()
  store_kept()
  if #dropped > 0 and options.drops > 0 then
    --- @include parts/stream_bytes
    --- @include parts/drops
    record_drops(dropped, options.drops)
  end
  if next(digest_counts) then
    --- @include parts/digest_notes
    note_for_digest(digest_counts)
  end
end
