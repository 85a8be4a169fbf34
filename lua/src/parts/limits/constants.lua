-- part limits/constants: what the strategies have in common.
local FIRST = 4 -- where a level's windows begin in its spec, and a route's levels
local grace_ms = 60000 -- how long a level is kept after nothing in it counts any more
-- How long a level keeps what a longer window of another configuration needs, after its last use (24 h), and how
-- far units may lie ahead of now before they are moved to now (5 s).
local remember_us, max_step = 86400000000, 5000000
local max_args = 1000 -- unpack fails above some thousand
local stepped = 0 -- how far the clock went back, if units were moved
