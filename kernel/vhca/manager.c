// SPDX-License-Identifier: GPL-2.0
/*
 * The subnet manager: a node of the network of its own, with a LID and no port that a
 * driver sees.  Of its tasks there is subnet administration (IBTA volume 1, chapter 15), as
 * far as ib_sa's users ask: IPoIB and the connection manager find their way by it.
 *
 * It keeps no state.  All ports reach each other by one path, and every multicast group
 * that somebody joins is there already.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "vhca.h"

/* Status of a response: the upper byte is the class's own.  IBTA 15.2.3. */
#define VHCA_SA_NO_RECORDS	0x0300

/* In the selector of a size or a rate: exactly that. */
#define VHCA_SELECT_EXACTLY	(IB_SA_EQ << 6)

/* 4.096 us times two to this power, for whoever computes a timeout: 16 ms. */
#define VHCA_PACKET_LIFE_TIME	12

/* It leads in both directions, and there is no other. */
#define VHCA_PATH_REVERSIBLE	BIT(7)
#define VHCA_PATH_ONE		1

/* IPoIB's Q_Key, for whoever joins and brings none.  RFC 4391, section 4.2. */
#define VHCA_GROUP_QKEY		0x0b1b

/* All groups share the first LID that there is for such: their GIDs tell them apart. */
#define VHCA_GROUP_LID		0xc000

/* IBTA 15.2.5.16 */
struct vhca_path_record {
	__be64	service_id;
	__be64	dgid[2];
	__be64	sgid[2];
	__be16	dlid;
	__be16	slid;
	__be32	flow_hop;
	u8	traffic_class;
	u8	reversible_paths;
	__be16	pkey;
	__be16	qos_sl;
	u8	mtu;
	u8	rate;
	u8	packet_life_time;
	u8	preference;
	u8	reserved[6];
} __packed;

/* IBTA 15.2.5.17 */
struct vhca_member_record {
	__be64	mgid[2];
	__be64	port_gid[2];
	__be32	qkey;
	__be16	mlid;
	u8	mtu;
	u8	traffic_class;
	__be16	pkey;
	u8	rate;
	u8	packet_life_time;
	__be32	sl_flow_hop;
	u8	scope_state;
	u8	proxy[3];
} __packed;

static_assert(sizeof(struct vhca_path_record) == 64);
static_assert(sizeof(struct vhca_member_record) == 52);
static_assert(sizeof(struct ib_sa_mad) == VHCA_MAD_SIZE);

/* By a GID; false if there is no such port. */
static bool vhca_manager_lid(const void *gid, __be16 *lid)
{
	struct vhca_route route = { .global = true };
	unsigned int index;

	memcpy(route.gid, gid, sizeof(route.gid));
	if (!vhca_fabric_find(&route, &index))
		return false;
	*lid = cpu_to_be16(vhca_lid_of(index));
	return true;
}

static u16 vhca_manager_path(void *data)
{
	struct vhca_path_record *path = data;
	__be16 dlid, slid;

	if (!vhca_manager_lid(path->dgid, &dlid) || !vhca_manager_lid(path->sgid, &slid))
		return VHCA_SA_NO_RECORDS;
	path->dlid = dlid;
	path->slid = slid;
	/* Within the subnet: no hop, so no global route. */
	path->flow_hop = 0;
	path->reversible_paths = VHCA_PATH_REVERSIBLE | VHCA_PATH_ONE;
	path->pkey = cpu_to_be16(VHCA_FULL_PKEY);
	path->qos_sl = 0;
	path->mtu = VHCA_SELECT_EXACTLY | IB_MTU_4096;
	path->rate = VHCA_SELECT_EXACTLY | IB_RATE_10_GBPS;
	path->packet_life_time = VHCA_SELECT_EXACTLY | VHCA_PACKET_LIFE_TIME;
	path->preference = 0;
	return 0;
}

