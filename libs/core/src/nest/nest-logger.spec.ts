import { Logger, type LoggerService } from '@nestjs/common';
import { NestLogger } from './nest-logger.js';

describe('NestLogger', () => {
  afterEach(() => Logger.overrideLogger(true));

  it('never throws, even if the logger of the application throws', () => {
    const lines: unknown[] = [];
    const broken = (message: unknown): never => {
      lines.push(message);
      throw new Error('the worker has exited');
    };
    const service: LoggerService = { log: broken, error: broken, warn: broken, debug: broken };
    Logger.overrideLogger(service);
    const logger = new NestLogger();
    for (const level of ['debug', 'info', 'warn', 'error'] as const)
      expect(() => logger[level]('told', { partition: 1 })).not.toThrow();
    expect(lines).toEqual(Array(4).fill('told {"partition":1}'));
  });

  it('writes the message if its context cannot be serialized', () => {
    const lines: unknown[] = [];
    const collect = (message: unknown): void => void lines.push(message);
    Logger.overrideLogger({ log: collect, error: collect, warn: collect });
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    new NestLogger().error('told', circular);
    expect(lines).toEqual(['told (the context cannot be written: TypeError)']);
  });

  it('writes the stack of an error below the line, and not into its JSON', () => {
    const lines: unknown[] = [];
    const collect = (message: unknown): void => void lines.push(message);
    Logger.overrideLogger({ log: collect, error: collect, warn: collect });
    const stack = 'TypeError: no\n[Nest] forged\u001b[2K\n    at handle';
    new NestLogger().error('told', { partition: 1, stack });
    expect(lines).toEqual([
      'told {"partition":1}\n    TypeError: no\n    [Nest] forged\\u001b[2K\n    at handle',
    ]);
  });
});
