/**
 * Metadata keys of Nest's own enhancer decorators. They are not part of Nest's public API, so
 * nest-metadata.spec.ts compares them with the real decorators.
 */
export const ENHANCER_KEYS = Object.freeze({
  guard: '__guards__',
  interceptor: '__interceptors__',
  pipe: '__pipes__',
  filter: '__exceptionFilters__',
});

/**
 * Key of Nest's parameter metadata. The bus uses the same key, because Nest instantiates only the
 * pipe classes that it finds there.
 */
export const PARAMETERS_KEY = '__routeArguments__';

/** Part of the name under which `createParamDecorator` stores a parameter. */
export const CUSTOM_PARAMETER = '__customRouteArgs__';

/** The number of `@Body()`. Pipes then get `type: 'body'`, so that a ValidationPipe validates the payload. */
export const BODY_PARAMETER = 3;
