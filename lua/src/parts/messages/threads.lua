-- part messages/threads: a message that answers another one in its thread.

-- link_thread notes the message that the event answers. A resolve ends the alert there.
local function link_thread(number, event)
  local thread, is_resolve = event.thread, event.status == 'resolved'
  if not thread then return end
  if is_resolve then archive.editor().end_alert(thread, load_message(thread), event.fingerprint) end
  if not is_resolve or options.resolves == 'reply' then archive.editor().enter(number .. ':thread', thread) end
end
