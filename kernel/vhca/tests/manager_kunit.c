// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the subnet manager: what it answers to the driver's datagrams, and whom it
 * does not answer at all.  The records are read at the offsets of IBTA volume 1, 15.2.5, and
 * not by the structures that they are written by.
 */
#include <linux/unaligned.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>

#include "device_kunit.h"

#define DATA			56	/* bytes before the record */
#define TRANSACTION		0x0123456789abcdefULL
#define NO_RECORDS		0x0300	/* IBTA 15.2.3 */

/* Where in a PathRecord. */
#define PATH_DGID		8
#define PATH_SGID		24
#define PATH_DLID		40
#define PATH_SLID		42
#define PATH_PKEY		50

/* Where in an MCMemberRecord. */
#define MEMBER_MGID		0
#define MEMBER_QKEY		32
#define MEMBER_MLID		36
#define MEMBER_PKEY		40

struct question {
	struct vhca_packet	packet;
	union {
		struct ib_sa_mad	mad;
		u8			bytes[VHCA_MAD_SIZE];
	};
};

/* A device with a port, without which there are no GIDs; it is the only one. */
static void manager_leave(void *device)
{
	struct vhca *v = device;

	vhca_fabric_leave(v);
}

static int manager_init(struct kunit *test)
{
	int err = vhca_kunit_init(test);

	if (err)
		return err;
	vhca_fabric_join(test->priv);
	return kunit_add_action_or_reset(test, manager_leave, test->priv);
}

static struct question *question(struct kunit *test, u8 method, u16 attribute)
{
	struct question *q = kunit_kzalloc(test, sizeof(*q), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, q);
	q->packet = (struct vhca_packet) {
		.shown_qpn	= VHCA_GSI_QPN,
		.target_qpn	= VHCA_GSI_QPN,
		.service	= MLX5_QP_ST_UD,
		.opcode		= MLX5_OPCODE_SEND,
		.total		= VHCA_MAD_SIZE,
		.len		= VHCA_MAD_SIZE,
		.qkey		= IB_QP1_QKEY,
		.payload	= q->bytes,
	};
	q->mad.mad_hdr = (struct ib_mad_hdr) {
		.base_version	= IB_MGMT_BASE_VERSION,
		.mgmt_class	= IB_MGMT_CLASS_SUBN_ADM,
		.class_version	= IB_SA_CLASS_VERSION,
		.method		= method,
		.tid		= cpu_to_be64(TRANSACTION),
		.attr_id	= cpu_to_be16(attribute),
	};
	return q;
}

static struct vhca_packet *ask(struct kunit *test, const struct question *q)
{
	struct vhca *v = test->priv;
	struct vhca_packet *answer;

	mutex_lock(&v->lock);
	answer = vhca_manager_answer(v, &q->packet);
	mutex_unlock(&v->lock);
	return answer;
}

/* The record of the answer, which must be one to this question with this status. */
static const u8 *answered(struct kunit *test, const struct question *q, u8 method, u16 status,
			  u8 *bytes)
{
	const struct ib_mad_hdr *header = (const void *)bytes;
	struct vhca_packet *answer = ask(test, q);
	struct vhca *v = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, answer);
	KUNIT_EXPECT_EQ(test, answer->len, VHCA_MAD_SIZE);
	KUNIT_EXPECT_TRUE(test, vhca_packet_is_management(answer));
	memcpy(bytes, answer->payload, VHCA_MAD_SIZE);
	mutex_lock(&v->lock);
	vhca_packet_put(v, answer);
	mutex_unlock(&v->lock);
	KUNIT_EXPECT_EQ(test, header->method, method);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(header->status), status);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(header->tid), TRANSACTION);
	KUNIT_EXPECT_EQ(test, header->attr_id, q->mad.mad_hdr.attr_id);
	return bytes + DATA;
}

static struct question *path(struct kunit *test)
{
	struct question *q = question(test, IB_MGMT_METHOD_GET, IB_SA_ATTR_PATH_REC);
	struct vhca *v = test->priv;
	__be64 gid[2];

	vhca_fabric_gid(v->index, gid);
	memcpy(q->bytes + DATA + PATH_DGID, gid, sizeof(gid));
	memcpy(q->bytes + DATA + PATH_SGID, gid, sizeof(gid));
	return q;
}

static void manager_path(struct kunit *test)
{
	struct question *q = path(test);
	struct vhca *v = test->priv;
	u8 bytes[VHCA_MAD_SIZE];
	const u8 *record;

	record = answered(test, q, IB_MGMT_METHOD_GET_RESP, 0, bytes);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(record + PATH_DLID), vhca_lid_of(v->index));
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(record + PATH_SLID), vhca_lid_of(v->index));
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(record + PATH_PKEY), 0xffff);
	/* Of which ports it is, is said again. */
	KUNIT_EXPECT_MEMEQ(test, record + PATH_DGID, q->bytes + DATA + PATH_DGID, 32);
}

