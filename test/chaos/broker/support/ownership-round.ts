import type { BrokerDriver, ConsumerSession } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { CommittedWatch } from './committed-watch.js';
import { completenessOf, type Handled } from './completeness.js';
import { MemberProcess } from './member-process.js';
import type { MemberSettings } from './member-messages.js';
import { NumberedWriter } from './numbered-writer.js';
import { readFromCommitted } from './read-from-committed.js';
import { ownershipReport, type OwnershipReport } from './ownership-report.js';
import type { RoundSettings } from './round-settings.js';
import { SeededRandom } from './seeded-random.js';
import { ownersOf, tenuresOf } from './tenures.js';

type Incident = 'newcomer' | 'kill' | 'leave';

const PARTITIONS = 6;
const HEARTBEAT_MS = 300;
export const REBALANCE_TIMEOUT_MS = 5_000;
export const LONG_REVOCATION_MS = 3_000;
/** A busy machine may take this much longer than the protocol needs. */
const PATIENCE_MS = 20_000;

/** The newcomer finds three members, or two: one that never hands back and one that takes long. */
const ORDERS: readonly [readonly Incident[], ...(readonly Incident[])[]] = [
  ['newcomer', 'kill', 'leave'],
  ['newcomer', 'leave', 'kill'],
  ['kill', 'newcomer', 'leave'],
  ['leave', 'newcomer', 'kill'],
];

/**
 * One group through what can happen to its members: a kill -9, a clean leave, a newcomer whose
 * rebalance one member takes 3 s to allow and another one never does. Numbered records flow all
 * the time. At the end every member is killed, and a session of another process goes on from what
 * they had committed.
 */
export class OwnershipRound {
  readonly members: MemberProcess[] = [];
  readonly order: readonly Incident[];
  /** From the refusal to hand back until every partition had one owner again. */
  takeoverMs = -1;
  readonly #settings: RoundSettings;
  readonly #random: SeededRandom;
  readonly #groupId = unique('owners');
  readonly #topic = unique('numbered');
  readonly #driver: BrokerDriver;
  readonly #roles: { readonly killed: number; readonly leaver: number; readonly stuck: number };

  constructor(settings: RoundSettings) {
    this.#settings = settings;
    this.#random = new SeededRandom(settings.seed);
    this.#driver = kafkajs({ brokers: settings.brokers, clientId: 'ownership-round' });
    this.order = this.#random.oneOf(ORDERS);
    const [killed = 0, leaver = 1, stuck = 2] = this.#random.shuffled([0, 1, 2]);
    this.#roles = { killed, leaver, stuck };
  }

  async run(): Promise<OwnershipReport> {
    try {
      return await this.#run();
    } finally {
      await Promise.all(this.members.map((member) => member.kill()));
      await this.#driver.close();
    }
  }

  async #run(): Promise<OwnershipReport> {
    const admin = this.#driver.admin();
    await admin.createTopics([{ name: this.#topic, partitions: PARTITIONS }]);
    const writer = new NumberedWriter(this.#driver, this.#topic, PARTITIONS);
    const watch = new CommittedWatch(admin, this.#groupId, this.#topic);
    for (const name of ['first', 'second', 'third']) this.#join(name);
    await this.#settled();
    for (const incident of this.order) {
      await sleep(realRuntime, this.#random.between(0, this.#settings.mostQuietMs));
      await this.#happen(incident);
      await this.#settled();
    }
    await writer.stop();
    await Promise.all(this.members.map((member) => member.kill()));
    const committed = await watch.stop();
    const readAfterwards = await readFromCommitted(this.#session(), committed, writer.offsets);
    return ownershipReport({
      settings: this.#settings,
      order: this.order,
      takeoverMs: this.takeoverMs,
      stories: this.members,
      stuck: this.#member(this.#roles.stuck).name,
      watch,
      written: writer.written,
      completeness: completenessOf(writer.offsets, committed, this.#handled(), readAfterwards),
      committed,
      readAfterwards,
    });
  }

  async #happen(incident: Incident): Promise<void> {
    switch (incident) {
      case 'newcomer':
        return this.#newcomer();
      case 'kill':
        return this.#member(this.#roles.killed).kill();
      case 'leave':
        return this.#member(this.#roles.leaver).leave();
    }
  }

  async #newcomer(): Promise<void> {
    const { killed, leaver, stuck } = this.#roles;
    const slow = [killed, leaver].find((role) => this.#member(role).endedAt === undefined);
    const never = this.#member(stuck);
    await never.obey({ order: 'never-hand-back' });
    await this.#member(slow ?? leaver).obey({
      order: 'take-long-to-revoke',
      milliseconds: LONG_REVOCATION_MS,
    });
    const before = never.events.length;
    this.#join('newcomer');
    await eventually(() => never.events.slice(before).some(({ kind }) => kind === 'revoking'), {
      description: 'the newcomer to cause a rebalance',
      timeoutMs: PATIENCE_MS,
    });
    const refusedAt = realRuntime.monotonic();
    await this.#settled();
    this.takeoverMs = Math.round(realRuntime.monotonic() - refusedAt);
  }

  #join(name: string): void {
    const settings: MemberSettings = {
      name,
      brokers: this.#settings.brokers,
      groupId: this.#groupId,
      topic: this.#topic,
      // What is measured here are the rebalances of an eager group.
      membership: 'eager',
      sessionTimeoutMs: this.#settings.sessionTimeoutMs,
      heartbeatIntervalMs: HEARTBEAT_MS,
      rebalanceTimeoutMs: REBALANCE_TIMEOUT_MS,
    };
    this.members.push(new MemberProcess(settings));
  }

  /** Every partition has one owner, and every member that was started has been heard of. */
  #settled(): Promise<unknown> {
    return eventually(
      () => {
        const tenures = tenuresOf(this.members);
        const owners = Array.from({ length: PARTITIONS }, (_, each) => ownersOf(each, tenures));
        return owners.every(({ length }) => length === 1) && this.members.every(hasJoined);
      },
      { description: 'every partition to have one owner', timeoutMs: PATIENCE_MS },
    ).catch((error: unknown) => {
      for (const member of this.members) process.stderr.write(`${lastWordsOf(member)}\n`);
      throw error;
    });
  }

  #session(): ConsumerSession {
    return this.#driver.consumer({
      groupId: this.#groupId,
      topics: [this.#topic],
      sessionTimeoutMs: this.#settings.sessionTimeoutMs,
      heartbeatIntervalMs: HEARTBEAT_MS,
    });
  }

  #handled(): Handled[] {
    return this.members.flatMap(({ events }) =>
      events.flatMap((event) => (event.kind === 'handled' ? event.records : [])),
    );
  }

  #member(index: number): MemberProcess {
    const member = this.members[index];
    if (!member) throw new RangeError(`There is no member ${index} yet.`);
    return member;
  }
}

const hasJoined = ({ events }: MemberProcess): boolean =>
  events.some(({ kind }) => kind === 'assigned');

/** What a member has said last of its membership. */
function lastWordsOf({ name, events, endedAt }: MemberProcess): string {
  const said = events.filter(({ kind }) => kind !== 'handled' && kind !== 'committed').slice(-12);
  const lines = said.map((event) => `\n    ${JSON.stringify(event)}`);
  return `  ${name}${endedAt === undefined ? '' : `, ended at ${endedAt}`}:${lines.join('')}`;
}
