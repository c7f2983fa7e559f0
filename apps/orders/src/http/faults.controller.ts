import { BadRequestException, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { DEMO_BINDINGS, type DemoBinding } from '../bindings.js';
import { Catalogue } from '../faults/catalogue.js';
import { Dependencies } from '../faults/dependencies.js';
import { DEPENDENCY_MODES, type DependencyMode } from '../faults/dependency.js';
import { Shop, type PoisonKind } from '../traffic/shop.js';
import { Traffic } from '../traffic/traffic.js';

const POISON_KINDS: readonly PoisonKind[] = ['unknown-article', 'unreadable'];
const MOST_POISON = 1_000;

/** Returns the value if it is one of the choices. */
function choiceOf<T extends string>(what: string, value: string, choices: readonly T[]): T {
  const choice = choices.find((one) => one === value);
  if (choice === undefined)
    throw new BadRequestException(`The ${what} must be one of ${choices.join(', ')}.`);
  return choice;
}

/** Breaks the demo, and repairs it. */
@Controller()
export class FaultsController {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly catalogue: Catalogue,
    private readonly shop: Shop,
    private readonly traffic: Traffic,
  ) {}

  @Get('faults')
  modes(): Readonly<Record<string, DependencyMode>> {
    return this.dependencies.modes();
  }

  @Post('faults/:dependency/:mode')
  @HttpCode(200)
  switch(
    @Param('dependency') name: string,
    @Param('mode') mode: string,
  ): Readonly<Record<string, DependencyMode>> {
    const names = this.dependencies.all.map((one) => one.name);
    const chosen = choiceOf('dependency', name, names);
    const dependency = this.dependencies.all.find((one) => one.name === chosen)!;
    dependency.mode = choiceOf('mode', mode, DEPENDENCY_MODES);
    return this.dependencies.modes();
  }

  @Post('poison/:binding')
  async poison(
    @Param('binding') name: string,
    @Query('count') text = '1',
    @Query('kind') kind = 'unknown-article',
  ): Promise<{ readonly binding: DemoBinding; readonly kind: PoisonKind; readonly count: number }> {
    const count = Number(text);
    if (!(Number.isInteger(count) && count >= 1 && count <= MOST_POISON))
      throw new BadRequestException(`The count must be an integer from 1 to ${MOST_POISON}.`);
    const binding = choiceOf('binding', name, DEMO_BINDINGS);
    const chosen = choiceOf('kind', kind, POISON_KINDS);
    await this.shop.poison(binding, chosen, count);
    return { binding, kind: chosen, count };
  }

  /** Repairs the cause of poison pills, as a deployment would. */
  @Post('catalogue/:article')
  @HttpCode(200)
  add(@Param('article') article: string): readonly string[] {
    this.catalogue.add(article);
    return this.catalogue.articles;
  }

  @Post('traffic/stop')
  @HttpCode(200)
  stop(): { readonly traffic: 'stopped' } {
    this.traffic.stop();
    return { traffic: 'stopped' };
  }
}
