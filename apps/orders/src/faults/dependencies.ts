import { Injectable } from '@nestjs/common';
import { Dependency, type DependencyMode } from './dependency.js';

/** Holds the services that the handlers call, one per binding. */
@Injectable()
export class Dependencies {
  readonly warehouse = new Dependency('warehouse');
  readonly bank = new Dependency('bank');
  readonly mail = new Dependency('mail');

  get all(): readonly Dependency[] {
    return [this.warehouse, this.bank, this.mail];
  }

  modes(): Readonly<Record<string, DependencyMode>> {
    return Object.fromEntries(this.all.map(({ name, mode }) => [name, mode]));
  }
}
