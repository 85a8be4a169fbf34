-- part messages/event_fields: the event that messages are asked about. All events use one table in turn, which has all
-- its fields from the beginning: a table that grows costs more than the rest of a decision.
local event = {}
if messages then
  event = {
    id = '', category = '', entry = '', bundle = '', status = '', fingerprint = '', severity = '', title = '',
    delayed = '', answers = '', number = false, thread = false, outcome = 0, refused = 0, retry_at = 0, window = 0,
  }
end
