import { HandlerSlots, type SlotWaiter } from './handler-slots.js';

/** A lane that hands out as many records as it has, while slots are free. */
class Lane implements SlotWaiter {
  taken = 0;

  constructor(
    private readonly slots: HandlerSlots,
    public left: number,
  ) {}

  processPending(): void {
    while (this.left > 0) {
      if (!this.slots.isFree) return this.slots.wait(this);
      this.slots.take();
      this.left--;
      this.taken++;
    }
  }
}

describe('HandlerSlots', () => {
  it('gives slots in turn, so that no partition starves', () => {
    const slots = new HandlerSlots(1);
    const [one, two] = [new Lane(slots, 5), new Lane(slots, 5)];
    for (const lane of [one, two]) lane.processPending();
    for (let ends = 0; ends < 5; ends++) slots.release();
    expect([one.taken, two.taken]).toEqual([4, 2]);
  });

  it('skips lanes that have nothing left to hand out', () => {
    const slots = new HandlerSlots(1);
    const [one, held, two] = [new Lane(slots, 1), new Lane(slots, 1), new Lane(slots, 1)];
    for (const lane of [one, held, two]) lane.processPending();
    held.left = 0;
    slots.release();
    expect([held.taken, two.taken, slots.isFree]).toEqual([0, 1, false]);
  });
});
