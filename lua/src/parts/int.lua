-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local function int(x) return string.format('%d', x) end
