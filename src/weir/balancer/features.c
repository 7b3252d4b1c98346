/* SPDX-License-Identifier: BSD-2-Clause */
/* What a configuration needs of the packet path: the rest is left out of the program. */
#include "dp/abi.h"
#include "weir/balancer/balancer.h"
#include "weir/tables/access.h"

static uint32_t of_service(const struct conf_service *service)
{
	uint32_t features = 0;

	for (size_t i = 0; i < service->vip_count; i++) {
		if (!addr_is4(&service->vips[i].addr))
			features |= ABI_HAS_IPV6;
		if (!prefix_is_host(&service->vips[i]))
			features |= ABI_HAS_RANGES;
	}
	if (service->tracking != CONF_TRACKING_NONE)
		features |= ABI_HAS_TRACK;
	/* Of the MSS auto asks nothing here: the agent clamps what bounds the client. */
	if (service->rate_limit || access_is_limited(service) || service->tcp_server_id ||
	    service->policy != CONF_POLICY_5TUPLE || service->mss_clamp > CONF_MSS_OFF)
		features |= ABI_HAS_SPECIAL;
	/* The entries of datagrams in pieces stand in the flow table. */
	if (service->fragments == CONF_FRAGMENTS_PIN)
		features |= ABI_HAS_FRAGMENT | ABI_HAS_TRACK;
	if (service->second_chance)
		features |= ABI_HAS_SECOND;
	if (service->lookup == CONF_LOOKUP_DUAL)
		features |= ABI_HAS_DUAL;
	return features;
}

uint32_t balancer_features(const struct conf *conf)
{
	uint32_t features = conf->node.decap ? ABI_HAS_DECAP : 0;

	for (size_t i = 0; i < conf->service_count; i++)
		features |= of_service(&conf->services[i]);
	return features;
}
