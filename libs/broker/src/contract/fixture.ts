import type { BrokerCapabilities, BrokerDriver } from '../port/driver.js';
import type { OutgoingRecord } from '../port/record.js';
import type { Runtime } from '../runtime/runtime.js';

/** Reverts the effect of an ability. */
export type Undo = () => void | Promise<void>;

/** Optional abilities of a test environment to disturb a broker or the connection of a driver. */
export interface ContractAbilities {
  /**
   * Opens a transaction by any means, independent of the drivers under test. Several may be open at
   * once.
   */
  openTransaction(): Promise<ContractTransaction>;
  /** Breaks all connections of this driver and refuses new ones. Its process stays alive. */
  unplug(driver: BrokerDriver): Promise<Undo> | Undo;
  /** Executes the requests of this driver, and drops the responses. */
  loseAnswers(driver: BrokerDriver): Promise<Undo> | Undo;
  /** Delays the responses to this driver. */
  delayAnswers(driver: BrokerDriver, delayMs: number): Promise<Undo> | Undo;
  /** Makes the broker refuse every record for this topic with a retriable error. */
  refuseWrites(topic: string): Promise<Undo> | Undo;
  /** Makes the broker remove one member from its group. */
  expelMember(groupId: string, memberId: string): Promise<void> | void;
  /** Moves the coordinator of the group away, and back a moment later. */
  loseCoordinator(groupId: string): Promise<void> | void;
}

export type ContractAbility = keyof ContractAbilities;

export interface ContractTransaction {
  send(records: readonly OutgoingRecord[]): Promise<unknown>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

/** The environment of one case: a cluster, its clock, and drivers. */
export interface ContractBroker extends Partial<ContractAbilities> {
  /** The clock of drivers and broker. A virtual clock must advance while a case runs. */
  readonly runtime: Runtime;
  /**
   * Creates a driver that acts as a separate process; all drivers of one ContractBroker use the
   * same cluster.
   */
  createDriver(): Promise<BrokerDriver> | BrokerDriver;
  close(): Promise<void>;
}

export interface ContractTimes {
  /** The session timeout of members. Default 1000 ms; the broker must allow it. */
  readonly sessionTimeoutMs: number;
  /** The heartbeat interval of members. Default 250 ms. */
  readonly heartbeatIntervalMs: number;
  /** The rebalance timeout of members. Default 3000 ms. */
  readonly rebalanceTimeoutMs: number;
  /** The maximum wait for a condition before the case fails. Default 15 s. */
  readonly patienceMs: number;
  /** The time during which the suite checks that an event does not happen. Default 150 ms. */
  readonly quietMs: number;
}

/** The description of a driver and its test environment. */
export interface ContractFixture {
  /** The driver's name in the test report. */
  readonly name: string;
  /**
   * The capabilities of the drivers, known before any test runs, so that skipped cases are
   * reported.
   */
  readonly capabilities: BrokerCapabilities;
  /**
   * Abilities that every ContractBroker of this fixture has. Cases that need others are reported as
   * skipped.
   */
  readonly abilities: readonly ContractAbility[];
  readonly times?: Partial<ContractTimes>;
  /** The number of cases that may run at the same time. Default 1. */
  readonly parallel?: number;
  /** Opens the environment of a case. Cases use unique names, so they may share a cluster. */
  open(): Promise<ContractBroker> | ContractBroker;
}
