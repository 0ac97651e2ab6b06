// SPDX-License-Identifier: GPL-2.0
/*
 * The network between the ports, and what devices may do to each other's
 * memory.  See fabric.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <kunit/static_stub.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/mlx5_ifc.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "vhca.h"

/* Ports come and go in process context, and are looked up under RCU. */
static LIST_HEAD(vhca_ports);
static DEFINE_MUTEX(vhca_ports_lock);

/* Counts lives of queue pairs, and so is a clock that orders them. */
static atomic64_t vhca_lives = ATOMIC64_INIT(0);

/**
 * vhca_fabric_now - the present, on the clock that lives are counted on
 *
 * Return: a number that no life after this moment is at or below
 */
u64 vhca_fabric_now(void)
{
	return atomic64_read(&vhca_lives);
}

/**
 * vhca_fabric_new_life - begin a life of a queue pair
 *
 * Return: its number; what was sent before is below it
 */
u64 vhca_fabric_new_life(void)
{
	return atomic64_inc_return(&vhca_lives);
}

/**
 * vhca_packet_free - be done with a packet, and keep nothing of it
 * @packet: the packet, in no inbox
 *
 * Context: process context
 */
void vhca_packet_free(struct vhca_packet *packet)
{
	kfree(packet->payload);
	kfree(packet);
}

/*
 * The firmware thread may use all memory that is left, so that reclaim can go
 * on (see firmware.c); packets can wait and must not take it.
 */
static struct vhca_packet *vhca_packet_alloc(u32 room)
{
	struct vhca_packet *packet;

	packet = kmalloc_obj(*packet, VHCA_GFP_SPARING);
	if (!packet)
		return NULL;
	packet->room = room;
	packet->payload = NULL;
	if (room) {
		packet->payload = kmalloc(room, VHCA_GFP_SPARING);
		if (!packet->payload) {
			kfree(packet);
			return NULL;
		}
	}
	return packet;
}

/**
 * vhca_packet_get - make a packet
 * @v: the device that is to send it
 * @len: bytes that it carries in one of the two directions, at most
 *	VHCA_MAX_PAYLOAD
 *
 * Context: firmware thread, vhca.lock held
 * Return: the packet, or NULL if there is no memory just now
 */
struct vhca_packet *vhca_packet_get(struct vhca *v, u32 len)
{
	struct vhca_port *port = &v->port;
	/* A page is cheaper than what is kept for longer pieces. */
	u32 room = len > PAGE_SIZE ? VHCA_MAX_PAYLOAD : len;
	struct vhca_packet *packet;
	void *payload;

	if (room == VHCA_MAX_PAYLOAD && port->nr_spare) {
		packet = list_first_entry(&port->spare, struct vhca_packet,
					  node);
		list_del(&packet->node);
		port->nr_spare--;
	} else {
		packet = vhca_packet_alloc(room);
		if (!packet)
			return NULL;
	}
	payload = packet->payload;
	*packet = (struct vhca_packet) {
		.len	 = len,
		.room	 = room,
		.payload = payload,
	};
	return packet;
}

/**
 * vhca_packet_put - be done with a packet
 * @v: the device that got it
 * @packet: the packet, in no inbox
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_packet_put(struct vhca *v, struct vhca_packet *packet)
{
	struct vhca_port *port = &v->port;

	if (packet->room != VHCA_MAX_PAYLOAD ||
	    port->nr_spare == VHCA_SPARE_PACKETS) {
		vhca_packet_free(packet);
		return;
	}
	list_add(&packet->node, &port->spare);
	port->nr_spare++;
}

/**
 * vhca_fabric_init - make a port that is not connected yet
 * @v: the device
 */
void vhca_fabric_init(struct vhca *v)
{
	spin_lock_init(&v->port.lock);
	INIT_LIST_HEAD(&v->port.inbox);
	INIT_LIST_HEAD(&v->port.spare);
	INIT_LIST_HEAD(&v->members);
}

/**
 * vhca_fabric_exit - free what a port has kept
 * @v: the device, which has left, and whose firmware thread is gone
 */
