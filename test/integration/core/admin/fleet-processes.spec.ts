import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { createAdminClient, type AdminClient } from '@nest-event-bus/core/admin-client';
import { eventually } from '@nest-event-bus/testing';
import { describeWithKafka } from '../../support/index.js';
import { Child } from '../support/children/child-process.js';

const LETTERS = 30;
const RECORDS = 30;

/** One process of the fleet, with a client of its admin API. */
class Member {
  readonly child: Child;
  client!: AdminClient;

  constructor(
    readonly instance: string,
    settings: object,
  ) {
    const script = join(__dirname, '../support/children/fleet-orders.ts');
    this.child = new Child(script, { args: [JSON.stringify({ ...settings, instance })] });
  }

  async started(): Promise<this> {
    await this.child.hasPrinted('"port":');
    const [, port] = /"port":(\d+)/.exec(this.child.stdout) ?? [];
    this.client = createAdminClient({ url: `http://127.0.0.1:${port}/eventbus` });
    return this;
  }

  get handled(): readonly string[] {
    return [...this.child.stdout.matchAll(/"handled":"([^"]+)"/g)].map(([, value = '']) => value);
  }
}

describeWithKafka('Three processes of a group', ({ brokers, unique }) => {
  const topic = unique('orders');
  const settings = { brokers, topic, groupId: unique('shop') };
  const driver = kafkajs({ brokers });
  const members: Member[] = [];
  const command = { params: { name: 'orders' } };

  const start = (instance: string): Promise<Member> => {
    const member = new Member(instance, settings);
    members.push(member);
    return member.started();
  };

  const until = (description: string, condition: () => Promise<boolean> | boolean) =>
    eventually(async () => condition(), { description, timeoutMs: 120_000, intervalMs: 200 });

  /** States of all instances as one of them knows them. */
  const statesAt = async ({ client }: Member): Promise<Readonly<Record<string, string>>> => {
    const { instances } = await client.listInstances();
    return Object.fromEntries(
      instances.map(({ bindings, isSilent, name }) => [
        name,
        isSilent ? 'silent' : (bindings[0]?.state ?? 'none'),
      ]),
    );
  };

  const resultsOf = ({ reach }: Awaited<ReturnType<AdminClient['pauseBinding']>>) =>
    Object.fromEntries((reach.instances ?? []).map(({ instance, result }) => [instance, result]));

  beforeAll(async () => {
    await driver.admin().createTopics([{ name: topic, partitions: 3 }]);
    await Promise.all(['w1', 'w2', 'w3'].map(start));
    members.sort((one, other) => one.instance.localeCompare(other.instance));
    await until('three instances to know each other', async () => {
      const states = await Promise.all(members.map(statesAt));
      return states.every((each) => Object.values(each).join() === 'RUNNING,RUNNING,RUNNING');
    });
  }, 180_000);

  afterAll(async () => {
    for (const { child } of members) child.kill();
    await Promise.all(members.map(({ child }) => child.ended));
    await driver.close();
  }, 120_000);

  it('answer truly while one is frozen and one is killed', async () => {
    const [w1, w2, w3] = members as [Member, Member, Member];
    const all = { w1: 'done', w2: 'done', w3: 'done' };
    expect(resultsOf(await w1.client.pauseBinding(command))).toEqual(all);
    await until('w2 to know that all are paused', async () => {
      const states = await statesAt(w2);
      return ['w1', 'w2', 'w3'].every((name) => states[name] === 'PAUSED');
    });
    await produceOrders();

    // 1. w3 is frozen. 2. The fleet resumes. 3. w3 comes back after the validity of the command.
    w3.child.suspend();
    const resumed = await w2.client.resumeBinding({
      ...command,
      query: { wait: '10s', validFor: '8s' },
    });
    expect(resultsOf(resumed)).toEqual({ w1: 'done', w2: 'done', w3: 'no-answer' });
    expect(resumed.reach.isComplete).toBe(false);
    await until('w3 to be silent', async () => (await statesAt(w1))['w3'] === 'silent');
    const validUntil = Date.parse(resumed.reach.validUntil ?? '');
    await until('the command to be no longer valid', () => Date.now() > validUntil);
    w3.child.resume();
    await until('w3 to follow', async () => (await statesAt(w1))['w3'] === 'RUNNING');
    expect(w3.child.stdout + w3.child.stderr).toContain('came too late and was not obeyed');
    await until('all orders to be handled', () => handledOf('order').size === RECORDS);

    // 1. w1 replays. 2. It is killed in between. 3. w2 runs the same operation to its end.
    await produceLetters();
    const ofOperation = { params: { name: 'orders', id: 'incident' } };
    await w1.client.createOperation({ ...command, body: { id: 'incident', all: true, rate: 1 } });
    const replayed = async () => (await w2.client.getOperation(ofOperation)).replayed;
    await until('some letters to be replayed', async () => (await replayed()) > 0);
    w1.child.kill();
    const interrupted = await w2.client.getOperation(ofOperation);
    expect(interrupted.replayed).toBeLessThan(LETTERS);
    expect(interrupted.state).not.toBe('completed');
    await w2.client.runOperation({ ...ofOperation, body: { rate: 1_000 } });
    await until('the redrive to end', async () => {
      const { state } = await w3.client.getOperation(ofOperation);
      return state === 'completed';
    });
    expect(await replayed()).toBe(LETTERS);
    await until('all letters to be handled', () => handledOf('letter').size === LETTERS);
    expect(await recordsOf('letter')).toHaveLength(LETTERS);

    const paused = await w3.client.pauseBinding({ ...command, query: { wait: '15s' } });
    expect(resultsOf(paused)).toEqual({ w1: 'no-answer', w2: 'done', w3: 'done' });
    const w4 = await start('w4');
    const stateAtW4 = async () => (await w4.client.getBinding(command)).state;
    await until('w4 to be paused', async () => (await stateAtW4()) === 'PAUSED');
    const last = await w4.client.resumeBinding({ ...command, query: { wait: '15s' } });
    expect(resultsOf(last)).toEqual({ w1: 'no-answer', w2: 'done', w3: 'done', w4: 'done' });
  }, 300_000);

  /** A killed process may have handled a record twice, so values are compared, not counts. */
  function handledOf(kind: string): ReadonlySet<string> {
    return new Set(
      members.flatMap(({ handled }) => handled.filter((value) => value.startsWith(kind))),
    );
  }

  async function recordsOf(kind: string): Promise<readonly string[]> {
    const admin = driver.admin();
    const values: string[] = [];
    for (const { partition, low, high } of await admin.watermarks(topic))
      for await (const { value } of admin.readRange(topic, partition, low, high))
        values.push(String(value));
    await admin.close();
    return values.filter((value) => value.includes(kind));
  }

  async function produceOrders(): Promise<void> {
    const records = Array.from({ length: RECORDS }, (_, index) => ({
      ...{ topic, partition: index % 3, value: `"order-${index}"` },
    }));
    await driver.producer().send(records);
  }

  /** Writes dead letters as the binding would have written them. */
  async function produceLetters(): Promise<void> {
    const letters = Array.from({ length: LETTERS }, (_, index) => {
      const headers = {
        'x-eventbus-version': '1',
        'x-eventbus-binding-name': 'orders',
        'x-eventbus-group-id': settings.groupId,
        'x-eventbus-original-topic': topic,
        'x-eventbus-original-partition': String(index % 3),
        'x-eventbus-original-offset': String(index),
        'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
        'x-eventbus-last-exception-class': 'TimeoutError',
      };
      return {
        ...{ topic: `${topic}.DLT`, partition: index % 3, value: `"letter-${index}"` },
        headers: Object.entries(headers).map(([key, value]) => ({ key, value })),
      };
    });
    await driver.producer().send(letters);
  }
});
