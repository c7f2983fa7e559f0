import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { TcpProxy } from '@nest-event-bus/testing';
import type { MemberProcess } from '../support/member-process.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { harmConnections } from './harm-connections.js';
import type { TormentedBrokers } from './tormented-brokers.js';

/** What a scenario may lay hands on. */
export interface StormField {
  readonly random: SeededRandom;
  readonly sessionTimeoutMs: number;
  readonly proxies: readonly TcpProxy[];
  readonly brokers: TormentedBrokers;
  /** Those that are in the group now. */
  readonly members: readonly MemberProcess[];
  /** Of one of the topic's partitions. */
  leader(): Promise<number>;
  coordinator(): Promise<number>;
  join(): void;
  leave(member: MemberProcess): Promise<void>;
}

export interface Scenario {
  /** Clients reach the brokers through the proxies. */
  readonly proxied?: boolean;
  /** One incident; it is over when the next may come. So many there were before. */
  happen(field: StormField, before: number): Promise<void>;
}

const CHANGE_EVERY_MS = 2_000;

const plain = {
  'a leader is killed while records are sent': {
    happen: async (field) => field.brokers.kill(await field.leader()),
  },
  'the coordinator is killed': {
    happen: async (field) => field.brokers.kill(await field.coordinator()),
  },
  'a broker is frozen for longer than the session': {
    async happen(field) {
      const node = await (field.random.next() < 0.5 ? field.coordinator() : field.leader());
      await field.brokers.freeze(node, longerThanSession(field));
    },
  },
  'a member is frozen for longer than the session': {
    async happen(field) {
      const member = oneOf(field, field.members);
      member?.freeze();
      await sleep(realRuntime, longerThanSession(field));
      member?.thaw();
      await sleep(realRuntime, field.sessionTimeoutMs);
    },
  },
  'connections are cut in mid-sentence and replies swallowed': {
    proxied: true,
    async happen(field) {
      const { random } = field;
      const proxy = oneOf(field, field.proxies);
      if (proxy) await harmConnections(proxy, random);
      await sleep(realRuntime, random.between(50, 400));
    },
  },
  'members join and leave every two seconds': {
    async happen(field) {
      await sleep(realRuntime, CHANGE_EVERY_MS);
      const [oldest] = field.members;
      if (field.members.length <= 3 || !oldest) field.join();
      else await field.leave(oldest);
    },
  },
} as const satisfies Readonly<Record<string, Scenario>>;

const each: readonly Scenario[] = Object.values(plain);

/** Not to be widened to a string where a scenario is passed on. */
export const ALL_IN_TURN = 'all of it in turn' as const;

export const scenarios = {
  ...plain,
  [ALL_IN_TURN]: {
    proxied: true,
    happen: async (field, before) => each[before % each.length]?.happen(field, before),
  },
} as const satisfies Readonly<Record<string, Scenario>>;

export const KINDS_OF_INCIDENT = each.length;

export type ScenarioName = keyof typeof scenarios;

export const scenarioNames = Object.keys(scenarios) as ScenarioName[];

function longerThanSession({ random, sessionTimeoutMs }: StormField): number {
  return sessionTimeoutMs + random.between(500, 2_000);
}

function oneOf<T>({ random }: StormField, items: readonly T[]): T | undefined {
  return items[random.between(0, items.length - 1)];
}
