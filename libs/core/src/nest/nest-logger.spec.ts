import { Logger, type LoggerService } from '@nestjs/common';
import { NestLogger } from './nest-logger.js';

describe('the logger of the bus', () => {
  afterEach(() => Logger.overrideLogger(true));

  it('never throws, whatever the one of the application does: a loop that tells something goes on', () => {
    const told: unknown[] = [];
    const broken = (message: unknown): never => {
      told.push(message);
      throw new Error('the worker has exited');
    };
    const service: LoggerService = { log: broken, error: broken, warn: broken, debug: broken };
    Logger.overrideLogger(service);
    const logger = new NestLogger();
    for (const level of ['debug', 'info', 'warn', 'error'] as const)
      expect(() => logger[level]('told', { partition: 1 })).not.toThrow();
    expect(told).toEqual(Array(4).fill('told {"partition":1}'));
  });

  it('says what it can of a context that cannot be written', () => {
    const told: unknown[] = [];
    const listening = (message: unknown): void => void told.push(message);
    Logger.overrideLogger({ log: listening, error: listening, warn: listening });
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    new NestLogger().error('told', circular);
    expect(told).toEqual([
      'told (its context cannot be written: TypeError: Converting circular structure to JSON)',
    ]);
  });
});