/* There is no path to a port that is not there, nor from one. */
static void manager_path_to_nobody(struct kunit *test)
{
	static const unsigned int where[] = { PATH_DGID, PATH_SGID };
	u8 bytes[VHCA_MAD_SIZE];
	struct question *q;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(where); i++) {
		q = path(test);
		q->bytes[DATA + where[i] + 15] ^= 0x80;
		answered(test, q, IB_MGMT_METHOD_GET_RESP, NO_RECORDS, bytes);
	}
}

/* Who joins gets the group's address, and a Q_Key if it has brought none. */
static void manager_member(struct kunit *test)
{
	static const u8 gid[16] = { 0xff, 0x12, 0x40, 0x1b, [15] = 5 };
	struct question *q = question(test, IB_MGMT_METHOD_SET, IB_SA_ATTR_MC_MEMBER_REC);
	u8 bytes[VHCA_MAD_SIZE];
	const u8 *record;

	memcpy(q->bytes + DATA + MEMBER_MGID, gid, sizeof(gid));
	put_unaligned_be32(0x1234, q->bytes + DATA + MEMBER_QKEY);
	record = answered(test, q, IB_MGMT_METHOD_GET_RESP, 0, bytes);
	KUNIT_EXPECT_MEMEQ(test, record + MEMBER_MGID, gid, sizeof(gid));
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(record + MEMBER_QKEY), 0x0b1b);
	KUNIT_EXPECT_GE(test, get_unaligned_be16(record + MEMBER_MLID), 0xc000);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(record + MEMBER_PKEY), 0xffff);
	q->mad.sa_hdr.comp_mask = IB_SA_MCMEMBER_REC_QKEY;
	record = answered(test, q, IB_MGMT_METHOD_GET_RESP, 0, bytes);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(record + MEMBER_QKEY), 0x1234);
	q->mad.mad_hdr.method = IB_SA_METHOD_DELETE;
	record = answered(test, q, IB_SA_METHOD_DELETE_RESP, 0, bytes);
	KUNIT_EXPECT_MEMEQ(test, record + MEMBER_MGID, gid, sizeof(gid));
}

/* What it does not do it says, and to what is no question it says nothing. */
static void manager_unknown(struct kunit *test)
{
	static const struct {
		u8	method;
		u16	attribute;
		u8	response;
	} unknown[] = {
		{ IB_MGMT_METHOD_GET, IB_SA_ATTR_SERVICE_REC, IB_MGMT_METHOD_GET_RESP },
		{ IB_MGMT_METHOD_SET, IB_SA_ATTR_PATH_REC, IB_MGMT_METHOD_GET_RESP },
		{ IB_SA_METHOD_GET_TABLE, IB_SA_ATTR_PATH_REC, IB_SA_METHOD_GET_TABLE_RESP },
		{ IB_SA_METHOD_DELETE, IB_SA_ATTR_CLASS_PORTINFO, IB_SA_METHOD_DELETE_RESP },
	};
	u8 bytes[VHCA_MAD_SIZE];
	struct question *q;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		answered(test, question(test, unknown[i].method, unknown[i].attribute),
			 unknown[i].response, IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB,
			 bytes);
	q = question(test, IB_MGMT_METHOD_GET_RESP, IB_SA_ATTR_CLASS_PORTINFO);
	KUNIT_EXPECT_NULL(test, ask(test, q));
	q = question(test, IB_MGMT_METHOD_GET, IB_SA_ATTR_CLASS_PORTINFO);
	q->mad.mad_hdr.mgmt_class = IB_MGMT_CLASS_PERF_MGMT;
	KUNIT_EXPECT_NULL(test, ask(test, q));
	q = question(test, IB_MGMT_METHOD_GET, IB_SA_ATTR_CLASS_PORTINFO);
	q->mad.mad_hdr.class_version++;
	KUNIT_EXPECT_NULL(test, ask(test, q));
	q = question(test, IB_MGMT_METHOD_GET, IB_SA_ATTR_CLASS_PORTINFO);
	answered(test, q, IB_MGMT_METHOD_GET_RESP, 0, bytes);
}

/* Who is not shown as a management queue pair is no driver, and is not answered. */
static void manager_of_others(struct kunit *test)
{
	struct question *q = path(test);

	q->packet.shown_qpn = 0x4f;
	KUNIT_EXPECT_NULL(test, ask(test, q));
	q = path(test);
	q->packet.qkey = 0x11111111;
	KUNIT_EXPECT_NULL(test, ask(test, q));
	q = path(test);
	q->packet.len = VHCA_MAD_SIZE - 1;
	q->packet.total = VHCA_MAD_SIZE - 1;
	KUNIT_EXPECT_NULL(test, ask(test, q));
}

static struct kunit_case vhca_manager_cases[] = {
	KUNIT_CASE(manager_path),
	KUNIT_CASE(manager_path_to_nobody),
	KUNIT_CASE(manager_member),
	KUNIT_CASE(manager_unknown),
	KUNIT_CASE(manager_of_others),
	{}
};

static struct kunit_suite vhca_manager_suite = {
	.name		= "mlx5_vhca_manager",
	.init		= manager_init,
	.test_cases	= vhca_manager_cases,
};

kunit_test_suite(vhca_manager_suite);
