import type { ContainerState } from '../model/states/container-state.js';
import { EventBusException } from './event-bus-exception.js';

/** A command to a container, from an operator or from the bus itself. */
export type ContainerOperation = 'start' | 'stop' | 'pause' | 'resume' | 'destroy';

/** The current state of the container does not allow the command. */
export class InvalidContainerStateException extends EventBusException {
  readonly code = 'INVALID_CONTAINER_STATE';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly operation: ContainerOperation,
    readonly currentState: ContainerState,
    readonly requiredStates: readonly ContainerState[],
  ) {
    super(
      `Cannot ${operation} binding '${binding}': current state is ${currentState}, ${operation} requires ${requiredStates.join(' or ')}`,
    );
  }
}

export class BindingAlreadyExistsException extends EventBusException {
  readonly code = 'BINDING_ALREADY_EXISTS';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly cluster: string,
  ) {
    super(
      `Binding '${binding}' exists already on cluster '${cluster}'. Choose another name, or destroy the one that exists first.`,
    );
  }
}

export class BindingNotFoundException extends EventBusException {
  readonly code = 'BINDING_NOT_FOUND';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    known: readonly string[],
  ) {
    super(
      `There is no binding '${binding}'. ${known.length === 0 ? 'None is registered.' : `Registered are: ${known.join(', ')}.`}`,
    );
  }
}

export class TierNotFoundException extends EventBusException {
  readonly code = 'TIER_NOT_FOUND';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly tier: number,
    known: readonly number[],
  ) {
    super(
      `Binding '${binding}' has no retry tier ${tier}. ${known.length === 0 ? 'It has none.' : `It has: ${known.join(', ')}.`}`,
    );
  }
}

/** Bindings on several clusters have this name. */
export class AmbiguousBindingException extends EventBusException {
  readonly code = 'AMBIGUOUS_BINDING';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly clusters: readonly string[],
  ) {
    super(
      `Binding '${binding}' exists on several clusters (${clusters.join(', ')}). Name the cluster: { cluster: '${clusters[0]}', name: '${binding}' }.`,
    );
  }
}

/** The bus is draining and accepts no new work. */
export class EventBusShuttingDownException extends EventBusException {
  readonly code = 'EVENT_BUS_SHUTTING_DOWN';
  readonly retriable = false;

  constructor(operation: string) {
    super(`Cannot ${operation}: the event bus is shutting down.`);
  }
}

/** A session of the container did not finish an operation in time. The operation may still complete. */
export class ContainerUnresponsiveException extends EventBusException {
  readonly code = 'CONTAINER_UNRESPONSIVE';
  readonly retriable = true;

  constructor(
    readonly container: string,
    readonly operation: string,
    readonly waitedMs: number,
  ) {
    super(
      `Container '${container}' did not ${operation} within ${waitedMs} ms. The bus goes on without waiting for it; look for a broker that cannot be reached or a handler that blocks the process.`,
    );
  }
}

/** An operator decided about a partition without a waiting record, or about another record than the waiting one. */
export class NoRecordWaitsException extends EventBusException {
  readonly code = 'NO_RECORD_WAITS';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly partition: {
      readonly topic: string;
      readonly partition: number;
      /** The offset of the record that the operator meant. */
      readonly offset?: number;
    },
    /** The offset of the record that waits instead. */
    readonly undecidedOffset?: number,
  ) {
    const { topic, partition: number, offset } = partition;
    const what = offset === undefined ? 'No record' : `Offset ${offset}`;
    const waits = offset === undefined ? 'waits for a decision' : 'waits for no decision';
    const rest =
      undecidedOffset === undefined
        ? `. Look at the health of binding '${binding}' for partitions that do; another process may have the partition.${offset === undefined ? ' Of a record that is to be tried again, give the offset.' : ''}`
        : `, but offset ${undecidedOffset} does. It may have been decided about already: look at the health of binding '${binding}'.`;
    super(`${what} of ${topic}-${number} ${waits} in this process${rest}`);
  }
}
