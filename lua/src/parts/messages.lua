-- part messages: what a batch means for messages that are posted, or wait. All of it is read while events are
-- decided, and written at the end. The archive (what is kept of messages) and the editor (which changes them) are
-- made only if an event needs them.
--- @include parts/messages/batch
local function make_archive()
  --- @include parts/messages/records
  --- @include parts/messages/alerts
  --- @include parts/messages/remember
  local editor
  local function make_editor()
    --- @include parts/messages/numbers
    --- @include parts/messages/edits
    --- @include parts/messages/rewrites
    --- @include parts/messages/resolves
    --- @include parts/messages/groups
    --- @include parts/messages/count_on_last
    --- @include parts/messages/queue
    --- @include parts/messages/earlier
    --- @include parts/messages/attach
    --- @include parts/messages/delivered
    --- @include parts/messages/store_rewrites
    return editor
  end
  --- @include parts/messages/store
  return archive
end
--- @include parts/messages/kept
