import type { TransactionalProducer } from '../../wire/index.js';
import { Dispatch } from '../dispatch.js';
import type { SenderContext } from '../sender-options.js';
import type { CoordinatorLink } from './coordinator-link.js';
import { EnrolmentDesk } from './enrolment-desk.js';

/**
 * What transactions share while all goes well: an epoch, and the sequence numbers in it. Once
 * something failed, or a request had no answer, it is worn: what still wanders through the network
 * could do harm in the next transaction, unless that has another epoch.
 */
export class ProducerEpoch {
  readonly dispatch: Dispatch;
  readonly #desk: EnrolmentDesk;
  #isWorn = false;
  /** The coordinator has not confirmed the end of the latest transaction. */
  mayBeOpen = false;

  constructor(
    readonly producer: TransactionalProducer,
    context: SenderContext,
    connectionLane: string,
    link: CoordinatorLink,
  ) {
    this.#desk = new EnrolmentDesk(producer, link, () => this.wear());
    this.dispatch = new Dispatch(context, connectionLane, (_, onServed) =>
      this.#desk.serving(onServed),
    );
  }

  get isWorn(): boolean {
    return this.#isWorn;
  }

  /** Whether records were to be written in the present transaction. */
  get hasBegun(): boolean {
    return this.#desk.isBegun;
  }

  wear(): void {
    this.#isWorn = true;
  }

  /** For the transaction that comes after this one. */
  startAnew(): void {
    this.#desk.startAnew();
    this.dispatch.hurry(false);
  }
}