void vhca_fabric_exit(struct vhca *v)
{
	struct vhca_packet *packet, *next;

	vhca_fabric_poll(v, false);
	list_for_each_entry_safe(packet, next, &v->port.spare, node)
		vhca_packet_free(packet);
	INIT_LIST_HEAD(&v->port.spare);
	v->port.nr_spare = 0;
}

/**
 * vhca_fabric_join - connect a port
 * @v: the device, whose firmware thread runs
 *
 * Context: process context
 */
void vhca_fabric_join(struct vhca *v)
{
	spin_lock(&v->port.lock);
	v->port.open = true;
	spin_unlock(&v->port.lock);
	mutex_lock(&vhca_ports_lock);
	list_add_tail_rcu(&v->port.node, &vhca_ports);
	mutex_unlock(&vhca_ports_lock);
}

/**
 * vhca_fabric_leave - disconnect a port
 * @v: the device
 *
 * When it returns no other device touches this one any more, neither its inbox
 * and thread nor its memory.
 *
 * Context: process context, without vhca.lock
 */
void vhca_fabric_leave(struct vhca *v)
{
	spin_lock(&v->port.lock);
	v->port.open = false;
	spin_unlock(&v->port.lock);
	mutex_lock(&vhca_ports_lock);
	list_del_rcu(&v->port.node);
	mutex_unlock(&vhca_ports_lock);
	synchronize_rcu();
}

/**
 * vhca_fabric_gid - the GID of a port
 * @index: the device
 * @gid: the GID
 */
void vhca_fabric_gid(unsigned int index, __be64 gid[2])
{
	gid[0] = cpu_to_be64(VHCA_GID_PREFIX);
	gid[1] = cpu_to_be64(vhca_port_guid_of(index));
}

/**
 * vhca_route_of_path - where an address path of a queue pair leads to
 * @path: struct ads of a qpc
 *
 * Return: the route
 */
struct vhca_route vhca_route_of_path(const void *path)
{
	struct vhca_route route = {
		.global	= MLX5_GET(ads, path, grh),
		.lid	= MLX5_GET(ads, path, rlid),
	};

	memcpy(route.gid, MLX5_ADDR_OF(ads, path, rgid_rip), sizeof(route.gid));
	return route;
}

/**
 * vhca_route_of_av - where the address vector of a datagram leads to
 * @av: the address vector
 *
 * Return: the route
 */
struct vhca_route vhca_route_of_av(const struct mlx5_av *av)
{
	struct vhca_route route = {
		.global	= be32_to_cpu(av->dqp_dct) & MLX5_EXTENDED_UD_AV &&
			  be32_to_cpu(av->grh_gid_fl) & VHCA_AV_GRH,
		.lid	= be16_to_cpu(av->rlid),
	};

	if (route.global)
		memcpy(route.gid, av->rgid, sizeof(route.gid));
	return route;
}

/**
 * vhca_route_leads_to - is a device at the end of a route?
 * @route: the route
 * @index: the device
 *
 * A global route names a port by its GID, a local one by its LID.
 *
 * Return: true if it is
 */
bool vhca_route_leads_to(const struct vhca_route *route, unsigned int index)
{
	__be64 gid[2];

	KUNIT_STATIC_STUB_REDIRECT(vhca_route_leads_to, route, index);
	if (!route->global)
		return route->lid == vhca_lid_of(index);
	vhca_fabric_gid(index, gid);
	return !memcmp(route->gid, gid, sizeof(gid));
}

/* Put a packet into an inbox; answers are taken however many there are. */
static enum vhca_sent vhca_port_put(struct vhca *target,
				    struct vhca_packet *packet)
{
	struct vhca_port *port = &target->port;
	bool request = packet->reply == VHCA_UNANSWERED;
	enum vhca_sent sent = VHCA_SENT;

	spin_lock(&port->lock);
	if (!port->open)
		sent = VHCA_NOBODY;
	else if (request && port->requests >= VHCA_INBOX_SIZE)
		sent = VHCA_FULL;
	else
		list_add_tail(&packet->node, &port->inbox);
	if (sent == VHCA_SENT && request)
		port->requests++;
	spin_unlock(&port->lock);
	return sent;
}

/* The same, and wake its device; the own thread is awake, and looks again.  Under RCU. */
static enum vhca_sent vhca_port_send(struct vhca *v, struct vhca *target,
				     struct vhca_packet *packet)
{
	enum vhca_sent sent = vhca_port_put(target, packet);

