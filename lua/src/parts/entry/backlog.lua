-- part entry/backlog: remove the entry from its level with the strategy backlog, a stream or a list.
local backlog_is_list = backlog and call('TYPE', backlog).ok == 'list'
if backlog and not backlog_is_list then call('XLEN', backlog) end

local function leave_backlog()
  if backlog_is_list then
    call('LREM', backlog, 1, number)
  elseif backlog then
    call('XDEL', backlog, number .. '-1')
  end
end
