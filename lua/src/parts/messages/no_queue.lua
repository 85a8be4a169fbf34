-- part messages/no_queue: no event begins to wait for a slot here.
local moved = {} -- what leaves the queue: number, category, has_left

-- without_firing returns the outcome of a resolve or an update of what was never posted; nil = it is posted by
-- force.
local function without_firing() return MODE ~= 'force' and SUPPRESSED or nil end

local function wait_behind_others() return nil end
