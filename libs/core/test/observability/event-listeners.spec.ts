import { applyDecorators, Injectable, Scope, type Provider } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { OnEventBus } from '../../src/discovery/decorators/on-event-bus.js';
import type {
  EventBusEvent,
  RecordDeadLettered,
  RecordFailed,
} from '../../src/model/events/event-bus-events.js';
import { RecordingTestBus } from '../support/recording-test-bus.spec-support.js';
import { errorOf } from '../support/test-bus.spec-support.js';

let testBus: RecordingTestBus;
let seen: string[];

const NO_TIER = { tier0: { maxAttempts: 1 }, tiers: [] };

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
  seen = [];
});
afterEach(() => testBus.end());

const textOf = (event: EventBusEvent): string => `${event.name} of ${event.binding}`;

async function failOnce(...providers: readonly Provider[]): Promise<void> {
  await testBus.startHandler({ retry: NO_TIER }, providers);
  await testBus.write('orders', '1');
  await testBus.runtime.advance(1_000);
}

const problemsOf = async (...providers: readonly Provider[]): Promise<string> =>
  String(await errorOf(testBus.startHandler({ retry: NO_TIER }, providers)));

describe('@OnEventBus', () => {
  it('calls a method with the events of one name, or of several', async () => {
    @Injectable()
    class Alerts {
      @OnEventBus('record.failed')
      onFailed({ exception, next }: RecordFailed): void {
        seen.push(`${exception.className}, ${next.kind}`);
      }

      @OnEventBus(['record.retried', 'record.dead-lettered'])
      onWritten(event: EventBusEvent<'record.retried' | 'record.dead-lettered'>): void {
        seen.push(textOf(event));
      }
    }
    await failOnce(Alerts);
    expect(seen).toEqual(['Error, dead-letter', 'record.dead-lettered of orders']);
  });

  it('calls a method only for its binding and cluster', async () => {
    @Injectable()
    class Alerts {
      @OnEventBus('record.failed', { binding: 'orders', cluster: 'default' })
      onOrder(event: RecordFailed): void {
        seen.push(textOf(event));
      }

      @OnEventBus('record.failed', { binding: 'payments' })
      @OnEventBus('record.failed', { cluster: 'other' })
      onOther(): void {
        seen.push('wrong');
      }
    }
    await failOnce(Alerts);
    expect(seen).toEqual(['record.failed of orders']);
  });

  it('calls the methods of a provider with dependencies, also through applyDecorators', async () => {
    const OnLetter = () => applyDecorators(OnEventBus('record.dead-lettered'));
    @Injectable()
    class Journal {
      readonly lines: string[] = seen;
    }
    @Injectable()
    class Alerts {
      constructor(private readonly journal: Journal) {}

      @OnLetter()
      onLetter(event: RecordDeadLettered): void {
        this.journal.lines.push(`${event.record.toString()} to ${event.topic}`);
      }
    }
    await failOnce(Journal, Alerts);
    expect(seen).toEqual(['orders-0@0 to orders.DLT']);
  });

  it('calls a method with the first events of the start', async () => {
    @Injectable()
    class Alerts {
      @OnEventBus(['binding.changed', 'partitions.assigned'])
      onStart(event: EventBusEvent): void {
        seen.push(textOf(event));
      }
    }
    await failOnce(Alerts);
    expect(seen).toEqual(['binding.changed of orders', 'partitions.assigned of orders']);
  });

  it('changes nothing for records if the method throws, rejects or hangs', async () => {
    @Injectable()
    class Alerts {
      @OnEventBus('record.failed')
      throws(): never {
        throw new RangeError('card 4111');
      }

      @OnEventBus('record.failed')
      async rejects(): Promise<never> {
        throw new RangeError('card 4111');
      }

      @OnEventBus('record.failed')
      hangs(): Promise<void> {
        return new Promise(() => undefined);
      }
    }
    await failOnce(Alerts);
    expect(await testBus.deadLetters()).toEqual(['1']);
    expect(await testBus.committed()).toBe(1);
    await testBus.runtime.advance(31_000);
    const warnings = testBus.log.warnings.filter((line) => line.startsWith('A listener'));
    expect(warnings).toEqual([
      expect.stringMatching(/Alerts\.throws in \w+, failed with 'record\.failed': RangeError/),
      expect.stringMatching(/Alerts\.rejects in \w+, failed with 'record\.failed': RangeError/),
      expect.stringMatching(/Alerts\.hangs in \w+, did not answer within 30 s/),
    ]);
    expect(warnings.join()).not.toContain('4111');
  });

  it('stops the start if an event, a binding or a cluster is no name', async () => {
    @Injectable()
    class Alerts {
      @OnEventBus('record.faild' as 'record.failed')
      onFailed(): void {}

      @OnEventBus([])
      onNothing(): void {}

      @OnEventBus('record.failed', { binding: 7, cluster: '' } as never)
      onNumber(): void {}
    }
    const problems = await problemsOf(Alerts);
    expect(problems).toContain("there is no event 'record.faild'. Did you mean 'record.failed'?");
    expect(problems).toMatch(/Alerts\.onNothing in \w+: it names no event/);
    expect(problems).toContain('its binding is not a name');
    expect(problems).toContain('its cluster is not a name');
  });

  it('stops the start on a member that is no method, and in a class that is no singleton', async () => {
    @Injectable()
    class Fields {
      @OnEventBus('record.failed' as never)
      get failed(): never {
        throw new Error('not read');
      }
    }
    expect(await problemsOf(Fields)).toContain('@OnEventBus on Fields.failed: it is an accessor');
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @OnEventBus('record.failed')
      onFailed(): void {}
    }
    expect(await problemsOf(Scoped)).toMatch(/Scoped\.onFailed in .*must be a singleton/);
  });

  it('is refused by the compiler for another event, name or member', () => {
    class Listeners {
      // @ts-expect-error -- a failed record has no `dueAt`
      @OnEventBus('record.failed')
      onRetried({ dueAt }: EventBusEvent<'record.retried'>): number {
        return dueAt;
      }

      // @ts-expect-error -- there is no such event
      @OnEventBus('record.faild')
      onMisspelt(): void {}

      // @ts-expect-error -- a property is no method
      @OnEventBus('record.failed')
      property = 1;

      @EventHandler('orders')
      @OnEventBus('record.failed')
      onAny(event: unknown): unknown {
        return event;
      }
    }
    expect(new Listeners().property).toBe(1);
  });
});
