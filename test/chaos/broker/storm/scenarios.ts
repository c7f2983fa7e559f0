import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { TcpProxy } from '@nest-event-bus/testing';
import type { MemberProcess } from '../support/member-process.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { disturbConnections } from './disturb-connections.js';
import type { FailingBrokers } from './failing-brokers.js';

/** Resources that a scenario may disturb. */
export interface StormAccess {
  readonly random: SeededRandom;
  readonly sessionTimeoutMs: number;
  readonly proxies: readonly TcpProxy[];
  readonly brokers: FailingBrokers;
  /** Members that are in the group now. */
  readonly members: readonly MemberProcess[];
  /** Leader of a random partition of the topic. */
  leader(): Promise<number>;
  coordinator(): Promise<number>;
  join(): void;
  leave(member: MemberProcess): Promise<void>;
}

export interface Scenario {
  /** Clients connect to the brokers through the proxies. */
  readonly proxied?: boolean;
  /** Runs one incident; it resolves when the next may start. `before` counts the earlier incidents. */
  happen(field: StormAccess, before: number): Promise<void>;
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
      if (proxy) await disturbConnections(proxy, random);
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

/** A constant type, so that functions that take a scenario keep the literal type. */
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

function longerThanSession({ random, sessionTimeoutMs }: StormAccess): number {
  return sessionTimeoutMs + random.between(500, 2_000);
}

function oneOf<T>({ random }: StormAccess, items: readonly T[]): T | undefined {
  return items[random.between(0, items.length - 1)];
}