	if (sent == VHCA_SENT && target != v)
		vhca_firmware_wake(target);
	return sent;
}

/* Put a packet into the inbox of a device, if that is there. */
static enum vhca_sent vhca_fabric_put(struct vhca *v, unsigned int index,
				      struct vhca_packet *packet)
{
	enum vhca_sent sent = VHCA_NOBODY;
	struct vhca *target;

	rcu_read_lock();
	list_for_each_entry_rcu(target, &vhca_ports, port.node) {
		if (target->index != index)
			continue;
		sent = vhca_port_send(v, target, packet);
		break;
	}
	rcu_read_unlock();
	return sent;
}

/**
 * vhca_fabric_find - the device at the end of a route
 * @route: the route
 * @index: which it is
 *
 * Return: true; or false if there is none
 */
bool vhca_fabric_find(const struct vhca_route *route, unsigned int *index)
{
	struct vhca *target;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(target, &vhca_ports, port.node) {
		found = vhca_route_leads_to(route, target->index);
		*index = target->index;
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

/* What was sent is answered here and now: the network has taken it. */
static enum vhca_sent vhca_fabric_accept(struct vhca *v, struct vhca_packet *packet)
{
	packet->reply = VHCA_ACK;
	return vhca_port_put(v, packet);
}

/* To the subnet manager, whose answer comes as any datagram does. */
static enum vhca_sent vhca_fabric_manage(struct vhca *v, struct vhca_packet *packet)
{
	struct vhca_packet *answer = vhca_manager_answer(v, packet);

	if (answer) {
		answer->sent = packet->sent;
		if (vhca_port_put(v, answer) != VHCA_SENT)
			vhca_packet_put(v, answer);
	}
	return vhca_fabric_accept(v, packet);
}

static struct vhca_packet *vhca_packet_copy(struct vhca *v, const struct vhca_packet *packet)
{
	struct vhca_packet *copy = vhca_packet_get(v, packet->len);
	void *payload;
	u32 room;

	if (!copy)
		return NULL;
	payload = copy->payload;
	room = copy->room;
	*copy = *packet;
	copy->payload = payload;
	copy->room = room;
	memcpy(payload, packet->payload, packet->len);
	return copy;
}

/* The first device from @index on; false if there is none. */
static bool vhca_fabric_next(unsigned int *index)
{
	unsigned int next = UINT_MAX;
	struct vhca *target;

	rcu_read_lock();
	list_for_each_entry_rcu(target, &vhca_ports, port.node)
		if (target->index >= *index)
			next = min(next, target->index);
	rcu_read_unlock();
	*index = next;
	return next != UINT_MAX;
}

/*
 * To a multicast group: a copy to each port, the own one as well, which knows who is in the
 * group.  Who has no place or memory for it does not get it; nobody waits for an answer.
 */
static enum vhca_sent vhca_fabric_spread(struct vhca *v, const struct vhca_route *route,
					 struct vhca_packet *packet)
{
	struct vhca_packet *copy;
	unsigned int index;

	packet->group = true;
	memcpy(packet->gid, route->gid, sizeof(packet->gid));
	for (index = 0; vhca_fabric_next(&index); index++) {
		copy = vhca_packet_copy(v, packet);
		if (!copy)
			break;
		/* No life has this number, so the answers are ignored. */
		copy->source_life = 0;
		v->poll_bytes += copy->len + VHCA_PACKET_COST;
		if (vhca_fabric_put(v, index, copy) != VHCA_SENT)
			vhca_packet_put(v, copy);
	}
	return vhca_fabric_accept(v, packet);
}

/**
 * vhca_fabric_send - send a request
 * @v: the device that sends
 * @route: where it is to go
 * @packet: the request
 *
 * Context: firmware thread of @v, vhca.lock held
 * Return: see enum vhca_sent
 */
enum vhca_sent vhca_fabric_send(struct vhca *v, const struct vhca_route *route,
				struct vhca_packet *packet)
{
	enum vhca_sent sent = VHCA_NOBODY;
	struct vhca *target;

	packet->source = v->index;
	packet->sent = vhca_fabric_now();
	if (packet->service == MLX5_QP_ST_UD) {
		if (route->global && vhca_gid_is_group(route->gid))
			return vhca_fabric_spread(v, route, packet);
		if (!route->global && route->lid == VHCA_MANAGER_LID)
			return vhca_fabric_manage(v, packet);
	}
	rcu_read_lock();
	list_for_each_entry_rcu(target, &vhca_ports, port.node) {
		if (!vhca_route_leads_to(route, target->index))
			continue;
		sent = vhca_port_send(v, target, packet);
		break;
	}
	rcu_read_unlock();
	return sent;
}

/**
 * vhca_fabric_answer - send an answer to whoever has asked
 * @v: the device that answers
 * @packet: the request with the answer; freed if the other device is gone
 *
 * Context: process context; the own thread is not woken
 */
void vhca_fabric_answer(struct vhca *v, struct vhca_packet *packet)
{
	if (vhca_fabric_put(v, packet->source, packet) != VHCA_SENT)
		vhca_packet_free(packet);
}

/**
 * vhca_fabric_poll - take what has arrived
 * @v: the device
 * @able: execute it; else all requests are lost and all answers ignored
 *
 * All that is in the inbox is taken, so what was sent before a command was
 * executed is never executed after the next one.
 *
 * Context: firmware thread with vhca.lock held; without if not @able
 * Return: true if there was something
 */
bool vhca_fabric_poll(struct vhca *v, bool able)
{
	struct vhca_packet *packet, *next;
	LIST_HEAD(arrived);

	spin_lock(&v->port.lock);
	list_splice_init(&v->port.inbox, &arrived);
	v->port.requests = 0;
	spin_unlock(&v->port.lock);
	if (list_empty(&arrived))
		return false;
	list_for_each_entry_safe(packet, next, &arrived, node) {
		list_del(&packet->node);
		v->poll_bytes += packet->len + VHCA_PACKET_COST;
		if (packet->reply != VHCA_UNANSWERED) {
			if (!able)
				vhca_packet_free(packet);
			else if (!vhca_requester_take(v, packet))
				vhca_packet_put(v, packet);
			continue;
		}
		packet->reply = able ? vhca_responder_execute(v, packet) :
				       VHCA_LOST;
		if (packet->reply != VHCA_UNANSWERED)
			vhca_fabric_answer(v, packet);
	}
	return true;
}

/* Is all of a range of device memory allocated?  @offset is in that memory. */
static bool vhca_memic_is_allocated(struct vhca *v, u64 offset, u64 len)
{
	u32 first = offset >> VHCA_PAGE_SHIFT;
	u32 end = DIV_ROUND_UP_ULL(offset + len, VHCA_PAGE_SIZE);

	return find_next_zero_bit(v->memic_pages, end, first) >= end;
}

/**
 * vhca_fabric_memic - reach device memory by its physical address
 * @phys: the address
 * @data: where the bytes go or come from; NULL to see only if it can be done
 * @len: bytes, not 0
 * @write: write to device memory; else read
 *
 * A key that was made on a dma-buf of device memory translates to addresses in
 * the window of some device, this or another one: one function of a machine
 * can write to the memory of another.
 *
 * The other device's bitmap of allocated pages is read without its lock.  It
 * can change only while the owner frees or allocates memory, by when a correct
 * driver has taken the old translation away everywhere; a driver that has not
 * is seen by vhca_mkey_check_memic().
 *
 * Context: firmware thread
 * Return: true if it was done; false if not all of it is allocated memory of
 *	one device
 */
bool vhca_fabric_memic(u64 phys, void *data, u64 len, bool write)
{
	bool done = false;
	struct vhca *v;

	rcu_read_lock();
	list_for_each_entry_rcu(v, &vhca_ports, port.node) {
		u64 start = v->params.bar_phys + VHCA_MEMIC_BASE;
		u64 size = v->params.memic_size;

		if (phys < start || phys - start >= size)
			continue;
		if (len > size - (phys - start) ||
		    !vhca_memic_is_allocated(v, phys - start, len))
			break;
		done = true;
		if (data && write)
			memcpy_toio(v->memic + (phys - start), data, len);
		else if (data)
			memcpy_fromio(data, v->memic + (phys - start), len);
		break;
	}
	rcu_read_unlock();
	return done;
}
