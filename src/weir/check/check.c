/* SPDX-License-Identifier: BSD-2-Clause */
/* weir check: says whether a file is right, and every mistake in it; prints what its keys are. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "conf/conf.h"
#include "conf/keys/schema.h"
#include "decap/abi_agent.h"
#include "dp/abi.h"
#include "engine/agent/agent_dp.h"
#include "weir/balancer/assemble.h"
#include "weir/check/host.h"
#include "weir/check/schema.h"
#include "weir/check/sizes.h"
#include "weir/command.h"
#include "weir/daemon.h"
#include "weir/instance.h"
#include "weir/show.h"
#include "weir/workers/workers.h"

/* What the configuration allows, the tables hold. */
_Static_assert(CONF_VIPS_MAX == (int)ABI_VIPS_USED, "VIPs");
_Static_assert(CONF_VIP_RANGES_MAX == (int)ABI_VIP_RANGES, "VIPs that are prefixes");
/* A list without `allow` has a prefix for each family; all of them twice while they change. */
_Static_assert(2 * (CONF_ACCESS_MAX + 2 * CONF_SERVICES_MAX) + CONF_VIP_RANGES_MAX +
			       CONF_BALANCERS_MAX <=
		       (int)ABI_PREFIXES,
	       "prefixes");
_Static_assert(CONF_BACKENDS_MAX <= (int)ABI_SERVERS_USED, "server ids");
_Static_assert(CONF_VIP_LISTENS_MAX == (int)ABI_VIP_LISTENS, "listens of a VIP");
_Static_assert(CONF_SERVICES_MAX == (int)ABI_SERVICES - 1, "services, less the one for none");
_Static_assert(CONF_BACKENDS_MAX == (int)ABI_BACKENDS - 1, "backends, less the one for none");
_Static_assert(CONF_SLOTS_MAX == (int)ABI_SLOTS, "slots");
_Static_assert(CONF_FLOWS_MIN == (int)ABI_FLOWS_MIN, "flows at least");
_Static_assert(CONF_FLOWS_MAX == (int)ABI_FLOWS_MAX, "flows at most");
_Static_assert(CONF_VIPS_MAX == (int)AGENT_VIPS, "VIPs of an agent");
_Static_assert((int)CONF_POLICY_QUIC_CID == (int)ABI_POLICY_QUIC_CID, "policies by number");
_Static_assert((int)CONF_CID_KATRAN == (int)ABI_CID_KATRAN, "connection ids by number");
_Static_assert(CONF_BALANCERS_MAX == (int)AGENT_BALANCERS, "balancers of an agent");
_Static_assert(CONF_BALANCERS_MAX == (int)AGENT_PEERS, "peers of an agent");
_Static_assert(CONF_NETNS_MAX == (int)AGENT_DP_SPACES_MAX, "network namespaces of an agent");
_Static_assert(CONF_PORTS_MAX == (int)AGENT_PORTS_GIVEN, "ports of an agent");

enum { NAMES_SHOWN = 8 };

/* What is said of a right file. */
struct remarks {
	struct err_list warnings, notes;
};

struct options {
	const char *path;
	bool json, agent, schema, keys, mdoc, host, help;
};

static const char usage[] =
	"usage: weir check [--agent] [--json] FILE\n"
	"       weir check --host [--json] [FILE]\n"
	"       weir check --keys[=mdoc] | --schema [--agent]\n"
	"\n"
	"Says whether a services file or an agent's file is right; \"-\" is standard input.\n"
	"Every mistake is listed as FILE:LINE:COLUMN: what is wrong, what was expected.\n"
	"\n"
	"  --agent        take it as an agent's file (else the key `agent` in it decides)\n"
	"  -j, --json     print the result as JSON\n"
	"  --host         instead: say what hinders native XDP on this host, at the file's\n"
	"                 interfaces or else all that are up, and the command that mends it\n"
	"  --keys[=mdoc]  print all keys with ranges and defaults, as text or as mdoc\n"
	"  --schema       print a JSON schema of what works now\n"
	"  --help         print this\n";

/* --- what a right file says --- */

