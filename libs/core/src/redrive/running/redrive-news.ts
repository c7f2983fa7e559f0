import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { EventBusEvent } from '../../model/events/event-bus-events.js';
import type { RedriveEndState, RedriveEventName } from '../../model/events/redrive-events.js';
import type { EventSink } from '../../model/events/event-sink.js';
import type { VerdictEntry } from '../ledger/ledger-entry.js';
import type { Brake } from '../pacing/brake.js';
import type { RedrivePlan } from '../planning/redrive-plan.js';
import { SkipCounter } from '../planning/skip-counter.js';
import type { RedriveReport } from './redrive-report.js';

export interface RedriveNewsParts {
  readonly plan: Pick<RedrivePlan, 'id' | 'binding' | 'cluster'>;
  /** The operator. */
  readonly by: string;
  readonly events: EventSink;
  readonly runtime: Pick<Runtime, 'now'>;
  readonly logger: DriverLogger;
}

type Details<Name extends RedriveEventName> = Omit<
  EventBusEvent<Name>,
  'name' | 'at' | 'binding' | 'cluster' | 'operation' | 'by'
>;

/** Tells listeners and the log what happens to an operation. */
export class RedriveNews {
  constructor(private readonly parts: RedriveNewsParts) {}

  started({ delivery, selected, remaining }: RedriveReport): void {
    this.#emit('redrive.started', { selected, remaining });
    this.#log('info', 'A redrive runs', { delivery, selected, remaining });
    if (delivery === 'at-least-once')
      this.#log(
        'warn',
        'The cluster allows this redrive no transactions, so a letter may be replayed twice after a failure, with the same replay id. Grant Write on transactional ids that begin with eventbus-redrive-, or use an idempotency store',
        {},
      );
  }

  decided({ verdict, reason, good, bad, undecided }: Omit<VerdictEntry, 'kind'>): void {
    const details = { verdict, reason, good, bad, undecided };
    this.#emit('redrive.canary-decided', details);
    if (verdict === 'good') this.#log('info', 'The canary of a redrive is good', details);
    else this.#log('warn', 'The canary of a redrive is bad, and the rest is not replayed', details);
  }

  approved(): void {
    this.#emit('redrive.approved', {});
    this.#log('info', 'The rest of a redrive is approved', {});
  }

  braked({ reason: brake, figure, limit }: Brake): void {
    const details = { brake, figure, limit };
    this.#emit('redrive.braked', details);
    this.#log('warn', 'A redrive pauses itself, and goes on when the cause is over', details);
  }

  resumed({ reason: brake }: Brake, pausedForMs: number): void {
    this.#emit('redrive.resumed', { brake, pausedForMs });
    this.#log('info', 'A redrive goes on', { brake, pausedForMs });
  }

  ended({ replayed, skipped, failed, remaining }: RedriveReport, state: RedriveEndState): void {
    const figures = { state, replayed, skipped: new SkipCounter(skipped).total, failed, remaining };
    this.#emit('redrive.ended', figures);
    this.#log('info', 'A redrive has ended in this process', figures);
  }

  #emit<Name extends RedriveEventName>(name: Name, details: Details<Name>): void {
    const { by, events, plan, runtime } = this.parts;
    if (!events.wants(name)) return;
    const base = { name, at: runtime.now(), binding: plan.binding, cluster: plan.cluster };
    const event = { ...base, operation: plan.id, by, ...details };
    events.emit(Object.freeze(event) as unknown as EventBusEvent);
  }

  #log(level: 'info' | 'warn', message: string, details: Readonly<Record<string, unknown>>): void {
    const { by, logger, plan } = this.parts;
    logger[level](message, { binding: plan.binding, operation: plan.id, by, ...details });
  }
}
