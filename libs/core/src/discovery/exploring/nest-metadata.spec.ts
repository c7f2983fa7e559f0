import {
  Body,
  createParamDecorator,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import {
  BODY_PARAMETER,
  CUSTOM_PARAMETER,
  ENHANCER_KEYS,
  PARAMETERS_KEY,
} from './nest-metadata.js';

describe("The metadata keys of Nest's decorators", () => {
  it.each([
    ['guard', UseGuards({ canActivate: () => true })],
    ['interceptor', UseInterceptors({ intercept: (_context, next) => next.handle() })],
    ['pipe', UsePipes({ transform: (value: unknown) => value })],
    ['filter', UseFilters({ catch: () => undefined })],
  ] as const)('are unchanged for a %s', (kind, decorate) => {
    class Probe {}
    decorate(Probe);
    expect(Reflect.getOwnMetadataKeys(Probe)).toEqual([ENHANCER_KEYS[kind]]);
  });

  it('are unchanged for parameters', () => {
    class Probe {
      handle(): void {}
    }
    Body()(Probe.prototype, 'handle', 0);
    createParamDecorator(() => 1)()(Probe.prototype, 'handle', 1);
    const entries = Reflect.getOwnMetadata(PARAMETERS_KEY, Probe, 'handle') as object;
    expect(Object.keys(entries)).toEqual([
      `${BODY_PARAMETER}:0`,
      expect.stringMatching(`${CUSTOM_PARAMETER}:1$`),
    ]);
  });
});
