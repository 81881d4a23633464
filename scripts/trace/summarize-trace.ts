/** A function was entered, or left. */
export type Step = { readonly type: 'entered' | 'left'; readonly frame: number; readonly path: string };

export type TraceSummary = {
  readonly functions: number;
  readonly files: number;
  /** How often the top-level folder of `src` changes from one function entered to the next. */
  readonly folderEntries: number;
  /** The same for rooms. */
  readonly roomEntries: number;
  /** The stages of the call in the order of their entries. */
  readonly stages: readonly string[];
  /** How often the call entered a stage that it had left before. */
  readonly stageReturns: number;
};

/** Values, not stages: every room uses them. */
const notCounted = new Set(['base', 'tool']);
const withRooms = new Set(['runtime', 'policy', 'store']);
/** Rooms of the runtime that all stages share: see `test/layering.ts`. */
const shared = new Set(['runtime/host', 'runtime/files', 'runtime/input', 'runtime/state']);

/**
 * A stage is left only when none of its functions runs or waits any more, and another stage was entered since. So a
 * return means that the call went on in another stage and then came back to do more of the first one's work.
 */
export function summarizeTrace(steps: readonly Step[]): TraceSummary {
  const paths = steps.filter(({ type }) => type === 'entered').map(({ path }) => path);
  const counted = paths.filter((path) => !notCounted.has(folderOf(path)));
  const stack: Step[] = [];
  const stages: string[] = [];
  let stageReturns = 0;
  for (const step of steps) {
    if (notCounted.has(folderOf(step.path))) continue;
    if (step.type === 'left') {
      const at = stack.findLastIndex(({ frame }) => frame === step.frame);
      if (at >= 0) stack.splice(at, 1);
      continue;
    }
    const room = roomOf(step.path);
    const isOpen = stages.at(-1) === room || stack.some(({ path }) => roomOf(path) === room);
    if (isStage(room) && !isOpen) {
      if (stages.includes(room)) stageReturns++;
      stages.push(room);
    }
    stack.push(step);
  }
  return {
    functions: paths.length,
    files: new Set(paths).size,
    folderEntries: changesOf(counted.map(folderOf)),
    roomEntries: changesOf(counted.map(roomOf)),
    stages,
    stageReturns,
  };
}

const changesOf = (places: readonly string[]): number =>
  places.filter((place, index) => place !== places[index - 1]).length;

const isStage = (room: string): boolean => room.startsWith('runtime/') && !shared.has(room);

const folderOf = (path: string): string => path.split('/')[1] ?? '';

function roomOf(path: string): string {
  const [, folder = '', room] = path.split('/').slice(0, -1);
  return withRooms.has(folder) && room !== undefined ? `${folder}/${room}` : folder;
}
