// In front of warpgroup.hip: makes clusters of blocks, which share parts of k or copies of W.
#define WARPGROUP_CLUSTER __cluster_dims__(cfg::split_k * cfg::multicast, 1, 1)
