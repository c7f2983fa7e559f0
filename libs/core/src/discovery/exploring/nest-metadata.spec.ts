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

describe("the keys of Nest's decorators are still those", () => {
  it.each([
    ['guard', UseGuards({ canActivate: () => true })],
    ['interceptor', UseInterceptors({ intercept: (_context, next) => next.handle() })],
    ['pipe', UsePipes({ transform: (value: unknown) => value })],
    ['filter', UseFilters({ catch: () => undefined })],
  ] as const)('of a %s', (kind, decorate) => {
    class Probe {}
    decorate(Probe);
    expect(Reflect.getOwnMetadataKeys(Probe)).toEqual([ENHANCER_KEYS[kind]]);
  });

  it('of parameters', () => {
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
