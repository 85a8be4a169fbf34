-- part batch/decisions: the decisions, as the reply has them, and the event that messages are asked about.
local decisions = {}
local event = messages and messages.event