static u16 vhca_manager_member(void *data, ib_sa_comp_mask given)
{
	struct vhca_member_record *member = data;

	if (!(given & IB_SA_MCMEMBER_REC_QKEY))
		member->qkey = cpu_to_be32(VHCA_GROUP_QKEY);
	member->mlid = cpu_to_be16(VHCA_GROUP_LID);
	member->mtu = VHCA_SELECT_EXACTLY | IB_MTU_4096;
	member->pkey = cpu_to_be16(VHCA_FULL_PKEY);
	member->rate = VHCA_SELECT_EXACTLY | IB_RATE_10_GBPS;
	member->packet_life_time = VHCA_SELECT_EXACTLY | VHCA_PACKET_LIFE_TIME;
	return 0;
}

static u16 vhca_manager_class_port_info(void *data)
{
	struct ib_class_port_info *info = data;

	memset(info, 0, sizeof(*info));
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = IB_SA_CLASS_VERSION;
	ib_set_cpi_resp_time(info, VHCA_PACKET_LIFE_TIME);
	return 0;
}

/* Turns a request into its response; returns false if there is none to it. */
static bool vhca_manager_respond(struct ib_sa_mad *mad)
{
	struct ib_mad_hdr *header = &mad->mad_hdr;
	u16 status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	u16 attribute = be16_to_cpu(header->attr_id);
	u8 method = header->method;

	if (header->base_version != IB_MGMT_BASE_VERSION ||
	    header->mgmt_class != IB_MGMT_CLASS_SUBN_ADM ||
	    header->class_version != IB_SA_CLASS_VERSION ||
	    method & IB_MGMT_METHOD_RESP)
		return false;
	switch (attribute) {
	case IB_SA_ATTR_CLASS_PORTINFO:
		if (method == IB_MGMT_METHOD_GET)
			status = vhca_manager_class_port_info(mad->data);
		break;
	case IB_SA_ATTR_PATH_REC:
		if (method == IB_MGMT_METHOD_GET)
			status = vhca_manager_path(mad->data);
		break;
	case IB_SA_ATTR_MC_MEMBER_REC:
		if (method == IB_MGMT_METHOD_GET || method == IB_MGMT_METHOD_SET ||
		    method == IB_SA_METHOD_DELETE)
			status = vhca_manager_member(mad->data, mad->sa_hdr.comp_mask);
		break;
	}
	header->status = cpu_to_be16(status);
	/* A request to set is answered by GetResp, all others by their own with this bit. */
	header->method = method == IB_MGMT_METHOD_SET ? IB_MGMT_METHOD_GET_RESP :
							method | IB_MGMT_METHOD_RESP;
	return true;
}

/**
 * vhca_manager_answer - have the subnet manager answer a datagram that was sent to it
 * @v: the device that has sent it
 * @request: the datagram
 *
 * Only the driver's own management queue pairs are answered.
 *
 * Context: firmware thread, vhca.lock held
 * Return: a datagram for the device's own port, or NULL if there is no answer
 */
struct vhca_packet *vhca_manager_answer(struct vhca *v, const struct vhca_packet *request)
{
	struct vhca_packet *response;

	if (!vhca_packet_is_management(request))
		return NULL;
	response = vhca_packet_get(v, VHCA_MAD_SIZE);
	if (!response)
		return NULL;
	memcpy(response->payload, request->payload, VHCA_MAD_SIZE);
	if (!vhca_manager_respond(response->payload)) {
		vhca_packet_put(v, response);
		return NULL;
	}
	response->source = VHCA_MANAGER_INDEX;
	response->shown_qpn = VHCA_GSI_QPN;
	response->target_qpn = VHCA_GSI_QPN;
	response->service = MLX5_QP_ST_UD;
	response->opcode = MLX5_OPCODE_SEND;
	response->total = VHCA_MAD_SIZE;
	response->qkey = IB_QP1_QKEY;
	return response;
}