static void print_pool(const struct conf_pool *pool)
{
	printf("pool %s: %s of %u slots, ", pool->name,
	       pool->hash == CONF_HASH_RING ? "ring" : "table", pool->table_size);
	if (pool->check.type == CONF_CHECK_NONE)
		printf("no check, ");
	else if (pool->check.port)
		printf("check %s/%u, ", conf_check_name(pool->check.type), pool->check.port);
	else
		printf("check %s, ", conf_check_name(pool->check.type));
	printf("%zu %s:", pool->backend_count, plural(pool->backend_count, "backend", "backends"));
	for (size_t i = 0; i < pool->backend_count && i < NAMES_SHOWN; i++) {
		const struct conf_backend *backend = &pool->backends[i];
		char address[ADDR_TEXT_MAX];

		printf("%s %s %s", i ? "," : "", backend->name,
		       addr_format(&backend->address, address));
		if (backend->state != CONF_STATE_ACTIVE)
			printf(" (%s)", show_admin(assemble_admin(backend->state)));
	}
	if (pool->backend_count > NAMES_SHOWN)
		printf(", and %zu more", pool->backend_count - NAMES_SHOWN);
	putchar('\n');
}

/* What is not as by default. */
static void print_settings(const struct conf_service *service)
{
	if (service->policy == CONF_POLICY_SOURCE_PREFIX)
		printf(", policy source-prefix (/%u, IPv6 /%u)", service->source_prefix4,
		       service->source_prefix6);
	else if (service->policy == CONF_POLICY_QUIC_CID)
		printf(", policy quic-cid (%s)",
		       service->quic.cid == CONF_CID_KATRAN ? "katran" : "quic-lb");
	else if (service->policy != CONF_POLICY_5TUPLE)
		printf(", policy %s", conf_policy_name(service->policy));
	if (service->lookup == CONF_LOOKUP_DUAL)
		printf(", lookup dual");
	if (service->second_chance)
		printf(", second chance");
	if (service->tcp_server_id)
		printf(", TCP server ids");
	if (service->rate_limit)
		printf(", %u %s a core and second", service->rate_limit,
		       plural(service->rate_limit, "packet", "packets"));
	if (service->allow_count)
		printf(", %zu %s allowed", service->allow_count,
		       plural(service->allow_count, "prefix", "prefixes"));
	if (service->deny_count)
		printf(", %zu denied", service->deny_count);
}

/* What becomes of a flow when its slot changes hands. */
static const char *says_of_flows(enum conf_tracking tracking)
{
	switch (tracking) {
	case CONF_TRACKING_ALWAYS:
		return "are all remembered, so that they stay when their slots change hands";
	case CONF_TRACKING_NONE:
		return "are not remembered: those whose slots change hands are cut";
	case CONF_TRACKING_TRANSITION: break;
	}
	return "are remembered while their slots change hands, so that they stay; else the slot "
	       "decides";
}

static void print_service(const struct conf_node *node, const struct conf_service *service)
{
	struct sizes sizes = sizes_of(node, service);
	char listen[CONF_LISTEN_TEXT_MAX];

	printf("service %s: to pool %s by %s, tracking %s", service->name, service->pool->name,
	       conf_forward_name(service->forward), show_tracking(service->tracking));
	print_settings(service);
	printf(", listens on");
	for (size_t i = 0; i < service->listen_count; i++)
		printf(" %s", conf_listen_format(&service->listens[i], listen));
	printf(" of");
	for (size_t i = 0; i < service->vip_count && i < NAMES_SHOWN; i++) {
		char address[ADDR_TEXT_MAX];

		printf("%s %s", i ? "," : "", prefix_format_short(&service->vips[i], address));
	}
	if (service->vip_count > NAMES_SHOWN)
		printf(", and %zu more", service->vip_count - NAMES_SHOWN);
	putchar('\n');
	printf("  flows of %s %s\n", service->name, says_of_flows(service->tracking));
	sizes_print(service, &sizes);
}

static void print_interfaces(const char *const *interfaces, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s%s", i ? ", " : "", interfaces[i]);
}

static void print_places(const char *kind, const char *path, const struct err_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		printf("%s: %s:%d:%d: %s\n", kind,
		       list->errors[i].file ? list->errors[i].file : path, list->errors[i].line,
		       list->errors[i].column, list->errors[i].text);
}

