import type { BrokerCapabilities, BrokerDriver } from '../port/driver.js';
import type { OutgoingRecord } from '../port/record.js';
import type { Runtime } from '../runtime/runtime.js';

/** Ends what an ability began. */
export type Undo = () => void | Promise<void>;

/** What a test environment may be able to do to a broker or to a driver's way there. */
export interface ContractAbilities {
  /**
   * Writes in a transaction, by whatever means the environment has. Several may be open at once.
   * It belongs to no driver under test.
   */
  openTransaction(): Promise<ContractTransaction>;
  /** Breaks all connections of this driver and refuses new ones. The process behind it lives on. */
  unplug(driver: BrokerDriver): Promise<Undo> | Undo;
  /** What this driver writes arrives and is stored; the answers never come. */
  loseAnswers(driver: BrokerDriver): Promise<Undo> | Undo;
  /** Answers to this driver come this much later. */
  delayAnswers(driver: BrokerDriver, delayMs: number): Promise<Undo> | Undo;
  /** The broker refuses, for a reason that passes, every record for this topic. */
  refuseWrites(topic: string): Promise<Undo> | Undo;
  /** The broker throws one member out of its group. */
  expelMember(groupId: string, memberId: string): Promise<void> | void;
  /** The broker is not this group's coordinator any more; a moment later it is again. */
  loseCoordinator(groupId: string): Promise<void> | void;
}

export type ContractAbility = keyof ContractAbilities;

export interface ContractTransaction {
  send(records: readonly OutgoingRecord[]): Promise<unknown>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

/** The surroundings of one case: a cluster, its time, and ways to it. */
export interface ContractBroker extends Partial<ContractAbilities> {
  /** The time that drivers and broker live by. A virtual one must flow while a case runs. */
  readonly runtime: Runtime;
  /** Each driver stands for a process of its own; all of one ContractBroker see the same cluster. */
  createDriver(): Promise<BrokerDriver> | BrokerDriver;
  close(): Promise<void>;
}

export interface ContractTimes {
  /** Of the members that cases create. Default 1000 ms; the broker must allow it. */
  readonly sessionTimeoutMs: number;
  /** Default 250 ms. */
  readonly heartbeatIntervalMs: number;
  /** Default 3000 ms. */
  readonly rebalanceTimeoutMs: number;
  /** How long an awaited condition may take before the case fails. Default 15 s. */
  readonly patienceMs: number;
  /** How long the suite watches that something does not happen. Default 150 ms. */
  readonly quietMs: number;
}

/** What the suite must know about a driver and its test environment. */
export interface ContractFixture {
  /** The driver's name, as it shall stand in the report. */
  readonly name: string;
  /** What the drivers will say of themselves; known before any test runs, so that skips are reported. */
  readonly capabilities: BrokerCapabilities;
  /** What every ContractBroker of this fixture can do. Cases that need more are reported as skipped. */
  readonly abilities: readonly ContractAbility[];
  readonly times?: Partial<ContractTimes>;
  /** How many cases may be under way at once. Default 1. */
  readonly parallel?: number;
  /** Called for every case. Cases use names of their own, so that they may share a cluster. */
  open(): Promise<ContractBroker> | ContractBroker;
}
