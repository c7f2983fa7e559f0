/**
 * Where Nest's own decorators leave what they say. These keys are no part of its public surface;
 * nest-metadata.spec.ts compares them with the real decorators.
 */
export const ENHANCER_KEYS = Object.freeze({
  guard: '__guards__',
  interceptor: '__interceptors__',
  pipe: '__pipes__',
  filter: '__exceptionFilters__',
});

/** Nest makes instances of pipe classes only for what it finds under its own key. */
export const PARAMETERS_KEY = '__routeArguments__';

/** Part of the name under which `createParamDecorator` files a parameter. */
export const CUSTOM_PARAMETER = '__customRouteArgs__';

/** The number of `@Body()`: pipes are told `type: 'body'`, so that a ValidationPipe looks at the payload. */
export const BODY_PARAMETER = 3;
