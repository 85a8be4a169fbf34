-- part entry/backlog: remove the units of the entry from its level with the strategy backlog, a stream or a list.
local backlog_is_list = backlog and call('TYPE', backlog).ok == 'list'
if backlog and not backlog_is_list then call('XLEN', backlog) end

local function leave_backlog()
  if backlog_is_list then
    call('LREM', backlog, '0', number)
  elseif backlog then
    for _, unit in ipairs(call('XRANGE', backlog, number, number)) do call('XDEL', backlog, unit[1]) end
  end
end
