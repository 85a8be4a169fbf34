-- part messages/overflow: an event that levels refuse may wait, or be counted on a message.
function messages.overflow(event, route, refused)
  if options.overflow == 'drop' then return DROPPED end
  return open_editor().overflow(event, route, refused)
end
