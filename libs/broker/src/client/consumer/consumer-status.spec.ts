import { silentLogger } from '../../port/silent-logger.js';
import { VirtualRuntime } from '../../runtime/index.js';
import { StatusBoard } from './consumer-status.js';

const one = {};
const two = {};

function boardWith(): { board: StatusBoard; runtime: VirtualRuntime; seen: string[] } {
  const runtime = new VirtualRuntime();
  const board = new StatusBoard(runtime, silentLogger);
  const seen: string[] = [];
  board.subscribe(({ state }) => seen.push(state));
  return { board, runtime, seen };
}

describe('the status of a session', () => {
  it('shows what gives trouble while the group is stable, and stable again when all of it is over', () => {
    const { board, seen } = boardWith();
    board.set({ state: 'stable', since: 0, generation: 1 });
    board.trouble(one, new Error('refused'));
    board.trouble(two, new Error('refused'));
    board.recovered(one);
    expect(board.status.state).toBe('retrying');
    board.recovered(two);
    expect(board.status.state).toBe('stable');
    expect(seen[0]).toBe('stable');
    expect(seen.at(-1)).toBe('stable');
  });

  it('keeps the time at which a trouble began, however often it is told', async () => {
    const { board, runtime, seen } = boardWith();
    board.set({ state: 'stable', since: 0, generation: 1 });
    const began = runtime.now();
    board.trouble(one, new Error('refused'));
    await runtime.advance(1_000);
    board.trouble(one, new Error('refused'));
    expect(board.status).toMatchObject({ state: 'retrying', since: began });
    expect(seen).toEqual(['stable', 'retrying']);
  });

  it('mentions what is over already, and goes back', () => {
    const { board, seen } = boardWith();
    board.set({ state: 'stable', since: 0, generation: 1 });
    board.mention(new Error('a listener threw'));
    expect(seen).toEqual(['stable', 'retrying', 'stable']);
  });

  it('lets a joining member be joining, whatever the trouble', () => {
    const { board } = boardWith();
    board.set({ state: 'joining', since: 0 });
    board.trouble(one, new Error('refused'));
    expect(board.status.state).toBe('joining');
  });

  it('shows what keeps a member from starting while it joins, until that is over', () => {
    const { board, seen } = boardWith();
    board.set({ state: 'joining', since: 0 });
    board.hindered(one, new Error('no offsets'));
    expect(board.status).toMatchObject({ state: 'retrying', error: { message: 'no offsets' } });
    board.recovered(one);
    expect(seen).toEqual(['joining', 'retrying', 'joining']);
  });

  it('is final once closed; once failed, it can only close', () => {
    const { board } = boardWith();
    board.set({ state: 'failed', since: 0, error: new Error('fenced') });
    board.set({ state: 'stable', since: 0, generation: 2 });
    expect(board.status.state).toBe('failed');
    board.set({ state: 'closed' });
    board.set({ state: 'joining', since: 0 });
    expect(board.status.state).toBe('closed');
  });

  it('survives a listener that throws', () => {
    const { board, seen } = boardWith();
    board.subscribe(() => {
      throw new Error('not our fault');
    });
    board.set({ state: 'joining', since: 0 });
    expect(seen).toEqual(['joining']);
  });
});
