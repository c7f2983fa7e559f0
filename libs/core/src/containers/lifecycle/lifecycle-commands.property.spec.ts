import fc from 'fast-check';
import {
  BindingAlreadyExistsException,
  BindingNotFoundException,
  InvalidContainerStateException,
} from '../../errors/container-errors.js';
import type { ContainerState } from '../../model/states/container-state.js';
import { binding, busWith, tier } from '../bus-test-bed.spec-support.js';
import { containersOf, type ContainerRegistration } from '../container-registration.js';
import { DRAINED } from '../fake-sessions.spec-support.js';

const COMMANDS = 1_000;
const CALLERS = 10;
const NAMES = ['orders', 'payments', 'stock', 'mail', 'audit'] as const;

type Bus = ReturnType<typeof busWith>;

/**
 * States from which each state may be reached. CREATED follows DESTROYED when the binding is
 * registered again.
 */
const COMES_FROM: Readonly<Record<ContainerState, readonly ContainerState[]>> = {
  CREATED: [],
  RUNNING: ['CREATED', 'STOPPED', 'PAUSED'],
  PAUSED: ['RUNNING', 'PAUSED'],
  STOPPED: ['RUNNING', 'PAUSED'],
  DESTROYED: ['CREATED', 'RUNNING', 'PAUSED', 'STOPPED'],
};

const action = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('start' as const, 'resume' as const) },
  { weight: 2, arbitrary: fc.constantFrom('stop' as const, 'pause' as const) },
  { weight: 1, arbitrary: fc.constantFrom('destroy' as const, 'register' as const) },
  { weight: 2, arbitrary: fc.constantFrom('open circuit' as const, 'close circuit' as const) },
);

const command = fc.record({
  action,
  name: fc.constantFrom(...NAMES),
  /** How many turns of the event loop each answer of a session takes. */
  turns: fc.nat(3),
  fails: fc.integer({ min: 0, max: 19 }).map((number) => number === 0),
});
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

const isClosing = ({ calls }: { readonly calls: readonly string[] }): boolean =>
  calls.some((call) => call.startsWith('close'));

/** Sessions whose answers take as many turns as the plan says, and fail now and then. */
function unreliable(bus: Bus, plan: readonly Command[]): void {
  let at = 0;
  const answer = async (): Promise<void> => {
    const { turns, fails } = plan[at++ % plan.length] ?? { turns: 0, fails: false };
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    if (fails) throw new Error('a session failed');
  };
  bus.sessions.everyScript = {
    pause: answer,
    close: () => answer().then(() => DRAINED),
  };
}

function expected(error: unknown): void {
  const isExpected =
    error instanceof InvalidContainerStateException ||
    error instanceof BindingNotFoundException ||
    error instanceof BindingAlreadyExistsException ||
    error instanceof AggregateError;
  if (!isExpected) throw error;
}

async function obey(bus: Bus, { action, name }: Command): Promise<void> {
  switch (action) {
    case 'register':
      return void bus.add(binding(name, { concurrency: 2, tiers: [tier(1)] }));
    case 'open circuit':
      return void (await bus.lifecycle.addPause(name, 'circuit'));
    case 'close circuit':
      return void (await bus.lifecycle.removePause(name, 'circuit'));
    case 'start':
    case 'stop':
    case 'pause':
    case 'resume':
    case 'destroy':
      return void (await bus.lifecycle[action](name));
  }
}

async function caller(bus: Bus, commands: readonly Command[]): Promise<void> {
  for (const one of commands) await obey(bus, one).catch(expected);
}

/** Records every change of state, and checks it at once. */
function watchTransitions(bus: Bus): string[] {
  const illegal: string[] = [];
  bus.registry.onChange((change) => {
    if (change.kind !== 'updated') return;
    const { previous, registration } = change;
    if (!COMES_FROM[registration.state].includes(previous.state))
      illegal.push(`${registration.bindingName}: ${previous.state} to ${registration.state}`);
  });
  return illegal;
}

function expectTruth(bus: Bus, registration: ContainerRegistration): void {
  const { state, pauses } = registration;
  const isLive = state === 'RUNNING' || state === 'PAUSED';
  for (const { id, concurrency, status } of containersOf(registration)) {
    const open = bus.sessions.open.filter(
      ({ options, calls }) => options.containerId === id && !isClosing({ calls }),
    );
    expect([id, open.length]).toEqual([id, isLive ? concurrency : 0]);
    expect([...status.pauses].sort()).toEqual([...pauses].sort());
  }
  expect([state, pauses.length > 0]).toEqual([state, state === 'PAUSED']);
}

describe('random commands of ten concurrent callers', () => {
  it('leave every binding in a true state, and no session behind', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: COMMANDS, maxLength: COMMANDS }),
        async (plan) => {
          const bus = busWith();
          unreliable(bus, plan);
          for (const name of NAMES) bus.add(binding(name, { concurrency: 2, tiers: [tier(1)] }));
          const illegal = watchTransitions(bus);
          const share = plan.length / CALLERS;
          await Promise.all(
            Array.from({ length: CALLERS }, (_, index) =>
              caller(bus, plan.slice(index * share, (index + 1) * share)),
            ),
          );
          expect(illegal).toEqual([]);
          expect(bus.lifecycle.busyBindings).toBe(0);
          for (const registration of bus.registry.listAll()) expectTruth(bus, registration);

          await bus.shutdown.drain();
          await bus.runtime.settle();
          expect(bus.registry.listAll()).toEqual([]);
          const started = bus.sessions.all.filter(({ wasStarted }) => wasStarted);
          const closed = started.filter(({ calls }) => isClosing({ calls }));
          expect(started.length).toBeGreaterThan(0);
          expect(closed).toHaveLength(started.length);
          expect(bus.sessions.all.filter(({ calls }) => !isClosing({ calls }))).toEqual([]);
          expect(bus.runtime.pendingTimers).toBe(0);
        },
      ),
      { numRuns: 15, interruptAfterTimeLimit: 4_000 },
    );
  });
});