static void print_announcing(const struct conf *conf)
{
	const struct conf_bgp *bgp = &conf->bgp;
	char id[ADDR_TEXT_MAX];

	if (conf->announcing.via == CONF_VIA_KERNEL_ROUTE)
		printf("VIPs are announced in routing table %u\n", conf->announcing.table);
	else if (bgp->asn)
		printf("VIPs are announced by BGP, AS %u, router id %s, to %zu %s\n", bgp->asn,
		       addr_format(&bgp->router_id, id), bgp->peer_count,
		       plural(bgp->peer_count, "router", "routers"));
}

static void print_conf(const struct conf *conf, const char *path, const struct remarks *remarks)
{
	size_t warnings = remarks->warnings.count + remarks->warnings.dropped;

	printf("node %s: ", conf->node.name);
	print_interfaces(conf->node.interfaces, conf->node.interface_count);
	printf("; xdp %s, %u flows", link_xdp_name(daemon_xdp(conf->node.xdp)),
	       conf->node.flows.entries);
	if (conf->node.engine == CONF_ENGINE_AF_XDP)
		fputs(", workers (af_xdp)", stdout);
	if (conf->node.decap)
		printf(", tunnels from %zu %s taken off", conf->node.balancer_count,
		       plural(conf->node.balancer_count, "balancer", "balancers"));
	putchar('\n');
	print_announcing(conf);
	for (size_t i = 0; i < conf->pool_count; i++)
		print_pool(&conf->pools[i]);
	for (size_t i = 0; i < conf->service_count; i++)
		print_service(&conf->node, &conf->services[i]);
	print_places("note", path, &remarks->notes);
	print_places("warning", path, &remarks->warnings);
	printf("%s is right: %zu %s, %zu %s, %zu %s\n", path, conf->pool_count,
	       plural(conf->pool_count, "pool", "pools"), conf->service_count,
	       plural(conf->service_count, "service", "services"), warnings,
	       plural(warnings, "warning", "warnings"));
}

static void print_agent(const struct conf_agent *agent, const char *path)
{
	printf("agent %s: ", agent->name);
	print_interfaces(agent->interfaces, agent->interface_count);
	printf("; xdp %s, %zu %s, tunnels from", link_xdp_name(daemon_xdp(agent->xdp)),
	       agent->vip_count, plural(agent->vip_count, "VIP", "VIPs"));
	for (size_t i = 0; i < agent->balancer_count && i < NAMES_SHOWN; i++) {
		char text[ADDR_TEXT_MAX];

		printf("%s %s", i ? "," : "", prefix_format(&agent->balancers[i], text));
	}
	if (agent->balancer_count > NAMES_SHOWN)
		printf(", and %zu more", agent->balancer_count - NAMES_SHOWN);
	if (agent->peer_count)
		printf("; %zu %s", agent->peer_count, plural(agent->peer_count, "peer", "peers"));
	for (size_t i = 0; i < agent->netns_count; i++)
		printf("%s %s", i ? "," : "; sockets also in", agent->netns[i]);
	printf("; forward:");
	for (size_t i = 0; i < agent->forward_count; i++)
		printf("%s %s", i ? "," : "", conf_forward_name(agent->forward[i]));
	for (size_t i = 0; i < agent->port_count && i < NAMES_SHOWN; i++) {
		const struct conf_port *port = &agent->ports[i];
		char text[ADDR_TEXT_MAX], listen[CONF_LISTEN_TEXT_MAX];

		printf("%s %s %s to %u", i ? "," : "; ports:", addr_format(&port->vip, text),
		       conf_listen_format(&port->listen, listen), port->to);
	}
	if (agent->port_count > NAMES_SHOWN)
		printf(", and %zu more", agent->port_count - NAMES_SHOWN);
	printf("\n%s is right\n", path);
}

/* --- the same as JSON --- */

static json_t *places_json(const struct err_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array,
				      json_pack("{s:i, s:i, s:o}", "line", list->errors[i].line,
						"column", list->errors[i].column, "text",
						show_bytes(list->errors[i].text)));
	return array;
}

static json_t *pool_json(const struct conf_pool *pool)
{
	json_t *backends = json_array();
	json_t *object = json_pack("{s:s, s:s, s:i, s:s, s:o}", "name", pool->name, "hash",
				   pool->hash == CONF_HASH_RING ? "ring" : "maglev", "table_size",
				   (int)pool->table_size, "check",
				   conf_check_name(pool->check.type), "backends", backends);

	if (pool->check.port && pool->check.type != CONF_CHECK_NONE)
		json_object_set_new(object, "check_port", json_integer(pool->check.port));
	for (size_t i = 0; i < pool->backend_count; i++) {
		const struct conf_backend *backend = &pool->backends[i];
		char address[ADDR_TEXT_MAX];

		json_array_append_new(backends,
				      json_pack("{s:s, s:s, s:i, s:s}", "name", backend->name,
						"address", addr_format(&backend->address, address),
						"weight", (int)backend->weight, "state",
						show_admin(assemble_admin(backend->state))));
	}
	return object;
}

