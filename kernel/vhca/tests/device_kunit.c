// SPDX-License-Identifier: GPL-2.0
/*
 * A device for the KUnit suites, see device_kunit.h.
 */
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "device_kunit.h"

static void vhca_kunit_exit(void *device)
{
	struct vhca *v = device;

	vhca_ledger_forget(v);
	vhca_ledger_exit(v);
	vhca_caps_exit(v);
	vhca_recorder_exit(v);
	vhca_fabric_exit(v);
	mutex_destroy(&v->lock);
}

/**
 * vhca_kunit_init - make a device; the init function of most suites
 * @test: the test, whose priv becomes the device
 *
 * It is named kunit, by which its lines in the log are told from others.  It
 * has what the module's parameters give by default but for its device memory,
 * two MSI-X vectors that nobody listens to, and no command queue.
 *
 * Return: 0 or -ENOMEM
 */
int vhca_kunit_init(struct kunit *test)
{
	struct vhca *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, v);
	strscpy(v->name, "kunit");
	v->root = kunit_kzalloc(test, sizeof(*v->root), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, v->root);
	v->root->nr_functions = 1;
	v->root->functions[0] = v;
	v->params = (struct vhca_config) {
		.bar_phys		= 0x60000000,
		.bar_size		= VHCA_BAR_MIN_SIZE,
		.device_id		= 0x101e,
		.log_var_count		= 8,
		.log_var_stride		= 12,
		.tlp_var_count		= 8,
		.log_tlp_var_stride	= 12,
		.memic_size		= VHCA_KUNIT_MEMIC,
		.vectors		= 2,
	};
	v->init_segment = (void __iomem __force *)
			  kunit_kzalloc(test, VHCA_INIT_SEGMENT_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, (void __force *)v->init_segment);
	v->memic = (void __iomem __force *)
		   kunit_kzalloc(test, VHCA_KUNIT_MEMIC, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, (void __force *)v->memic);
	v->memic_operations = (void __iomem __force *)
			      kunit_kzalloc(test, vhca_memic_operations_size(v), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, (void __force *)v->memic_operations);
	v->gfp = GFP_KERNEL;
	/* Who wakes the firmware wakes this task, which is awake. */
	v->thread = current;
	mutex_init(&v->lock);
	vhca_fabric_init(v);
	vhca_ledger_init(v);
	vhca_page_faults_init(v);
	test->priv = v;

	err = vhca_recorder_init(v);
	KUNIT_ASSERT_EQ(test, err, 0);
	err = vhca_caps_init(v);
	if (err)
		vhca_recorder_exit(v);
	KUNIT_ASSERT_EQ(test, err, 0);
	return kunit_add_action_or_reset(test, vhca_kunit_exit, v);
}

/**
 * vhca_kunit_command - make a command
 * @test: the test
 * @opcode: the opcode, in the input already
 * @in_len: bytes of the input, all else 0
 * @out_len: bytes of the output
 *
 * The messages are no longer than that, so that who reads or writes beyond
 * them is found where the kernel can find it.
 *
 * Return: the command
 */
struct vhca_cmd *vhca_kunit_command(struct kunit *test, u16 opcode, u32 in_len,
				    u32 out_len)
{
	struct vhca_cmd *cmd = kunit_kzalloc(test, sizeof(*cmd), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cmd);
	cmd->in = kunit_kzalloc(test, in_len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cmd->in);
	cmd->out = kunit_kzalloc(test, out_len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cmd->out);
	cmd->in_len = in_len;
	cmd->out_len = out_len;
	MLX5_SET(alloc_pd_in, cmd->in, opcode, opcode);
	return cmd;
}

/**
 * vhca_kunit_add - enter an object into the ledger that no command has made
 * @test: the test, which ends if it cannot be had
 * @kind: its kind
 * @uid: user context
 * @size: bytes of the structure that begins with it, which are 0
 *
 * Return: the object
 */
void *vhca_kunit_add(struct kunit *test, enum vhca_kind kind, u16 uid, size_t size)
{
	struct vhca_object *object = kzalloc(size, GFP_KERNEL);
	struct vhca_cmd cmd = { .uid = uid };
	u8 status;

	KUNIT_ASSERT_NOT_NULL(test, object);
	status = vhca_ledger_add(test->priv, object, kind, &cmd);
	if (status)
		kfree(object);
	KUNIT_ASSERT_EQ(test, status, MLX5_CMD_STAT_OK);
	return object;
}

/**
 * vhca_kunit_put - set a field that mlx5_ifc.h has no name for
 * @structure: what it is in
 * @dword: which dword, from 0
 * @value: all of it
 */
void vhca_kunit_put(void *structure, unsigned int dword, u32 value)
{
	*((__be32 *)structure + dword) = cpu_to_be32(value);
}

/**
 * vhca_kunit_execute - have the test's device execute a command
 * @test: the test
 * @cmd: the command
 *
 * Return: the status that the driver would see in the output
 */
u8 vhca_kunit_execute(struct kunit *test, struct vhca_cmd *cmd)
{
	struct vhca *v = test->priv;

	mutex_lock(&v->lock);
	vhca_command_execute(v, cmd);
	mutex_unlock(&v->lock);
	return MLX5_GET(alloc_pd_out, cmd->out, status);
}

static struct vhca_cmd *vhca_kunit_shortest(struct kunit *test, u16 opcode)
{
	const struct vhca_command *row = vhca_command_find(opcode);

	KUNIT_ASSERT_NOT_NULL(test, row);
	return vhca_kunit_command(test, opcode, row->in_size, row->out_size);
}

/**
 * vhca_kunit_create - create an object that needs nothing but a number
 * @test: the test, which ends if it cannot be had
 * @opcode: the command
 * @uid: user context
 *
 * Return: its number
 */
u32 vhca_kunit_create(struct kunit *test, u16 opcode, u16 uid)
{
	struct vhca_cmd *cmd = vhca_kunit_shortest(test, opcode);

	MLX5_SET(alloc_pd_in, cmd->in, uid, uid);
	KUNIT_ASSERT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	return MLX5_GET(alloc_pd_out, cmd->out, pd);
}

/**
 * vhca_kunit_destroy - destroy an object that has a number
 * @test: the test
 * @opcode: the command
 * @number: the number
 *
 * Return: the status
 */
u8 vhca_kunit_destroy(struct kunit *test, u16 opcode, u32 number)
{
	struct vhca_cmd *cmd = vhca_kunit_shortest(test, opcode);

	MLX5_SET(dealloc_pd_in, cmd->in, pd, number);
	return vhca_kunit_execute(test, cmd);
}

/**
 * vhca_kunit_expect_violation - expect that one more was written down
 * @test: the test
 * @before: how many there were
 * @what: its name
 * @object: number of the object concerned
 * @detail: its detail
 */
void vhca_kunit_expect_violation(struct kunit *test, unsigned int before,
				 const char *what, u64 object, u64 detail)
{
	struct vhca_recorder *r = &((struct vhca *)test->priv)->recorder;

	KUNIT_ASSERT_EQ(test, r->nr_violations, before + 1);
	KUNIT_EXPECT_STREQ(test, r->violations[before].what, what);
	KUNIT_EXPECT_EQ(test, r->violations[before].object, object);
	KUNIT_EXPECT_EQ(test, r->violations[before].detail, detail);
}
