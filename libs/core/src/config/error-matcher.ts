/** An error class, the name of one, an error's `code`, or a function that looks at the error. */
export type ErrorMatcher =
  | string
  | { readonly code: string | number }
  | { readonly name: string }
  | (abstract new (...args: never[]) => Error)
  | { readonly matches: (error: Error) => boolean };