static json_t *service_json(const struct conf_node *node, const struct conf_service *service)
{
	struct sizes sizes = sizes_of(node, service);

	json_t *object = json_pack("{s:s, s:o, s:o, s:s, s:s, s:o}", "name", service->name, "vips",
				   show_vips(service->vips, service->vip_count), "listen",
				   show_listens(service), "pool", service->pool->name, "forward",
				   conf_forward_name(service->forward), "sizes",
				   sizes_json(&sizes));

	show_settings(object, service);
	return object;
}

static json_t *conf_json(const struct conf *conf, const struct remarks *remarks)
{
	json_t *pools = json_array(), *services = json_array();

	for (size_t i = 0; i < conf->pool_count; i++)
		json_array_append_new(pools, pool_json(&conf->pools[i]));
	for (size_t i = 0; i < conf->service_count; i++)
		json_array_append_new(services, service_json(&conf->node, &conf->services[i]));
	return json_pack("{s:b, s:[], s:i, s:{s:s, s:o, s:s, s:s}, s:o, s:o, s:o, s:o}", "ok", 1,
			 "errors", "dropped", 0, "node", "name", conf->node.name, "interfaces",
			 show_strings(conf->node.interfaces, conf->node.interface_count), "xdp",
			 link_xdp_name(daemon_xdp(conf->node.xdp)), "engine", workers_engine(conf),
			 "pools", pools, "services", services, "warnings",
			 places_json(&remarks->warnings), "notes", places_json(&remarks->notes));
}

static json_t *agent_json(const struct conf_agent *agent)
{
	return json_pack("{s:b, s:[], s:i, s:{s:s, s:o, s:o, s:o, s:o, s:o, s:o}, s:[]}", "ok", 1,
			 "errors", "dropped", 0, "agent", "name", agent->name, "interfaces",
			 show_strings(agent->interfaces, agent->interface_count), "vips",
			 show_vips(agent->vips, agent->vip_count), "peers",
			 show_prefixes(agent->peers, agent->peer_count), "netns",
			 show_strings(agent->netns, agent->netns_count), "forward",
			 show_forwards(agent->forward, agent->forward_count), "ports",
			 show_ports(agent->ports, agent->port_count), "warnings");
}

