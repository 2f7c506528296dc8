// In front of narrow.hip: makes clusters of the blocks that share k.
#define WT_NARROW_CLUSTER __cluster_dims__(cfg::split_k, 1, 1)
