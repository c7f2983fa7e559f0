import type { AdminSession, BrokerDriver } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually, unique, type StartedKafka, type TcpProxy } from '@nest-event-bus/testing';
import { completenessOf, type Handled } from '../support/completeness.js';
import { MemberProcess } from '../support/member-process.js';
import type { MembershipName } from '../support/memberships.js';
import { readFromCommitted } from '../support/read-from-committed.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { HandledCount } from './handled-count.js';
import { PacedWriter } from './paced-writer.js';
import { scenarios, type Scenario, type ScenarioName, type StormAccess } from './scenarios.js';
import { coordinationPartition, OFFSETS_TOPIC, storedCommits } from './stored-commits.js';
import { stormReport, type StormReport } from './storm-report.js';
import { FailingBrokers } from './failing-brokers.js';
import { offsetsOf, readLog } from './written-log.js';

export interface StormSettings {
  readonly cluster: StartedKafka;
  readonly scenario: ScenarioName;
  readonly membership: MembershipName;
  readonly random: SeededRandom;
  readonly records: number;
  readonly perSecond: number;
  readonly leastIncidents: number;
}

const PARTITIONS = 6;
const MEMBERS = 3;
const SESSION_TIMEOUT_MS = 2_000;
const HEARTBEAT_MS = 300;
const REBALANCE_TIMEOUT_MS = 5_000;
/** Time limit after the last incident; a busy machine may need this much longer than the protocol. */
const CATCH_UP_TIMEOUT_MS = 60_000;

/**
 * A producer and a group of three members on three brokers. Incidents of one kind follow each other until
 * all records are written. Then the group must catch up and every member is killed. A session of another
 * process continues from the committed offsets, and the logs are compared with the events of all members.
 */
export class Storm implements StormAccess {
  readonly sessionTimeoutMs = SESSION_TIMEOUT_MS;
  readonly brokers: FailingBrokers;
  readonly #settings: StormSettings;
  readonly #topic = unique('storm');
  readonly #groupId = unique('storm');
  readonly #allMembers: MemberProcess[] = [];
  /** Connects without a proxy, because it only observes. */
  readonly #driver: BrokerDriver;
  readonly #admin: AdminSession;

  constructor(settings: StormSettings) {
    this.#settings = settings;
    this.#driver = kafkajs({ brokers: settings.cluster.brokers, clientId: 'storm' });
    this.#admin = this.#driver.admin();
    this.brokers = new FailingBrokers(settings.cluster, this.#admin, settings.random);
  }

  get random(): SeededRandom {
    return this.#settings.random;
  }

  get proxies(): readonly TcpProxy[] {
    return this.#settings.cluster.proxies;
  }

  get members(): readonly MemberProcess[] {
    return this.#allMembers.filter(({ endedAt }) => endedAt === undefined);
  }

  async run(): Promise<StormReport> {
    const writing = kafkajs({ brokers: this.#brokers, clientId: 'writer' });
    try {
      return await this.#run(writing);
    } finally {
      await Promise.all(this.#allMembers.map((member) => member.kill()));
      await writing.close();
      await this.#driver.close();
    }
  }

  async leader(): Promise<number> {
    return this.brokers.leaderOf(this.#topic, this.random.between(0, PARTITIONS - 1));
  }

  async coordinator(): Promise<number> {
    const partition = await coordinationPartition(this.#admin, this.#groupId, OFFSETS_TOPIC);
    return this.brokers.leaderOf(OFFSETS_TOPIC, partition);
  }

  join(): void {
    this.#allMembers.push(
      new MemberProcess({
        name: `member-${this.#allMembers.length}`,
        brokers: this.#brokers,
        groupId: this.#groupId,
        topic: this.#topic,
        membership: this.#settings.membership,
        sessionTimeoutMs: SESSION_TIMEOUT_MS,
        heartbeatIntervalMs: HEARTBEAT_MS,
        rebalanceTimeoutMs: REBALANCE_TIMEOUT_MS,
      }),
    );
  }

  leave(member: MemberProcess): Promise<void> {
    return member.leave();
  }

  async #run(writing: BrokerDriver): Promise<StormReport> {
    const { records, perSecond } = this.#settings;
    const startedAt = realRuntime.monotonic();
    await this.#admin.createTopics([{ name: this.#topic, partitions: PARTITIONS }]);
    for (let count = 0; count < MEMBERS; count++) this.join();
    await this.#isStable();
    const writer = new PacedWriter(writing, {
      topic: this.#topic,
      partitions: PARTITIONS,
      records,
      perSecond,
    });
    const incidents = await this.#makeIncidents(writer);
    const lastIncidentAt = realRuntime.monotonic();
    await writer.done();
    await this.#caughtUp(writer.acknowledged.length);
    const recoveryMs = Math.round(realRuntime.monotonic() - lastIncidentAt);
    await Promise.all(this.members.map((member) => member.kill()));
    const logs = await readLog(this.#admin, this.#topic);
    const committed = await this.#admin.groupOffsets(this.#groupId, [this.#topic]);
    const written = offsetsOf(logs);
    const readAfterwards = await readFromCommitted(this.#successor(), committed, written);
    return stormReport({
      settings: this.#settings,
      incidents,
      recoveryMs,
      tookMs: Math.round(realRuntime.monotonic() - startedAt),
      histories: this.#allMembers,
      writer,
      logs,
      stored: await storedCommits(this.#admin, this.#groupId),
      completeness: completenessOf(written, committed, this.#handled(), readAfterwards),
      readAfterwards,
    });
  }

  async #makeIncidents(writer: PacedWriter): Promise<number> {
    const scenario: Scenario = scenarios[this.#settings.scenario];
    let incidents = 0;
    while (!writer.isDone || incidents < this.#settings.leastIncidents) {
      await scenario.happen(this, incidents);
      incidents++;
    }
    for (const proxy of this.proxies) proxy.forward();
    return incidents;
  }

  /** Waits until every member has partitions. */
  async #isStable(): Promise<void> {
    await eventually(
      () =>
        this.members.every(
          ({ events }) =>
            events.findLast(({ kind }) => kind === 'owns') !== undefined &&
            events.some((event) => event.kind === 'assigned' && event.positions.length > 0),
        ),
      { description: 'every member to own something', timeoutMs: CATCH_UP_TIMEOUT_MS },
    );
  }

  async #caughtUp(records: number): Promise<void> {
    const handledCount = new HandledCount();
    await eventually(() => handledCount.countOf(this.#allMembers) >= records, {
      description: `the group to have handled ${records} records`,
      timeoutMs: CATCH_UP_TIMEOUT_MS,
      intervalMs: 200,
    });
  }

  #successor() {
    return this.#driver.consumer({
      groupId: this.#groupId,
      topics: [this.#topic],
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      heartbeatIntervalMs: HEARTBEAT_MS,
    });
  }

  #handled(): Handled[] {
    return this.#allMembers.flatMap(({ events }) =>
      events.flatMap((event) => (event.kind === 'handled' ? event.records : [])),
    );
  }

  get #brokers(): readonly string[] {
    const { cluster, scenario } = this.#settings;
    const { proxied = false }: Scenario = scenarios[scenario];
    return proxied ? cluster.proxiedBrokers : cluster.brokers;
  }
}
