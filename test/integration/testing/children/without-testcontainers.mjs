import { register } from 'node:module';

/** Simulates a machine without the optional package. */
const hooks = `export async function resolve(name, context, next) {
  if (name === '@testcontainers/kafka') throw new Error("Cannot find package '" + name + "'");
  return next(name, context);
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
