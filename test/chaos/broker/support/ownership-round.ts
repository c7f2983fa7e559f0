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
import { ownersOf, ownershipPeriodsOf } from './ownership-periods.js';

type Incident = 'join' | 'kill' | 'leave';

const PARTITIONS = 6;
const HEARTBEAT_MS = 300;
export const REBALANCE_TIMEOUT_MS = 5_000;
export const LONG_REVOCATION_MS = 3_000;
/** A busy machine may need this much longer than the protocol. */
const REBALANCE_EXTRA_MS = 20_000;

/** The new member finds three members, or two: one never hands over its partitions, and one is slow. */
const ORDERS: readonly [readonly Incident[], ...(readonly Incident[])[]] = [
  ['join', 'kill', 'leave'],
  ['join', 'leave', 'kill'],
  ['kill', 'join', 'leave'],
  ['leave', 'join', 'kill'],
];

/**
 * A group and typical incidents: a kill -9, a clean leave, and a new member whose rebalance one member
 * delays by 3 s and another never allows. Numbered records are written all the time. At the end every member
 * is killed, and a session of another process continues from the committed offsets.
 */
export class OwnershipRound {
  readonly members: MemberProcess[] = [];
  readonly order: readonly Incident[];
  /** Time from the refused revocation until every partition has one owner again. */
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
      await sleep(realRuntime, this.#random.between(0, this.#settings.longestPauseMs));
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
      histories: this.members,
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
      case 'join':
        return this.#newMember();
      case 'kill':
        return this.#member(this.#roles.killed).kill();
      case 'leave':
        return this.#member(this.#roles.leaver).leave();
    }
  }

  async #newMember(): Promise<void> {
    const { killed, leaver, stuck } = this.#roles;
    const slow = [killed, leaver].find((role) => this.#member(role).endedAt === undefined);
    const never = this.#member(stuck);
    await never.send({ order: 'never-hand-back' });
    await this.#member(slow ?? leaver).send({
      order: 'take-long-to-revoke',
      milliseconds: LONG_REVOCATION_MS,
    });
    const before = never.events.length;
    this.#join('join');
    await eventually(() => never.events.slice(before).some(({ kind }) => kind === 'revoking'), {
      description: 'the new member to cause a rebalance',
      timeoutMs: REBALANCE_EXTRA_MS,
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
      // The suite measures rebalances of an eager group.
      membership: 'eager',
      sessionTimeoutMs: this.#settings.sessionTimeoutMs,
      heartbeatIntervalMs: HEARTBEAT_MS,
      rebalanceTimeoutMs: REBALANCE_TIMEOUT_MS,
    };
    this.members.push(new MemberProcess(settings));
  }

  /** Waits until every partition has one owner and every started member has reported. */
  #settled(): Promise<unknown> {
    return eventually(
      () => {
        const ownershipPeriods = ownershipPeriodsOf(this.members);
        const owners = Array.from({ length: PARTITIONS }, (_, each) =>
          ownersOf(each, ownershipPeriods),
        );
        return owners.every(({ length }) => length === 1) && this.members.every(hasJoined);
      },
      { description: 'every partition to have one owner', timeoutMs: REBALANCE_EXTRA_MS },
    ).catch((error: unknown) => {
      for (const member of this.members) process.stderr.write(`${lastEventsOf(member)}\n`);
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

/** The last membership events of a member. */
function lastEventsOf({ name, events, endedAt }: MemberProcess): string {
  const reported = events
    .filter(({ kind }) => kind !== 'handled' && kind !== 'committed')
    .slice(-12);
  const lines = reported.map((event) => `\n    ${JSON.stringify(event)}`);
  return `  ${name}${endedAt === undefined ? '' : `, ended at ${endedAt}`}:${lines.join('')}`;
}
