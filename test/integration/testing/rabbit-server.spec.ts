import { once } from 'node:events';
import { eventually, RabbitServer, RabbitServerError } from '@nest-event-bus/testing';
import { connect, type ChannelModel } from 'amqplib';
import { describeWithRabbit } from '../support/index.js';

describeWithRabbit('RabbitServer', { settings: { channel_max: '7' } }, (rabbit) => {
  const open: ChannelModel[] = [];

  /** Connects, and ignores that the server breaks the connection. */
  async function connection(url = rabbit().url): Promise<ChannelModel> {
    const model = await connect(url);
    model.on('error', () => undefined);
    open.push(model);
    return model;
  }

  /** Resolves when the connection is closed, also by an error. */
  const closeOf = (model: ChannelModel): Promise<void> =>
    new Promise((resolve) => model.on('close', () => resolve()));

  afterEach(async () => {
    await Promise.allSettled(open.splice(0).map((model) => model.close()));
  });

  it('keeps durable messages over a kill and a restart, at the same address', async () => {
    const { url } = rabbit();
    const channel = await (await connection()).createConfirmChannel();
    await channel.assertQueue('kept', { durable: true });
    channel.sendToQueue('kept', Buffer.from('a'), { persistent: true });
    await channel.waitForConfirms();
    await rabbit().kill();
    await expect(connect(url)).rejects.toThrow('ECONNREFUSED');
    await rabbit().restart();
    expect(rabbit().url).toBe(url);
    const after = await (await connection()).createChannel();
    expect((await after.assertQueue('kept', { durable: true })).messageCount).toBe(1);
  });

  it('closes all connections through its management plugin', async () => {
    const model = await connection();
    const closed = closeOf(model);
    await eventually(async () => (await rabbit().management.connections()).length > 0, {
      description: 'the connection to be listed',
    });
    expect(await rabbit().management.closeConnections()).toBeGreaterThan(0);
    await closed;
  });

  it('lists its queues with their arguments and figures', async () => {
    const channel = await (await connection()).createConfirmChannel();
    await channel.assertQueue('listed', {
      durable: true,
      arguments: { 'x-queue-type': 'quorum' },
    });
    channel.sendToQueue('listed', Buffer.from('a'));
    await channel.waitForConfirms();
    await eventually(async () => (await rabbit().management.queue('listed')).messages === 1, {
      description: 'the figures of the queue',
    });
    const queue = await rabbit().management.queue('listed');
    expect(queue).toMatchObject({ type: 'quorum', arguments: { 'x-queue-type': 'quorum' } });
    expect(await rabbit().management.queues()).toContainEqual(
      expect.objectContaining({ name: 'listed' }),
    );
  });

  it('blocks publishing connections while its memory alarm is raised', async () => {
    const model = await connection();
    const channel = await model.createConfirmChannel();
    await rabbit().raiseMemoryAlarm();
    const blocked = once(model, 'blocked');
    channel.publish('', 'nowhere', Buffer.from('a'));
    await blocked;
    const unblocked = once(model, 'unblocked');
    await rabbit().clearMemoryAlarm();
    await unblocked;
    await channel.waitForConfirms();
  });

  it('answers nothing while it is frozen, and continues afterwards', async () => {
    const channel = await (await connection()).createChannel();
    rabbit().freeze();
    let answered = false;
    const answer = channel.assertQueue('frozen').then(() => (answered = true));
    await expect(connect(rabbit().url, { timeout: 500 })).rejects.toThrow();
    expect(answered).toBe(false);
    rabbit().thaw();
    await answer;
  });

  it('loses connections through its proxy', async () => {
    const model = await connection(rabbit().proxiedUrl);
    const closed = closeOf(model);
    rabbit().proxy.cut();
    await closed;
  });

  it('throws an error with the output of the server if it does not start', async () => {
    const starting = RabbitServer.start({ settings: { vm_memory_high_watermark: 'lots' } });
    await expect(starting).rejects.toThrow(RabbitServerError);
    await expect(starting).rejects.toThrow(
      /did not start: its process ended\n[^]*failed_to_prepare_configuration/,
    );
  });

  it('runs with the given settings', async () => {
    const model = await connection();
    for (let n = 0; n < 7; n++) await model.createChannel();
    await expect(model.createChannel()).rejects.toThrow('No channels left');
  });

  it('says what the management plugin refused', async () => {
    await expect(rabbit().management.queue('missing')).rejects.toThrow(
      'GET /api/queues/%2F/missing was answered with HTTP status 404',
    );
  });

  it('closes its connections and stops at a shutdown', async () => {
    const closed = closeOf(await connection());
    await rabbit().shutDown();
    await closed;
    await expect(connect(rabbit().url)).rejects.toThrow('ECONNREFUSED');
  });
});
