package lua

// meanings describe each fault and its remedy. Anybody may read them: they contain nothing that a server or a sender wrote.
var meanings = map[Fault]struct{ what, remedy string }{
	FaultUnreachable: {
		"Redis cannot be reached",
		"check that Redis is running, its address, and the network",
	},
	FaultTimeout: {
		"Redis does not answer in time",
		"check the load of Redis and the network; redis_timeout bounds a call",
	},
	FaultTLS: {
		"the TLS connection to Redis fails",
		"set SSL_CERT_FILE to the certificate of the authority, or use redis:// if Redis does not use TLS",
	},
	FaultPool: {
		"all connections to Redis are in use",
		"check how long Redis calls take, or raise pool_size in redis_url",
	},
	FaultAuth: {
		"Redis refuses the user or the password",
		"correct redis_username and redis_password, or those in redis_url",
	},
	FaultPermission: {
		"Redis does not allow this user a command or a key",
		"grant the user the rights in docs/redis.md",
	},
	FaultProtected: {
		"Redis refuses connections from other machines (protected mode)",
		"set a password in Redis, or bind it to an address",
	},
	FaultDatabase: {
		"Redis has no database with this number",
		"correct the number at the end of redis_url; a Cluster has only database 0",
	},
	FaultNoCluster: {
		"Redis is not a Cluster, but redis_cluster is set",
		"set redis_cluster to false, or list the nodes of a Cluster in redis_addrs",
	},
	FaultMoved: {
		"Redis is a Cluster and keeps the keys on another node",
		"set redis_cluster, and list nodes of the Cluster in redis_addrs",
	},
	FaultClusterDown: {
		"the Redis Cluster cannot serve all keys at the moment",
		"check its nodes with CLUSTER INFO",
	},
	FaultLoading: {
		"Redis is loading its data",
		"wait until it is loaded",
	},
	FaultMasterDown: {
		"Redis is a replica that lost its master",
		"check the master, or list the Sentinels in redis_addrs",
	},
	FaultReadOnly: {
		"Redis refuses writes: this server is a read-only replica",
		"set the master in redis_url, or list the Sentinels in redis_addrs",
	},
	FaultMemory: {
		"Redis refuses writes: out of memory (maxmemory)",
		"raise maxmemory, or delete other data",
	},
	FaultDisk: {
		"Redis refuses writes: it cannot save its data to disk",
		"check the disk and the log of Redis",
	},
	FaultReplicas: {
		"too few replicas of Redis confirm a write",
		"check the replicas of Redis, or lower redis_wait_replicas and min-replicas-to-write",
	},
	FaultBusy: {
		"Redis is busy with a script",
		"find the client that runs it; SCRIPT KILL ends it",
	},
	FaultClients: {
		"Redis has too many connections",
		"raise maxclients of Redis, or find the clients that hold them",
	},
	FaultWrongType: {
		"a key in Redis has another type than the relay expects",
		"find out which program wrote the key, and delete it",
	},
	FaultOther: {
		"Redis refuses the call",
		"read the answer of Redis in the log",
	},
}
