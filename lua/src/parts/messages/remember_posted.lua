-- part messages/remember_posted: keep the message of an event that is posted.
function archive.remember(event)
  link_thread(event.number, event)
  archive.remember_new(event.number, event)
end
