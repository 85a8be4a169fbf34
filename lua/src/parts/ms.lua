-- part ms: for how many milliseconds to keep a key that matters for so many microseconds: a second longer.
local function ms(us) return math.ceil(us / 1000) + 1000 end
