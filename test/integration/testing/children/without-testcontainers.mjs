import { register } from 'node:module';

/** As on a machine where the optional package was not installed. */
const hooks = `export async function resolve(name, context, next) {
  if (name === '@testcontainers/kafka') throw new Error("Cannot find package '" + name + "'");
  return next(name, context);
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