static int put_json(json_t *value)
{
	if (!value)
		return command_fail("check", "out of memory");
	/* Output that cannot be written is told by main. */
	json_dumpf(value, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(value);
	return EXIT_OK;
}

/* --- the command --- */

static int print_schema(enum conf_file file)
{
	return put_json(schema_json(file));
}

static int print_keys(bool mdoc)
{
	char *text = conf_keys_manual(mdoc);

	if (!text)
		return command_fail("check", "out of memory");
	fputs(text, stdout);
	free(text);
	return EXIT_OK;
}

static int report_errors(const struct options *options, const struct err_list *errors)
{
	if (options->json) {
		put_json(json_pack("{s:b, s:o, s:I}", "ok", 0, "errors", places_json(errors),
				   "dropped", (json_int_t)errors->dropped));
		return EXIT_NO;
	}
	command_print_errors("check", options->path, errors);
	return EXIT_NO;
}

/* --- the host --- */

static bool has_ip_tunnel(const struct conf *conf)
{
	for (size_t i = 0; i < conf->service_count; i++) {
		if (conf->services[i].forward == CONF_FORWARD_IPIP ||
		    conf->services[i].forward == CONF_FORWARD_GRE)
			return true;
	}
	return false;
}

static int check_host_of_node(const struct options *options, const struct conf *conf)
{
	char pins[INSTANCE_SEEN_MAX];
	struct instance instance;

	instance_init(&instance, "", conf->node.name);
	return check_host(&(struct check_host){.interfaces = conf->node.interfaces,
					       .count = conf->node.interface_count,
					       .pins = instance_see_pins(&instance, pins),
					       .generic = conf->node.xdp == CONF_XDP_GENERIC,
					       .by_ip = has_ip_tunnel(conf)},
			  options->json);
}

static int check_host_of_agent(const struct options *options, const struct conf_agent *conf)
{
	char pins[INSTANCE_SEEN_MAX];
	struct instance instance;

	instance_init(&instance, "agent-", conf->name);
	return check_host(&(struct check_host){.interfaces = conf->interfaces,
					       .count = conf->interface_count,
					       .pins = instance_see_pins(&instance, pins),
					       .generic = conf->xdp == CONF_XDP_GENERIC},
			  options->json);
}

/* --- a file --- */

static int check_conf(const struct options *options, const char *text, size_t length,
		      struct err_list *errors)
{
	struct remarks remarks = {0};
	struct conf *conf;
	int status = EXIT_OK;

	if (conf_parse_file(text, length, options->path, &conf, errors))
		return report_errors(options, errors);
	conf_warnings(conf, &remarks.warnings);
	conf_notes(conf, &remarks.notes);
	if (options->host)
		status = check_host_of_node(options, conf);
	else if (options->json)
		status = put_json(conf_json(conf, &remarks));
	else
		print_conf(conf, options->path, &remarks);
	err_list_fini(&remarks.warnings);
	err_list_fini(&remarks.notes);
	conf_free(conf);
	return status;
}

static int check_agent(const struct options *options, const char *text, size_t length,
		       struct err_list *errors)
{
	struct conf_agent *agent;
	int status = EXIT_OK;

	if (conf_agent_parse(text, length, &agent, errors))
		return report_errors(options, errors);
	if (options->host)
		status = check_host_of_agent(options, agent);
	else if (options->json)
		status = put_json(agent_json(agent));
	else
		print_agent(agent, options->path);
	conf_agent_free(agent);
	return status;
}

static int check_file(const struct options *options)
{
	struct err_list errors = {0};
	struct err err;
	size_t length;
	char *text;
	int status;

	if (conf_read(options->path, &text, &length, &err)) {
		err_list_add(&errors, 0, 0, "%s", err.text);
		status = report_errors(options, &errors);
	} else if (options->agent || conf_is_agent(text, length)) {
		status = check_agent(options, text, length, &errors);
	} else {
		status = check_conf(options, text, length, &errors);
	}
	err_list_fini(&errors);
	free(text);
	return status;
}

/* EXIT_OK and the options, or EXIT_USAGE. */
static int parse_options(int argc, char **argv, struct options *ret)
{
	static const struct option known[] = {
		{"agent", no_argument, NULL, 'a'},
		{"json", no_argument, NULL, 'j'},
		{"host", no_argument, NULL, 'H'},
		{"schema", no_argument, NULL, 's'},
		{"keys", optional_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = command_option(argc, argv, ":jh", known)) != -1) {
		switch (option) {
		case 'a': ret->agent = true; break;
		case 'j': ret->json = true; break;
		case 's': ret->schema = true; break;
		case 'H': ret->host = true; break;
		case 'k':
			ret->keys = true;
			ret->mdoc = optarg && strcmp(optarg, "mdoc") == 0;
			if (optarg && !ret->mdoc && strcmp(optarg, "text") != 0)
				return command_usage_error("check", "--keys is text or mdoc");
			break;
		case 'h': ret->help = true; break;
		default: return EXIT_USAGE;
		}
	}
	if (ret->help)
		return EXIT_OK;
	if (ret->schema || ret->keys)
		return optind == argc ? EXIT_OK
				      : command_usage_error("check", "no FILE is wanted here");
	if (ret->host && optind == argc)
		return EXIT_OK;
	if (argc - optind != 1)
		return command_usage_error("check", "one FILE is wanted");
	ret->path = argv[optind];
	return EXIT_OK;
}

int command_check(int argc, char **argv)
{
	struct options options = {0};

	if (parse_options(argc, argv, &options))
		return EXIT_USAGE;
	if (options.help) {
		fputs(usage, stdout);
		return EXIT_OK;
	}
	if (options.keys)
		return print_keys(options.mdoc);
	if (options.schema)
		return print_schema(options.agent ? CONF_FILE_AGENT : CONF_FILE_NODE);
	if (options.host && !options.path)
		return check_host(&(struct check_host){0}, options.json);
	return check_file(&options);
}
