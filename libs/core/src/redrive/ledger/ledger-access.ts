import type {
  AdminSession,
  BrokerDriver,
  DriverLogger,
  ProducerSession,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { EventSink } from '../../model/events/event-sink.js';
import type { CircuitState } from '../../model/states/circuit-breaker.js';
import type { BindingRef } from '../../model/states/binding-ref.js';
import type { LedgerCache } from './ledger-cache.js';
import { ledgerTopicOf, requireLedger, type LedgerTopics } from './ledger-topic.js';

export interface RedriveParts {
  /** Returns the options of a binding. Throws if there is no such binding. */
  readonly bindingOf: (ref: BindingRef) => ResolvedBinding;
  /** Returns all bindings of the bus. */
  readonly bindings: () => readonly ResolvedBinding[];
  readonly driverOf: (cluster: string) => BrokerDriver;
  /** Returns the producer for plans and commands. */
  readonly producerOf: (cluster: string) => ProducerSession;
  /** Returns the state of the binding's circuit; undefined if the binding does not run here. */
  readonly circuitOf: (binding: ResolvedBinding) => CircuitState | undefined;
  /** What this process has read of ledgers. */
  readonly ledgers: LedgerCache;
  /** Takes the events of the bus. */
  readonly events: EventSink;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** The dead letters of a binding and their ledger, for one call. */
export interface LedgerAccess {
  readonly binding: ResolvedBinding;
  readonly driver: BrokerDriver;
  /** Closed at the end of the call. */
  readonly admin: AdminSession;
  readonly topics: LedgerTopics;
}

/** Dead letters that are only read. */
export interface ReadAccess extends Omit<LedgerAccess, 'topics'> {
  /** Undefined if the ledger does not exist yet, so that all letters are open. */
  readonly topics: LedgerTopics | undefined;
}

/** Calls back with the ledger of a binding. Creates the ledger if the binding creates its topics. */
export function withLedger<T>(
  parts: RedriveParts,
  ref: BindingRef,
  act: (access: LedgerAccess) => Promise<T>,
): Promise<T> {
  return withAdmin(parts, ref, async (access) =>
    act({ ...access, topics: await requireLedger(access.admin, access.binding, parts.ledgers) }),
  );
}

/**
 * Calls back to read dead letters, and creates nothing. Returns undefined if the dead-letter topic
 * does not exist, so that there are none.
 */
export function withDeadLetters<T>(
  parts: RedriveParts,
  ref: BindingRef,
  act: (access: ReadAccess) => Promise<T>,
): Promise<T | undefined> {
  return withAdmin(parts, ref, async (access) => {
    const { admin, binding } = access;
    const ledger = ledgerTopicOf(binding);
    const names = (await admin.topics([binding.dlt.topic, ledger])).map(({ name }) => name);
    if (!names.includes(binding.dlt.topic)) return undefined;
    const topics = names.includes(ledger)
      ? await requireLedger(admin, binding, parts.ledgers)
      : undefined;
    return act({ ...access, topics });
  });
}

async function withAdmin<T>(
  { bindingOf, driverOf }: RedriveParts,
  ref: BindingRef,
  act: (access: Omit<LedgerAccess, 'topics'>) => Promise<T>,
): Promise<T> {
  const binding = bindingOf(ref);
  const driver = driverOf(binding.cluster);
  const admin = driver.admin();
  try {
    return await act({ binding, driver, admin });
  } finally {
    await admin.close();
  }
}
